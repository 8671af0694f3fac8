"""PageRank: the limit of a random walk that follows links and sometimes jumps (Brin, Page, 1998).

A step of the walk passes everything on, x -> G x, and nothing is lost:

    (G x)_j = Σ x_i s_i w_ij / w_i  +  v_j Σ x_i a_i  +  1/n Σ x_i b_i,     s_i + a_i + b_i = 1

w    weights of links; w_i is the sum over the links of node i
s    share of a node's score for the nodes it links to: the damping c, or 0 without links
v    targets of jumps, summing to 1
a    share of a node's score that jumps to v
b    share of a node's score that is spread over all nodes
κ    contraction: the largest s. |G x - G y| <= κ |x - y| if x and y have equal sums, with |.| as
     the sum over all nodes: at least 1 - κ of the score of every node goes the same way, and only
     the rest can differ. (With uniformly spread dangling mass, b is c.)

So there is one limit x* = G x* of sum 1 if κ < 1, and for x of sum 1

    |x - x*| <= |x - G x| + |G x - G x*| <= |G x - x| + κ |x - x*|
    |x - x*| <= |G x - x| / (1 - κ)

The power method computes x' = G x (see `scores`). A lazy walk rests half of the time: its step
x' = (x + G x) / 2 has the same limit, and its contraction (1 + κ) / 2 replaces κ in the bound.

The other methods are residual methods: nodes pass on only what their scores have gained.

    r = G x - x   the residual, pending at each node.  x' = x + the part of r that nodes take

gauss-seidel  Goes block by block; later blocks pass on in the same iteration what earlier ones gave
              them. If a few nodes with few links then hold most of r, these pass on some more
              times: cycles that the walk leaves only by jumps converge slowly, and have few links.
              Jumps are distributed at the end of the iteration.
sweeping      Like gauss-seidel, but in each iteration only nodes whose |r| per link is above
              average pass on. The sum of what they pass on is arbitrary. So the 1 - κ of it that
              always jumps is not distributed but treated as that of a sum of 1, and |r| falls by as
              much in each iteration.

A lazy walk passes on half of the residual. The methods update r instead of computing it; at the end
r is recomputed, and they continue if it differs. As r then sums to 0, the bound is

    |r| / ((1 - κ) |x|)
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.graph.products import Adjacency, AdjacencyBlock, AnyFloats
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.scores import Floats, PowerMethod, Scores, rounding_floor, share_done


class Dangling(StrEnum):
    """Destination of the score of pages without links."""

    UNIFORM = "uniform"
    TELEPORT = "teleport"
    VIRTUAL = "virtual"
    """OPIC's virtual page: it links to all pages, and also gets the small edge of each page."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Walk:
    """The walk G. `shares` is s, `per_weight` is s_i / w_i, and `contraction` is κ."""

    links: Adjacency
    shares: AnyFloats
    per_weight: AnyFloats
    dangling: Dangling
    contraction: float

    def jumps(
        self, x: AnyFloats, rows: slice | NDArray[np.intp] = slice(None)
    ) -> tuple[float, float]:
        """Return how much of x jumps to v, and how much is spread over all nodes.

        `x` has the scores of the nodes in `rows` only.
        """
        total = float(x.sum(dtype=np.float64))
        along_links = float(np.einsum("i,i->", x, self.shares[rows], dtype=np.float64))
        match self.dangling:
            case Dangling.UNIFORM:
                return (1 - self.contraction) * total, self.contraction * total - along_links
            case Dangling.TELEPORT:
                return total - along_links, 0.0
            case Dangling.VIRTUAL:
                return 0.0, total - along_links
            case other:
                assert_never(other)

    def step(self, xs: AnyFloats, teleports: AnyFloats) -> AnyFloats:
        """Return G x for each row x of `xs`, with jumps to the same row of `teleports`."""
        ys = self.links.pushed_all(xs * self.per_weight)
        for row, x in enumerate(xs):
            jumping, to_all = self.jumps(x)
            ys[row] += teleports[row] * x.dtype.type(jumping) + x.dtype.type(to_all / len(x))
        return ys


