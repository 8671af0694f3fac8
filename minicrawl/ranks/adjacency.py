"""The adjacency matrix A of a graph, and what it does to a vector.

A[i, j] is the weight of the link from node i to node j, 1 where links have none, 0 without a link.

    pulled(x) = A x     each node sums up what the nodes that it links to have
    pushed(x) = Aᵀ x    each node hands what it has to all nodes that it links to
    through(x) = AᵀA x  both in one pass: what a node sums up it hands on at once

Both follow the rows of the graph as they lie, so that nothing is turned round and memory is that
of the graph, of the vectors and of one block of links.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr

Vector = NDArray[np.float64]
Weights = NDArray[np.float32]
AnyFloats = NDArray[np.floating[Any]]

_LINKS_AT_ONCE = 1 << 16  # the block and what is made of it stay in the processor's cache


class Block(NamedTuple):
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

    def pulled(self, x: Vector) -> Vector:
        """A x."""
        sums = np.empty(self.graph.nodes)
        for block in self.blocks():
            sums[block.nodes] = self._pull(block, self._targets(block), x)
        return sums

    def through(self, x: Vector) -> Vector:
        """AᵀA x, without a vector of A x."""
        sums = np.zeros(self.graph.nodes)
        for block in self.blocks():
            targets = self._targets(block)
            self._push(block, targets, self._pull(block, targets, x), sums)
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

    def push(self, block: Block, xs: AnyFloats, to: AnyFloats) -> None:
        """What the nodes of a block hand on of every row x, which is theirs, is added to `to`."""
        targets = self._targets(block)
        for x, sums in zip(xs, to, strict=True):
            self._push(block, targets, x, sums)

    def _targets(self, block: Block) -> NDArray[np.intp]:
        """Places as wide as an address are looked up and added to twice as fast."""
        return self.graph.targets[block.links].astype(np.intp)

    def _pull(self, block: Block, targets: NDArray[np.intp], x: Vector) -> Vector:
        """What the nodes of a block sum up."""
        # One place more than links: there the nodes begin that have none, at the end.
        found = np.empty(len(targets) + 1)
        found[-1] = 0.0
        # All targets are nodes: the mode only spares a second look at them.
        x.take(targets, mode="clip", out=found[:-1])
        if self.weights is not None:
            found[:-1] *= self.weights[block.links]
        sums: Vector = np.add.reduceat(found, block.starts[:-1])
        sums[block.starts[:-1] == block.starts[1:]] = 0.0
        return sums

    def _push(self, block: Block, targets: NDArray[np.intp], x: AnyFloats, sums: AnyFloats) -> None:
        given = np.repeat(x, np.diff(block.starts))
        if self.weights is not None:
            given *= self.weights[block.links]
        np.add.at(sums, targets, given)

    def blocks(self) -> Iterator[Block]:
        """All nodes, some at a time."""
        starts = self.graph.starts
        for first, last in pairwise(self._cuts):
            links = slice(int(starts[first]), int(starts[last]))
            yield Block(slice(first, last), links, starts[first : last + 1] - links.start)

    def blocks_of(self, nodes: NDArray[np.intp]) -> Iterator[Block]:
        """Some of the nodes, as many at a time as have links that stay in the cache."""
        starts = self.graph.starts
        ends = np.cumsum(starts[nodes + 1] - starts[nodes])
        cuts = np.searchsorted(ends, np.arange(_LINKS_AT_ONCE, ends.max(initial=0), _LINKS_AT_ONCE))
        for some in np.split(nodes, cuts):
            within = np.append(0, np.cumsum(starts[some + 1] - starts[some]))
            links = np.repeat(starts[some] - within[:-1], np.diff(within))
            links += np.arange(len(links))
            yield Block(some, links, within)
