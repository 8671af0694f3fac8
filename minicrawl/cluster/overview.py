"""Status of the whole cluster, as told by its nodes and shards, and requests of users to it.

Laws: looking disturbs nobody: keys are read and broadcasts are heard. Clocks of machines are not
compared: a node is live if its record changes while we look.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from minicrawl.cluster.assignment import (
    TELL_S,
    ShardFacts,
    cash_threshold,
    facts_in,
    fetched_together,
    pages_to_admit,
)
from minicrawl.cluster.channels import BatchError
from minicrawl.cluster.engine import Broadcast, ClusterEngine, KeyEntry
from minicrawl.cluster.node.leases import (
    BEAT_S,
    LEASE_S,
    ClusterView,
    cancelled,
    follow,
    lease_clock,
    listen,
)
from minicrawl.cluster.terms import (
    CRAWL_PREFIX,
    DRAIN_PREFIX,
    LEASE_PREFIX,
    NO_CRAWL,
    NODE_PREFIX,
    REBALANCE_KEY,
    STATE_KEY,
    TERMS_KEY,
    TOLD_PREFIX,
    WORKERS_PREFIX,
    CrawlActivity,
    DesiredValue,
    RecordError,
    StateRecord,
    TermsRecord,
    state_of,
)
from minicrawl.config.parts import Budget
from minicrawl.crawl.progress import most_pages
from minicrawl.errors import UsageError
from minicrawl.opic.money import UNIT

LOOK_S = 3 * BEAT_S
"""Seconds without a beat after which a node counts as silent."""
_POLL_S = 0.25
_PREFIXES = (CRAWL_PREFIX, NODE_PREFIX, LEASE_PREFIX, DRAIN_PREFIX, WORKERS_PREFIX)
"""Prefixes of the keys to read, except those of facts."""

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRow:
    """A node, and the sums over its shards."""

    name: str
    state: str  # live, draining or silent
    machine: str
    version: str
    shards: tuple[int, ...]
    fetched: int
    pace: float  # requests per second
    workers: int
    disk_free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """Status of a cluster, as told by its nodes and shards."""

    doing: str
    reason: str
    shards: int
    unheld: tuple[int, ...]  # shards that no live node holds
    nodes: tuple[NodeRow, ...]
    budget: int | None
    fetched: int
    pace: float
    waiting: int
    batches: int  # sent and not posted yet, as far as known
    level: float  # cash in units, below which pages wait

    @property
    def is_over(self) -> bool:
        """True if nothing is fetched until somebody starts the crawl again."""
        return self.doing in (CrawlActivity.STOPPED, CrawlActivity.ENDED)

    def as_json(self) -> Json:
        """Return the status for JSON."""
        own = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "nodes"}
        nodes = [
            {name: getattr(row, name) for name in row.__dataclass_fields__} for row in self.nodes
        ]
        return {**own, "nodes": nodes}


class ClusterOverview:
    """Knowledge of a cluster, kept up to date by `hear`."""

    def __init__(self) -> None:
        self.terms: TermsRecord | None = None
        self.state: StateRecord | None = None
        self.told: dict[int, ShardFacts] = {}
        self._limits = Budget()
        self._view = ClusterView(0)
        self._workers: dict[str, int] = {}

    def hear(self, entry: KeyEntry) -> None:
        """Process the current value of a key. Values that no node writes are ignored."""
        with suppress(RecordError, BatchError):
            if not self._view.hear(entry, 0.0) and entry.value is not None:
                self._hear_value(entry.key, entry.value)

    def _hear_value(self, key: str, content: bytes) -> None:
        if key.startswith(WORKERS_PREFIX):
            workers = DesiredValue.unpack(key, content).value
            self._workers[key.removeprefix(WORKERS_PREFIX)] = workers
        elif key.startswith(TOLD_PREFIX):
            facts = facts_in(content)
            self.told[facts.shard] = facts
        elif key == TERMS_KEY:
            terms = TermsRecord.unpack(key, content)
            self.terms, self._limits = terms, terms.limits
        elif key == STATE_KEY:
            self._hear_state(StateRecord.unpack(key, content))

    def _hear_state(self, state: StateRecord) -> None:
        """Process the state of the crawl. Facts of an earlier run are forgotten."""
        if state.run != self.run:
            self.told.clear()
        self.state = state

    @property
    def run(self) -> int:
        """Number of the crawl's run; 0 if unknown."""
        return self.state.run if self.state else 0

    def beats(self) -> dict[str, tuple[str, int]]:
        """Return each node's session and number of beats."""
        nodes = self._view.nodes.items()
        return {name: (seen.record.session, seen.record.beat) for name, seen in nodes}

    def status(self, live: frozenset[str]) -> ClusterStatus:
        """Return the status, given the live nodes."""
        terms, state = self.terms, self.state
        if terms is None or state is None:
            raise UsageError(NO_CRAWL)
        holders = self._holders(live)
        told = self.told.values()
        sent = sum(number for facts in told for number in facts.sent.values())
        posted = sum(number for facts in told for number in facts.received.values())
        pace = sum(facts.pace for facts in told)
        return ClusterStatus(
            doing=state.doing,
            reason=state.reason,
            shards=terms.shards,
            unheld=tuple(one for one in range(terms.shards) if one not in holders),
            nodes=tuple(self._row(name, holders, live) for name in sorted(self._view.nodes)),
            budget=most_pages(self._limits, state.fetched),
            fetched=fetched_together(self.told),
            pace=pace,
            waiting=sum(facts.waiting for facts in told),
            batches=max(0, sent - posted),
            level=cash_threshold([facts.sketch for facts in told], pages_to_admit(told, TELL_S))
            / UNIT,
        )

    def _holders(self, live: frozenset[str]) -> Mapping[int, str]:
        return {
            shard: record.node
            for shard, (record, _) in self._view.leases.items()
            if record.node in live
            and self._view.nodes[record.node].record.session == record.session
        }

    def _row(self, name: str, holders: Mapping[int, str], live: frozenset[str]) -> NodeRow:
        record = self._view.nodes[name].record
        shards = tuple(sorted(shard for shard, node in holders.items() if node == name))
        facts = [self.told[shard] for shard in shards if shard in self.told]
        state = "draining" if name in self._view.drained else "live"
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
    """Return the status of the cluster.

    Waits until each node has beaten once or counts as silent.
    """
    found = ClusterOverview()
    await _read(engine, found)
    before, looked_s = found.beats(), 0.0
    live: frozenset[str] = frozenset()
    while looked_s < LOOK_S and live != before.keys():
        await asyncio.sleep(_POLL_S)
        looked_s += _POLL_S
        for entry in await engine.keys(NODE_PREFIX):
            found.hear(entry)
        now = found.beats()
        live = frozenset(name for name, beat in now.items() if beat != before.get(name))
    return found.status(live)


