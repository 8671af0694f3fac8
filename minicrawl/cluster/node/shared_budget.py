"""The page budget of a crawl: how many pages each shard may fetch.

Laws: the pages that all shards may fetch never exceed the budget, even if answers of the engine
are lost. Grants are entries of a log of their own, of which the last counts. A new entry is
accepted only from a node that knows the one before. While it is unknown whether an entry was
accepted, a shard may fetch the smaller of both numbers, and the same entry is appended again
until the log has grown: then it was accepted, or never will be.

A key repeats the last entry, so that nodes need not poll the log. The key may be stale, and does
not count: if the answer to an append was lost, only the log shows whether the entry was accepted.

claim    generation of a shard's lease, which its holder first writes here: from then on, changes
         by an earlier holder are refused
doubted  entry of ours that may or may not have been accepted
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from minicrawl.cluster.engine import ClusterEngine, EngineFull, EngineUnavailable, Fenced
from minicrawl.cluster.node.page_budget import SHORTEST_S, new_grants
from minicrawl.cluster.records import GRANTS_KEY, GrantsRecord, KeyEntry, ShardFacts

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

    def is_short(self, leases: Mapping[int, int], facts_by_shard: Mapping[int, ShardFacts]) -> bool:
        """Return whether a shard will soon have spent its grant."""
        return any(
            facts.left and self.granted(shard, generation) - facts.spent <= facts.pace * SHORTEST_S
            for shard, generation in leases.items()
            if (facts := facts_by_shard.get(shard)) is not None
        )

    async def share_out(
        self,
        budget: int,
        leases: Mapping[int, int],
        facts_by_shard: Mapping[int, ShardFacts],
        give_back: YieldPages,
    ) -> None:
        """Claim shards, and grant or take back pages according to their needs.

        `leases` has the generation of each shard's lease, `facts_by_shard` the facts of all shards.
        """
        if self._doubted is not None and not await self._settle_doubt():
            return
        known, granted = self._known, self._known.granted
        # Another node may have claimed a shard before we hear that our lease on it is lost.
        claimed = known.generations
        own = {shard: lease for shard, lease in leases.items() if lease >= claimed.get(shard, 0)}
        anew = new_grants(
            budget,
            granted,
            {shard: facts_by_shard[shard] for shard in own if shard in facts_by_shard},
            sum(bool(facts.left) for facts in facts_by_shard.values()),
            pace=sum(facts.pace for facts in facts_by_shard.values()),
            is_wanted=any(facts.wants_pages for facts in facts_by_shard.values()),
        )
        for shard, pages in anew.items():
            if pages < granted.get(shard, 0):
                spent = await give_back(shard)
                anew[shard] = granted[shard] if spent is None else spent
        after = {**granted, **anew}
        if sum(after.values()) > max(budget, sum(granted.values())):
            after = {**granted}
        record = replace(known, granted=after, generations={**claimed, **own})
        if known is self._known and record != known:  # else another node was quicker
            await self._change(replace(record, entry=known.entry + 1))

    async def _settle_doubt(self) -> bool:
        """Find out whether the doubted entry was accepted, or append it again.

        Returns False if that remains unknown.
        """
        doubted = self._doubted
        try:
            _, last = await self._engine.log_span(self._log)
            if last > self._known.entry:
                async for entry in self._engine.entries(self._log, self._known.entry):
                    record = GrantsRecord.unpack("the log of grants", entry.content)
                    self._learn(replace(record, entry=entry.number))
        except EngineUnavailable:
            return False
        if doubted is not None and self._doubted is doubted:  # else the log has answered
            await self._change(doubted)
        return self._doubted is None

    async def _change(self, record: GrantsRecord) -> None:
        self._doubted, before = record, self._known.entry
        try:
            entry = await self._engine.append(self._log, before, record.pack())
        except (Fenced, EngineUnavailable, EngineFull):
            return  # another node was quicker, or there was no answer: the next call finds out
        self._learn(record := replace(record, entry=entry))
        try:
            await self._engine.put(GRANTS_KEY, record.pack())
            if entry % KEPT_ENTRIES == 0:
                await self._engine.remove_entries(self._log, before)
        except EngineUnavailable:
            return  # others find the entry when they want to change it
