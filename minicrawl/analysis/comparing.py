"""Ranks beside each other: two of one graph, one on parts of its graph, one and people's grades."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.analysis.labels import GRADES, Label
from minicrawl.analysis.ranks import RANKS
from minicrawl.analysis.source import Source, Tell
from minicrawl.errors import UsageError
from minicrawl.graph.induced import induced
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.compare import Agreement, Comparison, agreement, compare
from minicrawl.report.kept import OWN, kept, kept_scores

Floats = NDArray[np.float64]

_FEWEST = 2
"""Fewer nodes have no order."""


def compared(source: Source, one: str, other: str, ks: Sequence[int]) -> Comparison:
    """Rank `one` beside `other`, on the nodes that both know."""
    scores, truth = rank_of(source, one), rank_of(source, other)
    both = ~(np.isnan(scores) | np.isnan(truth))
    if np.count_nonzero(both) < _FEWEST:
        raise UsageError(f"{one} and {other} know fewer than two nodes in common")
    return compare(scores[both], truth[both], ks)


def rank_of(source: Source, name: str) -> Floats:
    """The rank that is kept by this name, or else computed with its usual options."""
    if source.snapshot is not None:
        found = kept_scores(source.snapshot, name)
        if found is not None:
            return found
    return computed(source, name)


def computed(source: Source, name: str) -> Floats:
    """The scores that a rank gives with its usual options."""
    if name not in RANKS:
        raise UsageError(f"no rank {name} is known; there are {', '.join(_known(source))}")
    graph = source.graph
    with source.progress(name) as tell:
        return RANKS[name](graph, tell).values.astype(np.float64, copy=False)


def _known(source: Source) -> list[str]:
    seen = source.snapshot
    own = [] if seen is None else [OWN, *(k.row.name for k in kept(seen.path, seen.connection))]
    return list(dict.fromkeys((*own, *RANKS)))


# ---------------------------------------------------------------- stability


class Wear(NamedTuple):
    """What is taken away, and how often."""

    drop: float
    times: int
    seed: int


def stability(
    named: NamedGraph, name: str, wear: Wear, ks: Sequence[int], tell: Tell
) -> list[Comparison]:
    """The rank on what is left of the graph, beside the rank on the whole; once for each time."""
    if name not in RANKS:
        raise UsageError(f"no rank {name} can be computed; those that can are {', '.join(RANKS)}")
    rank, nodes = RANKS[name], named.graph.nodes
    stay = nodes - round(wear.drop * nodes)
    if stay < _FEWEST:
        raise UsageError(f"--drop {wear.drop:g} leaves {stay} of {nodes:,} nodes: drop fewer")
    whole = rank(named, lambda share: tell(share / (wear.times + 1))).values
    rng, found = np.random.default_rng(wear.seed), list[Comparison]()
    for turn in range(1, wear.times + 1):
        tell(turn / (wear.times + 1))
        left = np.sort(rng.choice(nodes, stay, replace=False))
        scores = rank(induced(named, left), lambda _share: None).values
        found.append(compare(scores.astype(np.float64), whole[left].astype(np.float64), ks))
    tell(1.0)
    return found


# ---------------------------------------------------------------- people


class Judged(NamedTuple):
    """How far a rank agrees with people, and the names that it does not know."""

    agreement: Agreement
    unknown: list[str]


def judged(source: Source, name: str, labels: Sequence[Label], best: int) -> Judged:
    """The rank beside the labels; `best` is the grade of what matters most, 4 or 1."""
    scores = rank_of(source, name)
    pages = source.names.find([label.name for label in labels])
    values = np.array([np.nan if page is None else scores[page] for page in pages])
    grades = np.array([label.grade for label in labels])
    known = ~np.isnan(values)
    if not known.any():
        raise UsageError(f"{name} knows none of the {len(labels):,} pages that were graded")
    upward = grades if best == max(GRADES) else -grades
    unknown = (label.name for label, is_known in zip(labels, known, strict=True) if not is_known)
    return Judged(agreement(values[known], upward[known]), list(dict.fromkeys(unknown)))
