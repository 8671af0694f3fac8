"""Matrix of all distances, repaired after each edge (A1, A2) or batch of edges (A3, A4).

As in A2, any pair (n, m) that gets closer by a new edge (s, t) has n reaching s and t reaching m.
Edges with the same source can be added together, because a shortest path leaves the source only
once.

A1  checks all pairs of a node that reaches s and any node: O(n^2) for each edge. `A1Loops` is A1
    without numpy.
A3  is A1, and A4 is A2, for all edges of a batch with the same source.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.all_distances import no_edges
from minicrawl.graph.csr import Edge
from minicrawl.graph.distances import FAR, Distances


class A1:
    """Matrix of all distances, repaired by checking all pairs through the new edge."""

    def __init__(self, nodes: int) -> None:
        self.distances = no_edges(nodes)

    def add(self, source: int, target: int) -> None:
        distances = self.distances
        if source != target and distances[source, target] != 1:
            distances[source] = np.minimum(distances[source], distances[target] + 1)
            reach = np.flatnonzero(distances[:, source] < FAR)
            _shorten_all(distances, source, reach[(reach != source) & (reach != target)])


class A1Loops:
    """A1 without numpy, for a fair comparison with `AusielloTrees`, which does not use it either.

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
            length if length < 1 + onward else 1 + onward  # noqa: FURB136 - see above
            for length, onward in zip(rows[source], rows[target], strict=True)
        ]
        for node, row in enumerate(rows):
            to_source = row[source]
            if to_source < FAR and node not in (source, target):
                rows[node] = [
                    length if length < to_source + onward else to_source + onward  # noqa: FURB136
                    for length, onward in zip(row, from_source, strict=True)
                ]


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
            if len(begins) and len(ends):
                pairs = np.ix_(begins, ends)
                ways = distances[begins, source][:, None] + shorter[ends]
                distances[pairs] = np.minimum(distances[pairs], ways)


def _by_source(edges: Iterable[Edge]) -> Iterable[tuple[int, Sequence[int]]]:
    links = sorted(edge for edge in edges if edge[0] != edge[1])
    for source, same in groupby(links, key=itemgetter(0)):
        yield source, [target for _, target in same]


def _shorten_all(distances: Distances, through: int, begins: NDArray[np.intp]) -> None:
    """Lower the distances from these nodes to at most the path through node `through`."""
    paths = distances[begins, through][:, None] + distances[through]
    distances[begins] = np.minimum(distances[begins], paths)
