"""Distances of all pairs as trees of shortest paths, after Ausiello, Italiano, Marchetti-Spaccamela
and Nanni, "Incremental algorithms for minimal length paths" (Journal of Algorithms 12, 1991).

Each node has the tree of shortest paths from it and the tree of shortest paths to it. A new edge
(i, j) shortens the paths from i to a part of the tree from j; branches whose distance does not
fall are not followed. That part, a list of nodes with each behind its parent, is passed up the
tree to i: each node drops the nodes that get no closer to it, and passes on the rest. O(n log n)
for each edge, amortised over the edges of a complete graph; memory of two trees for each node.

part    nodes of a tree, parents first: (node, index of its parent in the part or -1)
"""

import numpy as np

from minicrawl.graph.distances import FAR, Distances

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
        tree: Part = [(target, -1)]  # of shortest paths from the target
        for place, (node, _) in enumerate(tree):
            tree += [(later, place) for later in self._after[target].get(node, ())]
        closer = self._reroute(source, target, source, tree)
        waiting = [(source, closer)]
        while waiting:
            node, part = waiting.pop()
            for earlier in tuple(self._before[source].get(node, ())):
                closer_there = self._reroute(earlier, target, source, part)
                if closer_there:
                    waiting.append((earlier, closer_there))

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
