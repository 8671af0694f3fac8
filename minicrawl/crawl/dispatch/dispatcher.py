"""Chooses the page or the host that has the next turn, and begins the turn.

Laws: the next page is the richest one whose host may be contacted now. It is chosen only when
there is room for it. A page that may not be requested now is given back, and its host is resumed
when the obstacle is gone. While many pages are closed in a row, the loop runs other tasks in
between.
"""

import asyncio
from collections.abc import Coroutine
from math import inf
from time import perf_counter

from minicrawl.crawl.admission.traps import SkipReason
from minicrawl.crawl.dispatch.host_turns import HostTurns
from minicrawl.crawl.events import Reason, Settled
from minicrawl.crawl.hosts.addresses import Rank
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.politeness import resolve_targets
from minicrawl.crawl.hosts.slots import Standing
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.progress import StopLimit, most_pages
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.turns.page_turns import PageTurns
from minicrawl.crawl.turns.turn import Turn
from minicrawl.states import State
from minicrawl.store.records import NOT_ASKED, FetchRow

CLOSED_AT_ONCE = 500
"""Number of pages that are closed without a request before the loop continues."""
LONGEST_LOOK_S = 0.02
"""Time after which the loop continues, even if fewer pages were closed."""


class Dispatcher:
    """Begins turns, each in a task of its own, while there is room and budget."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        until = context.settings.budget.until
        self._context, self._parts = context, parts
        self._recorder, self._clock, self._wake = context.recorder, context.clock, context.wake
        self._hosts, self._leases, self._slots = parts.hosts, parts.leases, parts.slots
        self._onboarding, self._suspended = parts.onboarding, parts.ends.suspended
        self.limit = None if until is None else StopLimit(until, context.recorder)
        self._page_turns = PageTurns(
            context, parts.onboarding, parts.slots, parts.leases, parts.traps, parts.ends
        )
        self._host_turns = HostTurns(
            context.recorder,
            context.clock,
            context.wake,
            parts.hosts,
            parts.onboarding,
            parts.slots,
            parts.traps.quotas,
            parts.leases,
            parts.poster,
            resolve_targets(context.settings),
        )
        self._leases.queue.limit(self._look_for_room)
        self._room_for: tuple[int, Standing] | None = None  # host that has room for its lease
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetched_before = int(context.recorder.counters.number("fetched"))
        self.paused_until: float | None = None
        """End of the wait for the pace of the crawl (--max-rate, --hours) that kept the last round
        from beginning a turn, or None. The loop uses this value for the whole round: if it asked
        the pace again, a wait that ends in the middle of a round would be missed.
        """

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def requesting(self) -> int:
        """Number of turns that hold a request."""
        return len(self._tasks) - self._parts.side_requests.idle

    @property
    def may_lead_on(self) -> bool:
        """Whether what comes next depends on turns that hold a request.

        Once the budget is spent, turns of hosts lead to nothing. Those of pages may fail and leave
        a part of the budget.
        """
        has_room = self._page_turns.under_way or self.spent() is None
        return self.requesting > 0 and bool(has_room)

    @property
    def in_flight(self) -> int:
        """Number of turns that do not wait for a host."""
        return len(self._tasks) - self._parts.side_requests.waiting

    def spent(self) -> Reason | None:
        """Return why no page may be requested any more, or None while the budget lasts."""
        # Turns under way count as if they had been fetched. Otherwise a crawl of 10 pages with 32
        # slots would request 32 of them.
        fetched = self._recorder.counters.number("fetched") + self._page_turns.under_way
        most = most_pages(self._context.settings.budget, self._fetched_before)
        if self.limit is not None and self.limit.reason is not None:
            return self.limit.reason
        is_over = most is not None and fetched >= most
        return Reason.BUDGET if is_over or self._context.are_bytes_spent() else None

    def launch(self, group: asyncio.TaskGroup) -> None:
        """Give pages their turns while there is room."""
        until, clock = perf_counter() + LONGEST_LOOK_S, self._clock
        self._slots.give_up_silent(clock.now())
        most = 1 if self._context.settings.order.deterministic else inf
        while len(self._tasks) < most and self.spent() is None:
            now, pace = clock.now(), self._hosts.pace
            if pace is not None and (wait_s := pace.wait_s(now)):
                self.paused_until = now + wait_s
                return
            if self._slots.free <= 0:
                # Lease a page only to see whether one is ready: if not, nobody needs the slot.
                if self._slots.has_too_many_slow(now) and (lease := self._leases.next()):
                    self._leases.give_back(lease)
                    self._leases.resume(lease.host_id)
                    self._slots.give_up_slowest(now)
                return
            turn = self._next_turn(now, until)
            if turn is None:
                # No turn runs and none may begin, so an expensive host keeps nobody waiting.
                if not self._tasks and self._hosts.release_expensive(clock.now()):
                    self._wake()
                self._slots.give_up_for_waiting(now)
                return
            # A task for each turn, not a fixed number of worker coroutines: the next page is chosen
            # when a slot is free, so a page that has become richer meanwhile still comes first.
            task = group.create_task(turn)
            self._tasks.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._slots.end_turn()
        self._wake()

    async def let_end(self, grace_s: float | None) -> None:
        """Cancel the turns of hosts, wait `grace_s` for those of pages, and cancel what is left."""
        self._parts.side_requests.leave()
        self._host_turns.cancel()
        if self._tasks:
            _, late = await asyncio.wait(tuple(self._tasks), timeout=grace_s)
            for task in late:
                task.cancel()

    def _next_turn(self, now: float, until: float) -> Coroutine[None, None, None] | None:
        """Return the next turn, if one is found before `until`, a moment of `perf_counter`."""
        for _ in range(CLOSED_AT_ONCE):
            self._room_for = None
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
        """Decide what to do with a leased page; the first reason that applies counts.

        Reasons that refuse the page for good precede reasons that delay it, and a delay of its host
        precedes the first request to the host. Return the turn of the page, or the turn of its
        host if the address or robots.txt of that is not known yet; None if no request begins now.
        """
        began = perf_counter()
        page, host, url, again = lease.page, self._hosts[lease.host_id], lease.url, lease.again
        onboarding, trouble = self._onboarding, host.trouble_at(now)
        # Before the page may be closed, as there may be no other to lead to the waiting sitemaps.
        if trouble is None and onboarding.sitemaps.is_behind(host):
            return self._begin(self._suspended.turn_of(lease, host), now, is_known=False)
        pages, is_seed = 0 if again else host.pages, not self._recorder.frontier.urls.depth[page]
        refused = self._context.gate.refusal(url, 0, pages, is_seed=is_seed)
        depths = self._parts.depths
        if refused is None and depths is not None and depths.is_too_far(page):
            refused = State.DEPTH
        if refused is not None:
            # The scope needs no look-up and no request, and comes first: such pages must not have
            # their hosts located.
            self._close(lease, host, SkipReason(refused), now, began)
            return None
        turn = self._suspended.turn_of(lease, host)
        # The next calls may query the store. The checks above refuse many pages without that.
        pages_known = self._recorder.pages
        turn.own = pages_known.own_request(page)
        turn.tries = turn.tries or pages_known.tries(page, self._context.settings.limits.max_tries)
        onboarding.robots.recall(host)
        is_known, reason = onboarding.is_known(host), None
        # Trouble comes before robots.txt: a host that is down may have no rules, and its pages get
        # the same state as if they were requested.
        if trouble is not None:
            reason = SkipReason(trouble)
        elif is_known:
            reason = onboarding.robots.refusal(host, turn.sent_url)
        if reason is None and not again and turn.own is None:  # not if a program wants this request
            reason = self._parts.traps.skip_reason(page, host.id, url)
        if reason is not None:
            self._close(lease, host, reason, now, began)
            return None
        turn.cost_s = perf_counter() - began
        return self._begin(turn, now, is_known=is_known)

    def _close(
        self, lease: Lease, host: Host, reason: SkipReason, now: float, began: float
    ) -> None:
        """End the turn without a request, which began at this moment of `perf_counter`.

        The host is charged, and may be contacted for another page at once.
        """
        page, (state, detail, original) = lease.page, reason
        self._suspended.end(page)
        if not lease.again:
            if original is None:
                self._parts.settler.close(page, state)
            else:
                self._parts.settler.close_twin(page, original)
            if detail:
                today = self._clock.today()
                self._recorder.record(FetchRow(page, today, NOT_ASKED, None, 0, 0.0, detail))
            self._context.emit(Settled(url=lease.url, state=state, detail=detail))
        elif state is not host.trouble_at(now):
            self._leases.drop(lease)
        else:  # a page that was read before keeps its state
            self._leases.release(lease)
            self._context.emit(Settled(url=lease.url, state=state))
            if self._context.settings.budget.continuous:
                host.pause_until(host.down_until)
        self._hosts.charge(host, perf_counter() - began, now, was_requested=False)
        self._onboarding.sitemaps.end_yielding(host)
        self._hosts.resume_when_ready(host, now)

    def _begin(
        self, turn: Turn, now: float, *, is_known: bool
    ) -> Coroutine[None, None, None] | None:
        """Return the turn of the page or that of its host; None if its host takes no request now.

        Then somebody resumes the host later. Otherwise its pages would wait forever, and the crawl
        would not end.
        """
        host, hosts, slots = turn.host, self._hosts, self._slots
        standing = Standing.of(host, is_known=is_known)
        if host.id in self._host_turns.under_way:
            pass  # resumed when that turn ends
        elif not hosts.has_room(host, now):
            hosts.wait_for_room(host, now, self._rank(turn, is_strange=not is_known))
        elif host.shared.to_render or not hosts.may_be_asked(host, now):
            hosts.resume_when_ready(host, now)
        elif self._room_for != (host.id, standing) and not slots.has_room(host.id, standing):
            slots.wait(host.id, standing)
        elif is_known:
            self._onboarding.sitemaps.begin_page(host)
            return self._page_turns.begin(turn, now, standing)
        else:
            self._leases.give_back(turn.lease)
            return self._host_turns.begin(host, self._rank(turn, is_strange=True), now)
        self._leases.give_back(turn.lease)
        return None

    def _look_for_room(self, host_id: int) -> bool:
        """Return False if the host waits for a slot now, and for nothing else.

        Asked before a page is leased: if another slot is free, the page would be given back.
        """
        slots = self._slots
        if slots.free <= 0:
            return True
        host, hosts = self._hosts[host_id], self._hosts
        is_known = host.shared.answers or self._onboarding.is_known(host)
        standing = Standing.of(host, is_known=is_known)
        if slots.has_room(host_id, standing):
            self._room_for = host_id, standing
            return True
        now = self._clock.now()
        may_be_asked = hosts.has_room(host, now) and hosts.may_be_asked(host, now)
        is_busy = host.shared.to_render or host_id in self._host_turns.under_way
        if is_busy or not may_be_asked or host.trouble_at(now) is not None:
            return True  # `_dispatch` decides about its page
        slots.wait(host_id, standing)
        return False

    def _rank(self, turn: Turn, *, is_strange: bool) -> Rank:
        """Return the page's rank among those that wait for its address; see `addresses.Rank`."""
        queue = self._leases.queue
        return queue.precedence(turn.host.id), -queue.key(turn.page), is_strange
