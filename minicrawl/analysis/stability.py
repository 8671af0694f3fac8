"""What becomes of a rank when pages are taken away at random.

Law: every time as many nodes are taken from the whole graph; the rank of what is left is held
against the rank of the whole, among those that stay. Same dice, same numbers.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from minicrawl.analysis.ranks import RANKS
from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.graph.parts import Mask, with_nodes
from minicrawl.progress import Progress, part
from minicrawl.ranks.compare import Comparison, compare
from minicrawl.ranks.scores import Scores

Rank = Callable[[NamedGraph, Progress], Scores]

_FEWEST = 2
"""Fewer have no order."""


class Loss(NamedTuple):
    """The share of the nodes that is taken away, and how often."""

    drop: float
    times: int


class Spread(NamedTuple):
    """A measure over the times; None where it had no number at any of them."""

    mean: float | None
    least: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A rank of so many nodes, held against itself where so many stay."""

    nodes: int
    edges: int
    stay: int
    kendall: Spread
    spearman: Spread
    overlap: dict[int, Spread]
    remarks: tuple[str, ...]


def stability(
    source: Source, name: str, loss: Loss, ks: Sequence[int], dice: Generator
) -> Stability:
    """How the rank of this name, with its usual options, bears the loss."""
    if name not in RANKS:
        raise UsageError(f"no rank {name} can be computed anew; there are {', '.join(RANKS)}")
    graph = source.graph
    nodes, gone = graph.graph.nodes, _gone(loss.drop, graph.graph.nodes)
    masks = (_all_but(gone, nodes, dice) for _ in range(loss.times))
    with source.progress("stability") as tell:
        runs = list(_runs(graph, RANKS[name], masks, ks, _parts(tell, loss.times + 1)))
    return Stability(
        nodes=nodes,
        edges=graph.graph.edges,
        stay=nodes - gone,
        kendall=_spread([run.kendall for run in runs]),
        spearman=_spread([run.spearman for run in runs]),
        overlap={k: _spread([run.overlap[k] for run in runs]) for k in ks},
        remarks=tuple(_remarks(runs, nodes - gone, ks)),
    )


def _gone(drop: float, nodes: int) -> int:
    """How many are taken away."""
    gone = round(drop * nodes)
    if not gone:
        raise UsageError(f"--drop {drop:g} takes none of {nodes:,} nodes away: take more")
    if nodes - gone < _FEWEST:
        raise UsageError(f"--drop {drop:g} leaves {nodes - gone} of {nodes:,} nodes: take fewer")
    return gone


def _all_but(gone: int, nodes: int, dice: Generator) -> Mask:
    stays = np.ones(nodes, dtype=np.bool_)
    stays[dice.choice(nodes, gone, replace=False)] = False
    return stays


def _parts(tell: Progress, count: int) -> Iterator[Progress]:
    """The progress of each of so many parts that take equally long."""
    return (part(tell, done / count, (done + 1) / count) for done in range(count))


def _runs(
    named: NamedGraph,
    rank: Rank,
    masks: Iterable[Mask],
    ks: Sequence[int],
    tells: Iterator[Progress],
) -> Iterator[Comparison]:
    whole = rank(named, next(tells)).values
    for stays, tell in zip(masks, tells, strict=True):
        yield compare(rank(with_nodes(named, stays), tell).values, whole[stays], ks)
        tell(1.0)


def _spread(found: Sequence[float | None]) -> Spread:
    known = [value for value in found if value is not None]
    return Spread(fmean(known), min(known)) if known else Spread(None, None)


def _remarks(runs: Sequence[Comparison], stay: int, ks: Sequence[int]) -> Iterator[str]:
    if silent := sum(run.kendall is None for run in runs):
        yield f"{silent} of {len(runs)} times all scores of a rank were equal: there is no order"
    if any(k > stay for k in ks):
        yield f"there is no overlap of more than {stay:,} nodes"
