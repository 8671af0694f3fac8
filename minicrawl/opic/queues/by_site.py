"""The best page of the most important site: `ByHost` with another order of hosts.

`take` returns the page with the largest key among the eligible pages of those ready hosts whose
site is the most important. The importance of sites is looked up after 1, 2, 4, ... pages, and in
the end every `_MOST` pages or every eighth of the number of hosts, whichever is more: a look-up
costs time in proportion to the hosts.
"""

from collections.abc import Callable
from heapq import heappop

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.queues.by_host import ByHost
from minicrawl.opic.queues.host_queue import PAGE, EligiblePages

ImportanceOfHosts = Callable[[], NDArray[np.float64]]
"""Returns the importance of each host's site. Its length grows with the number of hosts."""

_MOST = 64


class BySite(ByHost):
    """Picks the richest eligible page of the ready host whose site is the most important."""

    def __init__(self, eligible: EligiblePages, importance: ImportanceOfHosts) -> None:
        super().__init__(eligible)
        self._ask_importance = importance
        self._importance = np.zeros(0)
        self._left, self._every = 0, 1  # pages until the next look-up of the importance

    def take(self) -> int | None:
        """Lease and return the best page and its host; None if no ready host has a page."""
        if not self._left:
            self._importance = self._ask_importance()
            self._left = self._every
            self._every = min(2 * self._every, max(_MOST, len(self._queues) >> 3))
            self._order_anew()
        page = super().take()
        self._left -= page is not None
        return page

    def precedence(self, host: int) -> float:
        """Return the rank of the host: lower ones come first, whatever the keys of pages."""
        importance = self._importance
        return -float(importance[host]) if host < len(importance) else 0.0

    def _pop(self) -> int:
        return int(heappop(self._front)[1])

    def _ranked(self, entry: int) -> tuple[float, int]:
        return self.precedence(self._eligible.host_of[entry & PAGE]), entry
