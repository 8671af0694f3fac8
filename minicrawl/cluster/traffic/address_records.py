"""Records of addresses in the engine's keys, read and changed by the holders of shards.

Laws: a record changes only by compare-and-set on its revision. An address that a shard must
examine is put on the shard's list, and stays there until the shard has read the list. The list is
a key of its own, so it survives moves of the shard.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar
from urllib.parse import quote

from minicrawl.cluster.assignment import AddressParts
from minicrawl.cluster.engine import EngineFull, EngineUnavailable, KeyTaken, KeyValues
from minicrawl.cluster.records import AddressList, AddressRecord, KeyEntry, Record, RecordError
from minicrawl.opic.ledger.channels import ShardPlace

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
        entry = await _until_answered(lambda: self._engine.get(_key(address)))
        if entry is None or (record := AddressRecord.of(entry)) is None:
            return {}, 0
        if (last := max(record.parts, default=0)) >= self._place.of:
            raise RecordError(f"the cluster's key {entry.key} names shard {last}")
        return record.parts, entry.revision

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
                ) as changes:
                    async for entry in changes:
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
        entry = await self._engine.get(key)
        listed = _listed(entry)
        if address in listed or len(listed) >= _MOST_LISTED:
            return True
        longer = AddressList(addresses=(*listed, address))
        return await self._set(key, longer, entry.revision if entry else 0)

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
        addresses = AddressList.of(entry)
    except RecordError:
        return ()
    return addresses.addresses if addresses else ()
