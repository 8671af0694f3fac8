"""Chooses the page or the host that has the next turn.

Laws: the next page is the richest one whose host may be contacted now. It is chosen only when there
is room for it. A page that may not be requested now is given back, and its host is resumed when the
obstacle is gone. While many pages are closed in a row, the loop runs other tasks in between.
"""

from __future__ import annotations

from collections.abc import Coroutine
from time import perf_counter
from typing import assert_never

from minicrawl.crawl.events import Settled
from minicrawl.crawl.hosts.pacing import Rank
from minicrawl.crawl.hosts.politeness import HostState
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.trap_detector import SkipReason
from minicrawl.crawl.turns.page_turns import HostTurns, PageTurns
from minicrawl.crawl.turns.turn import (
    NOT_LOOKED_AT,
    Ask,
    Close,
    Decision,
    HostFacts,
    LearnHost,
    Turn,
    Wait,
    WaitsFor,
    decide,
)
from minicrawl.model import PageId, State
from minicrawl.store.records import NOT_ASKED, FetchRow

# ================================================================ aside
#
# Pages that are not requested: closed, parked, and reopened when their reason is gone.
#
# Laws: a page that is closed without a request ends its turn with a reason. Its cost is charged to
# its host, which may be contacted for another page at once. A page that is too far is closed for
# that reason only when everything else is read.
#
# closed   settled for a reason: scope, limits, robots.txt, a failing host, traps
# parked   too far; waits until a shorter path to it is found


class AsidePages:
    """Ends turns without a request."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._recorder, self._clock, self._tell = context.recorder, context.clock, context.tell
        self._is_continuous = context.settings.budget.continuous
        self._settler, self._traps, self._trackers = parts.settler, parts.traps, parts.trackers
        self._leases, self._hosts = parts.leases, parts.hosts
        self._suspended = parts.suspended

    # ------------------------------------------------------------ pages that are leased

    def close(self, lease: Lease, aside: SkipReason, now: float, began: float) -> None:
        """End the turn with a reason. It began at a moment of `perf_counter`."""
        self._suspended.end(lease.page)
        if lease.again:
            self._leave(lease, aside.state, now)
        else:
            self._close(lease.page, lease.url, aside)
        self._charge(lease.host, now, began)

    def park(self, turn: Turn, now: float, began: float) -> None:
        """Let the page wait for a shorter path."""
        next(one for one in self._trackers if one.is_too_far(turn.page)).park(turn.page)
        if turn.lease.again:
            self._leases.refresh.forget(turn.page)
        self._charge(turn.host, now, began)

    def _leave(self, lease: Lease, state: State, now: float) -> None:
        """Skip a page that was read before: it keeps its state."""
        if state is not self._hosts[lease.host].trouble_at(now):
            self._leases.refresh.forget(lease.page)
            return
        self._leases.refresh.release(lease.page)
        if self._is_continuous:
            self._hosts[lease.host].pause_while_down()

    def _close(self, page: PageId, url: str, aside: SkipReason) -> None:
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
        """Return whether pages wait that are not parked."""
        return self._leases.has_more(sum(map(len, self._trackers)))

    def reopen_due(self) -> bool:
        """Reopen pages that have earned it by now. Return whether there are any."""
        return self._reopen(self._traps.due(self._recorder.counters.number("requests")))

    def reopen_or_close(self, *, may_close: bool = True) -> bool:
        """Reopen pages that have earned it, or close the parked pages, now that everything else is
        read.

        Parked pages stay if a shorter path may still be found. Return whether any page changed.
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
            self._close(page, self._recorder.pages.url_of(page), SkipReason(state))
        return bool(pages)


# ================================================================ dispatch

CLOSED_AT_ONCE = 500
"""Number of pages that are closed without a request before the loop goes on."""
LONGEST_LOOK_S = 0.02
"""Time limit for the same."""


