"""A node's knowledge of the whole crawl: its state, the facts of shards, and the grants of pages.

Laws: the crawl ends when its budget is fetched or no shard has anything left, whichever node
notices first. A shard returns granted pages only after it can no longer fetch them.
"""

from collections.abc import Mapping
from dataclasses import replace

from minicrawl.cluster.conclusions import fetched_together, gathered_together, has_ended
from minicrawl.cluster.engine import ClusterEngine, EngineUnavailable, KeyTaken
from minicrawl.cluster.node.shard_process import ShardOrders
from minicrawl.cluster.node.shared_budget import SharedBudget, YieldPages
from minicrawl.cluster.overview import CrawlView
from minicrawl.cluster.records import GRANTS_KEY, STATE_KEY, CrawlActivity, KeyEntry
from minicrawl.cluster.shared_settings import TermsRecord
from minicrawl.config.values.stop_rules import GatheredShare
from minicrawl.crawl.events import Reason
from minicrawl.crawl.progress import most_pages

NOTHING_LEFT = "nothing left to fetch"


class CrawlState(CrawlView):
    def __init__(self, engine: ClusterEngine, terms: TermsRecord) -> None:
        super().__init__(terms)
        self._engine, self.shards = engine, terms.shards
        self._grants = SharedBudget(engine, terms.shards)
        self._gathered = 0.0, 0.0  # gathered shares of importance at the last two looks

    def hear(self, entry: KeyEntry) -> None:
        """Process the current value of a key of the crawl. Raises RecordError."""
        if entry.key == GRANTS_KEY:
            self._grants.hear(entry)
        else:
            super().hear(entry)

    @property
    def budget(self) -> int | None:
        """Limit of pages fetched by all shards in all runs."""
        return most_pages(self.limits, self.state.fetched)

    def orders(self, shard: int, generation: int) -> ShardOrders:
        """Return orders for the crawl of a shard that is held under this lease."""
        pages = None if self.budget is None else self._grants.granted(shard, generation)
        is_paused = self.state.doing == CrawlActivity.PAUSED or pages == 0
        return ShardOrders(paused=is_paused, pages=pages)

    @property
    def end(self) -> str:
        """Reason why the crawl is over; empty while it runs."""
        facts_by_shard, limits = self.told, self.limits
        spent = (
            (fetched_together(facts_by_shard), self.budget),
            (max((facts.age_s for facts in facts_by_shard.values()), default=0.0), limits.seconds),
            (sum(facts.wire_bytes for facts in facts_by_shard.values()), limits.body_bytes),
        )
        if any(limit is not None and number >= limit for number, limit in spent):
            return "budget spent"
        # One look may fall between the moments when cash leaves a shard and when the page that it
        # is for becomes known in another.
        match limits.until:
            case GatheredShare(share) if min(self._gathered) >= share:
                return str(Reason.GATHERED)
        return NOTHING_LEFT if has_ended(facts_by_shard, self.shards) else ""

    async def end_if_over(self) -> None:
        """Announce that the crawl is over, if it is and nobody has announced it."""
        self._gathered = self._gathered[1], gathered_together(self.told, self.shards)
        if (reason := self.end) and not self.state.is_over:
            await self.change(CrawlActivity.ENDED, reason)

    async def change(self, doing: CrawlActivity, reason: str = "") -> None:
        fetched = fetched_together(self.told)
        state = replace(self.state, doing=doing, reason=reason, ended_with=fetched)
        try:
            revision = await self._engine.update(STATE_KEY, state.pack(), self._revision)
        except (KeyTaken, EngineUnavailable):
            return  # another node has announced a state, which will arrive here and counts
        self.hear_state(state, revision)

    async def share_out(self, leases: Mapping[int, int], give_back: YieldPages) -> None:
        """Grant pages to these shards, and take back pages that they do not need.

        `leases` has the generation of each shard's lease.
        """
        if self.budget is None:
            return
        await self._grants.share_out(self.budget, leases, self.told, give_back)

    def is_short(self, leases: Mapping[int, int]) -> bool:
        return self.budget is not None and self._grants.is_short(leases, self.told)
