"""The store of a crawl is opened: locked, checked, with its archive and its seeds.

Law: whoever crawls finds a store that fits together, and an archive as of its last commit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.config import Loaded, Settings, Storing
from minicrawl.crawl.events import Listener, nobody_listens
from minicrawl.crawl.settle.keeping import NOWHERE, Keeping
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.start import resume
from minicrawl.crawl.start.seeds import plant
from minicrawl.errors import UsageError
from minicrawl.frontier.loading import contradictions, load_frontier, verify
from minicrawl.store import tables
from minicrawl.store.reader import connect
from minicrawl.store.records import StoreTerms
from minicrawl.store.trouble import reporting_damage, translating_sqlite_errors
from minicrawl.store.writer import SAFE, StoreWriter
from minicrawl.web.urls import ResolvedUrl

if TYPE_CHECKING:
    from minicrawl.crawl.shard.exchange import ShardSetup

NO_SEED = "there is no seed to start from: give a file of URLs, one per line"


def agree(store: StoreWriter, loaded: Loaded, shard: ShardSetup | None = None) -> Settings:
    """The settings for this store, which keeps them, unless it refuses them."""
    if shard is not None:
        from minicrawl.crawl.shard.local import agree_in_shards  # most crawls have one shard

        return agree_in_shards(store, loaded, shard.place)
    store.agree(resume.terms_of(loaded.settings))
    resume.keep(store, loaded)
    return loaded.settings


@asynccontextmanager
async def opened_crawl(  # noqa: PLR0913  # the last ones are given by their names
    agree: Callable[[StoreWriter], Settings],
    path: Path,
    seeds: Iterable[ResolvedUrl],
    tell: Listener = nobody_listens,
    keep: Callable[[StoreWriter, Storing], Keeping] = lambda _store, _storing: NOWHERE,
    *,
    needs_pages: bool = True,
    shard: ShardSetup | None = None,
) -> AsyncIterator[Recorder]:
    """The store with the seeds in it. It is created if it does not exist."""
    replica = None if shard is None else shard.replica
    with (
        closing(StoreWriter.open(path, replica)) as store,
        translating_sqlite_errors(path, SAFE),
    ):
        settings = agree(store)
        by_siblings = settings.order.strategy == "siblings"
        with (
            closing(keep(store, settings.storing)) as keeping,
            closing(connect(path)) as connection,
            closing(recorder_of(store, connection, keeping, by_siblings=by_siblings)) as recorder,
        ):
            if shard is not None:
                from minicrawl.crawl.shard.local import join

                seeds = join(recorder, shard, seeds)
            await plant(recorder, seeds, settings.order.endowment, tell)
            if needs_pages and shard is None and not len(recorder.frontier):
                raise UsageError(NO_SEED)
            yield recorder
        store.compact()


def recorder_of(
    store: StoreWriter,
    connection: tables.Connection,
    keeping: Keeping = NOWHERE,
    *,
    by_siblings: bool = False,
) -> Recorder:
    """A recorder of all that is in the store, once that has been checked."""
    with reporting_damage(store.path):
        terms = tables.terms(store.connection) or StoreTerms()
        load = partial(load_frontier, store.connection, terms, siblings=by_siblings)
        recorder = Recorder(store, connection, load, keeping)
        verify(recorder.frontier, store.connection)
        if store.was_cut_off:
            for contradiction in contradictions(recorder.frontier, store.connection):
                raise ValueError(contradiction)
        return recorder
