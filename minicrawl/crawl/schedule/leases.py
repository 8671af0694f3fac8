"""Leases: choose the page that has the next turn, from two pools.

One pool has the unread pages, the other the pages that were read and are due to be read again. The
user's `--refresh` share says which part of the fetches the second pool gets. The pools never
compete by cash: a balance decides which pool is due, and the pool's own order decides on the page.

A balance counts the fetches that reading again is owed, negative when it is ahead. With a share of
1/2, an unread page raises it by 1/2 and a page read again lowers it by 1/2. For one host:

    fetch        balance   next fetch of the host
    -              0       from either pool
    a, again     -1/2      from either pool
    b, again     -1        unread, as the host is a page ahead
    c, unread    -1/2      from either pool
    d, unread      0       from either pool
    e, unread    +1/2      again, as it is due

Each host has a balance, and the crawl has one. A single balance was rejected: small hosts without
unread pages read nothing but known ones, and could use up the whole share by themselves, so that no
other host would read a page again. So the share applies to each host that has pages in both pools.
Hosts without unread pages read the best pages of all, within the balance of the crawl; to settle
that, up to `_PART` of the share of the other hosts is taken or added.

A fetch does not count if the other pool had no page at all: that pool may stay empty for long.

If a pool is due but its hosts are busy, the other pool waits, else the faster hosts would decide on
the share. Where time limits the crawl rather than pages or bytes, it waits for `_PATIENCE_S` only,
else one slow host with unread pages would idle the crawl. A failing host is not waited for. The
best page to read again has the next turn of its host.

Laws: the next page is the richest one whose host may be contacted now; in an order by sites, the
richest one of the most important such site. A lease is given back, or it ends.

lease    right of a page, and with it its host, to a turn
balance  fetches that reading again is owed, of the crawl or of a host
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple

import numpy as np

from minicrawl.config import Settings
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.dead_targets import DEAD, HOUR_S, DeadTargets, due_targets
from minicrawl.crawl.schedule.orders import queue_of
from minicrawl.crawl.schedule.refresh import RefreshScheduler
from minicrawl.crawl.schedule.worth import worth_of
from minicrawl.model import PageId
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.queues.by_site import ImportanceOfHosts
from minicrawl.ports import Clock
from minicrawl.states import State
from minicrawl.store.records import DocumentRow
from minicrawl.store.tables import LEFT_OUT, SITEMAP_RECORDS

_PATIENCE_S = 0.25
"""Time that one pool waits for the other where neither pages nor bytes limit the crawl."""
_MOST_OWED = 16.0
_PART = 0.15
"""Largest part by which the share of hosts with unread pages shrinks while the crawl is ahead with
reading again, or grows while it is behind; reached at `_MOST_OWED` times the share.
"""
_TINY = 1e-6


class Lease(NamedTuple):
    """Right of a page to a turn."""

    page: PageId
    host_id: int
    url: str
    again: bool  # read before
    counts: bool = True  # towards the balance of the crawl; False if the other pool had no page


class LeaseScheduler:
    """Two pools of waiting pages: unread ones, and ones to be read again."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        clock: Clock,
        importance_of_sites: ImportanceOfHosts,
    ) -> None:
        """Set up; `importance_of_sites` returns, for each host, the importance of its site."""
        frontier = recorder.frontier
        self._recorder, self._frontier, self._clock = recorder, frontier, clock
        self._share, self._watch = settings.order.refresh, settings.order.watch
        self.reads_again = self._share > 0
        """True if pages that were read before get a share of the fetches."""
        self._balance = 0.0
        self._balance_of: defaultdict[int, float] = defaultdict(float)
        self._busy_again: set[int] = set()
        """Hosts whose last request read a page again, and that may soon be contacted again."""
        self._busy_unread: set[int] = set()
        """Hosts with unread pages that may soon be contacted again."""
        budget, order = settings.budget, settings.order
        fetches = budget.pages, budget.new_pages, budget.body_bytes
        self._patience_s = _PATIENCE_S if fetches == (None, None, None) else inf
        self._waits_since: float | None = None  # start of a pool's wait for the other
        self.queue = queue_of(
            frontier,
            order.strategy,
            importance_of_sites if order.order_by == "site" else None,
            order.score_weight if recorder.by_value else 0.0,
        )
        self.admits: Callable[[PageId], bool] | None = None
        """Tells whether the next unread page may be read now.

        If not, the pages behind it wait, too.
        """
        self.refresh = RefreshScheduler(
            frontier.urls.host_of,
            worth_of(order.strategy),
            frontier.ledger.cash_of,
            clock.today,
            endless=budget.continuous,
            mean_cash=lambda: frontier.ledger.minted / UNIT / max(len(frontier), 1),
        )

        self._dead = DeadTargets(frontier.urls.host_of)
        self._due: Iterator[list[PageId]] = iter(())
        self._looked_at = clock.today()

    @property
    def waits_until(self) -> float | None:
        """Moment when a pool has waited long enough for the other; None if no pool waits."""
        since = self._waits_since
        return None if since is None or self._is_impatient(since) else since + self._patience_s

    def restore(self) -> None:
        """Load the pages that wait when the crawl begins."""
        self.queue.load()
        if self._share:
            pings = self._recorder.kept_pings()
            for document in self._recorder.pages.documents():
                state = self._frontier.state[document.page]
                if state == State.UNREAD or state in DEAD:  # it has another turn
                    continue
                if self._watch and not self._is_due(document):
                    continue
                self.refresh.saw(document)
                if document.last_at < (changed_at := pings.get(document.page, 0.0)):
                    self.refresh.stated([(document.page, changed_at)])
            self.refresh.sitemap_records.restore(self._recorder.counters.get(SITEMAP_RECORDS))

            for pages in due_targets(self._recorder, self._clock.today()):
                self._dead.add(page for page in pages if page not in self.refresh)

    def _is_due(self, document: DocumentRow) -> bool:
        """Return whether a watched page was read so long ago that it is to be read again.

        A clock turned back counts as time passed.
        """
        url = self._recorder.pages.url_of(document.page)
        age_s = abs(self._clock.today() - document.last_at)
        return any(
            pattern == url
            or (re.fullmatch if pattern.startswith("http") else re.search)(pattern, url)
            for pattern, interval_s in self._watch
            if age_s >= interval_s
        )

    def look_for_dead(self) -> None:
        """Once an hour, let the dead targets wait that are due by now, block by block."""
        today = self._clock.today()
        if abs(today - self._looked_at) >= HOUR_S:
            self._looked_at, self._due = today, due_targets(self._recorder, today, HOUR_S)
        self._dead.add(page for page in next(self._due, ()) if page not in self.refresh)

    def has_dead(self) -> bool:
        """Return whether any known page is a dead target."""
        return bool(np.isin(self._frontier.states(), DEAD).any())

    def next_look(self, now: float) -> float:
        """Return the moment of the next look for dead targets that are due."""
        return now + max(0.0, HOUR_S - abs(self._clock.today() - self._looked_at))

    def save(self) -> None:
        """Store the records of sitemaps for the next run, and the number of pages left out."""
        if self._share:
            counters = self._recorder.counters
            counters[SITEMAP_RECORDS] = self.refresh.sitemap_records.kept()
            counters[LEFT_OUT] = self.refresh.left_out

    def resume(self, host: int) -> None:
        """Make the host available, as it may be contacted again."""
        self.queue.resume(host)
        if self._share:
            self._busy_again.discard(host)
            self._busy_unread.discard(host)
            self.refresh.look_again(host)
            self._dead.look_again(host)

    def next(self) -> Lease | None:
        """Lease a page of the pool that is due, or else of the other pool."""
        if self._share:
            return self._next_of_both()
        page = self.queue.take() if self.admits is None else self._unread()
        return None if page is None else self._lease(page, again=False)

    def grant(self, lease: Lease) -> None:
        """Count the request of the page towards the share of its pool, where both have one."""
        # Counted when the request begins, not with the lease: a page that is leased and then closed
        # without a request costs no fetch of its pool's share.
        owed = min(max(self._balance / (_MOST_OWED * self._share), -1.0), 1.0)
        share_of_host = self._share * (1 + _PART * owed)
        of_host = self._balance_of[lease.host_id] + share_of_host - lease.again
        # At most a page ahead or behind: fetches that a host missed are not made up for later.
        self._balance_of[lease.host_id] = min(max(of_host, -1.0), 1.0)
        if lease.counts:
            self._balance += self._share - lease.again
        if lease.again:
            self._busy_again.add(lease.host_id)

    def give_back(self, lease: Lease) -> None:
        """Make the page wait again: its turn has not ended."""
        self._busy_again.discard(lease.host_id)
        self._busy_unread.discard(lease.host_id)
        if not lease.again:
            self.queue.release(lease.page)
        elif lease.page in self.refresh:
            self.refresh.give_back(lease.page)
        else:
            self._dead.give_back(lease.page)

    def end(self, lease: Lease, fresh_s: float, new_links: int) -> None:
        """End the turn of a page that may be read again, whose response had links to new pages."""
        document, is_again = self._recorder.pages.document(lease.page), lease.page in self.refresh
        if self._frontier.state[lease.page] in DEAD:
            self.refresh.watched.forget(lease.page)
        elif document is not None:
            self.refresh.saw(document, just_now=True)
            self.refresh.watched.cached(lease.page, fresh_s)
            if is_again:  # all links of a first reading may be new
                self.refresh.watched.found(lease.page, new_links)
        self.release(lease)

    def release(self, lease: Lease) -> None:
        """End the turn of a page, whether it was requested or not."""
        self._dead.end(lease.page)
        if lease.again and lease.page in self.refresh:
            self.refresh.release(lease.page)

    def drop(self, lease: Lease) -> None:
        """End the turn of a page that may not be requested again."""
        self.refresh.watched.forget(lease.page)
        self._dead.end(lease.page)

    def has_more(self) -> bool:
        """Return whether pages wait."""
        unread = self._frontier.ledger.unread
        return unread > 0 or self.refresh.has_more() or bool(self._dead)

    def _unread(self) -> int | None:
        page = self.queue.take()
        if page is not None and self.admits is not None and not self.admits(page):
            self.queue.release(page)
            self.queue.resume(self._frontier.urls.host_of[page])
            return None
        return page

    def _next_of_both(self) -> Lease | None:
        # A dead target first, then the best page of all, then a page to read again if that is due,
        # then an unread page, and if there is none, a page to read again that is not due.
        if (page := self._dead.take(self.queue.is_ready)) is not None:
            return self._lease_known(page, counts=False)
        host = self._host_of_best()
        counts = self.refresh.has_more()
        if host is None and self._balance > _TINY - self._share:
            # Of the hosts that may read a page again now, the one with the best page.
            while (host := self.refresh.next_host(self.queue.is_ready)) is not None:
                if self._may_read_again(host):
                    break
            if host is None and self._busy_again and counts and self._waits():
                return None
            counts = host is not None
        if host is not None:
            return self._lease_again(host)
        unread = self._unread()
        if unread is not None:
            host = self._frontier.urls.host_of[unread]
            self._busy_unread.add(host)
            is_due = self._balance_of[host] > 1 - self._share - _TINY
            # The pool that is due at this host has the turn.
            page = self.refresh.take_of(host) if is_due else None
            if page is None:
                return self._lease(unread, again=False, counts=counts)
            self.queue.release(unread)
            return self._lease(page, again=True)
        is_short = self._busy_unread and self._frontier.ledger.unread and self._waits()
        host = None if is_short else self.refresh.next_host(self.queue.is_ready)
        return None if host is None else self._lease_again(host, counts=False)

    def _waits(self) -> bool:
        """Return whether the pool that is not due waits a little longer for the other."""
        if self._waits_since is None:
            self._waits_since = self._clock.now()
        return not self._is_impatient(self._waits_since)

    def _is_impatient(self, since: float) -> bool:
        return self._clock.now() >= since + self._patience_s

    def _host_of_best(self) -> int | None:
        """Return the host of the best page of all to read again, if it may have its turn now."""
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

    def _may_read_again(self, host: int) -> bool:
        """Return whether the host has no unread pages or is not a page ahead with reading again."""
        return self._balance_of[host] > -self._share - _TINY or not self.queue.has_pages(host)

    def _lease_again(self, host: int, *, counts: bool = True) -> Lease:
        page = self.refresh.take_of(host)
        assert page is not None, "the host has a waiting page"
        return self._lease_known(page, counts=counts)

    def _lease_known(self, page: PageId, *, counts: bool) -> Lease:
        host = self._frontier.urls.host_of[page]
        if self.queue.has_pages(host):
            self._busy_unread.add(host)
        # `PageQueue.take` pauses the host of the page that it leases. This page comes from the
        # other pool, so the queue of unread pages has to be told, or the host would get two turns
        # at once.
        self.queue.pause(host)
        return self._lease(page, again=True, counts=counts)

    def _lease(self, page: PageId, *, again: bool, counts: bool = True) -> Lease:
        if counts:
            self._waits_since = None
        host, url = self._frontier.urls.host_of[page], self._recorder.pages.url_of(page)
        return Lease(page, host, url, again, counts)
