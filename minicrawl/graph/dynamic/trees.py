"""All distances as trees of shortest paths, after Ausiello, Italiano, Marchetti-Spaccamela, Nanni.

"Incremental algorithms for minimal length paths" (Journal of Algorithms 12, 1991). Each page has
the tree of shortest paths from it and the tree of those to it. A new edge (i, j) shortens paths
from i to a part of the tree from j: what did not fall there is not followed. That part, as a list
of pages each behind its parent, is handed up the tree to i: a page takes of it what falls for it as
well, and hands on no more. O(n log n) an edge, amortised over a graph that is filled; memory of two
trees a page.

part    pages of a tree, parents first: (page, place of its parent in the part or -1)
"""

import numpy as np

from minicrawl.graph.dynamic.matrices import FAR, Distances

Part = list[tuple[int, int]]
Tree = list[set[int]]


class AusielloTrees:
    """Two trees for each page. `_after[v][x]`: what follows x in the tree from v; `_before[v][x]`:
    what leads to x in the tree to v."""

    def __init__(self, nodes: int) -> None:
        self._length = [[FAR] * nodes for _ in range(nodes)]
        for page in range(nodes):
            self._length[page][page] = 0
        self._after: list[dict[int, set[int]]] = [{} for _ in range(nodes)]
        self._before: list[dict[int, set[int]]] = [{} for _ in range(nodes)]
        self._last: list[dict[int, int]] = [{} for _ in range(nodes)]
        """`_last[x][y]`: the page before y on the path from x."""
        self._next: list[dict[int, int]] = [{} for _ in range(nodes)]
        """`_next[x][y]`: the page after x on the path to y."""

    @property
    def distances(self) -> Distances:
        return np.array(self._length, dtype=np.uint16).reshape(len(self._length), -1)

    def add(self, source: int, target: int) -> None:
        """The edge is there from now on."""
        if source == target or self._length[source][target] == 1:
            return
        fallen = self._take(source, target, source, self._whole(target))
        waiting = [(source, fallen)]
        while waiting:
            page, part = waiting.pop()
            for earlier in tuple(self._before[source].get(page, ())):
                less = self._take(earlier, target, source, part)
                if less:
                    waiting.append((earlier, less))

    def _whole(self, root: int) -> Part:
        """The tree of shortest paths from a page."""
        part: Part = [(root, -1)]
        for place, (page, _) in enumerate(part):
            part += [(later, place) for later in self._after[root].get(page, ())]
        return part

    def _take(self, begin: int, target: int, source: int, part: Part) -> Part:
        """Lead from `begin` over the new edge to each page of the part whose distance falls."""
        lengths, way = self._length[begin], self._length[begin][source] + 1
        from_target = self._length[target]
        places: dict[int, int] = {-1: -1}
        fallen: Part = []
        for place, (end, parent) in enumerate(part):
            if parent in places and way + from_target[end] < lengths[end]:
                places[place] = len(fallen)
                fallen.append((end, places[parent]))
                lengths[end] = way + from_target[end]
                before = source if end == target else self._last[target][end]
                self._hang(
                    begin, end, before, target if begin == source else self._next[begin][source]
                )
        return fallen

    def _hang(self, begin: int, end: int, before: int, behind: int) -> None:
        """The path from `begin` to `end` starts with `behind` and arrives by `before`."""
        last = self._last[begin].get(end)
        if last is not None:
            self._after[begin][last].discard(end)
            self._before[end][self._next[begin][end]].discard(begin)
        self._last[begin][end], self._next[begin][end] = before, behind
        self._after[begin].setdefault(before, set()).add(end)
        self._before[end].setdefault(behind, set()).add(begin)
