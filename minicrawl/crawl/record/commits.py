"""Commits: rows wait in memory, and one thread writes them to the store in batches.

The crawl never waits for the disk. A step is applied to the frontier at once; its row joins the
open batch, where readers find it until it is committed. Every `COMMIT_EVERY_S`, or earlier when
the batch is full, the committer closes the batch and hands it to the store's thread. Rows that
arrive meanwhile join the next batch:

    at      what happens                                    open batch    store has
    0.00 s  steps 1 to 40 are applied                       1-40          -
    0.10 s  batch 1-40 is closed, its commit is queued      empty         -
    0.15 s  steps 41 to 55 are applied; 40 is looked up     41-55         -
            and found in memory
    0.20 s  the commit ends; rows 1-40 leave memory         41-55         1-40
    0.30 s  batch 41-55 is closed                           empty         1-40

A checkpoint copies the rows of changed pages at the moment a batch is closed, and is queued
behind that batch. So whenever a checkpoint is in the store, each step that it includes is there,
too.

If the disk is full at 0.10 s, the commit of 1-40 stays at the head of the queue and is tried
again every `TRY_AGAIN_S` or earlier. Closing more batches meanwhile was rejected: steps 41 and
later stay in the open batch, and `takes_more` turns False, which stops new requests. `takes_more`
is False as well while too many rows wait because the disk is slower than the crawl.

Laws: each row is written once, in the order of arrival. A slow disk delays no request until the
rows in memory reach a limit. A failed write stays first in the queue, and nothing overtakes it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from math import isfinite
from typing import TypeAlias, TypeVar

from minicrawl.crawl.events import Listener, Warned, nobody_listens
from minicrawl.crawl.record.store_with_archive import StoreWithArchive
from minicrawl.errors import NoRoom
from minicrawl.frontier.checkpoints import cut_checkpoint
from minicrawl.frontier.importance import GatheredImportance
from minicrawl.frontier.page_table import Frontier
from minicrawl.model import KeptAnswer, OwnRequest, PageId
from minicrawl.opic.ledger.books import Spending, StepKind
from minicrawl.store import tables
from minicrawl.store.reader import begin_snapshot, end_snapshot
from minicrawl.store.records import Batch, DocumentRow, StepRow, UrlRow, WrittenRow

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


class Counters(dict[str, object]):
    """Counters that `status` shows and the next run continues; each commit writes all of them."""

    def add(self, name: str, by: float = 1) -> None:
        value = self.get(name, 0)
        self[name] = (value if isinstance(value, int | float) else 0) + by

    def number(self, name: str) -> float:
        """Return the value of a counter, or 0 if it is not a finite number."""
        value = self.get(name, 0)
        if isinstance(value, float) and not isfinite(value):
            return 0
        return value if isinstance(value, int | float) else 0


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
        self.batch.answers.append(answer)
        self.answer_bytes += len(answer.record)
        if self.answer_bytes >= ANSWER_BYTES_A_BATCH:
            self.full.set()

    def add_written(self, row: WrittenRow) -> None:
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
        while (
            len(urls := self.batch.urls) >= MANY_URLS
            or sum([len(row.path) for row in urls]) >= MANY_CHARS
        ):
            self.full.set()
            self._taken.clear()
            await self._taken.wait()


class Committer:
    """Writes uncommitted rows and checkpoints to the store, one after the other in its thread."""

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
        self._store, self._reader = store, reader
        self._unwritten: deque[Callable[[], None]] = deque()
        """Commits and checkpoints. A failed write stays first."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self.close = self._thread.shutdown
        self._rows, self._frontier, self._counters = rows, frontier, counters
        counters[tables.FETCHES] = tables.fetches_known(store.connection)
        self._closed = Batch(), frontier.last_seq
        """Batch that is being written, and the number of its last step."""
        self.last_step = frontier.last_seq
        """Number of the last committed step."""
        self._finishing = False
        self._wrote = asyncio.Event()
        self.caught_up = rows.caught_up

    async def keep(self, emit: Listener = nobody_listens) -> None:
        """Commit until `finish` is called, and wait for a full disk; then write a checkpoint."""
        full, awaited = self._rows.full, NoRoom.awaited
        while not self._finishing:
            with suppress(TimeoutError):
                pause_s = COMMIT_EVERY_S if self.has_room else TRY_AGAIN_S
                await asyncio.wait_for(full.wait(), pause_s)
            # Cleared before the commit, not after it: if the next batch fills up meanwhile, it must
            # not wait for the pause.
            full.clear()
            had_room = self.has_room
            try:
                await self.commit()
                self.has_room = True
                if not had_room:
                    emit(Warned(text=f"there is {awaited} again: the crawl continues"))
            except NoRoom as error:
                self.has_room = False
                if had_room:
                    awaited = error.awaited
                    waiting = f"the crawl waits for {awaited} and then continues; Ctrl-C ends it"
                    emit(Warned(text=f"{error}; {waiting}"))
        await self.commit(checkpoint=True)

    async def keep_while(self, work: Work[T], emit: Listener = nobody_listens) -> T:
        """Run the work, which an error of the store ends, while its rows are committed."""
        self._finishing = False
        committing = asyncio.create_task(self.keep(emit))
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
            error: BaseException = failed
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]  # the others follow from it
            raise error from failed
        finally:
            committing.cancel()
        return working.result()

    @property
    def takes_more(self) -> bool:
        """True if the crawl may begin requests, False if the disk must catch up first."""
        batch = self._rows.batch
        has_few_rows = len(batch.steps) < MOST_STEPS and len(batch.urls) < MOST_URLS
        return self.has_room and has_few_rows and self._rows.answer_bytes < MOST_ANSWER_BYTES

    async def written(self) -> None:
        """Wait until all rows added so far are in the store; `keep` must be running."""
        batch = self._rows.batch
        # If the open batch is another object, this one was closed. It is written once the queue is
        # empty as well.
        while (batch and self._rows.batch is batch) or self._unwritten:
            self._rows.full.set()
            self._wrote.clear()
            await self._wrote.wait()

    async def committed(self, step: int) -> None:
        """Wait until this step is in the store; `keep` must be running."""
        while self.last_step < step:
            self._wrote.clear()
            await self._wrote.wait()

    def finish(self) -> None:
        self._finishing = True
        self._rows.full.set()

    async def commit(self, *, checkpoint: bool = False) -> None:
        """Commit all rows so far, and a checkpoint, which spares replays, if asked or due."""
        # A write that failed before comes first: batches are committed in order.
        await self._write()
        frontier = self._frontier
        # Checkpoint less often on large tables: the changed rows are spread over the table, so each
        # one costs a random write, and more changes share a write if they are collected longer.
        allowed = min(max(CHANGES_A_CHECKPOINT, len(frontier) // 8), MOST_CHANGES)
        is_due = checkpoint or frontier.changes > allowed
        if not self._rows.batch and not is_due:
            return
        if checkpoint:
            # In slices: the importance of millions of pages at once would block the loop.
            gathering = GatheredImportance(frontier)
            while not gathering.go_on():
                await asyncio.sleep(0)
            self._counters[tables.GATHERED] = gathering.share
        # No await between this line and the next: steps that are applied later belong to the next
        # batch, and `committed` must not report them as safe.
        batch = self._rows.take()
        self._closed = batch, frontier.last_seq
        self._counters.add(tables.FETCHES, len(batch.fetches))
        # In the same transaction as the steps, so that a crash cannot separate them.
        batch.counters = self._counters | frontier.tally()
        self._unwritten.append(partial(self._store.commit, batch))
        if is_due:
            # Cut at the moment at which the batch is closed, with no await in between. Otherwise
            # the checkpoint would include steps of the next batch, and a kill between the two
            # writes would leave rows of steps that the log does not have.
            rows, forget = cut_checkpoint(frontier), not frontier.terms.links
            self._unwritten.append(partial(self._store.checkpoint, rows, forget_links=forget))
        await self._write()

    async def _write(self) -> None:
        """Do all queued writes, each commit and each checkpoint as a whole."""
        if not self._unwritten:
            return
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
        batch, self.last_step = self._closed
        self._rows.forget(batch)
        self._wrote.set()
