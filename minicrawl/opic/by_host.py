"""The richest page among the hosts that may be asked now: exact order, bounded memory.

Law: `take` answers with the page of the largest key among the eligible pages of ready hosts.

A host is *ready* until a page of it is taken, and again when it is `resume`d. Each host has the
list of all pages that wait for it; the *front* is a heap of the ready hosts by their best page. So
a page that is taken costs the logarithm of the number of hosts, and a host that must wait costs
nothing. The best page of a host is looked for among all that wait; of a large host in a heap of
its *candidates*, the pages above a *floor*, as in `schedule`.

entry   page - (key << 32): one whole number that sorts by key, richest first, then by page.
floor   who is not above it is of no interest: the worst of the candidates; of a host without them
        the page that is in the front, and nobody at all while the host must wait.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from heapq import heapify, heappop, heappush, nsmallest

import numpy as np
from numpy.typing import NDArray

_PAGE = 0xFFFFFFFF
_POOL = 1
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_EVERYBODY = _PAGE - (_LOWEST << 32)
_NOBODY = -((_HIGHEST + 1) << 32)

_SLACK = 256
"""Entries that the front may hold beside two a host."""

LARGE = 1024
"""Pages of a host from which on it keeps candidates, one waiting page in 64."""
FEWEST = 16
_ROOM = 64
_NO_PAGES = np.empty(0, dtype=np.uint32)


def _key(entry: int) -> int:
    return ((entry & _PAGE) - entry) >> 32


class _Queue:
    """The pages of one host."""

    __slots__ = ("candidates", "floor", "floor_key", "front", "pages", "ready", "room")

    def __init__(self) -> None:
        self.pages = array("I")
        self.ready = True
        self.front: int | None = None  # its entry in the front that counts
        self.candidates: list[int] | None = None
        self.room = 0
        self.put_floor(_EVERYBODY)

    def put_floor(self, entry: int) -> None:
        self.floor, self.floor_key = entry, _key(entry)


class ByHost:
    """Picks the richest eligible page of a ready host; of equals the one found first.

    Eligible is who is in the pool (the lowest bit of `flags`) and not on lease. The key of a
    page that waits only grows, and whoever raises it must `offer` the page.
    """

    def __init__(
        self,
        keys: array[int],
        flags: bytearray,
        host_of: array[int],
        pool: int = 0,
        large: int = LARGE,
    ) -> None:
        """Hosts that are known already have their places; others come with their first page."""
        self._keys = keys
        self._flags = flags
        self._host_of = host_of
        self._pool = pool
        self._large = large
        self._queues = [_Queue() for _ in range(max(host_of, default=-1) + 1)]
        self._front: list[int] = []
        self._leased: set[int] = set()

    def born(self, pages: Iterable[int]) -> None:
        """These pages wait from now on."""
        for page in pages:
            queue = self._queue(self._host_of[page])
            queue.pages.append(page)
            self._offer(page, queue)

    def wait(self, blocks: Iterable[NDArray[np.uint32]]) -> None:
        """Pages by the million, in ascending order, wait from now on."""
        for block in blocks:
            hosts = np.frombuffer(self._host_of, dtype=np.uint32)[block]
            order = np.argsort(hosts, kind="stable")
            found, firsts = np.unique(hosts[order], return_index=True)
            _, *parts = np.split(block[order], firsts)
            for host, mine in zip(found.tolist(), parts, strict=True):
                self._queue(host).pages.frombytes(mine.tobytes())
        for queue in self._queues:
            queue.candidates = None
            self._show(queue)

    def offer(self, pages: Iterable[int]) -> None:
        """The keys of these pages may have grown."""
        keys, host_of, queues = self._keys, self._host_of, self._queues
        for page in pages:
            queue = queues[host_of[page]]
            if keys[page] >= queue.floor_key:
                self._offer(page, queue)

    def take(self) -> int | None:
        """Lease the richest page and its host; None if no ready host has a page."""
        while self._front:
            entry = heappop(self._front)
            page = entry & _PAGE
            queue = self._queues[self._host_of[page]]
            if entry != queue.front:
                continue
            if self._is_current(entry):
                self._leased.add(page)
                self._withdraw(queue)
                return page
            self._show(queue)
        return None

    def release(self, page: int) -> None:
        """The lease of the page has ended; its host is another matter."""
        self._leased.discard(page)
        self.offer((page,))

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        queue = self._queue(host)
        queue.ready = True
        self._show(queue)

    def pause(self, host: int) -> None:
        """The host may not be asked."""
        self._withdraw(self._queues[host])

    def is_ready(self, host: int) -> bool:
        """Whether the host may be asked."""
        return self._queues[host].ready

    def __len__(self) -> int:
        """Entries in all the heaps, the stale ones too."""
        return len(self._front) + sum(len(queue.candidates or ()) for queue in self._queues)

    def _queue(self, host: int) -> _Queue:
        queues = self._queues
        while host >= len(queues):
            queues.append(_Queue())
        return queues[host]

    def _offer(self, page: int, queue: _Queue) -> None:
        entry = page - (self._keys[page] << 32)
        if entry > queue.floor or not self._is_eligible(page):
            return
        if queue.candidates is not None:
            heappush(queue.candidates, entry)
            if len(queue.candidates) > queue.room:
                self._tidy(queue, queue.candidates)
        if queue.ready and (queue.front is None or entry < queue.front):
            self._put_in_front(entry, queue)

    # ------------------------------------------------------------ the front

    def _show(self, queue: _Queue) -> None:
        """Bring the host's best page to the front, if it is ready."""
        best = self._best(queue) if queue.ready else None
        if best is None:
            queue.front = None
            if queue.candidates is None:
                queue.put_floor(_EVERYBODY if queue.ready else _NOBODY)
        elif best != queue.front:
            self._put_in_front(best, queue)

    def _put_in_front(self, entry: int, queue: _Queue) -> None:
        queue.front = entry
        if queue.candidates is None:
            queue.put_floor(entry)
        heappush(self._front, entry)
        if len(self._front) > 2 * len(self._queues) + _SLACK:
            self._front = [queue.front for queue in self._queues if queue.front is not None]
            heapify(self._front)

    def _withdraw(self, queue: _Queue) -> None:
        """The host must wait."""
        queue.ready, queue.front = False, None
        if queue.candidates is None:
            queue.put_floor(_NOBODY)

    # ------------------------------------------------------------ the best page of a host

    def _best(self, queue: _Queue) -> int | None:
        """The entry of the host's richest page."""
        if queue.candidates is None:
            if len(queue.pages) < self._large:
                return self._richest(queue)
            queue.candidates = []
            queue.put_floor(_NOBODY)
        while queue.candidates or self._refill(queue):
            if self._is_current(queue.candidates[0]):
                return queue.candidates[0]
            heappop(queue.candidates)
        return None

    def _richest(self, queue: _Queue) -> int | None:
        """One look at all the pages."""
        waiting = self._waiting(queue)
        keys = np.frombuffer(self._keys, dtype=np.int64)[waiting]
        for _ in range(len(keys)):
            place = int(keys.argmax())
            page = int(waiting[place])
            if page not in self._leased:
                return page - (int(keys[place]) << 32)
            keys[place] = _LOWEST
        return None

    def _is_current(self, entry: int) -> bool:
        page = entry & _PAGE
        return self._is_eligible(page) and (page - entry) >> 32 == self._keys[page]

    def _is_eligible(self, page: int) -> bool:
        return self._flags[page] & _POOL == self._pool and page not in self._leased

    def _waiting(self, queue: _Queue) -> NDArray[np.uint32]:
        """The pages that are still in the pool; the others are forgotten."""
        pages = np.frombuffer(queue.pages, dtype=np.uint32) if queue.pages else _NO_PAGES
        stay = np.frombuffer(self._flags, dtype=np.uint8)[pages] & _POOL == self._pool
        if not stay.all():
            pages = pages[stay]
            queue.pages = array("I", pages.tobytes())
        return pages

    # ------------------------------------------------------------ candidates

    def _tidy(self, queue: _Queue, candidates: list[int]) -> None:
        """Drop what is stale, and raise the floor if that leaves too many."""
        pages = {entry & _PAGE for entry in candidates}
        entries = [page - (self._keys[page] << 32) for page in pages if self._is_eligible(page)]
        wanted = self._wanted(queue)
        if len(entries) > 2 * wanted:
            entries = nsmallest(wanted, entries)
            queue.put_floor(entries[-1])
        self._fill(queue, entries)

    def _refill(self, queue: _Queue) -> bool:
        """Lower the floor to the best of those who wait; False if it already lets everybody in."""
        wanted = self._wanted(queue)
        while queue.floor != _EVERYBODY and not queue.candidates:
            self._fill(queue, self._gather(queue, wanted))
            wanted *= 8
        return bool(queue.candidates)

    def _gather(self, queue: _Queue, wanted: int) -> list[int]:
        """The best so many of those who wait; the worst of them is the new floor.

        The pages of a queue are in the order of their birth, so of equals the first are taken.
        """
        waiting = self._waiting(queue)
        keys = np.frombuffer(self._keys, dtype=np.int64)[waiting]
        if wanted >= len(keys):
            best = np.arange(len(keys))
            queue.put_floor(_EVERYBODY)
        else:
            key = int(np.partition(keys, -wanted)[-wanted])
            above, equal = np.flatnonzero(keys > key), np.flatnonzero(keys == key)
            best = np.concatenate((above, equal[: wanted - len(above)]))
            queue.put_floor(int(waiting[best[-1]]) - (key << 32))
        found = zip(waiting[best].tolist(), keys[best].tolist(), strict=True)
        return [page - (key << 32) for page, key in found if page not in self._leased]

    def _fill(self, queue: _Queue, entries: list[int]) -> None:
        heapify(entries)
        queue.candidates = entries
        queue.room = 2 * len(entries) + _ROOM

    def _wanted(self, queue: _Queue) -> int:
        return max(FEWEST, len(queue.pages) >> 6)
