"""Leases: the pages whose turn it is, among those whose hosts may be asked.

Laws: the next page is the richest one whose host may be asked now; in an order by sites, the
richest one of the most important site of such hosts. Unread pages never compete with pages that
were read before: the two share the fetches as the user wants. Where the hosts of pages to read
again are busy, unread pages of other hosts wait for these: else the share would be that of the
hosts. A host that failed is not waited for. A lease is given back, or it ends.

lease   a page whose turn it is, and its host for as long
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from minicrawl.config import Settings
from minicrawl.crawl.schedule.orders import ORDERS, best_site_first
from minicrawl.crawl.schedule.refresh import RefreshScheduler
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import PageId
from minicrawl.opic.by_site import ImportanceOfHosts
from minicrawl.ports import Clock


class Lease(NamedTuple):
    """A page whose turn it is."""

    page: PageId
    host: int
    url: str
    again: bool  # it was read before


class LeaseScheduler:
    """Two pools: the pages that wait to be read, and those that wait to be read again."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        clock: Clock,
        importance_of_sites: ImportanceOfHosts,
    ) -> None:
        """`importance_of_sites` answers, for each host, with that of its site."""
        frontier = recorder.frontier
        self._recorder, self._frontier, self._clock = recorder, frontier, clock
        self._share_again = settings.order.refresh
        self._granted = self._granted_again = 0
        self._busy_again: set[int] = set()
        """Hosts that a page was asked for again and that may soon be asked for the next one."""
        order = settings.order
        self.queue = (
            best_site_first(frontier, order.strategy, importance_of_sites)
            if order.order_by == "site"
            else ORDERS[order.strategy](frontier)
        )
        self.admits: Callable[[PageId], bool] | None = None
        """Asked of the next unread page; if it may not be read now, neither may those behind it."""
        self.refresh = RefreshScheduler(frontier.urls.host_of, endless=settings.budget.continuous)

    def restore(self) -> None:
        """Load the pages that wait when the crawl begins."""
        self.queue.load()
        if self._share_again:
            for document in self._recorder.pages.documents():
                self.refresh.saw(document)

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        self.queue.resume(host)
        self._busy_again.discard(host)
        if self._share_again:
            self.refresh.look_again(host)

    def next(self) -> Lease | None:
        """Lease a page of the pool whose share is due, or else one of the other pool."""
        if self._granted_again < self._share_again * (self._granted + 1):
            lease = self._next_read()
            if lease is None and self._busy_again and self.refresh.has_more():
                return None
            return lease or self._next_unread()
        return self._next_unread() or (self._next_read() if self._share_again else None)

    def grant(self, lease: Lease) -> None:
        """The page is asked for: that counts towards the share of its pool."""
        self._granted += 1
        self._granted_again += lease.again
        if lease.again:
            self._busy_again.add(lease.host)

    def give_back(self, lease: Lease) -> None:
        """The turn of the page has not ended: it waits again."""
        if lease.again:
            self._busy_again.discard(lease.host)
            self.refresh.give_back(lease.page)
        else:
            self.queue.release(lease.page)

    def end(self, lease: Lease) -> None:
        """The turn of the page has ended. It may be read again, if the user wants that."""
        if not self._share_again:
            return
        document = self._recorder.pages.document(lease.page)
        if document is not None:
            self.refresh.saw(document, just_now=True)
        if lease.again:
            self.refresh.release(lease.page)

    def has_more(self, parked: int) -> bool:
        """Whether pages wait that are not parked."""
        return self._frontier.ledger.unread > parked or self.refresh.has_more()

    def _next_unread(self) -> Lease | None:
        page = self.queue.take()
        if page is not None and self.admits is not None and not self.admits(page):
            self.queue.release(page)
            self.queue.resume(self._frontier.urls.host_of[page])
            return None
        return None if page is None else self._lease(page, again=False)

    def _next_read(self) -> Lease | None:
        ledger, today = self._frontier.ledger, self._clock.today()
        page = self.refresh.take(self.queue.is_ready, ledger.cash_of, today)
        if page is None:
            return None
        self.queue.pause(self._frontier.urls.host_of[page])
        return self._lease(page, again=True)

    def _lease(self, page: PageId, *, again: bool) -> Lease:
        return Lease(
            page, self._frontier.urls.host_of[page], self._recorder.pages.url_of(page), again
        )
