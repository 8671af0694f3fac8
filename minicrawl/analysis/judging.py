"""A rank beside what people think of some of its nodes.

Law: a node has one grade: whoever says it twice is heard once, and two that differ are refused.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from minicrawl.analysis.comparing import KnownRank, check, rank_of
from minicrawl.analysis.labels import Label
from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.ranks.agreement import GRADES, Agreement, agreement


class Judged(NamedTuple):
    """How far a rank agrees with people, and whom of theirs it does not know."""

    rank: KnownRank
    agreement: Agreement
    unknown: list[str]
    unscored: list[str]
    """They became known after the rank was made."""


def judged(
    source: Source, name: str, labels: Sequence[Label], place: str, *, best: int = GRADES
) -> Judged:
    """The rank of this name beside the labels of the list `place`; `best` is 4 or 1."""
    check(source, name)
    nodes = source.names.find([label.name for label in labels])
    graded = _graded(labels, nodes, place)
    unknown = [label.name for label, node in zip(labels, nodes, strict=True) if node is None]
    if not graded:
        raise UsageError(f"{place}: none of its {len(labels):,} pages is known; give their URLs")
    rank = rank_of(source, name)
    scored = {node: label for node, label in graded.items() if not np.isnan(rank.scores[node])}
    if not scored:
        raise UsageError(f"{name} was made before any page of {place} became known: make it anew")
    grades = np.array([label.grade for label in scored.values()])
    scores = rank.scores[list(scored)].astype(np.float64)
    found = agreement(scores, grades, best=best)
    unscored = [label.name for node, label in graded.items() if node not in scored]
    return Judged(rank, found, list(dict.fromkeys(unknown)), unscored)


def _graded(labels: Sequence[Label], nodes: Sequence[int | None], place: str) -> dict[int, Label]:
    """The label of each node that is known, in the order of the nodes."""
    found: dict[int, Label] = {}
    for label, node in zip(labels, nodes, strict=True):
        if node is None:
            continue
        first = found.setdefault(node, label)
        if first.grade != label.grade:
            raise UsageError(
                f"{place}, line {label.line}: {label.name} has the grade {label.grade}, "
                f"and {first.grade} on line {first.line}: give it one"
            )
    return dict(sorted(found.items()))
