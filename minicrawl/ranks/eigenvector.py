"""Importance as the eigenvector of a link matrix with the largest eigenvalue λ.

    x = Lᵀ x / λ     the score of a page is the sum of the pages that link to it, scaled by λ

Abiteboul, Preda and Cobena (2003) name three matrices. Weights of links replace the 1s:

walk    L[i, j] = 1 / out(i) for a link from i to j: the limit of a random walk along the links
links   L[i, j] = 1 for a link from i to j: the adjacency matrix
either  L[i, j] = 1 for a link from i to j, from j to i, or both

The paper's fixpoint exists if every page reaches every other page. The virtual page guarantees
that: an additional page with links to and from all others, which gets no score. Without the
virtual page, pages not reached from a cycle of links have no score, and among disconnected parts
of a graph, the part with the largest eigenvalue gets everything. In a graph without a cycle, all
eigenvalues are 0, and all pages get equal scores.

either  is symmetric: Lanczos' method finds its eigenvector, with a bound (see `leading` of
        `singular_vectors`).
walk    with the virtual page is PageRank with an additional link, with the bound of `pagerank`.
others  The power method on L + s, where the shift s prevents oscillation along cycles. No bound
        is known: the method stops when the extrapolated sum of further changes is at most the
        tolerance.
"""

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import linked_from
from minicrawl.graph.link_builder import BuiltGraph, Weights
from minicrawl.graph.products import Adjacency, Vector
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.hits import all_alike
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank
from minicrawl.ranks.scores import FURTHEST, Scores, share_done
from minicrawl.ranks.singular_vectors import chord, images_within, leading, scores

TOLERANCE = 1e-8
"""Default tolerance of the error, summed over all nodes."""

MOST_STEPS = 10_000

_LANCZOS_BYTES = 1 << 23
_FINER = 0.1  # tolerance with the virtual page: removing its share enlarges the error
_SHIFT = 0.5  # s, relative to λ
_SLOWEST = 0.999_999  # a slower decrease of changes says nothing about the limit


class LinkMatrix(StrEnum):
    WALK = "walk"
    LINKS = "links"
    EITHER = "either"


class EigenvectorOptions(NamedTuple):
    """Link matrix, and precision of its eigenvector."""

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
    """Return the eigenvector of the link matrix, starting with all pages equal."""
    matrix, with_page, tolerance, most_steps = options
    if matrix is LinkMatrix.WALK and with_page:
        walk_options = PageRankOptions(
            damping=None, dangling=Dangling.VIRTUAL, tolerance=tolerance, most_iterations=most_steps
        )
        return pagerank(graph, weights, options=walk_options, tell=tell)
    product, start = _product(graph, weights, options)
    if not start.any():
        return all_alike(graph.nodes).authorities
    method = _by_lanczos if matrix is LinkMatrix.EITHER else _by_power
    finer = tolerance * _FINER if with_page else tolerance
    extended = method(product, start, finer, most_steps, tell)
    if not with_page:
        return extended
    # The scores of the real pages are scaled to sum to 1, which enlarges their error.
    values = extended.values[:-1]
    total = float(values.sum())
    if extended.error_bound == inf:
        return replace(extended, values=values / total)
    bound = 2 * extended.error_bound / total
    return Scores.within(values / total, extended.iterations, bound, tolerance)


Product = Callable[[Vector], Vector]


def _product(
    graph: Csr, weights: Weights | None, options: EigenvectorOptions
) -> tuple[Product, Vector]:
    """Return the function x -> Lᵀ x, and the starting vector."""
    if options.matrix is LinkMatrix.EITHER:
        graph, weights = either_way(graph, weights)
    if options.virtual_page:  # a node with links of weight 1 to and from every other node
        nodes = graph.nodes
        ends, starts = graph.starts[1:], graph.starts + np.arange(nodes + 1)
        targets = np.append(np.insert(graph.targets, ends, nodes), np.arange(nodes, dtype=np.int32))
        graph = Csr(starts=np.append(starts, len(targets)), targets=targets)
        if weights is not None:
            weights = np.append(np.insert(weights, ends, 1), np.ones(nodes, dtype=np.float32))
    start = reached_from_cycle(graph).astype(np.float64)
    links = Adjacency(graph, weights)
    if options.matrix is not LinkMatrix.WALK:
        return links.pushed, start
    strengths = links.pulled(np.ones(graph.nodes))
    shares_of = np.divide(1.0, strengths, out=np.zeros(graph.nodes), where=strengths > 0)
    return lambda x: links.pushed(x * shares_of), start


def either_way(graph: Csr, weights: Weights | None) -> BuiltGraph:
    """Return all links in both directions. A link gets the larger of the weights of both."""
    sources = np.concatenate((graph.sources(), graph.targets)).astype(np.int64)
    targets = np.concatenate((graph.targets, graph.sources())).astype(np.int64)
    both = Csr.from_edges(graph.nodes, sources, targets)
    if weights is None:
        return BuiltGraph(both, None)
    _, link = np.unique(sources * graph.nodes + targets, return_inverse=True)
    largest = np.zeros(both.edges, dtype=np.float32)
    np.maximum.at(largest, link, np.tile(weights, 2))
    return BuiltGraph(both, largest)


def reached_from_cycle(graph: Csr) -> NDArray[np.bool_]:
    """Return a mask of the nodes that are on a cycle of links or reached from one."""
    left = graph.in_degrees()
    front = np.flatnonzero(left == 0)
    while front.size:
        left[front] = -1
        ends = linked_from(graph, front)
        np.subtract.at(left, ends, 1)
        front = np.unique(ends[left[ends] == 0])
    return left > 0


def _by_lanczos(
    product: Product, start: Vector, tolerance: float, most_steps: int, tell: Progress
) -> Scores:
    most_images = images_within(_LANCZOS_BYTES, len(start))
    approximations = leading(product, start, most_images=most_images)
    while True:
        approximation = next(approximations)
        tell(share_done(approximation.sine, tolerance))
        is_last = approximation.is_all or approximation.products >= most_steps
        if is_last or FURTHEST * chord(approximation.sine) <= tolerance:
            # The limit has no negative entries, so a minus sign is rounding.
            x = np.abs(approximation.vector())
            ranked = scores(x, approximation.sine, approximation.products, tolerance)
            if is_last or ranked.converged:
                return ranked


def _by_power(
    product: Product, start: Vector, tolerance: float, most_steps: int, tell: Progress
) -> Scores:
    x, change, left, steps = start / start.sum(), inf, inf, 0
    while left > tolerance and steps < most_steps:
        y = product(x)
        # On a bipartite graph, such as an index and pages that link only to each other, the
        # iteration would oscillate for ever; a part of the old vector dampens that.
        y += _SHIFT * y.sum() * x
        y /= y.sum()
        before, change = change, float(np.abs(y - x).sum())
        # If all further changes shrink by the latest factor, their sum is a geometric series.
        rate = min(change / before, _SLOWEST) if steps else _SLOWEST
        left = change * rate / (1 - rate)
        x, steps = y, steps + 1
        tell(share_done(left, tolerance))
    return Scores(values=x, iterations=steps, error_bound=inf, converged=left <= tolerance)
