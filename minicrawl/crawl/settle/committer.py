"""Commits: rows wait in memory, and are written ten times a second by a thread of their own.

Laws: rows are written once, in the order in which they came; a slow disk never stalls the crawl. A
checkpoint is written after all steps that it includes are committed. What did not fit on a full
disk is written first when there is room, and `has_room` says whether there is.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

from minicrawl.crawl.events import Listener, Warned, nobody_listens
from minicrawl.crawl.settle.keeping import ArchivingStore
from minicrawl.errors import NoRoom
from minicrawl.frontier.checkpoint import cut_checkpoint
from minicrawl.frontier.importance import gathered
from minicrawl.frontier.pages import Frontier
from minicrawl.model import KeptAnswer
from minicrawl.opic.journal import Spending, StepKind
from minicrawl.store import tables
from minicrawl.store.reader import begin_snapshot, end_snapshot
from minicrawl.store.records import Batch, DocumentRow, StepRow, UrlRow, WrittenRow

T = TypeVar("T")
Work: TypeAlias = Callable[[asyncio.TaskGroup], Coroutine[None, None, T]]

COMMIT_EVERY_S = 0.1
TRY_AGAIN_S = 5.0
"""When the disk was full."""
STEPS_A_BATCH = 1000
MOST_STEPS = 10 * STEPS_A_BATCH
"""That may wait to be written. They are in memory: the crawl is no faster than its disk."""
ANSWER_BYTES_A_BATCH = 2_000_000
MOST_ANSWER_BYTES = 8_000_000
"""Of records that wait for the archive, in the same way."""
URLS_A_BATCH = 20_000
MOST_URLS = 10 * URLS_A_BATCH
"""The same for new URLs, of which a page may bring ten thousand."""
MANY_URLS, MANY_CHARS = URLS_A_BATCH // 5, 400_000
"""When so many URLs wait, or such long ones, a page that brings very many more waits as well."""
CHANGES_A_CHECKPOINT = 500_000
MOST_CHANGES = 2_000_000
"""Copying more than that for a checkpoint would be felt."""
_HAVE_SPENDINGS = frozenset((StepKind.VISIT, StepKind.FORWARD, StepKind.ENDOWED))
_WAITING = "the crawl waits for room and goes on by itself; Ctrl-C ends it"
_GOING_ON = "there is room again: the crawl goes on"


class Counters(dict[str, object]):
    """What `status` shows and the next run goes on with; each commit writes all of it."""

    def add(self, name: str, by: float = 1) -> None:
        """Add to a counter."""
        found = self.get(name, 0)
        self[name] = (found if isinstance(found, int | float) else 0) + by

    def number(self, name: str) -> float:
        """A counter as it is now."""
        found = self.get(name, 0)
        return found if isinstance(found, int | float) else 0


class UncommittedRows:
    """Rows that are not in the store yet: the open batch, and an index of all that may be read."""

    def __init__(self) -> None:
        self.batch = Batch()
        self.spendings: dict[int, Spending] = {}
        self.urls: dict[int, UrlRow] = {}
        self.documents: dict[int, DocumentRow] = {}
        self.full = asyncio.Event()
        self._answer_bytes = 0
        self._taken = asyncio.Event()

    def add_step(self, row: StepRow) -> None:
        """A step that was applied."""
        if row.step.kind in _HAVE_SPENDINGS:
            self.spendings[row.seq] = row.step.spending
        steps = self.batch.steps
        steps.append(row)
        if len(steps) >= STEPS_A_BATCH:
            self.full.set()

    def add_urls(self, rows: list[UrlRow]) -> None:
        """Pages that became known."""
        urls = self.batch.urls
        urls += rows
        self.urls |= {row.id: row for row in rows}
        if len(urls) >= URLS_A_BATCH:
            self.full.set()

    def add_document(self, row: DocumentRow) -> None:
        """What a page is, as it was read last."""
        self.documents[row.page] = row
        self.batch.documents.append(row)

    def add_answer(self, answer: KeptAnswer) -> None:
        """What came of a request, for the archive."""
        self.batch.answers.append(answer)
        self._answer_bytes += len(answer.record)
        if self._answer_bytes >= ANSWER_BYTES_A_BATCH:
            self.full.set()

    def add_written(self, row: WrittenRow) -> None:
        """What is written of the links of a page."""
        self.batch.written.append(row)
        self._answer_bytes += len(row.entries)
        if self._answer_bytes >= ANSWER_BYTES_A_BATCH:
            self.full.set()

    def take(self) -> Batch:
        """Close the open batch and open the next one; answers with the closed one."""
        batch, self.batch = self.batch, Batch()
        self._answer_bytes = 0
        self._taken.set()
        return batch

    def forget(self, batch: Batch) -> None:
        """The batch is in the store; a newer document of one of its pages is not."""
        for row in batch.steps:
            self.spendings.pop(row.seq, None)
        for url in batch.urls:
            self.urls.pop(url.id, None)
        for document in batch.documents:
            if self.documents.get(document.page) is document:
                del self.documents[document.page]

    @property
    def are_few(self) -> bool:
        """Whether more may come, or the disk must catch up first."""
        has_few_rows = len(self.batch.steps) < MOST_STEPS and len(self.batch.urls) < MOST_URLS
        return has_few_rows and self._answer_bytes < MOST_ANSWER_BYTES

    async def caught_up(self) -> None:
        """Wait while many new URLs are uncommitted."""
        while self._has_many_urls():
            self.full.set()
            self._taken.clear()
            await self._taken.wait()

    def _has_many_urls(self) -> bool:
        urls = self.batch.urls
        return len(urls) >= MANY_URLS or sum(len(row.path) for row in urls) >= MANY_CHARS


class WriteQueue:
    """Commits and checkpoints that wait for the store's thread. What fails stays, and is first."""

    def __init__(self, reader: tables.Connection) -> None:
        """`reader` sees the store as of the last write."""
        self._reader = reader
        self._unwritten: deque[Callable[[], None]] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")

    def __len__(self) -> int:
        return len(self._unwritten)

    def add(self, write: Callable[[], None]) -> None:
        """To be done behind all others."""
        self._unwritten.append(write)

    async def write(self) -> None:
        """Do all that waits, each commit and checkpoint as a whole."""
        end_snapshot(self._reader)
        loop = asyncio.get_running_loop()
        while self._unwritten:
            await loop.run_in_executor(self._thread, self._unwritten[0])
            self._unwritten.popleft()
        begin_snapshot(self._reader)

    def close(self) -> None:
        """Nothing more is written."""
        self._thread.shutdown()


