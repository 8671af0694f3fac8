"""The queue of one host: its waiting pages, and the richest of them.

A small host scans all its waiting pages for the richest one, a large host keeps candidates.

entry  page and key as one integer, which is smaller the more the page has: see `PAGE`
front  the host's best entry while `by_host` compares it with those of the other hosts
floor  the poorest entry whose offer matters, so that others cost one comparison: that of the last
       candidate; without candidates the front, or that of every page while the host has none
"""

from array import array
from collections.abc import Iterable
from heapq import heapify, heappop, heappush, heapreplace, nsmallest
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId

PAGE = 0xFFFFFFFF
"""Mask for the bits of an entry that hold its page."""

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
_EVERY_PAGE = PAGE - (LOWEST << 32)
_NO_PAGE = -((HIGHEST + 1) << 32)

Pages = NDArray[np.uint32]

LARGE = 1024
"""Number of pages from which a host keeps candidates, one for every 64 waiting pages."""
FEWEST = 16
FEW = 12
"""Up to this number of pages a loop is faster than arrays."""
_SPARE_ROOM = 64
_NO_PAGES = np.empty(0, dtype=np.uint32)


class PageColumn(Protocol):
    def __getitem__(self, page: int, /) -> int:
        """Return the number of one page."""


class EligiblePages:
    """The pages that may be taken: flagged as in the pool and not on lease."""

    def __init__(
        self,
        keys: PageColumn,
        flags: PageColumn,
        host_of: PageColumn,
        pool: int = 0,
        large: int = LARGE,
    ) -> None:
        """Create the columns of pages; hosts with `large` pages or more keep candidates."""
        self.keys, self.flags, self.host_of = keys, flags, host_of
        self.pool, self.large = pool, large
        self.leased: set[int] = set()
        self.floor_keys = array("q")
        """Key of each host's floor: a page with a smaller key is below the floor."""

    def is_eligible(self, page: PageId) -> bool:
        return self.flags[page] == self.pool and page not in self.leased

    def renewed(self, entry: int) -> int | None:
        """Return the entry with the present key of its page; None if that may not be taken."""
        page = entry & PAGE
        return page - (self.keys[page] << 32) if self.is_eligible(page) else None

    def best_of_few(self, pages: Iterable[int]) -> int | None:
        """Return the best entry of a few pages. Arrays would take longer."""
        keys, flags, leased, pool = self.keys, self.flags, self.leased, self.pool
        entries = [
            page - (keys[page] << 32)
            for page in pages
            if flags[page] == pool and page not in leased
        ]
        return min(entries, default=None)

    def is_large(self, pages: int) -> bool:
        """Return True if a host with this many pages keeps candidates."""
        return pages >= self.large

    def count_hosts(self) -> int:
        return (
            int(np.frombuffer(cast("array[int]", self.host_of), dtype=np.uint32).max(initial=0)) + 1
        )

    def keys_of(self, pages: Pages) -> NDArray[np.int64]:
        keys: NDArray[np.int64] = np.frombuffer(cast("array[int]", self.keys), dtype=np.int64)[
            pages
        ]
        return keys

    def are_in_pool(self, pages: Pages) -> NDArray[np.bool_]:
        flags = np.frombuffer(cast(bytearray, self.flags), dtype=np.uint8)[pages]
        are_eligible: NDArray[np.bool_] = flags == self.pool
        return are_eligible

    def hosts_of(self, pages: Pages) -> Pages:
        return np.frombuffer(cast("array[int]", self.host_of), dtype=np.uint32)[pages]


