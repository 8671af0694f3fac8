"""One shard of a crawl, as the crawl sees it.

Start, recorder and loop ask the three protocols below what a shard of several has to ask. A crawl
on one machine is the only shard, `WHOLE`, whose answers are trivial: nothing in the crawl asks
whether there are other shards. Shards that other machines crawl come from outside, by
`Crawl(shard=...)`; `minicrawl.cluster` brings them.

setup       what `Crawl` is given; it makes the recorder that of a shard
membership  which pages are the shard's own, for the recorder and for whoever makes pages known
exchange    the other shards, for the loop
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from minicrawl.frontier.urls import PagesByUrl
from minicrawl.model import Originals

if TYPE_CHECKING:
    from minicrawl.config import Loaded, Settings
    from minicrawl.crawl.events import Reason
    from minicrawl.crawl.loop import Crawler
    from minicrawl.crawl.settle.recorder import Recorder
    from minicrawl.opic.journal import Step
    from minicrawl.opic.ledger import Plan
    from minicrawl.store.writer import StoreReplica, StoreWriter
    from minicrawl.web.urls import ResolvedUrl

T = TypeVar("T")

LONG_PAUSE_S = 10.0


class ShardSetup(Protocol):
    """What `Crawl` is given for a shard."""

    @property
    def replica(self) -> StoreReplica | None:
        """A copy of the store that has each commit before it counts."""

    @property
    def needs_pages(self) -> bool:
        """Whether a crawl without a page is refused; a shard may wait for pages from others."""

    def agree(self, store: StoreWriter, loaded: Loaded) -> Settings:
        """Return the settings for this store, which keeps them, unless it refuses them."""

    def join(self, recorder: Recorder, seeds: Iterable[ResolvedUrl]) -> Iterable[ResolvedUrl]:
        """Make the recorder that of the shard, and return the seeds that are the shard's own."""


class Membership(Protocol):
    """The shard as its recorder knows it."""

    @property
    def parts_of_pace(self) -> int:
        """The number of equal parts of an address's pace, of which the shard has one."""

    @property
    def others_asked_until(self) -> float:
        """The latest moment at which another process may have asked this shard's hosts."""

    @property
    def long_pause_s(self) -> float:
        """The shortest pause of a host that is worth storing for the next run."""

    def is_own(self, url: str) -> bool:
        """Whether the page at a canonical URL belongs to the shard."""

    def meet_foreign(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> PagesByUrl:
        """Return the pages that are known, with the foreign ones among these URLs, which are born
        here if they are new: before the shard's own pages that are met and not born yet.
        """

    def saw(self, step: Step, plans: Sequence[Plan]) -> None:
        """Note a step that was applied."""

    def exchange(self, crawler: Crawler) -> Exchange:
        """Return the other shards, for a loop that begins."""


class Exchange(Protocol):
    """The other shards as the loop sees them."""

    @property
    def holds_back(self) -> bool:
        """Whether pages wait for something that another shard has to do first."""

    async def during(self, work: Coroutine[Any, Any, T], group: asyncio.TaskGroup) -> T:
        """Do the work while batches come and go."""

    def may_fetch(self) -> bool:
        """Whether requests may begin."""

    def reason_to_end(
        self, own: Reason | None, has_unread: Callable[[], bool], *, turns: int
    ) -> Reason | None:
        """Return why the crawl ends; `own` is why it would if there were no other shards."""

    def is_over(self) -> bool:
        """Whether no other shard sends anything any more."""


class Whole:
    """The only shard of a crawl, in all three roles."""

    replica: Final = None
    needs_pages: Final = True
    parts_of_pace: Final = 1
    others_asked_until: Final = -inf
    long_pause_s: Final = LONG_PAUSE_S
    holds_back: Final = False

    def agree(self, store: StoreWriter, loaded: Loaded) -> Settings:
        from minicrawl.crawl.start import resume  # which knows the recorder, and so this module

        store.agree(resume.terms_of(loaded.settings))
        resume.keep(store, loaded)
        return loaded.settings

    def join(self, recorder: Recorder, seeds: Iterable[ResolvedUrl]) -> Iterable[ResolvedUrl]:
        return seeds

    def is_own(self, url: str) -> bool:
        return True

    def meet_foreign(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> PagesByUrl:
        return looked_up

    def saw(self, step: Step, plans: Sequence[Plan]) -> None:
        """Nobody else has to hear of it."""

    def exchange(self, crawler: Crawler) -> Exchange:
        return self

    async def during(self, work: Coroutine[Any, Any, T], group: asyncio.TaskGroup) -> T:
        return await work

    def may_fetch(self) -> bool:
        return True

    def reason_to_end(
        self, own: Reason | None, has_unread: Callable[[], bool], *, turns: int
    ) -> Reason | None:
        return own

    def is_over(self) -> bool:
        return True


WHOLE: Final = Whole()