def walk_of(
    graph: Csr,
    weights: Weights | None,
    damping: float | None,
    dangling: Dangling,
    precision: type[np.float32 | np.float64],
) -> Walk:
    """Return the walk. Without damping, each page has one more link, to the virtual page."""
    links = Adjacency(graph, weights)
    if weights is None:
        strengths = graph.out_degrees().astype(np.float64)
    else:
        strengths = links.pulled(np.ones(graph.nodes))
    if damping is None:
        shares = strengths / (strengths + 1)
        contraction = float(shares.max(initial=0))
    else:
        shares, contraction = np.where(strengths > 0, damping, 0.0), damping
    per_weight = np.divide(shares, strengths, out=np.zeros_like(shares), where=strengths > 0)
    return Walk(
        links=links,
        shares=shares.astype(precision, copy=False),
        per_weight=per_weight.astype(precision, copy=False),
        dangling=dangling,
        contraction=contraction,
    )


_NODES_AT_ONCE = 1 << 15
_LARGE = 2.0  # residual per link that counts as large, as a multiple of the average
_MOST_REPEATED = 8  # the nodes that pass on again have at most 1/8 of all links
_REPEATS = 3

Turns = Callable[[Adjacency, AnyFloats], Iterable[AdjacencyBlock]]
"""Yields the nodes that pass on in one iteration, block by block; r changes in between."""


def in_order(links: Adjacency, r: AnyFloats) -> Iterator[AdjacencyBlock]:
    """Yield all nodes, then a few times the few nodes that hold most of the residual."""
    yield from links.blocks()
    residual = _sum_of_residual(r)
    few = _with_large_residual(links, r, _LARGE * residual)
    counts = links.graph.starts[few + 1] - links.graph.starts[few]
    is_little = counts.sum() * _MOST_REPEATED <= links.graph.edges
    if is_little and 2 * _sum_of_residual(r[few]) >= residual:
        yield from _REPEATS * list(links.blocks_of(few))


def above_average(links: Adjacency, r: AnyFloats) -> Iterator[AdjacencyBlock]:
    """Yield the nodes whose residual per link is above average; at least one node."""
    # Without the factor, rounding could leave no node.
    return links.blocks_of(_with_large_residual(links, r, 0.999 * _sum_of_residual(r)))


def residual_method(
    x: AnyFloats,
    walk: Walk,
    teleport: AnyFloats,
    stop: PowerMethod,
    tell: Progress,
    *,
    turns: Turns,
    lazy: bool,
) -> tuple[int, float]:
    """Bring x in place to the limit of a walk whose jumps lead to `teleport`.

    Return the number of iterations and the error bound.
    """

    def bound_of(r: AnyFloats) -> float:
        return _sum_of_residual(r) / ((1 - walk.contraction) * float(x.sum(dtype=np.float64)))

    iterations, goal = 0, max(stop.tolerance - stop.floor, 0.5 * stop.floor)
    while True:
        x /= x.sum(dtype=np.float64)
        r = walk.step(x[np.newaxis], teleport[np.newaxis])[0] - x
        bound = bound_of(r) + stop.floor
        tell(share_done(bound, stop.tolerance))
        if iterations >= stop.most_iterations or stop.is_enough(bound):
            return iterations, bound
        while iterations < stop.most_iterations and (left := bound_of(r)) > goal:
            jumping, to_all, taken = _pass_on(x, r, walk, turns, 0.5 if lazy else 1.0)
            if turns is above_average:
                # The 1 - κ of `taken` always jumps or is spread.
                usual = (1 - walk.contraction) * taken
                if walk.dangling is Dangling.VIRTUAL:
                    to_all -= usual
                else:
                    jumping -= usual
            r += teleport * r.dtype.type(jumping) + r.dtype.type(to_all / len(r))
            iterations += 1
            tell(share_done(left, stop.tolerance))


def _pass_on(
    x: AnyFloats, r: AnyFloats, walk: Walk, turns: Turns, part: float
) -> tuple[float, float, float]:
    """Move this part of the residual of nodes to their scores, and pass it on along their links.

    Return how much of it jumps, how much is spread over all nodes, and the whole amount.
    """
    jumping = to_all = total = 0.0
    for block in turns(walk.links, r):
        taken = r[block.nodes] * r.dtype.type(part)
        x[block.nodes] += taken
        r[block.nodes] -= taken
        given = taken * walk.per_weight[block.nodes]
        walk.links.push(block, given[np.newaxis], r[np.newaxis])
        jumps, spread = walk.jumps(taken, block.nodes)
        jumping, to_all = jumping + jumps, to_all + spread
        total += float(taken.sum(dtype=np.float64))
    return jumping, to_all, total


