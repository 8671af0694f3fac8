"""The shard inside its recorder: it marks foreign pages, and fills the outbox.

Laws: a page of another shard is born foreign, before the own pages that the same page made known,
and is never requested. The outbox sees each applied step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from minicrawl.cluster.cash_threshold import TELL_S
from minicrawl.cluster.channels.outbox import Posting
from minicrawl.cluster.channels.shard import Shard
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.records import RecordError, Transfer
from minicrawl.cluster.shared_settings import refuse_what_needs_one_machine
from minicrawl.cluster.traffic.exchange import BatchExchange
from minicrawl.config import Loaded, Settings
from minicrawl.crawl.start.opening import FIRST_SEEDS
from minicrawl.crawl.start.settings import keep_settings, store_terms
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.model import Originals, PageId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.channels import Channels, ShardPlace
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.store import tables
from minicrawl.store.writer import StoreWriter
from minicrawl.web.sites import site
from minicrawl.web.urls import ResolvedUrl, canonical, host_of, origin

if TYPE_CHECKING:
    from minicrawl.cluster.traffic.shard_crawl import ShardCrawl
    from minicrawl.crawl.loop import Crawler
    from minicrawl.crawl.record.recorder import Recorder
    from minicrawl.store.writer import StoreReplica

_ORIGINS_KEPT = 1 << 16


class ClusterShard(NamedTuple):
    """Argument that makes a `Crawl` the crawl of one shard."""

    place: ShardPlace
    exchange: BatchExchange
    engine: ClusterEngine
    generation: int
    """Generation of the lease, with which parts of addresses are taken."""
    replica: StoreReplica | None = None
    """Replica that gets each commit before it counts."""
    posting: Posting = Posting()
    tell_s: float = TELL_S
    age_s: float = 0.0
    """Age of this run of the crawl, as far as known; 0 if no shard has begun."""
    tells_importance: bool = False
    """True if the crawl ends when enough importance is gathered (`--until`)."""

    @property
    def needs_pages(self) -> bool:
        """False: a shard without seeds waits for pages that others send."""
        return False

    def agree(self, store: StoreWriter, loaded: Loaded) -> Settings:
        """Store the terms of the shard, and return its settings.

        Raises UsageError for settings that need a single machine. A shard does not converge ranks,
        which needs all shards, and the nodes know when a limit of the whole crawl is reached.
        """
        settings = loaded.settings
        refuse_what_needs_one_machine(settings)
        store.agree(replace(store_terms(settings), shard=self.place.number, shards=self.place.of))
        keep_settings(store, loaded)
        return replace(
            settings,
            storing=replace(settings.storing, converge=False),
            budget=replace(settings.budget, until=None, new_pages=None),
        )

    def join(self, recorder: Recorder, seeds: Iterable[ResolvedUrl]) -> Iterator[ResolvedUrl]:
        """Attach the shard to the recorder, and return the shard's own seeds.

        The first run counts all seeds: each gets its part of one endowment, so every shard needs
        the total.
        """
        recorder.shard = shard = LocalShard(recorder, self)

        def own_seeds() -> Iterator[ResolvedUrl]:
            is_first = FIRST_SEEDS not in recorder.counters
            for seed in seeds:
                if shard.is_own(seed.url):
                    yield seed
                elif is_first:
                    recorder.counters.add(FIRST_SEEDS)

        return own_seeds()


class LocalShard:
    """The shard of a crawl, as its recorder sees it; the `shard.PageView` of its frontier."""

    long_pause_s = 0.0
    """0: shards move quickly, so every pause must be stored for the next process."""

    def __init__(self, recorder: Recorder, setup: ClusterShard) -> None:
        """`recorder` has loaded the store."""
        frontier, place = recorder.frontier, setup.place
        if frontier.channels is None:
            frontier.channels = Channels()
        self._recorder, self.setup, self.place = recorder, setup, place
        self._owner_of_origin = lru_cache(_ORIGINS_KEPT)(
            lambda origin: place.owner(site(host_of(origin)))
        )
        self._takedowns = tables.taken_down(recorder.counters)
        self.looked_up: PagesByUrl = NO_PAGES
        """Known pages of the batch to be posted next."""
        self.core = Shard(place.number, frontier.books, self, setup.posting, frontier.channels)
        self.began = self.others_asked_until = monotonic()  # until then others may have crawled it
        self.core.outbox.restore(self.began, frontier.channels.unsent)
        self.met_foreign: Callable[[Sequence[int]], None] = lambda _pages: None
        """Called with new foreign pages."""

    def url(self, page: PageId) -> str:
        return self._recorder.pages.url_of(page)

    def depth(self, page: PageId) -> int:
        return self._recorder.frontier.urls.depth[page]

    def owner(self, page: PageId) -> int:
        urls = self._recorder.frontier.urls
        return self._owner_of_origin(urls.origins[urls.host_of[page]])

    def is_own(self, url: str) -> bool:
        return self._owner_of_origin(origin(url)) == self.place.number

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        for transfer in transfers:
            is_canonical = canonical(transfer.url, strip_marks=False) == transfer.url
            if not (is_canonical or self._takedowns.covers(transfer.url)):
                raise RecordError(f"{transfer.url!r} is not a canonical URL")
            if not self.is_own(transfer.url):
                raise RecordError(f"{transfer.url} is a page of another shard")
        pages: dict[str, int] = {}
        born = 0
        for depth in sorted({transfer.depth for transfer in transfers}):
            urls = [transfer.url for transfer in transfers if transfer.depth == depth]
            meeting = self._recorder.meet_all(urls, depth, (), self.looked_up)
            pages.update(zip(urls, meeting.pages, strict=True))
            born += len(meeting.new)
        return [pages[transfer.url] for transfer in transfers], born

    def exchange(self, crawler: Crawler) -> ShardCrawl:
        """Return the view of other shards, for a crawl loop that begins."""
        from minicrawl.cluster.traffic.shard_crawl import ShardCrawl

        return ShardCrawl(crawler, self)

    def saw(self, step: Step, plans: Sequence[Plan]) -> None:
        self.core.saw(step, plans, monotonic())

    def meet_foreign(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> PagesByUrl:
        """Add the pages of other shards among `urls` to the known pages `looked_up`.

        New ones are born as foreign pages.
        """
        foreign = [url for url in urls if not self.is_own(url)]
        if not foreign:
            return looked_up
        meeting = self._recorder.meet_all(foreign, depth, originals, looked_up)
        if new := meeting.new:
            self._recorder.apply_step(Step(StepKind.BORN, born=len(new)))
            self._recorder.apply_step(Step(StepKind.FOREIGN, spending=Spending(new)))
            self.met_foreign(new)
        return {**looked_up, **dict(zip(foreign, meeting.pages, strict=True))}
