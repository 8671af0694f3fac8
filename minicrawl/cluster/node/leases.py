"""Leases of shards: which node may crawl which shard. No I/O.

A shard must never be crawled by two nodes, and should not wait long for one. Clocks of machines
differ, so a lease has no expiry time. A lease is a key with the holder's name, and the holder shows
that it lives: each second it writes its own record again, with a later *beat*. Both sides measure
silence, each with its own clock:

    the holder   begins no request HOLD_S = 6 s after it *sent* the last beat that was confirmed
    the others   may take its shards LEASE_S = 8 s after they *received* its last beat

A beat is sent before it is received, so the holder's 6 s are over before anybody's 8 s, as long as
the clocks run at about the same speed. Example, in seconds, for shard 3 of node A:

    0.0   A sends a beat, and B receives it at 0.1
    0.5   A is cut off from the network
    6.0   A begins no more requests: that beat was sent 6 s ago
    8.1   B received it 8 s ago: the shard has no live holder. `assignment` gives it to B,
          which changes the key from the revision that it knows to (B, generation 8). Another
          node that tries the same from the same revision is refused
    8.2   B appends its mark to the log of the shard; from now on the log refuses entries of A
    20    A is back. It reads the leases before it continues, and drops shard 3

A node must not mistake its own deafness for the silence of others. It receives its own beats
through the same stream as theirs, in order: when its beat of 7.9 comes back, everything sent there
before 7.9 has arrived. Silence is counted only up to that moment, not up to now.

After the loss of the server that led the keys, beats are answered again after 4 to 9 s: until then
the crawl may pause, and nobody counts as silent.

silent    a node whose record did not change; its record renews all of its leases at once
young     a node that joined a moment ago: it takes free shards, but no shard moves to it yet

The budget of pages is agreed on in the same way, by compare-and-set (see `shared_budget`).
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from minicrawl.cluster import records
from minicrawl.cluster.node.assignment import assignment
from minicrawl.cluster.records import KeyEntry, LeaseRecord, NodeRecord

# Silent means: up to the moment to which everything said is certainly known.
# HOLD_S is shorter than LEASE_S also if a process is paused as a whole, since its clock runs on.

BEAT_S = 1.0
"""Interval between signs of life."""
BEATS_PER_S = 1000
"""Unit of the moment that a beat has as its number."""
HOLD_S = 6.0
LEASE_S = 8.0
YOUNG_S = 5.0
"""Time for which no shard moves to a new node, so that none moves to one that leaves at once."""


class SeenNode(NamedTuple):
    """Record of a node, when it was first heard in this session, and when it was last heard."""

    record: NodeRecord
    since: float
    heard_at: float


class SeenLease(NamedTuple):
    record: LeaseRecord
    revision: int


class LeasePlan(NamedTuple):
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
    known_to: float = inf
    """Moment up to which everything said is known; `inf` if that is the current one."""

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

    def hear_lease(self, shard: int, record: LeaseRecord | None, revision: int) -> None:
        """Process a lease, unless it is older than the known one; None if the key was deleted."""
        before = self.leases.get(shard)
        if before is not None and before.revision >= revision:
            return
        if record is None:
            self.leases.pop(shard, None)
        else:
            self.leases[shard] = SeenLease(record, revision)

    def live(self, now: float) -> dict[str, SeenNode]:
        """Return the nodes that were heard lately, or may have spoken without being heard yet."""
        since = min(now, self.known_to) - LEASE_S
        return {name: node for name, node in self.nodes.items() if node.heard_at > since}

    def holders(self, now: float) -> dict[int, str]:
        """Return the live holder of each shard that has one."""
        live = {(name, node.record.session) for name, node in self.live(now).items()}
        return {
            shard: lease.record.node
            for shard, lease in sorted(self.leases.items())
            if shard < self.shards and (lease.record.node, lease.record.session) in live
        }

    def wanted(self, now: float) -> dict[int, str]:
        """Return the live node that should hold each shard."""
        rooms = {
            name: 0 if name in self.drained else node.record.room
            for name, node in self.live(now).items()
        }
        return assignment(self.shards, rooms, self.holders(now))

    def generations(self, name: str, session: str) -> dict[int, int]:
        """Return the generation of each shard that this session of the node holds."""
        return {
            shard: lease.record.generation
            for shard, lease in self.leases.items()
            if self.is_mine(shard, name, session)
        }

    def is_mine(self, shard: int, name: str, session: str) -> bool:
        """Return whether this session of the node holds the shard, as far as known."""
        lease = self.leases.get(shard)
        return lease is not None and (lease.record.node, lease.record.session) == (name, session)


def plan(view: ClusterView, me: tuple[str, str], held: Iterable[int], now: float) -> LeasePlan:
    """Return what the node `me`, a name and a session, should do with the shards that it holds."""
    name, session = me
    own = set(held)
    lost = [shard for shard in own if not view.is_mine(shard, name, session)]
    takers, holders, live = view.wanted(now), view.holders(now), view.live(now)
    is_drained = name in view.drained
    give_up = [
        shard
        for shard in own.difference(lost)
        for taker in [takers.get(shard, name)]
        if is_drained or (taker != name and now - live[taker].since >= YOUNG_S)
    ]
    take = [
        shard
        for shard, taker in takers.items()
        if taker == name and shard not in own and holders.get(shard, name) == name
    ]
    return LeasePlan(sorted(lost), sorted(give_up), sorted(take))
