"""Chooses the page to read again: the best one by the strategy of the crawl.

Laws: the order of reading again follows the strategy. For any host that may be contacted, its best
page as of now is found: a page that is given cash moves up at once, as an unread page does.

worth   the value that the strategy orders pages by, see `worth`
listed  among the best waiting pages of its host, see `watched_pages`. An empty list is made anew.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import inf

import numpy as np

from minicrawl.crawl.schedule.watched_pages import WatchedPages, most_listed
from minicrawl.crawl.schedule.worth import CashOf, Worth
from minicrawl.model import PageId, StatedChanges
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.store.records import DocumentRow

_AT_ONCE = 1000
"""Number of hosts that enter the order at once: after a start there are many."""
_SLACK = 64
"""Number of entries, beyond four times the needed ones, after which a heap is made anew."""
_LISTED_A_TURN = 64
"""Number of waiting pages that may be listed anew for each turn, host by host."""
_LOOK_AT, _LOOK_S = 16, 0.05
"""Number of plans, or time since the last look, after which payments are looked at."""
_ROTATION, _HOUR_S = 11, 3600.0
"""A run that begins in the hour of a page, one in this many, does not leave the page out. A prime:
with 12, a run every 24 hours would always come to the same pages.
"""


class RefreshScheduler:
    """Chooses the page to read again next.

    A host that may not be contacted leaves the order when its turn comes. It returns when the
    caller reports that it may be contacted.
    """

    def __init__(
        self,
        host_of: Sequence[int],
        worth: Worth,
        cash: CashOf,
        today: Callable[[], float],
        *,
        endless: bool,
        mean_cash: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """Set up; `mean_cash` returns the cash that the average page holds.

        Each page is read again once in a run; in an endless run, as often as time allows.
        """
        self._host_of, self._today, self._endless = host_of, today, endless
        self.watched = WatchedPages(worth, cash, mean_cash, today())
        self._lists: dict[int, list[tuple[float, int]]] = {}
        self._floors = array("d")  # worth of each host's worst listed page when its list was made
        self._best: dict[int, float] = {}  # worth of each listed host's best page
        self._order: list[tuple[float, int]] = []  # heap of available hosts, best page first
        self._of_all: list[tuple[float, int]] = []  # heap of all hosts, best page first
        self._coming: dict[int, None] = {}  # hosts that may belong in the order
        self._paid, self._plans, self._looked_at = array("I"), 0, 0.0
        self._rotation: deque[int] = deque()  # hosts, the next one to be listed anew first
        self._credit = 0
        self._began_at = today()
        self.sitemap_records = self.watched.hints.unchanged
        """How often the sitemap of each host was right about pages that have not changed."""
        self.left_out = 0
        """Number of pages that are not read in this run, as their host vouches for them."""

    def __contains__(self, page: PageId) -> bool:
        return page in self.watched

    def saw(self, document: DocumentRow, *, just_now: bool = False) -> None:
        """Note that the page was read, for the first time or again.

        In a run that ends, pages read for the first time `just_now` are left to the next run.
        """
        if document.page in self.watched:
            self.watched.update(document)
            return
        host, waits = self._host_of[document.page], self._endless or not just_now
        if host not in self._lists:
            self._lists[host] = []
            self._rotation.append(host)
        self.watched.add(document, host, waits=waits)
        while host >= len(self._floors):
            self._floors.append(inf)
        if waits:
            self.look_again(host)

    def hear(self, page_of: Mapping[str, int], changed: StatedChanges) -> None:
        """Note when pages last changed, by a sitemap or a feed."""
        self.stated((page_of[url], stated_at) for url, stated_at in changed if url in page_of)

    def stated(self, changed: Iterable[tuple[PageId, float]]) -> None:
        """Note when pages last changed, as their hosts state."""
        now = self._today()
        for page, stated_at in changed:
            if self.watched.stated(page, stated_at, now):
                self._paid.append(page)  # its worth has changed, as if it had been paid
        self._plans += 1

    def posted(self, plans: Iterable[Plan]) -> None:
        """Note the pages of plans: they were paid, or spent their cash."""
        for plan in plans:
            self._paid.extend(plan.links)
            self._paid.extend([page for page, _ in plan.extras])
            self._paid.append(plan.page)
            self._plans += 1

    def release(self, page: PageId) -> None:
        """End the turn of the page."""
        if self._endless:
            self.watched.set_waits(page, 1)
            self.look_again(self._host_of[page])

    def give_back(self, page: PageId) -> None:
        """End the lease of a page that was not requested: it waits again, and is the next one."""
        host = self._host_of[page]
        self.watched.put_first(page)
        heappush(self._lists[host], (-inf, page))
        self.look_again(host)

    def has_more(self) -> bool:
        """Return whether pages wait for their turn."""
        return self.watched.waiting > 0

    def look_again(self, host: int) -> None:
        """Reconsider the host, which may be contacted."""
        self._coming[host] = None

    def best_host(self) -> int | None:
        """Return the host with the best page of all hosts, whether it may be contacted or not."""
        self._look()
        while self._of_all and self._is_outdated(self._of_all[0]):
            heappop(self._of_all)
        return self._of_all[0][1] if self._of_all else None

    def leave(self, host: int) -> None:
        """Pass over the best host of all until it may be contacted."""
        assert self._of_all[0][1] == host
        heappop(self._of_all)

    def next_host(self, may_be_asked: Callable[[int], bool]) -> int | None:
        """Remove and return the host with the best page, among those that may be contacted."""
        while True:
            self._look()
            while self._order:
                entry = heappop(self._order)
                if not self._is_outdated(entry) and may_be_asked(entry[1]):
                    return entry[1]
            if not self._coming:
                return None

    def take_of(self, host: int) -> int | None:
        """Lease the host's best page; None if it has no waiting page."""
        if self._list(host) is None:
            return None
        _, page = heappop(self._lists[host])
        self.watched.set_waits(page, 0)
        self._show(host)
        # List the next host anew, if there were enough turns since the last one. Pages that are not
        # paid become worth more as well: they age, and the virtual page pays them.
        self._credit += _LISTED_A_TURN
        first = self._rotation[0]
        waiting = self.watched.waiting_of(first)
        if waiting <= self._credit:
            self._credit = min(self._credit - waiting, _LISTED_A_TURN)
            self._rotation.rotate(-1)
            self._lists[first] = []
            self._show(first)
        return page

    def _is_outdated(self, entry: tuple[float, int]) -> bool:
        return self._best.get(entry[1]) != -entry[0]

    def _look(self) -> None:
        """Update the order of hosts by what has happened since the last look."""
        now = self._today()
        if self._plans >= _LOOK_AT or (self._plans and abs(now - self._looked_at) >= _LOOK_S):
            paid, self._paid = np.unique(np.frombuffer(self._paid, dtype=np.uint32)), array("I")
            self._plans, self._looked_at = 0, now
            changed = set()
            for host, page, worth in self.watched.list_paid(paid, self._floors, now):
                heappush(self._lists[host], (-worth, page))
                changed.add(host)
            for host in changed:
                self._show(host)
        for _ in range(min(_AT_ONCE, len(self._coming))):
            self._show(self._coming.popitem()[0])

    def _show(self, host: int) -> None:
        best = self._list(host)
        if best is None:
            self._best.pop(host, None)
            return
        self._best[host] = best
        heappush(self._order, (-best, host))
        heappush(self._of_all, (-best, host))
        self._order = self._tidied(self._order)
        self._of_all = self._tidied(self._of_all)

    def _tidied(self, order: list[tuple[float, int]]) -> list[tuple[float, int]]:
        if len(order) <= 4 * len(self._best) + _SLACK:
            return order
        order = [(-best, host) for host, best in self._best.items()]
        heapify(order)
        return order

    def _list(self, host: int) -> float | None:
        """Return the worth of the host's best waiting page, making its list anew if needed."""
        while waiting := self.watched.waiting_of(host):
            listed = self._lists[host]
            while listed and not self.watched.is_listed(-listed[0][0], listed[0][1]):
                heappop(listed)
            if not listed or len(listed) > 4 * most_listed(waiting) + _SLACK:
                self._lists[host] = listed = self.watched.best_of(host, self._today())
                self._floors[host] = -inf if len(listed) == waiting else -listed[-1][0]
            page = listed[0][1]
            # Each page has an hour in which it is read, by its number: so lies are found out, and
            # no page is left out for ever, unless the runs begin a multiple of `_ROTATION` hours
            # apart.
            is_its_turn = (page + int(self._began_at // _HOUR_S)) % _ROTATION == 0
            is_read = self._endless or is_its_turn
            if is_read or not self.watched.leaves_out(page, self._began_at):
                return -listed[0][0]
            self.watched.set_waits(page, 0)
            self.left_out += 1
        return None
