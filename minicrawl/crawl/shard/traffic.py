"""The traffic of a shard: what is due is sent, and what comes is posted.

Laws: a batch is published when the commit that has its step is safe, and those of one channel in
their order. What came is `done` when the commit that has it is safe. So a kill at any moment loses
no atom and doubles none: what was sent and perhaps not published is published again by the next
run, as is what does not arrive, and what comes twice is dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from minicrawl.crawl.events import Warned
from minicrawl.crawl.schedule.orders import ByKey
from minicrawl.crawl.shard.exchange import ArrivedBatch
from minicrawl.crawl.shard.local import LocalShard
from minicrawl.model import State
from minicrawl.opic.journal import Step, StepKind
from minicrawl.shards.batches import BatchError, TransferBatch, unpack
from minicrawl.shards.channels import Arrival, UnpostedBatches

if TYPE_CHECKING:
    from minicrawl.crawl.parts import CrawlContext, CrawlParts

PUBLISHED = "published"
"""A counter: the last step whose batch, and those of all steps before it, were published."""
LOOK_S = 0.1
"""So often it is looked whether something is due."""
MOST_PENDING = 256
"""Batches that wait for a commit, and then for the engine; until there are fewer none comes."""
MOST_AGAIN = 32
"""Batches of a channel that are published again at a time."""


class _Pending(NamedTuple):
    """What is done when a step is safe."""

    step: int
    act: Callable[[], Awaitable[None]]


def key_queue(parts: CrawlParts) -> ByKey:
    """The queue of a crawl in shards: orders without keys are refused there."""
    queue = parts.leases.queue
    assert isinstance(queue, ByKey)
    return queue


class ShardTraffic:
    """The batches of one crawl."""

    def __init__(
        self,
        context: CrawlContext,
        parts: CrawlParts,
        shard: LocalShard,
        rhythm_s: Callable[[float], float],
    ) -> None:
        """`rhythm_s` makes what is usually waited shorter in a young crawl."""
        self._context, self._parts, self._rhythm_s = context, parts, rhythm_s
        self._recorder, self._frontier = context.recorder, context.recorder.frontier
        self._shard, self._exchange = shard, shard.setup.exchange
        self._pending = asyncio.Queue[_Pending](MOST_PENDING)
        self._is_following = True  # what earlier runs sent is published first
        self.to_level: dict[int, int] = {}
        """What the pot is to send to those of other shards."""
        shard.met_foreign = key_queue(parts).met_foreign
        for tracker in parts.trackers:
            tracker.brought_nearer = set()

    def jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        """What is done while the crawl runs."""
        return self._follow_commits(), self._send(), self._send_again(), self._receive()

    @property
    def is_busy(self) -> bool:
        """Whether something waits for a commit, or for the exchange."""
        return self._is_following or not self._pending.empty()

    # ------------------------------------------------------------ after commits

    async def _follow_commits(self) -> None:
        for step, batch in self._unpublished():
            await self._publish(step, batch)
        while True:
            self._is_following = False
            pending = await self._pending.get()
            self._is_following = True
            await self._recorder.committer.committed(pending.step)
            await pending.act()

    async def _after_commit(self, act: Callable[[], Awaitable[None]]) -> None:
        await self._pending.put(_Pending(self._frontier.last_seq, act))

    # ------------------------------------------------------------ to other shards

    def _unpublished(self) -> list[tuple[int, TransferBatch]]:
        """What earlier runs sent, and perhaps did not publish."""
        last = int(self._recorder.counters.number(PUBLISHED))
        sendings = self._recorder.pages.sendings_after(last)
        return [(seq, self._shard.core.batch(step)) for seq, step in sendings]

    async def _send(self) -> None:
        usual_s = self._shard.setup.posting.wait_s
        while True:
            self.tell_of_shorter_ways()
            wait_s = self._rhythm_s(usual_s)
            for receiver in {
                *self._shard.core.outbox.due(time.monotonic(), wait_s),
                *self.to_level,
            }:
                await self._send_to(receiver)
            await asyncio.sleep(min(LOOK_S, wait_s / 2))

    def tell_of_shorter_ways(self) -> None:
        """Foreign pages may be nearer than their shards know."""
        for tracker in self._parts.trackers:
            pages, tracker.brought_nearer = tracker.brought_nearer or (), set()
            self._shard.core.outbox.tell(pages, time.monotonic())

    async def _send_to(self, receiver: int) -> None:
        pot = max(0, self._frontier.ledger.virtual_page.pot)
        of_pot = min(self.to_level.pop(receiver, 0), pot)
        step = self._shard.core.sending(receiver, of_pot)
        if not step.spending.links and not of_pot:
            return
        batch = self._shard.core.batch(step)
        self._recorder.apply_step(step)
        seq = self._frontier.last_seq
        await self._after_commit(partial(self._publish, seq, batch))

    async def _publish(self, step: int, batch: TransferBatch) -> None:
        await self._exchange.publish(batch)
        self._recorder.counters[PUBLISHED] = step

    async def _send_again(self) -> None:
        """Publish again what its receivers do not post, as often as that is overdue."""
        again_s, shard = self._shard.setup.posting.again_s, self._shard.place.number
        unposted = UnpostedBatches(again_s)
        while True:
            await asyncio.sleep(again_s / 4)
            sent = {other: end.number for other, end in self._shard.core.channels.sent.items()}
            told = self._exchange.told.items()
            posted = {other: facts.received.get(shard, 0) for other, facts in told}
            for receiver, number in unposted.overdue(sent, posted, time.monotonic()):
                await self._publish_again(receiver, number)

    async def _publish_again(self, receiver: int, number: int) -> None:
        published = int(self._recorder.counters.number(PUBLISHED))
        steps = self._recorder.pages.sendings_to(receiver, number, published)[:MOST_AGAIN]
        if steps:
            self._context.tell(
                Warned(text=f"shard {receiver} posts nothing behind batch {number}: sent again")
            )
        for step in steps:
            await self._exchange.publish(self._shard.core.batch(step))

    # ------------------------------------------------------------ from other shards

    async def _receive(self) -> None:
        async for arrived in self._exchange.arrivals():
            try:
                batch = unpack(arrived.packed)
                await self._post(arrived, batch)
            except BatchError as error:  # if it is anybody's money, its sender sends it again
                self._context.tell(Warned(text=f"a batch of another shard was dropped: {error}"))
                await arrived.done()

    async def _post(self, arrived: ArrivedBatch, batch: TransferBatch) -> None:
        urls = [transfer.url for transfer in batch.transfers]
        looked_up = await self._recorder.look_up_urls(urls)
        await self._recorder.committer.caught_up()
        self._shard.pages.looked_up = looked_up
        arrival = self._shard.core.channels.judge(batch)
        for step in self._shard.core.receipt(batch):
            self._post_step(step)
        if arrival is Arrival.EARLY:
            await arrived.later()
            return
        self._come_nearer(batch)
        await self._after_commit(arrived.done)
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
