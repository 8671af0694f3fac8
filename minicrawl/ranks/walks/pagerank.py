"""PageRank: how often a walk that follows links and at times jumps comes by (Brin, Page, 1998).

The walk G, its contraction κ and why |x - x*| <= |G x - x| / (1 - κ) are those of `walk`.

power         x' = G x. As G x' - x' = G (x' - x), the bound is |x' - x| κ / (1 - κ).
lazy          x' = (x + G x) / 2, the walk that rests half of the time (L + I): the same limit. Its
              contraction is (1 + κ) / 2, which takes the place of κ in the bound.
gauss-seidel  x' += r, r = G x - x, block after block; what a block hands to later ones is handed
              on in the same round. Where a few nodes hold most of r then, for the links that they
              take, these hand on some times more: circles of pages that nothing leaves but jumps
              are slow to come to rest, and have few links. What jumps is handed out at the end of
              the round.
sweeping      The same, but in each round only nodes hand on whose |r|, measured by their links, is
              above the average. What these hand on may sum up to anything; so 1 - κ of it, which
              always jumps, is not handed out but taken to be that of a sum of 1, and |r| falls by
              as much in each round.

Of the last two a lazy walk hands on half of what waits. They keep r instead of computing it; at
the end it is computed afresh, and they go on if it is not what they took it for. The bound is
|r| / ((1 - κ) |x|), as then r sums to 0.

Rounding is allowed for with 64 ε of what is handed on, far more than was ever seen but not a proof:
no bound is below 64 ε / (1 - κ), and scores say that an error below that was not reached.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.hits.adjacency import Adjacency, AdjacencyBlock, AnyFloats, Weights
from minicrawl.ranks.scores import Scores, share_done
from minicrawl.ranks.walks.walk import Dangling, Walk, walk_of

DAMPING = 0.85
TOLERANCE = 1e-8
"""The error that will do, summed over all nodes."""

_Turns = Callable[[Adjacency, AnyFloats], Iterable[AdjacencyBlock]]
"""Who hands on in a round, one block after the other; asked for it while r changes."""

_ROUNDINGS = 64
_NODES_AT_ONCE = 1 << 15
_MUCH = 2.0  # times what is waiting on average
_MOST_FEW = 8  # one of so many links
_TURNS_OF_FEW = 3


class Method(StrEnum):
    """How the limit is come to."""

    POWER = "power"
    GAUSS_SEIDEL = "gauss-seidel"
    SWEEPING = "sweeping"


PRECISIONS: dict[str, type[np.float32 | np.float64]] = {
    "single": np.float32,
    "double": np.float64,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRankOptions:
    """What is asked for; a `damping` of None is for the virtual page alone, as one more link."""

    damping: float | None = DAMPING
    dangling: Dangling = Dangling.UNIFORM
    method: Method | None = None
    """Unless told, Gauss-Seidel for one rank, and power for several at once."""
    lazy: bool = False
    tolerance: float = TOLERANCE
    most_rounds: int = 1000
    precision: str = "double"

    def __post_init__(self) -> None:
        if not self.tolerance > 0:
            raise UsageError(f"an error is above 0, not {self.tolerance}")
        if self.most_rounds < 1:
            raise UsageError(f"a rank takes 1 round or more, not {self.most_rounds}")


USUAL = PageRankOptions()


def pagerank(
    graph: Csr,
    weights: Weights | None = None,
    *,
    terms: PageRankOptions = USUAL,
    teleport: NDArray[np.float64] | None = None,
    tell: Progress = unreported,
) -> Scores:
    """The limit, or how near so many rounds come; jumps go to all alike, or as `teleport` says."""
    if teleport is None:
        jumps = _alike(graph.nodes, terms)
    elif terms.dangling is Dangling.VIRTUAL:
        raise UsageError("the virtual page links to all alike: leave out where jumps lead to")
    else:
        jumps = _shares_of(teleport[np.newaxis], terms)
    return _ranks(graph, weights, jumps, terms, tell)[0]


def pageranks(
    graph: Csr,
    weights: Weights | None = None,
    *,
    teleports: NDArray[np.float64],
    terms: PageRankOptions = USUAL,
    tell: Progress = unreported,
) -> list[Scores]:
    """One rank for each row of `teleports`. The method power passes over the links for all at once.

    Rows need not sum to 1: each counts as its share of the row's sum.
    """
    return _ranks(graph, weights, _shares_of(teleports, terms), terms, tell)


def _alike(nodes: int, terms: PageRankOptions) -> AnyFloats:
    """Jumps to all nodes alike: one share stands for them all."""
    return np.full((1, 1), 1 / max(nodes, 1), dtype=PRECISIONS[terms.precision])


def _shares_of(teleports: NDArray[np.float64], terms: PageRankOptions) -> AnyFloats:
    totals = teleports.sum(axis=1, keepdims=True)
    is_empty = not teleports.shape[1]
    if (teleports < 0).any() or not (is_empty or (np.isfinite(totals) & (totals > 0)).all()):
        raise UsageError("where jumps lead to has weights of 0 or more, and one above 0 at least")
    shares: AnyFloats = (teleports / totals).astype(PRECISIONS[terms.precision], copy=False)
    return shares


def _ranks(
    graph: Csr, weights: Weights | None, jumps: AnyFloats, terms: PageRankOptions, tell: Progress
) -> list[Scores]:
    if not graph.nodes:
        return [_without_nodes() for _ in jumps]
    walk = walk_of(graph, weights, terms.damping, terms.dangling, PRECISIONS[terms.precision])
    method = terms.method or (Method.GAUSS_SEIDEL if len(jumps) == 1 else Method.POWER)
    if method is Method.POWER:
        return _by_power(walk, jumps, terms, tell)
    return [_by_residual(walk, jump, terms, method, tell) for jump in jumps]


def _without_nodes() -> Scores:
    return Scores(values=np.empty(0), iterations=0, error_bound=0.0, converged=True)


def _floor(walk: Walk) -> float:
    """No bound is below this."""
    return float(_ROUNDINGS * np.finfo(walk.shares.dtype).eps / (1 - walk.contraction))


def _scores(x: AnyFloats, rounds: int, bound: float, tolerance: float) -> Scores:
    bound = min(bound, 2.0)
    values = (x / x.sum(dtype=np.float64)).astype(x.dtype)
    return Scores(values=values, iterations=rounds, error_bound=bound, converged=bound <= tolerance)


# ---------------------------------------------------------------- all nodes at once


def _by_power(
    walk: Walk, teleports: AnyFloats, terms: PageRankOptions, tell: Progress
) -> list[Scores]:
    contraction = (1 + walk.contraction) / 2 if terms.lazy else walk.contraction
    floor, rounds, xs = _floor(walk), 0, _of_all(walk, teleports)
    bounds = np.full(len(xs), np.inf)
    while rounds < terms.most_rounds and not _is_done(bounds, floor, terms.tolerance):
        ys = walk.step(xs, teleports)
        if terms.lazy:
            ys = (xs + ys) / 2
        changes = np.abs(ys - xs).sum(axis=1, dtype=np.float64)
        bounds = changes * contraction / (1 - contraction) + floor
        xs, rounds = ys, rounds + 1
        tell(share_done(float(bounds.max()), terms.tolerance))
    return [
        _scores(x, rounds, bound, terms.tolerance)
        for x, bound in zip(xs, bounds.tolist(), strict=True)
    ]


def _of_all(walk: Walk, teleports: AnyFloats) -> AnyFloats:
    """Where each row's walk begins: a share for every node."""
    return np.broadcast_to(teleports, (len(teleports), walk.links.graph.nodes)).copy()


