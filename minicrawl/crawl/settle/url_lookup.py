"""URLs are looked up in the store while the crawl goes on: a slow disk delays one page only.

Law: pages that are asked for during a query are looked up together, by the next query. A thread
that is back from the store waits for Python's lock, for milliseconds if the crawl is busy; it does
so a few times a query, however many pages the query has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from minicrawl.store import tables
from minicrawl.store.reader import connect

Homes = dict[int, tuple[int, str]]
"""Hosts and paths by page."""


class UrlLookup:
    """Looks up pages in the store, on a thread of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="url-lookup")
        self._reader: tables.Connection | None = None
        self._wanted: set[int] = set()
        self._next: asyncio.Task[Homes] | None = None
        self._last: asyncio.Task[Homes] | None = None

    async def homes(self, pages: Iterable[int]) -> Homes:
        """The hosts and paths of the pages, as far as the store has them, and of some others."""
        self._wanted.update(pages)
        if self._next is None:
            self._next = asyncio.create_task(self._ask(self._last))
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
        """Nothing more is looked up."""
        if self._reader is not None:
            self._thread.submit(self._reader.close).result()
        self._thread.shutdown()
