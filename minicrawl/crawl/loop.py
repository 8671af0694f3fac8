"""The loop: lease -> decide -> request -> parse -> settle -> commit.

Laws: a turn begins only while there is a free slot, the budget allows it and the store has room.
Settled pages are committed before the loop ends; the next run requests the others again. A crawl
that is stopped, or whose time is over, gives requests under way a moment to end. A paused crawl
begins nothing, and ends only when it is stopped or its time is over.

news    an event that may let another page have its turn
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from time import perf_counter

from minicrawl.config import Budget, Settings
from minicrawl.crawl.events import Ended, Event, Listener, Reason, Settled
from minicrawl.crawl.hosts.pacing import Rank, StepClock
from minicrawl.crawl.hosts.politeness import HostState, resolve_targets
from minicrawl.crawl.hosts.side_requests import MANY, PATIENCE_S
from minicrawl.crawl.hosts.slots import RequestSlot, Standing
from minicrawl.crawl.page_turns import PageTurns, Turn
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.progress import ImportanceLimit, Progress, are_bytes_spent, with_wait
from minicrawl.crawl.schedule.leases import Lease
from minicrawl.crawl.schedule.orders import DistanceTracker
from minicrawl.crawl.scope_and_traps import ScopeGate, SkipReason
from minicrawl.crawl.settle.recorder import COMMIT_EVERY_S, Recorder
from minicrawl.crawl.settle.settler import PageIntroducer
from minicrawl.crawl.start.opening import LAST_AT
from minicrawl.model import PageId, State
from minicrawl.ports import Clock, WebAccess
from minicrawl.store.records import NOT_ASKED, FetchRow
from minicrawl.web.sitemaps import Sitemap

# ================================================================ skipped pages
#
# Pages that are not requested: closed, parked, and reopened when their reason is gone.
#
# Laws: a page that is closed without a request ends its turn with a reason. Its cost is charged to
# its host, which may be contacted for another page at once. A page that is too far is closed for
# that reason only when everything else is read.
#
# closed   settled without a request: scope, limits, robots.txt, a failing host, a trap
# parked   too far from the seeds; waits until a shorter path to it is found


class SkippedPages:
    """Ends turns without a request."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        self._recorder, self._clock, self._tell = context.recorder, context.clock, context.tell
        self._is_continuous = context.settings.budget.continuous
        self._settler, self._traps, self._trackers = parts.settler, parts.traps, parts.trackers
        self._leases, self._hosts = parts.leases, parts.hosts
        self._suspended, self._sitemaps = parts.suspended, parts.onboarding.sitemaps

    # ------------------------------------------------------------ pages that are leased

    def close(self, lease: Lease, reason: SkipReason, now: float, began: float) -> None:
        """End the turn with a reason; `began` is the start of the turn by `perf_counter`."""
        self._suspended.end(lease.page)
        if lease.again:
            self._leave(lease, reason.state, now)
        else:
            self._close(lease.page, lease.url, reason)
        self._charge(lease.host, now, began)

    def park(self, turn: Turn, tracker: DistanceTracker, now: float, began: float) -> None:
        """Let the page wait until this tracker finds a shorter path."""
        tracker.park(turn.page)
        if turn.lease.again:
            self._leases.drop(turn.lease)
        self._charge(turn.host, now, began)

    def _leave(self, lease: Lease, state: State, now: float) -> None:
        """Skip a page that was read before: it keeps its state."""
        if state is not self._hosts[lease.host].trouble_at(now):
            self._leases.drop(lease)
            return
        self._leases.release(lease)
        self._tell(Settled(url=lease.url, state=state))
        if self._is_continuous:
            self._hosts[lease.host].pause_while_down()

    def _close(self, page: PageId, url: str, reason: SkipReason) -> None:
        state, detail, original = reason
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
        self._sitemaps.end_yielding(host)
        self._hosts.resume_when_ready(host, now)

    # ------------------------------------------------------------ pages that wait

    def has_unread(self) -> bool:
        """Return whether pages wait that are not parked."""
        return self._leases.has_more(sum(map(len, self._trackers)))

    def reopen_due(self) -> bool:
        """Now and then, reopen pages that may be requested by now. Return whether there are any."""
        if self._is_continuous:
            self._leases.look_for_dead()
        requests = self._recorder.counters.number("requests")
        return requests >= self._traps.due_at and self._reopen(self._traps.due(requests))

    def reopen_or_close(self, *, may_close: bool = True) -> bool:
        """Reopen pages that may be requested by now; if there are none, close the parked pages.

        To be called when everything else is read. Without `may_close`, a shorter path to a parked
        page may still be found. Return whether any page changed.
        """
        return self._reopen(self._traps.earned()) or (may_close and self.close_parked())

    def _reopen(self, pages: list[int]) -> bool:
        if pages:
            self._settler.poster.reopen(pages)
        return bool(pages)

    def close_parked(self) -> bool:
        """Refuse the pages that wait for a shorter path. Return whether there are any."""
        trackers = self._trackers
        pages = [(page, tracker.refusal) for tracker in trackers for page in tracker.give_up()]
        for page, state in pages:
            self._suspended.end(page)
            self._close(page, self._recorder.pages.url_of(page), SkipReason(state))
        return bool(pages)


