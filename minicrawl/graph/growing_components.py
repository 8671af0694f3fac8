"""Strong components of a growing graph, edge by edge: a bidirectional search within levels.

After "A New Approach to Incremental Cycle Detection and Related Problems" by Bender, Fineman,
Gilbert and Tarjan (ACM Transactions on Algorithms 12, 2016), section 2 with the components of
section 5.

Each component has a level, and no edge leads to a lower level. The search backwards follows edges
within one level only, and gives up at the `limit`th. If it ends before that, it has seen
everything that could close a cycle on that level. If it reaches the limit, the target is lifted
above the source. So a component is lifted at most n^(2/3) times, and the total time is

    O(m min(m^(1/2), n^(2/3)))

for m edges, plus the merging: the components of a cycle become one, with the edges of all.

inside    for each component, the components of the same level with an edge to it
outside   for each component, the components it has an edge to

`minicrawl lab graphs` compares `Levels` with other algorithms (`lab.dynamic_graphs`).
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class Levels:
    """Strong components of a sparse graph, each with a level."""

    def __init__(self, nodes: int) -> None:
        self._merged = UnionFind(nodes)
        self._level = [1] * nodes
        self._inside: list[list[int]] = [[] for _ in range(nodes)]
        self._outside: list[list[int]] = [[] for _ in range(nodes)]
        self._most = round(nodes ** (2 / 3))
        self._edges = 0

    @property
    def components(self) -> NDArray[np.int64]:
        return self._merged.labels()

    def add(self, source: int, target: int) -> None:
        source, target = self._merged.root(source), self._merged.root(target)
        if source == target:
            return
        self._edges += 1
        is_cycle = self._level[source] >= self._level[target] and self._order(source, target)
        self._outside[source].append(target)
        if self._level[source] == self._level[target]:
            self._inside[target].append(source)
        if is_cycle:
            self._merge(source, target)

    def _order(self, source: int, target: int) -> bool:
        """Lift the target if the edge requires it; return True if the edge closes a cycle."""
        limit = min(max(1, int(self._edges**0.5)), self._most)
        level = self._level
        before = self._before(source, limit)
        if before is None:
            lifted, before = level[source] + 1, {source}
        elif target in before:
            return True
        elif level[source] == level[target]:
            return False
        else:
            lifted = level[source]
        return self._lift(target, lifted, before)

    def _before(self, source: int, limit: int) -> set[int] | None:
        """Return the components before the source on its level; None at the `limit`th edge."""
        before, waiting = {source}, [source]
        while waiting:
            for earlier in self._parts(self._inside[waiting.pop()]):
                limit -= 1
                if not limit:
                    return None
                if earlier not in before:
                    before.add(earlier)
                    waiting.append(earlier)
        return before

    def _lift(self, target: int, to: int, before: set[int]) -> bool:
        """Lift the target and restore the order; return True if an edge leads to `before`."""
        level, inside = self._level, self._inside
        level[target], inside[target] = to, []
        waiting, is_cycle = [target], False
        while waiting:
            node = waiting.pop()
            for later in self._parts(self._outside[node]):
                is_cycle = is_cycle or later in before
                if level[later] < level[node]:
                    level[later], inside[later] = level[node], []
                    waiting.append(later)
                if level[later] == level[node] and later != node:
                    inside[later].append(node)
        return is_cycle

    def _parts(self, nodes: Iterable[int]) -> Iterable[int]:
        return map(self._merged.root, nodes)

    def _merge(self, source: int, target: int) -> None:
        """Merge the components that lead to the source and are reached from the target."""
        behind = self._found(target, self._outside)
        cycle = behind & self._found(source, self._inside)
        for node in cycle:
            self._merged.merge(target, node)
        root = self._merged.root(target)
        for edges in (self._inside, self._outside):
            all_edges = {end for node in cycle for end in self._parts(edges[node])}
            for node in cycle:
                edges[node] = []
            edges[root] = list(all_edges - {root})

    def _found(self, begin: int, edges: list[list[int]]) -> set[int]:
        """Return the components that `edges` reach from `begin` on its level, `begin` included."""
        level = self._level[begin]
        nodes, waiting = {begin}, [begin]
        while waiting:
            for node in self._parts(edges[waiting.pop()]):
                if self._level[node] == level and node not in nodes:
                    nodes.add(node)
                    waiting.append(node)
        return nodes


class UnionFind:
    """Union-find: a forest of nodes whose trees are components, named by their least node."""

    def __init__(self, nodes: int) -> None:
        self._parent = list(range(nodes))

    def root(self, node: int) -> int:
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def merge(self, node: int, other: int) -> int:
        """Merge the components of two nodes, and return the first node of the result."""
        first, second = sorted((self.root(node), self.root(other)))
        self._parent[second] = first
        return first

    def labels(self) -> NDArray[np.int64]:
        """Return the first node of each node's component."""
        return np.array([self.root(node) for node in range(len(self._parent))], dtype=np.int64)
