"""The parts of addresses that this shard may use.

The rate of the whole crawl (--max-rate) is shared like one more address, named `CRAWL`.

The record of an address is a key of the engine, which the holders of shards read, and change only
by compare-and-set on its revision. A broadcast tells a shard to examine an address. It may be lost,
so shards examine shared addresses from time to time unasked.

Laws: a shard uses no more than the record of an address says. It uses a part after the record has
it, and stops using a part before the record drops it: in between, its requests keep to the
smaller part. No shard waits for one that itself waits for a part. So all shards together ask an
address no more often than one machine would, even if shards are killed, cut off or moved: parts
belong to shards, and a new holder reads the record before its first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import sample
from typing import TYPE_CHECKING
from urllib.parse import quote

from minicrawl.cluster.engine import ClusterEngine, KeyTaken
from minicrawl.cluster.node.following import listen, until_answered
from minicrawl.cluster.records import WHOLE, AddressRecord, KeyEntry, RecordError
from minicrawl.cluster.traffic.address_parts import (
    NO_PARTS,
    AddressParts,
    shards_to_notify,
    with_own_part,
)
from minicrawl.crawl.events import Warned
from minicrawl.crawl.hosts.crawl_pace import CRAWL, CrawlPace
from minicrawl.opic.ledger.channels import ShardPlace

if TYPE_CHECKING:
    from minicrawl.crawl.hosts.politeness import HostTable
    from minicrawl.crawl.parts import CrawlContext

ADDRESS_PREFIX, LOOK_PREFIX = "address.", "look."
_LONGEST_NAME = 64
IDLE_S = 10.0
"""Idle time after which a shared address is left to the other shards."""
_CHECK_S = 0.1


class ShardAddresses:
    """Parts of addresses that the shard may use; the `AddressShares` of its pacing."""

    def __init__(
        self,
        context: CrawlContext,
        hosts: HostTable,
        place: ShardPlace,
        engine: ClusterEngine,
        generation: int,
        has_pages: Callable[[], bool],
    ) -> None:
        """`generation` is that of the lease; `has_pages` tells whether pages of the shard wait."""
        self._context, self._pacing, self._has_pages = context, hosts.addresses, has_pages
        self._place, self._engine, self._generation = place, engine, generation
        self._hosts = hosts
        self._parts: dict[str, int] = {}
        self._shared: set[str] = set()  # addresses that other shards ask as well
        self._to_examine: asyncio.Queue[str] = asyncio.Queue()
        self._examining: dict[str, bool] = {}  # value: examine once more after this time
        self._pacing.shares = self
        if self._pace is not None:
            self._pace.shares = self
            self._pace.take_share(0.0, context.clock.now())  # none until the record has been read

    @property
    def _pace(self) -> CrawlPace | None:
        """Pace of the crawl, if it has rates for shards to share. New settings replace it."""
        pace = self._hosts.pace
        return pace if pace is not None and pace.has_rates else None

    def share_of(self, name: str) -> float:
        """Return the share of the address's request rate; 0 until the others have agreed."""
        return self._parts.get(name, 0) / WHOLE

    def want(self, name: str) -> None:
        """Ask for a part of an address for which hosts wait."""
        if name in self._parts:  # shards with larger parts have been notified
            return
        if name != CRAWL or (name not in self._examining and self._has_pages()):
            self._to_examine.put_nowait(name)

    @property
    def are_awaited(self) -> bool:
        """True while the record of an address is examined, for which pages may wait."""
        return bool(self._examining) or not self._to_examine.empty()

    async def run(self) -> None:
        """Examine the records of wanted and notified addresses, for ever."""
        async with asyncio.TaskGroup() as group:
            topic = f"{LOOK_PREFIX}{self._place.number}."
            group.create_task(listen(self._engine, topic, self._hear))
            group.create_task(self._examine_again())
            while True:
                name = await self._to_examine.get()
                if name in self._examining:
                    self._examining[name] = True
                else:
                    self._examining[name] = False
                    group.create_task(self._examine_until_done(name))

    def _hear(self, said: KeyEntry) -> None:
        name = (said.value or b"").decode(errors="replace")
        if len(name) <= _LONGEST_NAME:
            self._to_examine.put_nowait(name)

    async def _examine_again(self) -> None:
        """Examine shared addresses that are unused here, or of which we have no part, for ever.

        Other shards may have been killed before they gave their parts up. One other address at a
        time is examined as well, as we may not have heard that parts have become free.
        """
        while True:
            await asyncio.sleep(IDLE_S / 2)
            used = [name for name in self._shared if self._parts[name] and self._is_used(name)]
            for name in (*(self._shared - {*used}), *sample(used, min(1, len(used)))):
                self._to_examine.put_nowait(name)

    def _is_used(self, name: str) -> bool:
        since = self._context.clock.now() - IDLE_S
        if name != CRAWL or self._pace is None:
            return self._pacing.is_in_use(name, since)
        return self._has_pages() or self._pace.used_at > since

    async def _examine_until_done(self, name: str) -> None:
        try:
            while True:
                await self._examine(name)
                if not self._examining[name]:
                    return
                self._examining[name] = False
        except RecordError as error:
            self._context.emit(Warned(text=f"no requests to {name}: {error}"))
        finally:
            del self._examining[name]
            self._context.wake()

    async def _examine(self, name: str) -> None:
        """Take a free part of the address, or give up what exceeds an even part."""
        key, number = f"{ADDRESS_PREFIX}{quote(name, safe=':')}", self._place.number
        while True:
            entry, parts = await until_answered(partial(self._engine.get, key)), NO_PARTS
            if (record := AddressRecord.of(entry)) is not None:
                parts = record.parts
            if (last := max(parts, default=0)) >= self._place.of:
                raise RecordError(f"the cluster's key {key} names shard {last}")
            own = parts.get(number)
            if own is not None and own.generation > self._generation:
                self._use(name, {})
                return  # another process has the shard now
            is_used = self._is_used(name)
            new_parts = with_own_part(parts, number, self._generation, is_used=is_used)
            if own is None and not is_used:
                return
            new_own = new_parts.get(number)
            # Our use is reduced before the record is written: others may take the part at once.
            if new_own is None or new_own.part < self._parts.get(name, 0):
                self._use(name, new_parts)
                while not self._pacing.is_within_share(name):
                    await asyncio.sleep(_CHECK_S)
            content, revision = (
                AddressRecord(parts=new_parts).pack(),
                entry.revision if entry else 0,
            )
            with suppress(KeyTaken):  # else another shard was quicker
                await until_answered(partial(self._engine.update, key, content, revision))
                break
        self._use(name, new_parts)
        for shard in shards_to_notify(new_parts, number):
            await self._engine.broadcast(f"{LOOK_PREFIX}{shard}.at", name.encode())

    def _use(self, name: str, parts: AddressParts) -> None:
        if self._place.number not in parts:
            self._parts.pop(name, None)
            self._shared.discard(name)
        else:
            self._parts[name] = parts[self._place.number].part
            (self._shared.add if len(parts) > 1 else self._shared.discard)(name)
        now = self._context.clock.now()
        self._pacing.change_share(name, now)
        if name == CRAWL and self._pace is not None:
            self._pace.take_share(self.share_of(name), now)
        self._context.wake()
