"""The records of addresses in the engine's keys, as one holder of a shard reads and changes them.

Laws: a record changes only for who knows its revision. Whom a record concerns finds the address in
a list of its own, and takes it off after it was heard of; a list is the shard's, whoever holds it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing, suppress
from typing import TypeVar
from urllib.parse import quote

from minicrawl.cluster.engine import EngineFull, EngineUnavailable, KeyTaken, KeyValues
from minicrawl.shards.address_parts import AddressParts, parts_as_bytes, parts_in
from minicrawl.shards.owners import ShardPlace

ADDRESS_PREFIX, LOOK_PREFIX = "address.", "look."
_MOST_LISTED = 4096
"""Addresses on one list. What is left out is asked for again: who waits looks now and then."""
_AGAIN_S = 0.5

T = TypeVar("T")


class EngineAddressRecords:
    """The `AddressRecords` of a shard's crawl."""

    def __init__(self, engine: KeyValues, place: ShardPlace, generation: int) -> None:
        self._engine, self._place, self.generation = engine, place, generation

    async def read(self, address: str) -> tuple[AddressParts, int]:
        """The parts, and the revision of the record, which is 0 if there is none."""
        found = await _until_answered(lambda: self._engine.get(_key(address)))
        if found is None or found.value is None:
            return {}, 0
        return parts_in(found.value, self._place.of), found.revision

    async def write(self, address: str, parts: AddressParts, revision: int) -> bool:
        """Change the record if this is its revision; whether it was."""
        return await _until_answered(
            lambda: self._set(_key(address), parts_as_bytes(parts), revision)
        )

    async def point_out(self, address: str, shards: Sequence[int]) -> None:
        """Have these shards look at the record, whoever has them then."""
        for shard in shards:
            while not await _until_answered(lambda: self._list(shard, address)):  # noqa: B023
                pass  # somebody else put something on the list

    async def pointed_out(self) -> AsyncIterator[str]:
        """The addresses that this shard is to look at, without end."""
        while True:
            try:
                async with aclosing(
                    self._engine.watch(f"{LOOK_PREFIX}{self._place.number}.")
                ) as seen:
                    async for entry in seen:
                        if entry is None or entry.value is None or not (on := _listed(entry.value)):
                            continue
                        for address in on:
                            yield address
                        with suppress(KeyTaken):  # it is longer now, and comes again
                            await self._engine.update(entry.key, _as_list(()), entry.revision)
            except (EngineUnavailable, EngineFull):
                await asyncio.sleep(_AGAIN_S)

    async def _list(self, shard: int, address: str) -> bool:
        key = f"{LOOK_PREFIX}{shard}.at"
        found = await self._engine.get(key)
        listed, revision = [], 0
        if found is not None and found.value is not None:
            listed, revision = _listed(found.value), found.revision
        if address in listed or len(listed) >= _MOST_LISTED:
            return True
        return await self._set(key, _as_list((*listed, address)), revision)

    async def _set(self, key: str, value: bytes, revision: int) -> bool:
        try:
            if revision:
                await self._engine.update(key, value, revision)
            else:
                await self._engine.create(key, value)
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


def _as_list(addresses: Collection[str]) -> bytes:
    return json.dumps(list(addresses)).encode()


def _listed(value: bytes) -> list[str]:
    """What no shard has written is an empty list."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        return []
    return found[:_MOST_LISTED]
