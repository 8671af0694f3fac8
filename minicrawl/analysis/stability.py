"""What becomes of a rank when pages are taken away at random (Ng, Zheng, Jordan, 2001).

Laws: every time as many nodes are taken from the whole graph; the rank of what is left is held
against the rank of the whole, among those that stay. Same dice, same numbers. A place is one more
than the number of nodes that are better; of equals, the first of the graph is better.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from minicrawl.analysis.ranks import RANKS
from minicrawl.analysis.source import ProgressFactory
from minicrawl.errors import UsageError
from minicrawl.graph.named import NamedGraph
from minicrawl.graph.parts import Mask, with_nodes
from minicrawl.progress import Progress
from minicrawl.progress import part as part_of
from minicrawl.ranks.compare import Comparison, compare
from minicrawl.ranks.scores import Floats, Scores

Rank = Callable[[NamedGraph, Progress], Scores]

_FEWEST = 2
"""Fewer have no order."""


class Loss(NamedTuple):
    """The share of the nodes that is taken away, and how often."""

    drop: float
    times: int


class BestNodes(NamedTuple):
    """How many of the best nodes are compared, and of how many the places are told."""

    ks: Sequence[int]
    places: int = 0


class Spread(NamedTuple):
    """A measure over the times; None where it had no number at any of them."""

    mean: float | None
    least: float | None


class Placed(NamedTuple):
    """A node, its place in the whole, and in each of the runs; None where it was taken away."""

    name: str
    place: int
    in_runs: tuple[int | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A rank of so many nodes, held against itself where so many stay."""

    nodes: int
    edges: int
    stay: int
    kendall: Spread
    spearman: Spread
    overlap: dict[int, Spread]
    best: tuple[Placed, ...]
    remarks: tuple[str, ...]


def computed_anew(name: str) -> Rank:
    """The rank of this name, with its usual options."""
    if name not in RANKS:
        raise UsageError(f"no rank {name} can be computed anew; there are {', '.join(RANKS)}")
    return RANKS[name]


def stability(
    named: NamedGraph,
    rank: Rank,
    loss: Loss,
    best: BestNodes,
    dice: Generator,
    progress: ProgressFactory,
) -> Stability:
    """How this rank of a graph bears the loss."""
    nodes, gone = named.graph.nodes, _gone(loss.drop, named.graph.nodes)
    runs: list[Comparison] = []
    places: list[list[int | None]] = []
    with progress("stability") as tell:
        tells = _parts(tell, loss.times + 1)
        whole = rank(named, next(tells)).values
        first = np.argsort(-whole, kind="stable")[: best.places].tolist()
        for tell_part in tells:
            stays = _all_but(gone, nodes, dice)
            part = rank(with_nodes(named, stays), tell_part).values
            runs.append(compare(part, whole[stays], best.ks))
            places.append(_places_in(stays, part, first))
            tell_part(1.0)
    return Stability(
        nodes=nodes,
        edges=named.graph.edges,
        stay=nodes - gone,
        kendall=_spread([run.kendall for run in runs]),
        spearman=_spread([run.spearman for run in runs]),
        overlap={k: _spread([run.overlap[k] for run in runs]) for k in best.ks},
        best=tuple(_placed(named.names.of(first), places)),
        remarks=tuple(_remarks(runs, nodes - gone, best.ks)),
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
    return (part_of(tell, done / count, (done + 1) / count) for done in range(count))


def _placed(names: Sequence[str], places: Sequence[Sequence[int | None]]) -> Iterator[Placed]:
    """The best nodes, the best first; each of `places` has them all in one run."""
    for number, name in enumerate(names):
        yield Placed(name, number + 1, tuple(of_run[number] for of_run in places))


def _places_in(stays: Mask, part: Floats, nodes: Sequence[int]) -> list[int | None]:
    """The places of these nodes of the whole among those that stay."""
    places = np.empty(len(part), dtype=np.int64)
    places[np.argsort(-part, kind="stable")] = np.arange(1, len(part) + 1)
    numbers = np.cumsum(stays) - 1
    return [int(places[numbers[node]]) if stays[node] else None for node in nodes]


def _spread(found: Sequence[float | None]) -> Spread:
    known = [value for value in found if value is not None]
    return Spread(fmean(known), min(known)) if known else Spread(None, None)


def _remarks(runs: Sequence[Comparison], stay: int, ks: Sequence[int]) -> Iterator[str]:
    if silent := sum(run.kendall is None for run in runs):
        yield f"{silent} of {len(runs)} times all scores of a rank were equal: there is no order"
    if any(k > stay for k in ks):
        yield f"there is no overlap of more than {stay:,} nodes"