class _ClosedBatch(NamedTuple):
    """A batch that is being written, and the last step in it."""

    batch: Batch
    last_step: int


class Committer:
    """Writes uncommitted rows and checkpoints to the store."""

    def __init__(
        self,
        store: ArchivingStore,
        reader: tables.Connection,
        rows: UncommittedRows,
        frontier: Frontier,
        counters: Counters,
    ) -> None:
        """`reader` sees the store as of the last commit."""
        self.has_room = True
        self._store, self._writes = store, WriteQueue(reader)
        self._rows, self._frontier, self._counters = rows, frontier, counters
        counters[tables.FETCHES] = tables.fetches_known(store.connection)
        self._closed = _ClosedBatch(Batch(), frontier.last_seq)
        self.last_step = frontier.last_seq
        """The last step that is in the store."""
        self._finishing = False
        self._wrote = asyncio.Event()

    async def keep(self, tell: Listener = nobody_listens) -> None:
        """Commit again and again until `finish` is called, and then write a checkpoint.

        A full disk is waited for, but not at the end.
        """
        full = self._rows.full
        while not self._finishing:
            with suppress(TimeoutError):
                pause_s = COMMIT_EVERY_S if self.has_room else TRY_AGAIN_S
                await asyncio.wait_for(full.wait(), pause_s)
            full.clear()
            await self._try_to_commit(tell)
        await self.commit(checkpoint=True)

    async def keep_while(self, work: Work[T], tell: Listener = nobody_listens) -> T:
        """Do the work while what comes of it is committed, and commit all in the end.

        A store that fails ends the work.
        """
        self._finishing = False
        committing = asyncio.create_task(self.keep(tell))
        try:
            async with asyncio.TaskGroup() as group:
                working = group.create_task(work(group))
                await asyncio.wait((working, committing), return_when=asyncio.FIRST_COMPLETED)
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
        """Whether the crawl may go on, or the disk must catch up first."""
        return self.has_room and self._rows.are_few

    async def caught_up(self) -> None:
        """Wait while many new URLs are uncommitted, because they are in memory."""
        await self._rows.caught_up()

    async def written(self) -> None:
        """Wait until all that came so far is in the store; `keep` must be under way."""
        batch = self._rows.batch
        while (batch and self._rows.batch is batch) or self._writes:
            self._rows.full.set()
            self._wrote.clear()
            await self._wrote.wait()

    async def committed(self, step: int) -> None:
        """Wait until this step is in the store; `keep` must be under way."""
        while self.last_step < step:
            self._wrote.clear()
            await self._wrote.wait()

    def finish(self) -> None:
        """Nothing more will come: `keep` commits all and ends."""
        self._finishing = True
        self._rows.full.set()

    async def commit(self, *, checkpoint: bool = False) -> None:
        """Make all that came so far safe; a checkpoint spares the next start some work."""
        await self._write()
        frontier = self._frontier
        is_due = checkpoint or frontier.changes > _changes_allowed(len(frontier))
        if not self._rows.batch and not is_due:
            return
        self._close_batch(add_up=checkpoint)
        if is_due:
            rows, forget = cut_checkpoint(frontier), not frontier.terms.links
            self._writes.add(partial(self._store.checkpoint, rows, forget_links=forget))
        await self._write()

    def _close_batch(self, *, add_up: bool) -> None:
        """The open batch is to be written, with the counters as they are now."""
        batch = self._rows.take()
        self._closed = _ClosedBatch(batch, self._frontier.last_seq)
        if add_up:
            self._counters[tables.GATHERED] = gathered(self._frontier)
        self._counters.add(tables.FETCHES, len(batch.fetches))
        batch.counters = self._counters | self._frontier.tally()
        self._writes.add(partial(self._store.commit, batch))

    async def _write(self) -> None:
        """Write all that is closed."""
        if not self._writes:
            return
        await self._writes.write()
        self._rows.forget(self._closed.batch)
        self.last_step = self._closed.last_step
        self._wrote.set()

    def close(self) -> None:
        """Nothing more is written."""
        self._writes.close()


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What went wrong first; the others followed from it."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _changes_allowed(pages: int) -> int:
    """Rows are strewn over the table: the larger it is, the more of them should share the work."""
    return min(max(CHANGES_A_CHECKPOINT, pages // 8), MOST_CHANGES)
