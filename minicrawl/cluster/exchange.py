"""The link of one shard to the others, through the engine.

address records  parts of each address's request rate, in the engine's keys
exchange         batches and facts to and from the other shards
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TypeVar
from urllib.parse import quote

from minicrawl.cluster.assignment import AddressParts
from minicrawl.cluster.channels import TransferBatch
from minicrawl.cluster.engine import (
    BatchDelivery,
    ClusterEngine,
    EngineFull,
    EngineUnavailable,
    KeyTaken,
    KeyValues,
)
from minicrawl.cluster.node.leases import lease_clock, listen
from minicrawl.cluster.records import (
    TOLD_PREFIX,
    AddressList,
    AddressRecord,
    KeyEntry,
    Record,
    RecordError,
    ShardFacts,
)
from minicrawl.opic.ledger import ShardPlace

# ================================================================ address records
#
# Records of addresses in the engine's keys, read and changed by the holders of shards.
#
# Laws: a record changes only by compare-and-set on its revision. An address that a shard must
# examine is put on the shard's list, and stays there until the shard has read the list. The list is
# a key of its own, so it survives moves of the shard.

ADDRESS_PREFIX, LOOK_PREFIX = "address.", "look."
_MOST_LISTED = 4096
"""Limit of addresses on a list. Others are left out: a shard that waits looks again by itself."""
_AGAIN_S = 0.5

T = TypeVar("T")


class AddressRecords:
    """Parts of addresses, as the holder of a shard reads and changes them. Calls are retried."""

    def __init__(self, engine: KeyValues, place: ShardPlace, generation: int) -> None:
        self._engine, self._place, self.generation = engine, place, generation

    async def read(self, address: str) -> tuple[AddressParts, int]:
        """Return the parts and the revision of the record, or revision 0 if there is none."""
        found = await _until_answered(lambda: self._engine.get(_key(address)))
        if found is None or (record := AddressRecord.of(found)) is None:
            return {}, 0
        if (last := max(record.parts, default=0)) >= self._place.of:
            raise RecordError(f"the cluster's key {found.key} names shard {last}")
        return record.parts, found.revision

    async def write(self, address: str, parts: AddressParts, revision: int) -> bool:
        """Change the record if this is its revision. Return False if it is not."""
        record = AddressRecord(parts=parts)
        return await _until_answered(lambda: self._set(_key(address), record, revision))

    async def notify(self, address: str, shards: Sequence[int]) -> None:
        """Put the address on the lists of these shards, for their current or next holders."""
        for shard in shards:
            while not await _until_answered(lambda: self._add_to_list(shard, address)):  # noqa: B023
                pass  # somebody else has changed the list: try again

    async def notifications(self) -> AsyncIterator[str]:
        """Yield addresses from this shard's list, without end."""
        while True:
            try:
                async with aclosing(
                    self._engine.watch(f"{LOOK_PREFIX}{self._place.number}.")
                ) as seen:
                    async for entry in seen:
                        if entry is None or not (addresses := _listed(entry)):
                            continue
                        for address in addresses:
                            yield address
                        # If the list has grown meanwhile, it comes again.
                        await self._set(entry.key, AddressList(addresses=()), entry.revision)
            except (EngineUnavailable, EngineFull):
                await asyncio.sleep(_AGAIN_S)

    async def _add_to_list(self, shard: int, address: str) -> bool:
        """Put the address on the shard's list. Return False if somebody else changed the list."""
        key = f"{LOOK_PREFIX}{shard}.at"
        found = await self._engine.get(key)
        listed = _listed(found)
        if address in listed or len(listed) >= _MOST_LISTED:
            return True
        longer = AddressList(addresses=(*listed, address))
        return await self._set(key, longer, found.revision if found else 0)

    async def _set(self, key: str, record: Record, revision: int) -> bool:
        """Change the key, unless somebody else has; then return False."""
        try:
            await self._engine.update(key, record.pack(), revision)
        except KeyTaken:
            return False
        return True


async def _until_answered(ask: Callable[[], Awaitable[T]]) -> T:
    while True:
        try:
            return await ask()
        except (EngineUnavailable, EngineFull):
            await asyncio.sleep(_AGAIN_S)


def _key(address: str) -> str:
    return f"{ADDRESS_PREFIX}{quote(address, safe=':')}"


def _listed(entry: KeyEntry | None) -> Sequence[str]:
    """Return the addresses on a list, which is empty if no shard has written it."""
    try:
        found = AddressList.of(entry)
    except RecordError:
        return ()
    return found.addresses if found else ()


# ================================================================ exchange
#
# The exchange of batches and facts with other shards, through the engine.
#
# A batch whose `publish` has returned is rarely lost, and if it is, its sender publishes it again.
# An unacknowledged batch is delivered again, even to another process. Batches may arrive twice,
# late, and in any order.
#
# Laws: no request begins after the lease has run out, nor before the node has said what the shard
# may do. Facts of other runs of the crawl, and old facts, do not count.
#
# Facts are broadcast, since the next ones follow soon. Once a second, and at the end, they are also
# stored as a key, for nodes that come later and for the next holder of the shard.

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 5.0
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
        self._prefix = f"{TOLD_PREFIX}{run}."
        self._told: dict[int, tuple[ShardFacts, float]] = {}
        self._kept_at = -math.inf
        self.until = 0.0
        self.is_halted = True

    # ------------------------------------------------------------ batches

    async def publish(self, batch: TransferBatch) -> None:
        """Publish the batch, and retry until the engine answers."""
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
        """Yield batches from other shards, without end."""
        while True:
            try:
                async with aclosing(self._engine.inbox(self._place.number)) as deliveries:
                    async for delivery in deliveries:
                        yield delivery
            except EngineUnavailable:
                await asyncio.sleep(_FIRST_PAUSE_S)

    # ------------------------------------------------------------ facts

    async def tell(self, facts: ShardFacts, *, are_last: bool = False) -> None:
        """Tell all shards our facts. They are lost while the engine does not answer."""
        key, content = f"{self._prefix}{facts.shard}", facts.pack()
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
        """Receive the facts of the others, for ever."""
        await listen(self._engine, self._prefix, self._hear)

    def _hear(self, said: KeyEntry) -> None:
        try:
            facts = ShardFacts.of(said)
        except RecordError:
            return  # older facts still count
        if facts and facts.shard < self._place.of and facts.shard != self._place.number:
            self._told[facts.shard] = facts, self._now()

    # ------------------------------------------------------------ the lease

    @property
    def may_fetch(self) -> bool:
        """True if the lease is certainly valid and the node has not paused the shard."""
        return not self.is_halted and self._now() < self.until

    def is_over(self) -> bool:
        """Return False: the node decides, and stops the crawl."""
        return False
