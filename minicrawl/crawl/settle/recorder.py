"""The recorder: applies changes to the frontier at once, and has them committed in batches.

Laws: a step is applied once and written once, in the same order. Nothing is reported as safe before
it is in the store.

pages       pages as known, committed or not
hosts       hosts as earlier runs knew them
seeds       pages that the user named, in this run or an earlier one
counters    numbers that `status` shows
committer   writes all of these
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np

from minicrawl.config import Order
from minicrawl.crawl.events import Listener, Warned, nobody_listens
from minicrawl.crawl.settle.keeping import NOWHERE, ArchiveSinks, StoreWithArchive
from minicrawl.crawl.settle.outcome import tries_so_far
from minicrawl.crawl.shards import WHOLE
from minicrawl.errors import NoRoom
from minicrawl.frontier.importance import CurrentShares, GatheredImportance
from minicrawl.frontier.page_table import Frontier, cut_checkpoint
from minicrawl.frontier.url_table import NO_PAGES, Meeting, PagesByUrl, UrlsOf
from minicrawl.model import KeptAnswer, Originals, OwnRequest, OwnRequests, PageId, State
from minicrawl.opic.ledger.books import Spending, Step, StepKind, terms
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.money import in_parts
from minicrawl.store import derived, questions, tables
from minicrawl.store.questions import Spendings
from minicrawl.store.reader import begin_snapshot, connect, end_snapshot
from minicrawl.store.records import (
    Batch,
    DocumentRow,
    FetchRow,
    HostRow,
    StepRow,
    UrlRow,
    WrittenRow,
    check_of,
)
from minicrawl.store.tables import Numbers
from minicrawl.store.writer import StoreWriter

if TYPE_CHECKING:
    from minicrawl.crawl.shards import Membership

# ================================================================ commits
#
# Commits: rows wait in memory, and one thread writes them to the store in batches.
#
# The crawl never waits for the disk. A step is applied to the frontier at once; its row joins the
# open batch, where readers find it until it is committed. Every `COMMIT_EVERY_S`, or earlier when
# the batch is full, the committer closes the batch and hands it to the store's thread. Rows that
# arrive meanwhile join the next batch:
#
#     at      what happens                                    open batch    store has
#     0.00 s  steps 1 to 40 are applied                       1-40          -
#     0.10 s  batch 1-40 is closed, its commit is queued      empty         -
#     0.15 s  steps 41 to 55 are applied; 40 is looked up     41-55         -
#             and found in memory
#     0.20 s  the commit ends; rows 1-40 leave memory         41-55         1-40
#     0.30 s  batch 41-55 is closed                           empty         1-40
#
# A checkpoint copies the rows of changed pages at the moment a batch is closed, and is queued
# behind that batch. So whenever a checkpoint is in the store, each step that it includes is there,
# too.
#
# If the disk is full at 0.10 s, the commit of 1-40 stays at the head of the queue and is tried
# again every `TRY_AGAIN_S` or earlier. Closing more batches meanwhile was rejected: steps 41 and
# later stay in the open batch, and `takes_more` turns False, which stops new requests. `takes_more`
# is False as well while too many rows wait because the disk is slower than the crawl.
#
# Laws: each row is written once, in the order of arrival. A slow disk delays no request until the
# rows in memory reach a limit. A failed write stays first in the queue, and nothing overtakes it.

T = TypeVar("T")
Work: TypeAlias = Callable[[asyncio.TaskGroup], Coroutine[None, None, T]]

COMMIT_EVERY_S = 0.1
TRY_AGAIN_S = 5.0
"""Pause before a write to a full disk is tried again."""
STEPS_A_BATCH = 1000
MOST_STEPS = 10 * STEPS_A_BATCH
"""Limit of uncommitted steps, which are in memory: at the limit the crawl waits for the disk."""
ANSWER_BYTES_A_BATCH = 2_000_000
MOST_ANSWER_BYTES = 8_000_000
"""Limit of uncommitted bytes: records for the archive, links as written, bodies to POST."""
URLS_A_BATCH = 20_000
MOST_URLS = 10 * URLS_A_BATCH
"""Limit of uncommitted URLs; one page may bring 10,000 new ones."""
MANY_URLS, MANY_CHARS = URLS_A_BATCH // 5, 400_000
"""Number and total length of uncommitted URLs above which the next block of new URLs waits."""
CHANGES_A_CHECKPOINT = 500_000
MOST_CHANGES = 2_000_000
"""Most changes between checkpoints: copying more rows would delay the loop noticeably."""
_HAVE_SPENDINGS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.ENDOWED))
_WAITING = "the crawl waits for free space and then continues; Ctrl-C ends it"
_GOING_ON = "there is free space again: the crawl continues"


class Counters(dict[str, object]):
    """Counters that `status` shows and the next run continues; each commit writes all of them."""

    def add(self, name: str, by: float = 1) -> None:
        found = self.get(name, 0)
        self[name] = (found if isinstance(found, int | float) else 0) + by

    def number(self, name: str) -> float:
        """Return the value of a counter, or 0 if it is not a finite number."""
        found = self.get(name, 0)
        if isinstance(found, float) and not isfinite(found):
            return 0
        return found if isinstance(found, int | float) else 0


class UncommittedRows:
    """Uncommitted rows: the open batch, and an index of the rows that may be read."""

    def __init__(self) -> None:
        self.batch = Batch()
        self.spendings: dict[int, Spending] = {}
        self.urls: dict[int, UrlRow] = {}
        self.documents: dict[int, DocumentRow] = {}
        self.own_requests: dict[int, OwnRequest] = {}
        self.had_own_requests = False
        self.full = asyncio.Event()
        self.answer_bytes = 0
        self._taken = asyncio.Event()

    def add_step(self, row: StepRow) -> None:
        if row.step.kind in _HAVE_SPENDINGS:
            self.spendings[row.seq] = row.step.spending
        steps = self.batch.steps
        steps.append(row)
        if len(steps) >= STEPS_A_BATCH:
            self.full.set()

    def add_urls(self, rows: list[UrlRow]) -> None:
        """Add the rows of new pages."""
        if not rows:
            return
        urls = self.batch.urls
        urls += rows
        self.urls |= {row.id: row for row in rows}
        if len(urls) >= URLS_A_BATCH:
            self.full.set()

    def add_document(self, row: DocumentRow) -> None:
        """Add the document of a page; it replaces the one of an earlier reading."""
        self.documents[row.page] = row
        self.batch.documents.append(row)

    def add_answer(self, answer: KeptAnswer) -> None:
        """Add the record of a response, for the archive."""
        self.batch.answers.append(answer)
        self.answer_bytes += len(answer.record)
        if self.answer_bytes >= ANSWER_BYTES_A_BATCH:
            self.full.set()

    def add_written(self, row: WrittenRow) -> None:
        """Add the links of a page, as written there."""
        self.batch.written.append(row)
        self.answer_bytes += len(row.entries)
        if self.answer_bytes >= ANSWER_BYTES_A_BATCH:
            self.full.set()

    def add_own_request(self, page: PageId, own: OwnRequest) -> None:
        """Add the request that a program wants for a page; it replaces an earlier one."""
        self.had_own_requests = True
        self.own_requests[page] = own
        self.batch.own_requests.append((page, own))
        self.answer_bytes += len(own.body)

    def take(self) -> Batch:
        """Close the open batch, open the next one, and return the closed one."""
        batch, self.batch = self.batch, Batch()
        self.answer_bytes = 0
        self._taken.set()
        return batch

    def forget(self, batch: Batch) -> None:
        """Drop the rows of a committed batch. A newer document of one of its pages stays."""
        for row in batch.steps:
            self.spendings.pop(row.seq, None)
        for url in batch.urls:
            self.urls.pop(url.id, None)
        for page, own in batch.own_requests:
            if self.own_requests.get(page) is own:
                del self.own_requests[page]
        for document in batch.documents:
            # The page may have been read again meanwhile; that document is in the open batch.
            if self.documents.get(document.page) is document:
                del self.documents[document.page]

    async def caught_up(self) -> None:
        """Wait while many new URLs are uncommitted."""
        while (
            len(urls := self.batch.urls) >= MANY_URLS
            or sum([len(row.path) for row in urls]) >= MANY_CHARS
        ):
            self.full.set()
            self._taken.clear()
            await self._taken.wait()


class WriteQueue:
    """Queue of commits and checkpoints for the store's thread. A failed write stays first."""

    def __init__(self, reader: tables.Connection) -> None:
        """Set up with `reader`, which sees the store as of the last write."""
        self._reader = reader
        self._unwritten: deque[Callable[[], None]] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")

    def __len__(self) -> int:
        return len(self._unwritten)

    def add(self, write: Callable[[], None]) -> None:
        """Append a write."""
        self._unwritten.append(write)

    async def write(self) -> None:
        """Do all queued writes, each commit and each checkpoint as a whole."""
        # While a reader holds a snapshot, SQLite cannot reset its log, which would grow with each
        # commit.
        end_snapshot(self._reader)
        loop = asyncio.get_running_loop()
        while self._unwritten:
            # Removed only after it has succeeded: a write that fails on a full disk is the first
            # one of the next attempt, so nothing overtakes it.
            await loop.run_in_executor(self._thread, self._unwritten[0])
            self._unwritten.popleft()
        begin_snapshot(self._reader)

    def close(self) -> None:
        """Stop the thread."""
        self._thread.shutdown()


