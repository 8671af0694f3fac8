"""Leases: the pages whose turn it is, among those whose hosts may be asked.

Laws: the next page is the richest one whose host may be asked now; in an order by sites, the
richest one of the most important site of such hosts. A lease is given back, or it ends.

Unread pages never compete with pages that were read before. The two share the fetches as the user
wants: those of the crawl, and those of each host that has both. Where all hosts with pages of the
pool that is due are busy, the other pool waits for them: else the share would be that of the hosts.
Where time limits the crawl rather than pages, it waits for a quarter of a second, or one slow host
with unread pages would make the crawl idle. A host that failed is not waited for. The best page to
read again has the next turn of its host.

lease    a page whose turn it is, and its host for as long
balance  Fetches that reading again is owed; less than 0 if it had more than its share. It is that
         of the crawl, or of one host. A fetch does not count where the other pool had no page: a
         pool may be empty for long. Example with a share of 1/2: an unread page raises the balance
         by 1/2, a page that is read again lowers it by 1/2; from 1/2 on a host reads a page again,
         from -1/2 on it may.

Why hosts have balances: small hosts that have nothing unread read nothing but known pages. These
alone may be more than the share of the crawl, and then no other host would read a page again. So
each host has the share. Hosts without unread pages read the best page of all, and what is owed. For
this up to `_PART` of the shares of other hosts is taken.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import inf
from typing import NamedTuple

from minicrawl.config import Settings
from minicrawl.crawl.schedule.orders import ORDERS, best_site_first
from minicrawl.crawl.schedule.refresh import RefreshScheduler, worth_of
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import PageId
from minicrawl.opic.order import ImportanceOfHosts
from minicrawl.ports import Clock

_PATIENCE_S = 0.25
"""How long one pool waits for the other where no number of pages or bytes limits the crawl."""
_MOST_OWED = 16.0
_PART = 0.15
"""Hosts with unread pages give this part of their share to others while the crawl has read too many
pages again by `_MOST_OWED` times the share, and get as much more while it has read too few.
"""
_TINY = 1e-6


class Lease(NamedTuple):
    """A page whose turn it is."""

    page: PageId
    host: int
    url: str
    again: bool  # it was read before
    counts: bool = True  # towards the shares; not where no page of the other pool was to be had


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
        self._share = settings.order.refresh
        self._balance = 0.0
        self._balance_of: defaultdict[int, float] = defaultdict(float)
        self._busy_again: set[int] = set()
        """Hosts that a page was asked for again and that may soon be asked for the next one."""
        self._busy_unread: set[int] = set()
        """Hosts with unread pages that may soon be asked for the next one."""
        budget, order = settings.budget, settings.order
        fetches = budget.pages, budget.new_pages, budget.body_bytes
        self._patience_s = _PATIENCE_S if fetches == (None, None, None) else inf
        self._waits_since: float | None = None  # a pool for the other one, whose share is due
        self.queue = (
            best_site_first(frontier, order.strategy, importance_of_sites)
            if order.order_by == "site"
            else ORDERS[order.strategy](frontier)
        )
        self.admits: Callable[[PageId], bool] | None = None
        """Asked of the next unread page; if it may not be read now, neither may those behind it."""
        self.refresh = RefreshScheduler(
            frontier.urls.host_of,
            worth_of(order.strategy),
            frontier.ledger.cash_of,
            clock.today,
            endless=budget.continuous,
        )

    @property
    def reads_again(self) -> bool:
        """Whether pages that were read before get a share of the fetches."""
        return self._share > 0

    @property
    def waits_until(self) -> float | None:
        """When a pool that waits for the other one has waited long enough, if that is to come."""
        since = self._waits_since
        return None if since is None or self._is_impatient(since) else since + self._patience_s

    def restore(self) -> None:
        """Load the pages that wait when the crawl begins."""
        self.queue.load()
        if self._share:
            for document in self._recorder.pages.documents():
                self.refresh.saw(document)

    def resume(self, host: int) -> None:
        """The host may be asked again."""
        self.queue.resume(host)
        if self._share:
            self._busy_again.discard(host)
            self._busy_unread.discard(host)
            self.refresh.look_again(host)

    def next(self) -> Lease | None:
        """Lease a page of the pool whose share is due, or else one of the other pool."""
        if self._share:
            return self._next_of_both()
        page = self._unread()
        return None if page is None else self._lease(page, again=False)

    def grant(self, lease: Lease) -> None:
        """The page is asked for: that counts towards the share of its pool."""
        if not self._share:
            return
        owed = min(max(self._balance / (_MOST_OWED * self._share), -1.0), 1.0)
        share_of_host = self._share * (1 + _PART * owed)
        of_host = self._balance_of[lease.host] + share_of_host - lease.again
        self._balance_of[lease.host] = min(max(of_host, -1.0), 1.0)
        if lease.counts:
            self._balance += self._share - lease.again
        if lease.again:
            self._busy_again.add(lease.host)

    def give_back(self, lease: Lease) -> None:
        """The turn of the page has not ended: it waits again."""
        self._busy_again.discard(lease.host)
        self._busy_unread.discard(lease.host)
        if lease.again:
            self.refresh.give_back(lease.page)
        else:
            self.queue.release(lease.page)

    def end(self, lease: Lease) -> None:
        """The turn of the page has ended. It may be read again, if the user wants that."""
        if not self._share:
            return
        document = self._recorder.pages.document(lease.page)
        if document is not None:
            self.refresh.saw(document, just_now=True)
        if lease.again:
            self.refresh.release(lease.page)

    def has_more(self, parked: int) -> bool:
        """Whether pages wait that are not parked."""
        return self._frontier.ledger.unread > parked or self.refresh.has_more()

    def _unread(self) -> int | None:
        """Lease the next unread page."""
        page = self.queue.take()
        if page is not None and self.admits is not None and not self.admits(page):
            self.queue.release(page)
            self.queue.resume(self._frontier.urls.host_of[page])
            return None
        return page

    # ------------------------------------------------------------ two pools

    def _next_of_both(self) -> Lease | None:
        host = self._host_of_best()
        counts = self.refresh.has_more()
        if host is None and self._balance > _TINY - self._share:
            host = self._next_host()
            if host is None and self._busy_again and counts and self._waits():
                return None
            counts = host is not None
        if host is not None:
            return self._lease_again(host)
        page = self._unread()
        if page is not None:
            return self._lease_due(page, counts=counts)
        if self._busy_unread and self._frontier.ledger.unread and self._waits():
            return None
        host = self.refresh.next_host(self.queue.is_ready)
        return None if host is None else self._lease_again(host, counts=False)

    def _waits(self) -> bool:
        """Whether the pool that is not due waits a little longer for the other one."""
        if self._waits_since is None:
            self._waits_since = self._clock.now()
        return not self._is_impatient(self._waits_since)

    def _is_impatient(self, since: float) -> bool:
        return self._clock.now() >= since + self._patience_s

    def _host_of_best(self) -> int | None:
        """The host of the best page of all to read again, if that is its turn now."""
        if self._balance < _TINY - _MOST_OWED * self._share:
            return None
        while (host := self.refresh.best_host()) is not None:
            if self.queue.is_ready(host):
                if self._may_read_again(host):
                    return host
            elif host in self._busy_again or host in self._busy_unread:
                return None
            self.refresh.leave(host)
        return None

    def _next_host(self) -> int | None:
        """The host with the best page of those that may read a page again now."""
        while (host := self.refresh.next_host(self.queue.is_ready)) is not None:
            if self._may_read_again(host):
                return host
        return None

    def _may_read_again(self, host: int) -> bool:
        """Whether the host has nothing unread, or is not ahead by a page."""
        return self._balance_of[host] > -self._share - _TINY or not self.queue.has_pages(host)

    def _lease_due(self, unread: PageId, *, counts: bool) -> Lease:
        """Lease a page of the host of an unread page that is leased: of the pool that is due."""
        host = self._frontier.urls.host_of[unread]
        self._busy_unread.add(host)
        if self._balance_of[host] > 1 - self._share - _TINY:
            page = self.refresh.take_of(host)
            if page is not None:
                self.queue.release(unread)
                return self._lease(page, again=True)
        return self._lease(unread, again=False, counts=counts)

    def _lease_again(self, host: int, *, counts: bool = True) -> Lease:
        """Lease the host's best page to read again."""
        if self.queue.has_pages(host):
            self._busy_unread.add(host)
        self.queue.pause(host)
        page = self.refresh.take_of(host)
        assert page is not None, "the host was in order"
        return self._lease(page, again=True, counts=counts)

    def _lease(self, page: PageId, *, again: bool, counts: bool = True) -> Lease:
        if counts:
            self._waits_since = None
        host, url = self._frontier.urls.host_of[page], self._recorder.pages.url_of(page)
        return Lease(page, host, url, again, counts)
