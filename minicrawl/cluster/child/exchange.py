"""What the crawl of a shard hears of the others and tells them, through the engine.

Laws: no request begins after the moment up to which the lease is ours, nor before the node has
said what the shard may do. What another run of the crawl has told does not count, nor what was told
long ago.

Facts are broadcast, as the next ones come soon. Now and then they are kept as well, for those who
come later, and when the crawl has ended.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress

from minicrawl.cluster.engine import BatchDelivery, Broadcast, ClusterEngine, EngineUnavailable
from minicrawl.cluster.node.keys import listen
from minicrawl.cluster.node.presence import lease_clock
from minicrawl.cluster.node.records import TOLD_PREFIX
from minicrawl.shards.batches import BatchError, TransferBatch
from minicrawl.shards.facts import ShardFacts, as_bytes, facts_in
from minicrawl.shards.owners import ShardPlace

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
_KEEP_EVERY_S = 1.0
_KEEP_S = 1.0
"""The longest that keeping facts may take: newer ones come."""
FRESH_S = 4.0
"""What was told longer ago holds nobody back: its shard may be moving, or nobody can be heard."""


async def told_entry(engine: ClusterEngine, shard: int, run: int) -> int:
    """The last entry of the shard's log that its holders have told of, in this run or, if
    nothing is known of it, in the one before. Entries are counted over all runs.
    """
    for one in range(run, -1, -1):
        told = await engine.get(f"{TOLD_PREFIX}{one}.{shard}")
        if told is None or told.value is None:
            continue
        with suppress(BatchError):
            return facts_in(told.value).entry
    return 0


class EngineExchange:
    """One shard's way to the others."""

    def __init__(
        self,
        engine: ClusterEngine,
        place: ShardPlace,
        run: int,
        now: Callable[[], float] = lease_clock,
    ) -> None:
        self._engine, self._place, self._now = engine, place, now
        self._prefix = f"{TOLD_PREFIX}{run}."
        self._told: dict[int, tuple[ShardFacts, float]] = {}
        self._kept_at = -math.inf
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

    async def tell(self, facts: ShardFacts, *, are_last: bool = False) -> None:
        """Tell all shards how this one stands; while the engine does not answer, nobody hears."""
        key, content = f"{self._prefix}{facts.shard}", as_bytes(facts)
        await self._engine.broadcast(key, content)
        if not are_last and self._now() - self._kept_at < _KEEP_EVERY_S:
            return
        try:
            async with asyncio.timeout(_KEEP_S):
                await self._engine.put(key, content)
        except (EngineUnavailable, TimeoutError):
            return  # the next ones are kept
        self._kept_at = self._now()

    @property
    def told(self) -> Mapping[int, ShardFacts]:
        """What each other shard told last in this run, if that was lately."""
        since = self._now() - FRESH_S
        return {shard: facts for shard, (facts, at) in self._told.items() if at >= since}

    async def listen(self) -> None:
        """Hear what the others tell, for ever."""
        await listen(self._engine, self._prefix, self._hear)

    def _hear(self, said: Broadcast) -> None:
        try:
            facts = facts_in(said.content)
        except BatchError:
            return  # what was told before goes on to count
        if 0 <= facts.shard < self._place.of and facts.shard != self._place.number:
            self._told[facts.shard] = facts, self._now()

    # ------------------------------------------------------------ the lease

    def may_fetch(self) -> bool:
        """Whether the shard is ours for sure, and not told to wait."""
        return not self.is_halted and self._now() < self.until

    def is_over(self) -> bool:
        """The node says when it is: it stops the crawl."""
        return False
