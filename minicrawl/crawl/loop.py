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

from minicrawl.config import Budget, Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.dispatch.dispatcher import Dispatcher
from minicrawl.crawl.events import Ended, Event, Listener, Reason
from minicrawl.crawl.hosts.crawl_pace import StepClock
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.progress import Progress, are_bytes_spent, with_wait
from minicrawl.crawl.record.commits import COMMIT_EVERY_S
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.start.waiting_again import LAST_AT
from minicrawl.ports import Clock, WebAccess

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
        emit: Listener,
    ) -> None:
        self._news = asyncio.Event()
        self._context = context = CrawlContext(
            settings=settings,
            recorder=recorder,
            web_access=web_access,
            gate=gate,
            clock=clock,
            emit=emit,
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
        self._context.emit(Ended(reason=reason))
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
        self._context.emit(event)
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
        if (reason := turns.spent()) is not None:
            return reason
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
        has_reopened = self._skipped.reopen()
        if has_reopened:
            self._news.set()
        return has_reopened or self._skipped.waits_for_dead()

    def _next_times(self, now: float, *, takes_more: bool) -> list[float | None]:
        """Return the moments when something is due without news, such as a request to a host."""
        ends_at, turns = self._time.ends_at, self._turns
        if self._is_paused:
            return [ends_at]
        if not takes_more:
            return [ends_at, now + COMMIT_EVERY_S]
        times = [ends_at, self.parts.hosts.next_wake(), self._skipped.next_look(now)]
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
