"""Opens the store of a crawl: locked, checked, with its archive and its seeds.

Laws: the crawl gets a consistent store, and an archive as of its last commit. There may be millions
of seeds, so they are handled block by block. The endowment is shared once, when all are known. Each
seed that is added to a crawl later gets no less than the first ones did, even if links led to it
before. A page is endowed once.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, closing
from functools import partial
from itertools import islice
from pathlib import Path

from minicrawl.config import Settings, Storing
from minicrawl.crawl.events import Listener, Noted, nobody_listens
from minicrawl.crawl.record.archiving import NOWHERE, ArchiveSinks, conceal_earlier
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.shards import WHOLE, ShardSetup
from minicrawl.errors import UsageError
from minicrawl.frontier.loading import contradictions, load_frontier, verify
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.store import tables
from minicrawl.store.disk.trouble import reporting_damage, translating_sqlite_errors
from minicrawl.store.reader import connect
from minicrawl.store.records import StoreTerms
from minicrawl.store.writer import SAFE, StoreWriter
from minicrawl.web.urls import ResolvedUrl

SEEDS_AT_ONCE = 50_000
FIRST_SEEDS = "first_seeds"  # a counter: number of seeds that shared the endowment


async def plant(
    recorder: Recorder,
    seeds: Iterable[ResolvedUrl],
    endowment: int,
    emit: Listener = nobody_listens,
) -> int:
    """Make the seeds known, block by block, and endow them. Return how many are new."""
    before = recorder.seeds.ids()
    named, remaining = set[int](), iter(seeds)
    while block := dict(islice(remaining, SEEDS_AT_ONCE)):
        originals = tuple([(url, original) for url, original in block.items() if original])
        meeting = recorder.meet(list(block), 0, originals)
        named.update(meeting.pages)
        if meeting.new:
            recorder.apply_step(Step(StepKind.BORN, born=len(meeting.new)))
        await recorder.committer.commit()
        if len(block) == SEEDS_AT_ONCE:
            emit(Noted(text=f"{len(named):,} seeds so far"))
    new = sorted(named - before)
    if new:
        units = share_of_endowment(recorder, endowment, len(new), is_first=not before)
        recorder.apply_step(Step(StepKind.ENDOWED, spending=Spending(new), amount=units))
        await recorder.committer.commit()
    # Links may have led to a page before the user named it.
    for page in before | named:
        recorder.frontier.urls.depth[page] = 0
    return len(new)


def share_of_endowment(recorder: Recorder, endowment: int, new: int, *, is_first: bool) -> int:
    if is_first:
        recorder.counters.add(FIRST_SEEDS, new)
    first = max(int(recorder.counters.number(FIRST_SEEDS)), 1)  # 0 in a damaged store
    # Rounded up, so that a later seed gets no less than the first ones did.
    return -(-endowment * new // first)


NO_SEED = "no seeds: give a URL, or a file of URLs, one per line"


@asynccontextmanager
async def opened_crawl(
    agree: Callable[[StoreWriter], Settings],
    path: Path,
    seeds: Iterable[ResolvedUrl],
    emit: Listener = nobody_listens,
    keep: Callable[[StoreWriter, Storing], ArchiveSinks] = lambda _store, _storing: NOWHERE,
    *,
    needs_pages: bool = True,
    shard: ShardSetup = WHOLE,
    by_value: bool = False,
) -> AsyncIterator[Recorder]:
    """Open the store, created if needed, and plant the seeds.

    `by_value` is true if a Python program scores pages.
    """
    with (
        closing(StoreWriter.open(path, shard.replica)) as store,
        translating_sqlite_errors(path, SAFE),
    ):
        settings = agree(store)
        conceal_earlier(store)
        by_siblings = settings.order.strategy == "siblings"
        by_value = by_value or bool(settings.order.score)
        with (
            closing(keep(store, settings.storing)) as keeping,
            closing(connect(path)) as connection,
            closing(
                recorder_of(store, connection, keeping, by_siblings=by_siblings, by_value=by_value)
            ) as recorder,
        ):
            own = shard.join(recorder, seeds)
            await plant(recorder, own, settings.order.endowment, emit)
            if needs_pages and shard.needs_pages and not len(recorder.frontier):
                raise UsageError(NO_SEED)
            yield recorder
        # The next holder of a shard moves what is left, and does not wait for it.
        if keeping.mover is not None and shard.replica is None:
            await keeping.mover.finish()
        store.compact()


def recorder_of(
    store: StoreWriter,
    connection: tables.Connection,
    keeping: ArchiveSinks = NOWHERE,
    *,
    by_siblings: bool = False,
    by_value: bool = False,
) -> Recorder:
    """Check the store, and return its recorder."""
    with reporting_damage(store.path):
        terms = tables.terms(store.connection) or StoreTerms()
        load = partial(
            load_frontier, store.connection, terms, siblings=by_siblings, values=by_value
        )
        recorder = Recorder(store, connection, load, keeping)
        recorder.by_value = by_value
        verify(recorder.frontier, store.connection)
        # Only after a crash: it may have left tables that contradict each other where no commit
        # counts them. After a clean end this check would only cost time.
        if store.was_cut_off:
            for contradiction in contradictions(recorder.frontier, store.connection):
                raise ValueError(contradiction)
        return recorder
