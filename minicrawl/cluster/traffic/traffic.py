"""Traffic of a shard: sends the batches that are due, and posts the batches that arrive.

Laws: a batch is published when its SEND step is committed, in the order of its channel. An arrived
batch is acknowledged when its RECEIVE step is committed. So a kill at any moment neither loses nor
doubles an atom: a batch that was sent and perhaps not published is published by the next run, a
batch that does not arrive is published again, and one that arrives twice is dropped.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from minicrawl.cluster.channels.batches import BatchError, TransferBatch, unpack
from minicrawl.cluster.channels.outbox import UnpostedBatches
from minicrawl.cluster.engine import BatchDelivery
from minicrawl.cluster.traffic.local_shard import LocalShard
from minicrawl.crawl.events import Warned
from minicrawl.crawl.schedule.orders import ByKey
from minicrawl.opic.ledger.books import StepKind
from minicrawl.states import State

if TYPE_CHECKING:
    from minicrawl.crawl.parts import CrawlContext, CrawlParts

PUBLISHED = "published"
"""Name of the counter with the step up to which all batches are published."""
CHECK_S = 0.1
"""Longest interval between checks for due batches."""
MOST_PENDING = 256
"""Limit of batches that wait for a commit or the engine. At the limit no batch is made or taken."""
MOST_REPEATED = 32
"""Limit of batches of a channel to publish again at a time."""


class ShardTraffic:
    def __init__(
        self,
        context: "CrawlContext",
        parts: "CrawlParts",
        shard: LocalShard,
        exchange_interval_s: Callable[[float], float],
    ) -> None:
        """`exchange_interval_s` returns the current wait for a usual one: less in a young crawl."""
        self._context, self._parts, self._interval_s = context, parts, exchange_interval_s
        self._recorder, self._frontier = context.recorder, context.recorder.frontier
        self._shard, self._exchange = shard, shard.setup.exchange
        # Steps, and what to do when they are committed.
        self._pending = asyncio.Queue[tuple[int, Callable[[], Awaitable[None]]]](MOST_PENDING)
        self._is_acting = True  # batches of earlier runs are published first
        self.levelling_transfers: dict[int, int] = {}
        """Atoms that the pot must send, by receiver."""
        if isinstance(queue := parts.leases.queue, ByKey):
            shard.met_foreign = queue.met_foreign
        if parts.depths is not None:
            parts.depths.brought_nearer = set()

    def jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        return self._follow_commits(), self._send(), self._send_again(), self._receive()

    @property
    def is_busy(self) -> bool:
        """True if a batch waits for a commit or for the exchange."""
        return self._is_acting or not self._pending.empty()

    async def _follow_commits(self) -> None:
        # Batches of earlier runs may not have been published.
        last = int(self._recorder.counters.number(PUBLISHED))
        sendings = self._recorder.pages.sendings_after(last)
        for seq, batch in [(seq, self._shard.core.batch(step)) for seq, step in sendings]:
            await self._publish(seq, batch)
        while True:
            self._is_acting = False
            step, act = await self._pending.get()
            self._is_acting = True
            await self._recorder.committer.committed(step)
            await act()

    async def _after_commit(self, act: Callable[[], Awaitable[None]]) -> None:
        await self._pending.put((self._frontier.last_seq, act))

    async def _send(self) -> None:
        usual_s = self._shard.setup.posting.wait_s
        while True:
            self.tell_of_shorter_ways()
            wait_s = self._interval_s(usual_s)
            for receiver in {
                *self._shard.core.outbox.due(time.monotonic(), wait_s),
                *self.levelling_transfers,
            }:
                pot = max(0, self._frontier.ledger.virtual_page.pot)
                of_pot = min(self.levelling_transfers.pop(receiver, 0), pot)
                step = self._shard.core.sending(receiver, of_pot)
                if step.spending.links or of_pot:
                    batch = self._shard.core.batch(step)
                    self._recorder.apply_step(step)
                    seq = self._frontier.last_seq
                    await self._after_commit(partial(self._publish, seq, batch))
            await asyncio.sleep(min(CHECK_S, wait_s / 2))

    def tell_of_shorter_ways(self) -> None:
        """Enqueue foreign pages to which a shorter path was found."""
        if (depths := self._parts.depths) is not None:
            pages, depths.brought_nearer = depths.brought_nearer or (), set()
            self._shard.core.outbox.tell(pages, time.monotonic())

    async def _publish(self, step: int, batch: TransferBatch) -> None:
        await self._exchange.publish(batch)
        self._recorder.counters[PUBLISHED] = step

    async def _send_again(self) -> None:
        """Publish batches again that their receivers have not posted, for ever."""
        again_s, shard = self._shard.setup.posting.again_s, self._shard.place.number
        unposted = UnpostedBatches(again_s)
        while True:
            await asyncio.sleep(again_s / 4)
            sent = {other: end.number for other, end in self._shard.core.channels.sent.items()}
            facts_by_shard = self._exchange.told.items()
            posted = {other: facts.received.get(shard, 0) for other, facts in facts_by_shard}
            for receiver, number in unposted.overdue(sent, posted, time.monotonic()):
                published = int(self._recorder.counters.number(PUBLISHED))
                steps = self._recorder.pages.sendings_to(receiver, number, published)
                if steps:
                    missing = f"shard {receiver} posted nothing after batch {number}"
                    self._context.emit(Warned(text=f"{missing}: sending again"))
                for step in steps[:MOST_REPEATED]:
                    await self._exchange.publish(self._shard.core.batch(step))

    async def _receive(self) -> None:
        async for arrived in self._exchange.arrivals():
            try:
                batch = unpack(arrived.packed)
                await self._post(arrived, batch)
            except BatchError as error:  # a genuine batch is sent again
                self._context.emit(Warned(text=f"a batch of another shard was dropped: {error}"))
                await arrived.done()

    async def _post(self, arrived: BatchDelivery, batch: TransferBatch) -> None:
        urls = [transfer.url for transfer in batch.transfers]
        looked_up = await self._recorder.look_up_urls(urls)
        await self._recorder.committer.caught_up()
        self._shard.looked_up = looked_up
        settler = self._parts.settler
        # A batch before which one is missing is left for later: both will come again.
        is_early = batch.number > self._shard.core.expected(batch.sender)
        for step in self._shard.core.receipt(batch):
            if step.kind is StepKind.DEAD_END:
                settler.close(step.page, State.BAD_REDIRECT)
                continue
            known = len(self._frontier)
            settler.poster.post(step, new=range(known, known + step.born))
            if step.spending.links:
                self._parts.traps.quotas.inbound_cash.receive(
                    step.spending.links, step.spending.weights
                )
        if is_early:
            await arrived.later()
            return
        if (depths := self._parts.depths) is not None:
            # Pages that were too far, and to which the batch has a shorter path, are reopened.
            for transfer in batch.transfers:
                if (page := self._frontier.urls.find(transfer.url)) is not None:
                    settler.poster.reopen(depths.begin_at(page, max(transfer.depth, 1)))
        await self._after_commit(arrived.done)
        self._context.wake()