async def _read(engine: ClusterEngine, found: ClusterOverview) -> None:
    for prefix in _PREFIXES:
        for entry in await engine.keys(prefix):
            found.hear(entry)
    if found.state is not None:
        for entry in await engine.keys(f"{TOLD_PREFIX}{found.state.run}."):
            found.hear(entry)


# ================================================================ watching
#
# Follows a cluster, for a dashboard or until its crawl is over.
#
# Law: a watcher takes no part: it only reads keys and listens.

_SHOW_EVERY_S = 0.5

Show = Callable[[ClusterStatus], None]


class ClusterWatch:
    """Follower of the keys and broadcasts of a cluster."""

    def __init__(self, engine: ClusterEngine) -> None:
        self._engine = engine
        self._seen = ClusterOverview()
        self._run = 0  # the run to wait for, if any
        self._early: dict[str, KeyEntry] = {}
        """Facts that came before the number of the run."""
        self._following: list[asyncio.Task[None]] = []
        self._heard: dict[str, tuple[tuple[str, int], float]] = {}

    def begin(self) -> None:
        """Start to follow the cluster, until `end`."""
        self._following = [
            asyncio.create_task(follow(self._engine, one, self._hear))
            for one in (*_PREFIXES, TOLD_PREFIX)
        ]
        listening = listen(self._engine, TOLD_PREFIX, self._hear_facts)
        self._following.append(asyncio.create_task(listening))

    async def end(self) -> None:
        """Stop following."""
        await cancelled(self._following)

    async def until_over(self, run: int, show: Show) -> ClusterStatus:
        """Call `show` regularly until this run of the crawl ends; return the last status."""
        self._run = run
        self.begin()
        try:
            while not self._is_over():
                await asyncio.sleep(_SHOW_EVERY_S)
                if self._seen.terms is not None and self._seen.state is not None:
                    show(self.status())
            return self.status()
        finally:
            await self.end()

    def status(self) -> ClusterStatus:
        """Return the current status of the cluster."""
        now = lease_clock()
        for name, beat in self._seen.beats().items():
            if name not in self._heard or self._heard[name][0] != beat:
                self._heard[name] = beat, now
        live = {name for name, (_, at) in self._heard.items() if now - at < LEASE_S}
        return self._seen.status(frozenset(live & self._seen.beats().keys()))

    def _is_over(self) -> bool:
        state = self._seen.state
        return state is not None and state.run >= self._run and state.is_over

    def _hear_facts(self, said: Broadcast) -> None:
        self._hear(KeyEntry(said.topic, said.content, 0))

    def _hear(self, entry: KeyEntry) -> None:
        if entry.key.startswith(TOLD_PREFIX):
            run, told_in = self._run or self._seen.run, entry.key.split(".")[1]
            if not run:
                self._early[entry.key] = entry
            if told_in != str(run):
                return
        self._seen.hear(entry)
        if self._early and self._seen.run:
            early, self._early = self._early, {}
            for told in early.values():
                self._hear(told)


