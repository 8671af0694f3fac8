"""Distances of all pairs, or the strong components, computed from scratch.

Only the edges are stored; the answer is computed on demand. These algorithms are the reference
for the dynamic ones.
"""

from array import array

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import needs
from minicrawl.graph.distances import FAR, Distances

with needs("lab", "lab graphs"):
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, floyd_warshall, johnson


class Edges:
    """The edges so far, except self-links."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._sources, self._targets = array("i"), array("i")

    def add(self, source: int, target: int) -> None:
        if source != target:
            self._sources.append(source)
            self._targets.append(target)

    def matrix(self) -> csr_array:
        """Return the adjacency matrix, with a positive number for each edge."""
        # Copies, because an array with exported memory cannot grow.
        sources, targets = np.array(self._sources), np.array(self._targets)
        shape = (self._nodes, self._nodes)
        return csr_array((np.ones(len(sources)), (sources, targets)), shape=shape)


class FloydWarshall(Edges):
    """Distances by way of the first node, the first two nodes, and so on: O(n^3)."""

    @property
    def distances(self) -> Distances:
        return _as_distances(floyd_warshall(self.matrix(), unweighted=True))


class Johnson(Edges):
    """Distances by Dijkstra's algorithm from each node: O(n m log n)."""

    @property
    def distances(self) -> Distances:
        return _as_distances(johnson(self.matrix(), unweighted=True))


class Tarjan(Edges):
    """Strong components by one search through the whole graph: O(n + m)."""

    @property
    def components(self) -> NDArray[np.int64]:
        _, labels = connected_components(self.matrix(), connection="strong")
        return named_by_first(labels)


class WarshallComponents(Edges):
    """Reachability by Floyd-Warshall: nodes that reach each other form a component."""

    @property
    def components(self) -> NDArray[np.int64]:
        reaches = np.isfinite(floyd_warshall(self.matrix(), unweighted=True))
        together: NDArray[np.bool_] = reaches & reaches.T
        return named_by_first(together.argmax(axis=1))


def _as_distances(lengths: NDArray[np.float64]) -> Distances:
    return np.where(np.isfinite(lengths), lengths, FAR).astype(np.uint16)


def named_by_first(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Label each component with its first node, so that equal answers are equal arrays."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.int64)
