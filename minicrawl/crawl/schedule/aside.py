"""Pages that are not asked for: closed, parked, and reopened when their reason is gone.

Laws: a page that is closed without a request ends its turn with a reason. What that costs is
charged to its host, which may be asked for another page at once. A page that is too far is closed
for it only when all else is read.

closed   settled for a reason: scope, limits, robots.txt, trouble of its host, traps
parked   too far; it waits until a shorter way to it is found
"""

from __future__ import annotations

from time import perf_counter

from minicrawl.crawl.events import Settled
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.traps.detector import Aside
from minicrawl.crawl.turns.turn import Turn
from minicrawl.model import PageId, State
from minicrawl.store.records import NOT_ASKED, FetchRow


class AsidePages:
    """Ends turns without a request."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._recorder, self._clock, self._tell = context.recorder, context.clock, context.tell
        self._is_continuous = context.settings.budget.continuous
        self._settler, self._traps, self._trackers = parts.settler, parts.traps, parts.trackers
        self._leases, self._hosts = parts.leases, parts.hosts
        self._suspended = parts.suspended

    # ------------------------------------------------------------ pages that are leased

    def close(self, lease: Lease, aside: Aside, now: float, began: float) -> None:
        """The turn ends. It began at a moment of `perf_counter`."""
        self._suspended.end(lease.page)
        if lease.again:
            self._leave(lease, aside.state, now)
        else:
            self._close(lease.page, lease.url, aside)
        self._charge(lease.host, now, began)

    def park(self, turn: Turn, now: float, began: float) -> None:
        """The page waits for a shorter way."""
        next(one for one in self._trackers if one.is_too_far(turn.page)).park(turn.page)
        if turn.lease.again:
            self._leases.refresh.forget(turn.page)
        self._charge(turn.host, now, began)

    def _leave(self, lease: Lease, state: State, now: float) -> None:
        """A page that was read before stays what it is."""
        if state is not self._hosts[lease.host].trouble_at(now):
            self._leases.refresh.forget(lease.page)
            return
        self._leases.refresh.release(lease.page)
        if self._is_continuous:
            self._hosts[lease.host].pause_while_down()

    def _close(self, page: PageId, url: str, aside: Aside) -> None:
        state, detail, original = aside
        if original is None:
            self._settler.close(page, state)
        else:
            self._settler.fold(page, original)
        if detail:
            today = self._clock.today()
            self._recorder.record(FetchRow(page, today, NOT_ASKED, None, 0, 0.0, detail))
        self._tell(Settled(url=url, state=state, detail=detail))

    def _charge(self, host: int, now: float, began: float) -> None:
        self._hosts.charge(host, perf_counter() - began, now, was_asked=False)
        self._hosts.resume_when_ready(host, now)

    # ------------------------------------------------------------ pages that wait

    def has_unread(self) -> bool:
        """Whether a page waits that is not parked."""
        return self._leases.has_more(sum(map(len, self._trackers)))

    def reopen_due(self) -> bool:
        """Let pages wait again that have earned it by now; whether there are any."""
        return self._reopen(self._traps.due(self._recorder.counters.number("requests")))

    def reopen_or_close(self, *, may_close: bool = True) -> bool:
        """All else is read: reopen what has earned it, or close what is parked, unless a shorter
        way may still be found; whether any is.
        """
        return self._reopen(self._traps.earned()) or (may_close and self._close_parked())

    def _reopen(self, pages: list[int]) -> bool:
        if pages:
            self._settler.poster.reopen(pages)
        return bool(pages)

    def _close_parked(self) -> bool:
        pages = [(page, one.refusal) for one in self._trackers for page in one.give_up()]
        for page, state in pages:
            self._suspended.end(page)
            self._close(page, self._recorder.pages.url_of(page), Aside(state))
        return bool(pages)
