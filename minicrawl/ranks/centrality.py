"""Centrality: importance by counting links, and by how near a node is to many.

Degree: a node's share of all links.

    in    score(i) = weight of the links to i   / weight of all links
    out   score(i) = weight of the links from i / weight of all links

Harmonic centrality:

    H(v) = Σ 1 / d(u, v) over all u ≠ v from which links lead to v, in d(u, v) steps at least

`exact` searches backwards from every node. `hyperball` estimates for every node how many nodes are
in its ball, those that reach it in t steps or fewer, and lets all balls grow by a step at a time
(`graph.hyperball`, against the links).

memory    two times nodes × 2^b bytes, and links backwards; b is the `precision`.
error     Of each ball the standard error is 1.04 / √2^b of its size. Errors of the balls of one
          node go the same way, so that of H is about as large. It is no bound: a third of the nodes
          are further off.

All scores are shares that sum to 1. Where there is no link all nodes are alike.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Adjacency, Vector, Weights
from minicrawl.graph.csr import BuiltGraph, Csr
from minicrawl.graph.distances import Balls, fronts, most_rounds
from minicrawl.opic.estimate import shares
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.hits import all_alike
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank
from minicrawl.ranks.scores import FURTHEST, Scores, share_done
from minicrawl.ranks.singular import Approximation, chord, leading, room_in, scores


class Direction(StrEnum):
    """Which links of a node count."""

    IN = "in"
    OUT = "out"


def degree(
    graph: Csr,
    weights: NDArray[np.float32] | None = None,
    *,
    direction: Direction = Direction.IN,
) -> Scores:
    """Each node's share of all links."""
    ends = graph.targets if direction is Direction.IN else graph.sources()
    counts = np.bincount(ends, weights, minlength=graph.nodes).astype(np.float64, copy=False)
    return Scores(values=shares(counts), iterations=0, error_bound=0.0, converged=True)


FEWEST_BITS, MOST_BITS = 4, 16
PRECISION = 6
"""64 registers: a standard error of 13 %."""
MEMORY_BYTES = 2 << 30
"""What registers may take, unless allowed more."""

_EXPECTED_STEPS = 30  # for progress alone: most graphs of the web are done by then


def exact(graph: Csr, *, tell: Progress = unreported) -> Scores:
    """By a walk back from each node: time grows with nodes × links."""
    backwards = graph.reversed()
    sums = np.zeros(graph.nodes)
    for node in range(graph.nodes):
        _, *further = fronts(backwards, [node])
        sums[node] = sum(len(front) / steps for steps, front in enumerate(further, start=1))
        tell((node + 1) / graph.nodes)
    return Scores(values=shares(sums), iterations=0, error_bound=0.0, converged=True)


def hyperball(
    graph: Csr,
    *,
    rng: np.random.Generator,
    precision: int = PRECISION,
    memory_bytes: int = MEMORY_BYTES,
    tell: Progress = unreported,
) -> Scores:
    """By balls that are counted with registers, until no ball grows any more, or they have grown so
    often that what is further away adds next to nothing.
    """
    check(graph.nodes, precision, memory_bytes)
    balls = Balls(graph.reversed(), precision, rng)
    sums, sizes, steps = np.zeros(graph.nodes), np.ones(graph.nodes), 0
    most, is_done = most_rounds(graph), False
    while steps < most:
        if is_done := not (grown := balls.grow()).size:
            break
        steps += 1
        # An estimate may fall by a hair where it turns from one way of counting to the other.
        larger = np.maximum(balls.sizes(grown), sizes[grown])
        sums[grown] += (larger - sizes[grown]) / steps
        sizes[grown] = larger
        tell(steps / (steps + _EXPECTED_STEPS))
    return Scores(
        values=shares(sums),
        iterations=steps,
        error_bound=inf if steps else 0.0,
        converged=is_done,
        standard_error=standard_error(precision) if steps else None,
    )


def standard_error(precision: int) -> float:
    """Of the size of a ball, as a share of it."""
    return float(1.04 / np.sqrt(2.0**precision))


