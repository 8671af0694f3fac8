"""What happened, kept: applied to the frontier at once, committed to the store in batches.

Laws: a step is applied once and written once, in the same order; the store hears of it before
anything tells the user that it is safe. Writing is done in one thread of its own, so that a slow
disk never stalls the crawl. A checkpoint follows the commit of every step that it knows of. What a
full disk did not take is written again, first of all, until it is; `has_room` says that it was.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain

import numpy as np

from minicrawl.crawl.events import Listener, Warned, nobody_listens
from minicrawl.crawl.settle.url_lookup import UrlLookup
from minicrawl.errors import NoRoom
from minicrawl.frontier.gathered_importance import gathered
from minicrawl.frontier.pages import Frontier, Meeting
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl, UrlsOf
from minicrawl.model import Originals, State
from minicrawl.opic.journal import Spending, Step, StepKind
from minicrawl.opic.money import in_parts
from minicrawl.opic.steps import Plan
from minicrawl.store import columns, questions, tables
from minicrawl.store.columns import Numbers
from minicrawl.store.questions import Spendings
from minicrawl.store.reader import begin_snapshot, end_snapshot
from minicrawl.store.records import Batch, DocumentRow, FetchRow, HostRow, StepRow, UrlRow
from minicrawl.store.writer import Store

COMMIT_EVERY_S = 0.1
TRY_AGAIN_S = 5.0
"""Where there was no room."""
STEPS_A_BATCH = 1000
MOST_STEPS = 10 * STEPS_A_BATCH
"""That may wait to be written. They are in memory: the crawl is no faster than its disk."""
URLS_A_BATCH = 20_000
MOST_URLS = 10 * URLS_A_BATCH
"""The same for new URLs, of which a page may bring ten thousand."""
MANY_URLS, MANY_CHARS = URLS_A_BATCH // 5, 400_000
"""Where so many URLs wait, or such long ones, who brings more than a page of them waits as well."""
CHANGES_A_CHECKPOINT = 500_000
MOST_CHANGES = 2_000_000
"""Beyond that the moment in which they are copied would be felt."""
_ENDOWED = "endowed"
_WAITING = "the crawl waits for room and goes on by itself; Ctrl-C ends it"
_GOING_ON = "there is room again: the crawl goes on"


class Recorder:
    """The one who writes down. `reader` sees what was committed, for questions in between."""

    def __init__(
        self,
        store: Store,
        reader: tables.Connection,
        load: Callable[[Callable[[int], Spending], UrlsOf, Callable[[int], int]], Frontier],
    ) -> None:
        self._store = store
        self._reader = reader
        self._open = Batch()
        self._closed = Batch()
        self._unwritten: deque[Callable[[], None]] = deque()
        self._spendings: dict[int, Spending] = {}
        self._urls: dict[int, UrlRow] = {}
        self._documents: dict[int, DocumentRow] = {}
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._url_lookup = UrlLookup(store.path)
        self._full = asyncio.Event()
        self._taken = asyncio.Event()
        self._finishing = False
        self.has_room = True
        self.counters = tables.counters(store.connection)
        self._fetches = tables.fetches_known(store.connection)
        self.frontier = load(self.spending_at, self.urls_at, partial(tables.spent_by, reader))
        self.hosts_before = len(self.frontier.origins)  # those that earlier runs knew

    # ------------------------------------------------------------ what happened

    def meet(
        self,
        urls: list[str],
        depth: int,
        originals: Originals = (),
        looked_up: PagesByUrl = NO_PAGES,
    ) -> Meeting:
        """The pages of these URLs; the step that follows must bear the new ones."""
        meeting = self.frontier.meet(urls, depth, looked_up)
        self._open.hosts += meeting.hosts
        self._open.urls += meeting.urls
        self._urls |= {row.id: row for row in meeting.urls}
        if len(self._open.urls) >= URLS_A_BATCH:
            self._full.set()
        if originals:
            written = dict(originals)
            new = ((row.id, self._url(row)) for row in meeting.urls)
            self._open.originals += [(page, written[url]) for page, url in new if url in written]
        return meeting

    def _url(self, row: UrlRow) -> str:
        return self.frontier.origins[row.host] + row.path

    async def look_up_urls(self, urls: Iterable[str]) -> PagesByUrl:
        """The pages of those that are known; while the store is asked others have their turn."""
        found, doubtful = self.frontier.at_hand(urls)
        if doubtful:
            homes = await self._url_lookup.homes(doubtful)
            kept = ((page, *homes[page]) for page in doubtful if page in homes)
            found |= self.frontier.remember(kept)
        return found

    def host_at(self, origin: str) -> int:
        """The host, be it one without pages."""
        host, rows = self.frontier.host_at(origin)
        self._open.hosts += rows
        return host

    def settle(self, step: Step, state: State = State.UNREAD) -> list[Plan]:
        """Apply the step and remember to write it."""
        row = StepRow(self.frontier.last_seq + 1, state, step)
        if step.kind in (StepKind.VISIT, StepKind.FORWARD, StepKind.ENDOWED):
            self._spendings[row.seq] = step.spending
        if step.kind is StepKind.ENDOWED:
            self.counters[_ENDOWED] = [*self._endowed(), row.seq]
        plans = self.frontier.apply(row)
        self._open.steps.append(row)
        if len(self._open.steps) >= STEPS_A_BATCH:
            self._full.set()
        return plans

    def agree_on_terms(self, discovery: float) -> None:
        """Where fetches are shared with pages read before, so are the virtual page's gifts."""
        share = in_parts(discovery) if 0 < discovery < 1 else -1
        if share != self.frontier.ledger.totals.discovery:
            self.settle(Step(StepKind.TERMS, amount=share))

    def record(self, fetch: FetchRow) -> None:
        """A request and its answer."""
        self._fetches += 1
        self._open.fetches.append(fetch)

    def describe(self, document: DocumentRow) -> None:
        """What a page is, as it was read last."""
        self._documents[document.page] = document
        self._open.documents.append(document)

    def host(self, row: HostRow) -> None:
        """What a host asks of us."""
        self._open.hosts.append(row)

    def mirror(self, host: int, of_host: int) -> None:
        """A page of one host has the content of a page of another."""
        self._open.mirrors.append((host, of_host))

    def count(self, name: str, by: float = 1) -> None:
        """Add to a counter that `status` shows."""
        found = self.counters.get(name, 0)
        self.counters[name] = (found if isinstance(found, int | float) else 0) + by

    def counted(self, name: str) -> float:
        """A counter as it is now."""
        found = self.counters.get(name, 0)
        return found if isinstance(found, int | float) else 0

    # ------------------------------------------------------------ what is known

    def spending_at(self, seq: int) -> Spending:
        """Where the cash went by this step, be it on its way to the store."""
        found = self._spendings.get(seq)
        return tables.spending(self._reader, seq) if found is None else found

    def url_of(self, page: int) -> str:
        """The URL of a page, be it on its way to the store."""
        if met := self.frontier.url_of(page):
            return met
        new = self._urls.get(page)
        return tables.url_of(self._reader, page) if new is None else self._url(new)

    def urls_of(self, pages: Sequence[int]) -> Iterator[str]:
        """The URLs of pages that earlier runs left, in the order of their ids."""
        return tables.urls_of(self._reader, pages)

    def urls_at(self, pages: Sequence[int]) -> Mapping[int, str]:
        """The URLs of any pages."""
        origins, new = self.frontier.origins, self._urls
        rows = tables.paths(self._reader, pages)
        found = {page: origins[host] + path for page, host, path in rows}
        if len(found) < len(pages):
            found |= {page: self._url(new[page]) for page in pages if page in new}
        return found

    def document(self, page: int) -> DocumentRow | None:
        """What a page was when it was last read."""
        found = self._documents.get(page)
        return found or tables.document(self._reader, page)

    def planted(self) -> set[int]:
        """The pages that the user vouches for, of this run and of earlier ones."""
        return set(chain.from_iterable(self.spending_at(seq).links for seq in self._endowed()))

    def seeds(self) -> Iterator[str]:
        """Their URLs, as they were committed."""
        return self.urls_of(sorted(self.planted()))

    def led_to_by_seeds(self) -> Iterator[str]:
        """The URLs that redirects of seeds have led to so far."""
        state, books = self.frontier.state, self.frontier.books
        moved = [page for page in sorted(self.planted()) if state[page] == State.MOVED]
        return self.urls_of([books.stands_for(page) for page in moved])

    def _endowed(self) -> list[int]:
        """The steps that endowed seeds."""
        found = self.counters.get(_ENDOWED)
        return found if isinstance(found, list) else []

    def documents(self) -> Iterator[DocumentRow]:
        """Every page that was read in earlier runs."""
        return tables.all_documents(self._reader)

    def spendings(self) -> Iterator[Spendings]:
        """Where the cash of each page went when it was spent last in earlier runs."""
        saved = columns.whole(columns.frontier(self._reader, "spent"), "spent")
        last = self.frontier.spent.of_all(len(self.frontier), saved)
        for block in questions.spendings(self._reader):
            yield block.only(last[block.pages] == block.seqs)

    def contents(self) -> Iterator[tuple[Numbers, Numbers]]:
        """The pages that were read in earlier runs, and the hashes of their bodies."""
        return columns.contents(self._reader)

    def by_host(self, pages: Numbers) -> Iterator[tuple[int, int]]:
        """The hosts of these pages, and how many of them are theirs."""
        host_of = np.frombuffer(self.frontier.host_of, dtype=np.uint32)
        hosts, counts = np.unique(host_of[pages], return_counts=True)
        return zip(hosts.tolist(), counts.tolist(), strict=True)

    def robots(self, host: int) -> tuple[str, float] | None:
        """The rules that a host gave, as they were kept, and until when they hold."""
        row = tables.host(self._reader, host)
        if row is None or row.robots is None or row.robots_until is None:
            return None
        return row.robots, row.robots_until

    def wait_until(self, host: int) -> float:
        """How long it must be spared, as it told an earlier run; a moment of the past if not."""
        row = tables.host(self._reader, host)
        return row.wait_until or 0.0 if row is not None else 0.0

    # ------------------------------------------------------------ what is safe

    async def keep(self, tell: Listener = nobody_listens) -> None:
        """Commit now and then until `finish` is called; at the end there is a checkpoint.

        A full disk is waited for, but not at the end.
        """
        while not self._finishing:
            with suppress(TimeoutError):
                pause_s = COMMIT_EVERY_S if self.has_room else TRY_AGAIN_S
                await asyncio.wait_for(self._full.wait(), pause_s)
            self._full.clear()
            await self._commit_if_there_is_room(tell)
        await self.commit(checkpoint=True)

    async def _commit_if_there_is_room(self, tell: Listener) -> None:
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
        """Whether more may happen, or the disk must catch up first."""
        few = len(self._open.steps) < MOST_STEPS and len(self._open.urls) < MOST_URLS
        return self.has_room and few

    async def caught_up(self) -> None:
        """Until not many new URLs wait to be written: they are in memory."""
        while self._has_many_urls():
            self._full.set()
            self._taken.clear()
            await self._taken.wait()

    def _has_many_urls(self) -> bool:
        urls = self._open.urls
        return len(urls) >= MANY_URLS or sum(len(row.path) for row in urls) >= MANY_CHARS

    def finish(self) -> None:
        """Nothing more will happen: make it all safe."""
        self._finishing = True
        self._full.set()

    async def commit(self, *, checkpoint: bool = False) -> None:
        """Make all that happened so far safe; a checkpoint spares the next start some work."""
        await self._write()
        due = checkpoint or self.frontier.changes > _changes_allowed(len(self.frontier))
        if not self._open and not due:
            return
        self._closed, self._open = self._open, Batch()
        self._taken.set()
        if checkpoint:
            self.counters[tables.GATHERED] = gathered(self.frontier)
        tally = self.frontier.tally() | {tables.FETCHES: self._fetches}
        self._closed.counters = self.counters | tally
        self._unwritten.append(partial(self._store.commit, self._closed))
        if due:
            rows, forget = self.frontier.checkpoint(), not self.frontier.terms.links
            self._unwritten.append(partial(self._store.checkpoint, rows, forget_links=forget))
        await self._write()

    async def _write(self) -> None:
        """What waits to be written, each of it whole."""
        if not self._unwritten:
            return
        end_snapshot(self._reader)
        loop = asyncio.get_running_loop()
        while self._unwritten:
            await loop.run_in_executor(self._thread, self._unwritten[0])
            self._unwritten.popleft()
        begin_snapshot(self._reader)
        self._forget(self._closed)

    def _forget(self, batch: Batch) -> None:
        """What the store has need not be in memory; a newer document of a page stays."""
        for row in batch.steps:
            self._spendings.pop(row.seq, None)
        for url in batch.urls:
            self._urls.pop(url.id, None)
        for document in batch.documents:
            if self._documents.get(document.page) is document:
                del self._documents[document.page]

    def close(self) -> None:
        """Nothing more is written."""
        self._thread.shutdown()
        self._url_lookup.close()


def _changes_allowed(pages: int) -> int:
    """Rows are strewn over the table: the larger it is, the more of them should share the work."""
    return min(max(CHANGES_A_CHECKPOINT, pages // 8), MOST_CHANGES)
