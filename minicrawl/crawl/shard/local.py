"""The shard in its recorder: which pages are foreign, and what waits to be sent.

Laws: a page of another shard is born foreign, before the pages of this one that become known at
the same time, and is never asked for. Each step that is applied is seen by the outbox.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING

from minicrawl.config import Loaded, Settings
from minicrawl.config.table import BY_NAME
from minicrawl.crawl.start import resume
from minicrawl.crawl.start.seeds import FIRST_SEEDS
from minicrawl.errors import UsageError
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl
from minicrawl.model import Originals, PageId
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.opic.ledger import Plan
from minicrawl.shards.batches import BatchError, Transfer
from minicrawl.shards.channels import Channels
from minicrawl.shards.owners import ShardPlace
from minicrawl.shards.shard import Shard
from minicrawl.store.writer import StoreWriter
from minicrawl.web.sites import site
from minicrawl.web.urls import ResolvedUrl, canonical, host_of, origin

if TYPE_CHECKING:
    from minicrawl.crawl.settle.recorder import Recorder
    from minicrawl.crawl.shard.exchange import ShardSetup

_ORIGINS_KEPT = 1 << 16


class ShardPages:
    """What the shard asks of its pages: `shards.shard.PageTable` on top of a frontier."""

    def __init__(self, recorder: Recorder, place: ShardPlace) -> None:
        self._recorder, self._urls, self._number = recorder, recorder.frontier.urls, place.number
        self.owner_of_origin = lru_cache(_ORIGINS_KEPT)(
            lambda origin: place.owner(site(host_of(origin)))
        )
        self.looked_up: PagesByUrl = NO_PAGES
        """The pages of the batch that is posted next, as far as they are known."""

    def url(self, page: PageId) -> str:
        """As other shards know it."""
        return self._recorder.pages.url_of(page)

    def depth(self, page: PageId) -> int:
        """How many links it is away from the seeds."""
        return self._urls.depth[page]

    def owner(self, page: PageId) -> int:
        """The shard that it belongs to."""
        return self.owner_of_origin(self._urls.origins[self._urls.host_of[page]])

    def is_own(self, url: str) -> bool:
        """Whether the page at a canonical URL belongs to this shard."""
        return self.owner_of_origin(origin(url)) == self._number

    def meet(self, transfers: Sequence[Transfer]) -> tuple[list[int], int]:
        """The page of each URL, and how many of them are new: they get the next ids.

        Raises BatchError if a URL is of another shard, or is none that a shard sends.
        """
        for transfer in transfers:
            if canonical(transfer.url, strip_marks=False) != transfer.url:
                raise BatchError(f"{transfer.url!r} is not a URL as shards know them")
            if not self.is_own(transfer.url):
                raise BatchError(f"{transfer.url} is a page of another shard")
        pages: dict[str, int] = {}
        born = 0
        for depth in sorted({transfer.depth for transfer in transfers}):
            urls = [transfer.url for transfer in transfers if transfer.depth == depth]
            meeting = self._recorder.meet_all(urls, depth, (), self.looked_up)
            pages.update(zip(urls, meeting.pages, strict=True))
            born += len(meeting.urls)
        return [pages[transfer.url] for transfer in transfers], born


class LocalShard:
    """The shard of a crawl, as far as the recorder knows it."""

    def __init__(self, recorder: Recorder, setup: ShardSetup) -> None:
        """The recorder has loaded what the store knows."""
        frontier = recorder.frontier
        if frontier.channels is None:
            frontier.channels = Channels()
        self._recorder, self.setup, self.place = recorder, setup, setup.place
        self.pages = ShardPages(recorder, setup.place)
        number, channels = self.place.number, frontier.channels
        self.core = Shard(number, frontier.books, self.pages, setup.posting, channels)
        self.began = monotonic()
        self.core.outbox.restore(self.began, channels.unsent)
        self.met_foreign: Callable[[Sequence[int]], None] = lambda _pages: None
        """Called with foreign pages that were just born."""

    @property
    def parts_of_pace(self) -> int:
        """Each shard has one of so many of an address's pace, if they do not agree on more."""
        return self.place.of if self.setup.addresses is None else 1

    def saw(self, step: Step, plans: Sequence[Plan]) -> None:
        """A step was applied."""
        self.core.saw(step, plans, monotonic())

    def meet_foreign(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> PagesByUrl:
        """The pages that are known already, with those of other shards among these URLs, which are
        born if they are new.
        """
        foreign = [url for url in urls if not self.pages.is_own(url)]
        if not foreign:
            return looked_up
        meeting = self._recorder.meet_all(foreign, depth, originals, looked_up)
        if new := [row.id for row in meeting.urls]:
            self._recorder.apply_step(Step(StepKind.BORN, born=len(new)))
            self._recorder.apply_step(Step(StepKind.FOREIGN, spending=Spending(new)))
            self.met_foreign(new)
        return {**looked_up, **dict(zip(foreign, meeting.pages, strict=True))}


def join(
    recorder: Recorder, setup: ShardSetup, seeds: Iterable[ResolvedUrl]
) -> Iterator[ResolvedUrl]:
    """The recorder is that of a shard from now on; answers with its own seeds."""
    recorder.shard = shard = LocalShard(recorder, setup)
    return _own(recorder, shard, seeds)


def _own(
    recorder: Recorder, shard: LocalShard, seeds: Iterable[ResolvedUrl]
) -> Iterator[ResolvedUrl]:
    """Each shard is endowed by its part of all seeds, so the first time all are counted."""
    is_first = FIRST_SEEDS not in recorder.counters
    for seed in seeds:
        if shard.pages.is_own(seed.url):
            yield seed
        elif is_first:
            recorder.counters.add(FIRST_SEEDS)


def agree_in_shards(store: StoreWriter, loaded: Loaded, place: ShardPlace) -> Settings:
    """The settings for the store of this shard, which keeps them, unless it refuses them.

    Ranks converge, and links are checked, over all shards. Pages are ordered by cash, unless that
    is given: a shard alone does not know what all siblings have shown.
    """
    if not loaded.is_given(BY_NAME["strategy"]):
        by_cash = loaded.settings.with_values({"strategy": "greedy"})
        loaded = replace(loaded, settings=by_cash)
    settings = loaded.settings
    refuse_in_shards(settings)
    terms = replace(resume.terms_of(settings), shard=place.number, shards=place.of)
    store.agree(terms)
    resume.keep(store, loaded)
    storing = replace(settings.storing, converge=False, check_external=False, check_assets=False)
    return replace(settings, storing=storing)


def refuse_in_shards(settings: Settings) -> None:
    """Refuse settings that mean something on one machine alone."""
    order, budget = settings.order, settings.budget
    refused = {
        "--strategy siblings": order.strategy == "siblings",
        "--focus-only": settings.scope.focus_only is not None,
        "--no-links": not settings.storing.links,
        "--until": budget.importance is not None,
        "--new-pages": budget.new_pages is not None,
    }
    for name, is_set in refused.items():
        if is_set:
            raise UsageError(f"{name} works on one machine only: a crawl in shards cannot have it")
