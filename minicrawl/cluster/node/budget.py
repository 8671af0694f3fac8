"""The budget of a crawl: how many of its pages each shard may fetch, as one value of the engine.

Laws: what all shards may fetch is never more than the budget, whatever answers of the engine are
lost. The value changes only for who knows its revision. While it is not known what became of a
change, a shard may fetch the lesser of both numbers, and the same change is tried again, after a
look at the key, until the revision has moved: then it was done, or never will be.

claim   whoever takes a shard first writes its lease's generation here. That moves the revision, so
        what an earlier holder of the shard still wants to change is refused.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from minicrawl.cluster.engine import EngineUnavailable, KeyEntry, KeyTaken, KeyValues
from minicrawl.cluster.node.grants import ShardNeed, granted_anew, is_short
from minicrawl.cluster.node.records import GRANTS_KEY, GrantsRecord

Yield = Callable[[int], Awaitable[int | None]]
"""A shard -> the pages that it has fetched and asks for now: it fetches no more until it is granted
more. None if its crawl does not answer."""

_NOTHING = GrantsRecord(granted={}, generations={})


class SharedBudget:
    """What shards were granted, as far as this node knows."""

    def __init__(self, engine: KeyValues) -> None:
        self._engine = engine
        self._known, self._revision = _NOTHING, 0
        self._doubted: GrantsRecord | None = None

    def hear(self, entry: KeyEntry) -> None:
        """The key as it is now, or was."""
        if entry.value is None or entry.revision <= self._revision:
            return
        record = GrantsRecord.unpack(entry.key, entry.value)
        self._known, self._revision, self._doubted = record, entry.revision, None

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
        revision = self._revision
        granted = {int(shard): pages for shard, pages in self._known.granted.items()}
        anew = granted_anew(
            budget,
            granted,
            {shard: needs[shard] for shard in leases if shard in needs},
            sum(bool(need.waiting) for need in needs.values()),
            pace=sum(need.pace for need in needs.values()),
            is_wanted=is_wanted,
        )
        for shard, pages in tuple(anew.items()):
            if pages < granted.get(shard, 0):
                spent = await give_back(shard)
                anew[shard] = granted[shard] if spent is None else spent
        after = granted | anew
        if sum(after.values()) > max(budget, sum(granted.values())):
            after = granted
        record = GrantsRecord(
            granted={str(shard): after[shard] for shard in sorted(after)},
            generations=self._claimed(leases),
        )
        if revision == self._revision and record != self._known:  # else somebody was quicker
            await self._change(record)

    def _claimed(self, leases: Mapping[int, int]) -> dict[str, int]:
        """A later lease, of which we have not heard yet, stays."""
        before = self._known.generations
        claims = {str(shard): generation for shard, generation in leases.items()}
        return {**before, **{key: max(one, before.get(key, 0)) for key, one in claims.items()}}

    async def _is_settled(self, doubted: GrantsRecord) -> bool:
        """Find out what became of a change, or do it now; whether that is known."""
        try:
            entry = await self._engine.get(GRANTS_KEY)
        except EngineUnavailable:
            return False
        if entry is not None:
            self.hear(entry)
        if self._doubted is not None:  # else it was heard of now, or meanwhile
            await self._change(doubted)
        return self._doubted is None

    async def _change(self, record: GrantsRecord) -> None:
        """If another node was quicker, what it has written comes, and counts."""
        self._doubted = record
        content, revision = record.pack(), self._revision
        try:
            if revision:
                now = await self._engine.update(GRANTS_KEY, content, revision)
            else:
                now = await self._engine.create(GRANTS_KEY, content)
        except (KeyTaken, EngineUnavailable):
            return
        self.hear(KeyEntry(GRANTS_KEY, content, now))