def _is_done(bounds: NDArray[np.float64], floor: float, tolerance: float) -> bool:
    """Whether all bounds are low enough, or as low as they can be."""
    return bool((bounds <= max(tolerance, 1.5 * floor)).all())


# ---------------------------------------------------------------- those that have something to say


def _by_residual(
    walk: Walk, teleport: AnyFloats, terms: PageRankOptions, method: Method, tell: Progress
) -> Scores:
    part = 0.5 if terms.lazy else 1.0
    x, rounds, floor = _of_all(walk, teleport[np.newaxis])[0], 0, _floor(walk)
    while True:
        x /= x.sum(dtype=np.float64)
        r = walk.step(x[np.newaxis], teleport[np.newaxis])[0] - x
        bound = _bound(walk, x, r) + floor
        tell(share_done(bound, terms.tolerance))
        if rounds >= terms.most_rounds or _is_done(np.array([bound]), floor, terms.tolerance):
            return _scores(x, rounds, bound, terms.tolerance)
        goal = max(terms.tolerance - floor, 0.5 * floor)
        while rounds < terms.most_rounds and (left := _bound(walk, x, r)) > goal:
            jumping, to_all, held = _hand_on(walk, _TURNS[method](walk.links, r), x, r, part)
            if method is Method.SWEEPING:
                jumping, to_all = _without_usual_jumps(walk, jumping, to_all, held)
            r += teleport * r.dtype.type(jumping) + r.dtype.type(to_all / len(r))
            rounds += 1
            tell(share_done(left, terms.tolerance))


