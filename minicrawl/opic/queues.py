"""Exact priority queues of pages in bounded memory: over all pages, of one host, by host, by site.

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
front   entry of a host's best page in the heap over all hosts (see `ByHost`)
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from heapq import heapify, heappop, heappush, nsmallest
from random import Random
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId

PAGE = 0xFFFFFFFF
"""Mask for the bits of an entry that hold its page."""

_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_EVERY_PAGE = PAGE - (_LOWEST << 32)
_NO_PAGE = -((_HIGHEST + 1) << 32)

Pages = NDArray[np.uint32]


# ================================================================ all pages

_BLOCK = 1 << 15
_SAMPLE = 1 << 14

_FEWEST_OF_ALL = 4096
"""Least number of candidates; a large web has one for every 2,048 pages."""


def _entry(page: PageId, key: int) -> int:
    return page - (key << 32)


def _key(entry: int) -> int:
    return ((entry & PAGE) - entry) >> 32


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
        self._floor = _entry(0, _HIGHEST + 1)
        self._floor_key = _HIGHEST

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
            self._tidy()

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

    def _tidy(self) -> None:
        """Drop stale entries, and raise the floor if too many remain."""
        pages = {entry & PAGE for entry in self._heap}
        entries = sorted(
            [_entry(page, self._keys[page]) for page in pages if self._is_eligible(page)]
        )
        wanted = self._wanted(len(self._keys))
        if len(entries) > 2 * wanted:
            self._raise_floor(entries, wanted)
        self._fill(entries)

    def _raise_floor(self, entries: list[int], wanted: int) -> None:
        """Truncate the sorted entries to `wanted`, and make the last one the floor."""
        del entries[wanted:]
        self._floor = entries[-1]
        self._floor_key = _key(self._floor)

    def _refill(self) -> bool:
        """Lower the floor until there are candidates; return False if it cannot sink further."""
        wanted = 1
        while self._floor_key != _LOWEST and not self._heap:
            self._floor_key = self._sampled_floor(wanted)
            self._floor = _entry(PAGE, self._floor_key)
            self._fill(self._gather())
            # A sample may find only pages on lease, which `_gather` leaves out. Each try looks at
            # all pages, so the number wanted grows quickly.
            wanted *= 8
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
        return int(np.partition(sample, -rank)[-rank]) if rank < len(sample) else _LOWEST

    def _gather(self) -> list[int]:
        """Return the eligible pages above the floor, best first; raise the floor if too many."""
        keys = np.frombuffer(self._keys, dtype=np.int64)
        flags = np.frombuffer(self._flags, dtype=np.uint8)
        wanted = self._wanted(len(keys))
        lowest = self._floor_key
        entries: list[int] = []
        for start in range(0, len(keys), _BLOCK):
            block = keys[start : start + _BLOCK]
            in_pool = flags[start : start + _BLOCK] == self._pool
            hits = np.flatnonzero((block >= lowest) & in_pool)
            found = zip((hits + start).tolist(), block[hits].tolist(), strict=True)
            entries += [_entry(page, key) for page, key in found if page not in self._leased]
            if len(entries) > 4 * wanted:
                entries.sort()
                self._raise_floor(entries, 2 * wanted)
                lowest = self._floor_key + 1  # among equals, the first ones found are already in
        entries.sort()
        return entries


# ================================================================ one host
#
# The queue of one host: its waiting pages, and the richest of them. A small host scans all its
# waiting pages for the richest one, a large host keeps candidates. Without candidates, the floor is
# the entry in the front, or the lowest possible one while the host has none in the front.

LARGE = 1024
"""Number of pages from which a host keeps candidates, one for every 64 waiting pages."""
FEWEST = 16
_FEW = 12
"""Up to this number of pages a loop is faster than arrays."""
_SPARE_ROOM = 64
_NO_PAGES = np.empty(0, dtype=np.uint32)


class PageColumn(Protocol):
    """A number for each page."""

    def __getitem__(self, page: int, /) -> int:
        """Return the number of one page."""


class EligiblePages:
    """The pages that may be taken: flagged as in the pool and not on lease."""

    __slots__ = ("flags", "floor_keys", "host_of", "keys", "large", "leased", "pool")

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
        """Return True if the page may be taken."""
        return self.flags[page] == self.pool and page not in self.leased

    def is_current(self, entry: int) -> bool:
        """Return True if the entry's page may be taken and still has the same key."""
        page = entry & PAGE
        return self.is_eligible(page) and (page - entry) >> 32 == self.keys[page]

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
        return max(cast("array[int]", self.host_of), default=-1) + 1

    # ------------------------------------------------------------ many at once

    def keys_of(self, pages: Pages) -> NDArray[np.int64]:
        found: NDArray[np.int64] = np.frombuffer(cast("array[int]", self.keys), dtype=np.int64)[
            pages
        ]
        return found

    def are_in_pool(self, pages: Pages) -> NDArray[np.bool_]:
        """Return, for each page, whether its flag is that of the pool."""
        flags = np.frombuffer(cast(bytearray, self.flags), dtype=np.uint8)[pages]
        found: NDArray[np.bool_] = flags == self.pool
        return found

    def hosts_of(self, pages: Pages) -> Pages:
        found: Pages = np.frombuffer(cast("array[int]", self.host_of), dtype=np.uint32)[pages]
        return found


