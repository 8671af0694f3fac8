"""The richest page among the hosts that may be asked now: exact order, bounded memory.

Law: `take` answers with the page of the largest key among the eligible pages of ready hosts.

A host is *ready* until a page of it is taken, and again when it is `resume`d. Each host has a queue
of all its pages that wait (`host_queue`). The *front* is a heap of the ready hosts by their best
page. So to take a page costs the logarithm of the number of hosts, and a host that must wait costs
nothing.

entry   page - (key << 32): one whole number that sorts by key, richest first, then by page.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.host_queue import LARGE, PAGE, EligiblePages, HostQueue

_SLACK = 256
"""Entries that the front may hold beside two a host."""


class ByHost:
    """Picks the richest eligible page of a ready host; of equals the one found first.

    A page is eligible while its flag is that of the pool and it is not on lease. The key of a page
    that waits only grows, and the code that raises it must `offer` the page.
    """

    def __init__(
        self,
        keys: array[int],
        flags: bytearray,
        host_of: array[int],
        pool: int = 0,
        large: int = LARGE,
    ) -> None:
        """Hosts that are known already get their queues now, others with their first page."""
        self._keys = keys
        self._host_of = host_of
        self._eligible = EligiblePages(keys, flags, pool, large)
        self._queues = [HostQueue(self._eligible) for _ in range(max(host_of, default=-1) + 1)]
        self._front: list[int] = []

    def born(self, pages: Iterable[int]) -> None:
        """These pages wait from now on."""
        for page in pages:
            queue = self._queue(self._host_of[page])
            queue.pages.append(page)
            if (entry := queue.offer(page)) is not None:
                self._push(entry)

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
            queue.forget_candidates()
            self._show(queue)

    def offer(self, pages: Iterable[int]) -> None:
        """The keys of these pages may have grown."""
        keys, host_of, queues = self._keys, self._host_of, self._queues
        for page in pages:
            queue = queues[host_of[page]]
            if keys[page] >= queue.floor_key and (entry := queue.offer(page)) is not None:
                self._push(entry)

    def take(self) -> int | None:
        """Lease the richest page and its host; None if no ready host has a page."""
        while self._front:
            entry = heappop(self._front)
            page = entry & PAGE
            queue = self._queues[self._host_of[page]]
            if entry != queue.front:
                continue
            if self._eligible.is_current(entry):
                self._eligible.leased.add(page)
                queue.is_ready = False
                queue.leave_front()
                return page
            self._show(queue)
        return None

    def release(self, page: int) -> None:
        """The lease of the page has ended. Its host stays as it is."""
        self._eligible.leased.discard(page)
        self.offer((page,))

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        queue = self._queue(host)
        queue.is_ready = True
        self._show(queue)

    def pause(self, host: int) -> None:
        """The host may not be asked."""
        queue = self._queues[host]
        queue.is_ready = False
        queue.leave_front()

    def is_ready(self, host: int) -> bool:
        """Whether the host may be asked."""
        return self._queues[host].is_ready

    def __len__(self) -> int:
        """Entries in all the heaps, the stale ones too."""
        return len(self._front) + sum(map(len, self._queues))

    def _queue(self, host: int) -> HostQueue:
        queues = self._queues
        while host >= len(queues):
            queues.append(HostQueue(self._eligible))
        return queues[host]

    def _show(self, queue: HostQueue) -> None:
        """Bring the host's best page to the front, if it is ready."""
        best = queue.best() if queue.is_ready else None
        if best is None:
            queue.leave_front()
        elif best != queue.front:
            queue.put_in_front(best)
            self._push(best)

    def _push(self, entry: int) -> None:
        heappush(self._front, entry)
        if len(self._front) > 2 * len(self._queues) + _SLACK:
            self._front = [queue.front for queue in self._queues if queue.front is not None]
            heapify(self._front)
