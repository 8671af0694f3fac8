"""Leases of shards, and what else the nodes of a cluster agree on.

A shard must never be crawled by two nodes, and should not wait long for one. Clocks of machines
differ, so a lease has no expiry time. A lease is a key with the holder's name, and the holder shows
that it lives: each second it writes its own record again, with the next *beat*. Both sides measure
silence, each with its own clock:

    the holder   begins no request HOLD_S = 6 s after it *sent* the last beat that was confirmed
    the others   may take its shards LEASE_S = 8 s after they *received* its last beat

A beat is sent before it is received, so the holder's 6 s are over before anybody's 8 s, as long as
the clocks run at about the same speed. Example, in seconds, for shard 3 of node A:

    0.0   A sends beat 41, and B receives it at 0.1
    0.5   A is cut off from the network
    6.0   A begins no more requests: beat 41 was sent 6 s ago
    8.1   B received beat 41 8 s ago: the shard has no live holder. `assignment` gives it to B,
          which changes the key from the revision that it knows to (B, generation 8). Another
          node that tries the same from the same revision is refused
    8.2   B appends its mark to the log of the shard; from now on the log refuses entries of A
    20    A is back. It reads the leases before it continues, and drops shard 3

A node must not mistake its own deafness for the silence of others. It receives its own beats
through the same stream as theirs, in order: when its beat of 7.9 comes back, everything sent there
before 7.9 has arrived. Silence is counted only up to that moment, not up to now.

Beats go to two places, each led by a server of its own, and one of them suffices: after the loss of
a server, the place that it led gives no answers for up to 9 s.

The budget of pages is agreed on in the same way, by compare-and-set (see "page budget" below).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from minicrawl.cluster import records
from minicrawl.cluster.assignment import (
    ShardNeed,
    assignment,
    is_short,
    new_grants,
)
from minicrawl.cluster.engine import (
    Broadcasts,
    ClusterEngine,
    EngineFull,
    EngineUnavailable,
    Fenced,
    KeyTaken,
    KeyValues,
)
from minicrawl.cluster.records import (
    GRANTS_KEY,
    NODE_PREFIX,
    BeatRecord,
    GrantsRecord,
    KeyEntry,
    LeaseRecord,
    NodeRecord,
)
from minicrawl.errors import UsageError

# ================================================================ leases
#
# Holders of shards, as one node sees them, and that node's decisions. No I/O and no clock.
#
# Laws: a node takes a shard only if nobody holds it, or if the holder has been silent for `LEASE_S`
# by the clock of the node that takes it. Silent means: in each place, up to the moment to which
# everything said there is certainly known. A node whose beats no place has confirmed for `HOLD_S`,
# by its own clock, holds nothing. HOLD_S is shorter than LEASE_S, so no two nodes crawl a shard,
# whatever their clocks show, if these run at about the same speed. This covers a pause of the whole
# process, during which its clock runs on.
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
"""Time for which no shard moves to a new node, so that none moves to one that leaves at once."""


class SeenNode(NamedTuple):
    """Record of a node, when it was first heard in this session, and when it was last heard."""

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

    lost: Collection[int]  # other nodes hold them: stop at once
    give_up: Collection[int]  # end their crawls cleanly, then free the leases
    take: Collection[int]  # nobody crawls them


@dataclass(slots=True)
class ClusterView:
    """A node's knowledge of nodes and leases, updated from the keys."""

    shards: int
    nodes: dict[str, SeenNode] = field(default_factory=dict)
    leases: dict[int, SeenLease] = field(default_factory=dict)
    drained: set[str] = field(default_factory=set)
    known_to: dict[str, float] = field(default_factory=dict)
    """Moment up to which everything said is known, by place. Absent places are ignored."""

    def hear(self, entry: KeyEntry, now: float) -> NodeRecord | bool:
        """Process the current value of a key. Raises RecordError.

        Return a node's record if the key has one, and otherwise whether a view has such keys.
        """
        kind, _, name = entry.key.partition(".")
        match f"{kind}.":
            case records.NODE_PREFIX:
                self.hear_node(name, node := NodeRecord.of(entry), now)
                return node or True
            case records.LEASE_PREFIX if name.isdecimal():
                self.hear_lease(int(name), LeaseRecord.of(entry), entry.revision)
            case records.DRAIN_PREFIX:
                (self.drained.discard if entry.value is None else self.drained.add)(name)
            case _:
                return False
        return True

    def hear_node(self, name: str, record: NodeRecord | None, now: float) -> None:
        """Process a node's record; None if the node has left."""
        before = self.nodes.get(name)
        if record is None:
            self.nodes.pop(name, None)
        elif before is None or before.record.session != record.session:
            self.nodes[name] = SeenNode(record, now, now)
        elif before.record.beat < record.beat:  # else the record was read twice, or arrived late
            self.nodes[name] = SeenNode(record, before.since, now)

    def hear_beat(self, name: str, beat: BeatRecord, now: float) -> None:
        before = self.nodes.get(name)
        if before is None or before.record.session != beat.session:
            return
        if before.record.beat < beat.beat:
            record = replace(before.record, beat=beat.beat)
            self.nodes[name] = SeenNode(record, before.since, now)

    def know_all_to(self, place: str, moment: float) -> bool:
        """Note that everything said in this place before `moment` was heard.

        Return True if that advances the moment up to which all places are known.
        """
        before = min(self.known_to.values(), default=moment)
        self.known_to[place] = max(moment, self.known_to.get(place, moment))
        return min(self.known_to.values()) > before

    def hear_lease(self, shard: int, record: LeaseRecord | None, revision: int) -> None:
        """Process a lease; ignore one that is older than the known one.

        Revision 0 belongs to a key that is gone.
        """
        before = self.leases.get(shard)
        if before is not None and before.revision >= revision > 0:
            return
        if record is None:
            self.leases.pop(shard, None)
        else:
            self.leases[shard] = SeenLease(record, revision)

    def renew_all(self, now: float) -> None:
        """Count all nodes as heard just now, since for a while none could be heard."""
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
        """Return the generation of each shard that this session of the node holds."""
        own = (one for one in self.leases if self.is_mine(one, name, session))
        return {shard: self.leases[shard].record.generation for shard in own}

    def is_mine(self, shard: int, name: str, session: str) -> bool:
        """Return whether this session of the node holds the shard, as far as known."""
        lease = self.leases.get(shard)
        return lease is not None and (lease.record.node, lease.record.session) == (name, session)


