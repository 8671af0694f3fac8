"""Who holds which shard, as one node sees it, and what that node should do. No I/O and no clock.

Laws: a node takes a shard only if nobody holds it, or if its holder has been silent for `LEASE_S`
by the clock of whoever takes it: silent in each place where nodes say that they are there, as far
as it is known for sure what was said there. A node that could not say anything in any place for
`HOLD_S` by its own clock holds nothing. HOLD_S is the shorter one, so no two nodes crawl a shard,
however their clocks are set, as long as these run at about the same pace. A pause of the whole
process is no exception: the clock has gone on.

silent    a node whose record did not change; its record renews all of its leases at once
place     the keys or the beats; each has a server of its own that leads it
young     a node that came a moment ago: free shards go to it, but none moves to it yet
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from minicrawl.cluster.node.records import BeatRecord, LeaseRecord, NodeRecord
from minicrawl.shards.assignment import assignment

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
