"""The whole cluster at one look: its nodes, its shards, how far the crawl has come.

Law: nobody is disturbed: it is read from what nodes and shards tell. Clocks of machines are not
compared: a node is there if its record changes while one looks.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from minicrawl.cluster.engine import ClusterEngine, KeyEntry
from minicrawl.cluster.node import records
from minicrawl.cluster.node.leases import BEAT_S
from minicrawl.cluster.node.records import (
    Doing,
    LeaseRecord,
    NodeRecord,
    RecordError,
    StateRecord,
    TermsRecord,
)
from minicrawl.cluster.terms import NO_CRAWL
from minicrawl.errors import UsageError
from minicrawl.opic.money import UNIT
from minicrawl.shards.batches import BatchError
from minicrawl.shards.facts import ShardFacts, facts_in, fetched_together
from minicrawl.shards.water import water_level

LOOK_S = 3 * BEAT_S
"""A node that says nothing for so long while one looks is silent."""
_LOOKS_EVERY_S = 0.25
_HEADROOM = 2
_FEWEST = 16

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node, and what its shards do together."""

    name: str
    state: str  # live, draining or silent
    machine: str
    version: str
    shards: tuple[int, ...]
    fetched: int
    pace: float  # pages asked for in a second
    workers: int
    disk_free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """The cluster as its nodes tell."""

    doing: str
    reason: str
    shards: int
    unheld: tuple[int, ...]  # shards that no live node holds
    nodes: tuple[NodeRow, ...]
    budget: int | None
    fetched: int
    pace: float
    waiting: int
    batches: int  # sent and not posted yet, as far as was told
    level: float  # of cash, in units, below which pages wait

    @property
    def is_over(self) -> bool:
        """Whether nothing is fetched any more, unless somebody begins it again."""
        return self.doing in (Doing.STOPPED, Doing.ENDED)

    def as_json(self) -> Json:
        """For programs."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "nodes"}
        nodes = [
            {name: getattr(row, name) for name in row.__dataclass_fields__} for row in self.nodes
        ]
        return {**own, "nodes": nodes}


class ClusterOverview:
    """What is known of a cluster, kept up to date by `hear`."""

    def __init__(self) -> None:
        self.terms: TermsRecord | None = None
        self.state: StateRecord | None = None
        self.told: dict[int, ShardFacts] = {}
        self._nodes: dict[str, NodeRecord] = {}
        self._leases: dict[int, LeaseRecord] = {}
        self._drained: set[str] = set()
        self._workers: dict[str, int] = {}
        self._heard: dict[str, tuple[str, int]] = {}

    def hear(self, entry: KeyEntry) -> None:
        """A key as it is now. What no node writes is left out."""
        try:
            self._hear(entry)
        except (RecordError, BatchError):
            return

    def _hear(self, entry: KeyEntry) -> None:
        key, content = entry.key, entry.value
        kind, _, name = key.partition(".")
        match f"{kind}.":
            case records.DRAIN_PREFIX:
                (self._drained.discard if content is None else self._drained.add)(name)
            case records.NODE_PREFIX if content is None:
                self._nodes.pop(name, None)
            case records.NODE_PREFIX:
                self._nodes[name] = NodeRecord.unpack(key, content or b"")
            case _ if content is not None:
                self._hear_value(f"{kind}.", name, content)

    def _hear_value(self, kind: str, name: str, content: bytes) -> None:
        key = f"{kind}{name}"
        if kind == records.LEASE_PREFIX and name.isdecimal():
            self._leases[int(name)] = LeaseRecord.unpack(key, content)
        elif kind == records.WORKERS_PREFIX:
            self._workers[name] = records.WishRecord.unpack(key, content).value
        elif kind == records.TOLD_PREFIX:
            facts = facts_in(content)
            self.told[facts.shard] = facts
        elif key == records.TERMS_KEY:
            self.terms = TermsRecord.unpack(key, content)
        elif key == records.STATE_KEY:
            self._begin(StateRecord.unpack(key, content))

    def _begin(self, state: StateRecord) -> None:
        """What shards told in an earlier run does not count any more."""
        if state.run != self.run:
            self.told.clear()
        self.state = state

    @property
    def run(self) -> int:
        """Of the crawl; 0 if that is not known."""
        return self.state.run if self.state else 0

    def beats(self) -> dict[str, tuple[str, int]]:
        """How often each node has said that it is there."""
        return {name: (one.session, one.beat) for name, one in self._nodes.items()}

    def status(self, live: frozenset[str]) -> ClusterStatus:
        """What there is, where these nodes are live."""
        terms, state = self.terms, self.state
        if terms is None or state is None:
            raise UsageError(NO_CRAWL)
        holders = self._holders(live)
        pages = terms.settings.get("pages")
        told = self.told.values()
        sent = sum(number for facts in told for number in facts.sent.values())
        posted = sum(number for facts in told for number in facts.received.values())
        pace = sum(facts.pace for facts in told)
        above = ceil(_HEADROOM * sum(max(facts.pace, _FEWEST) for facts in told))
        return ClusterStatus(
            doing=state.doing,
            reason=state.reason,
            shards=terms.shards,
            unheld=tuple(one for one in range(terms.shards) if one not in holders),
            nodes=tuple(self._row(name, holders, live) for name in sorted(self._nodes)),
            budget=pages if isinstance(pages, int) else None,
            fetched=fetched_together(self.told),
            pace=pace,
            waiting=sum(facts.waiting for facts in told),
            batches=max(0, sent - posted),
            level=water_level([facts.sketch for facts in told], above) / UNIT,
        )

    def _holders(self, live: frozenset[str]) -> Mapping[int, str]:
        return {
            shard: lease.node
            for shard, lease in self._leases.items()
            if lease.node in live and self._nodes[lease.node].session == lease.session
        }

    def _row(self, name: str, holders: Mapping[int, str], live: frozenset[str]) -> NodeRow:
        record = self._nodes[name]
        shards = tuple(sorted(shard for shard, node in holders.items() if node == name))
        facts = [self.told[shard] for shard in shards if shard in self.told]
        state = "draining" if name in self._drained else "live"
        return NodeRow(
            name=name,
            state=state if name in live else "silent",
            machine=record.machine,
            version=record.version,
            shards=shards,
            fetched=sum(one.fetched for one in facts),
            pace=sum(one.pace for one in facts),
            workers=self._workers.get(name, record.workers),
            disk_free=record.disk_free,
        )


async def overview(engine: ClusterEngine) -> ClusterStatus:
    """The cluster as of now. It takes as long as the slowest node needs to say that it is there."""
    found = ClusterOverview()
    await _read(engine, found)
    before, looked_s = found.beats(), 0.0
    live: frozenset[str] = frozenset()
    while looked_s < LOOK_S and live != before.keys():
        await asyncio.sleep(_LOOKS_EVERY_S)
        looked_s += _LOOKS_EVERY_S
        for entry in await engine.keys(records.NODE_PREFIX):
            found.hear(entry)
        now = found.beats()
        live = frozenset(name for name, beat in now.items() if beat != before.get(name))
    return found.status(live)


async def _read(engine: ClusterEngine, found: ClusterOverview) -> None:
    for prefix in (
        *(records.CRAWL_PREFIX, records.NODE_PREFIX, records.LEASE_PREFIX),
        *(records.DRAIN_PREFIX, records.WORKERS_PREFIX),
    ):
        for entry in await engine.keys(prefix):
            found.hear(entry)
    if found.state is not None:
        for entry in await engine.keys(f"{records.TOLD_PREFIX}{found.state.run}."):
            found.hear(entry)
