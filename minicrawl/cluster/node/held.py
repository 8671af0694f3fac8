"""The shards that a node holds: it takes them, runs their crawls, and gives them back.

Laws: a crawl runs only for a shard whose lease is this node's. A lease is given back only when its
crawl has ended. A crawl that failed begins again after a pause that grows, here or elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from minicrawl.cluster.engine import EngineUnavailable, KeyTaken, KeyValues
from minicrawl.cluster.node.leases import ClusterView
from minicrawl.cluster.node.records import LEASE_PREFIX, LeaseRecord
from minicrawl.cluster.node.shard_process import ShardEnd, ShardOrders

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0

Tell = Callable[[str], None]


class HeldCrawl(Protocol):
    """The running crawl of one shard."""

    @property
    def end(self) -> ShardEnd | None:
        """How it ended, if it has."""

    async def until(self, moment: float) -> None:
        """It may begin requests up to this moment."""

    async def steer(self, orders: ShardOrders) -> None:
        """Change what it does."""

    async def yield_pages(self) -> int | None:
        """Fetch nothing but what is under way; the pages that it has then fetched in all."""

    def warnings(self) -> list[str]:
        """What it has warned of since this was asked for the last time."""

    async def stop(self) -> ShardEnd:
        """End cleanly."""

    async def kill(self) -> None:
        """End at once."""


Start = Callable[[int, int], HeldCrawl]
"""(shard, generation) -> its crawl."""


@dataclass(slots=True)
class HeldShard:
    """A shard whose lease is ours, or is being taken or given back."""

    crawl: HeldCrawl | None = None
    busy: asyncio.Task[None] | None = None  # takes it or gives it back
    failures: int = 0
    again_at: float = 0.0


class HeldShards:
    """All of one node."""

    def __init__(
        self, engine: KeyValues, view: ClusterView, me: tuple[str, str], start: Start, tell: Tell
    ) -> None:
        """`me` is the name of the node and its session."""
        self._engine, self._view, self._me = engine, view, me
        self._start, self._tell = start, tell
        self._shards: dict[int, HeldShard] = {}

    def __len__(self) -> int:
        return len(self._shards)

    @property
    def numbers(self) -> frozenset[int]:
        """Those that are ours, or are being taken or given back."""
        return frozenset(self._shards)

    @property
    def running(self) -> dict[int, HeldCrawl]:
        """The crawls that run."""
        return {
            shard: held.crawl
            for shard, held in self._shards.items()
            if held.crawl is not None and held.crawl.end is None
        }

    @property
    def taking(self) -> frozenset[int]:
        """Those whose leases are not ours yet."""
        return frozenset(
            shard
            for shard, held in self._shards.items()
            if held.busy is not None and held.crawl is None
        )

    # ------------------------------------------------------------ what comes and goes

    def take(self, shard: int) -> None:
        """Begin to take a shard that nobody holds."""
        if shard not in self._shards:
            self._shards[shard] = held = HeldShard()
            self._busy_with(held, self._take(shard, held))

    def give_up(self, shard: int) -> None:
        """Begin to end its crawl, and to give it back."""
        held = self._shards.setdefault(shard, HeldShard())
        if held.busy is None:
            self._busy_with(held, self._give_up(shard, held))

    async def drop(self, shards: Collection[int]) -> None:
        """End the crawls of shards at once that are not ours any more."""
        dropped = [self._shards.pop(shard) for shard in shards if shard in self._shards]
        for held in dropped:
            if held.busy is not None:
                held.busy.cancel()
        await asyncio.gather(*(held.crawl.kill() for held in dropped if held.crawl is not None))

    async def settled(self) -> None:
        """Wait until nothing is being taken or given back."""
        while busy := [held.busy for held in self._shards.values() if held.busy is not None]:
            await asyncio.wait(busy)

    def _busy_with(self, held: HeldShard, work: Coroutine[Any, Any, None]) -> None:
        held.busy = asyncio.create_task(work)
        held.busy.add_done_callback(lambda _: setattr(held, "busy", None))

    async def _take(self, shard: int, held: HeldShard) -> None:
        generation = await self._leased(shard)
        if generation is None:
            self._shards.pop(shard, None)
        else:
            held.crawl = self._start(shard, generation)

    async def _leased(self, shard: int) -> int | None:
        """The generation that we have the shard in from now on, or None if it is not ours.

        A lease that was ours is written again: what we know of it may be old.
        """
        name, session = self._me
        seen = self._view.leases.get(shard)
        generation = seen.record.generation + 1 if seen else 1
        record = LeaseRecord(node=name, session=session, generation=generation)
        try:
            revision = await self._write(shard, record)
        except (KeyTaken, EngineUnavailable):
            return None  # somebody was quicker; or it was done, and the keys will say so
        self._view.hear_lease(shard, record, revision)
        return generation

    async def _give_up(self, shard: int, held: HeldShard) -> None:
        if held.crawl is not None and held.crawl.end is None:
            await held.crawl.stop()
        name, session = self._me
        seen = self._view.leases.get(shard)
        if seen is not None and self._view.is_mine(shard, name, session):
            free = LeaseRecord(node=name, session="", generation=seen.record.generation)
            try:
                self._view.hear_lease(shard, free, await self._write(shard, free))
            except EngineUnavailable:
                return  # once more in the next round
            except KeyTaken:
                pass  # somebody has taken it meanwhile
        self._shards.pop(shard, None)

    async def _write(self, shard: int, record: LeaseRecord) -> int:
        key, seen = f"{LEASE_PREFIX}{shard}", self._view.leases.get(shard)
        if seen is None:
            return await self._engine.create(key, record.pack())
        return await self._engine.update(key, record.pack(), seen.revision)

    # ------------------------------------------------------------ their crawls

    async def yield_pages(self, shard: int) -> int | None:
        """The pages that a shard has fetched and asks for now: it fetches no others from now on."""
        crawl = self.running.get(shard)
        return None if crawl is None else await crawl.yield_pages()

    def warnings(self) -> dict[str, list[int]]:
        """What crawls have warned of since this was asked for the last time, and which."""
        found: dict[str, list[int]] = {}
        for shard, crawl in self.running.items():
            for text in crawl.warnings():
                found.setdefault(text, []).append(shard)
        return found

    def look_after(self, now: float) -> list[tuple[int, ShardEnd]]:
        """The crawls that have ended by themselves, each once; those that failed begin again."""
        ended = []
        for shard, held in tuple(self._shards.items()):
            if held.busy is not None:
                continue
            if held.crawl is not None and (end := held.crawl.end) is not None:
                held.crawl, held.failures = None, held.failures + 1
                held.again_at = now + min(_FIRST_PAUSE_S * 2**held.failures, _LONGEST_PAUSE_S)
                ended.append((shard, end))
            elif held.crawl is not None and now > held.again_at + _LONGEST_PAUSE_S:
                held.failures = 0
            elif held.crawl is None and now >= held.again_at:
                self._busy_with(held, self._take(shard, held))
        return ended