def _with_large_residual(links: Adjacency, r: AnyFloats, residual: float) -> NDArray[np.intp]:
    """Return the nodes with more residual per link than if `residual` were spread evenly."""
    graph = links.graph
    bar = residual / (graph.edges + graph.nodes)
    is_holding = np.empty(graph.nodes, dtype=np.bool_)
    for nodes, _, starts in links.blocks():
        is_holding[nodes] = np.abs(r[nodes]) >= bar * (np.diff(starts) + 1)
    return np.flatnonzero(is_holding)


def _sum_of_residual(r: AnyFloats) -> float:
    # In parts, so that no vector as large as r is allocated.
    parts = (r[first : first + _NODES_AT_ONCE] for first in range(0, len(r), _NODES_AT_ONCE))
    return sum(float(np.abs(each).sum(dtype=np.float64)) for each in parts)


DAMPING = 0.85
TOLERANCE = 1e-8
"""Default tolerance of the error, summed over all nodes."""


class Method(StrEnum):
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
    """Parameters and precision of PageRank.

    A `damping` of None makes the virtual page one more link of each page.
    """

    damping: float | None = DAMPING
    dangling: Dangling = Dangling.UNIFORM
    method: Method | None = None
    """None means Gauss-Seidel for one rank, and power for several at once."""
    lazy: bool = False
    tolerance: float = TOLERANCE
    most_iterations: int = 1000
    precision: str = "double"


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
    """Return the limit, or the approximation after `most_iterations`.

    Jumps go to all nodes equally, or by the weights in `teleport`. The iterations begin with all
    nodes equal, or with the scores in `start`.
    """
    if teleport is None:
        # To all nodes equally: one number, which numpy broadcasts.
        jumps = np.full((1, 1), 1 / max(graph.nodes, 1), dtype=PRECISIONS[options.precision])
    elif options.dangling is Dangling.VIRTUAL:
        raise UsageError("the virtual page links to all pages: leave out the targets of jumps")
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
    """Return a rank for each row of `teleports`; the power method computes all in one pass.

    Rows need not sum to 1: they are normalised.
    """
    jumps = _shares_of(teleports, options)
    return _ranks(graph, weights, jumps, jumps, options, tell)


def _shares_of(teleports: NDArray[np.float64], options: PageRankOptions) -> AnyFloats:
    totals = teleports.sum(axis=1, keepdims=True)
    is_empty = not teleports.shape[1]
    if (teleports < 0).any() or not (is_empty or (np.isfinite(totals) & (totals > 0)).all()):
        raise UsageError(
            "the weights of the targets of jumps must be 0 or more, and at least one above 0"
        )
    return _in_precision(teleports / totals, options)


def _in_precision(values: Floats, options: PageRankOptions) -> AnyFloats:
    return values.astype(PRECISIONS[options.precision], copy=False)


def _ranks(
    graph: Csr,
    weights: Weights | None,
    jumps: AnyFloats,
    begin: AnyFloats,
    options: PageRankOptions,
    tell: Progress,
) -> list[Scores]:
    """Return a rank for each row of `jumps`, starting from the same row of `begin`."""
    if not graph.nodes:
        return [Scores.exact(np.empty(0)) for _ in jumps]
    walk = walk_of(graph, weights, options.damping, options.dangling, PRECISIONS[options.precision])
    xs = np.broadcast_to(begin, (len(jumps), graph.nodes)).copy()
    method = options.method or (Method.GAUSS_SEIDEL if len(jumps) == 1 else Method.POWER)
    contraction = (1 + walk.contraction) / 2 if options.lazy else walk.contraction
    stop = PowerMethod(
        contraction=contraction,
        tolerance=options.tolerance,
        most_iterations=options.most_iterations,
        floor=rounding_floor(walk.contraction, walk.shares.dtype),
    )

    def step() -> NDArray[np.float64]:
        nonlocal xs
        ys = walk.step(xs, jumps)
        if options.lazy:
            ys = (xs + ys) / 2
        changes: NDArray[np.float64] = np.abs(ys - xs).sum(axis=1, dtype=np.float64)
        xs = ys
        return changes

    if method is Method.POWER:
        iterations, bounds = stop.run(step, tell)
        ends = [(iterations, bound) for bound in bounds]
    else:
        turns, lazy = _TURNS[method], options.lazy
        ends = [
            residual_method(x, walk, jump, stop, tell, turns=turns, lazy=lazy)
            for jump, x in zip(jumps, xs, strict=True)
        ]
    return [
        Scores.within((x / x.sum(dtype=np.float64)).astype(x.dtype), *end, options.tolerance)
        for x, end in zip(xs, ends, strict=True)
    ]
