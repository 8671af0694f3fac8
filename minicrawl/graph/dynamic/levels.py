"""Strong components of a sparse graph, edge by edge: a search both ways inside levels.

After "A New Approach to Incremental Cycle Detection and Related Problems" by Bender, Fineman,
Gilbert and Tarjan (ACM Transactions on Algorithms 12, 2016), section 2 with the components of
section 5.

Laws. Each component has a level, and no edge leads to a lower one. A search backwards looks at
edges inside one level only, and at no more than `limit` of them: who has found fewer has seen all
that could close a cycle at that level, and who has found as many lifts the target above them. So a
component is lifted at most n^(2/3) times, and m edges cost O(m min(m^(1/2), n^(2/3))) in all, but
for merging: components of a cycle become one, with the edges of all.

inside    for each component the components of its own level that have an edge to it
outside   for each component those that it has an edge to
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.dynamic.closure import Merged


class Levels:
    """Components, each with a level."""

    def __init__(self, nodes: int) -> None:
        self._merged = Merged(nodes)
        self._level = [1] * nodes
        self._inside: list[list[int]] = [[] for _ in range(nodes)]
        self._outside: list[list[int]] = [[] for _ in range(nodes)]
        self._most = round(nodes ** (2 / 3))
        self._edges = 0

    @property
    def components(self) -> NDArray[np.int64]:
        return self._merged.labels()

    def add(self, source: int, target: int) -> None:
        """The edge is there from now on."""
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
        """Lift the target and what it leads to, as far as the edge demands; is it a cycle?"""
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
        """Who leads to the source inside its level; None if `limit` edges do not tell."""
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
        """No edge leads to a lower level again; whether one led to those before the new edge."""
        level, inside = self._level, self._inside
        level[target], inside[target] = to, []
        waiting, is_cycle = [target], False
        while waiting:
            page = waiting.pop()
            for later in self._parts(self._outside[page]):
                is_cycle = is_cycle or later in before
                if level[later] < level[page]:
                    level[later], inside[later] = level[page], []
                    waiting.append(later)
                if level[later] == level[page] and later != page:
                    inside[later].append(page)
        return is_cycle

    def _parts(self, pages: Iterable[int]) -> Iterable[int]:
        """The components that these pages are in by now."""
        return map(self._merged.root, pages)

    def _merge(self, source: int, target: int) -> None:
        """Who leads to the source and is led to by the target is in the cycle."""
        behind = self._found(target, self._outside)
        cycle = behind & self._found(source, self._inside)
        for page in cycle:
            self._merged.merge(target, page)
        root = self._merged.root(target)
        for edges in (self._inside, self._outside):
            all_edges = {end for page in cycle for end in self._parts(edges[page])}
            for page in cycle:
                edges[page] = []
            edges[root] = list(all_edges - {root})

    def _found(self, begin: int, edges: list[list[int]]) -> set[int]:
        """Who can be reached by these edges without leaving the level."""
        level = self._level[begin]
        found, waiting = {begin}, [begin]
        while waiting:
            for page in self._parts(edges[waiting.pop()]):
                if self._level[page] == level and page not in found:
                    found.add(page)
                    waiting.append(page)
        return found
