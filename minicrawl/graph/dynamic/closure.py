"""Strong components by who reaches whom, kept as rows of bits: S1, S2, S3 and Yellin's algorithm.

Law: page u has bit v if a path leads from u to v, itself included. Two pages that have each
other's bit are in one component.

S1      O(n^2) an edge: whoever reaches the source takes its row. Rows are blocks of 8, 16, 32 or
        64 bits, 64 to a word being the fewest words.
S2      the same bound, without what changes nothing: an edge whose target is reached already, and
        pages that reach the target already.
S3      S2 with one row for a component: its pages reach the same. Where much merges, few rows are
        left, and an edge within a component costs nothing.
yellin  "Speeding up dynamic transitive closure for bounded degree graphs" (Acta Informatica 30,
        1993): rows are merged along the edges, backwards from the source, and no further than they
        change. O(n m) merges of rows in all."""

from collections import deque

import numpy as np
from numpy.typing import NDArray

BLOCKS = (8, 16, 32, 64)
_TYPES = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


class Merged:
    """Components that merge: a forest of pages whose trees are components, named by their roots."""

    def __init__(self, nodes: int) -> None:
        self._parent = list(range(nodes))
        self.count = nodes

    def root(self, page: int) -> int:
        """The first page of the component."""
        parent = self._parent
        while parent[page] != page:
            parent[page] = parent[parent[page]]
            page = parent[page]
        return page

    def merge(self, one: int, other: int) -> int:
        """Both are in one component from now on. Returns its first page."""
        one, other = sorted((self.root(one), self.root(other)))
        if one != other:
            self._parent[other] = one
            self.count -= 1
        return one

    def labels(self) -> NDArray[np.int64]:
        """The first page of each page's component."""
        return np.array([self.root(page) for page in range(len(self._parent))], dtype=np.int64)


class S1:
    """Rows of blocks of bits."""

    def __init__(self, nodes: int, bits: int = 64) -> None:
        self._bits = bits
        self._rows = np.zeros((nodes, -(-nodes // bits)), dtype=_TYPES[bits])
        self._merged = Merged(nodes)
        for page in range(nodes):
            self._rows[page, page // bits] = self._bit(page)

    @property
    def components(self) -> NDArray[np.int64]:
        return self._merged.labels()

    def add(self, source: int, target: int) -> None:
        """The edge is there from now on."""
        rows = self._rows
        rows[source] |= rows[target]
        earlier = self._reaching(source)
        rows[earlier] |= rows[source]
        self._merge(source, target, earlier)

    def _bit(self, page: int) -> NDArray[np.unsignedinteger]:
        """The page's bit in its block."""
        return np.array(1 << page % self._bits, dtype=self._rows.dtype)

    def _reaching(self, page: int) -> NDArray[np.intp]:
        """The pages that have the page's bit."""
        return np.flatnonzero(self._rows[:, page // self._bits] & self._bit(page))

    def _merge(self, source: int, target: int, earlier: NDArray[np.intp]) -> None:
        """If the edge closes a cycle, whoever reaches the source and is reached is in it."""
        is_one = self._merged.root(source) == self._merged.root(target)
        if not is_one and self._rows[target, source // self._bits] & self._bit(source):
            row = self._rows[source]
            bits = _TYPES[self._bits]
            reached = row[earlier // self._bits] >> (earlier % self._bits).astype(bits) & bits(1)
            for page in earlier[reached.astype(bool)].tolist():
                self._merged.merge(source, page)


class S2(S1):
    """S1, for edges and pages that change something."""

    def add(self, source: int, target: int) -> None:
        """The edge is there from now on."""
        rows, block, bit = self._rows, target // self._bits, self._bit(target)
        if rows[source, block] & bit:
            return
        earlier = self._reaching(source)
        new = earlier[rows[earlier, block] & bit == 0]
        rows[new] |= rows[target]
        self._merge(source, target, earlier)


class S3(S2):
    """S2, with a row for each component: that of its first page. The rows of the others are empty.

    A row has the bits of all pages that are reached, so to reach one page of a component is to
    reach its first.
    """

    def add(self, source: int, target: int) -> None:
        """The edge is there from now on."""
        source, target = self._merged.root(source), self._merged.root(target)
        if source != target:
            super().add(source, target)

    def _merge(self, source: int, target: int, earlier: NDArray[np.intp]) -> None:
        row = self._rows[source].copy()
        super()._merge(source, target, earlier)
        first = self._merged.root(source)
        if first == self._merged.root(target):
            gone = [page for page in earlier.tolist() if self._merged.root(page) == first]
            self._rows[gone] = 0
            self._rows[first] = row


class Yellin:
    """Rows as whole numbers of Python, merged along the edges."""

    def __init__(self, nodes: int) -> None:
        self._rows = [1 << page for page in range(nodes)]
        self._sources: list[list[int]] = [[] for _ in range(nodes)]
        self._merged = Merged(nodes)

    @property
    def components(self) -> NDArray[np.int64]:
        return self._merged.labels()

    def add(self, source: int, target: int) -> None:
        """The edge is there from now on."""
        rows = self._rows
        self._sources[target].append(source)
        is_cycle = rows[target] >> source & 1
        waiting = deque([(source, target)])
        while waiting:
            page, reached = waiting.popleft()
            merged = rows[page] | rows[reached]
            if merged != rows[page]:
                rows[page] = merged
                waiting.extend((earlier, page) for earlier in self._sources[page])
        if is_cycle:
            self._merge(source)

    def _merge(self, source: int) -> None:
        """Whoever is reached by the source and reaches it is in its component."""
        rows, reached = self._rows, self._rows[source]
        while reached:
            page = reached.bit_length() - 1
            reached ^= 1 << page
            if rows[page] >> source & 1:
                self._merged.merge(source, page)
