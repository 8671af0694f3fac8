"""One matrix of all distances, repaired after each edge (A1, A2) or batch of edges (A3, A4).

A shortest path uses a new edge (s, t) at most once. So any pair (n, m) that gets closer has n
reaching s and t reaching m, and its new distance is d(n, s) + 1 + d(t, m). Edges with the same
source can be added together, because a shortest path leaves the source only once.

A1  checks all pairs of a page that reaches s and any page: O(n^2) for each edge. `A1Loops` is A1
    without numpy.
A2  checks only pages whose distance to t falls, against pages whose distance from s falls. Every
    pair that gets closer is made of these: a shorter way from n to m through (s, t) is also a
    shorter way from n to t and from s to m. The bound is that of A1; an edge that shortens nothing
    costs O(n).
A3  is A1, and A4 is A2, for all edges of a batch with the same source.

far     the distance between pages that no path joins; twice this value still fits in a cell
"""

from array import array
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, floyd_warshall, johnson

from minicrawl.graph.distances import Extent

FAR = 0x7FFF
MOST_PAGES = FAR
Distances = NDArray[np.uint16]
Edge = tuple[int, int]


def no_edges(nodes: int) -> Distances:
    """Return the distances of a graph without edges: 0 from a page to itself, else far."""
    distances = np.full((nodes, nodes), FAR, dtype=np.uint16)
    np.fill_diagonal(distances, 0)
    return distances


class A1:
    """Checks all pairs by way of the new edge."""

    def __init__(self, nodes: int) -> None:
        self.distances = no_edges(nodes)

    def add(self, source: int, target: int) -> None:
        distances = self.distances
        if source != target and distances[source, target] != 1:
            distances[source] = np.minimum(distances[source], distances[target] + 1)
            reach = np.flatnonzero(distances[:, source] < FAR)
            _shorten_all(distances, source, reach[(reach != source) & (reach != target)])


class A1Loops:
    """A1 in Python loops, for a fair comparison with `AusielloTrees`, which uses no numpy.

    Calling `min` for each pair would double the time.
    """

    def __init__(self, nodes: int) -> None:
        self._rows = no_edges(nodes).tolist()

    @property
    def distances(self) -> Distances:
        return np.array(self._rows, dtype=np.uint16).reshape(len(self._rows), -1)

    def add(self, source: int, target: int) -> None:
        rows = self._rows
        if source == target or rows[source][target] == 1:
            return
        rows[source] = from_source = [
            way if way < 1 + behind else 1 + behind  # noqa: FURB136 - see above
            for way, behind in zip(rows[source], rows[target], strict=True)
        ]
        for page, row in enumerate(rows):
            before = row[source]
            if before < FAR and page not in (source, target):
                rows[page] = [
                    way if way < before + behind else before + behind  # noqa: FURB136
                    for way, behind in zip(row, from_source, strict=True)
                ]


class A2:
    """Checks only pairs that can get closer by the new edge."""

    def __init__(self, nodes: int) -> None:
        self.distances = no_edges(nodes)

    def add(self, source: int, target: int) -> None:
        distances = self.distances
        if source != target and distances[source, target] != 1:
            shorter = distances[target] + 1
            ends = np.flatnonzero(shorter < distances[source])
            begins = np.flatnonzero(distances[:, source] + 1 < distances[:, target])
            self._shorten(begins, ends, distances[begins, source], shorter[ends])

    def _shorten(
        self,
        begins: NDArray[np.intp],
        ends: NDArray[np.intp],
        before: Distances,
        behind: Distances,
    ) -> None:
        _shorten(self.distances, begins, ends, before, behind)


