"""The richest page among the ready hosts: exact order, bounded memory.

A resumed crawl knows many hosts, and few of them have a turn soon. A queue takes 200 bytes beside
its pages, so a host has none before something happens to it: one column has the pages of all these
hosts, another one the richest page of each.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.queues.host_queue import LOWEST, PAGE, EligiblePages, HostQueue

_SLACK = 256
"""Most entries in the front beyond two for each host."""


class ByHost:
    """Picks the richest eligible page of a ready host; ties go to the page found first.

    A page is eligible if its flag is that of the pool and it is not on lease. The key of a waiting
    page only grows, and code that raises it must `offer` the page.
    """

    def __init__(self, eligible: EligiblePages) -> None:
        self._eligible = eligible
        self._queues: list[HostQueue | None] = []
        self._loaded, self._ends = np.empty(0, dtype=np.uint32), array("I", (0,))
        """Pages that waited at first, by host, and where those of each host end."""
        self._richest = array("I")
        """Richest of these pages of each host; its key is that of the host's floor."""
        self._extend(eligible.count_hosts())
        self._front: list[Any] = []
        self._has_room: Callable[[int], bool] = lambda _: True

    def enqueue(self, pages: Iterable[int]) -> None:
        keys, host_of = self._eligible.keys, self._eligible.host_of
        for page in pages:
            self._queue(host_of[page]).pages.append(page)
            self.offer_one(page, host_of[page], keys[page])

    def enqueue_blocks(self, blocks: Iterable[NDArray[np.uint32]]) -> None:
        """Enqueue the first pages, in large blocks and in ascending order; none is on lease."""
        eligible, waiting = self._eligible, list[NDArray[np.uint32]]()
        self._extend(eligible.count_hosts())
        most = np.full(len(self._queues), LOWEST)
        richest, counts = np.zeros((2, len(most)), dtype=np.int64)
        for block in blocks:
            hosts, keys, before = eligible.hosts_of(block), eligible.keys_of(block), most.copy()
            np.maximum.at(most, hosts, keys)
            (best,) = ((keys == most[hosts]) & (keys > before[hosts])).nonzero()
            # Backwards: of equals the last one written stays, and that must be the first page.
            richest[hosts[best[::-1]]] = block[best[::-1]]
            counts += np.bincount(hosts, minlength=len(most))
            waiting.append(block)
        self._richest.frombytes(richest.astype(np.uint32).tobytes())
        eligible.floor_keys[:] = array("q", most.tobytes())
        self._loaded, self._ends = self._by_host(waiting, counts), _ends_of(counts)
        are_large = np.array(
            [eligible.is_large(count) for count in counts.tolist()], dtype=np.bool_
        )
        for host in are_large.nonzero()[0].tolist():
            queue = self._queue(host)
            queue.set_front(queue.best())
        self._loaded = self._loaded[~are_large.repeat(counts)]
        self._ends = _ends_of(np.where(are_large, 0, counts))
        self._order_anew()

    def _by_host(
        self, blocks: Iterable[NDArray[np.uint32]], counts: NDArray[np.int64]
    ) -> NDArray[np.uint32]:
        """Return the pages of all blocks by host, which has that many; block by block."""
        pages = np.empty(counts.sum(), dtype=np.uint32)
        places = np.cumsum(counts) - counts
        for block in blocks:
            hosts = self._eligible.hosts_of(block)
            order = np.argsort(hosts, kind="stable")
            hosts = hosts[order]
            (firsts,) = np.diff(hosts, prepend=-1).nonzero()
            sizes = np.diff(firsts, append=len(hosts))
            within = np.arange(len(hosts)) - firsts.repeat(sizes)
            pages[places[hosts] + within] = block[order]
            places[hosts[firsts]] += sizes
        return pages

    def look_again(self) -> None:
        """Let every host look for its best page again, as keys may have fallen."""
        for queue in map(self._queue, range(len(self._queues))):
            queue.forget_candidates()
            self._show(queue)

    def offer(self, pages: Iterable[int]) -> None:
        """Update pages whose keys may have grown."""
        keys, host_of = self._eligible.keys, self._eligible.host_of
        floor_keys = self._eligible.floor_keys
        for page in pages:
            host, key = host_of[page], keys[page]
            if key >= floor_keys[host]:
                self.offer_one(page, host, key)

    def offer_one(self, page: PageId, host: int, key: int) -> None:
        """Update a page of this host that has this key now."""
        if (
            key >= self._eligible.floor_keys[host]
            and (entry := self._queue(host).offer(page, key)) is not None
        ):
            self._push(entry)

    def offer_many(
        self, pages: NDArray[Any], hosts: NDArray[np.uint32], keys: NDArray[np.int64]
    ) -> None:
        """Vectorised `offer`, with the hosts and keys of the pages."""
        (above,) = (
            keys >= np.frombuffer(self._eligible.floor_keys, dtype=np.int64)[hosts]
        ).nonzero()
        rows = zip(pages[above].tolist(), hosts[above].tolist(), keys[above].tolist(), strict=True)
        for page, host, key in rows:
            self.offer_one(page, host, key)

    def take(self) -> int | None:
        """Lease and return the richest page and its host; None if no ready host has a page."""
        while self._front:
            entry = self._pop()
            queue = self._queue(self._eligible.host_of[entry & PAGE])
            # Each host has one valid entry, its front; every other entry of its pages is an old
            # front.
            if entry == queue.front:
                if self._eligible.renewed(entry) != entry:
                    self._show(queue)
                else:
                    self._pause(queue)
                    if self._has_room(queue.host):
                        self._eligible.leased.add(entry & PAGE)
                        return entry & PAGE
        return None

    def limit(self, has_room: Callable[[int], bool]) -> None:
        """Let `take` pass over hosts without room for a request; they are not ready any more."""
        self._has_room = has_room

    def items(self, host: int) -> Sequence[int]:
        """Return the pages in the queue of a host, some of which may have left the pool."""
        return self._queue(host).pages

    def waiting(self, host: int) -> NDArray[np.uint32]:
        """Return the waiting pages of a host, those on lease included."""
        return self._queue(host).waiting()

    def release(self, page: PageId) -> None:
        """End the page's lease. The state of its host does not change."""
        eligible = self._eligible
        eligible.leased.discard(page)
        self.offer_one(page, eligible.host_of[page], eligible.keys[page])

    def resume(self, host: int) -> None:
        queue = self._queue(host)
        if queue.is_ready and queue.front is not None:
            return  # its front is the best entry, or is found out of date when leased
        queue.is_ready = True
        self._show(queue)

    def pause(self, host: int) -> None:
        self._pause(self._queue(host))

    def _pause(self, queue: HostQueue) -> None:
        queue.is_ready = False
        queue.set_front(None)

    def is_ready(self, host: int) -> bool:
        queue = self._queues[host] if host < len(self._queues) else None
        return queue is None or queue.is_ready

    def has_pages(self, host: int) -> bool:
        """Return True if a ready host has waiting pages."""
        return host < len(self._queues) and self._front_of(host) is not None

    def precedence(self, host: int) -> float:
        """Return the rank of the host among hosts, lowest first: 0, as only keys of pages count."""
        return 0.0

    def __len__(self) -> int:
        """Return the number of entries in all heaps, stale ones included."""
        return len(self._front) + sum(map(len, filter(None, self._queues)))

    def _queue(self, host: int) -> HostQueue:
        """Return the queue of a host, made when it is first needed."""
        if host >= len(self._queues):
            self._extend(host + 1)
        queue = self._queues[host]
        if queue is None:
            front, pages = self._front_of(host), b""
            if host < len(self._richest):
                pages = self._loaded[self._ends[host] : self._ends[host + 1]].tobytes()
            queue = self._queues[host] = HostQueue(self._eligible, host, pages)
            queue.set_front(front)
        return queue

    def _extend(self, hosts: int) -> None:
        missing = hosts - len(self._queues)
        self._queues.extend(repeat(None, missing))
        self._eligible.floor_keys.extend(repeat(LOWEST, missing))

    def _front_of(self, host: int) -> int | None:
        if (queue := self._queues[host]) is not None:
            return queue.front
        key = self._eligible.floor_keys[host]
        return self._richest[host] - (key << 32) if key > LOWEST else None

    def _show(self, queue: HostQueue) -> None:
        """Put the best page of a ready host in the front."""
        best = queue.best() if queue.is_ready else None
        queue.set_front(best)
        if best is not None:
            self._push(best)

    def _push(self, entry: int) -> None:
        # Old entries are dropped all at once: finding one of them would take a scan of the heap.
        heappush(self._front, self._ranked(entry))
        if len(self._front) > 2 * len(self._queues) + _SLACK:
            self._order_anew()

    def _order_anew(self) -> None:
        fronts = map(self._front_of, range(len(self._queues)))
        self._front = [self._ranked(entry) for entry in fronts if entry is not None]
        heapify(self._front)

    def _pop(self) -> int:
        return int(heappop(self._front))

    def _ranked(self, entry: int) -> Any:
        """Return the entry as it stands in the front."""
        return entry


def _ends_of(counts: NDArray[np.int64]) -> array[int]:
    """Return where the pages of each host end, behind a 0 where those of the first begin."""
    return array("I", np.append(0, np.cumsum(counts)).astype(np.uint32).tobytes())
