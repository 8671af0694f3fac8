"""PageRank: how often a walk that follows links and at times jumps comes by (Brin, Page, 1998).

The walk G and its contraction κ are those of `walk`.

power         x' = G x, as in `power`. A lazy walk rests half of the time: x' = (x + G x) / 2 has
              the same limit. Its contraction (1 + κ) / 2 takes the place of κ in the bound.
gauss-seidel  The methods of `residual`, which hand on only what is new.
sweeping
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Weights
from minicrawl.graph.csr import Csr
from minicrawl.graph.row_products import AnyFloats
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.power import PowerMethod, rounding_floor
from minicrawl.ranks.scores import FURTHEST, Floats, Scores
from minicrawl.ranks.walks.residual import ResidualMethod, Turns, above_average, in_order
from minicrawl.ranks.walks.walk import Dangling, Walk, walk_of

DAMPING = 0.85
TOLERANCE = 1e-8
"""The error that will do, summed over all nodes."""


class Method(StrEnum):
    """How the limit is found."""

    POWER = "power"
    GAUSS_SEIDEL = "gauss-seidel"
    SWEEPING = "sweeping"


_TURNS: dict[Method, Turns] = {Method.GAUSS_SEIDEL: in_order, Method.SWEEPING: above_average}

PRECISIONS: dict[str, type[np.float32 | np.float64]] = {
    "single": np.float32,
    "double": np.float64,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRankOptions:
    """Which PageRank, and how well it must be known.

    A `damping` of None is for the virtual page alone: it is one more link of each page.
    """

    damping: float | None = DAMPING
    dangling: Dangling = Dangling.UNIFORM
    method: Method | None = None
    """By default Gauss-Seidel for one rank, and power for several at once."""
    lazy: bool = False
    tolerance: float = TOLERANCE
    most_iterations: int = 1000
    precision: str = "double"

    def __post_init__(self) -> None:
        if not self.tolerance > 0:
            raise UsageError(f"an error is above 0, not {self.tolerance}")
        if self.most_iterations < 1:
            raise UsageError(f"a rank takes 1 round or more, not {self.most_iterations}")


USUAL = PageRankOptions()


def pagerank(
    graph: Csr,
    weights: Weights | None = None,
    *,
    options: PageRankOptions = USUAL,
    teleport: NDArray[np.float64] | None = None,
    start: Floats | None = None,
    tell: Progress = unreported,
) -> Scores:
    """The limit, or how near so many iterations come to it.

    Jumps go to all nodes alike, or by the weights in `teleport`. The iterations begin with all
    nodes alike, or with the scores in `start`.
    """
    if teleport is None:
        jumps = _alike(graph.nodes, options)
    elif options.dangling is Dangling.VIRTUAL:
        raise UsageError("the virtual page links to all alike: leave out where jumps lead to")
    else:
        jumps = _shares_of(teleport[np.newaxis], options)
    begin = jumps if start is None else _in_precision(start[np.newaxis], options)
    return _ranks(graph, weights, jumps, begin, options, tell)[0]


def pageranks(
    graph: Csr,
    weights: Weights | None = None,
    *,
    teleports: NDArray[np.float64],
    options: PageRankOptions = USUAL,
    tell: Progress = unreported,
) -> list[Scores]:
    """One rank for each row of `teleports`. The method power passes over the links for all at once.

    Rows need not sum to 1: each counts as its share of the row's sum.
    """
    jumps = _shares_of(teleports, options)
    return _ranks(graph, weights, jumps, jumps, options, tell)


def _alike(nodes: int, options: PageRankOptions) -> AnyFloats:
    """Jumps to all nodes alike: one share stands for them all."""
    return np.full((1, 1), 1 / max(nodes, 1), dtype=PRECISIONS[options.precision])


def _shares_of(teleports: NDArray[np.float64], options: PageRankOptions) -> AnyFloats:
    totals = teleports.sum(axis=1, keepdims=True)
    is_empty = not teleports.shape[1]
    if (teleports < 0).any() or not (is_empty or (np.isfinite(totals) & (totals > 0)).all()):
        raise UsageError("where jumps lead to has weights of 0 or more, and one above 0 at least")
    return _in_precision(teleports / totals, options)


def _in_precision(values: Floats, options: PageRankOptions) -> AnyFloats:
    found: AnyFloats = values.astype(PRECISIONS[options.precision], copy=False)
    return found


def _ranks(
    graph: Csr,
    weights: Weights | None,
    jumps: AnyFloats,
    begin: AnyFloats,
    options: PageRankOptions,
    tell: Progress,
) -> list[Scores]:
    """One rank for each row of `jumps`; row i begins with row i of `begin`."""
    if not graph.nodes:
        return [_without_nodes() for _ in jumps]
    walk = walk_of(graph, weights, options.damping, options.dangling, PRECISIONS[options.precision])
    xs = np.broadcast_to(begin, (len(jumps), graph.nodes)).copy()
    method = options.method or (Method.GAUSS_SEIDEL if len(jumps) == 1 else Method.POWER)
    if method is Method.POWER:
        return _by_power(walk, jumps, xs, options, tell)
    stop = _stop(walk, options)
    found = [
        ResidualMethod(
            walk=walk, teleport=jump, turns=_TURNS[method], lazy=options.lazy, stop=stop
        ).run(x, tell)
        for jump, x in zip(jumps, xs, strict=True)
    ]
    return [_scores(x, *each, options.tolerance) for x, each in zip(xs, found, strict=True)]


def _by_power(
    walk: Walk, jumps: AnyFloats, xs: AnyFloats, options: PageRankOptions, tell: Progress
) -> list[Scores]:
    def step() -> NDArray[np.float64]:
        nonlocal xs
        ys = walk.step(xs, jumps)
        if options.lazy:
            ys = (xs + ys) / 2
        changes: NDArray[np.float64] = np.abs(ys - xs).sum(axis=1, dtype=np.float64)
        xs = ys
        return changes

    iterations, bounds = _stop(walk, options).run(step, tell)
    return [
        _scores(x, iterations, bound, options.tolerance)
        for x, bound in zip(xs, bounds, strict=True)
    ]


def _stop(walk: Walk, options: PageRankOptions) -> PowerMethod:
    return PowerMethod(
        contraction=(1 + walk.contraction) / 2 if options.lazy else walk.contraction,
        tolerance=options.tolerance,
        most_iterations=options.most_iterations,
        floor=rounding_floor(walk.contraction, walk.shares.dtype),
    )


def _without_nodes() -> Scores:
    return Scores(values=np.empty(0), iterations=0, error_bound=0.0, converged=True)


def _scores(x: AnyFloats, iterations: int, bound: float, tolerance: float) -> Scores:
    bound = min(bound, FURTHEST)
    values = (x / x.sum(dtype=np.float64)).astype(x.dtype)
    return Scores(
        values=values, iterations=iterations, error_bound=bound, converged=bound <= tolerance
    )
