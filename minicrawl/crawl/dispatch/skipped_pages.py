"""Pages that are not requested: closed, and reopened when their reason is gone.

Laws: a page that is closed without a request ends its turn with a reason. Its cost is charged to
its host, which may be contacted for another page at once.

closed   settled without a request: scope, limits, robots.txt, a failing host, a trap
"""

from __future__ import annotations

from time import perf_counter

from minicrawl.crawl.admission.traps import SkipReason
from minicrawl.crawl.events import Settled
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.start.waiting_again import in_scope_now
from minicrawl.store.records import NOT_ASKED, FetchRow


class SkippedPages:
    """Ends turns without a request."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._recorder, self._clock, self._emit = context.recorder, context.clock, context.emit
        self._is_continuous = context.settings.budget.continuous
        self._settler, self._traps, self._depths = parts.settler, parts.traps, parts.depths
        self._gate = context.gate
        self._leases, self._hosts = parts.leases, parts.hosts
        self._suspended, self._sitemaps = parts.ends.suspended, parts.onboarding.sitemaps

    def close(self, lease: Lease, host: Host, reason: SkipReason, now: float, began: float) -> None:
        """End the turn with a reason; `began` is the start of the turn by `perf_counter`."""
        page, url, (state, detail, original) = lease.page, lease.url, reason
        self._suspended.end(page)
        if not lease.again:
            if original is None:
                self._settler.close(page, state)
            else:
                self._settler.fold(page, original)
            if detail:
                today = self._clock.today()
                self._recorder.record(FetchRow(page, today, NOT_ASKED, None, 0, 0.0, detail))
            self._emit(Settled(url=url, state=state, detail=detail))
        elif state is not host.trouble_at(now):
            self._leases.drop(lease)
        else:  # a page that was read before keeps its state
            self._leases.release(lease)
            self._emit(Settled(url=url, state=state))
            if self._is_continuous:
                host.pause_until(host.down_until)
        self._hosts.charge(host, perf_counter() - began, now, was_asked=False)
        self._sitemaps.end_yielding(host)
        self._hosts.resume_when_ready(host, now)

    def has_unread(self) -> bool:
        """Return whether pages wait."""
        return self._leases.has_more()

    def waits_for_dead(self) -> bool:
        """Return whether only dead targets are left, which a continuous crawl requests again."""
        return self._is_continuous and self._leases.has_dead()

    def next_look(self, now: float) -> float | None:
        """Return when a continuous crawl looks for dead targets that are due."""
        return self._leases.next_look(now) if self._is_continuous else None

    def reopen_due(self) -> bool:
        """Now and then, reopen pages that may be requested by now. Return whether there are any."""
        if self._is_continuous:
            self._leases.look_for_dead()
        requests = self._recorder.counters.number("requests")
        return requests >= self._traps.due_at and self._reopen(self._traps.due(requests))

    def reopen(self) -> bool:
        """Reopen pages that may be requested by now. Return whether there are any.

        To be called when everything else is read.
        """
        return self._reopen(self._traps.earned())

    def _reopen(self, pages: list[int]) -> bool:
        pages += self._in_scope_now()
        self._settler.poster.reopen(pages)
        return bool(pages)

    def _in_scope_now(self) -> list[int]:
        """Return the pages that were refused before a seed's redirect widened the scope."""
        if not self._gate.has_widened:
            return []
        self._gate.has_widened = False
        return list(in_scope_now(self._recorder, self._gate, self._depths))
