"""The loop: lease -> decide -> request -> parse -> settle -> commit.

Laws: a turn begins only while there is a free slot, the budget allows it and the store has room.
Settled pages are committed before the loop ends; the next run requests the others again. A crawl
that is stopped, or whose time is over, gives requests under way a moment to end. A paused crawl
begins nothing, and does not end before its time is over.

news    an event that may let another page have its turn
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import perf_counter

from minicrawl.config import Settings
from minicrawl.crawl.events import Ended, Event, Listener, Reason, Warned
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.progress import (
    ImportanceLimit,
    Progress,
    TimeLimit,
    are_bytes_spent,
    most_pages,
    with_wait,
)
from minicrawl.crawl.schedule.dispatch import LONGEST_LOOK_S, AsidePages, Dispatcher
from minicrawl.crawl.schedule.scope_gate import ScopeGate
from minicrawl.crawl.settle.committer import COMMIT_EVERY_S
from minicrawl.crawl.settle.posting import PageIntroducer
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.start.opening import LAST_AT
from minicrawl.crawl.turns.page_turns import HostTurns, PageTurns
from minicrawl.ports import Clock, WebAccess

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
        self._aside = AsidePages(context, parts)
        self._turns = TurnTasks(context, parts, self._aside)
        self._time = TimeLimit(settings.budget)
        self._is_paused = False
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
    def turns(self) -> int:
        """Number of turns under way."""
        return len(self._turns)

    async def run(self) -> Reason:
        """Crawl until the budget is spent, nothing is left, or the crawl is stopped."""
        reason = await self._context.recorder.committer.keep_while(self._work, self._report_room)
        if shortfall := self.parts.settler.focus.shortfall():
            self._context.tell(Warned(text=shortfall))
        self._context.tell(Ended(reason=reason))
        return reason

    async def attend(self, work: Coroutine[None, None, None]) -> bool:
        """Run work that requests URLs that are no pages, after all turns.

        Return False if it was cut short.
        """
        keep_while = self._context.recorder.committer.keep_while
        return await keep_while(partial(self._attend, work), self._report_room)

    async def _attend(self, work: Coroutine[None, None, None], group: asyncio.TaskGroup) -> bool:
        task = group.create_task(work)
        task.add_done_callback(lambda _: self._news.set())
        while not task.done() and not self._time.is_over(now := self._context.clock.now()):
            self._news.clear()
            if not self._is_paused:
                self.parts.hosts.wake(now)
            await asyncio.sleep(0)  # otherwise no other task runs while there is news
            await self._until_news((self._time.ends_at, self.parts.hosts.next_wake()))
        self.parts.side_requests.leave()
        await asyncio.wait((task,), timeout=GRACE_S)
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
        self._context.tell(event)
        self._news.set()

    async def _work(self, group: asyncio.TaskGroup) -> Reason:
        """Crawl, while batches are exchanged with other shards, if there are any."""
        return await self._context.exchange.during(self._crawl(group), group)

    async def _crawl(self, group: asyncio.TaskGroup) -> Reason:
        recorder, clock = self._context.recorder, self._context.clock
        last, was_paused = clock.now(), False
        self._time.begin(last)
        reason = None
        while reason is None:
            now = clock.now()
            recorder.counters.add("running_s", 0.0 if was_paused else now - last)
            recorder.counters[LAST_AT] = clock.today()
            last, was_paused = now, self._is_paused
            self._news.clear()
            if not self._is_paused:
                self._go_on(group, now)
            reason = self._reason_to_end(now)
            if reason is None:
                await self._wait()
        await self._turns.let_end(GRACE_S if self._time.is_over(clock.now()) else None)
        return reason

    def _go_on(self, group: asyncio.TaskGroup, now: float) -> None:
        """Begin turns, as far as allowed."""
        self.parts.hosts.wake(now)
        self._turns.limit.look(now)
        self._turns.paused_until = None
        if not self._context.recorder.committer.takes_more or self._time.is_over(now):
            return
        if self._aside.reopen_due():
            self._news.set()
        if self._context.exchange.may_fetch():
            self._turns.launch(group)

    def _reason_to_end(self, now: float) -> Reason | None:
        if self._time.is_over(now):
            return self._time.reason
        return self._context.exchange.reason_to_end(
            self._own_reason(), self._aside.has_unread, turns=len(self._turns)
        )

    def _own_reason(self) -> Reason | None:
        """Return why this shard would end the crawl, or None."""
        if self._is_paused:
            return None
        takes_more = self._context.recorder.committer.takes_more
        if self._turns.requesting or self._news.is_set() or not takes_more:
            return None
        if self._turns.is_budget_spent():
            return Reason.GATHERED if self._turns.limit.is_reached else Reason.BUDGET
        if self._turns.paused_until is not None and self._aside.has_unread():
            return None
        return None if len(self._turns) or self._find_more() else Reason.EMPTY

    def _find_more(self) -> bool:
        """Return whether pages wait for their hosts, or have been reopened."""
        if self.parts.hosts.next_wake() is not None and self._aside.has_unread():
            return True
        exchange = self._context.exchange
        if exchange.holds_back:
            return True
        found = self._aside.reopen_or_close(may_close=exchange.is_over())
        if found:
            self._news.set()
        return found

    async def _wait(self) -> None:
        """Wait until there is news, a host may be contacted, or the time of the crawl is over."""
        takes_more = self._context.recorder.committer.takes_more and not self._is_paused
        if takes_more:
            self.parts.replays.run(self.parts.settler.poster)
        await asyncio.sleep(0)  # otherwise no other task runs while there is news
        now = self._context.clock.now()
        times = [self._time.ends_at]
        if not self._is_paused:
            wake = self.parts.hosts.next_wake() if takes_more else now + COMMIT_EVERY_S
            times += [wake, self._turns.next_slow(now), self._turns.paused_until]
            times.append(self.parts.leases.waits_until)
        await self._until_news(times)

    async def _until_news(self, times: Iterable[float | None]) -> None:
        """Wait until there is news, or the first of these times has come."""
        due = min((time for time in times if time is not None), default=None)
        now = self._context.clock.now()
        with suppress(TimeoutError):
            async with asyncio.timeout(None if due is None else max(due - now, 0)):
                await self._news.wait()


class TurnTasks:
    """Turns under way, each in a task of its own."""

    def __init__(self, context: CrawlContext, parts: CrawlParts, aside: AsidePages) -> None:
        self._context, self._parts = context, parts
        wanted = context.settings.budget.importance
        self.limit = ImportanceLimit(wanted, context.recorder)
        introducer = PageIntroducer(context.recorder, parts.settler.poster)
        self._pages = PageTurns(context, parts, introducer)
        self._hosts = HostTurns(context, parts, introducer)
        self._dispatcher = Dispatcher(context, parts, self._pages, self._hosts, aside)
        self._tasks: set[asyncio.Task[None]] = set()
        self._fetched_before = int(context.recorder.counters.number("fetched"))
        self.paused_until: float | None = None
        """End of the pause of the whole crawl that kept the last turn from being launched. It is
        noted once a round: a pause that ends in the middle of a round must not be forgotten.
        """

    def __len__(self) -> int:
        return len(self._tasks)

    @property
    def requesting(self) -> int:
        """Number of turns that hold a request."""
        return len(self._tasks) - self._parts.side_requests.idle

    @property
    def _are_full(self) -> bool:
        return self.requesting >= self._context.settings.politeness.concurrency

    def is_budget_spent(self) -> bool:
        """Return whether turns under way may use up the budget of pages, bytes or importance."""
        budget, counted = self._context.settings.budget, self._context.recorder.counters.number
        most = most_pages(budget, self._fetched_before)
        if most is not None and counted("fetched") + self._pages.under_way >= most:
            return True
        return self.limit.is_reached or are_bytes_spent(self._context)

    def launch(self, group: asyncio.TaskGroup) -> None:
        """Give pages their turns while there is room."""
        until = perf_counter() + LONGEST_LOOK_S
        while not self.is_budget_spent():
            self.paused_until = self._end_of_pause()
            if self.paused_until is not None:
                return
            if self._are_full:
                self._make_room()
                return
            turn = self._dispatcher.next_turn(until)
            if turn is None:
                self._release_expensive()
                return
            self._start(group, turn)

    def _end_of_pause(self) -> float | None:
        """Return until when --max-rate and --hours allow no request of the whole crawl, or None."""
        pace, now = self._parts.hosts.pace, self._context.clock.now()
        wait_s = 0.0 if pace is None else pace.wait_s(now)
        return now + wait_s if wait_s else None

    def _start(self, group: asyncio.TaskGroup, turn: Coroutine[None, None, None]) -> None:
        task = group.create_task(turn)
        self._tasks.add(task)
        task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._context.wake()

    def _make_room(self) -> None:
        """Free a slot of a slow host for the next page, if slow hosts hold too many."""
        leases, slots, now = self._parts.leases, self._parts.slots, self._context.clock.now()
        if slots.has_too_many_slow(now) and (lease := leases.next()):
            leases.give_back(lease)
            leases.resume(lease.host)
            slots.give_up_slowest(now)

    def _release_expensive(self) -> None:
        """Release an expensive host if no other host is due."""
        if not self._tasks and self._parts.hosts.release_expensive(self._context.clock.now()):
            self._context.wake()

    def next_slow(self, now: float) -> float | None:
        """Return when the next request becomes slow, if all slots are taken."""
        return self._parts.slots.next_slow(now) if self._are_full else None

    async def let_end(self, grace_s: float | None) -> None:
        """Wait for the turns of pages, and cancel those of hosts, whose pages nobody wants now."""
        self._parts.side_requests.leave()
        self._hosts.cancel()
        if self._tasks:
            _, late = await asyncio.wait(tuple(self._tasks), timeout=grace_s)
            for task in late:
                task.cancel()
