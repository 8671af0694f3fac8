"""The shards of a node: takes their leases, runs their crawls, and gives them back.

A shard moves between two live nodes without losing a page, since only one of them crawls it at a
time. Example: node A holds shards 0 to 3, and node B joins.

    B           writes its record. For YOUNG_S = 5 s nothing moves: B may be gone again
    A           plans that B should hold 1 and 3, and ends their crawls cleanly: requests under way
                are finished, the last commit is in the engine, the process ends. Only then does it
                free the leases (no session)
    B           finds 1 and 3 free, writes their leases with the next generation, and starts a child
                process for each
    B's child   takes the log of its shard over, restores the store (see `replica`), and requests
                nothing before its node has sent orders and a deadline

If A is killed, B takes the shards when A has been silent for `LEASE_S`. If A is merely slow, the
log of the shard refuses what A writes: its child ends as *fenced*, and A drops the shard.

Laws: a crawl runs only for a shard whose lease is this node's. A lease is given back only when its
crawl has ended.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from minicrawl.cluster.engine import EngineUnavailable, KeyTaken, KeyValues
from minicrawl.cluster.node.leases import ClusterView
from minicrawl.cluster.node.shard_process import ShardEnd, ShardProcess
from minicrawl.cluster.records import LEASE_PREFIX, LeaseRecord

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0

Tell = Callable[[str], None]
Start = Callable[[int, int], ShardProcess]
"""(shard, generation) -> the started crawl of the shard."""


@dataclass(slots=True)
class HeldShard:
    """A shard whose lease is ours, or is being taken or given back."""

    crawl: ShardProcess | None = None
    busy: asyncio.Task[None] | None = None  # takes the shard or gives it back
    failures: int = 0
    again_at: float = 0.0


class ShardSupervisor:
    def __init__(
        self, engine: KeyValues, view: ClusterView, me: tuple[str, str], start: Start
    ) -> None:
        """`me` is the node's name and session."""
        self._engine, self._view, self._me, self._start = engine, view, me, start
        self._shards: dict[int, HeldShard] = {}

    def __len__(self) -> int:
        return len(self._shards)

    @property
    def numbers(self) -> frozenset[int]:
        """Shards that are ours, or are being taken or given back."""
        return frozenset(self._shards)

    @property
    def running(self) -> dict[int, ShardProcess]:
        return {
            shard: held.crawl
            for shard, held in self._shards.items()
            if held.crawl is not None and held.crawl.end is None
        }

    @property
    def taking(self) -> frozenset[int]:
        """Shards that are being taken: their leases may not be ours yet."""
        return frozenset(
            shard
            for shard, held in self._shards.items()
            if held.busy is not None and held.crawl is None
        )

    def take(self, shard: int) -> None:
        """Begin to take a free shard."""
        if shard not in self._shards:
            self._shards[shard] = held = HeldShard()
            self._busy_with(held, self._take(shard, held))

    def give_up(self, shard: int) -> None:
        """Begin to end the shard's crawl and give its lease back."""
        held = self._shards.setdefault(shard, HeldShard())
        if held.busy is None:
            self._busy_with(held, self._give_up(shard, held))

    async def drop(self, shards: Collection[int]) -> None:
        """Kill the crawls of shards that are no longer ours."""
        dropped = [self._shards.pop(shard) for shard in shards if shard in self._shards]
        for held in dropped:
            if held.busy is not None:
                held.busy.cancel()
        await asyncio.gather(*(held.crawl.kill() for held in dropped if held.crawl is not None))

    def _busy_with(self, held: HeldShard, work: Coroutine[Any, Any, None]) -> None:
        held.busy = asyncio.create_task(work)
        held.busy.add_done_callback(lambda _: setattr(held, "busy", None))

    async def _take(self, shard: int, held: HeldShard) -> None:
        """Write the lease, and start the crawl if the lease is ours.

        A lease that was ours is written again, since our knowledge of it may be stale.
        """
        name, session = self._me
        former = self._view.leases.get(shard)
        generation = former.record.generation + 1 if former else 1
        record = LeaseRecord(node=name, session=session, generation=generation)
        try:
            revision = await self._write(shard, record)
        except (KeyTaken, EngineUnavailable):
            # Another node was quicker; or the write succeeded, and a watch reports it.
            self._shards.pop(shard, None)
            return
        self._view.hear_lease(shard, record, revision)
        held.crawl = self._start(shard, generation)

    async def _give_up(self, shard: int, held: HeldShard) -> None:
        if held.crawl is not None and held.crawl.end is None:
            await held.crawl.stop()
        name, session = self._me
        lease = self._view.leases.get(shard)
        if lease is not None and self._view.is_mine(shard, name, session):
            free = LeaseRecord(node=name, session="", generation=lease.record.generation)
            try:
                with suppress(KeyTaken):  # another node has taken it meanwhile
                    self._view.hear_lease(shard, free, await self._write(shard, free))
            except EngineUnavailable:
                return  # tried again in the next round
        self._shards.pop(shard, None)

    async def _write(self, shard: int, record: LeaseRecord) -> int:
        key, former = f"{LEASE_PREFIX}{shard}", self._view.leases.get(shard)
        return await self._engine.update(key, record.pack(), former.revision if former else 0)

    def look_after(self, now: float) -> list[tuple[int, ShardEnd]]:
        """Return the crawls that ended unasked, each once. Restart those that are due."""
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
