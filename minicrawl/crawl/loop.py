"""The loop: lease -> decide -> request -> parse -> settle -> commit.

Laws: a turn begins only while there is a free slot, the budget allows it and the store has room.
Settled pages are committed before the loop ends; the next run requests the others again. A crawl
that is stopped, or whose time is over, gives requests under way a moment to end. A paused crawl
begins nothing, and ends only when it is stopped or its time is over.

news    an event that may let another page have its turn
"""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from functools import partial

from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.dispatch.dispatcher import Dispatcher
from minicrawl.crawl.events import Ended, Event, Listener, Reason
from minicrawl.crawl.hosts.crawl_pace import StepClock
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.progress import Progress
from minicrawl.crawl.record.commits import COMMIT_EVERY_S
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.start.waiting_again import LAST_AT, in_scope_now
from minicrawl.ports import Clock, WebAccess
from minicrawl.store import tables

GRACE_S = 5.0
"""Time for requests under way to end when the crawl is stopped, or its time is over."""


class Crawler:
    """One crawl. Call `run` once, and `stop` in the loop's own thread."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        gate: ScopeGate,
        clock: Clock,
        emit: Listener,
    ) -> None:
        self._news = asyncio.Event()
        self.context = context = CrawlContext(
            settings, recorder, web_access, gate, clock, emit, self._news.set
        )
        self.parts = CrawlParts(context)
        self._turns = Dispatcher(context, self.parts)
        self._recorder, self._clock, self._leases = recorder, clock, self.parts.leases
        self._is_continuous = settings.budget.continuous
        self._ends_at: float | None = None
        self.is_paused = False
        """True if no requests begin at present."""
        self.is_stopped = False
        """True if the crawl ends as soon as the turns under way have ended."""
        self._steps = clock if isinstance(clock, StepClock) else None
        self._watch = clock.now if self._steps is None else self._steps.watch
        """Returns the time by which the run is measured."""
        self.parts.restore(context)
        context.exchange = recorder.shard.exchange(self)

    @property
    def turns(self) -> int:
        """Number of turns under way."""
        return len(self._turns)

    async def run(self) -> Reason:
        """Crawl until the budget is spent, nothing is left, or the crawl is stopped."""
        exchange = self.context.exchange
        reason = await self._recorder.committer.keep_while(
            lambda group: exchange.during(self._crawl(group), group), self._report_room
        )
        self.context.emit(Ended(reason=reason))
        return reason

    async def attend(self, work: Coroutine[None, None, None]) -> bool:
        """Run `work`, which requests what are not pages. Return False if it was cut short."""
        keep_while = self._recorder.committer.keep_while
        return await keep_while(partial(self._attend, work), self._report_room)

    async def _attend(self, work: Coroutine[None, None, None], group: asyncio.TaskGroup) -> bool:
        task, began = group.create_task(work), self._watch()
        task.add_done_callback(lambda _: self._news.set())
        while not task.done() and not self._is_over(now := self._clock.now()):
            self._news.clear()
            if not self.is_paused:
                self.parts.hosts.wake(now)
            await asyncio.sleep(0)  # otherwise no other task runs while there is news
            await self._until_news([self._ends_at, self.parts.hosts.next_wake()])
        self.parts.side_requests.leave()
        await asyncio.wait((task,), timeout=GRACE_S)
        self._recorder.counters.add("running_s", self._watch() - began)
        return not task.cancel() and not self._is_spent()

    async def may_ask(self) -> bool:
        """Wait until attended work may send a request. Return False if it may send no more."""
        while not self._is_spent() and (self.is_paused or not self._recorder.committer.takes_more):
            await asyncio.sleep(COMMIT_EVERY_S)
        return not self._is_spent()

    def _is_spent(self) -> bool:
        return self._is_over(self._clock.now()) or self.context.are_bytes_spent()

    def _is_over(self, now: float) -> bool:
        """Return whether the crawl was stopped, or its time is over."""
        return self.is_stopped or (self._ends_at is not None and now >= self._ends_at)

    def stop(self) -> None:
        """Lease no more pages, and give turns under way a moment to end."""
        self.is_stopped = True
        self._news.set()

    def completed(self, progress: Progress) -> Progress:
        """Add to the progress the state of the browsers, and what the crawl waits for.

        That is the start of its hours, or a host if no request is under way.
        """
        renderer = self.context.renderer
        if renderer is not None:
            progress = replace(progress, rendering=renderer.progress())
        hosts, now = self.parts.hosts, self._clock.now()
        if hosts.pace is not None and (closed_s := hosts.pace.closed_s()):
            return replace(progress, waits_for=f"{hosts.pace.opens} (--hours)", wait_s=closed_s)
        waiting = (host for host in hosts.values() if host.ready_at > now)
        host = min(waiting, key=lambda host: (host.ready_at, host.id), default=None)
        if host is None or self._turns.requesting:
            return progress
        return replace(progress, waits_for=host.origin, wait_s=host.ready_at - now)

    def pause(self) -> None:
        """Begin no more requests until `resume`."""
        self.is_paused = True
        self._news.set()

    def resume(self) -> None:
        """Begin requests again."""
        self.is_paused = False
        self._news.set()

    def _report_room(self, event: Event) -> None:
        """Report that the disk of the store is full, or has room again."""
        self.context.emit(event)
        self._news.set()

    async def _crawl(self, group: asyncio.TaskGroup) -> Reason:
        recorder, clock, news, watch = self._recorder, self._clock, self._news, self._watch
        last, was_paused = watch(), False
        seconds = self.context.settings.budget.seconds
        self._ends_at = None if seconds is None else clock.now() + seconds
        while True:
            now, ran = clock.now(), watch()
            recorder.counters.add("running_s", 0.0 if was_paused else ran - last)
            recorder.counters[LAST_AT] = today = clock.today()
            recorder.note_time(today)
            last, was_paused = ran, self.is_paused
            # Cleared before the look, not after it: news that comes meanwhile begins another round.
            news.clear()
            takes_more = recorder.committer.takes_more
            if not was_paused:
                self._go_on(group, now, takes_more=takes_more)
            reason = self._reason_to_end(now, takes_more=takes_more)
            if reason is not None:
                break
            if takes_more and not self.is_paused:
                self.parts.replays.run(self.parts.poster)
            await asyncio.sleep(0)  # otherwise no other task runs while there is news
            if not news.is_set():
                times = self._next_times(clock.now(), takes_more=takes_more)
                await self._until_news(times, for_hosts=takes_more)
        await self._turns.let_end(GRACE_S if self._is_over(clock.now()) else None)
        self._leases.save()
        if (limit := self._turns.limit) is not None and limit.reason is reason:
            recorder.counters[tables.GOES_ON_UNTIL] = limit.goes_on_until
        return reason

    def _go_on(self, group: asyncio.TaskGroup, now: float, *, takes_more: bool) -> None:
        """Wake hosts, reopen pages and begin turns, as far as the time and the disk allow."""
        turns, traps = self._turns, self.parts.traps
        self.parts.hosts.wake(now)
        if turns.limit is not None:
            turns.limit.look(now)
        turns.paused_until = None
        if not takes_more or self._is_over(now):
            return
        if self._is_continuous:
            self._leases.look_for_dead()
        requests = self._recorder.counters.number("requests")
        if requests >= traps.due_at:
            self._reopen(traps.due(requests))
        if self.context.exchange.may_fetch:
            turns.launch(group)

    def _reopen(self, pages: list[int]) -> bool:
        """Reopen these pages, and those that a wider scope admits. Return whether there are any."""
        gate = self.context.gate
        if gate.has_widened:  # by the redirect of a seed
            gate.has_widened = False
            pages += in_scope_now(self._recorder, gate, self.parts.depths)
        self.parts.poster.reopen(pages)
        if pages:
            self._news.set()
        return bool(pages)

    def _reason_to_end(self, now: float, *, takes_more: bool) -> Reason | None:
        if self._is_over(now):
            return Reason.STOPPED if self.is_stopped else Reason.BUDGET
        turns, has_unread, own = self._turns, self._leases.has_more, None
        # A crawl never ends while it is busy: a request under way may lead to new pages, news may
        # have freed a host, and in a pause or with a full disk, pages may still wait.
        is_busy = turns.may_lead_on or self._news.is_set() or self.is_paused or not takes_more
        if not is_busy and (own := turns.spent()) is None:
            is_waiting = turns.paused_until is not None and has_unread()
            own = None if is_waiting or len(turns) or self._find_more() else Reason.EMPTY
        return self.context.exchange.reason_to_end(own, has_unread, turns=len(turns))

    def _find_more(self) -> bool:
        """Return whether pages wait for their hosts, have been reopened, or are dead targets that
        a continuous crawl requests again.
        """
        if self.parts.hosts.next_wake() is not None and self._leases.has_more():
            return True
        if self.context.exchange.holds_back or self._reopen(self.parts.traps.earned()):
            return True
        return self._is_continuous and self._leases.has_dead()

    def _next_times(self, now: float, *, takes_more: bool) -> list[float | None]:
        """Return the moments when something is due without news, such as a request to a host."""
        ends_at, turns = self._ends_at, self._turns
        if self.is_paused:
            return [ends_at]
        if not takes_more:
            return [ends_at, now + COMMIT_EVERY_S]
        times = [ends_at, self.parts.hosts.next_wake()]
        if self._is_continuous:
            times.append(self._leases.next_look(now))
        # `launch` does what is due at the others. Without it, a moment that has passed stays due.
        if self.context.exchange.may_fetch:
            slots = self.parts.slots
            times += [slots.next_slow(now), slots.next_silent() if slots.free > 0 else None]
            times += [turns.paused_until, self._leases.waits_until]
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
        now = self._clock.now()
        try:
            async with asyncio.timeout(None if due is None else max(due - now, 0)):
                await self._news.wait()
        except TimeoutError:
            if self._steps is not None and for_hosts and due is not None:
                self._steps.pass_to(due)