class _ClosedBatch(NamedTuple):
    """Batch that is being written, and the number of its last step."""

    batch: Batch
    last_step: int


class Committer:
    """Writes uncommitted rows and checkpoints to the store."""

    def __init__(
        self,
        store: StoreWithArchive,
        reader: tables.Connection,
        rows: UncommittedRows,
        frontier: Frontier,
        counters: Counters,
    ) -> None:
        """Set up with `reader`, which sees the store as of the last commit."""
        self.has_room = True
        self._store, self._writes = store, WriteQueue(reader)
        self._rows, self._frontier, self._counters = rows, frontier, counters
        counters[tables.FETCHES] = tables.fetches_known(store.connection)
        self._closed = _ClosedBatch(Batch(), frontier.last_seq)
        self.last_step = frontier.last_seq
        """Number of the last committed step."""
        self._finishing = False
        self._wrote = asyncio.Event()

    async def keep(self, tell: Listener = nobody_listens) -> None:
        """Commit repeatedly until `finish` is called, then write a checkpoint.

        A full disk is waited for, except at the end.
        """
        full = self._rows.full
        while not self._finishing:
            with suppress(TimeoutError):
                pause_s = COMMIT_EVERY_S if self.has_room else TRY_AGAIN_S
                await asyncio.wait_for(full.wait(), pause_s)
            # Cleared before the commit, not after it: if the next batch fills up meanwhile, it must
            # not wait for the pause.
            full.clear()
            await self._try_to_commit(tell)
        await self.commit(checkpoint=True)

    async def keep_while(self, work: Work[T], tell: Listener = nobody_listens) -> T:
        """Run the work while its rows are committed, then commit the rest.

        An error of the store ends the work.
        """
        self._finishing = False
        committing = asyncio.create_task(self.keep(tell))
        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(work(group))
                await asyncio.wait((working, committing), return_when=asyncio.FIRST_COMPLETED)
                # The committer ended first, so it failed: its error must not wait for the work.
                if not working.done():
                    committing.result()
            self.finish()
            await committing
        except BaseExceptionGroup as failed:
            raise _first(failed) from failed
        finally:
            committing.cancel()
        return working.result()

    async def _try_to_commit(self, tell: Listener) -> None:
        had_room = self.has_room
        try:
            await self.commit()
        except NoRoom as full:
            self.has_room = False
            if had_room:
                tell(Warned(text=f"{full}; {_WAITING}"))
        else:
            self.has_room = True
            if not had_room:
                tell(Warned(text=_GOING_ON))

    @property
    def takes_more(self) -> bool:
        """True if the crawl may begin requests, False if the disk must catch up first."""
        batch = self._rows.batch
        has_few_rows = len(batch.steps) < MOST_STEPS and len(batch.urls) < MOST_URLS
        return self.has_room and has_few_rows and self._rows.answer_bytes < MOST_ANSWER_BYTES

    async def caught_up(self) -> None:
        """Wait while many new URLs are uncommitted, as memory holds them."""
        await self._rows.caught_up()

    async def written(self) -> None:
        """Wait until all rows added so far are in the store; `keep` must be running."""
        batch = self._rows.batch
        # If the open batch is another object, this one was closed. It is written once the queue is
        # empty as well.
        while (batch and self._rows.batch is batch) or self._writes:
            self._rows.full.set()
            self._wrote.clear()
            await self._wrote.wait()

    async def committed(self, step: int) -> None:
        """Wait until this step is in the store; `keep` must be running."""
        while self.last_step < step:
            self._wrote.clear()
            await self._wrote.wait()

    def finish(self) -> None:
        """Make `keep` commit the rest and end."""
        self._finishing = True
        self._rows.full.set()

    async def commit(self, *, checkpoint: bool = False) -> None:
        """Commit all rows added so far, and write a checkpoint if asked or due.

        A checkpoint shortens the replay of steps at the next start.
        """
        # A write that failed before comes first: batches are committed in order.
        await self._write()
        frontier = self._frontier
        is_due = checkpoint or frontier.changes > _changes_allowed(len(frontier))
        if not self._rows.batch and not is_due:
            return
        if checkpoint:
            await self._add_up()
        self._close_batch()
        if is_due:
            # Cut at the moment at which the batch is closed, with no await in between. Otherwise
            # the checkpoint would include steps of the next batch, and a kill between the two
            # writes would leave rows of steps that the log does not have.
            rows, forget = cut_checkpoint(frontier), not frontier.terms.links
            self._writes.add(partial(self._store.checkpoint, rows, forget_links=forget))
        await self._write()

    async def _add_up(self) -> None:
        """Sum the gathered importance in slices: millions of pages at once would block the loop."""
        gathering = GatheredImportance(self._frontier)
        while not gathering.go_on():
            await asyncio.sleep(0)
        self._counters[tables.GATHERED] = gathering.share

    def _close_batch(self) -> None:
        """Close the open batch and queue its commit, with the present counters."""
        # No await between this line and the next: steps that are applied later belong to the next
        # batch, and `committed` must not report them as safe.
        batch = self._rows.take()
        self._closed = _ClosedBatch(batch, self._frontier.last_seq)
        self._counters.add(tables.FETCHES, len(batch.fetches))
        # In the same transaction as the steps, so that a crash cannot separate them.
        batch.counters = self._counters | self._frontier.tally()
        self._writes.add(partial(self._store.commit, batch))

    async def _write(self) -> None:
        """Do the queued writes and drop the rows that they committed."""
        if not self._writes:
            return
        await self._writes.write()
        self._rows.forget(self._closed.batch)
        self.last_step = self._closed.last_step
        self._wrote.set()

    def close(self) -> None:
        """Stop the store's thread."""
        self._writes.close()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error; the others follow from it."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _changes_allowed(pages: int) -> int:
    """Return the number of changed pages that makes a checkpoint due.

    Checkpoint less often on large tables: the changed rows are spread over the table, so each one
    costs a random write, and more changes share a write if they are collected longer.
    """
    return min(max(CHANGES_A_CHECKPOINT, pages // 8), MOST_CHANGES)


# ================================================================ the recorder

# ================================================================ pages and hosts, as known
#
# Reads pages and hosts, committed or not.
#
# Law: a row reads the same before and after its commit. The store is read through a connection that
# sees the last commit; rows that are not in it yet are found in memory.
#
# `UrlLookup` looks URLs up while the crawl continues, so that a slow disk delays one page only.
# Pages wanted during a query are looked up together by the next query: a thread that returns from
# SQLite waits for Python's global lock, for milliseconds if the crawl is busy, and does so a few
# times per query, however many pages the query has.

Homes = dict[int, tuple[int, str]]
"""Host and path of each page."""


class UrlLookup:
    """Looks up pages in the store, on its own thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="url-lookup")
        self._reader: tables.Connection | None = None
        self._wanted: set[int] = set()
        self._next: asyncio.Task[Homes] | None = None
        self._last: asyncio.Task[Homes] | None = None

    async def homes(self, pages: Iterable[int]) -> Homes:
        """Return host and path of each page that the store has; other pages may be included."""
        self._wanted.update(pages)
        if self._next is None:
            self._next = asyncio.create_task(self._ask(self._last))
        # Shielded, because other pages wait for the same query.
        return await asyncio.shield(self._next)

    async def _ask(self, last: asyncio.Task[Homes] | None) -> Homes:
        if last is not None and not last.done():
            await asyncio.wait((last,))
        self._last, self._next = self._next, None
        wanted, self._wanted = sorted(self._wanted), set()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._look_up, wanted)

    def _look_up(self, pages: Sequence[int]) -> Homes:
        if self._reader is None:
            self._reader = connect(self._path)
        return {page: (host, path) for page, host, path in tables.paths(self._reader, pages)}

    def close(self) -> None:
        """Stop looking up."""
        if self._reader is not None:
            self._thread.submit(self._reader.close).result()
        self._thread.shutdown()


LoadFrontier = Callable[[Callable[[int], Spending], UrlsOf, Callable[[int], int]], Frontier]
"""Loads the frontier, given access to the spending of a step, to URLs of pages, and to the last
step that spent the cash of a page as of the last checkpoint.
"""


class StoredPages:
    """URLs, documents and spendings of pages, committed or not."""

    def __init__(
        self, reader: tables.Connection, rows: UncommittedRows, load: LoadFrontier
    ) -> None:
        """Load the frontier with this object as its access to the store."""
        self._reader, self._rows = reader, rows
        self._stored_own_requests = tables.has_own_requests(reader)
        self.frontier = load(self.spending_at, self.urls_at, partial(tables.spent_by, reader))
        self._loaded = len(self.frontier)

    def url_of(self, page: PageId) -> str:
        if recent := self.frontier.urls.url_of(page):
            return recent
        row = self._rows.urls.get(page)
        return tables.url_of(self._reader, page) if row is None else self._url(row)

    def urls_of(self, pages: Sequence[int]) -> Iterator[str]:
        """Yield the URLs of committed pages, in the order of their ids."""
        return tables.urls_of(self._reader, pages)

    def urls_at(self, pages: Sequence[int]) -> Mapping[int, str]:
        """Return the URLs of pages, committed or not."""
        origins, new = self.frontier.urls.origins, self._rows.urls
        rows = tables.paths(self._reader, pages)
        found = {page: origins[host] + path for page, host, path in rows}
        if len(found) < len(pages):
            found |= {page: self._url(new[page]) for page in pages if page in new}
        return found

    def _url(self, row: UrlRow) -> str:
        return self.frontier.urls.origins[row.host] + row.path

    def document(self, page: PageId) -> DocumentRow | None:
        """Return the document of a page, as of its last reading."""
        found = self._rows.documents.get(page)
        return found or tables.document(self._reader, page)

    def own_request(self, page: PageId) -> OwnRequest | None:
        """Return the request that a program wants for this page; None for a plain GET."""
        # Most crawls have no such requests, and are spared a query per page.
        if not (self._stored_own_requests or self._rows.had_own_requests):
            return None
        return self._rows.own_requests.get(page) or tables.own_request(self._reader, page)

    def tries(self, page: PageId, max_tries: int) -> int:
        """Return the tries of the turn that an earlier run left open, if any."""
        if page >= self._loaded:
            return 0
        moved = self.frontier.state[page] == State.UNREAD
        return tries_so_far(questions.unread_outcomes(self._reader, page, moved=moved), max_tries)

    def refused_types(self, pages: Sequence[int]) -> list[str | None]:
        """Return the media types that pages were refused for; None for a page without a request."""
        return questions.last_details(self._reader, pages)

    def requested(self, pages: Sequence[int]) -> set[int]:
        """Return the pages that were requested at least once; the hosts of the others were down."""
        return questions.requested(self._reader, pages)

    def failing(self, pages: Sequence[int]) -> list[tuple[float | None, float | None]]:
        """Return the times of each page's first and last failure since it was last read."""
        first, last = questions.failing_since, questions.last_times
        return list(zip(first(self._reader, pages), last(self._reader, pages), strict=True))

    def documents(self) -> Iterator[DocumentRow]:
        """Yield all committed documents."""
        return tables.all_documents(self._reader)

    def contents(self) -> Iterator[tuple[Numbers, Numbers]]:
        """Yield the pages with a committed document, and the hashes of their contents."""
        return tables.contents(self._reader)

    def sendings_after(self, seq: int) -> list[tuple[int, Step]]:
        """Return the batches sent to other shards by committed steps after `seq`."""
        return list(tables.sendings_after(self._reader, seq))

    def sendings_to(self, receiver: int, number: int, until: int) -> list[Step]:
        """Return batches sent to a shard after batch `number`, by committed steps up to `until`."""
        return tables.sendings_to(self._reader, receiver, number, until)

    def spending_at(self, seq: int) -> Spending:
        """Return the spending of a step."""
        found = self._rows.spendings.get(seq)
        return tables.spending(self._reader, seq) if found is None else found

    def spendings(self) -> Iterator[Spendings]:
        """Yield the last spending of each page, if it is committed."""
        saved = tables.whole(tables.frontier(self._reader, "spent"), "spent")
        last = self.frontier.spendings.of_all(len(self.frontier), saved)
        for block in questions.spendings(self._reader):
            yield block.only(last[block.pages] == block.seqs)


class StoredHosts:
    """Hosts as earlier runs knew them. `known_before` is their number."""

    def __init__(self, reader: tables.Connection, frontier: Frontier) -> None:
        self._reader, self._frontier = reader, frontier
        self.known_before = len(frontier.urls.origins)

    def robots(self, host: int) -> tuple[str, float] | None:
        """Return the rules of a host's robots.txt and the time until which they hold."""
        row = tables.host(self._reader, host)
        if row is None or row.robots is None or row.robots_until is None:
            return None
        return row.robots, row.robots_until

    def wait_until(self, host: int) -> float:
        """Return the stored end of the host's pause: it may be past, and is 0 without a pause."""
        row = tables.host(self._reader, host)
        return row.wait_until or 0.0 if row is not None else 0.0

    def of_pages(self, pages: Numbers) -> Iterator[tuple[int, int]]:
        """Return the hosts of these pages, each with the number of its pages."""
        host_of = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)
        hosts, counts = np.unique(host_of[pages], return_counts=True)
        return zip(hosts.tolist(), counts.tolist(), strict=True)


class SeedPages:
    """Seeds of this run and of earlier ones: the pages that were endowed."""

    def __init__(self, pages: StoredPages, counters: Counters) -> None:
        """Set up; one of the counters is the list of steps that endowed seeds."""
        self._pages, self._counters = pages, counters

    def ids(self) -> set[int]:
        """Return the seeds."""
        steps = map(self._pages.spending_at, tables.endowed(self._counters))
        return set(chain.from_iterable(spending.links for spending in steps))

    def urls(self) -> Iterator[str]:
        """Yield the committed URLs of the seeds."""
        return self._pages.urls_of(sorted(self.ids()))

    def redirect_targets(self) -> Iterator[str]:
        """Yield the URLs that redirects of seeds have led to so far."""
        frontier = self._pages.frontier
        moved = [page for page in sorted(self.ids()) if frontier.state[page] == State.MOVED]
        return self._pages.urls_of([frontier.books.stands_for(page) for page in moved])

    def endowed_by(self, seq: int) -> None:
        """Note that the pages endowed by this step are seeds."""
        self._counters[tables.ENDOWED] = [*tables.endowed(self._counters), seq]


class Recorder:
    """State of a crawl, and the only way to change it."""

    def __init__(
        self,
        store: StoreWriter,
        reader: tables.Connection,
        load: LoadFrontier,
        keeping: ArchiveSinks = NOWHERE,
    ) -> None:
        """Set up with `reader`, which sees the store as of the last commit."""
        self.keeping = keeping
        self._rows = UncommittedRows()
        self.counters = Counters(tables.counters(store.connection))
        self.pages = StoredPages(reader, self._rows, load)
        self.frontier = self.pages.frontier
        self.hosts = StoredHosts(reader, self.frontier)
        self.seeds = SeedPages(self.pages, self.counters)
        self.committer = Committer(
            StoreWithArchive(store, keeping), reader, self._rows, self.frontier, self.counters
        )
        self.shard: Membership = WHOLE
        self.by_value = False
        """True if a scorer gives values to pages in this run."""
        self._shares = CurrentShares(self.frontier)
        self._url_lookup = UrlLookup(store.path)
        self.describe = self._rows.add_document
        """Records the document of a page, as of its last reading."""
        self.kept_pings = partial(derived.kept_pings, store.path, reader)

    @property
    def dictionary(self) -> int:
        """Number of the dictionary with which responses are packed for the archive."""
        archive = self.keeping.archive
        return 0 if archive is None else archive.dictionary

    def close(self) -> None:
        """Stop writing and looking up."""
        self.committer.close()
        self._url_lookup.close()

    # ------------------------------------------------------------ new pages and hosts

    def meet(
        self,
        urls: Sequence[str],
        depth: int,
        originals: Originals = (),
        looked_up: PagesByUrl = NO_PAGES,
    ) -> Meeting:
        """Return the pages of these URLs; the next step must bear the new ones."""
        looked_up = self.shard.meet_foreign(urls, depth, originals, looked_up)
        return self.meet_all(urls, depth, originals, looked_up)

    def meet_all(
        self, urls: Sequence[str], depth: int, originals: Originals, looked_up: PagesByUrl
    ) -> Meeting:
        """Return the pages of these URLs, whichever shard they belong to."""
        meeting = self.frontier.urls.meet(urls, depth, looked_up)
        self._rows.batch.hosts += meeting.hosts
        self._rows.add_urls(meeting.urls)
        if originals:
            written, origins = dict(originals), self.frontier.urls.origins
            new = ((row.id, origins[row.host] + row.path) for row in meeting.urls)
            pairs = [(page, written[url]) for page, url in new if url in written]
            self._rows.batch.originals += pairs
        return meeting

    async def look_up_urls(self, urls: Iterable[str]) -> PagesByUrl:
        """Return the pages of the known URLs. The crawl continues while the store is queried."""
        found, candidates = self.frontier.urls.find_recent(urls)
        if candidates:
            homes = await self._url_lookup.homes(candidates)
            stored = ((page, *homes[page]) for page in candidates if page in homes)
            found |= self.frontier.urls.remember(stored)
        return found

    def host_at(self, origin: str) -> int:
        """Return the host of an origin, known or new; it may have no pages."""
        host, rows = self.frontier.urls.meet_host(origin)
        self._rows.batch.hosts += rows
        return host

    # ------------------------------------------------------------ events

    def apply_step(
        self, step: Step, state: State = State.UNREAD, value: int | None = None
    ) -> list[Plan]:
        """Apply a step and queue its row."""
        row = StepRow(self.frontier.last_seq + 1, state, step, value)
        if step.kind is StepKind.ENDOWED:
            self.seeds.endowed_by(row.seq)
        plans = self.frontier.apply(row)
        self._rows.add_step(row)
        self.shard.saw(step, plans)
        return plans

    def agree_on_terms(self, order: Order) -> None:
        """Post the terms of the virtual page if the settings have changed them.

        If new pages get a share of the fetches, they get that share of the virtual page's gifts.
        Older versions let focused links draw cash; the new terms end that.
        """
        share = in_parts(order.discovery) if 0 < order.discovery < 1 else -1
        totals, edge = self.frontier.ledger.totals, in_parts(order.small_edge)
        if edge == in_parts(self.frontier.small_edge):
            edge = totals.edge
        if (share, 0, edge) != (totals.discovery, totals.focus, totals.edge):
            self.apply_step(terms(share, edge=edge))

    def record(self, fetch: FetchRow) -> None:
        """Record why a page was not requested."""
        self._rows.batch.fetches.append(fetch)

    def record_request(self, fetch: FetchRow, *, is_page: bool) -> None:
        """Record the request for a page and its response, and count them.

        `is_page` says that it brought a page or found it unchanged.
        """
        self._rows.batch.fetches.append(fetch)
        self.counters.add("requests")
        self.counters.add("wire_bytes", fetch.wire_bytes)
        self.counters.add("fetched", is_page)

    def keep(self, page: PageId | None, answer: KeptAnswer) -> None:
        """Keep the response of a page, or of a file. Responses must be kept in this crawl."""
        if self.keeping.warcs is not None and page is not None:
            importance, hops = self._shares.of(page), self.frontier.urls.depth[page]
            answer = answer._replace(importance=importance, hops=hops)
        self._rows.add_answer(answer)

    def keep_own_requests(self, pages: PagesByUrl, own: OwnRequests) -> None:
        """Keep the requests that a program wants for linked pages, with the step of their page."""
        for url, request in own:
            self._rows.add_own_request(pages[url], request)

    def keep_written(self, page: PageId, links: Sequence[int], entries: Sequence[str]) -> None:
        """Keep the links of a page as written in it, if collected, in the order of its step."""
        if entries:
            from minicrawl.web.references import joined  # deferred: most crawls keep no entries

            of_link = dict(zip(links, entries, strict=True))
            # In the order of the stored links, whose ids ascend.
            ordered = sorted(of_link)
            told = joined(map(of_link.__getitem__, ordered)).encode("utf-8", "replace")
            self._rows.add_written(WrittenRow(page, check_of(ordered), told))

    def describe_host(self, row: HostRow) -> None:
        """Record a host's robots.txt rules and pause."""
        self._rows.batch.hosts.append(row)

    def record_mirror(self, host: int, of_host: int) -> None:
        """Record that a page of `host` has the content of a page of `of_host`."""
        self._rows.batch.mirrors.append((host, of_host))