class HostQueue:
    """Queue of the waiting pages of one host, richest first. `pages` has them as they arrived."""

    __slots__ = (
        "_candidates",
        "_eligible",
        "_floor",
        "_room",
        "front",
        "host",
        "is_ready",
        "pages",
    )

    def __init__(self, eligible: EligiblePages, host: int, pages: bytes = b"") -> None:
        self._eligible, self.host = eligible, host
        self.pages = array("I", pages)
        self.is_ready = True
        self.front: int | None = None
        self._candidates: list[int] | None = None
        self._room = 0
        self._put_floor(_EVERY_PAGE)

    def __len__(self) -> int:
        """Return the number of candidates, stale ones included."""
        return len(self._candidates or ())

    def offer(self, page: PageId, key: int) -> int | None:
        """Update a page that is new or richer; return its entry if it is now the host's best."""
        entry = page - (key << 32)
        if entry > self._floor or not self._eligible.is_eligible(page):
            return None
        if self._candidates is not None:
            heappush(self._candidates, entry)
            if len(self._candidates) > self._room:
                self._tidy(self._candidates)
        if self.is_ready and (self.front is None or entry < self.front):
            self.set_front(entry)
            return entry
        return None

    def set_front(self, entry: int | None) -> None:
        """Put this entry in the front, or, with None, take the host out of the front."""
        self.front = entry
        # A host that is not ready accepts no offers at all: `resume` scans its pages.
        if self._candidates is None:
            if entry is None:
                entry = _EVERY_PAGE if self.is_ready else _NO_PAGE
            self._floor = entry
            self._eligible.floor_keys[self.host] = min(((entry & PAGE) - entry) >> 32, HIGHEST)

    def forget_candidates(self) -> None:
        """Drop the candidates, because pages were added to `pages` without being offered."""
        self._candidates = None

    def best(self) -> int | None:
        """Return the entry of the host's richest page that may be taken."""
        if self._candidates is None:
            pages, eligible = self.pages, self._eligible
            if len(pages) < eligible.large or not eligible.is_large(len(pages)):
                return eligible.best_of_few(pages) if len(pages) <= FEW else self._richest()
            self._candidates = []
            self._put_floor(_NO_PAGE)
        renewed, stale = self._eligible.renewed, None
        while self._candidates or self._refill():
            candidates, entry = self._candidates, self._candidates[0]
            if entry == stale:  # offered again with the same key
                heappop(candidates)
                continue
            present, stale = renewed(entry), entry
            if present == entry:
                return entry
            # A page whose key has fallen stays: nobody else may offer it before the queue is empty.
            if present is not None and present <= self._floor:
                heapreplace(candidates, present)
            else:
                heappop(candidates)
        return None

    def _put_floor(self, entry: int) -> None:
        self._floor = entry
        self._eligible.floor_keys[self.host] = min(((entry & PAGE) - entry) >> 32, HIGHEST)

    def _richest(self) -> int | None:
        """Scan all pages for the richest one, of equals the one with the lowest id.

        Not the first in the queue: a resumed crawl would then read equals in another order.
        """
        waiting = self.waiting()
        keys = self._eligible.keys_of(waiting)
        while (key := int(keys.max(initial=LOWEST))) > LOWEST:
            page = int(waiting[keys == key].min())
            if page not in self._eligible.leased:
                return page - (key << 32)
            keys[waiting == page] = LOWEST
        return None

    def waiting(self) -> NDArray[np.uint32]:
        """Drop the pages that have left the pool, and return the others."""
        pages = np.frombuffer(self.pages, dtype=np.uint32) if self.pages else _NO_PAGES
        stay = self._eligible.are_in_pool(pages)
        if not stay.all():
            pages = pages[stay]
            self.pages = array("I", pages.tobytes())
        return pages

    def _tidy(self, candidates: list[int]) -> None:
        """Drop stale candidates, and raise the floor if too many remain."""
        keys, is_eligible = self._eligible.keys, self._eligible.is_eligible
        pages = {entry & PAGE for entry in candidates}
        entries = [page - (keys[page] << 32) for page in pages if is_eligible(page)]
        entries = [entry for entry in entries if entry <= self._floor]  # a key may have fallen
        most = self._most_candidates()
        if len(entries) > 2 * most:
            entries = nsmallest(most, entries)
            self._put_floor(entries[-1])
        self._fill(entries)

    def _refill(self) -> bool:
        """Lower the floor to the best waiting pages; return False if it cannot sink further."""
        count, leased = self._most_candidates(), self._eligible.leased
        while self._floor != _EVERY_PAGE and not self._candidates:
            waiting = self.waiting()
            keys = self._eligible.keys_of(waiting)
            if count >= len(keys):
                best = np.arange(len(keys))
                self._put_floor(_EVERY_PAGE)
            else:
                key = int(np.partition(keys, -count)[-count])
                above, equal = np.flatnonzero(keys > key), np.flatnonzero(keys == key)
                equal = equal[waiting[equal].argsort()]
                best = np.concatenate((above, equal[: count - len(above)]))
                self._put_floor(int(waiting[best[-1]]) - (key << 32))
            candidates = zip(waiting[best].tolist(), keys[best].tolist(), strict=True)
            self._fill([page - (key << 32) for page, key in candidates if page not in leased])
            count *= 8
        return bool(self._candidates)

    def _fill(self, entries: list[int]) -> None:
        heapify(entries)
        self._candidates = entries
        self._room = 2 * len(entries) + _SPARE_ROOM

    def _most_candidates(self) -> int:
        return max(FEWEST, len(self.pages) >> 6)
