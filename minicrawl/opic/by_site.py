"""The best page of the most important site: `ByHost`, with the hosts in another order.

Laws: `take` answers with the page of the largest key among the eligible pages of those ready hosts
whose site matters most. How much sites matter is looked up anew after 1, 2, 4 pages and so on, and
in the end after every `_MOST` pages, or an eighth as many as there are hosts: it costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.by_host import ByHost
from minicrawl.opic.host_queue import PAGE, EligiblePages

ImportanceOfHosts = Callable[[], NDArray[np.float64]]
"""Answers, for each host, with the importance of its site. It grows with the hosts."""

_MOST = 64


class BySite(ByHost):
    """Picks the richest eligible page of a ready host whose site matters most."""

    def __init__(self, eligible: EligiblePages, importance: ImportanceOfHosts) -> None:
        super().__init__(eligible)
        self._ask_importance = importance
        self._importance = np.zeros(0)
        self._sites: list[tuple[float, int]] = []
        self._left, self._every = 0, 1  # pages until the importance is looked up again

    def take(self) -> int | None:
        """Lease the page and its host; None if no ready host has a page."""
        if not self._left:
            self._look_up()
        while self._sites:
            _, entry = heappop(self._sites)
            page = self._lease(entry)
            if page is not None:
                self._left -= 1
                return page
        return None

    def precedence(self, host: int) -> float:
        """Pages of hosts with less come first, whatever their keys are."""
        importance = self._importance
        return -float(importance[host]) if host < len(importance) else 0.0

    def __len__(self) -> int:
        """Entries in all the heaps, the stale ones too."""
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
        if len(self._sites) > 2 * len(self._queues) + 256:
            self._order_anew()