def _without_usual_jumps(
    walk: Walk, jumping: float, to_all: float, held: float
) -> tuple[float, float]:
    """What jumps and goes to all, but for the 1 - κ of what was held that always does."""
    usual = (1 - walk.contraction) * held
    if walk.dangling is Dangling.VIRTUAL:
        return jumping, to_all - usual
    return jumping - usual, to_all


def _bound(walk: Walk, x: AnyFloats, r: AnyFloats) -> float:
    """|r| / ((1 - κ) |x|)."""
    return _waiting(r) / ((1 - walk.contraction) * float(x.sum(dtype=np.float64)))


def _hand_on(
    walk: Walk, turns: Iterable[AdjacencyBlock], x: AnyFloats, r: AnyFloats, part: float
) -> tuple[float, float, float]:
    """Nodes take in a part of what waits for them and hand it on.

    Answers with what of it jumps, what goes to all alike, and how much it was.
    """
    jumping = to_all = held = 0.0
    for block in turns:
        taken = r[block.nodes] * r.dtype.type(part)
        x[block.nodes] += taken
        r[block.nodes] -= taken
        given = taken * walk.per_weight[block.nodes]
        walk.links.push(block, given[np.newaxis], r[np.newaxis])
        jumps, spread = walk.jumps(taken, block.nodes)
        jumping, to_all = jumping + jumps, to_all + spread
        held += float(taken.sum(dtype=np.float64))
    return jumping, to_all, held


def _all_and_few(links: Adjacency, r: AnyFloats) -> Iterator[AdjacencyBlock]:
    yield from links.blocks()
    waiting = _waiting(r)
    few = _holding(links, r, _MUCH * waiting)
    counts = links.graph.starts[few + 1] - links.graph.starts[few]
    is_little = counts.sum() * _MOST_FEW <= links.graph.edges
    if is_little and 2 * _waiting(r[few]) >= waiting:
        yield from _TURNS_OF_FEW * list(links.blocks_of(few))


def _above_average(links: Adjacency, r: AnyFloats) -> Iterator[AdjacencyBlock]:
    """One node at least."""
    return links.blocks_of(_holding(links, r, 0.999 * _waiting(r)))


_TURNS: dict[Method, _Turns] = {
    Method.GAUSS_SEIDEL: _all_and_few,
    Method.SWEEPING: _above_average,
}


def _holding(links: Adjacency, r: AnyFloats, waiting: float) -> NDArray[np.intp]:
    """Nodes for which more waits, by each of their links, than if so much waited for all."""
    graph = links.graph
    bar = waiting / (graph.edges + graph.nodes)
    is_holding = np.empty(graph.nodes, dtype=np.bool_)
    for nodes, _, starts in links.blocks():
        is_holding[nodes] = np.abs(r[nodes]) >= bar * (np.diff(starts) + 1)
    return np.flatnonzero(is_holding)


def _waiting(r: AnyFloats) -> float:
    # Some at a time: no vector as large as r is made, nor given back.
    some = (r[first : first + _NODES_AT_ONCE] for first in range(0, len(r), _NODES_AT_ONCE))
    return sum(float(np.abs(each).sum(dtype=np.float64)) for each in some)
