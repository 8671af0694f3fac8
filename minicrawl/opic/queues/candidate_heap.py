"""Exact priority queue over all pages in bounded memory, and pseudo-random keys.

A heap of all pages would need more memory than the pages. A heap here holds *candidates* only:
pages at or above a *floor*. A page whose key grows past the floor is pushed. No page below the
floor can be the richest while a candidate is left. When none is left, the floor is lowered and the
heap is filled again from the flat arrays.

A page whose key grows is pushed again instead of moved. Its older entries become stale; they are
dropped when they reach the top, or all at once when they make up most of the heap. So a change
costs O(1) amortised.

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

_BLOCK = 1 << 15
_SAMPLE = 1 << 14

_FEWEST_OF_ALL = 4096
"""Least number of candidates; a large web has one for every 2,048 pages."""


def _entry(page: PageId, key: int) -> int:
    return page - (key << 32)


class CandidateHeap:
    """Queue of eligible pages by key, largest first; ties go to the page found first.

    A page is eligible if its flag is that of the pool and it is not on lease. Code that raises a
    key must `offer` the page; a key that falls need not be reported.
    """

    def __init__(
        self, keys: array[int], flags: bytearray, pool: int, fewest: int = _FEWEST_OF_ALL
    ) -> None:
        self._keys = keys
        self._flags = flags
        self._pool = pool
        self._fewest = fewest
        self._room = fewest
        self._heap: list[int] = []
        self._leased: set[int] = set()
        self._floor = _entry(0, HIGHEST + 1)
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
            # Stale entries go, and the floor rises if too many remain.
            fresh = {entry & PAGE for entry in heap}
            entries = sorted(
                [_entry(page, keys[page]) for page in fresh if self._is_eligible(page)]
            )
            most = self._wanted(len(keys))
            if len(entries) > 2 * most:
                self._raise_floor(entries, most)
            self._fill(entries)

    def take(self) -> int | None:
        """Lease and return the richest page; None if there is none."""
        while self._heap or self._refill():
            entry = heappop(self._heap)
            page = entry & PAGE
            if self._is_eligible(page) and (page - entry) >> 32 == self._keys[page]:
                self._leased.add(page)
                return page
        return None

    def release(self, page: PageId) -> None:
        """End the page's lease and offer the page again."""
        self._leased.discard(page)
        self.offer((page,))

    def _is_eligible(self, page: PageId) -> bool:
        return self._flags[page] == self._pool and page not in self._leased

    def _raise_floor(self, entries: list[int], most: int) -> None:
        """Truncate the sorted entries to `wanted`, and make the last one the floor."""
        del entries[most:]
        self._floor = entries[-1]
        self._floor_key = ((self._floor & PAGE) - self._floor) >> 32

    def _refill(self) -> bool:
        """Lower the floor until there are candidates; return False if it cannot sink further."""
        least = 1
        while self._floor_key != LOWEST and not self._heap:
            self._floor_key = self._sampled_floor(least)
            self._floor = _entry(PAGE, self._floor_key)
            self._fill(self._gather())
            # A sample may find only pages on lease, which `_gather` leaves out. Each try looks at
            # all pages, so the number wanted grows quickly.
            least *= 8
        return bool(self._heap)

    def _fill(self, entries: list[int]) -> None:
        """Replace the heap with `entries`, which are sorted and therefore a heap."""
        self._heap = entries
        self._room = 2 * len(entries) + self._fewest

    def _wanted(self, pages: int) -> int:
        return max(self._fewest, pages >> 11)

    def _sampled_floor(self, times: int) -> int:
        """Return a key with about `times` the wanted number of pages above it.

        Every n-th page is sampled. An inexact floor costs time, never the exactness of the order.
        """
        step = max(1, len(self._keys) // _SAMPLE)
        keys = np.frombuffer(self._keys, dtype=np.int64)[::step]
        sample = keys[np.frombuffer(self._flags, dtype=np.uint8)[::step] == self._pool]
        rank = times * self._wanted(len(sample) * step) // step
        return int(np.partition(sample, -rank)[-rank]) if rank < len(sample) else LOWEST

    def _gather(self) -> list[int]:
        """Return the eligible pages above the floor, best first; raise the floor if too many."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        flags = np.frombuffer(self._flags, dtype=np.uint8)
        most = self._wanted(len(keys))
        lowest = self._floor_key
        entries: list[int] = []
        for start in range(0, len(keys), _BLOCK):
            block = keys[start : start + _BLOCK]
            in_pool = flags[start : start + _BLOCK] == self._pool
            hits = np.flatnonzero((block >= lowest) & in_pool)
            candidates = zip((hits + start).tolist(), block[hits].tolist(), strict=True)
            entries += [_entry(page, key) for page, key in candidates if page not in self._leased]
            if len(entries) > 4 * most:
                entries.sort()
                self._raise_floor(entries, 2 * most)
                lowest = self._floor_key + 1  # among equals, the first ones found are already in
        entries.sort()
        return entries


def random_keys() -> Iterator[int]:
    """Yield the keys of all pages, in the order of their birth."""
    rng = Random(0)
    while True:
        yield rng.getrandbits(62)