class HostQueue:
    """Queue of the waiting pages of one host, richest first. `pages` has them as they arrived."""

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
        """Create the queue of the next host."""
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
        # Without candidates only a better page than the front matters, so an offer below it costs
        # one comparison. A host that is not ready accepts no offers at all: `resume` scans its
        # pages.
        if self._candidates is None:
            if entry is None:
                entry = _EVERY_PAGE if self.is_ready else _NO_PAGE
            self._floor = entry
            self._eligible.floor_keys[self._host] = min(((entry & PAGE) - entry) >> 32, _HIGHEST)

    def forget_candidates(self) -> None:
        """Drop the candidates, because pages were added to `pages` without being offered."""
        self._candidates = None

    def best(self) -> int | None:
        """Return the entry of the host's richest page that may be taken."""
        if self._candidates is None:
            pages, eligible = self.pages, self._eligible
            if len(pages) < eligible.large or not eligible.is_large(len(pages)):
                return eligible.best_of_few(pages) if len(pages) <= _FEW else self._richest()
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
        """Scan all pages for the richest one, of equals the one with the lowest id.

        Not the first in the queue: a resumed crawl would then read equals in another order.
        """
        waiting = self.waiting()
        keys = self._eligible.keys_of(waiting)
        while (key := int(keys.max(initial=_LOWEST))) > _LOWEST:
            page = int(waiting[keys == key].min())
            if page not in self._eligible.leased:
                return page - (key << 32)
            keys[waiting == page] = _LOWEST
        return None

    def waiting(self) -> NDArray[np.uint32]:
        """Drop the pages that have left the pool, and return the others."""
        pages = np.frombuffer(self.pages, dtype=np.uint32) if self.pages else _NO_PAGES
        stay = self._eligible.are_in_pool(pages)
        if not stay.all():
            pages = pages[stay]
            self.pages = array("I", pages.tobytes())
        return pages

    # ------------------------------------------------------------ candidates

    def _tidy(self, candidates: list[int]) -> None:
        """Drop stale candidates, and raise the floor if too many remain."""
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
        """Lower the floor to the best waiting pages; return False if it cannot sink further."""
        wanted = self._wanted()
        while self._floor != _EVERY_PAGE and not self._candidates:
            self._fill(self._gather(wanted))
            wanted *= 8
        return bool(self._candidates)

    def _gather(self, wanted: int) -> list[int]:
        """Return the `wanted` best waiting pages. The worst of them is the new floor."""
        waiting = self.waiting()
        keys = self._eligible.keys_of(waiting)
        if wanted >= len(keys):
            best = np.arange(len(keys))
            self._put_floor(_EVERY_PAGE)
        else:
            key = int(np.partition(keys, -wanted)[-wanted])
            above, equal = np.flatnonzero(keys > key), np.flatnonzero(keys == key)
            equal = equal[waiting[equal].argsort()]
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


# ================================================================ by host
#
# The richest page among the ready hosts: exact order, bounded memory.
#
# `take` returns the page with the largest key among the eligible pages of ready hosts.
#
# A host is *ready* until one of its pages is taken, and again once it is `resume`d. Each host has a
# `HostQueue` of its waiting pages. The *front* is a heap of the ready hosts by their best page. So
# taking a page costs the logarithm of the number of hosts, and a host that must wait costs nothing.

_SLACK = 256
"""Most entries in the front beyond two for each host."""


