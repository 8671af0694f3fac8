"""What a search in the browser answers: the same on its own page and in the dashboard.

Laws: a query that cannot be answered is told in one line. Queries are answered one at a time, in a
thread of their own, by the index as it was last committed. Nothing but the array of importance
beside the index is ever written.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from minicrawl.errors import MinicrawlError, StoreError
from minicrawl.report.search.index_folder import has_index, why_useless
from minicrawl.report.search.searching import (
    Finder,
    SearchRequest,
    join_importance,
)
from minicrawl.search.index import check_installed
from minicrawl.search.query import parse
from minicrawl.store.reader import reading, search_folder
from minicrawl.web.idn import readable_hosts

AT_ONCE = 10
MOST_SHOWN = 1_000
LONGEST_QUERY = 10_000
NAMES = "x-readable-hosts"
_DIGITS = 9
"""Of a number; one with more is larger than any that counts."""


class SearchAnswers:
    """What the search answers, on its own page and in the dashboard."""

    def __init__(self, store: Path) -> None:
        self._store, self._folder = store, search_folder(store)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._finder: Finder | None = None

    def routes(self, path: str) -> list[Route]:
        """The routes below this path."""
        return [Route(f"{path}/about", self._about), Route(f"{path}/search", self._search)]

    async def _about(self, _request: Request) -> Response:
        return await self._answer(lambda finder: {"store": self._store.name, "pages": len(finder)})

    async def _search(self, request: Request) -> Response:
        asked = request.query_params
        offset = asked.get("offset", "")
        wanted = SearchRequest(
            count=AT_ONCE,
            offset=min(int(offset[:_DIGITS]), MOST_SHOWN) if offset.isdecimal() else 0,
            folds=not asked.get("all"),
        )
        return await self._answer(partial(_found, asked.get("q", "")[:LONGEST_QUERY], wanted))

    async def _answer(self, make: Callable[[Finder], object]) -> Response:
        """What is made of the index as it is now, or one line that says why nothing is."""

        def answer() -> Response:
            try:
                found = json.dumps(make(self._latest()))
                headers = names_header(found)
                return Response(found, media_type="application/json", headers=headers)
            except MinicrawlError as error:
                return JSONResponse({"error": str(error)}, status_code=422)

        return await asyncio.get_running_loop().run_in_executor(self._thread, answer)

    def _latest(self) -> Finder:
        if self._finder is None or self._finder.is_old(self._folder):
            self._finder = None
            self._finder = self._opened()
        return self._finder

    def _opened(self) -> Finder:
        """The index, with the latest importance; a store that is gone has none."""
        check_installed()
        if not has_index(self._folder):
            raise StoreError("there is no search index yet: run `minicrawl index`")
        if self._store.is_file():
            with reading(self._store) as connection:
                if why := why_useless(self._folder, connection):
                    raise StoreError(f"the search index: {why}; run `minicrawl index`")
            join_importance(self._folder, self._store)
        return Finder(self._folder)


def names_header(text: str) -> dict[str, str]:
    """What readers call the hosts in an answer, as a header."""
    names = readable_hosts(text)
    return {NAMES: json.dumps(names)} if names else {}


def _found(text: str, wanted: SearchRequest, finder: Finder) -> object:
    began = time.perf_counter()
    found = finder.find(parse(text), wanted)
    results = [one.as_json(rank) for rank, one in enumerate(found, wanted.offset + 1)]
    ms = round(1000 * (time.perf_counter() - began), 1)
    return {"results": results, "ms": ms, "at": finder.at}
