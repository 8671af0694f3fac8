"""Reads pages and hosts, committed or not.

Law: a row reads the same before and after its commit. The store is read through a connection that
sees the last commit; rows that are not in it yet are found in memory.

`UrlLookup` looks URLs up while the crawl continues, so that a slow disk delays one page only.
Pages wanted during a query are looked up together by the next query: a thread that returns from
SQLite waits for Python's global lock, for milliseconds if the crawl is busy, and does so a few
times per query, however many pages the query has.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from minicrawl.crawl.record.commits import Counters, UncommittedRows
from minicrawl.crawl.settle.outcome import tries_so_far
from minicrawl.frontier.page_table import Frontier
from minicrawl.frontier.url_index import UrlsOf
from minicrawl.model import OwnRequest, PageId
from minicrawl.opic.ledger.books import Spending
from minicrawl.states import State
from minicrawl.store import page_columns, request_log, step_log, tables
from minicrawl.store.page_columns import Numbers
from minicrawl.store.reader import connect
from minicrawl.store.records import DocumentRow
from minicrawl.store.step_log import Spendings

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
        urls, self._wanted = sorted(self._wanted), set()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._look_up, urls)

    def _look_up(self, pages: Sequence[int]) -> Homes:
        if self._reader is None:
            self._reader = connect(self._path)
        return {page: (host, path) for page, host, path in tables.paths(self._reader, pages)}

    def close(self) -> None:
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
        self.urls_of = partial(tables.urls_of, reader)
        """Yields the URLs of committed pages, in the order of their ids."""
        self.documents = partial(tables.all_documents, reader)
        self.contents = partial(page_columns.contents, reader)
        """Yields the pages with a committed document, and the hashes of their contents."""
        self.refused_types = partial(request_log.last_values, reader, "detail")
        """Returns the media types that pages were refused for; None for a page never requested."""
        self.requested = partial(request_log.requested, reader)
        """Returns the pages that were ever requested; the hosts of the others were down."""
        self.sendings_to = partial(step_log.sendings_to, reader)
        """Returns the batches sent to a shard after one, by committed steps up to one."""

    def url_of(self, page: PageId) -> str:
        row = self._rows.urls.get(page)
        if row is not None:
            return self.frontier.urls.origins[row.host] + row.path
        return self.frontier.urls.url_of(page) or tables.url_of(self._reader, page)

    def urls_at(self, pages: Sequence[int]) -> Mapping[int, str]:
        origins, new = self.frontier.urls.origins, self._rows.urls
        rows = tables.paths(self._reader, pages)
        urls = {page: origins[host] + path for page, host, path in rows}
        if len(urls) < len(pages):
            urls |= {page: self.url_of(page) for page in pages if page in new}
        return urls

    def document(self, page: PageId) -> DocumentRow | None:
        document = self._rows.documents.get(page)
        return document or tables.document(self._reader, page)

    def own_request(self, page: PageId) -> OwnRequest | None:
        """Return the request that a program wants for this page; None for a plain GET."""
        # Most crawls have no such requests, and are spared a query per page.
        if not (self._stored_own_requests or self._rows.had_own_requests):
            return None
        return self._rows.own_requests.get(page) or tables.own_request(self._reader, page)

    def tries(self, page: PageId, max_tries: int | None) -> int:
        """Return the tries of the turn that an earlier run left open, if any."""
        if page >= self._loaded:
            return 0
        moved = self.frontier.state[page] == State.UNREAD
        return tries_so_far(request_log.unread_outcomes(self._reader, page, moved=moved), max_tries)

    def failing(self, pages: Sequence[int]) -> list[tuple[float | None, float | None]]:
        """Return the times of each page's first and last failure since it was last read."""
        first = request_log.failing_since(self._reader, pages)
        return list(zip(first, request_log.last_values(self._reader, "at", pages), strict=True))

    def spending_at(self, seq: int) -> Spending:
        spending = self._rows.spendings.get(seq)
        return step_log.spending(self._reader, seq) if spending is None else spending

    def spendings(self) -> Iterator[Spendings]:
        """Yield the last spending of each page, if it is committed."""
        saved = page_columns.whole(self._reader, "frontier", "spent")
        last = self.frontier.spendings.of_all(len(self.frontier), saved)
        for block in step_log.spendings(self._reader):
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
        host_of = np.frombuffer(self._frontier.urls.host_of, dtype=np.uint32)
        hosts, counts = np.unique(host_of[pages], return_counts=True)
        return zip(hosts.tolist(), counts.tolist(), strict=True)


class SeedPages:
    """Seeds of this run and of earlier ones: the pages that were endowed."""

    def __init__(self, pages: StoredPages, counters: Counters) -> None:
        """Set up; one of the counters is the list of steps that endowed seeds."""
        self._pages, self._counters = pages, counters

    def ids(self) -> set[int]:
        steps = map(self._pages.spending_at, tables.endowed(self._counters))
        return set(chain.from_iterable(spending.links for spending in steps))

    def urls(self) -> Iterator[str]:
        return self._pages.urls_of(sorted(self.ids()))

    def redirect_targets(self) -> Iterator[str]:
        frontier = self._pages.frontier
        moved = [page for page in sorted(self.ids()) if frontier.state[page] == State.MOVED]
        return self._pages.urls_of([frontier.books.stands_for(page) for page in moved])

    def endowed_by(self, seq: int) -> None:
        self._counters[tables.ENDOWED] = [*tables.endowed(self._counters), seq]
