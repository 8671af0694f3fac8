"""The shards that a node holds: it takes their leases, runs their crawls, and gives them back.

Laws: a crawl runs only for a shard whose lease is this node's. A lease is given back only when its
crawl has ended. After a failure a crawl restarts after a growing pause, here or on another node.
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
# Holders of shards, as one node sees them, and that node's decisions. No I/O and no clock.
#
# Laws: a node takes a shard only if nobody holds it, or if the holder has been silent for `LEASE_S`
# by the clock of the node that takes it. Silent means: in each place, up to the moment to which all
# that was said there is certainly known. A node that for `HOLD_S` by its own clock could not be
# heard in any place holds nothing. HOLD_S is shorter than LEASE_S, so no two nodes crawl a shard,
# whatever their clocks show, if these run at about the same speed. A pause of the whole process is
# covered: the clock has gone on.
#
# silent    a node whose record did not change; its record renews all of its leases at once
# place     one of the two sets of keys, KEYS and BEATS, each led by a server of its own
# young     a node that joined a moment ago: it takes free shards, but no shard moves to it yet

BEAT_S = 1.0
"""Interval between signs of life."""
HOLD_S = 6.0
LEASE_S = 8.0
KEYS, BEATS = "keys", "beats"
YOUNG_S = 5.0
"""Time for which no shard moves to a new node, so that a node that comes and goes moves none."""


class SeenNode(NamedTuple):
    """A node, when it was first heard in this session, and when it was last heard."""

    record: NodeRecord
    since: float
    heard_at: float


class SeenLease(NamedTuple):
    """A lease, and the revision of its key."""

    record: LeaseRecord
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasePlan:
    """Decision of a node about its shards."""

    lost: Collection[int]  # held by others: stop at once
    give_up: Collection[int]  # end their crawls cleanly, then give them back
    take: Collection[int]  # crawled by nobody


@dataclass(slots=True)
class ClusterView:
    """A node's knowledge of nodes and leases, updated from the keys."""

    shards: int
    nodes: dict[str, SeenNode] = field(default_factory=dict)
    leases: dict[int, SeenLease] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    known_to: dict[str, float] = field(default_factory=dict)
    """Moment up to which everything said in a place is known, by place. Only listed places count.
    """

    def hear_node(self, name: str, record: NodeRecord | None, now: float) -> None:
        """Take in a node's record; None if the node has left."""
        before = self.nodes.get(name)
        if record is None:
            self.nodes.pop(name, None)
        elif before is None or before.record.session != record.session:
            self.nodes[name] = SeenNode(record, now, now)
        elif before.record.beat < record.beat:  # else the record was read twice, or came late
            self.nodes[name] = SeenNode(record, before.since, now)

    def hear_beat(self, name: str, beat: BeatRecord, now: float) -> None:
        """Take in a beat of a known node."""
        before = self.nodes.get(name)
        if before is None or before.record.session != beat.session:
            return
        if before.record.beat < beat.beat:
            record = replace(before.record, beat=beat.beat)
            self.nodes[name] = SeenNode(record, before.since, now)

    def know_all_to(self, place: str, moment: float) -> bool:
        """Note that everything said in this place before `moment` was heard.

        Return True if that moves the moment up to which all places are known.
        """
        before = min(self.known_to.values(), default=moment)
        self.known_to[place] = max(moment, self.known_to.get(place, moment))
        return min(self.known_to.values()) > before

    def hear_lease(self, shard: int, record: LeaseRecord | None, revision: int) -> None:
        """Take in a lease. One that is older than the known one is ignored.

        Revision 0 belongs to a key that is gone.
        """
        before = self.leases.get(shard)
        if before is not None and before.revision >= revision > 0:
            return
        if record is None:
            self.leases.pop(shard, None)
        else:
            self.leases[shard] = SeenLease(record, revision)

    def excuse(self, now: float) -> None:
        """Renew all nodes, after a while in which none could be heard."""
        self.nodes = {name: seen._replace(heard_at=now) for name, seen in self.nodes.items()}

    def is_live(self, name: str, now: float) -> bool:
        """Return whether the node was heard lately, or may have spoken without being heard yet."""
        seen = self.nodes.get(name)
        return seen is not None and min((now, *self.known_to.values())) - seen.heard_at < LEASE_S

    def live(self, now: float) -> dict[str, SeenNode]:
        return {name: seen for name, seen in self.nodes.items() if self.is_live(name, now)}

    def holder(self, shard: int, now: float) -> str | None:
        """Return the live node that holds the shard, or None."""
        lease = self.leases.get(shard)
        if lease is None or lease.record.is_free or not self.is_live(lease.record.node, now):
            return None
        holder = self.nodes[lease.record.node]
        return lease.record.node if holder.record.session == lease.record.session else None

    def holders(self, now: float) -> dict[int, str]:
        """Return the live holder of each shard that has one."""
        found = ((shard, self.holder(shard, now)) for shard in range(self.shards))
        return {shard: name for shard, name in found if name is not None}

    def wanted(self, now: float) -> dict[int, str]:
        """Return the live node that should hold each shard."""
        rooms = {
            name: 0 if name in self.drained else seen.record.room
            for name, seen in self.live(now).items()
        }
        return assignment(self.shards, rooms, self.holders(now))

    def generations(self, name: str, session: str) -> dict[int, int]:
        """Return the shards of this session of the node, each with its generation."""
        own = (one for one in self.leases if self.is_mine(one, name, session))
        return {shard: self.leases[shard].record.generation for shard in own}

    def is_mine(self, shard: int, name: str, session: str) -> bool:
        """Return whether this session of the node holds the shard, as far as known."""
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
    """Return what the node `me`, a name and a session, should do with the shards that it holds.

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
        """Result of the crawl, or None while it runs."""

    async def until(self, moment: float) -> None:
        """Allow requests to begin up to this moment."""

    async def steer(self, orders: ShardOrders) -> None:
        """Give new orders."""

    async def yield_pages(self) -> int | None:
        """Begin no more requests. Return the pages fetched, those under way included."""

    def warnings(self) -> list[str]:
        """Return the warnings since the last call."""

    async def stop(self) -> ShardEnd:
        """End the crawl cleanly."""

    async def kill(self) -> None:
        """End the crawl at once."""


Start = Callable[[int, int], HeldCrawl]
"""(shard, generation) -> its crawl."""


@dataclass(slots=True)
class HeldShard:
    """A shard whose lease is ours, or is being taken or given back."""

    crawl: HeldCrawl | None = None
    busy: asyncio.Task[None] | None = None  # takes the shard or gives it back
    failures: int = 0
    again_at: float = 0.0


class HeldShards:
    """The held shards of one node."""

    def __init__(
        self, engine: KeyValues, view: ClusterView, me: tuple[str, str], start: Start, tell: Tell
    ) -> None:
        """`me` is the node's name and session."""
        self._engine, self._view, self._me = engine, view, me
        self._start, self._tell = start, tell
        self._shards: dict[int, HeldShard] = {}

    def __len__(self) -> int:
        return len(self._shards)

    @property
    def numbers(self) -> frozenset[int]:
        """Shards that are ours, or are being taken or given back."""
        return frozenset(self._shards)

    @property
    def running(self) -> dict[int, HeldCrawl]:
        """Running crawls, by shard."""
        return {
            shard: held.crawl
            for shard, held in self._shards.items()
            if held.crawl is not None and held.crawl.end is None
        }

    @property
    def taking(self) -> frozenset[int]:
        """Shards whose leases are not ours yet."""
        return frozenset(
            shard
            for shard, held in self._shards.items()
            if held.busy is not None and held.crawl is None
        )

    # ------------------------------------------------------------ taking and giving up

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

    async def settled(self) -> None:
        """Wait until no shard is being taken or given back."""
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
        """Write the lease; return our generation of the shard, or None if it is not ours.

        A lease that was ours is written again, since our knowledge of it may be stale.
        """
        name, session = self._me
        seen = self._view.leases.get(shard)
        generation = seen.record.generation + 1 if seen else 1
        record = LeaseRecord(node=name, session=session, generation=generation)
        try:
            revision = await self._write(shard, record)
        except (KeyTaken, EngineUnavailable):
            return None  # somebody was quicker; or the write succeeded, and the keys will tell
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
                return  # tried again in the next round
            except KeyTaken:
                pass  # another node has taken it meanwhile
        self._shards.pop(shard, None)

    async def _write(self, shard: int, record: LeaseRecord) -> int:
        key, seen = f"{LEASE_PREFIX}{shard}", self._view.leases.get(shard)
        if seen is None:
            return await self._engine.create(key, record.pack())
        return await self._engine.update(key, record.pack(), seen.revision)

    # ------------------------------------------------------------ crawls

    async def yield_pages(self, shard: int) -> int | None:
        """Stop the shard's requests; see `HeldCrawl.yield_pages`.

        Returns None if the shard has no running crawl.
        """
        crawl = self.running.get(shard)
        return None if crawl is None else await crawl.yield_pages()

    def warnings(self) -> dict[str, list[int]]:
        """Return the warnings since the last call, each with the shards that gave it."""
        found: dict[str, list[int]] = {}
        for shard, crawl in self.running.items():
            for text in crawl.warnings():
                found.setdefault(text, []).append(shard)
        return found

    def look_after(self, now: float) -> list[tuple[int, ShardEnd]]:
        """Return the crawls that ended by themselves, each once. Restart those that are due."""
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
# Following keys of the engine, and listening to broadcasts.
#
# Law: a follower hears the final value of each key, and of deletions made while the engine could
# not be reached.

Hear = Callable[[KeyEntry], None]
_AGAIN_S = 0.5


async def follow(engine: KeyValues, prefix: str, hear: Hear) -> None:
    """Call `hear` for all keys with this prefix and their changes, for ever."""
    kept: set[str] = set()
    while True:
        try:
            await _follow_once(engine, prefix, hear, kept)
        except EngineUnavailable:
            await asyncio.sleep(_AGAIN_S)


async def listen(engine: Broadcasts, prefix: str, hear: Callable[[Broadcast], None]) -> None:
    """Call `hear` for all broadcasts with this prefix, for ever."""
    async with aclosing(engine.broadcasts(prefix)) as coming:
        async for said in coming:
            hear(said)


async def cancelled(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks until they have ended.

    Once is not enough: `asyncio.wait_for` of Python 3.11, which nats-py uses, may swallow a
    cancellation.
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
