"""A matrix of all distances of a growing graph, repaired after each edge.

A shortest path uses a new edge (s, t) at most once. So any pair (n, m) that gets closer has n
reaching s and t reaching m, and its new distance is d(n, s) + 1 + d(t, m).

A2 checks only nodes whose distance to t falls, against nodes whose distance from s falls. Every
pair that gets closer is made of these: a shorter way from n to m through (s, t) is also a shorter
way from n to t and from s to m. O(n^2) for each edge; an edge that shortens nothing costs O(n).

`CountedA2` also counts the pairs at each distance; `graph.dynamic` adds what happens when edges go.
`minicrawl lab graphs` compares A2 with other algorithms (`lab.dynamic_graphs`).
"""

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.distances import FAR, Distances, Extent

Pairs = tuple[NDArray[np.intp], ...]
"""Rows and columns of a part of a matrix, as `np.ix_` returns them."""


def no_edges(nodes: int) -> Distances:
    """Return the distances of a graph without edges: 0 from a node to itself, else far."""
    distances = np.full((nodes, nodes), FAR, dtype=np.uint16)
    np.fill_diagonal(distances, 0)
    return distances


class A2:
    """Matrix of all distances, repaired where the new edge can bring pairs closer."""

    def __init__(self, nodes: int) -> None:
        self.distances = no_edges(nodes)

    def add(self, source: int, target: int) -> None:
        distances = self.distances
        if source != target and distances[source, target] != 1:
            shorter = distances[target] + 1
            ends = np.flatnonzero(shorter < distances[source])
            begins = np.flatnonzero(distances[:, source] + 1 < distances[:, target])
            ways = distances[begins, source][:, None] + shorter[ends]
            self._lower(np.ix_(begins, ends), ways)

    def _lower(self, pairs: Pairs, ways: Distances) -> None:
        """Lower the distances of these pairs to at most those of the new ways."""
        self.distances[pairs] = np.minimum(self.distances[pairs], ways)


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

    def _lower(self, pairs: Pairs, ways: Distances) -> None:
        former = self.distances[pairs]
        super()._lower(pairs, ways)
        self.count(former, self.distances[pairs])

    def count(self, former: Distances, now: Distances) -> None:
        changed = now != former
        for sign, distances in ((-1, former[changed]), (1, now[changed])):
            counts = np.bincount(distances)
            self._pairs[: len(counts)] += sign * counts