def plan(view: ClusterView, me: tuple[str, str], held: Iterable[int], now: float) -> LeasePlan:
    """Return what the node `me`, a name and a session, should do with the shards that it holds."""
    name, session = me
    own = set(held)
    lost = {shard for shard in own if not view.is_mine(shard, name, session)}
    wanted, holders, live = view.wanted(now), view.holders(now), view.live(now)
    is_drained = name in view.drained
    give_up = {
        shard
        for shard in own - lost
        for taker in [wanted.get(shard, name)]
        if is_drained or (taker != name and now - live[taker].since >= YOUNG_S)
    }
    take = {
        shard
        for shard, taker in wanted.items()
        if taker == name and shard not in own and holders.get(shard, name) == name
    }
    return LeasePlan(lost=sorted(lost), give_up=sorted(give_up), take=sorted(take))


# ================================================================ presence
#
# A node's signs of life: its record, written again at each beat, in two places.
#
# Laws: a name belongs to one process at a time; a second one is refused. `renewed_at` is never
# later than the moment at which the others heard the beat: it was read before the beat was sent.

PATIENCE_S = 3.0
"""Time limit for the answer to a beat. A late answer counts from when the beat was sent."""
_BEATS_KEPT = 64

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], float]


def lease_clock() -> float:
    """Return CLOCK_BOOTTIME in seconds, which runs while the machine sleeps.

    It is the same in a node and its children.
    """
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class NodePresence:
    """Signs of life of one node."""

    def __init__(
        self, engine: KeyValues, beats: KeyValues, name: str, record: NodeRecord, now: Now
    ) -> None:
        self._engine, self._beats, self._now = engine, beats, now
        self.name, self.record = name, record
        self._revision = 0
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._began: dict[int, float] = {}
        self._answers = 0
        self.renewed_at = now()
        """Time at which the last confirmed beat was sent."""
        self.refusal = ""
        """Error if the servers had no room for the last beat; otherwise empty."""

    @property
    def me(self) -> tuple[str, str]:
        return self.name, self.record.session

    @property
    def _key(self) -> str:
        return f"{NODE_PREFIX}{self.name}"

    def began(self, said: BeatRecord | NodeRecord) -> float | None:
        """Return when this beat was sent, or None if it is not one of our recent ones."""
        return self._began.get(said.beat) if said.session == self.record.session else None

    async def begin(self, sleep: Sleep = asyncio.sleep) -> None:
        """Announce the node. Raises UsageError if another process uses the name."""
        if (before := await self._engine.get(self._key)) is not None:
            await self._wait_until_silent(before, sleep)
        await self.beat(self.record)

    async def _wait_until_silent(self, before: KeyEntry, sleep: Sleep) -> None:
        """Wait until the record of this name has not changed for `LEASE_S`.

        One change is tolerated: a server that has just begun to lead may first have answered with
        an older record.
        """
        last, ends_at, may_be_old = before.revision, self._now() + LEASE_S, True
        while self._now() < ends_at:
            await sleep(BEAT_S)
            after = await self._engine.get(self._key)
            if after is None:
                return
            if after.revision == last:
                continue
            if not may_be_old:
                raise UsageError(
                    f"a node named {self.name} is in this cluster already: give another --name"
                )
            last, ends_at, may_be_old = after.revision, self._now() + LEASE_S, False
        self._revision = last

    async def beat(self, record: NodeRecord) -> bool:
        """Send a sign of life. Return whether a place has confirmed one since the last call.

        A place that has not answered the last beat gets no new one.
        """
        began, before = self._now(), self._answers
        for task in self._under_way.values():
            if task.done():
                task.result()
        self.record = replace(record, beat=self.record.beat + 1)
        self._began[self.record.beat] = began
        self._began.pop(self.record.beat - _BEATS_KEPT, None)
        self._send(KEYS, self._write(), began)
        beat = BeatRecord(session=self.record.session, beat=self.record.beat)
        self._send(BEATS, self._beats.put(self._key, beat.pack()), began)
        waiting = set(self._under_way.values())
        while waiting and self._answers == before:
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        return self._answers > before

    def _send(self, place: str, write: Coroutine[Any, Any, object], began: float) -> None:
        sent = self._under_way.get(place)
        if sent is None or sent.done():
            self._under_way[place] = asyncio.create_task(self._renew(write, began))
        else:
            write.close()

    async def _renew(self, write: Coroutine[Any, Any, object], began: float) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                await write
        except EngineFull as error:
            self.refusal = str(error)
            return
        except (EngineUnavailable, KeyTaken, TimeoutError):
            return  # not confirmed; KeyTaken: an earlier beat arrived in between
        self._answers += 1
        self.renewed_at, self.refusal = max(self.renewed_at, began), ""

    async def _write(self) -> None:
        content = self.record.pack()
        try:
            self._revision = await self._engine.update(self._key, content, self._revision)
        except KeyTaken:
            self._revision = await self._own_revision()
            self._revision = await self._engine.update(self._key, content, self._revision)

    async def _own_revision(self) -> int:
        """Return the current revision of our record, which an unanswered write may have changed.

        A revision that is not later than ours is stale, no matter who wrote it: a new leader may
        lag behind.
        """
        found = await self._engine.get(self._key)
        if found is None or (record := NodeRecord.of(found)) is None:
            return 0
        is_news = found.revision > self._revision
        if is_news and record.session != self.record.session:
            raise UsageError(f"another node named {self.name} has joined: give another --name")
        return found.revision

    async def leave(self) -> None:
        """Delete our record, if the engine can be reached."""
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._engine.delete(self._key)
                await self._beats.delete(self._key)
        except (EngineUnavailable, TimeoutError):
            return  # to the others, the node falls silent