def check(nodes: int, precision: int, memory_bytes: int) -> None:
    """Refuse what there is no room for."""
    if not FEWEST_BITS <= precision <= MOST_BITS:
        raise UsageError(
            f"the precision is {FEWEST_BITS} to {MOST_BITS} bits of registers, not {precision}"
        )
    if (needed := 2 * nodes << precision) > memory_bytes:
        raise UsageError(
            f"registers of {precision} bits for {nodes:,} nodes take {needed >> 20:,} MiB, "
            f"{memory_bytes >> 20:,} are allowed: lower the precision or allow more memory"
        )


# ================================================================ eigenvector
#
# Importance as the fixpoint of a link matrix: its eigenvector with the largest eigenvalue.
#
#     x = Lᵀ x / λ     a page is worth what the pages that link to it are worth, λ brought to 1
#
# Abiteboul, Preda and Cobena (2003) name three matrices. Where links have weights, these stand in
# place of 1:
#
# walk    L[i, j] = 1 / out(i) for a link from i to j: where a walk along the links is in the long
#         run
# links   L[i, j] = 1 for a link from i to j: the plain adjacency matrix
# either  L[i, j] = 1 for a link from i to j, from j to i, or both
#
# The paper's fixpoint exists where paths lead from every page to every other one. Its virtual page
# sees to that: one page more, with a link to and from each of the others, which gets no score.
# Without it a graph may have no cycle of links; then the largest eigenvalue is 0 and says nothing,
# and all pages are alike. Else pages that no cycle leads to have no score, and of parts of a graph
# that no link joins, the one with the largest eigenvalue has all.
#
# either  is symmetric. `singular` finds its eigenvector by Lanczos' method, with a bound.
# walk    with the virtual page is PageRank of one more link, with the bound of `pagerank`.
# others  The power method, on L + s so that no cycle goes round without end. No bound is known:
#         they end where changes, falling as they last did, sum up to less than the tolerance.

TOLERANCE = 1e-8
"""The error that will do, summed over all nodes."""

MOST_STEPS = 10_000

_ROOM = 1 << 23  # bytes
_FINER = 0.1  # with the virtual page its share is known too, and is taken away
_SHIFT = 0.5  # s, as a share of λ
_SLOWEST = 0.999_999  # changes that fall more slowly say nothing of their limit


class LinkMatrix(StrEnum):
    """What a link counts."""

    WALK = "walk"
    LINKS = "links"
    EITHER = "either"


class EigenvectorOptions(NamedTuple):
    """Of which matrix, and how well it must be known."""

    matrix: LinkMatrix = LinkMatrix.LINKS
    virtual_page: bool = False
    tolerance: float = TOLERANCE
    most_steps: int = MOST_STEPS


USUAL = EigenvectorOptions()


def eigenvector(
    graph: Csr,
    weights: Weights | None = None,
    *,
    options: EigenvectorOptions = USUAL,
    tell: Progress = unreported,
) -> Scores:
    """The fixpoint of this matrix, begun with all pages alike."""
    matrix, with_page, tolerance, most_steps = options
    if matrix is LinkMatrix.WALK and with_page:
        terms = PageRankOptions(
            damping=None,
            dangling=Dangling.VIRTUAL,
            tolerance=tolerance,
            most_iterations=most_steps,
        )
        return pagerank(graph, weights, options=terms, tell=tell)
    product, start = _product(graph, weights, options)
    if not start.any():
        return all_alike(graph.nodes).authorities
    stop = _Stop(tolerance * _FINER if with_page else tolerance, most_steps, tell)
    found = (_by_lanczos if matrix is LinkMatrix.EITHER else _by_power)(product, start, stop)
    return _without_virtual_page(found, tolerance) if with_page else found


Product = Callable[[Vector], Vector]


class _Stop(NamedTuple):
    tolerance: float
    most_steps: int
    tell: Progress


