"""What a node knows of the crawl of the whole cluster: what it does, what its shards tell, and how
its budget is shared out.

Laws: the crawl ends when its budget is fetched or nothing is left anywhere, whichever node sees it
first. A shard gives pages of the budget back only after it can fetch them no more.
"""

from __future__ import annotations

from collections.abc import Mapping

from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable, KeyEntry, KeyTaken
from minicrawl.cluster.node.budget import SharedBudget, Yield
from minicrawl.cluster.node.grants import ShardNeed
from minicrawl.cluster.node.records import (
    GRANTS_KEY,
    REBALANCE_KEY,
    STATE_KEY,
    TERMS_KEY,
    TOLD_PREFIX,
    WORKERS_PREFIX,
    Doing,
    StateRecord,
    TermsRecord,
    WishRecord,
)
from minicrawl.cluster.node.shard_process import ShardOrders
from minicrawl.shards.batches import BatchError
from minicrawl.shards.facts import ShardFacts, facts_in, fetched_together, has_ended


class CrawlState:
    """What is known of the crawl."""

    def __init__(self, engine: ClusterEngine, terms: TermsRecord, workers: int = 0) -> None:
        """`workers` are those that each shard of this node has, until somebody wishes otherwise."""
        self._engine, self.shards, self._usual_workers = engine, terms.shards, workers
        self.hear_terms(terms)
        self.state = StateRecord(doing=Doing.RUNNING, run=0, reason="")
        self.told: dict[int, ShardFacts] = {}
        self.rebalances = 0
        self._state_revision = 0
        self._grants = SharedBudget(engine, terms.shards)
        self._workers: dict[str, int] = {}

    # ------------------------------------------------------------ what is heard

    def hear(self, entry: KeyEntry) -> None:
        """A key of the crawl as it is now."""
        key, content = entry.key, entry.value
        if key.startswith(WORKERS_PREFIX):
            self._hear_workers(key.removeprefix(WORKERS_PREFIX), entry)
        elif content is None:
            return
        elif key == STATE_KEY:
            self._hear_state(StateRecord.unpack(key, content), entry.revision)
        elif key == TERMS_KEY:
            self.hear_terms(TermsRecord.unpack(key, content))
        elif key == GRANTS_KEY:
            self._grants.hear(entry)
        elif key == REBALANCE_KEY:
            self.rebalances = WishRecord.unpack(key, content).value
        elif key.startswith(TOLD_PREFIX):
            self.hear_facts(key, content)

    @property
    def told_prefix(self) -> str:
        """Of the keys of what shards tell in this run."""
        return f"{TOLD_PREFIX}{self.state.run}."

    def hear_terms(self, terms: TermsRecord) -> None:
        """The budget may change while the crawl goes on."""
        self.terms = terms
        pages = terms.settings.get("pages")
        self.budget = pages if isinstance(pages, int) else None

    def _hear_state(self, state: StateRecord, revision: int) -> None:
        if revision <= self._state_revision:
            return
        if state.run != self.state.run:
            self.told.clear()
        self.state, self._state_revision = state, revision

    def _hear_workers(self, node: str, entry: KeyEntry) -> None:
        if entry.value is None:
            self._workers.pop(node, None)
        else:
            self._workers[node] = WishRecord.unpack(entry.key, entry.value).value

    def hear_facts(self, key: str, content: bytes) -> None:
        """What a shard tells of itself."""
        run, _, _ = key.removeprefix(TOLD_PREFIX).partition(".")
        try:
            facts = facts_in(content)
        except BatchError:
            return  # older facts do no harm
        if run == str(self.state.run) and 0 <= facts.shard < self.shards:
            self.told[facts.shard] = facts

    # ------------------------------------------------------------ what follows

    def orders(self, shard: int, generation: int, node: str) -> ShardOrders:
        """What the crawl of a shard, which this node has in this generation, should do."""
        pages = None if self.budget is None else self._grants.granted(shard, generation)
        is_paused = self.state.doing == Doing.PAUSED or pages == 0
        return ShardOrders(paused=is_paused, pages=pages, workers=self.workers_of(node))

    def workers_of(self, node: str) -> int:
        """The fetching processes that each shard of this node, which has this name, should have."""
        return self._workers.get(node, self._usual_workers)

    @property
    def end(self) -> str:
        """Why the crawl is over; empty if it goes on."""
        if self.budget is not None and fetched_together(self.told) >= self.budget:
            return "budget spent"
        return "nothing left to fetch" if has_ended(self.told, self.shards) else ""

    async def end_if_over(self) -> None:
        """Say to all that the crawl is over, if it is and nobody has said so."""
        if (reason := self.end) and not self.state.is_over:
            await self.change(Doing.ENDED, reason)

    async def change(self, doing: Doing, reason: str = "") -> None:
        """Say to all what the crawl does from now on."""
        state = StateRecord(doing=doing, run=self.state.run, reason=reason)
        try:
            revision = await self._engine.update(STATE_KEY, state.pack(), self._state_revision)
        except (KeyTaken, EngineUnavailable):
            return  # somebody has said something else: that comes, and counts
        self._hear_state(state, revision)

    # ------------------------------------------------------------ the budget

    async def share_out(self, leases: Mapping[int, int], give_back: Yield) -> None:
        """Grant pages to these shards, with the generations of their leases, and take back what
        they do not need.
        """
        if self.budget is None:
            return
        is_wanted = any(facts.wants_pages for facts in self.told.values())
        needs = self._needs()
        await self._grants.share_out(self.budget, leases, needs, give_back, is_wanted=is_wanted)

    def is_short(self, leases: Mapping[int, int]) -> bool:
        """Whether one of these shards will soon have read all that it may."""
        return self.budget is not None and self._grants.is_short(leases, self._needs())

    def _needs(self) -> dict[int, ShardNeed]:
        return {shard: _need(facts) for shard, facts in self.told.items()}


def _need(facts: ShardFacts) -> ShardNeed:
    waiting = facts.waiting or int(facts.wants_pages)
    return ShardNeed(facts.fetched + facts.under_way, 0 if facts.is_idle else waiting, facts.pace)


def totals(told: Mapping[int, ShardFacts]) -> dict[str, float]:
    """Sums over all shards, for people."""
    return {
        "fetched": fetched_together(told),
        "waiting": sum(facts.waiting for facts in told.values()),
        "under_way": sum(facts.under_way for facts in told.values()),
        "pace": sum(facts.pace for facts in told.values()),
    }
