"""An exchange in this process with all the faults that an engine may have.

It delivers batches twice, late and in any order. Batches that were not acknowledged come again, to
the holder that the shard has then. The exchange forgets confirmed batches if a test says so.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from random import Random

from minicrawl.cluster.assignment import fetched_together, has_ended
from minicrawl.cluster.channels import TransferBatch, pack
from minicrawl.cluster.engine import BatchDelivery
from minicrawl.cluster.exchange import BatchExchange
from minicrawl.cluster.records import ShardFacts


class FakeExchanges:
    """Batches and facts under way between the shards of one crawl."""

    def __init__(self, shards: int, budget: int | None = None, *, chance: Random) -> None:
        """`chance` draws the faults."""
        self.shards, self.budget, self.chance = shards, budget, chance
        self.numbers: defaultdict[tuple[int, int], int] = defaultdict(int)
        self.waiting: defaultdict[int, list[bytes]] = defaultdict(list)
        self.came = [asyncio.Event() for _ in range(shards)]
        self.told: dict[int, ShardFacts] = {}
        self.forgets = 0.0
        """Probability that a batch is forgotten when it is first published."""
        self.forgotten: set[tuple[int, int, int]] = set()
        self.published: list[TransferBatch] = []

    def sent_until(self, sender: int, receiver: int, number: int) -> int:
        return sum(
            batch.atoms
            for batch in self.published
            if (batch.sender, batch.receiver) == (sender, receiver) and batch.number <= number
        )

    def of(self, shard: int) -> "FakeExchange":
        self.came[shard].set()
        return FakeExchange(self, shard)


class FakeExchange(BatchExchange):
    """The exchange as one holder of a shard uses it, without an engine."""

    def __init__(self, exchanges: FakeExchanges, shard: int) -> None:
        self._all, self._shard = exchanges, shard
        self.is_ours = True

    async def publish(self, batch: TransferBatch) -> None:
        """Keep a batch, sometimes twice, and sometimes answer late."""
        channel, every = (batch.sender, batch.receiver), self._all
        expected = every.numbers[channel] + 1
        assert batch.number <= expected, "a batch was published before an earlier one"
        if batch.number == expected:
            every.numbers[channel] = batch.number
            every.published.append(batch)
            if every.chance.random() < every.forgets:
                every.forgotten.add((*channel, batch.number))
                return
        was_forgotten = (*channel, batch.number) in every.forgotten
        if batch.number == expected or was_forgotten or every.chance.random() < 0.5:
            every.waiting[batch.receiver] += [pack(batch)] * every.chance.choice((1, 1, 1, 2))
            every.came[batch.receiver].set()
        await asyncio.sleep(every.chance.choice((0, 0, 0, 0.01)))

    async def arrivals(self) -> AsyncIterator[BatchDelivery]:
        """Yield waiting batches in any order, and repeatedly until they are acknowledged."""
        waiting, came = self._all.waiting[self._shard], self._all.came[self._shard]
        while True:
            while not waiting:
                came.clear()
                await came.wait()
            await asyncio.sleep(self._all.chance.choice((0, 0, 0.005)))
            if waiting:
                yield FakeArrival(waiting, self._all.chance.choice(waiting))

    async def tell(self, facts: ShardFacts, *, are_last: bool = False) -> None:
        if not are_last:  # each shard must find out by itself that all are idle
            self._all.told[self._shard] = ShardFacts.unpack("told", facts.pack())

    @property
    def told(self) -> Mapping[int, ShardFacts]:
        return self._all.told

    @property
    def may_fetch(self) -> bool:
        return self.is_ours

    def is_over(self) -> bool:
        told, budget = self._all.told, self._all.budget
        is_spent = budget is not None and fetched_together(told) >= budget
        return is_spent or has_ended(told, self._all.shards)


class FakeArrival:
    def __init__(self, waiting: list[bytes], packed: bytes) -> None:
        self._waiting, self.packed = waiting, packed

    async def done(self) -> None:
        if self.packed in self._waiting:
            self._waiting.remove(self.packed)

    async def later(self) -> None:
        """Leave the batch among the waiting ones."""