# ================================================================ dispatch
#
# Chooses the page or the host that has the next turn, and begins the turn.
#
# Laws: the next page is the richest one whose host may be contacted now. It is chosen only when
# there is room for it. A page that may not be requested now is given back, and its host is resumed
# when the obstacle is gone. While many pages are closed in a row, the loop runs other tasks in
# between.

CLOSED_AT_ONCE = 500
"""Number of pages that are closed without a request before the loop continues."""
LONGEST_LOOK_S = 0.02
"""Time after which the loop continues, even if fewer pages were closed."""


class Dispatcher:
    """Begins turns, each in a task of its own, while there is room and budget."""

    def __init__(self, context: CrawlContext, parts: CrawlParts) -> None:
        recorder, wanted = context.recorder, context.settings.budget.importance
        self._context, self._parts = context, parts
        self._clock, self._gate, self._wake = context.clock, context.gate, context.wake
        self._counters, self._depth = recorder.counters, recorder.frontier.urls.depth
        self._hosts, self._leases, self._slots = parts.hosts, parts.leases, parts.slots
        self._onboarding, self._traps, self._trackers = (
            parts.onboarding,
            parts.traps,
            parts.trackers,
        )
        self.limit = None if wanted is None else ImportanceLimit(wanted, recorder)
        introducer = PageIntroducer(recorder, parts.settler.poster)
        self._page_turns = PageTurns(context, parts, introducer)
        self._host_turns = HostTurns(context, parts, introducer)
        self.skipped = SkippedPages(context, parts)
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetched_before = recorder.counters.number("fetched")
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
        has_room = self._page_turns.under_way or not self.is_budget_spent()
        return self.requesting > 0 and bool(has_room)

    @property
    def in_flight(self) -> int:
        """Number of turns that do not wait for a host."""
        return len(self._tasks) - self._parts.side_requests.waiting

    def is_budget_spent(self) -> bool:
        """Return whether the budget of pages, bytes or importance is spent, or about to be."""
        budget, counted = self._context.settings.budget, self._counters.number
        most, most_new = budget.pages, budget.new_pages
        if most is not None or most_new is not None:
            # Turns under way count as if they had been fetched. Otherwise a crawl of 10 pages with
            # 32 slots would request 32 of them.
            fetched = counted("fetched") + self._page_turns.under_way
            if most is not None and fetched >= most:
                return True
            if most_new is not None and fetched >= self._fetched_before + most_new:
                return True
        if self.limit is not None and self.limit.is_reached:
            return True
        return budget.body_bytes is not None and counted("wire_bytes") >= budget.body_bytes

    def launch(self, group: asyncio.TaskGroup) -> None:
        """Give pages their turns while there is room."""
        until, clock = perf_counter() + LONGEST_LOOK_S, self._clock
        self.paused_until = None
        self._slots.give_up_silent(clock.now())
        most = 1 if self._context.settings.order.deterministic else inf
        while len(self._tasks) < most and not self.is_budget_spent():
            now, pace = clock.now(), self._hosts.pace
            if pace is not None and (wait_s := pace.wait_s(now)):
                self.paused_until = now + wait_s
                return
            if self._slots.free <= 0:
                self._make_room(now)
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

    def _make_room(self, now: float) -> None:
        """Free a slot of a slow host for the next page, if slow hosts hold too many."""
        leases = self._leases
        # Lease a page only to see whether one is ready: if not, nobody needs the slot.
        if self._slots.has_too_many_slow(now) and (lease := leases.next()):
            leases.give_back(lease)
            leases.resume(lease.host)
            self._slots.give_up_slowest(now)

    def next_slow(self, now: float) -> float | None:
        """Return when a request under way may lose its slot to another host, or None."""
        slow = self._slots.next_slow(now)
        silent = self._slots.next_silent() if self._slots.free > 0 else None
        return min((time for time in (slow, silent) if time is not None), default=None)

    async def let_end(self, grace_s: float | None) -> None:
        """Cancel the turns of hosts, wait `grace_s` for those of pages, and cancel what is left."""
        self._parts.side_requests.leave()
        self._host_turns.cancel()
        if self._tasks:
            _, late = await asyncio.wait(tuple(self._tasks), timeout=grace_s)
            for task in late:
                task.cancel()

    # ------------------------------------------------------------ one turn

    def _next_turn(self, now: float, until: float) -> Coroutine[None, None, None] | None:
        """Return the next turn, if one is found before `until`, a moment of `perf_counter`."""
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
        """Decide what to do with a leased page; the first reason that applies counts.

        Reasons that refuse the page for good precede reasons that delay it, and a delay of its host
        precedes the first request to the host. Return the turn of the page, or the turn of its
        host if the address or robots.txt of that is not known yet; None if no request begins now.
        """
        began = perf_counter()
        page, host, url, again, _ = lease
        state, onboarding = self._hosts[host], self._onboarding
        # Before the page may be closed, as there may be no other to lead to the waiting sitemaps.
        if onboarding.sitemaps.is_behind(host) and state.trouble_at(now) is None:
            return self._begin(self._parts.suspended.turn_of(lease), state, now, is_known=False)
        pages, is_seed = 0 if again else state.pages, not self._depth[page]
        refused = self._gate.refusal(url, 0, pages, is_seed=is_seed)
        if refused is not None:
            # The scope needs no look-up and no request, and comes first: pages out of scope are the
            # most common ones, and must not have their hosts located.
            self.skipped.close(lease, SkipReason(refused), now, began)
            return None
        turn = self._parts.suspended.turn_of(lease)
        for tracker in self._trackers:
            if tracker.is_too_far(page):
                self.skipped.park(turn, tracker, now, began)
                return None
        # The next calls may query the store. The checks above refuse many pages without that.
        pages_known = self._context.recorder.pages
        turn.own = pages_known.own_request(page)
        turn.tries = turn.tries or pages_known.tries(page, self._context.settings.limits.max_tries)
        onboarding.recall(host)
        is_known, reason = onboarding.is_known(host), None
        # Trouble comes before robots.txt: a host that is down may have no rules, and its pages get
        # the same state as if they were requested.
        if (trouble := state.trouble_at(now)) is not None:
            reason = SkipReason(trouble)
        elif is_known:
            reason = onboarding.refusal(host, turn.sent_url)
        if reason is None and not again and turn.own is None:  # not if a program wants this request
            reason = self._traps.skip_reason(page, host, url)
        if reason is not None:
            self.skipped.close(lease, reason, now, began)
            return None
        turn.cost_s = perf_counter() - began
        return self._begin(turn, state, now, is_known=is_known)

    def _begin(
        self, turn: Turn, state: HostState, now: float, *, is_known: bool
    ) -> Coroutine[None, None, None] | None:
        """Return the turn of the page or that of its host; None if the page waits."""
        is_waiting = self._defer(turn, state, now, is_known=is_known)
        if is_known and not is_waiting:
            self._onboarding.sitemaps.end_yielding(turn.host)
            self._onboarding.sitemaps.count_request(turn.host)
            return self._page_turns.begin(turn, now)
        self._leases.give_back(turn.lease)
        if is_waiting:
            return None
        return self._host_turns.begin(turn.host, self._rank(turn, is_strange=True), now)

    def _defer(self, turn: Turn, state: HostState, now: float, *, is_known: bool) -> bool:
        """Make the page wait if its host cannot take a request now. Return whether it waits."""
        host, hosts, slots, shared = turn.host, self._hosts, self._slots, state.shared
        # Each `return True` needs somebody who resumes the host later. Otherwise its pages would
        # wait forever, and the crawl would not end.
        if host in self._host_turns.under_way:  # resumed when that turn ends
            return True
        if not hosts.has_room(host, now):
            hosts.wait_for_room(host, now, self._rank(turn, is_strange=not is_known))
            return True
        if shared.to_render or not hosts.may_be_asked(host, now):
            hosts.resume_when_ready(host, now)
            return True
        standing = Standing.of(state, is_known=is_known)
        has_slot = slots.has_room(host, standing)
        if not has_slot:
            slots.wait(host, standing)
        return not has_slot

    def _rank(self, turn: Turn, *, is_strange: bool) -> Rank:
        """Return the rank of the page among those that wait for its address; see `pacing.Rank`."""
        queue = self._leases.queue
        return queue.precedence(turn.host), -queue.key(turn.page), is_strange


