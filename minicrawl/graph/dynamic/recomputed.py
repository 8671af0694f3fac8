"""All distances, or the strong components, computed anew from all edges.

Law: the edges are all that is kept; the answer is computed when it is asked for. These are the
algorithms that every dynamic one is measured against.
"""

from array import array

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, floyd_warshall, johnson

from minicrawl.graph.dynamic.matrices import FAR, Distances


class Edges:
    """The edges so far, without those from a page to itself."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._sources, self._targets = array("i"), array("i")

    def add(self, source: int, target: int) -> None:
        """The edge is there from now on."""
        if source != target:
            self._sources.append(source)
            self._targets.append(target)

    def matrix(self) -> csr_array:
        """A number above 0 for each edge."""
        # Copies, as an array whose memory is shared cannot grow.
        sources, targets = np.array(self._sources), np.array(self._targets)
        shape = (self._nodes, self._nodes)
        return csr_array((np.ones(len(sources)), (sources, targets)), shape=shape)


class FloydWarshall(Edges):
    """Distances by way of the first page, of the first two, and so on: O(n^3)."""

    @property
    def distances(self) -> Distances:
        return _as_distances(floyd_warshall(self.matrix(), unweighted=True))


class Johnson(Edges):
    """Dijkstra's algorithm from each page: O(n m log n). No length is negative here."""

    @property
    def distances(self) -> Distances:
        return _as_distances(johnson(self.matrix(), unweighted=True))


class Tarjan(Edges):
    """One search through the whole graph: O(n + m)."""

    @property
    def components(self) -> NDArray[np.int64]:
        _, labels = connected_components(self.matrix(), connection="strong")
        return named_by_first(labels)


class WarshallComponents(Edges):
    """Who reaches whom by Floyd-Warshall; two pages that reach each other are in one component."""

    @property
    def components(self) -> NDArray[np.int64]:
        reaches = np.isfinite(floyd_warshall(self.matrix(), unweighted=True))
        together: NDArray[np.bool_] = reaches & reaches.T
        return named_by_first(together.argmax(axis=1))


def _as_distances(lengths: NDArray[np.float64]) -> Distances:
    return np.where(np.isfinite(lengths), lengths, FAR).astype(np.uint16)


def named_by_first(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Each component gets the name of its first page, so that equal answers are equal arrays."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.int64)
