"""The pages of one host that wait, and the richest of them.

The richest page is looked for among all pages of the host that wait. A large host keeps a heap of
*candidates*, the pages at or above a *floor*, as in `schedule`.

entry   page - (key << 32): one whole number that sorts by key, richest first, then by page.
front   the entry of this host's best page in the heap of all hosts (`by_host`).
floor   A page whose entry is larger changes nothing. The floor is the worst of the candidates. For
        a host without candidates it is the entry in the front, or below all while the host waits.
"""

from __future__ import annotations

from array import array
from heapq import heapify, heappop, heappush, nsmallest
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId

PAGE = 0xFFFFFFFF
"""The bits of an entry in which its page can be read."""

_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_EVERY_PAGE = PAGE - (_LOWEST << 32)
_NO_PAGE = -((_HIGHEST + 1) << 32)

LARGE = 1024
"""Pages of a host from which on it keeps candidates, one waiting page in 64."""
FEWEST = 16
_FEW = 12
_SPARE_ROOM = 64
_NO_PAGES = np.empty(0, dtype=np.uint32)

Pages = NDArray[np.uint32]


class PageColumn(Protocol):
    """A number for each page."""

    def __getitem__(self, page: int, /) -> int:
        """That of one page."""


class EligiblePages:
    """The pages that may be taken: those whose flag is that of the pool, but for those on lease."""

    __slots__ = ("flags", "floor_keys", "host_of", "keys", "large", "leased", "pool")

    def __init__(
        self,
        keys: PageColumn,
        flags: PageColumn,
        host_of: PageColumn,
        pool: int = 0,
        large: int = LARGE,
    ) -> None:
        """A host with `large` pages keeps candidates."""
        self.keys, self.flags, self.host_of = keys, flags, host_of
        self.pool, self.large = pool, large
        self.leased: set[int] = set()
        self.floor_keys = array("q")
        """Of each host: a page with a smaller key is below the floor."""

    def is_eligible(self, page: PageId) -> bool:
        """Whether the page may be taken."""
        return self.flags[page] == self.pool and page not in self.leased

    def is_current(self, entry: int) -> bool:
        """Whether the page of the entry may be taken and its key is still the same."""
        page = entry & PAGE
        return self.is_eligible(page) and (page - entry) >> 32 == self.keys[page]

    def is_large(self, pages: int) -> bool:
        """Whether a host with so many pages keeps candidates."""
        return pages >= self.large

    def count_hosts(self) -> int:
        """How many hosts are known."""
        return max(cast("array[int]", self.host_of), default=-1) + 1

    # ------------------------------------------------------------ many at once

    def keys_of(self, pages: Pages) -> NDArray[np.int64]:
        """Their keys."""
        found: NDArray[np.int64] = np.frombuffer(cast("array[int]", self.keys), dtype=np.int64)[
            pages
        ]
        return found

    def are_in_pool(self, pages: Pages) -> NDArray[np.bool_]:
        """Whether their flags are that of the pool."""
        flags = np.frombuffer(cast(bytearray, self.flags), dtype=np.uint8)[pages]
        found: NDArray[np.bool_] = flags == self.pool
        return found

    def hosts_of(self, pages: Pages) -> Pages:
        """Their hosts."""
        found: Pages = np.frombuffer(cast("array[int]", self.host_of), dtype=np.uint32)[pages]
        return found


