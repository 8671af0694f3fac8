"""The traffic of a shard: what is due is sent, what comes is posted, facts are told and heard.

Laws: a batch is published when the commit that has its step is safe, and those of one channel in
their order. What came is `done` when the commit that has it is safe. So a kill at any moment loses
no atom and doubles none: what was sent and perhaps not published is published again by the next
run, and what comes twice is dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from minicrawl.crawl.events import Reason, Warned
from minicrawl.crawl.schedule.orders import ByKey
from minicrawl.crawl.shard.exchange import ArrivedBatch
from minicrawl.crawl.shard.local import LocalShard
from minicrawl.crawl.shard.ordering import PageLevel
from minicrawl.model import State
from minicrawl.opic.journal import Step, StepKind
from minicrawl.opic.money import UNIT
from minicrawl.shards.batches import BatchError, TransferBatch, unpack
from minicrawl.shards.channels import Arrival
from minicrawl.shards.facts import ShardFacts
from minicrawl.shards.levelling import to_level

if TYPE_CHECKING:
    from minicrawl.crawl.loop import Crawler

T = TypeVar("T")

PUBLISHED = "published"
"""A counter: the last step whose batch, and those of all steps before it, were published."""
LOOK_S = 0.1
"""So often it is looked whether something is due."""
MOST_PENDING = 256
"""Batches that wait for a commit, and then for the engine; until there are fewer none comes."""
_LEAST_SHARE = 16
"""Of a pot, what is worth a batch to another pot: that many of it are the whole."""


class _Pending(NamedTuple):
    """What is done when a step is safe."""

    step: int
    act: Callable[[], Awaitable[None]]


class ShardTraffic:
    """The traffic of one crawl. Its tasks run `while` the crawl does."""

    def __init__(self, crawler: Crawler, shard: LocalShard) -> None:
        context = crawler.context
        self._crawler, self._context, self._parts = crawler, context, crawler.parts
        self._recorder, self._frontier = context.recorder, context.recorder.frontier
        self._committer = context.recorder.committer
        self._shard, self._core, self.exchange = shard, shard.core, shard.setup.exchange
        self._tell_s = shard.setup.tell_s
        self._pending = asyncio.Queue[_Pending](MOST_PENDING)
        self._is_busy = True  # what earlier runs sent is published first
        self._to_level: dict[int, int] = {}
        self._requests = self._recorder.counters.number("requests")
        self._is_empty = self._wants_pages = False
        queue = self._parts.leases.queue
        assert isinstance(queue, ByKey)
        shard.met_foreign = queue.met_foreign
        for tracker in self._parts.trackers:
            tracker.brought_nearer = set()
        self.level: PageLevel | None = None
        order = context.settings.order
        if (order.strategy, order.order_by) == ("greedy", "page"):
            self.level = PageLevel(self._frontier, self._a_host())
            self._parts.leases.admits = self.level.admits

    def _a_host(self) -> int:
        """The pages of a host that can be asked for while the level stays."""
        delay_s = self._context.settings.politeness.delay_after(None)
        return ceil(self._tell_s / delay_s) if delay_s else MOST_PENDING

    async def during(self, work: Coroutine[Any, Any, T], group: asyncio.TaskGroup) -> T:
        """Do the work while batches come and go."""
        jobs = (self._follow_commits(), self._send(), self._receive(), self._tell())
        tasks = [group.create_task(job) for job in jobs]
        try:
            return await work
        finally:
            for task in tasks:
                task.cancel()

    # ------------------------------------------------------------ for the loop

    def may_fetch(self) -> bool:
        """Whether requests may begin."""
        return self.exchange.may_fetch()

    def reason_to_end(self, own: Reason | None, *, has_unread: bool, turns: int) -> Reason | None:
        """Why the crawl ends, if it does; `own` is why it would if there were no other shards."""
        self._is_empty = own is not None and not has_unread and not turns
        self._wants_pages = own is Reason.BUDGET and has_unread
        if not self.exchange.is_over():
            return None
        if own is None and not has_unread:
            return None  # what waited for a shorter way has just been closed
        return own or Reason.BUDGET

    @property
    def holds_back(self) -> bool:
        """Whether pages wait because richer ones wait elsewhere."""
        return self.level is not None and self.level.holds_back

    # ------------------------------------------------------------ after commits

    async def _follow_commits(self) -> None:
        for step, batch in self._unpublished():
            await self._publish(step, batch)
        while True:
            self._is_busy = False
            pending = await self._pending.get()
            self._is_busy = True
            await self._committer.committed(pending.step)
            await pending.act()

    async def _after_commit(self, act: Callable[[], Awaitable[None]]) -> None:
        await self._pending.put(_Pending(self._frontier.last_seq, act))

    # ------------------------------------------------------------ to other shards

    def _unpublished(self) -> list[tuple[int, TransferBatch]]:
        """What earlier runs sent, and perhaps did not publish."""
        last = int(self._recorder.counters.number(PUBLISHED))
        sendings = self._recorder.pages.sendings_after(last)
        return [(seq, self._core.batch(step)) for seq, step in sendings]

    async def _send(self) -> None:
        while True:
            self._tell_of_shorter_ways()
            for receiver in {*self._core.outbox.due(time.monotonic()), *self._to_level}:
                await self._send_to(receiver)
            await asyncio.sleep(LOOK_S)

    def _tell_of_shorter_ways(self) -> None:
        """Foreign pages may be nearer than their shards know."""
        for tracker in self._parts.trackers:
            pages, tracker.brought_nearer = tracker.brought_nearer or (), set()
            self._core.outbox.tell(pages, time.monotonic())

    async def _send_to(self, receiver: int) -> None:
        pot = max(0, self._frontier.ledger.virtual_page.pot)
        of_pot = min(self._to_level.pop(receiver, 0), pot)
        step = self._core.sending(receiver, of_pot)
        if not step.spending.links and not of_pot:
            return
        batch = self._core.batch(step)
        self._recorder.apply_step(step)
        seq = self._frontier.last_seq
        await self._after_commit(partial(self._publish, seq, batch))

    async def _publish(self, step: int, batch: TransferBatch) -> None:
        await self.exchange.publish(batch)
        self._recorder.counters[PUBLISHED] = step

    # ------------------------------------------------------------ from other shards

    async def _receive(self) -> None:
        async for arrived in self.exchange.arrivals():
            try:
                batch = unpack(arrived.packed)
                await self._post(arrived, batch)
            except BatchError as error:  # it is money, so nobody says that it is done
                self._context.tell(Warned(text=f"a batch of another shard was left: {error}"))
                await arrived.later()

    async def _post(self, arrived: ArrivedBatch, batch: TransferBatch) -> None:
        urls = [transfer.url for transfer in batch.transfers]
        looked_up = await self._recorder.look_up_urls(urls)
        await self._committer.caught_up()
        self._shard.pages.looked_up = looked_up
        arrival = self._core.channels.judge(batch)
        for step in self._core.receipt(batch):
            self._post_step(step)
        if arrival is Arrival.EARLY:
            await arrived.later()
            return
        self._come_nearer(batch)
        await self._after_commit(arrived.done)
        self._is_empty = False
        self._context.wake()

    def _post_step(self, step: Step) -> None:
        settler = self._parts.settler
        if step.kind is StepKind.DEAD_END:
            settler.close(step.page, State.BAD_REDIRECT)
            return
        known = len(self._frontier)
        settler.poster.post(step, new=range(known, known + step.born))
        if step.spending.links:
            self._parts.traps.received(step.spending.links, step.spending.weights)

    def _come_nearer(self, batch: TransferBatch) -> None:
        """Other shards may know shorter ways to pages that wait for one."""
        find, queue = self._frontier.urls.find, self._parts.leases.queue
        for tracker in self._parts.trackers:
            for transfer in batch.transfers:
                if (page := find(transfer.url)) is not None:
                    for released in tracker.begin_at(page, max(transfer.depth, 1)):
                        queue.release(released)

    # ------------------------------------------------------------ what is told and heard

    async def _tell(self) -> None:
        while True:
            facts = self.facts()
            await self.exchange.tell(facts)
            self._hear(facts)
            await asyncio.sleep(self._tell_s)

    def facts(self) -> ShardFacts:
        """How the shard stands."""
        ledger, number = self._frontier.ledger, self._recorder.counters.number
        before, self._requests = self._requests, number("requests")
        parked = sum(map(len, self._parts.trackers))
        self._tell_of_shorter_ways()
        outbox = len(self._core.outbox)
        is_safe = self._committer.last_step == self._frontier.last_seq and not self._waits
        return ShardFacts(
            shard=self._shard.place.number,
            fetched=int(number("fetched")),
            under_way=self._crawler.turns,
            waiting=ledger.unread - parked,
            outbox=outbox,
            pot=ledger.virtual_page.pot,
            minted=ledger.minted,
            recorded=ledger.recorded,
            pace=int(self._requests - before),
            sketch=self.level.sketch() if self.level is not None else {},
            sent={other: end.number for other, end in self._core.channels.sent.items()},
            received={other: end.number for other, end in self._core.channels.received.items()},
            is_idle=self._is_empty and is_safe and not outbox,
            wants_pages=self._wants_pages,
        )

    @property
    def _waits(self) -> bool:
        return self._is_busy or not self._pending.empty()

    def _hear(self, own: ShardFacts) -> None:
        told = {**self.exchange.told, own.shard: own}
        if self.level is not None:
            self.level.hear(told.values())
        pots = {shard: facts.pot_told for shard, facts in told.items()}
        least = max(UNIT, own.pot // _LEAST_SHARE)
        self._to_level = to_level(own.shard, pots, least)
        self._context.wake()
