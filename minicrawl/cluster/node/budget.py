"""The budget of a crawl: how many of its pages each shard may fetch.

Laws: what all shards may fetch is never more than the budget, whatever answers of the engine are
lost. Grants are entries of a log of their own, and the last one counts: it follows only from who
knows the one before. While it is not known what became of a change, a shard may fetch the lesser of
both numbers, and the same change is tried again until the log has gone on: then it was done, or
never will be.

A key says what the last entry is, so that nodes need not ask. It may be old, and is not what
counts: a log shows whether a change came to be whose answer was lost, whatever came after it.

claim   whoever takes a shard first writes its lease's generation here. So what an earlier holder of
        the shard still wants to change is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from minicrawl.cluster.engine import (
    ClusterEngine,
    EngineFull,
    EngineUnavailable,
    Fenced,
    KeyEntry,
)
from minicrawl.cluster.node.grants import ShardNeed, granted_anew, is_short
from minicrawl.cluster.node.records import GRANTS_KEY, GrantsRecord

Yield = Callable[[int], Awaitable[int | None]]
"""A shard -> the pages that it has fetched and asks for now: it fetches no more until it is granted
more. None if its crawl does not answer."""

KEPT_ENTRIES = 64
"""Of the log; only the last one counts."""


class SharedBudget:
    """What shards were granted, as far as this node knows."""

    def __init__(self, engine: ClusterEngine, shards: int) -> None:
        self._engine, self._log = engine, shards  # the logs before it are those of shards
        self._known = GrantsRecord(entry=0, granted={}, generations={})
        self._doubted: GrantsRecord | None = None

    def hear(self, entry: KeyEntry) -> None:
        """The key as it is now, or was."""
        if entry.value is not None:
            self._learn(GrantsRecord.unpack(entry.key, entry.value))

    def _learn(self, record: GrantsRecord) -> None:
        if record.entry > self._known.entry:
            self._known, self._doubted = record, None

    def granted(self, shard: int, generation: int) -> int:
        """The pages that a shard may fetch in all, for sure, under this lease."""
        key = str(shard)
        if self._known.generations.get(key) != generation:
            return 0
        pages = self._known.granted.get(key, 0)
        return pages if self._doubted is None else min(pages, self._doubted.granted.get(key, 0))

    def is_short(self, leases: Mapping[int, int], needs: Mapping[int, ShardNeed]) -> bool:
        """Whether one of these shards will soon have read all that it may."""
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
        give_back: Yield,
        *,
        is_wanted: bool,
    ) -> None:
        """Claim these shards, which have leases of such generations; grant them what they need of
        the budget, and take back what they do not. `needs` are those of all shards.
        """
        if self._doubted is not None and not await self._is_settled(self._doubted):
            return
        known = self._known
        granted = {int(shard): pages for shard, pages in known.granted.items()}
        anew = granted_anew(
            budget,
            granted,
            {shard: needs[shard] for shard in leases if shard in needs},
            sum(bool(need.waiting) for need in needs.values()),
            pace=sum(need.pace for need in needs.values()),
            is_wanted=is_wanted,
        )
        after = granted | await _taken_back(anew, granted, give_back)
        if sum(after.values()) > max(budget, sum(granted.values())):
            after = granted
        record = replace(
            known,
            granted={str(shard): after[shard] for shard in sorted(after)},
            generations=self._claimed(leases),
        )
        if known is self._known and record != known:  # else somebody was quicker
            await self._change(replace(record, entry=known.entry + 1))

    def _claimed(self, leases: Mapping[int, int]) -> dict[str, int]:
        """A later lease, of which we have not heard yet, stays."""
        before = self._known.generations
        claims = {str(shard): generation for shard, generation in leases.items()}
        return {**before, **{key: max(one, before.get(key, 0)) for key, one in claims.items()}}

    async def _is_settled(self, doubted: GrantsRecord) -> bool:
        """Find out what became of a change, or do it now; whether that is known."""
        try:
            await self._look()
        except EngineUnavailable:
            return False
        if self._doubted is not None:  # else it was heard of now, or meanwhile
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
            return  # somebody else was quicker, or nobody knows: looked at before the next try
        self._learn(record := replace(record, entry=entry))
        try:
            await self._engine.put(GRANTS_KEY, record.pack())
            if entry % KEPT_ENTRIES == 0:
                await self._engine.remove_entries(self._log, before)
        except EngineUnavailable:
            return  # others find the entry when they want to change it


async def _taken_back(
    anew: Mapping[int, int], granted: Mapping[int, int], give_back: Yield
) -> dict[int, int]:
    """What shards get, where those that are to have less have given back what they can."""
    after = dict(anew)
    for shard, pages in anew.items():
        if pages < granted.get(shard, 0):
            spent = await give_back(shard)
            after[shard] = granted[shard] if spent is None else spent
    return after