class CountedA2(A2):
    """A2 that also counts the pairs at each distance."""

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self._pairs = np.zeros(FAR + 1, dtype=np.int64)

    def extent(self) -> Extent:
        """Return the largest distance and the mean distance."""
        pairs = self._pairs[:FAR]
        count, total = int(pairs.sum()), int(pairs @ np.arange(FAR))
        longest = int(np.flatnonzero(pairs).max(initial=0))
        return Extent(longest, total / count if count else None, count, is_exact=True)

    def _shorten(
        self,
        begins: NDArray[np.intp],
        ends: NDArray[np.intp],
        before: Distances,
        behind: Distances,
    ) -> None:
        pairs = np.ix_(begins, ends)
        former = self.distances[pairs]
        super()._shorten(begins, ends, before, behind)
        now = self.distances[pairs]
        fell = now < former
        for sign, distances in ((-1, former[fell]), (1, now[fell])):
            counts = np.bincount(distances)
            self._pairs[: len(counts)] += sign * counts


class A3:
    """A1 for batches: adds the edges of one source together."""

    def __init__(self, nodes: int) -> None:
        self.distances = no_edges(nodes)

    def add_all(self, edges: Iterable[Edge]) -> None:
        distances = self.distances
        for source, targets in _by_source(edges):
            distances[source] = np.minimum(distances[source], distances[targets].min(axis=0) + 1)
            distances[source, source] = 0
            reach = np.flatnonzero(distances[:, source] < FAR)
            _shorten_all(distances, source, reach[reach != source])


class A4:
    """A2 for batches: adds the edges of one source together."""

    def __init__(self, nodes: int) -> None:
        self.distances = no_edges(nodes)

    def add_all(self, edges: Iterable[Edge]) -> None:
        distances = self.distances
        for source, targets in _by_source(edges):
            shorter = distances[targets].min(axis=0) + 1
            ends = np.flatnonzero(shorter < distances[source])
            fall = distances[:, source, None] + 1 < distances[:, targets]
            begins = np.flatnonzero(fall.any(axis=1))
            _shorten(distances, begins, ends, distances[begins, source], shorter[ends])


def _by_source(edges: Iterable[Edge]) -> Iterable[tuple[int, Sequence[int]]]:
    kept = sorted(edge for edge in edges if edge[0] != edge[1])
    for source, same in groupby(kept, key=itemgetter(0)):
        yield source, [target for _, target in same]


def _shorten_all(distances: Distances, by: int, begins: NDArray[np.intp]) -> None:
    """Lower the distances from these pages to at most the way through page `by`."""
    ways = distances[begins, by][:, None] + distances[by]
    distances[begins] = np.minimum(distances[begins], ways)


def _shorten(
    distances: Distances,
    begins: NDArray[np.intp],
    ends: NDArray[np.intp],
    before: Distances,
    behind: Distances,
) -> None:
    """Lower the distances from `begins` to `ends` to at most `before` + `behind`."""
    if len(begins) and len(ends):
        pairs = np.ix_(begins, ends)
        distances[pairs] = np.minimum(distances[pairs], before[:, None] + behind)


# ================================================================ recomputed
#
# All distances, or the strong components, computed from scratch.
#
# Only the edges are stored; the answer is computed on demand. These algorithms are the reference
# for the dynamic ones.


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
    """Distances through the first page, the first two pages, and so on: O(n^3)."""

    @property
    def distances(self) -> Distances:
        return _as_distances(floyd_warshall(self.matrix(), unweighted=True))


class Johnson(Edges):
    """Dijkstra's algorithm from each page: O(n m log n), as no length is negative."""

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
    """Reachability by Floyd-Warshall: pages that reach each other form a component."""

    @property
    def components(self) -> NDArray[np.int64]:
        reaches = np.isfinite(floyd_warshall(self.matrix(), unweighted=True))
        together: NDArray[np.bool_] = reaches & reaches.T
        return named_by_first(together.argmax(axis=1))


def _as_distances(lengths: NDArray[np.float64]) -> Distances:
    return np.where(np.isfinite(lengths), lengths, FAR).astype(np.uint16)


def named_by_first(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Label each component with its first page, so that equal answers are equal arrays."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.int64)
