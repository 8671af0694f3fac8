"""The adjacency matrix A of a graph, and what it does to a vector.

A[i, j] is the weight of the link from node i to node j, 1 where links have none, 0 without a link.

    pulled(x) = A x     each node sums up what the nodes that it links to have
    pushed(x) = Aᵀ x    each node hands what it has to all nodes that it links to
    through(x) = AᵀA x  both in one pass: what a node sums up it hands on at once

All follow the rows of the graph as they lie, so that nothing is turned round and memory is that
of the graph, of the vectors and of one block of links.

The products of rows of links with a vector, which all of this is made of:

    gather   y_i += Σ w_ij x_j   each row sums up what its targets have
    scatter  y_j += Σ w_ij x_i   each row hands what it has to its targets

Both are two loops in C of scipy's sparse matrices, called on parts of a graph as they lie. These
loops are no public part of scipy. Where a release of scipy lacks them, and for small graphs, numpy
does the same.
"""

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr

AnyFloats = NDArray[np.floating[Any]]


class WeightedRows(NamedTuple):
    """The links of row i are those from `starts[i]` to `starts[i + 1]`."""

    starts: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: AnyFloats


class RowProducts(NamedTuple):
    """Each adds to its last argument: (rows, x, y)."""

    gather: Callable[[WeightedRows, AnyFloats, AnyFloats], None]
    scatter: Callable[[WeightedRows, AnyFloats, AnyFloats], None]


@cache
def row_products() -> RowProducts:
    """The quickest that there are. Loaded when they are needed, as scipy takes 25 MB."""
    try:
        from scipy.sparse import _sparsetools

        return _by_loops(_sparsetools.csr_matvec, _sparsetools.csc_matvec)
    except (ImportError, AttributeError):  # pragma: no cover - in no release of scipy so far
        return by_counting()


def _by_loops(csr_matvec: Callable[..., None], csc_matvec: Callable[..., None]) -> RowProducts:
    def gather(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        csr_matvec(len(y), len(x), *rows, x, y)

    def scatter(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        csc_matvec(len(y), len(x), *rows, x, y)

    return RowProducts(gather, scatter)


def by_counting() -> RowProducts:
    """The same by numpy, which takes no time to load but a vector for each call."""

    def gather(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        places = np.repeat(np.arange(len(rows.starts) - 1), np.diff(rows.starts))
        y += np.bincount(places, rows.weights * x[rows.targets], len(y))

    def scatter(rows: WeightedRows, x: AnyFloats, y: AnyFloats) -> None:
        handed = np.repeat(x, np.diff(rows.starts)) * rows.weights
        y += np.bincount(rows.targets, handed, len(y))

    return RowProducts(gather, scatter)


Vector = NDArray[np.float64]
Weights = NDArray[np.float32]

_LINKS_AT_ONCE = 1 << 16  # the block and what is made of it stay in the processor's cache


class AdjacencyBlock(NamedTuple):
    """Nodes, their links, and where in these the links of each begin and the last ends."""

    nodes: slice | NDArray[np.intp]
    links: slice | NDArray[np.int64]
    starts: NDArray[np.int64]


class Adjacency:
    """The matrix of a graph; `weights` lie as its targets do."""

    def __init__(self, graph: Csr, weights: Weights | None = None) -> None:
        self.graph = graph
        self.weights = weights
        firsts = np.searchsorted(graph.starts, np.arange(0, graph.edges, _LINKS_AT_ONCE))
        self._cuts = np.unique([0, *firsts, graph.nodes]).tolist()
        self._alike: AnyFloats = np.empty(0)
        self._products = row_products()

    def pulled(self, x: Vector) -> Vector:
        """A x."""
        sums = np.empty(self.graph.nodes)
        for block in self.blocks():
            sums[block.nodes] = self._gathered(self._rows(block, x), x)
        return sums

    def through(self, x: Vector) -> Vector:
        """AᵀA x, without a vector of A x."""
        sums = np.zeros(self.graph.nodes)
        for block in self.blocks():
            rows = self._rows(block, x)
            self._products.scatter(rows, self._gathered(rows, x), sums)
        return sums

    def pushed(self, x: Vector) -> Vector:
        """Aᵀ x."""
        sums: Vector = self.pushed_all(x[np.newaxis])[0]
        return sums

    def pushed_all(self, xs: AnyFloats) -> AnyFloats:
        """Aᵀ x of every row x, in one pass over the links."""
        sums = np.zeros_like(xs)
        for block in self.blocks():
            self.push(block, xs[:, block.nodes], sums)
        return sums

    def push(self, block: AdjacencyBlock, xs: AnyFloats, to: AnyFloats) -> None:
        """What the nodes of a block hand on of every row x, which is theirs, is added to `to`."""
        rows = self._rows(block, to)
        for x, sums in zip(xs, to, strict=True):
            self._products.scatter(rows, x, sums)

    def _rows(self, block: AdjacencyBlock, like: AnyFloats) -> WeightedRows:
        targets = self.graph.targets[block.links]
        if self.weights is None:
            weights = self._ones(len(targets), like)
        else:
            weights = self.weights[block.links].astype(like.dtype, copy=False)
        return WeightedRows(block.starts.astype(np.int32), targets, weights)

    def _ones(self, count: int, like: AnyFloats) -> AnyFloats:
        """The weights of a block whose links have none; the same for all."""
        if len(self._alike) < count or self._alike.dtype != like.dtype:
            self._alike = np.ones(max(count, _LINKS_AT_ONCE), dtype=like.dtype)
        return self._alike[:count]

    def _gathered(self, rows: WeightedRows, x: AnyFloats) -> AnyFloats:
        """What the nodes of a block sum up."""
        sums = np.zeros(len(rows.starts) - 1, dtype=x.dtype)
        self._products.gather(rows, x, sums)
        return sums

    def blocks(self) -> Iterator[AdjacencyBlock]:
        """All nodes, some at a time."""
        starts = self.graph.starts
        for first, last in pairwise(self._cuts):
            links = slice(int(starts[first]), int(starts[last]))
            yield AdjacencyBlock(slice(first, last), links, starts[first : last + 1] - links.start)

    def blocks_of(self, nodes: NDArray[np.intp]) -> Iterator[AdjacencyBlock]:
        """Some of the nodes, as many at a time as have links that stay in the cache."""
        starts = self.graph.starts
        ends = np.cumsum(starts[nodes + 1] - starts[nodes])
        cuts = np.searchsorted(ends, np.arange(_LINKS_AT_ONCE, ends.max(initial=0), _LINKS_AT_ONCE))
        for some in np.split(nodes, cuts):
            within = np.append(0, np.cumsum(starts[some + 1] - starts[some]))
            links = np.repeat(starts[some] - within[:-1], np.diff(within))
            links += np.arange(len(links))
            yield AdjacencyBlock(some, links, within)
