"""The shards that a node holds: it takes them, runs their crawls, and gives them back.

Laws: a crawl runs only for a shard whose lease is this node's. A lease is given back only when its
crawl has ended. A crawl that failed begins again after a pause that grows, here or elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from minicrawl.cluster.assignment import assignment
from minicrawl.cluster.engine import (
    Broadcast,
    Broadcasts,
    EngineUnavailable,
    KeyEntry,
    KeyTaken,
    KeyValues,
)
from minicrawl.cluster.node.shards import ShardEnd, ShardOrders
from minicrawl.cluster.terms import LEASE_PREFIX, BeatRecord, LeaseRecord, NodeRecord

# ================================================================ leases
#
# Who holds which shard, as one node sees it, and what that node should do. No I/O and no clock.
#
# Laws: a node takes a shard only if nobody holds it, or if its holder has been silent for `LEASE_S`
# by the clock of whoever takes it: silent in each place where nodes say that they are there, as far
# as it is known for sure what was said there. A node that could not say anything in any place for
# `HOLD_S` by its own clock holds nothing. HOLD_S is the shorter one, so no two nodes crawl a shard,
# however their clocks are set, as long as these run at about the same pace. A pause of the whole
# process is no exception: the clock has gone on.
#
# silent    a node whose record did not change; its record renews all of its leases at once
# place     the keys or the beats; each has a server of its own that leads it
# young     a node that came a moment ago: free shards go to it, but none moves to it yet

BEAT_S = 1.0
"""How often a node says that it is there."""
HOLD_S = 6.0
LEASE_S = 8.0
KEYS, BEATS = "keys", "beats"
YOUNG_S = 5.0
"""For so long no shard moves to a node, so that one that comes and goes moves none."""


class SeenNode(NamedTuple):
    """A node, when it was first heard of in this session, and when it last said something."""

    record: NodeRecord
    since: float
    heard_at: float


class SeenLease(NamedTuple):
    """A lease, and the revision of its key."""

    record: LeaseRecord
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePlan:
    """What a node should do with its shards."""

    lost: Collection[int]  # somebody else holds them: stop at once
    give_up: Collection[int]  # end their crawls cleanly, then give them back
    take: Collection[int]  # nobody crawls them


@dataclass(slots=True)
class ClusterView:
    """What a node has heard. Feed it with what the keys say."""

    shards: int
    nodes: dict[str, SeenNode] = field(default_factory=dict)
    leases: dict[int, SeenLease] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    known_to: dict[str, float] = field(default_factory=dict)
    """Up to when all that was said in a place is known, by its name; no other place matters."""

    def hear_node(self, name: str, record: NodeRecord | None, now: float) -> None:
        """What a node says of itself; None if it has said goodbye."""
        before = self.nodes.get(name)
        if record is None:
            self.nodes.pop(name, None)
        elif before is None or before.record.session != record.session:
            self.nodes[name] = SeenNode(record, now, now)
        elif before.record.beat < record.beat:  # else it was only read again, or came late
            self.nodes[name] = SeenNode(record, before.since, now)

    def hear_beat(self, name: str, beat: BeatRecord, now: float) -> None:
        """What a node that is known has said among the beats."""
        before = self.nodes.get(name)
        if before is None or before.record.session != beat.session:
            return
        if before.record.beat < beat.beat:
            record = replace(before.record, beat=beat.beat)
            self.nodes[name] = SeenNode(record, before.since, now)

    def know_all_to(self, place: str, moment: float) -> bool:
        """All that was said in this place before this moment was heard; whether more is known in
        all places now.
        """
        before = min(self.known_to.values(), default=moment)
        self.known_to[place] = max(moment, self.known_to.get(place, moment))
        return min(self.known_to.values()) > before

    def hear_lease(self, shard: int, record: LeaseRecord | None, revision: int) -> None:
        """Who holds a shard from now on. What is older than what is known is no news; revision 0
        is that of a key that is gone.
        """
        before = self.leases.get(shard)
        if before is not None and before.revision >= revision > 0:
            return
        if record is None:
            self.leases.pop(shard, None)
        else:
            self.leases[shard] = SeenLease(record, revision)

    def excuse(self, now: float) -> None:
        """Nobody could be heard for a while: all are given the time of a lease once more."""
        self.nodes = {name: seen._replace(heard_at=now) for name, seen in self.nodes.items()}

    def is_live(self, name: str, now: float) -> bool:
        """Whether the node has said something lately, or may have without being heard."""
        seen = self.nodes.get(name)
        return seen is not None and min((now, *self.known_to.values())) - seen.heard_at < LEASE_S

    def live(self, now: float) -> dict[str, SeenNode]:
        """The nodes that have said something lately."""
        return {name: seen for name, seen in self.nodes.items() if self.is_live(name, now)}

    def holder(self, shard: int, now: float) -> str | None:
        """The live node that holds the shard."""
        lease = self.leases.get(shard)
        if lease is None or lease.record.is_free or not self.is_live(lease.record.node, now):
            return None
        holder = self.nodes[lease.record.node]
        return lease.record.node if holder.record.session == lease.record.session else None

    def holders(self, now: float) -> dict[int, str]:
        """The shards that live nodes hold."""
        found = ((shard, self.holder(shard, now)) for shard in range(self.shards))
        return {shard: name for shard, name in found if name is not None}

    def wanted(self, now: float) -> dict[int, str]:
        """Which live node should hold which shard."""
        rooms = {
            name: 0 if name in self.drained else seen.record.room
            for name, seen in self.live(now).items()
        }
        return assignment(self.shards, rooms, self.holders(now))

    def generations(self, name: str, session: str) -> dict[int, int]:
        """The shards of this node, and how often each has changed hands."""
        own = (one for one in self.leases if self.is_mine(one, name, session))
        return {shard: self.leases[shard].record.generation for shard in own}

    def is_mine(self, shard: int, name: str, session: str) -> bool:
        """Whether the shard is this node's, as far as is known."""
        lease = self.leases.get(shard)
        return lease is not None and (lease.record.node, lease.record.session) == (name, session)