class ByHost:
    """Picks the richest eligible page of a ready host; ties go to the page found first.

    A page is eligible if its flag is that of the pool and it is not on lease. The key of a waiting
    page only grows, and code that raises it must `offer` the page.
    """

    def __init__(self, eligible: EligiblePages) -> None:
        """Create queues for the hosts known now; others get theirs with their first page."""
        self._eligible = eligible
        self._queues = [HostQueue(eligible) for _ in range(eligible.count_hosts())]
        self._front: list[int] = []

    def enqueue(self, pages: Iterable[int]) -> None:
        """Enqueue new pages."""
        keys, host_of = self._eligible.keys, self._eligible.host_of
        for page in pages:
            queue = self._queue(host_of[page])
            queue.pages.append(page)
            if (entry := queue.offer(page, keys[page])) is not None:
                self._push(entry)

    def enqueue_many(self, pages: NDArray[np.uint32]) -> None:
        """Enqueue new pages, with vectorised keys."""
        hosts, keys = self._eligible.hosts_of(pages), self._eligible.keys_of(pages)
        for page, host, key in _rows(pages, hosts, keys):
            queue = self._queue(host)
            queue.pages.append(page)
            if (entry := queue.offer(page, key)) is not None:
                self._push(entry)

    def enqueue_blocks(self, blocks: Iterable[NDArray[np.uint32]]) -> None:
        """Enqueue large blocks of pages, in ascending order."""
        for block in blocks:
            hosts = self._eligible.hosts_of(block)
            order = np.argsort(hosts, kind="stable")
            found, firsts = np.unique(hosts[order], return_index=True)
            _, *parts = np.split(block[order], firsts)
            for host, mine in zip(found.tolist(), parts, strict=True):
                self._queue(host).pages.frombytes(mine.tobytes())
        for queue in self._queues:
            queue.forget_candidates()
            self._show(queue)

    def offer(self, pages: Iterable[int]) -> None:
        """Update pages whose keys may have grown."""
        keys, host_of = self._eligible.keys, self._eligible.host_of
        floor_keys, queues = self._eligible.floor_keys, self._queues
        for page in pages:
            host, key = host_of[page], keys[page]
            if key >= floor_keys[host] and (entry := queues[host].offer(page, key)) is not None:
                self._push(entry)

    def offer_one(self, page: PageId, host: int, key: int) -> None:
        """Update a page of this host that has this key now."""
        if (
            key >= self._eligible.floor_keys[host]
            and (entry := self._queues[host].offer(page, key)) is not None
        ):
            self._push(entry)

    def offer_many(
        self, pages: NDArray[Any], hosts: NDArray[np.uint32], keys: NDArray[np.int64]
    ) -> None:
        """Vectorised `offer`, with the hosts and keys of the pages."""
        (found,) = (
            keys >= np.frombuffer(self._eligible.floor_keys, dtype=np.int64)[hosts]
        ).nonzero()
        for page, host, key in _rows(pages[found], hosts[found], keys[found]):
            if (entry := self._queues[host].offer(page, key)) is not None:
                self._push(entry)

    def take(self) -> int | None:
        """Lease and return the richest page and its host; None if no ready host has a page."""
        while self._front:
            entry = heappop(self._front)
            queue = self._queues[self._eligible.host_of[entry & PAGE]]
            # Each host has one valid entry, its front; every other entry of its pages is an old
            # front.
            if entry == queue.front:
                if self._eligible.is_current(entry):
                    return self._lease(queue, entry & PAGE)
                self._show(queue)
        return None

    def _lease(self, queue: HostQueue, page: PageId) -> PageId:
        """Lease the page and its host."""
        self._eligible.leased.add(page)
        queue.is_ready = False
        queue.set_front(None)
        return page

    def waiting(self, host: int) -> NDArray[np.uint32]:
        """Return the waiting pages of a host, those on lease included."""
        return self._queue(host).waiting()

    def release(self, page: PageId) -> None:
        """End the page's lease. The state of its host does not change."""
        eligible = self._eligible
        eligible.leased.discard(page)
        self.offer_one(page, eligible.host_of[page], eligible.keys[page])

    def resume(self, host: int) -> None:
        """Mark the host as ready."""
        queue = self._queues[host] if host < len(self._queues) else self._queue(host)
        if queue.is_ready and queue.front is not None:
            return  # its front is the best entry, or is found out of date when leased
        queue.is_ready = True
        self._show(queue)

    def pause(self, host: int) -> None:
        """Mark the host as not ready."""
        queue = self._queues[host]
        queue.is_ready = False
        queue.set_front(None)

    def is_ready(self, host: int) -> bool:
        """Return True if the host is ready."""
        return host >= len(self._queues) or self._queues[host].is_ready

    def has_pages(self, host: int) -> bool:
        """Return True if a ready host has waiting pages."""
        return host < len(self._queues) and self._queues[host].front is not None

    def precedence(self, host: int) -> float:
        """Return the rank of the host among hosts, lowest first: 0, as only keys of pages count."""
        return 0.0

    def __len__(self) -> int:
        """Return the number of entries in all heaps, stale ones included."""
        return len(self._front) + sum(map(len, self._queues))

    def _queue(self, host: int) -> HostQueue:
        queues = self._queues
        while host >= len(queues):
            queues.append(HostQueue(self._eligible))
        return queues[host]

    def _show(self, queue: HostQueue) -> None:
        """Put the best page of a ready host in the front."""
        best = queue.best() if queue.is_ready else None
        queue.set_front(best)
        if best is not None:
            self._push(best)

    def _push(self, entry: int) -> None:
        # Old entries are dropped all at once: finding one of them would take a scan of the heap.
        heappush(self._front, entry)
        if len(self._front) > 2 * len(self._queues) + _SLACK:
            self._front = [queue.front for queue in self._queues if queue.front is not None]
            heapify(self._front)


