"""Shards: the protocols between a crawl and the other shards, if any.

Start, recorder and loop use the three protocols below where a shard of several differs from a whole
crawl. A crawl on one machine is the only shard, `WHOLE`, with trivial answers: nothing in the crawl
asks whether there are other shards. A shard of a crawl on several machines is passed in by
`Crawl(shard=...)`; `minicrawl.cluster` provides it.

setup       argument of `Crawl`; turns the recorder of a crawl into that of a shard
membership  which pages are the shard's own, for the recorder and for callers that make pages known
exchange    the other shards, for the loop
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from minicrawl.frontier.url_index import PagesByUrl
from minicrawl.model import Originals

if TYPE_CHECKING:
    from minicrawl.config import Loaded, Settings
    from minicrawl.crawl.events import Reason
    from minicrawl.crawl.loop import Crawler
    from minicrawl.crawl.record.recorder import Recorder
    from minicrawl.opic.ledger.books import Step
    from minicrawl.opic.ledger.ledger import Plan
    from minicrawl.store.writer import StoreReplica, StoreWriter
    from minicrawl.web.urls import ResolvedUrl

T = TypeVar("T")

LONG_PAUSE_S = 10.0


class ShardSetup(Protocol):
    """Argument of `Crawl` for a shard."""

    @property
    def replica(self) -> StoreReplica | None:
        """Copy of the store that has each commit before it counts, or None."""

    @property
    def needs_pages(self) -> bool:
        """True if a crawl without pages is an error; a shard may wait for pages from others."""

    def agree(self, store: StoreWriter, loaded: Loaded) -> Settings:
        """Return the settings for this store, which keeps them; raise if the store refuses them."""

    def join(self, recorder: Recorder, seeds: Iterable[ResolvedUrl]) -> Iterable[ResolvedUrl]:
        """Turn the recorder into that of the shard, and return the seeds that the shard owns."""


class Membership(Protocol):
    """The shard as its recorder sees it."""

    @property
    def others_asked_until(self) -> float:
        """Latest moment at which another process may have contacted this shard's hosts."""

    @property
    def long_pause_s(self) -> float:
        """Shortest pause of a host that is worth storing for the next run."""

    def is_own(self, url: str) -> bool:
        """Return whether the page at a canonical URL belongs to the shard."""

    def meet_foreign(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> PagesByUrl:
        """Return the known pages among these URLs, with the foreign ones, which are born here if
        new.

        New foreign pages are born before new pages of the shard's own.
        """

    def saw(self, step: Step, plans: Sequence[Plan]) -> None:
        """Note a step that was applied."""

    def exchange(self, crawler: Crawler) -> Exchange:
        """Return the other shards, for a loop that begins."""


class Exchange(Protocol):
    """The other shards as the loop sees them."""

    @property
    def holds_back(self) -> bool:
        """True if pages wait for something that another shard has to do first."""

    def during(
        self, work: Coroutine[Any, Any, T], group: asyncio.TaskGroup
    ) -> Coroutine[Any, Any, T]:
        """Do the work while batches are exchanged."""

    @property
    def may_fetch(self) -> bool:
        """True if requests may begin."""

    def reason_to_end(
        self, own: Reason | None, has_unread: Callable[[], bool], *, turns: int
    ) -> Reason | None:
        """Return why the crawl ends, or None; `own` is the reason without other shards."""


class Whole:
    """The only shard of a crawl, in all three roles."""

    replica: Final = None
    needs_pages: Final = True
    others_asked_until: Final = -inf
    long_pause_s: Final = LONG_PAUSE_S
    holds_back: Final = False
    may_fetch: Final = True

    def agree(self, store: StoreWriter, loaded: Loaded) -> Settings:
        # Not at the top: it imports the recorder, and so this module.
        from minicrawl.crawl.start.settings import keep_settings, store_terms

        store.agree(store_terms(loaded.settings))
        keep_settings(store, loaded)
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
        """Do nothing: there is no other shard to tell."""

    def exchange(self, crawler: Crawler) -> Exchange:
        return self

    def during(
        self, work: Coroutine[Any, Any, T], group: asyncio.TaskGroup
    ) -> Coroutine[Any, Any, T]:
        return work

    def reason_to_end(
        self, own: Reason | None, has_unread: Callable[[], bool], *, turns: int
    ) -> Reason | None:
        return own


WHOLE: Final = Whole()