class Dispatcher:
    """Leases pages until one of them, or the host of one, may have its turn."""

    def __init__(
        self,
        context: CrawlContext,
        parts: CrawlParts,
        pages: PageTurns,
        hosts: HostTurns,
        aside: AsidePages,
    ) -> None:
        self._clock, self._wake = context.clock, context.wake
        self._hosts, self._leases, self._slots = parts.hosts, parts.leases, parts.slots
        self._suspended = parts.suspended
        self._admission = Admission(context, parts, hosts)
        self._page_turns, self._host_turns, self._aside = pages, hosts, aside

    def next_turn(self, until: float) -> Coroutine[None, None, None] | None:
        """Return the next turn, if one is found before that moment of `perf_counter`."""
        now = self._clock.now()
        for _ in range(CLOSED_AT_ONCE):
            lease = self._leases.next()
            if lease is None:
                if self._slots.resume_one():
                    continue
                return None
            if turn := self._dispatch(lease, now):
                return turn
            if perf_counter() >= until:
                break
        self._wake()
        return None

    def _dispatch(self, lease: Lease, now: float) -> Coroutine[None, None, None] | None:
        began = perf_counter()
        refusal = self._admission.refusal_of_page(lease)
        if refusal is not None:  # like most pages of other sites: their hosts stay unknown
            self._aside.close(lease, SkipReason(refusal), now, began)
            return None
        turn = self._suspended.turn_of(lease)
        decision = self._admission.decide(turn, now)
        match decision:
            case Ask():
                turn.cost_s = perf_counter() - began
                return self._page_turns.begin(turn, now)
            case LearnHost():
                self._leases.give_back(lease)
                return self._host_turns.begin(turn.host, self._admission.rank(turn), now)
            case Wait(waits_for=WaitsFor.SHORTER_WAY):
                self._aside.park(turn, now, began)
            case Wait(waits_for=waits_for):
                self._wait(turn, waits_for, now)
            case Close(aside=aside):
                self._aside.close(lease, aside, now, began)
            case _:
                assert_never(decision)
        return None

    def _wait(self, turn: Turn, waits_for: WaitsFor, now: float) -> None:
        """Give the page back. Its host is resumed when the wait or its onboarding is over."""
        if waits_for is WaitsFor.ADDRESS:
            self._hosts.wait_for_room(turn.host, now, self._admission.rank(turn))
        elif waits_for is WaitsFor.HOST:
            self._hosts.resume_when_ready(turn.host, now)
        elif waits_for is WaitsFor.SLOT:
            self._slots.wait(turn.host)
        self._leases.give_back(turn.lease)


class Admission:
    """Collects the facts for the decision about a page, the cheap ones first."""

    def __init__(self, context: CrawlContext, parts: CrawlParts, host_turns: HostTurns) -> None:
        self._frontier, self._gate = context.recorder.frontier, context.gate
        self._trackers, self._traps = parts.trackers, parts.traps
        self._hosts, self._onboarding = parts.hosts, parts.onboarding
        self._slots, self._host_turns = parts.slots, host_turns
        self._queue = parts.leases.queue

    def refusal_of_page(self, lease: Lease) -> State | None:
        """Return why scope or limits refuse the page, whatever its host is like, or None."""
        pages = 0 if lease.again else self._hosts[lease.host].pages
        is_seed = not self._frontier.urls.depth[lease.page]
        return self._gate.refusal(lease.url, 0, pages, is_seed=is_seed)

    def rank(self, turn: Turn) -> Rank:
        """Return the rank of a page at its address: order of reading, then known hosts first."""
        queue = self._queue
        is_strange = not self._onboarding.is_known(turn.host)
        return queue.precedence(turn.host), -queue.key(turn.page), is_strange

    def decide(self, turn: Turn, now: float) -> Decision:
        """Decide what to do with a page that is not refused. Its host is recalled first."""
        refusal, facts = None, NOT_LOOKED_AT
        is_too_far = any(tracker.is_too_far(turn.page) for tracker in self._trackers)
        if not is_too_far:
            self._onboarding.recall(turn.host)
            is_known = self._onboarding.is_known(turn.host)
            refusal = self._refusal_of_host(turn, now, is_known=is_known)
            if refusal is None:
                facts = self._facts(turn.host, now, is_known=is_known)
        return decide(refusal, is_too_far=is_too_far, host=facts)

    def _refusal_of_host(self, turn: Turn, now: float, *, is_known: bool) -> SkipReason | None:
        """Return why the page is not requested: a failing host, robots.txt, or a trap."""
        lease, host = turn.lease, turn.host
        trouble = self._hosts[host].trouble_at(now)
        if trouble is not None:
            return SkipReason(trouble)
        if is_known and not self._onboarding.allow(host, turn.spelling or lease.url):
            return SkipReason(State.ROBOTS)
        return None if lease.again else self._traps.aside(turn.page, host, lease.url)

    def _facts(self, host: int, now: float, *, is_known: bool) -> HostFacts:
        state = self._hosts[host]
        return HostFacts(
            host in self._host_turns,
            self._hosts.has_room(host, now),
            self._hosts.may_be_asked(host, now) and not state.shared.to_render,
            (state.shared.answers and state.pages > 0) or self._has_slot(state),
            is_known,
        )

    def _has_slot(self, state: HostState) -> bool:
        """Return whether a silent host, or one that no page has come from, has a slot."""
        if state.shared.answers:
            return self._slots.has_room_for_strangers()
        return self._slots.has_room_for_silent()