# ================================================================ page budget
#
# The page budget of a crawl: how many pages each shard may fetch.
#
# Laws: the pages that all shards may fetch never exceed the budget, even if answers of the engine
# are lost. Grants are entries of a log of their own, of which the last counts. A new entry is
# accepted only from a node that knows the one before. While it is unknown whether an entry was
# accepted, a shard may fetch the smaller of both numbers, and the same entry is appended again
# until the log has grown: then it was accepted, or never will be.
#
# A key repeats the last entry, so that nodes need not poll the log. The key may be stale, and does
# not count: if the answer to an append was lost, only the log shows whether the entry was accepted.
#
# claim    generation of a shard's lease, which its holder first writes here: from then on, changes
#          by an earlier holder are refused
# doubted  entry of ours that may or may not have been accepted

YieldPages = Callable[[int], Awaitable[int | None]]
"""Function of a shard that stops its requests until it is granted more, and returns the pages that
it has spent, or None if its crawl does not answer."""

KEPT_ENTRIES = 64
"""Entries to keep in the log; only the last one counts."""


class SharedBudget:
    """Page grants of all shards, as far as this node knows."""

    def __init__(self, engine: ClusterEngine, shards: int) -> None:
        self._engine, self._log = engine, shards  # logs with smaller numbers belong to shards
        self._known = GrantsRecord(entry=0, granted={}, generations={})
        self._doubted: GrantsRecord | None = None

    def hear(self, entry: KeyEntry) -> None:
        """Process a value of the key, which may be an old one."""
        if (record := GrantsRecord.of(entry)) is not None:
            self._learn(record)

    def _learn(self, record: GrantsRecord) -> None:
        if record.entry > self._known.entry:
            self._known, self._doubted = record, None

    def granted(self, shard: int, generation: int) -> int:
        """Return how many pages the shard may certainly fetch in total under this lease."""
        if self._known.generations.get(shard) != generation:
            return 0
        pages = self._known.granted.get(shard, 0)
        return pages if self._doubted is None else min(pages, self._doubted.granted.get(shard, 0))

    def is_short(self, leases: Mapping[int, int], needs: Mapping[int, ShardNeed]) -> bool:
        """Return whether one of these shards will soon have spent its grant."""
        return any(
            is_short(self.granted(shard, generation), needs[shard])
            for shard, generation in leases.items()
            if shard in needs
        )

    async def share_out(
        self,
        budget: int,
        leases: Mapping[int, int],
        needs: Mapping[int, ShardNeed],
        give_back: YieldPages,
        *,
        is_wanted: bool,
    ) -> None:
        """Claim shards, and grant or take back pages according to their needs.

        `leases` has the generation of each shard's lease, `needs` the needs of all shards.
        """
        if self._doubted is not None and not await self._is_settled(self._doubted):
            return
        known, granted = self._known, self._known.granted
        # Another node may have claimed a shard before we hear that our lease on it is lost.
        claimed = known.generations
        own = {shard: lease for shard, lease in leases.items() if lease >= claimed.get(shard, 0)}
        anew = new_grants(
            budget,
            granted,
            {shard: needs[shard] for shard in own if shard in needs},
            sum(bool(need.waiting) for need in needs.values()),
            pace=sum(need.pace for need in needs.values()),
            is_wanted=is_wanted,
        )
        after = {**granted, **await _taken_back(anew, granted, give_back)}
        if sum(after.values()) > max(budget, sum(granted.values())):
            after = {**granted}
        record = replace(known, granted=after, generations={**claimed, **own})
        if known is self._known and record != known:  # else another node was quicker
            await self._change(replace(record, entry=known.entry + 1))

    async def _is_settled(self, doubted: GrantsRecord) -> bool:
        """Find out whether the doubted entry was accepted, or append it again.

        Returns False if that remains unknown.
        """
        try:
            await self._look()
        except EngineUnavailable:
            return False
        if self._doubted is not None:  # else the log has answered
            await self._change(doubted)
        return self._doubted is None

    async def _look(self) -> None:
        """Read the last entry of the log."""
        _, last = await self._engine.log_span(self._log)
        if last > self._known.entry:
            async for entry in self._engine.entries(self._log, self._known.entry):
                record = GrantsRecord.unpack(GRANTS_KEY, entry.content)
                self._learn(replace(record, entry=entry.number))

    async def _change(self, record: GrantsRecord) -> None:
        self._doubted, before = record, self._known.entry
        try:
            entry = await self._engine.append(self._log, before, record.pack(), is_shared=True)
        except (Fenced, EngineUnavailable, EngineFull):
            return  # another node was quicker, or there was no answer: the next call finds out
        self._learn(record := replace(record, entry=entry))
        try:
            await self._engine.put(GRANTS_KEY, record.pack())
            if entry % KEPT_ENTRIES == 0:
                await self._engine.remove_entries(self._log, before)
        except EngineUnavailable:
            return  # others find the entry when they want to change it


async def _taken_back(
    anew: Mapping[int, int], granted: Mapping[int, int], give_back: YieldPages
) -> dict[int, int]:
    """Return the new grants, after asking shards that get less to return pages."""
    after = dict(anew)
    for shard, pages in anew.items():
        if pages < granted.get(shard, 0):
            spent = await give_back(shard)
            after[shard] = granted[shard] if spent is None else spent
    return after


# ================================================================ following keys
#
# Following keys of the engine, and listening to broadcasts.
#
# Law: a follower hears the final value of each key, and deletions, even those made while the engine
# could not be reached.

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


async def listen(engine: Broadcasts, prefix: str, hear: Hear) -> None:
    """Call `hear` for all broadcasts with this prefix, for ever."""
    async with aclosing(engine.broadcasts(prefix)) as broadcasts:
        async for broadcast in broadcasts:
            hear(broadcast)


async def _follow_once(engine: KeyValues, prefix: str, hear: Hear, kept: set[str]) -> None:
    """Follow the keys until the watch ends; `kept` are the known keys, from watch to watch.

    Known keys that the first listing lacks were deleted while the engine could not be reached.
    """
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