# ================================================================ host turns
#
# Turns of hosts: a host is located, and its robots.txt requested, before its first page.
#
# Laws: one file of a host is requested per turn, such as robots.txt or a sitemap; meanwhile none of
# its pages begins a turn, unless it is a sitemap that takes long. The slot of a turn is given back,
# whatever happens.


class HostTurns:
    """Hosts that are being onboarded."""

    def __init__(
        self, context: CrawlContext, parts: CrawlParts, introducer: PageIntroducer
    ) -> None:
        self._clock, self._tell, self._wake = context.clock, context.tell, context.wake
        self._hosts, self._onboarding = parts.hosts, parts.onboarding
        self._slots, self._traps = parts.slots, parts.traps
        self._host_of = context.recorder.frontier.urls.host_of
        self._introducer, self._leases = introducer, parts.leases
        self._targets = resolve_targets(context.settings)
        self.under_way: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, host: int, rank: Rank, now: float) -> Coroutine[None, None, None]:
        """Begin the turn of a host; `rank` is that of the page that needs it."""
        standing = Standing.of(self._hosts[host], is_known=False)
        slot = self._slots.take(now, host, standing)
        self.under_way.add(host)
        return self._learn(host, slot, rank)

    def cancel(self) -> None:
        """Cancel all turns of hosts: no more pages will be requested."""
        for task in tuple(self._tasks):
            task.cancel()

    async def _learn(self, host: int, slot: RequestSlot, rank: Rank) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        slot.give_up = task.cancel
        try:
            if await self._locate(host):
                await self._ask(host, rank)
        except asyncio.CancelledError:
            if not slot.was_given_up or task.uncancel():
                raise
            # The host lost its slot because it is silent: it goes behind hosts never asked before.
            shared = self._hosts[host].shared
            due = self._slots.when_all_were_asked(host, self._clock.now())
            shared.free_at = max(shared.free_at, due)
        finally:
            self._tasks.discard(task)
            self._slots.leave(slot)
            self.under_way.discard(host)
            # Last, and however the turn ended: leasing the page has paused the host, and nothing
            # else resumes it.
            self._hosts.resume_when_ready(host, self._clock.now())

    async def _locate(self, host: int) -> bool:
        """Find the address of the host. Return False if it has none.

        Hosts at one address share a quota of pages, unless --resolve names the address.
        """
        if not await self._onboarding.locate(host):
            return False
        address = self._hosts[host].address
        if address is not None and address not in self._targets:
            self._traps.located(host, address)
        return True

    async def _ask(self, host: int, rank: Rank) -> None:
        """Request the next file of the host, or make the host wait for its address."""
        now = self._clock.now()
        self._onboarding.recall(host)
        if self._onboarding.is_known(host):
            return
        if not self._hosts.has_room(host, now):
            self._hosts.wait_for_room(host, now, rank)
            return
        loop, sitemaps = asyncio.get_running_loop(), self._onboarding.sitemaps
        introduce = partial(self._introduce, host)
        while True:
            self.under_way.add(host)
            patience = loop.call_later(PATIENCE_S, self._let_pages_on, host)
            try:
                await self._onboarding.learn(host, self._tell, introduce)
            finally:
                patience.cancel()
            # If its last page went on meanwhile, no lease leads to the other sitemaps.
            if not sitemaps.is_behind(host):
                return

    def _let_pages_on(self, host: int) -> None:
        """Let pages of the host have turns, as its sitemap takes long."""
        if self._onboarding.sitemaps.let_pages_on(host, is_slow=True):
            self.under_way.discard(host)
            self._hosts.resume_when_ready(host, self._clock.now())
            self._wake()

    async def _introduce(
        self, host: int, urls: tuple[str, ...], depth: int, listed: Sitemap
    ) -> float:
        """Make pages of a sitemap known, and note when they changed. Return the processor time."""
        found = await self._introducer.introduce(list(dict.fromkeys(urls)), depth, listed.originals)
        if sum(self._host_of[page] == host for page in found.new) >= MANY:
            self._onboarding.sitemaps.let_pages_on(host, is_slow=False)
        if self._leases.reads_again:
            self._leases.refresh.hear(found.pages, listed.changed)
        return found.cost_s