# ================================================================ steering
#
# Requests of users to a running cluster, as keys that its nodes follow.
#
# Law: a request to an absent node is refused with the names of the nodes that exist.

MOST_WORKERS = 64


async def drain(engine: ClusterEngine, node: str) -> None:
    """Make the node give up all its shards and take no others."""
    await _refuse_unknown_node(engine, node)
    await engine.put(f"{DRAIN_PREFIX}{node}", DesiredValue(value=1).pack())


async def undrain(engine: ClusterEngine, node: str) -> None:
    """Allow a drained node to take shards again."""
    await _refuse_unknown_node(engine, node)
    await engine.delete(f"{DRAIN_PREFIX}{node}")


async def rebalance(engine: ClusterEngine) -> None:
    """Allow shards to move to new nodes at once."""
    found = await engine.get(REBALANCE_KEY)
    before = DesiredValue.unpack(REBALANCE_KEY, found.value).value if found and found.value else 0
    await engine.put(REBALANCE_KEY, DesiredValue(value=before + 1).pack())


async def set_workers(engine: ClusterEngine, node: str, workers: int) -> None:
    """Set the number of fetching processes of each shard of the node."""
    await _refuse_unknown_node(engine, node)
    if not 0 <= workers <= MOST_WORKERS:
        raise UsageError(f"{workers} workers: must be a number from 0 to {MOST_WORKERS}")
    await engine.put(f"{WORKERS_PREFIX}{node}", DesiredValue(value=workers).pack())


async def pause(engine: ClusterEngine) -> StateRecord:
    """Pause the crawl: no shard begins a request."""
    return await _change(engine, CrawlActivity.RUNNING, CrawlActivity.PAUSED)


async def resume(engine: ClusterEngine) -> StateRecord:
    """Resume a paused crawl."""
    return await _change(engine, CrawlActivity.PAUSED, CrawlActivity.RUNNING)


async def stop(engine: ClusterEngine) -> StateRecord:
    """Stop the crawls of all shards cleanly. `crawl --cluster` continues them."""
    return await _change(engine, None, CrawlActivity.STOPPED)


async def set_pages(engine: ClusterEngine, pages: int | None) -> None:
    """Set the limit of pages of the whole crawl; None for no limit."""
    found = await engine.get(TERMS_KEY)
    if found is None or found.value is None:
        raise UsageError(NO_CRAWL)
    terms = TermsRecord.unpack(TERMS_KEY, found.value)
    changed = replace(terms, settings={**terms.settings, "pages": pages})
    await engine.update(TERMS_KEY, changed.pack(), found.revision)


async def _change(
    engine: ClusterEngine, before: CrawlActivity | None, after: CrawlActivity
) -> StateRecord:
    state, revision = await state_of(engine)
    if state.is_over:
        raise UsageError(
            f"the crawl of this cluster has {state.doing}: crawl --cluster continues it"
        )
    if before is not None and state.doing != before:
        return state
    changed = replace(state, doing=after, reason="by the user")
    await engine.update(STATE_KEY, changed.pack(), revision)
    return changed


async def _refuse_unknown_node(engine: ClusterEngine, node: str) -> None:
    names = [one.key.removeprefix(NODE_PREFIX) for one in await engine.keys(NODE_PREFIX)]
    if node not in names:
        known = ", ".join(names) or "none"
        raise UsageError(f"no node named {node} is in this cluster; there are: {known}")