def plan(
    view: ClusterView,
    me: tuple[str, str],
    held: Iterable[int],
    now: float,
    *,
    at_once: bool = False,
) -> LeasePlan:
    """What this node, by its name and session, should do with the shards that it holds.

    With `at_once` shards move to young nodes as well.
    """
    name, session = me
    own = set(held)
    lost = {shard for shard in own if not view.is_mine(shard, name, session)}
    wanted, holders, live = view.wanted(now), view.holders(now), view.live(now)
    is_drained = name in view.drained
    give_up = {
        shard
        for shard in own - lost
        if is_drained or _may_move(wanted.get(shard, name), name, live, now, at_once=at_once)
    }
    take = {
        shard
        for shard, taker in wanted.items()
        if taker == name and shard not in own and holders.get(shard, name) == name
    }
    return LeasePlan(lost=sorted(lost), give_up=sorted(give_up), take=sorted(take))


def _may_move(
    taker: str, name: str, live: Mapping[str, SeenNode], now: float, *, at_once: bool
) -> bool:
    return taker != name and (at_once or now - live[taker].since >= YOUNG_S)


# ================================================================ held

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


# ================================================================ keys
#
# The keys of the engine as they are now, for whoever follows them, and what is broadcast.
#
# Law: who follows keys hears of each as it is in the end; of what was deleted while the engine
# could not be reached as well.

Hear = Callable[[KeyEntry], None]
_AGAIN_S = 0.5


async def follow(engine: KeyValues, prefix: str, hear: Hear) -> None:
    """Hear of all keys whose names begin so, for ever."""
    kept: set[str] = set()
    while True:
        try:
            await _follow_once(engine, prefix, hear, kept)
        except EngineUnavailable:
            await asyncio.sleep(_AGAIN_S)


async def listen(engine: Broadcasts, prefix: str, hear: Callable[[Broadcast], None]) -> None:
    """Hear of all that is broadcast under names that begin so, for ever."""
    async with aclosing(engine.broadcasts(prefix)) as coming:
        async for said in coming:
            hear(said)


async def cancelled(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended.

    `asyncio.wait_for` of Python 3.11, which nats-py uses, may swallow a cancellation.
    """
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_AGAIN_S)


async def _follow_once(engine: KeyValues, prefix: str, hear: Hear, kept: set[str]) -> None:
    found: set[str] | None = set()
    async with aclosing(engine.watch(prefix)) as changes:
        async for entry in changes:
            if entry is None:
                for gone in kept - (found or set()):
                    hear(KeyEntry(gone, None, 0))
                kept &= found or set()
                found = None
                continue
            hear(entry)
            if found is not None:
                found.add(entry.key)
            if entry.value is None:
                kept.discard(entry.key)
            else:
                kept.add(entry.key)
    raise EngineUnavailable(f"the engine ended the watch of {prefix or 'all keys'}")
