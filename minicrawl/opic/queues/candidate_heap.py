"""Exact priority queue over all pages in bounded memory, and pseudo-random keys.

A heap of all pages would need more memory than the pages. A heap here holds *candidates* only:
pages at or above a *floor*. A page whose key grows past the floor is pushed. No page below the
floor can be the richest while a candidate is left. When none is left, or too many have gathered,
the heap is filled again from the flat arrays.

A page whose key grows is pushed again instead of moved. Its older entries become stale, and are
dropped when they reach the top.

Example with keys 9, 5, 7, 1 of the pages 0 to 3 and a floor at 5: the heap has the entries of 0, 2
and 1. Page 3 grows to 8 and is pushed, page 2 grows to 10 and is pushed again. `take` returns 2, 0
and 3, drops the older entry of page 2 and returns 1. Then the floor is lowered.

entry   page - (key << 32): one integer that sorts by key, richest first, then by page. It needs a
        third of the memory of a tuple and compares faster.
floor   worst entry that is a candidate: a page with a larger entry changes nothing
front   entry of a host's best page in the heap over all hosts (see `by_host.ByHost`)
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from random import Random

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.queues.host_queue import HIGHEST, LOWEST, PAGE

_FEWEST_OF_ALL = 4096
"""Least number of candidates; a large web has one for every 2,048 pages."""


class CandidateHeap:
    """Queue of eligible pages by key, largest first; ties go to the page found first.

    A page is eligible if its flag is that of the pool and it is not on lease. Code that raises a
    key must `offer` the page; a key that falls need not be reported.
    """

    def __init__(
        self, keys: array[int], flags: bytearray, pool: int, fewest: int = _FEWEST_OF_ALL
    ) -> None:
        self._keys, self._flags, self._pool = keys, flags, pool
        self._fewest = self._room = fewest
        self._heap: list[int] = []
        self._leased: set[int] = set()
        self._floor = -((HIGHEST + 1) << 32)
        self._floor_key = HIGHEST

    def __len__(self) -> int:
        """Return the number of entries in the heap, stale ones included."""
        return len(self._heap)

    def offer(self, pages: Iterable[int]) -> None:
        """Push pages whose keys have grown, or which have become eligible."""
        keys, floor_key, heap = self._keys, self._floor_key, self._heap
        for page in pages:
            # The floor first: most offers are below it, and then cost one comparison.
            key = keys[page]
            if key >= floor_key and self._is_eligible(page):
                entry = page - (key << 32)
                if entry <= self._floor:
                    heappush(heap, entry)
        if len(heap) > self._room:
            self._fill()

    def take(self) -> int | None:
        """Lease and return the richest page; None if there is none."""
        while True:
            if not self._heap and self._floor_key != LOWEST:
                self._fill()
            if not self._heap:
                return None
            entry = heappop(self._heap)
            page = entry & PAGE
            if self._is_eligible(page) and (page - entry) >> 32 == self._keys[page]:
                self._leased.add(page)
                return page

    def release(self, page: PageId) -> None:
        """End the page's lease and offer the page again."""
        self._leased.discard(page)
        self.offer((page,))

    def _is_eligible(self, page: PageId) -> bool:
        return self._flags[page] == self._pool and page not in self._leased

    def _fill(self) -> None:
        """Replace the heap with the richest eligible pages, the worst of which is the floor."""
        is_eligible = np.frombuffer(self._flags, dtype=np.uint8) == self._pool
        is_eligible[list(self._leased)] = False
        pages = np.flatnonzero(is_eligible)
        keys = np.frombuffer(self._keys, dtype=np.int64)[pages]
        most = max(self._fewest, len(self._keys) >> 11)
        self._floor_key, self._floor = LOWEST, PAGE - (LOWEST << 32)
        if len(keys) > most:
            self._floor_key = int(np.partition(keys, -most)[-most])
            above, equal = (keys > self._floor_key).nonzero()[0], keys == self._floor_key
            best = np.concatenate((above, equal.nonzero()[0][: most - len(above)]))
            pages, keys = pages[best], keys[best]
            self._floor = int(pages[-1]) - (self._floor_key << 32)
        rows = zip(pages.tolist(), keys.tolist(), strict=True)
        self._heap = sorted(page - (key << 32) for page, key in rows)
        self._room = 2 * len(self._heap) + self._fewest


def random_keys() -> Iterator[int]:
    """Yield the keys of all pages, in the order of their birth."""
    rng = Random(0)
    while True:
        yield rng.getrandbits(62)