def _product(
    graph: Csr, weights: Weights | None, options: EigenvectorOptions
) -> tuple[Product, Vector]:
    """What Lᵀ does to a vector, and the vector to begin with."""
    if options.matrix is LinkMatrix.EITHER:
        graph, weights = either_way(graph, weights)
    if options.virtual_page:
        graph, weights = _with_virtual_page(graph, weights)
    start = has_cycle_before(graph).astype(np.float64)
    links = Adjacency(graph, weights)
    if options.matrix is not LinkMatrix.WALK:
        return links.pushed, start
    strengths = links.pulled(np.ones(graph.nodes))
    shares_of = np.divide(1.0, strengths, out=np.zeros(graph.nodes), where=strengths > 0)
    return lambda x: links.pushed(x * shares_of), start


# ---------------------------------------------------------------- matrices


def either_way(graph: Csr, weights: Weights | None) -> BuiltGraph:
    """Each link in both directions; of two weights between two nodes the larger one counts."""
    sources = np.concatenate((graph.sources(), graph.targets)).astype(np.int64)
    targets = np.concatenate((graph.targets, graph.sources())).astype(np.int64)
    both = Csr.from_edges(graph.nodes, sources, targets)
    if weights is None:
        return BuiltGraph(both, None)
    _, link = np.unique(sources * graph.nodes + targets, return_inverse=True)
    largest = np.zeros(both.edges, dtype=np.float32)
    np.maximum.at(largest, link, np.tile(weights, 2))
    return BuiltGraph(both, largest)


def _with_virtual_page(graph: Csr, weights: Weights | None) -> BuiltGraph:
    """One node more, the last, with a link of weight 1 to and from each of the others."""
    nodes = graph.nodes
    ends, starts = graph.starts[1:], graph.starts + np.arange(nodes + 1)
    targets = np.append(np.insert(graph.targets, ends, nodes), np.arange(nodes, dtype=np.int32))
    linked = Csr(starts=np.append(starts, len(targets)), targets=targets)
    if weights is not None:
        weights = np.append(np.insert(weights, ends, 1), np.ones(nodes, dtype=np.float32))
    return BuiltGraph(linked, weights)


def has_cycle_before(graph: Csr) -> NDArray[np.bool_]:
    """Whether each node is on a cycle of links, or behind one."""
    left, starts = graph.in_degrees(), graph.starts
    front = np.flatnonzero(left == 0)
    while front.size:
        left[front] = -1
        counts = starts[front + 1] - starts[front]
        links = np.repeat(starts[front] - np.cumsum(counts) + counts, counts)
        ends = graph.targets[links + np.arange(len(links))]
        np.subtract.at(left, ends, 1)
        front = np.unique(ends[left[ends] == 0])
    return left > 0


# ---------------------------------------------------------------- methods


def _by_lanczos(product: Product, start: Vector, stop: _Stop) -> Scores:
    for found in leading(product, start, room=room_in(_ROOM, len(start))):
        stop.tell(share_done(found.sine, stop.tolerance))
        may_do = FURTHEST * chord(found.sine) <= stop.tolerance
        if found.products >= stop.most_steps or (may_do and _ranked(found, stop).converged):
            break
    return _ranked(found, stop)


def _ranked(found: Approximation, stop: _Stop) -> Scores:
    """The limit has no negative entries: those of its approximation are rounding."""
    return scores(np.abs(found.vector()), found.sine, found.products, stop.tolerance)


def _by_power(product: Product, start: Vector, stop: _Stop) -> Scores:
    x, change, left, steps = start / start.sum(), inf, inf, 0
    while left > stop.tolerance and steps < stop.most_steps:
        y = product(x)
        y += _SHIFT * y.sum() * x
        y /= y.sum()
        before, change = change, float(np.abs(y - x).sum())
        rate = min(change / before, _SLOWEST) if steps else _SLOWEST
        left = change * rate / (1 - rate)
        x, steps = y, steps + 1
        stop.tell(share_done(left, stop.tolerance))
    return Scores(values=x, iterations=steps, error_bound=inf, converged=left <= stop.tolerance)


def _without_virtual_page(found: Scores, tolerance: float) -> Scores:
    """The scores of the real pages: shares of less, which err by more."""
    values = found.values[:-1]
    bound = min(2 * found.error_bound / float(values.sum()), FURTHEST)
    if found.error_bound == inf:
        return replace(found, values=values / values.sum())
    return replace(
        found, values=values / values.sum(), error_bound=bound, converged=bound <= tolerance
    )