# ================================================================ the loop

GRACE_S = 5.0
"""Time for requests under way to end when the crawl is stopped, or its time is over."""


class TimeLimit:
    """Decides when no more pages may be leased."""

    def __init__(self, budget: Budget) -> None:
        self._seconds = budget.seconds
        self.ends_at: float | None = None
        self.reason = Reason.BUDGET

    def begin(self, now: float) -> None:
        """Start the time of the run."""
        self.ends_at = None if self._seconds is None else now + self._seconds

    def stop(self) -> None:
        """End the crawl now."""
        self.reason = Reason.STOPPED

    def is_over(self, now: float) -> bool:
        """Return whether the crawl was stopped, or its time is over."""
        is_late = self.ends_at is not None and now >= self.ends_at
        return is_late or self.reason is Reason.STOPPED


class Crawler:
    """One crawl. Call `run` once, and `stop` in the loop's own thread."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        gate: ScopeGate,
        clock: Clock,
        tell: Listener,
    ) -> None:
        self._news = asyncio.Event()
        self._context = context = CrawlContext(
            settings=settings,
            recorder=recorder,
            web_access=web_access,
            gate=gate,
            clock=clock,
            tell=tell,
            wake=self._news.set,
        )
        self.parts = parts = CrawlParts(context)
        self._turns = Dispatcher(context, parts)
        self._skipped = self._turns.skipped
        self._time = TimeLimit(settings.budget)
        self._is_paused = False
        self._steps = clock if isinstance(clock, StepClock) else None
        parts.restore(context)
        context.exchange = recorder.shard.exchange(self)

    @property
    def context(self) -> CrawlContext:
        """The context of the crawl, with the present settings."""
        return self._context

    @property
    def is_paused(self) -> bool:
        """True if no requests begin at present."""
        return self._is_paused

    @property
    def is_stopped(self) -> bool:
        """True if the crawl ends as soon as the turns under way have ended."""
        return self._time.reason is Reason.STOPPED

    @property
    def _watch(self) -> Callable[[], float]:
        """Function that returns the time by which the run is measured."""
        return self._context.clock.now if self._steps is None else self._steps.watch

    @property
    def turns(self) -> int:
        """Number of turns under way."""
        return len(self._turns)

    async def run(self) -> Reason:
        """Crawl until the budget is spent, nothing is left, or the crawl is stopped."""
        reason = await self._context.recorder.committer.keep_while(self._work, self._report_room)
        self._context.tell(Ended(reason=reason))
        return reason

    async def attend(self, work: Coroutine[None, None, None]) -> bool:
        """Run `work`, which requests URLs that are not pages, when all turns are over.

        Return False if it was cut short.
        """
        keep_while = self._context.recorder.committer.keep_while
        return await keep_while(partial(self._attend, work), self._report_room)

    async def _attend(self, work: Coroutine[None, None, None], group: asyncio.TaskGroup) -> bool:
        task, began = group.create_task(work), self._watch()
        task.add_done_callback(lambda _: self._news.set())
        while not task.done() and not self._time.is_over(now := self._context.clock.now()):
            self._news.clear()
            if not self._is_paused:
                self.parts.hosts.wake(now)
            await asyncio.sleep(0)  # otherwise no other task runs while there is news
            await self._until_news([self._time.ends_at, self.parts.hosts.next_wake()])
        self.parts.side_requests.leave()
        await asyncio.wait((task,), timeout=GRACE_S)
        self._context.recorder.counters.add("running_s", self._watch() - began)
        return not task.cancel() and not self._is_spent()

    async def may_ask(self) -> bool:
        """Wait until attended work may send a request. Return False if it may send no more."""
        recorder = self._context.recorder
        while not self._is_spent() and (self._is_paused or not recorder.committer.takes_more):
            await asyncio.sleep(COMMIT_EVERY_S)
        return not self._is_spent()

    def _is_spent(self) -> bool:
        return self._time.is_over(self._context.clock.now()) or are_bytes_spent(self._context)

    def stop(self) -> None:
        """Lease no more pages, and give turns under way a moment to end."""
        self._time.stop()
        self._news.set()

    def close_parked(self) -> None:
        """Refuse the pages that wait for a shorter path, since nothing can find one any more."""
        self._skipped.close_parked()

    def completed(self, progress: Progress) -> Progress:
        """Add to the progress the host that the crawl waits for, and the state of the browsers."""
        renderer = self._context.renderer
        if renderer is not None:
            progress = replace(progress, rendering=renderer.progress())
        return with_wait(progress, self._context, self.parts, self._turns.requesting)

    def pause(self) -> None:
        """Begin no more requests until `resume`."""
        self._is_paused = True
        self._news.set()

    def resume(self) -> None:
        """Begin requests again."""
        self._is_paused = False
        self._news.set()

    def _report_room(self, event: Event) -> None:
        """Report that the disk of the store is full, or has room again."""
        self._context.tell(event)
        self._news.set()

    def _work(self, group: asyncio.TaskGroup) -> Coroutine[None, None, Reason]:
        """Crawl, while batches are exchanged with other shards, if there are any."""
        return self._context.exchange.during(self._crawl(group), group)

    async def _crawl(self, group: asyncio.TaskGroup) -> Reason:
        recorder, clock, news = self._context.recorder, self._context.clock, self._news
        watch = self._watch
        last, was_paused = watch(), False
        self._time.begin(clock.now())
        while True:
            now, ran = clock.now(), watch()
            recorder.counters.add("running_s", 0.0 if was_paused else ran - last)
            recorder.counters[LAST_AT] = clock.today()
            last, was_paused = ran, self._is_paused
            # Cleared before the look, not after it: news that comes meanwhile begins another round.
            news.clear()
            takes_more = recorder.committer.takes_more
            if not was_paused:
                self._go_on(group, now, takes_more=takes_more)
            reason = self._reason_to_end(now, takes_more=takes_more)
            if reason is not None:
                break
            if takes_more and not self._is_paused:
                self.parts.replays.run(self.parts.settler.poster)
            await asyncio.sleep(0)  # otherwise no other task runs while there is news
            if not news.is_set():
                times = self._next_times(clock.now(), takes_more=takes_more)
                await self._until_news(times, for_hosts=takes_more)
        await self._turns.let_end(GRACE_S if self._time.is_over(clock.now()) else None)
        self.parts.leases.save()
        return reason

    def _go_on(self, group: asyncio.TaskGroup, now: float, *, takes_more: bool) -> None:
        """Wake hosts, reopen pages and begin turns, as far as the time and the disk allow."""
        turns = self._turns
        self.parts.hosts.wake(now)
        if turns.limit is not None:
            turns.limit.look(now)
        turns.paused_until = None
        if not takes_more or self._time.is_over(now):
            return
        if self._skipped.reopen_due():
            self._news.set()
        if self._context.exchange.may_fetch:
            turns.launch(group)

    def _reason_to_end(self, now: float, *, takes_more: bool) -> Reason | None:
        if self._time.is_over(now):
            return self._time.reason
        turns, own = self._turns, None
        # A crawl never ends while it is busy: a request under way may lead to new pages, news may
        # have freed a host, and in a pause or with a full disk, pages may still wait.
        is_busy = turns.may_lead_on or self._news.is_set() or self._is_paused or not takes_more
        if not is_busy:
            own = self._own_reason()
        return self._context.exchange.reason_to_end(own, self._skipped.has_unread, turns=len(turns))

    def _own_reason(self) -> Reason | None:
        """Return why this shard, which sends no request now, would end the crawl, or None."""
        turns = self._turns
        if turns.is_budget_spent():
            is_gathered = turns.limit is not None and turns.limit.is_reached
            return Reason.GATHERED if is_gathered else Reason.BUDGET
        if turns.paused_until is not None and self._skipped.has_unread():
            return None
        return None if len(turns) or self._find_more() else Reason.EMPTY

    def _find_more(self) -> bool:
        """Return whether pages wait for their hosts, or have been reopened."""
        if self.parts.hosts.next_wake() is not None and self._skipped.has_unread():
            return True
        exchange = self._context.exchange
        if exchange.holds_back:
            return True
        found = self._skipped.reopen_or_close(may_close=exchange.is_over())
        if found:
            self._news.set()
        return found

    def _next_times(self, now: float, *, takes_more: bool) -> list[float | None]:
        """Return the moments when something is due without news, such as a request to a host."""
        ends_at, turns = self._time.ends_at, self._turns
        if self._is_paused:
            return [ends_at]
        if not takes_more:
            return [ends_at, now + COMMIT_EVERY_S]
        times = [ends_at, self.parts.hosts.next_wake()]
        # `launch` does what is due at the others. Without it, a moment that has passed stays due.
        if self._context.exchange.may_fetch:
            times += [turns.next_slow(now), turns.paused_until, self.parts.leases.waits_until]
        return times

    async def _until_news(self, times: Sequence[float | None], *, for_hosts: bool = True) -> None:
        """Wait until there is news, or the first of these times has come.

        Without `for_hosts`, the wait is for a disk, and a `StepClock` does not advance.
        """
        due = min([moment for moment in times if moment is not None], default=None)
        # A `StepClock` stands still while requests are under way: how long they take differs from
        # run to run, and must not decide which host is ready first.
        if self._steps is not None and self._turns.in_flight:
            due = None
        now = self._context.clock.now()
        try:
            async with asyncio.timeout(None if due is None else max(due - now, 0)):
                await self._news.wait()
        except TimeoutError:
            if self._steps is not None and for_hosts and due is not None:
                self._steps.pass_to(due)
