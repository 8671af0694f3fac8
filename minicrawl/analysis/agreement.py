"""A rank beside what people think of some of its nodes.

People give grades in lines of CSV, each with a page and its grade, `url,grade`. A list may begin
with a line that names the columns, the second being `grade`; empty lines are skipped.

Laws: a list is read whole or refused with the line that is wrong. A node has one grade: what is
said twice counts once, and two grades that differ are refused.
"""

import csv
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from minicrawl.analysis.comparing import KnownRank, check, rank_of
from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.ranks.compare import GRADES, Agreement, agreement

_ALLOWED = [str(grade) for grade in range(1, GRADES + 1)]
_COLUMNS = 2
_SHOWN = 60  # characters of a bad line that its message quotes


class Label(NamedTuple):
    """A page as the list calls it, its grade, and where that is said."""

    name: str
    grade: int
    line: int


def read(lines: Iterable[str], place: str) -> list[Label]:
    """All labels, at least one; `place` is what a message calls the list."""
    rows = csv.reader(lines, strict=True)
    try:
        found = list(_labels(((rows.line_num, row) for row in rows), place))
    except csv.Error as error:
        raise UsageError(f"{place}, line {rows.line_num}: {error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{place} is not UTF-8: {error.reason}") from None
    if not found:
        raise UsageError(f"{place}: nothing is graded in it; expected lines of url,grade")
    return found


def _labels(rows: Iterable[tuple[int, list[str]]], place: str) -> Iterator[Label]:
    for line, row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells) or (line == 1 and _names_columns(cells)):
            continue
        if len(cells) != _COLUMNS or not cells[0] or cells[1] not in _ALLOWED:
            raise UsageError(
                f"{place}, line {line}: expected a URL and a grade from 1 to {GRADES}, "
                f"found {','.join(cells)[:_SHOWN]!r}"
            )
        yield Label(cells[0], int(cells[1]), line)


def _names_columns(cells: Sequence[str]) -> bool:
    return len(cells) == _COLUMNS and cells[1].lower() == "grade"


class Judged(NamedTuple):
    """How far a rank agrees with people, and which of their pages it does not have."""

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
