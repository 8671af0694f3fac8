"""Strong components from reachability, as rows of bits: S1, S2, S3 and Yellin's algorithm.

Invariant: node u has bit v if u reaches v, itself included. Two nodes that have each other's bit
are in the same component.

S1      O(n^2) for each edge: every node that reaches the source merges the source's row into its
        own. Rows are blocks of 8, 16, 32 or 64 bits; 64 gives the fewest words.
S2      the same bound, but skips edges whose target is already reached, and nodes that already
        reach the target.
S3      S2 with one row for each component, since its nodes reach the same nodes. If many
        components merge, few rows are left, and an edge within a component costs nothing.
yellin  "Speeding up dynamic transitive closure for bounded degree graphs" (Acta Informatica 30,
        1993): merges rows along the edges, backwards from the source, as long as they change.
        O(n m) merges of rows in all.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.growing_components import UnionFind

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
        return np.array(1 << node % self._bits, dtype=self._rows.dtype)

    def _reaching(self, node: int) -> NDArray[np.intp]:
        return np.flatnonzero(self._rows[:, node // self._bits] & self._bit(node))

    def _merge(self, source: int, target: int, earlier: NDArray[np.intp]) -> None:
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
        rows, reached = self._rows, self._rows[source]
        while reached:
            node = reached.bit_length() - 1
            reached ^= 1 << node
            if rows[node] >> source & 1:
                self._merged.merge(source, node)
