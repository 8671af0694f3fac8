"""The richest page among the hosts that may be asked now: exact order, bounded memory.

Law: `take` answers with the page of the largest key among the eligible pages of ready hosts.

A host is *ready* until a page of it is taken, and again when it is `resume`d. Each host has a
`HostQueue` of all its pages that wait. The *front* is a heap of the ready hosts by their best
page. So to take a page costs the logarithm of the number of hosts, and a host that must wait costs
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.host_queue import PAGE, EligiblePages, HostQueue

_SLACK = 256
"""Entries that the front may hold beside two a host."""


class ByHost:
    """Picks the richest eligible page of a ready host; of equals the one found first.

    A page is eligible while its flag is that of the pool and it is not on lease. The key of a page
    that waits only grows, and the code that raises it must `offer` the page.
    """

    def __init__(self, eligible: EligiblePages) -> None:
        """Hosts that are known already get their queues now, others with their first page."""
        self._eligible = eligible
        self._queues = [HostQueue(eligible) for _ in range(eligible.count_hosts())]
        self._front: list[int] = []

    def born(self, pages: Iterable[int]) -> None:
        """These pages wait from now on."""
        keys, host_of = self._eligible.keys, self._eligible.host_of
        for page in pages:
            queue = self._queue(host_of[page])
            queue.pages.append(page)
            if (entry := queue.offer(page, keys[page])) is not None:
                self._push(entry)

    def born_many(self, pages: NDArray[np.uint32]) -> None:
        """The same, for pages whose keys take work to find."""
        hosts, keys = self._eligible.hosts_of(pages), self._eligible.keys_of(pages)
        for page, host, key in _rows(pages, hosts, keys):
            queue = self._queue(host)
            queue.pages.append(page)
            if (entry := queue.offer(page, key)) is not None:
                self._push(entry)

    def wait(self, blocks: Iterable[NDArray[np.uint32]]) -> None:
        """Pages by the million, in ascending order, wait from now on."""
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
        """The keys of these pages may have grown."""
        keys, host_of = self._eligible.keys, self._eligible.host_of
        floor_keys, queues = self._eligible.floor_keys, self._queues
        for page in pages:
            host, key = host_of[page], keys[page]
            if key >= floor_keys[host] and (entry := queues[host].offer(page, key)) is not None:
                self._push(entry)

    def offer_many(
        self, pages: NDArray[Any], hosts: NDArray[np.uint32], keys: NDArray[np.int64]
    ) -> None:
        """The same, for many pages of these hosts with these keys."""
        (found,) = (
            keys >= np.frombuffer(self._eligible.floor_keys, dtype=np.int64)[hosts]
        ).nonzero()
        for page, host, key in _rows(pages[found], hosts[found], keys[found]):
            if (entry := self._queues[host].offer(page, key)) is not None:
                self._push(entry)

    def take(self) -> int | None:
        """Lease the richest page and its host; None if no ready host has a page."""
        while self._front:
            page = self._lease(heappop(self._front))
            if page is not None:
                return page
        return None

    def _lease(self, entry: int) -> int | None:
        """Lease the page of an entry and its host; None if it is out of date."""
        page = entry & PAGE
        queue = self._queues[self._eligible.host_of[page]]
        if entry != queue.front:
            return None
        if not self._eligible.is_current(entry):
            self._show(queue)
            return None
        self._eligible.leased.add(page)
        queue.is_ready = False
        queue.leave_front()
        return page

    def hold(self, page: PageId) -> None:
        """Nobody may take the page until it is released."""
        self._eligible.leased.add(page)

    def waiting(self, host: int) -> NDArray[np.uint32]:
        """The pages of a host that wait, those on lease too."""
        return self._queue(host).waiting()

    def release(self, page: PageId) -> None:
        """The lease of the page has ended. Its host stays as it is."""
        self._eligible.leased.discard(page)
        self.offer((page,))

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        queue = self._queue(host)
        if queue.is_ready and queue.front is not None:
            return  # what is in front is the best, or is found to be out of date when it is leased
        queue.is_ready = True
        self._show(queue)

    def pause(self, host: int) -> None:
        """The host may not be asked."""
        queue = self._queues[host]
        queue.is_ready = False
        queue.leave_front()

    def is_ready(self, host: int) -> bool:
        """Whether the host may be asked."""
        return host >= len(self._queues) or self._queues[host].is_ready

    def has_pages(self, host: int) -> bool:
        """Whether a host that may be asked has pages that wait."""
        return host < len(self._queues) and self._queues[host].front is not None

    def precedence(self, host: int) -> float:
        """Pages of hosts with less come first, whatever their keys are: here all are equal."""
        return 0.0

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
        else:
            queue.put_in_front(best)
            self._push(best)

    def _push(self, entry: int) -> None:
        heappush(self._front, entry)
        if len(self._front) > 2 * len(self._queues) + _SLACK:
            self._front = [queue.front for queue in self._queues if queue.front is not None]
            heapify(self._front)


def _rows(
    pages: NDArray[Any], hosts: NDArray[np.uint32], keys: NDArray[np.int64]
) -> Iterator[tuple[int, int, int]]:
    return zip(pages.tolist(), hosts.tolist(), keys.tolist(), strict=True)
