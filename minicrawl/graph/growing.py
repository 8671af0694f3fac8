"""Outline of a growing graph: components and reciprocity are updated, not recomputed.

After each edge, or each batch, the outline is that of the graph so far. Edges are only added, a
duplicate edge changes nothing, and nodes are numbered in the order of their arrival.

GrowingGraph     edge by edge: distances by A2, which counts the pairs at each distance; strong
                 components by `Levels`, weak ones by union-find. For graphs small enough for a
                 matrix of all distances.
GrowingInBatches graphs of any size, without distances. Components only ever merge, so an edge
                 within a component is not looked at again: the strong components follow from the
                 edges between them and the new edges.

key     an edge as one integer: its source in the upper bits, its target in the lowest 31
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Extent
from minicrawl.graph.dynamic import CountedA2, Levels, UnionFind
from minicrawl.graph.outline import Components, Connections, Outline, numbered, outline_of
from minicrawl.graph.synthetic import Edge

_BITS = 31
_TARGET = (1 << _BITS) - 1
Ids = NDArray[np.int64]


class GrowingGraph:
    """Graph of up to `capacity` nodes to which edges are added one by one."""

    def __init__(self, capacity: int) -> None:
        self.nodes = 0
        """Number of nodes so far, which the caller sets: nodes may come without edges."""
        self._distances = CountedA2(capacity)
        self._strong = Levels(capacity)
        self._weak = UnionFind(capacity)
        self._edges = dict[Edge, None]()
        self._mutual = 0

    def add(self, source: int, target: int) -> None:
        if (source, target) in self._edges:
            return
        self._edges[source, target] = None
        self._mutual += 2 * (source != target and (target, source) in self._edges)
        self._distances.add(source, target)
        self._strong.add(source, target)
        self._weak.merge(source, target)

    def outline(self) -> Outline:
        """Return the outline of the graph so far."""
        edges = np.array(list(self._edges), dtype=np.int64).reshape(-1, 2)
        graph = Csr.from_edges(self.nodes, edges[:, 0], edges[:, 1])
        found = Connections(
            numbered(self._strong.components[: self.nodes]),
            numbered(self._weak.labels()[: self.nodes]),
            self._mutual / graph.edges if graph.edges else None,
        )
        return outline_of(graph, found, self._distances.extent())


class GrowingInBatches:
    """Graph to which edges are added in batches. The caller measures its distances."""

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self._between = self._keys  # edges between different strong components
        self._strong = self._weak = np.empty(0, dtype=np.int32)
        self._mutual = 0

    def grow(self, nodes: int, sources: Ids, targets: Ids) -> None:
        """Add edges; the graph has `nodes` nodes from now on."""
        keys = np.unique(sources << _BITS | targets)
        new = keys[~_are_among(keys, self._keys)]
        self._strong = _with_singles(self._strong, nodes)
        self._weak = _with_singles(self._weak, nodes)
        self._count_mutual(new)
        self._keys = np.insert(self._keys, np.searchsorted(self._keys, new), new)
        self._weak = _merged(self._weak, new, "weak")
        between = np.concatenate((self._between, new))
        self._strong = labels = _merged(self._strong, between, "strong")
        # Edges within a component are dropped: components only merge, so they change nothing.
        self._between = between[labels[between >> _BITS] != labels[between & _TARGET]]

    @property
    def graph(self) -> Csr:
        """The graph so far."""
        ends = np.arange(len(self._strong) + 1, dtype=np.int64) << _BITS
        starts = np.searchsorted(self._keys, ends).astype(np.int64, copy=False)
        return Csr(starts=starts, targets=(self._keys & _TARGET).astype(np.int32))

    def outline(self, far: Extent) -> Outline:
        """Return the outline of the graph so far, with distances from the last measurement."""
        edges = len(self._keys)
        found = Connections(
            _components(self._strong),
            _components(self._weak),
            self._mutual / edges if edges else None,
        )
        return outline_of(self.graph, found, far)

    def _count_mutual(self, new: Ids) -> None:
        """Count the edges that become mutual. The new edges are not among the keys yet."""
        sources, targets = new >> _BITS, new & _TARGET
        back = np.sort((targets << _BITS | sources)[sources != targets])
        self._mutual += 2 * int(np.count_nonzero(_are_among(back, self._keys)))
        self._mutual += int(np.count_nonzero(_are_among(back, new)))


def _are_among(keys: Ids, known: Ids) -> NDArray[np.bool_]:
    """Return, for each key, whether it is known. Both arrays ascend."""
    if not len(known):
        return np.zeros(len(keys), dtype=np.bool_)
    places = np.searchsorted(known, keys).clip(max=len(known) - 1)
    found: NDArray[np.bool_] = known[places] == keys
    return found


def _components(labels: NDArray[np.int32]) -> Components:
    return Components(labels, np.bincount(labels))


def _with_singles(labels: NDArray[np.int32], nodes: int) -> NDArray[np.int32]:
    """Give each new node a component of its own."""
    first = int(labels.max(initial=-1)) + 1
    singles = np.arange(first, first + nodes - len(labels), dtype=np.int32)
    return np.concatenate((labels, singles))


def _merged(labels: NDArray[np.int32], keys: Ids, connection: str) -> NDArray[np.int32]:
    """Return the components after adding these edges."""
    count = int(labels.max(initial=-1)) + 1
    sources, targets = labels[keys >> _BITS], labels[keys & _TARGET]
    ones = np.ones(len(keys), dtype=np.bool_)  # booleans: parallel edges merge
    between = csr_array((ones, (sources, targets)), shape=(count, count))
    _, merged = connected_components(between, connection=connection)
    found: NDArray[np.int32] = merged[labels]
    return found
