"""The richest page among the hosts that may be asked now: exact order, bounded memory.

Law: `take` answers with the page of the largest key among the eligible pages of ready hosts.

A host is *ready* until a page of it is taken, and again when it is `resume`d. Each host has
candidates of its own (a small heap above a *floor*, as in `schedule`) and the list of all pages
that wait for it; the *front* is a heap of the ready hosts by their best candidate. So a page that
is taken costs the logarithm of the number of hosts, and a host that must wait costs nothing.

entry   page - (key << 32): one whole number that sorts by key, richest first, then by page.
floor   the worst entry that is a candidate, and its key.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from heapq import heapify, heappop, heappush, nsmallest

import numpy as np

_PAGE = 0xFFFFFFFF
_POOL = 1
_LOWEST = -(1 << 63)
_LAST = _PAGE - (_LOWEST << 32)
"""The worst entry there can be: a floor that lets everybody in."""

_SLACK = 256
"""Entries that the front may hold beside two a host."""

FEWEST = 16
"""Candidates of a small host; of a large one they are one waiting page in 64."""


def _key(entry: int) -> int:
    return ((entry & _PAGE) - entry) >> 32


class _Queue:
    """The pages of one host."""

    __slots__ = ("floor", "floor_key", "front", "heap", "pages", "ready", "room")

    def __init__(self) -> None:
        self.pages = array("I")
        self.heap: list[int] = []
        self.floor = _LAST
        self.floor_key = _LOWEST
        self.room = 4 * FEWEST
        self.ready = True
        self.front: int | None = None  # its entry in the front that counts


class ByHost:
    """Picks the richest eligible page of a ready host; of equals the one found first.

    Eligible is who is in the pool (the lowest bit of `flags`) and not on lease. The key of a
    page that waits only grows, and whoever raises it must `offer` the page.
    """

    def __init__(
        self, keys: array[int], flags: bytearray, host_of: array[int], pool: int = 0
    ) -> None:
        """Hosts that are known already have their places; others come with their first page."""
        self._keys = keys
        self._flags = flags
        self._host_of = host_of
        self._pool = pool
        self._queues = [_Queue() for _ in range(max(host_of, default=-1) + 1)]
        self._front: list[tuple[int, int]] = []
        self._leased: set[int] = set()

    def born(self, pages: Iterable[int]) -> None:
        """These pages wait from now on."""
        for page in pages:
            host = self._host_of[page]
            while host >= len(self._queues):
                self._queues.append(_Queue())
            queue = self._queues[host]
            queue.pages.append(page)
            self._push(page, host, queue)

    def offer(self, pages: Iterable[int]) -> None:
        """The keys of these pages may have grown."""
        keys, host_of, queues = self._keys, self._host_of, self._queues
        for page in pages:
            host = host_of[page]
            queue = queues[host]
            if keys[page] >= queue.floor_key:
                self._push(page, host, queue)

    def take(self) -> int | None:
        """Lease the richest page and its host; None if no ready host has a page."""
        while self._front:
            entry, host = heappop(self._front)
            queue = self._queues[host]
            if entry != queue.front:
                continue
            queue.front = None
            best = self._best(queue)
            if best == entry:
                heappop(queue.heap)
                queue.ready = False
                self._leased.add(entry & _PAGE)
                return entry & _PAGE
            self._show(host, queue)
        return None

    def release(self, page: int) -> None:
        """The lease of the page has ended; its host is another matter."""
        self._leased.discard(page)
        self.offer((page,))

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        queue = self._queues[host]
        queue.ready = True
        self._show(host, queue)

    def pause(self, host: int) -> None:
        """The host may not be asked."""
        queue = self._queues[host]
        queue.ready, queue.front = False, None

    def is_ready(self, host: int) -> bool:
        """Whether the host may be asked."""
        return self._queues[host].ready

    def __len__(self) -> int:
        """Entries in all the heaps, the stale ones too."""
        return len(self._front) + sum(len(queue.heap) for queue in self._queues)

    def _push(self, page: int, host: int, queue: _Queue) -> None:
        entry = page - (self._keys[page] << 32)
        if entry > queue.floor or not self._is_eligible(page):
            return
        heappush(queue.heap, entry)
        if queue.ready and queue.heap[0] == entry != queue.front:
            self._put_in_front(entry, host, queue)
        if len(queue.heap) > queue.room:
            self._tidy(queue)

    def _show(self, host: int, queue: _Queue) -> None:
        """Bring the host's best page to the front."""
        best = self._best(queue)
        if best is not None and best != queue.front:
            self._put_in_front(best, host, queue)

    def _put_in_front(self, entry: int, host: int, queue: _Queue) -> None:
        queue.front = entry
        heappush(self._front, (entry, host))
        if len(self._front) > 2 * len(self._queues) + _SLACK:
            fronts = ((queue.front, host) for host, queue in enumerate(self._queues))
            self._front = [(entry, host) for entry, host in fronts if entry is not None]
            heapify(self._front)

    def _best(self, queue: _Queue) -> int | None:
        """The entry of the host's richest page."""
        while queue.heap or self._refill(queue):
            entry = queue.heap[0]
            page = entry & _PAGE
            if self._is_eligible(page) and (page - entry) >> 32 == self._keys[page]:
                return entry
            heappop(queue.heap)
        return None

    def _is_eligible(self, page: int) -> bool:
        return self._flags[page] & _POOL == self._pool and page not in self._leased

    def _tidy(self, queue: _Queue) -> None:
        """Drop what is stale, and raise the floor if that leaves too many."""
        pages = {entry & _PAGE for entry in queue.heap}
        entries = [page - (self._keys[page] << 32) for page in pages if self._is_eligible(page)]
        wanted = self._wanted(queue)
        if len(entries) > 2 * wanted:
            entries = nsmallest(wanted, entries)
            queue.floor = entries[-1]
            queue.floor_key = _key(queue.floor)
        self._fill(queue, entries)

    def _refill(self, queue: _Queue) -> bool:
        """Lower the floor to the best of those who wait; False if it already lets everybody in."""
        wanted = self._wanted(queue)
        while queue.floor != _LAST and not queue.heap:
            self._forget_the_settled(queue)
            self._fill(queue, self._gather(queue, wanted))
            wanted *= 8
        return bool(queue.heap)

    def _gather(self, queue: _Queue, wanted: int) -> list[int]:
        """The best so many of those who wait; the worst of them is the new floor.

        The pages of a queue are in the order of their birth, so of equals the first are taken.
        """
        waiting = np.frombuffer(queue.pages, dtype=np.uint32)
        keys = np.frombuffer(self._keys, dtype=np.int64)[waiting]
        if wanted >= len(keys):
            best, queue.floor, queue.floor_key = np.arange(len(keys)), _LAST, _LOWEST
        else:
            key = int(np.partition(keys, -wanted)[-wanted])
            above, equal = np.flatnonzero(keys > key), np.flatnonzero(keys == key)
            best = np.concatenate((above, equal[: wanted - len(above)]))
            queue.floor, queue.floor_key = int(waiting[best[-1]]) - (key << 32), key
        found = zip(waiting[best].tolist(), keys[best].tolist(), strict=True)
        return [page - (key << 32) for page, key in found if page not in self._leased]

    def _fill(self, queue: _Queue, entries: list[int]) -> None:
        heapify(entries)
        queue.heap = entries
        queue.room = 2 * len(entries) + 4 * FEWEST

    def _forget_the_settled(self, queue: _Queue) -> None:
        pages = np.frombuffer(queue.pages, dtype=np.uint32)
        flags = np.frombuffer(self._flags, dtype=np.uint8)[pages]
        queue.pages = array("I", pages[flags & _POOL == self._pool].tobytes())

    def _wanted(self, queue: _Queue) -> int:
        return max(FEWEST, len(queue.pages) >> 6)
