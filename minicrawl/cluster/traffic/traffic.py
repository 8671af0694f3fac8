"""Traffic of a shard: sends the batches that are due, and posts the batches that arrive.

Laws: a batch is published when its SEND step is committed, and again until its receiver tells that
it was posted. It is posted if it is the next one of its channel, and dropped otherwise. So a kill
at any moment neither loses nor doubles an atom.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from minicrawl.cluster.channels.batches import TransferBatch
from minicrawl.cluster.channels.outbox import UnpostedBatches
from minicrawl.cluster.records import RecordError
from minicrawl.cluster.traffic.local_shard import LocalShard
from minicrawl.crawl.events import Warned
from minicrawl.crawl.schedule.orders import ByKey
from minicrawl.opic.ledger.books import StepKind
from minicrawl.states import State

if TYPE_CHECKING:
    from minicrawl.crawl.parts import CrawlContext, CrawlParts

CHECK_S = 0.1
"""Longest interval between checks for due batches, or for room in memory."""
MOST_PENDING = 256
"""Limit of batches that wait for their commits. At the limit no batch is made."""
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
        # Batches, and the steps with which they may be published.
        self._pending = asyncio.Queue[tuple[int, TransferBatch]](MOST_PENDING)
        self.levelling_transfers: dict[int, int] = {}
        """Atoms that the pot must send, by receiver."""
        if isinstance(queue := parts.leases.queue, ByKey):
            shard.met_foreign = queue.met_foreign
        if parts.depths is not None:
            parts.depths.brought_nearer = set()

    def jobs(self) -> tuple[Coroutine[Any, Any, None], ...]:
        return self._publish_committed(), self._send(), self._send_again(), self._receive()

    async def _publish_committed(self) -> None:
        while True:
            step, batch = await self._pending.get()
            await self._recorder.committer.committed(step)
            await self._exchange.publish(batch)

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
                    await self._pending.put((self._frontier.last_seq, batch))
            await asyncio.sleep(min(CHECK_S, wait_s / 2))

    def tell_of_shorter_ways(self) -> None:
        """Enqueue foreign pages to which a shorter path was found."""
        if (depths := self._parts.depths) is not None:
            pages, depths.brought_nearer = depths.brought_nearer or (), set()
            self._shard.core.outbox.tell(pages, time.monotonic())

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
                committed = self._recorder.committer.last_step
                steps = self._recorder.pages.sendings_to(receiver, number, committed)
                for step in steps[:MOST_REPEATED]:
                    await self._exchange.publish(self._shard.core.batch(step))

    async def _receive(self) -> None:
        async for packed in self._exchange.arrivals():
            while not self._recorder.committer.takes_more:
                await asyncio.sleep(CHECK_S)
            try:
                await self._post(TransferBatch.unpack("it", packed))
            except RecordError as error:  # a genuine batch is sent again
                self._context.emit(Warned(text=f"a batch of another shard was dropped: {error}"))

    async def _post(self, batch: TransferBatch) -> None:
        urls = [transfer.url for transfer in batch.transfers]
        looked_up = await self._recorder.look_up_urls(urls)
        await self._recorder.committer.caught_up()
        self._shard.looked_up = looked_up
        poster = self._parts.poster
        if not (steps := self._shard.core.receipt(batch)):
            return  # it was posted, or comes again together with one that is missing
        for step in steps:
            if step.kind is StepKind.DEAD_END:
                self._parts.settler.close(step.page, State.BAD_REDIRECT)
                continue
            known = len(self._frontier)
            poster.post(step, new=range(known, known + step.born))
            if step.spending.links:
                self._parts.traps.quotas.inbound_cash.receive(
                    step.spending.links, step.spending.weights
                )
        if (depths := self._parts.depths) is not None:
            # Pages that were too far, and to which the batch has a shorter path, are reopened.
            for transfer in batch.transfers:
                if (page := self._frontier.urls.find(transfer.url)) is not None:
                    poster.reopen(depths.begin_at(page, max(transfer.depth, 1)))
        self._context.wake()
