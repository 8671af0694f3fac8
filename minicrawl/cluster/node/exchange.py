"""What the crawl of a shard hears of the others and tells them, through the engine.

Laws: no request begins after the moment up to which the lease is ours, nor before the node has
said what the shard may do. What another run of the crawl has told does not count.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing

from minicrawl.cluster.engine import BatchDelivery, ClusterEngine, EngineUnavailable, KeyEntry
from minicrawl.cluster.node.keys import follow
from minicrawl.cluster.node.records import TOLD_PREFIX
from minicrawl.shards.batches import BatchError, TransferBatch
from minicrawl.shards.facts import ShardFacts, as_bytes, facts_in
from minicrawl.shards.owners import ShardPlace

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0


def lease_clock() -> float:
    """Seconds that go on while the process or the machine sleeps; the same for a node and its
    children.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class EngineExchange:
    """One shard's way to the others."""

    def __init__(self, engine: ClusterEngine, place: ShardPlace, run: int) -> None:
        self._engine, self._place = engine, place
        self._prefix = f"{TOLD_PREFIX}{run}."
        self._told: dict[int, ShardFacts] = {}
        self.until = 0.0
        self.is_halted = True

    # ------------------------------------------------------------ batches

    async def publish(self, batch: TransferBatch) -> None:
        """Send the batch; as long as the engine does not answer, again and again."""
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                await self._engine.publish(batch)
            except EngineUnavailable:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                return

    async def arrivals(self) -> AsyncIterator[BatchDelivery]:
        """What comes from the other shards, without end."""
        while True:
            try:
                async with aclosing(self._engine.inbox(self._place.number)) as deliveries:
                    async for delivery in deliveries:
                        yield delivery
            except EngineUnavailable:
                await asyncio.sleep(_FIRST_PAUSE_S)

    # ------------------------------------------------------------ facts

    async def tell(self, facts: ShardFacts) -> None:
        """Tell all shards how this one stands; while the engine does not answer, nobody hears."""
        self._told[facts.shard] = facts
        try:
            await self._engine.put(f"{self._prefix}{facts.shard}", as_bytes(facts))
        except EngineUnavailable:
            return  # it is told again in a second

    @property
    def told(self) -> Mapping[int, ShardFacts]:
        """What each shard told last in this run."""
        return self._told

    async def listen(self) -> None:
        """Hear what the others tell, for ever."""
        await follow(self._engine, self._prefix, self._hear)

    def _hear(self, entry: KeyEntry) -> None:
        if entry.value is None:
            return
        try:
            facts = facts_in(entry.value)
        except BatchError:
            return  # what was told before goes on to count
        if 0 <= facts.shard < self._place.of and facts.shard != self._place.number:
            self._told[facts.shard] = facts

    # ------------------------------------------------------------ the lease

    def may_fetch(self) -> bool:
        """Whether the shard is ours for sure, and not told to wait."""
        return not self.is_halted and lease_clock() < self.until

    def is_over(self) -> bool:
        """The node says when it is: it stops the crawl."""
        return False
