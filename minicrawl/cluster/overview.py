"""Status of the whole cluster, as told by its nodes and shards.

Laws: looking disturbs nobody: keys are read and broadcasts are heard. Clocks of machines are not
compared: a node is live if its record changes while we look.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf

from minicrawl.cluster import records
from minicrawl.cluster.access import cancelled
from minicrawl.cluster.cash_threshold import TELL_S, cash_threshold, pages_to_admit
from minicrawl.cluster.conclusions import fetched_together
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.node.following import follow, listen
from minicrawl.cluster.node.leases import BEAT_S, ClusterView
from minicrawl.cluster.node.presence import lease_clock
from minicrawl.cluster.records import CrawlActivity, KeyEntry, RecordError, ShardFacts, StateRecord
from minicrawl.cluster.server_versions import ServerFacts
from minicrawl.cluster.shared_settings import TermsRecord
from minicrawl.cluster.terms import NO_CRAWL
from minicrawl.config.parts.selection import Budget
from minicrawl.crawl.progress import most_pages
from minicrawl.errors import UsageError
from minicrawl.opic.ledger.money import UNIT

LOOK_S = 3 * BEAT_S
"""Seconds without a beat after which a node counts as silent."""
_POLL_S, _SHOW_EVERY_S = 0.25, 0.5
_LAST_FACTS_S = 10.0
"""Longest wait for the last facts of shards after the end of the crawl."""


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
    doing: str
    reason: str
    shards: int
    unheld: tuple[int, ...]  # shards that no live node holds
    budget: int | None
    fetched: int
    pace: float
    waiting: int
    batches: int  # sent and not posted yet, as far as known
    level: float  # cash in units, below which pages wait
    nodes: tuple[NodeRow, ...]
    servers: tuple[ServerFacts, ...] = ()

    @property
    def is_over(self) -> bool:
        """True if nothing is fetched until somebody starts the crawl again."""
        return self.doing in (CrawlActivity.STOPPED, CrawlActivity.ENDED)


class CrawlView:
    """Facts of the whole crawl, as keys and broadcasts tell them to `hear`."""

    def __init__(self, terms: TermsRecord | None = None) -> None:
        self.state = StateRecord(doing=CrawlActivity.RUNNING, run=0, reason="")
        """State of the crawl; in run 0 it is not known yet."""
        self.terms, self.limits = terms, terms.limits if terms else Budget()
        self._revision = 0
        self._told: dict[int, ShardFacts] = {}

    def hear(self, entry: KeyEntry) -> None:
        """Process the current value of a key. Raises RecordError."""
        key = entry.key
        if key == records.STATE_KEY and (state := StateRecord.of(entry)) is not None:
            self.hear_state(state, entry.revision)
        elif key == records.TERMS_KEY and (terms := TermsRecord.of(entry)) is not None:
            self.limits, self.terms = terms.limits, terms
        elif key.startswith(records.TOLD_PREFIX):
            with suppress(RecordError):  # older facts still count
                if (facts := ShardFacts.of(entry)) is not None:
                    before = self._told.setdefault(facts.shard, facts)
                    # Facts of a holder that was cut off may arrive after those of the next one,
                    # and tell of pages that were lost. The next one has added to the log.
                    is_later = (facts.run, facts.entry) >= (before.run, before.entry)
                    self._told[facts.shard] = facts if is_later else before

    def hear_state(self, state: StateRecord, revision: int) -> None:
        """Process a state of the crawl, unless it is older than the known one."""
        if revision >= self._revision:
            self.state, self._revision = state, revision

    @property
    def told(self) -> dict[int, ShardFacts]:
        shards = self.terms.shards if self.terms else 0
        return {
            shard: facts
            for shard, facts in self._told.items()
            if shard < shards and facts.run == self.state.run
        }


class ClusterWatch:
    """Follower of a cluster, for a dashboard or until its crawl is over.

    A watch takes no part: it only reads keys and listens.
    """

    def __init__(self, engine: ClusterEngine) -> None:
        self._engine = engine
        self.crawl, self._view = CrawlView(), ClusterView(0)
        self._following: list[asyncio.Task[None]] = []

    async def begin(self) -> None:
        prefixes = (*records.FOLLOWED, records.TOLD_PREFIX)
        jobs = [follow(self._engine, prefix, self.hear) for prefix in prefixes]
        jobs.append(listen(self._engine, records.TOLD_PREFIX, self.hear))
        self._following = [asyncio.create_task(job) for job in jobs]

    async def end(self) -> None:
        await cancelled(self._following)

    async def look(self) -> ClusterStatus:
        """Return the status, once each node has beaten or counts as silent."""
        for prefix in (*records.FOLLOWED, records.TOLD_PREFIX):
            await self._read(prefix, -inf)
        ends_at = (now := lease_clock()) + LOOK_S
        while now < ends_at and len(self._view.live(now)) < len(self._view.nodes):
            await asyncio.sleep(_POLL_S)
            now = lease_clock()
            await self._read(records.NODE_PREFIX, now)
        return self.status(now)

    async def until_over(self, run: int, show: Callable[[ClusterStatus], None]) -> ClusterStatus:
        """Call `show` regularly until this run of the crawl ends; return the last status.

        Shards fetch pages until they hear of the end, and tell them before they are given up. The
        status then counts them for their last holders.
        """
        await self.begin()
        held, ends_at = dict[int, str](), inf
        try:
            while True:
                await asyncio.sleep(_SHOW_EVERY_S)
                if self.crawl.terms is None or self.crawl.state.run < run:
                    continue
                now, is_over = lease_clock(), self.crawl.state.is_over
                show(status := self.status(now, held if is_over else None))
                if is_over:
                    ends_at = min(ends_at, now + _LAST_FACTS_S)
                    if now >= ends_at or not self._view.holders(now):
                        return status
                else:
                    held = {shard: row.name for row in status.nodes for shard in row.shards}
        finally:
            await self.end()

    async def _read(self, prefix: str, now: float) -> None:
        for entry in await self._engine.keys(prefix):
            self.hear(entry, now)

    def hear(self, entry: KeyEntry, now: float | None = None) -> None:
        """Process the current value of a key. Values that no node writes are ignored."""
        with suppress(RecordError):
            if not self._view.hear(entry, lease_clock() if now is None else now):
                self.crawl.hear(entry)

    def status(
        self, now: float | None = None, held: Mapping[int, str] | None = None
    ) -> ClusterStatus:
        """Return the status of the cluster, with the current holders of shards unless given.

        Raises UsageError if it has no crawl.
        """
        crawl, now = self.crawl, lease_clock() if now is None else now
        if crawl.terms is None or not crawl.state.run:
            raise UsageError(NO_CRAWL)
        self._view.shards = crawl.terms.shards
        holders, facts_by_shard = self._view.holders(now) if held is None else held, crawl.told
        facts, live = facts_by_shard.values(), self._view.live(now)
        sent = sum(number for shard in facts for number in shard.sent.values())
        posted = sum(number for shard in facts for number in shard.received.values())
        level = cash_threshold([shard.sketch for shard in facts], pages_to_admit(facts, TELL_S))

        def row(name: str) -> NodeRow:
            record = self._view.nodes[name].record
            shards = tuple(shard for shard, node in sorted(holders.items()) if node == name)
            own = [facts_by_shard[shard] for shard in shards if shard in facts_by_shard]
            state = "draining" if name in self._view.drained else "live"
            return NodeRow(
                name=name,
                state=state if name in live else "silent",
                machine=record.machine,
                version=record.version,
                shards=shards,
                fetched=sum(shard.fetched for shard in own),
                pace=sum(shard.pace for shard in own),
                workers=record.workers,
                disk_free=record.disk_free,
            )

        return ClusterStatus(
            doing=crawl.state.doing,
            reason=crawl.state.reason,
            shards=crawl.terms.shards,
            unheld=tuple(shard for shard in range(crawl.terms.shards) if shard not in holders),
            nodes=tuple(map(row, sorted(self._view.nodes))),
            budget=most_pages(crawl.limits, crawl.state.fetched),
            fetched=max(fetched_together(facts_by_shard), crawl.state.ended_with),
            pace=sum(shard.pace for shard in facts),
            waiting=sum(shard.waiting for shard in facts),
            batches=max(0, sent - posted),
            level=level / UNIT,
        )


async def overview(engine: ClusterEngine) -> ClusterStatus:
    status = await ClusterWatch(engine).look()
    return replace(status, servers=tuple(await engine.server_facts()))
