"""Algorithms for distances and strong components under edge insertions, to compare them.

After every edge the answer is that of the whole graph so far. Edges are only added, and all have
length 1. A2 is that of the product (`graph.growing`, `graph.dynamic`).

one matrix  all distances in one matrix, repaired after each edge (A1, A2) or batch of edges (A3,
            A4)
trees       all distances as trees of shortest paths, after Ausiello and others (1991)
closure     strong components from reachability as rows of bits: S1, S2 and S3, and Yellin's
            merging of rows (1993)
recomputed  distances or components from scratch, the reference for the others
algorithms  all algorithms by name
suite       graphs on which they are compared, each with a fixed order of edges
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from itertools import groupby, permutations
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import needs
from minicrawl.graph.csr import Edge
from minicrawl.graph.distances import FAR, Distances
from minicrawl.graph.growing import A2, Levels, UnionFind, no_edges
from minicrawl.graphfiles.saved import EdgeSequence, SavedGraph

with needs("lab", "lab graphs"):
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, floyd_warshall, johnson

# ================================================================ one matrix
#
# As in A2, any pair (n, m) that gets closer by a new edge (s, t) has n reaching s and t reaching m.
# Edges with the same source can be added together, because a shortest path leaves the source only
# once.
#
# A1  checks all pairs of a node that reaches s and any node: O(n^2) for each edge. `A1Loops` is A1
#     without numpy.
# A3  is A1, and A4 is A2, for all edges of a batch with the same source.


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
            length if length < 1 + rest else 1 + rest  # noqa: FURB136 - see above
            for length, rest in zip(rows[source], rows[target], strict=True)
        ]
        for node, row in enumerate(rows):
            to_source = row[source]
            if to_source < FAR and node not in (source, target):
                rows[node] = [
                    length if length < to_source + rest else to_source + rest  # noqa: FURB136
                    for length, rest in zip(row, from_source, strict=True)
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
    kept = sorted(edge for edge in edges if edge[0] != edge[1])
    for source, same in groupby(kept, key=itemgetter(0)):
        yield source, [target for _, target in same]


def _shorten_all(distances: Distances, through: int, begins: NDArray[np.intp]) -> None:
    """Lower the distances from these nodes to at most the path through node `through`."""
    paths = distances[begins, through][:, None] + distances[through]
    distances[begins] = np.minimum(distances[begins], paths)


# ================================================================ trees
#
# All distances as trees of shortest paths, after Ausiello, Italiano, Marchetti-Spaccamela and
# Nanni, "Incremental algorithms for minimal length paths" (Journal of Algorithms 12, 1991).
#
# Each node has the tree of shortest paths from it and the tree of shortest paths to it. A new edge
# (i, j) shortens the paths from i to a part of the tree from j; branches whose distance does not
# fall are not followed. That part, a list of nodes with each behind its parent, is passed up the
# tree to i: each node drops the nodes that get no closer to it, and passes on the rest. O(n log n)
# for each edge, amortised over the edges of a complete graph; memory of two trees for each node.
#
# part    nodes of a tree, parents first: (node, index of its parent in the part or -1)

Part = list[tuple[int, int]]


class AusielloTrees:
    """Matrix of all distances, kept by trees of shortest paths from and to each node.

    `_after[v][x]` has the children of x in the tree from v, `_before[v][x]` those in the tree to v.
    """

    def __init__(self, nodes: int) -> None:
        self._length = [[FAR] * nodes for _ in range(nodes)]
        for node in range(nodes):
            self._length[node][node] = 0
        self._after: list[dict[int, set[int]]] = [{} for _ in range(nodes)]
        self._before: list[dict[int, set[int]]] = [{} for _ in range(nodes)]
        self._last: list[dict[int, int]] = [{} for _ in range(nodes)]
        """`_last[x][y]` is the node before y on the path from x."""
        self._next: list[dict[int, int]] = [{} for _ in range(nodes)]
        """`_next[x][y]` is the node after x on the path to y."""

    @property
    def distances(self) -> Distances:
        return np.array(self._length, dtype=np.uint16).reshape(len(self._length), -1)

    def add(self, source: int, target: int) -> None:
        if source == target or self._length[source][target] == 1:
            return
        closer = self._reroute(source, target, source, self._tree_from(target))
        waiting = [(source, closer)]
        while waiting:
            node, part = waiting.pop()
            for earlier in tuple(self._before[source].get(node, ())):
                closer_there = self._reroute(earlier, target, source, part)
                if closer_there:
                    waiting.append((earlier, closer_there))

    def _tree_from(self, root: int) -> Part:
        """Return the tree of shortest paths from a node."""
        part: Part = [(root, -1)]
        for place, (node, _) in enumerate(part):
            part += [(later, place) for later in self._after[root].get(node, ())]
        return part

    def _reroute(self, begin: int, target: int, source: int, part: Part) -> Part:
        """Reroute `begin` over the new edge to the nodes that get closer; return these."""
        lengths, way = self._length[begin], self._length[begin][source] + 1
        from_target = self._length[target]
        places: dict[int, int] = {-1: -1}
        closer: Part = []
        for place, (end, parent) in enumerate(part):
            if parent in places and way + from_target[end] < lengths[end]:
                places[place] = len(closer)
                closer.append((end, places[parent]))
                lengths[end] = way + from_target[end]
                before = source if end == target else self._last[target][end]
                self._attach(
                    begin, end, before, target if begin == source else self._next[begin][source]
                )
        return closer

    def _attach(self, begin: int, end: int, before: int, behind: int) -> None:
        """Set the path from `begin` to `end`: it starts with `behind` and ends with `before`."""
        last = self._last[begin].get(end)
        if last is not None:
            self._after[begin][last].discard(end)
            self._before[end][self._next[begin][end]].discard(begin)
        self._last[begin][end], self._next[begin][end] = before, behind
        self._after[begin].setdefault(before, set()).add(end)
        self._before[end].setdefault(behind, set()).add(begin)


# ================================================================ closure
#
# Strong components from reachability, as rows of bits: S1, S2, S3 and Yellin's algorithm.
#
# Invariant: node u has bit v if u reaches v, itself included. Two nodes that have each other's bit
# are in the same component.
#
# S1      O(n^2) for each edge: every node that reaches the source merges the source's row into its
#         own. Rows are blocks of 8, 16, 32 or 64 bits; 64 gives the fewest words.
# S2      the same bound, but skips edges whose target is already reached, and nodes that already
#         reach the target.
# S3      S2 with one row for each component, since its nodes reach the same nodes. If many
#         components merge, few rows are left, and an edge within a component costs nothing.
# yellin  "Speeding up dynamic transitive closure for bounded degree graphs" (Acta Informatica 30,
#         1993): merges rows along the edges, backwards from the source, as long as they change.
#         O(n m) merges of rows in all.

BLOCKS = (8, 16, 32, 64)
_TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class S1:
    """Strong components by rows of reachability bits, in blocks."""

    def __init__(self, nodes: int, bits: int = 64) -> None:
        self._bits = bits
        self._rows = np.zeros((nodes, -(-nodes // bits)), dtype=_TYPES[bits])
        self._merged = UnionFind(nodes)
        for node in range(nodes):
            self._rows[node, node // bits] = self._bit(node)

    @property
    def components(self) -> NDArray[np.int64]:
        return self._merged.labels()

    def add(self, source: int, target: int) -> None:
        rows = self._rows
        rows[source] |= rows[target]
        earlier = self._reaching(source)
        rows[earlier] |= rows[source]
        self._merge(source, target, earlier)

    def _bit(self, node: int) -> NDArray[np.unsignedinteger]:
        """Return the node's bit in its block."""
        return np.array(1 << node % self._bits, dtype=self._rows.dtype)

    def _reaching(self, node: int) -> NDArray[np.intp]:
        """Return the nodes that have the node's bit."""
        return np.flatnonzero(self._rows[:, node // self._bits] & self._bit(node))

    def _merge(self, source: int, target: int, earlier: NDArray[np.intp]) -> None:
        """Merge the nodes of the cycle that the edge closes, if it closes one."""
        is_merged = self._merged.root(source) == self._merged.root(target)
        if not is_merged and self._rows[target, source // self._bits] & self._bit(source):
            row = self._rows[source]
            bits = _TYPES[self._bits]
            reached = row[earlier // self._bits] >> (earlier % self._bits).astype(bits) & bits(1)
            for node in earlier[reached.astype(bool)].tolist():
                self._merged.merge(source, node)


class S2(S1):
    """S1 without the edges and nodes that change nothing."""

    def add(self, source: int, target: int) -> None:
        rows, block, bit = self._rows, target // self._bits, self._bit(target)
        if rows[source, block] & bit:
            return
        earlier = self._reaching(source)
        new = earlier[rows[earlier, block] & bit == 0]
        rows[new] |= rows[target]
        self._merge(source, target, earlier)


class S3(S2):
    """S2 with one row for each component, that of its first node. The other rows are empty.

    A row has the bits of all nodes reached, so reaching any node of a component includes its first
    node.
    """

    def add(self, source: int, target: int) -> None:
        source, target = self._merged.root(source), self._merged.root(target)
        if source != target:
            super().add(source, target)

    def _merge(self, source: int, target: int, earlier: NDArray[np.intp]) -> None:
        row = self._rows[source].copy()
        super()._merge(source, target, earlier)
        first = self._merged.root(source)
        if first == self._merged.root(target):
            gone = [node for node in earlier.tolist() if self._merged.root(node) == first]
            self._rows[gone] = 0
            self._rows[first] = row


class Yellin:
    """Strong components by rows of bits as Python integers, merged along the edges."""

    def __init__(self, nodes: int) -> None:
        self._rows = [1 << node for node in range(nodes)]
        self._sources: list[list[int]] = [[] for _ in range(nodes)]
        self._merged = UnionFind(nodes)

    @property
    def components(self) -> NDArray[np.int64]:
        return self._merged.labels()

    def add(self, source: int, target: int) -> None:
        rows = self._rows
        self._sources[target].append(source)
        is_cycle = rows[target] >> source & 1
        waiting = deque([(source, target)])
        while waiting:
            node, reached = waiting.popleft()
            merged = rows[node] | rows[reached]
            if merged != rows[node]:
                rows[node] = merged
                waiting.extend((earlier, node) for earlier in self._sources[node])
        if is_cycle:
            self._merge(source)

    def _merge(self, source: int) -> None:
        """Merge the source with the nodes that it reaches and that reach it."""
        rows, reached = self._rows, self._rows[source]
        while reached:
            node = reached.bit_length() - 1
            reached ^= 1 << node
            if rows[node] >> source & 1:
                self._merged.merge(source, node)


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


# ================================================================ algorithms
#
# The algorithms by name and by number.
#
# Algorithms of one kind give equal answers after every edge, or after every batch if they take
# edges in batches.


class AlgorithmKind(StrEnum):
    """Kind of answer that an algorithm gives."""

    DISTANCES = "distances"
    COMPONENTS = "components"


@dataclass(frozen=True, slots=True)
class DynamicAlgorithm:
    """A named algorithm. `make(nodes)` starts it on a graph without edges.

    `in_batches`: takes many edges at a time instead of one. `is_recomputed`: does its work when the
    answer is requested.
    """

    name: str
    kind: AlgorithmKind
    make: Callable[[int], Any]
    in_batches: bool = False
    is_recomputed: bool = False

    def insert(self, state: Any, edges: Iterable[Edge]) -> None:
        """Add edges and make sure that the answer is computed."""
        if hasattr(state, "add_all"):
            state.add_all(edges)
        else:
            for source, target in edges:
                state.add(source, target)
        if self.is_recomputed:
            self.answer(state)

    def answer(self, state: Any) -> Any:
        """Return all distances, or the component of each node."""
        return getattr(state, self.kind.value)


def _distances(
    name: str, make: Callable[[int], Any], *, batches: bool = False, recomputed: bool = False
) -> DynamicAlgorithm:
    return DynamicAlgorithm(name, AlgorithmKind.DISTANCES, make, batches, recomputed)


def _components(
    name: str, make: Callable[[int], Any], *, batches: bool = False, recomputed: bool = False
) -> DynamicAlgorithm:
    return DynamicAlgorithm(name, AlgorithmKind.COMPONENTS, make, batches, recomputed)


ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        _distances("floyd-warshall", FloydWarshall, recomputed=True),
        _distances("johnson", Johnson, recomputed=True),
        _distances("ausiello", AusielloTrees),
        _distances("a1", A1),
        _distances("a2", A2),
        _distances("floyd-warshall-batch", FloydWarshall, batches=True, recomputed=True),
        _distances("johnson-batch", Johnson, batches=True, recomputed=True),
        _distances("a3", A3, batches=True),
        _distances("a4", A4, batches=True),
        _components("warshall", WarshallComponents, recomputed=True),
        _components("tarjan", Tarjan, recomputed=True),
        _components("yellin", Yellin),
        *(_components(f"s1-{bits}", partial(S1, bits=bits)) for bits in BLOCKS),
        _components("s2", S2),
        _components("s3", S3),
        _components("levels", Levels),
        _components("tarjan-batch", Tarjan, batches=True, recomputed=True),
        _distances("a1-loops", A1Loops),
    )
}
"""Algorithms by name, in the order of their numbers from 1."""


def algorithm(name: str) -> DynamicAlgorithm:
    """Return the algorithm with this name or number; KeyError if there is none."""
    by_number = {str(number): found for number, found in enumerate(ALGORITHMS.values(), 1)}
    return by_number.get(name) or ALGORITHMS[name]


def solved(graph: EdgeSequence) -> SavedGraph:
    """Return the graph with its distances and components."""
    distances, components = A4(graph.nodes), Tarjan(graph.nodes)
    distances.add_all(graph.edges)
    for source, target in graph.edges:
        components.add(source, target)
    return SavedGraph(graph, distances.distances, components.components)


# ================================================================ suite
#
# Graphs with a fixed order of edges, on which the algorithms are compared.
#
# a*      forces O(n^3) changes of distances. Thirds s, z and t: z is a path without its first edge,
#         all of s link to its first page, and its last page links to all of t. Then edges from the
#         first page of z complete the path, and shorten it by one page at a time.
# c*      complete graphs.
# roads   grids of about the size of the road maps of two states, in both directions, with some
#         roads missing.
# sc*     small graphs whose components merge in several steps.
# random  edges drawn at random.


def staged(third: int) -> EdgeSequence:
    """Return the graph a* with three times `third` pages."""

    def edges() -> Iterator[Edge]:
        first, last = third, 2 * third - 1
        yield from ((page, first) for page in range(third))
        yield from ((page, page + 1) for page in range(first + 1, last))
        yield from ((last, page) for page in range(2 * third, 3 * third))
        yield from ((first, page) for page in range(first + 1, last + 1))

    return EdgeSequence(f"a{3 * third}", 3 * third, tuple(edges()))


def complete(nodes: int) -> EdgeSequence:
    """Return the graph c*, with an edge from every page to every other."""
    return EdgeSequence(f"c{nodes}", nodes, tuple(permutations(range(nodes), 2)))


def roads(name: str, width: int, height: int, edges: int) -> EdgeSequence:
    """Return a grid of two-way streets with at most `edges` random directed edges."""
    rng = Random(name)
    places = range(width * height)
    streets = [(place, place + 1) for place in places if (place + 1) % width]
    streets += [(place, place + width) for place in places[:-width]]
    rng.shuffle(streets)
    both = [edge for one, other in streets[: edges // 2] for edge in ((one, other), (other, one))]
    return EdgeSequence(name, width * height, tuple(both))


def random_edges(nodes: int, edges: int, seed: int = 1) -> EdgeSequence:
    rng, found = Random(seed), dict[Edge, None]()
    while len(found) < min(edges, nodes * (nodes - 1)):
        source, target = rng.randrange(nodes), rng.randrange(nodes)
        if source != target:
            found[source, target] = None
    return EdgeSequence(f"random-{nodes}-{edges}", nodes, tuple(found))


SC = {
    "sc1": (8, "01 12 20 23 34 45 53 56 67 76 61"),
    "sc2": (8, "01 12 23 34 45 56 67 10 32 54 76 21 43 65"),
    "sc3": (4, "01 12 20 13 30 32"),
}
"""Small graphs: number of pages, and edges as pairs of digits."""


def _small(name: str) -> EdgeSequence:
    nodes, edges = SC[name]
    return EdgeSequence(name, nodes, tuple((int(edge[0]), int(edge[1])) for edge in edges.split()))


SUITE: dict[str, Callable[[], EdgeSequence]] = {
    **{f"a{nodes}": partial(staged, nodes // 3) for nodes in (300, 900, 1500)},
    **{f"c{nodes}": partial(complete, nodes) for nodes in (100, 200, 400, 800)},
    "roads-georgia": partial(roads, "roads-georgia", 173, 9, 5016),
    "roads-idaho": partial(roads, "roads-idaho", 16, 16, 672),
    **{name: partial(_small, name) for name in SC},
    "random-1000": partial(random_edges, 1000, 3000),
}
"""Constructors of the graphs by name."""
