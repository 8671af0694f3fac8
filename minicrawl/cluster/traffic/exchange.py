"""The exchange of batches and facts with other shards, through the engine.

Batches and facts are broadcast, and may be lost: what a receiver has posted follows from its facts,
and its sender makes the rest again from its log. So nothing of them is stored on the way.

Laws: no request begins after the lease has run out, nor before the node has said what the shard
may do. Facts of other runs of the crawl, and old facts, do not count.

Once a second, and at the end, facts are also stored as a key, for nodes that come later and for the
next holder of the shard.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing, suppress

import zstandard

from minicrawl.cluster.channels.batches import MOST_BYTES, TransferBatch
from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable
from minicrawl.cluster.node.following import listen
from minicrawl.cluster.node.presence import lease_clock
from minicrawl.cluster.records import TOLD_PREFIX, KeyEntry, RecordError, ShardFacts
from minicrawl.opic.ledger.channels import ShardPlace

BATCH_PREFIX = "batch."
_LEVEL = 3
_KEEP_EVERY_S = 1.0
_KEEP_S = 1.0
"""Time limit for storing facts. It is short, since newer facts follow."""
FRESH_S = 4.0
"""Age at which facts stop holding others back: their shard may be moving, or cut off."""


class BatchExchange:
    """Link of one shard to the others. Use it in the thread of the crawl."""

    def __init__(
        self,
        engine: ClusterEngine,
        place: ShardPlace,
        run: int,
        now: Callable[[], float] = lease_clock,
    ) -> None:
        self._engine, self._place, self._now = engine, place, now
        self.run = run
        self._told: dict[int, tuple[ShardFacts, float]] = {}
        self._kept_at = -math.inf
        self.until = 0.0
        self.is_halted = True

    async def publish(self, batch: TransferBatch) -> None:
        content = zstandard.ZstdCompressor(level=_LEVEL).compress(batch.pack())
        await self._engine.broadcast(f"{BATCH_PREFIX}{batch.receiver}.{batch.sender}", content)

    async def arrivals(self) -> AsyncIterator[bytes]:
        """Yield the packed batches that come for this shard, unchecked, for ever."""
        expanding = zstandard.ZstdDecompressor(max_window_size=2 * MOST_BYTES)
        prefix = f"{BATCH_PREFIX}{self._place.number}."
        async with aclosing(self._engine.broadcasts(prefix)) as broadcasts:
            async for sent in broadcasts:
                packed = b""  # which `TransferBatch.unpack` refuses
                with suppress(zstandard.ZstdError):
                    packed = expanding.stream_reader(sent.value or b"").read(MOST_BYTES + 1)
                yield packed

    async def tell(self, facts: ShardFacts, *, are_last: bool = False) -> None:
        """Tell all shards our facts. They are lost while the engine does not answer."""
        key, content = f"{TOLD_PREFIX}{facts.shard}", facts.pack()
        await self._engine.broadcast(key, content)
        if not are_last and self._now() - self._kept_at < _KEEP_EVERY_S:
            return
        try:
            async with asyncio.timeout(_KEEP_S):
                await self._engine.put(key, content)
        except (EngineUnavailable, TimeoutError):
            return  # the next facts are stored
        self._kept_at = self._now()

    @property
    def told(self) -> Mapping[int, ShardFacts]:
        """Fresh facts of the other shards in this run."""
        since = self._now() - FRESH_S
        return {shard: facts for shard, (facts, at) in self._told.items() if at >= since}

    async def listen(self) -> None:
        await listen(self._engine, TOLD_PREFIX, self._hear)

    def _hear(self, said: KeyEntry) -> None:
        try:
            facts = ShardFacts.of(said)
        except RecordError:
            return  # older facts still count
        if facts is None or facts.run != self.run or facts.shard >= self._place.of:
            return
        if facts.shard != self._place.number:
            self._told[facts.shard] = facts, self._now()

    @property
    def may_fetch(self) -> bool:
        """True if the lease is certainly valid and the node has not paused the shard."""
        return not self.is_halted and self._now() < self.until