class HostQueue:
    """The pages of one host, in the order of their birth."""

    __slots__ = (
        "_candidates",
        "_eligible",
        "_floor",
        "_host",
        "_room",
        "front",
        "is_ready",
        "pages",
    )

    def __init__(self, eligible: EligiblePages) -> None:
        """The queue of the next host."""
        self._eligible = eligible
        self._host = len(eligible.floor_keys)
        eligible.floor_keys.append(_LOWEST)
        self.pages = array("I")
        self.is_ready = True
        self.front: int | None = None
        self._candidates: list[int] | None = None
        self._room = 0
        self._put_floor(_EVERY_PAGE)

    def __len__(self) -> int:
        """How many candidates it has, the stale ones too."""
        return len(self._candidates or ())

    def offer(self, page: PageId, key: int) -> int | None:
        """The page is new, or its key has grown: its entry, if the host now has that in front."""
        entry = page - (key << 32)
        if entry > self._floor or not self._eligible.is_eligible(page):
            return None
        if self._candidates is not None:
            heappush(self._candidates, entry)
            if len(self._candidates) > self._room:
                self._tidy(self._candidates)
        if self.is_ready and (self.front is None or entry < self.front):
            self.put_in_front(entry)
            return entry
        return None

    def put_in_front(self, entry: int) -> None:
        """The host has this entry in the front from now on."""
        self.front = entry
        if self._candidates is None:
            self._put_floor(entry)

    def leave_front(self) -> None:
        """No page of the host is in the front from now on."""
        self.front = None
        if self._candidates is None:
            self._put_floor(_EVERY_PAGE if self.is_ready else _NO_PAGE)

    def forget_candidates(self) -> None:
        """Pages were added to `pages` without being offered."""
        self._candidates = None

    def best(self) -> int | None:
        """The entry of the host's richest page that may be taken."""
        if self._candidates is None:
            if not self._eligible.is_large(len(self.pages)):
                return self._richest()
            self._candidates = []
            self._put_floor(_NO_PAGE)
        while self._candidates or self._refill():
            if self._eligible.is_current(self._candidates[0]):
                return self._candidates[0]
            heappop(self._candidates)
        return None

    def _put_floor(self, entry: int) -> None:
        self._floor = entry
        self._eligible.floor_keys[self._host] = min(((entry & PAGE) - entry) >> 32, _HIGHEST)

    def _richest(self) -> int | None:
        """One look at all the pages."""
        if len(self.pages) <= _FEW:
            return self._richest_of_few()
        waiting = self.waiting()
        keys = self._eligible.keys_of(waiting)
        for _ in range(len(keys)):
            place = int(keys.argmax())
            page = int(waiting[place])
            if page not in self._eligible.leased:
                return page - (int(keys[place]) << 32)
            keys[place] = _LOWEST
        return None

    def _richest_of_few(self) -> int | None:
        """The same without arrays, which would take longer."""
        keys, is_eligible = self._eligible.keys, self._eligible.is_eligible
        entries = [page - (keys[page] << 32) for page in self.pages if is_eligible(page)]
        return min(entries, default=None)

    def waiting(self) -> NDArray[np.uint32]:
        """The pages that are still in the pool. The others are forgotten."""
        pages = np.frombuffer(self.pages, dtype=np.uint32) if self.pages else _NO_PAGES
        stay = self._eligible.are_in_pool(pages)
        if not stay.all():
            pages = pages[stay]
            self.pages = array("I", pages.tobytes())
        return pages

    # ------------------------------------------------------------ candidates

    def _tidy(self, candidates: list[int]) -> None:
        """Drop stale candidates, and raise the floor if that leaves too many."""
        keys, is_eligible = self._eligible.keys, self._eligible.is_eligible
        pages = {entry & PAGE for entry in candidates}
        entries = [page - (keys[page] << 32) for page in pages if is_eligible(page)]
        entries = [entry for entry in entries if entry <= self._floor]  # a key may have fallen
        wanted = self._wanted()
        if len(entries) > 2 * wanted:
            entries = nsmallest(wanted, entries)
            self._put_floor(entries[-1])
        self._fill(entries)

    def _refill(self) -> bool:
        """Lower the floor to the best pages that wait; False if it is at its lowest already."""
        wanted = self._wanted()
        while self._floor != _EVERY_PAGE and not self._candidates:
            self._fill(self._gather(wanted))
            wanted *= 8
        return bool(self._candidates)

    def _gather(self, wanted: int) -> list[int]:
        """This many of the best pages that wait. The worst of them is the new floor.

        The pages of a queue are in the order of their birth, so of equals the first are taken.
        """
        waiting = self.waiting()
        keys = self._eligible.keys_of(waiting)
        if wanted >= len(keys):
            best = np.arange(len(keys))
            self._put_floor(_EVERY_PAGE)
        else:
            key = int(np.partition(keys, -wanted)[-wanted])
            above, equal = np.flatnonzero(keys > key), np.flatnonzero(keys == key)
            best = np.concatenate((above, equal[: wanted - len(above)]))
            self._put_floor(int(waiting[best[-1]]) - (key << 32))
        found = zip(waiting[best].tolist(), keys[best].tolist(), strict=True)
        return [page - (key << 32) for page, key in found if page not in self._eligible.leased]

    def _fill(self, entries: list[int]) -> None:
        heapify(entries)
        self._candidates = entries
        self._room = 2 * len(entries) + _SPARE_ROOM

    def _wanted(self) -> int:
        return max(FEWEST, len(self.pages) >> 6)
