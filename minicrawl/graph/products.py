"""Products of the adjacency matrix A of a graph with vectors.

A[i, j] is the weight of the link from node i to node j, 1 for links without weights, 0 for no link.

    pulled(x) = A x     each node sums the values of the nodes that it links to
    pushed(x) = Aᵀ x    each node adds its value to all nodes that it links to
    through(x) = AᵀA x  both in one pass over the links

All of them read the rows of the graph in place. No transposed copy is made, so memory is that of
the graph, the vectors and one block of links. They are composed of two products of rows of links
with a vector:

    gather   y_i += Σ w_ij x_j   each row sums the values of its targets
    scatter  y_j += Σ w_ij x_i   each row adds its value to its targets

scipy has both as the C loops of its sparse matrices; here they are called on parts of a graph in
place. numpy does the same in three to four times the time: without the extra `ranks`, for small
graphs, and if a release of scipy lacks these loops, which are not part of its public API.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights

AnyFloats = NDArray[np.floating[Any]]


class WeightedRows(NamedTuple):
    """Rows of links: those of row i go from `starts[i]` to `starts[i + 1]`."""

    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: AnyFloats


class RowProducts(NamedTuple):
    """Functions (rows, x, y) that add their product to y."""

    gather: Callable[[WeightedRows, AnyFloats, AnyFloats], None]
    scatter: Callable[[WeightedRows, AnyFloats, AnyFloats], None]


@cache
def row_products() -> RowProducts:
    """Return the fastest products. scipy is imported on first use, as it takes 25 MB."""
    try:
        from scipy.sparse import _sparsetools

        csr_matvec, csc_matvec = _sparsetools.csr_matvec, _sparsetools.csc_matvec
    except (ImportError, AttributeError):
        return by_counting()

    def gather(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        csr_matvec(len(y), len(x), *rows, x, y)

    def scatter(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        csc_matvec(len(y), len(x), *rows, x, y)

    return RowProducts(gather, scatter)


def by_counting() -> RowProducts:
    """Return products by numpy: no import, but each call allocates a vector."""

    def gather(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        places = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
        y += np.bincount(places, rows.weights * x[rows.targets], len(y))

    def scatter(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        handed = np.repeat(x, np.diff(rows.starts)) * rows.weights
        y += np.bincount(rows.targets, handed, len(y))

    return RowProducts(gather, scatter)


Vector = NDArray[np.float64]

_LINKS_AT_ONCE = 1 << 16  # a block and its intermediate results fit into the processor's cache


class AdjacencyBlock(NamedTuple):
    """Block of nodes, with their links and the start of each node's links in the block."""

    nodes: slice | NDArray[np.intp]
    links: slice | NDArray[np.int64]
    starts: NDArray[np.int64]


class Adjacency:
    """The adjacency matrix of a graph; `weights` are in the order of its targets."""

    def __init__(
        self, graph: Csr, weights: Weights | None = None, links_at_once: int = _LINKS_AT_ONCE
    ) -> None:
        """`links_at_once` is the usual number of links of a block."""
        self.graph = graph
        self.weights = weights
        self._at_once = links_at_once
        # Blocks have about equally many links, not nodes: with equally many nodes, a block with a
        # node of a million links would not fit into the cache.
        firsts = np.searchsorted(graph.starts, np.arange(0, graph.edges, links_at_once))
        self._cuts = sorted({0, *firsts.tolist(), graph.nodes})
        self._cached_ones: AnyFloats = np.empty(0)
        self._products = row_products()

    def pulled(self, x: Vector) -> Vector:
        """Return A x."""
        sums = np.empty(self.graph.nodes)
        for block in self.blocks():
            sums[block.nodes] = self._gathered(self._rows(block, x), x)
        return sums

    def through(self, x: Vector) -> Vector:
        """Return AᵀA x, without storing A x."""
        sums = np.zeros(self.graph.nodes)
        for block in self.blocks():
            rows = self._rows(block, x)
            self._products.scatter(rows, self._gathered(rows, x), sums)
        return sums

    def pushed(self, x: Vector) -> Vector:
        """Return Aᵀ x."""
        sums: Vector = self.pushed_all(x[np.newaxis])[0]
        return sums

    def pushed_all(self, xs: AnyFloats) -> AnyFloats:
        """Return Aᵀ x for every row x, in one pass over the links."""
        sums = np.zeros_like(xs)
        for block in self.blocks():
            self.push(block, xs[:, block.nodes], sums)
        return sums

    def push(self, block: AdjacencyBlock, xs: AnyFloats, to: AnyFloats) -> None:
        """Push each row of `xs`, values of a block's nodes, and add it to the same row of `to`."""
        rows = self._rows(block, to)
        for x, sums in zip(xs, to, strict=True):
            self._products.scatter(rows, x, sums)

    def _rows(self, block: AdjacencyBlock, like: AnyFloats) -> WeightedRows:
        targets = self.graph.targets[block.links]
        if self.weights is None:
            count, ones = len(targets), self._cached_ones
            if len(ones) < count or ones.dtype != like.dtype:
                ones = self._cached_ones = np.ones(max(count, self._at_once), dtype=like.dtype)
            weights = ones[:count]
        else:
            weights = self.weights[block.links].astype(like.dtype, copy=False)
        return WeightedRows(block.starts.astype(np.int32), targets, weights)

    def _gathered(self, rows: WeightedRows, x: AnyFloats) -> AnyFloats:
        """Return, for each node of a block, the weighted sum of its targets' values."""
        sums = np.zeros(len(rows.starts) - 1, dtype=x.dtype)
        self._products.gather(rows, x, sums)
        return sums

    def blocks(self) -> Iterator[AdjacencyBlock]:
        starts = self.graph.starts
        for first, last in pairwise(self._cuts):
            links = slice(int(starts[first]), int(starts[last]))
            yield AdjacencyBlock(slice(first, last), links, starts[first : last + 1] - links.start)

    def blocks_of(self, nodes: NDArray[np.intp]) -> Iterator[AdjacencyBlock]:
        """Yield blocks that cover these nodes, each small enough for the cache."""
        starts = self.graph.starts
        ends = np.cumsum(starts[nodes + 1] - starts[nodes])
        cuts = np.searchsorted(ends, np.arange(self._at_once, ends.max(initial=0), self._at_once))
        for part in np.split(nodes, cuts):
            within = np.append(0, np.cumsum(starts[part + 1] - starts[part]))
            links = np.repeat(starts[part] - within[:-1], np.diff(within))
            links += np.arange(len(links))
            yield AdjacencyBlock(part, links, within)
