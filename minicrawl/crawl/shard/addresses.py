"""The addresses that this shard asks: which part of their pace is ours.

Laws: no more is used than the record of an address says. A part is used after the record has it,
and given up in the record after it is used no more: no request goes beyond the smaller one then.
Who waits for a part is waited for by nobody. So all shards together ask an address no more often
than one machine would, whoever is killed, cut off or moved: a part belongs to the shard, and
whoever takes the shard over reads the record before it asks.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from minicrawl.crawl.events import Warned
from minicrawl.shards.address_parts import (
    WHOLE,
    AddressParts,
    AddressRecordError,
    who_looks,
    with_own,
)

if TYPE_CHECKING:
    from minicrawl.crawl.hosts.address_pacing import AddressPacing
    from minicrawl.crawl.parts import CrawlContext
    from minicrawl.crawl.shard.exchange import AddressRecords

IDLE_S = 10.0
"""An address that others ask as well is left to them if it was not asked for so long."""
_LOOK_S = 0.1


class ShardAddresses:
    """What the shard has of each address; the `AddressShares` of its pacing."""

    def __init__(
        self, context: CrawlContext, pacing: AddressPacing, number: int, records: AddressRecords
    ) -> None:
        self._context, self._pacing = context, pacing
        self._number, self._records = number, records
        self._parts: dict[str, int] = {}
        self._shared: set[str] = set()  # those of them that others ask as well
        self._to_look: asyncio.Queue[str] = asyncio.Queue()
        self._looking: dict[str, bool] = {}  # whether to look once more
        pacing.shares = self

    # ------------------------------------------------------------ for the pacing

    def share_of(self, name: str) -> float:
        """Of the pace of the address; 0 until the others have agreed."""
        return self._parts.get(name, 0) / WHOLE

    def want(self, name: str) -> None:
        """Hosts wait for an address that we have no part of."""
        if name not in self._parts:  # else those that have a part were told to give some up
            self._to_look.put_nowait(name)

    @property
    def are_awaited(self) -> bool:
        """Whether an address is being looked at, for which pages may wait."""
        return bool(self._looking) or not self._to_look.empty()

    # ------------------------------------------------------------ while the crawl runs

    async def run(self) -> None:
        """Look at addresses for ever."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._hear())
            group.create_task(self._look_again())
            while True:
                name = await self._to_look.get()
                if name in self._looking:
                    self._looking[name] = True
                else:
                    self._looking[name] = False
                    group.create_task(self._look_until_done(name))

    async def _hear(self) -> None:
        async for name in self._records.pointed_out():
            self._to_look.put_nowait(name)

    async def _look_again(self) -> None:
        """At what nobody here uses any more, and at what others were perhaps killed before they
        gave some of it up, or said so.
        """
        while True:
            await asyncio.sleep(IDLE_S / 2)
            for name in tuple(self._shared):
                if not self._parts[name] or not self._is_used(name):
                    self._to_look.put_nowait(name)

    def _is_used(self, name: str) -> bool:
        return self._pacing.is_in_use(name, self._context.clock.now() - IDLE_S)

    async def _look_until_done(self, name: str) -> None:
        try:
            while True:
                await self._look(name)
                if not self._looking[name]:
                    return
                self._looking[name] = False
        except AddressRecordError as error:
            self._context.tell(Warned(text=f"nothing is asked for at {name}: {error}"))
        finally:
            del self._looking[name]
            self._context.wake()

    async def _look(self, name: str) -> None:
        """Take or give up what is to be taken or given up."""
        while True:
            parts, revision = await self._records.read(name)
            own, generation = parts.get(self._number), self._records.generation
            if own is not None and own.generation > generation:
                self._use(name, {})
                return  # another process has the shard now
            is_used = self._is_used(name)
            wanted = with_own(parts, self._number, generation, is_used=is_used)
            if own is None and not is_used:
                return
            await self._use_no_more_than(name, wanted)
            if await self._records.write(name, wanted, revision):
                break
        self._use(name, wanted)
        if others := who_looks(wanted, self._number):
            await self._records.point_out(name, others)

    async def _use_no_more_than(self, name: str, wanted: AddressParts) -> None:
        """Before the record says so, since others may take it at once then."""
        if self._number not in wanted or wanted[self._number].part < self._parts.get(name, 0):
            self._use(name, wanted)
            while not self._pacing.is_within_share(name):
                await asyncio.sleep(_LOOK_S)

    def _use(self, name: str, wanted: AddressParts) -> None:
        if self._number not in wanted:
            self._parts.pop(name, None)
            self._shared.discard(name)
        else:
            self._parts[name] = wanted[self._number].part
            (self._shared.add if len(wanted) > 1 else self._shared.discard)(name)
        self._pacing.change_share(name, self._context.clock.now())
        self._context.wake()
