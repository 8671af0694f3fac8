"""Ranks by their names, and two of them side by side.

A name stands for the rank that is kept by it; where none is, as with every graph file, for the one
of `analysis.ranks` with its usual options.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from minicrawl.analysis.ranks import RANKS
from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.ranks import compare
from minicrawl.ranks.compare import Comparison
from minicrawl.ranks.scores import Floats
from minicrawl.report.kept import OPIC, convergence_of, kept, kept_scores, told
from minicrawl.report.snapshot import Snapshot


class KnownRank(NamedTuple):
    """A rank of all nodes; a page that became known later has NaN."""

    name: str
    scores: Floats
    origin: str
    """Where the scores are from, in words."""


class Compared(NamedTuple):
    """A rank beside another, which is the reference."""

    one: KnownRank
    other: KnownRank
    comparison: Comparison


def compared(source: Source, one: str, other: str, ks: Sequence[int]) -> Compared:
    """How far rank `one` agrees with the other."""
    for name in (one, other):
        check(source, name)
    first = rank_of(source, one)
    second = first if one == other else rank_of(source, other)
    with source.progress("comparison") as tell:
        found = compare.compare(first.scores, second.scores, ks, tell=tell)
    return Compared(first, second, found)


def check(source: Source, name: str) -> None:
    """Refuse a rank that is neither kept nor can be computed."""
    known = dict.fromkeys((*_converged(source), *RANKS))
    if name not in known:
        raise UsageError(f"no rank {name} is known; there are {', '.join(known)}")


def rank_of(source: Source, name: str) -> KnownRank:
    """The rank that is kept by this name, or else computed."""
    seen = source.snapshot
    if seen is not None and (found := kept_scores(seen, name)) is not None:
        return KnownRank(name, found, _origin(seen, name, _converged(source)))
    graph = source.graph
    with source.progress(name) as tell:
        scores = RANKS[name](graph, tell)
    return KnownRank(
        name, scores.values, _told("with its usual options", converged=scores.converged)
    )


def _origin(seen: Snapshot, name: str, converged: Mapping[str, bool]) -> str:
    if name == OPIC:
        return told(convergence_of(seen))
    return _told("kept", converged=converged[name])


def _converged(source: Source) -> dict[str, bool]:
    """The ranks of the store, and whether each has converged; the importance tells by itself."""
    if (seen := source.snapshot) is None:
        return {}
    rows = (one.row for one in kept(seen.path, seen.connection))
    return {OPIC: True} | {row.name: row.converged for row in rows}


def _told(origin: str, *, converged: bool) -> str:
    return origin if converged else f"{origin}, not converged"