def _rows(
    pages: NDArray[Any], hosts: NDArray[np.uint32], keys: NDArray[np.int64]
) -> Iterator[tuple[int, int, int]]:
    return zip(pages.tolist(), hosts.tolist(), keys.tolist(), strict=True)


# ================================================================ by site
#
# The best page of the most important site: `ByHost` with another order of hosts.
#
# `take` returns the page with the largest key among the eligible pages of those ready hosts whose
# site is the most important. The importance of sites is looked up after 1, 2, 4, ... pages, and in
# the end every `_MOST` pages or every eighth of the number of hosts, whichever is more: a look-up
# costs time in proportion to the hosts.

ImportanceOfHosts = Callable[[], NDArray[np.float64]]
"""Returns the importance of each host's site. Its length grows with the number of hosts."""

_MOST = 64


class BySite(ByHost):
    """Picks the richest eligible page of the ready host whose site is the most important."""

    def __init__(self, eligible: EligiblePages, importance: ImportanceOfHosts) -> None:
        super().__init__(eligible)
        self._ask_importance = importance
        self._importance = np.zeros(0)
        self._sites: list[tuple[float, int]] = []
        self._left, self._every = 0, 1  # pages until the next look-up of the importance

    def take(self) -> int | None:
        """Lease and return the best page and its host; None if no ready host has a page."""
        if not self._left:
            self._look_up()
        while self._sites:
            _, entry = heappop(self._sites)
            queue = self._queues[self._eligible.host_of[entry & PAGE]]
            if entry == queue.front:
                if self._eligible.is_current(entry):
                    self._left -= 1
                    return self._lease(queue, entry & PAGE)
                self._show(queue)
        return None

    def precedence(self, host: int) -> float:
        """Return the rank of the host: lower ones come first, whatever the keys of pages."""
        importance = self._importance
        return -float(importance[host]) if host < len(importance) else 0.0

    def __len__(self) -> int:
        """Return the number of entries in all heaps, stale ones included."""
        return len(self._sites) + sum(map(len, self._queues))

    def _look_up(self) -> None:
        self._importance = self._ask_importance()
        self._left = self._every
        self._every = min(2 * self._every, max(_MOST, len(self._queues) >> 3))
        self._order_anew()

    def _order_anew(self) -> None:
        fronts = (queue.front for queue in self._queues if queue.front is not None)
        self._sites = [self._ranked(entry) for entry in fronts]
        heapify(self._sites)

    def _ranked(self, entry: int) -> tuple[float, int]:
        return self.precedence(self._eligible.host_of[entry & PAGE]), entry

    def _push(self, entry: int) -> None:
        heappush(self._sites, self._ranked(entry))
        if len(self._sites) > 2 * len(self._queues) + _SLACK:
            self._order_anew()


# ================================================================ random keys
#
# Pseudo-random keys for pages, the same in every run.


def random_keys() -> Iterator[int]:
    """Yield the keys of all pages, in the order of their birth."""
    rng = Random(0)
    while True:
        yield rng.getrandbits(62)
