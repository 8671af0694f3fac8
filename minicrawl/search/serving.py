"""The search in a browser: for its owner, and as a dashboard panel.

Laws: a query that cannot be answered gets a one-line error. Queries run one at a time, in a
separate thread, on the last committed index. Only the importance array beside the index is ever
written. The page is protected like the dashboard, with a new token each time.
"""

import asyncio
import json
import secrets
import shlex
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from minicrawl.dashboard import routes
from minicrawl.dashboard.access import DashboardAccess, Guard
from minicrawl.dashboard.http_server import LOOPBACK, LimitedServer, listening
from minicrawl.dashboard.routes import names_header, page_routes
from minicrawl.errors import MinicrawlError, StoreError
from minicrawl.search.importance_file import renew_importance
from minicrawl.search.index import check_installed
from minicrawl.search.indexing.index_folder import has_index, lack_of, why_useless
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.store.reader import reading, search_folder

AT_ONCE = 10
MOST_SHOWN = 1_000
LONGEST_QUERY = 10_000
_DIGITS = 9
"""Maximum digits of a number; more would exceed every limit anyway."""


class SearchAnswers:
    """HTTP endpoints of the search, for its own page and for the dashboard."""

    def __init__(self, store: Path) -> None:
        self._store, self._folder = store, search_folder(store)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._finder: Finder | None = None

    def routes(self, path: str) -> list[Route]:
        return [Route(f"{path}/about", self._about), Route(f"{path}/search", self._search)]

    async def _about(self, _request: Request) -> Response:
        return await self._answer(
            lambda finder: {"store": self._store.name, "pages": len(finder)} | _lack(self._store)
        )

    async def _search(self, request: Request) -> Response:
        given = request.query_params
        offset = given.get("offset", "")
        search_request = SearchRequest(
            count=AT_ONCE,
            offset=min(int(offset[:_DIGITS]), MOST_SHOWN) if offset.isdecimal() else 0,
            folds=not given.get("all"),
        )
        text = given.get("q", "")[:LONGEST_QUERY]
        return await self._answer(
            lambda finder: answer_document(text, search_request, finder) | _lack(self._store)
        )

    async def _answer(self, make: Callable[[Finder], object]) -> Response:
        """Return the result of `make` on the current index, or a one-line error."""

        def answer() -> Response:
            try:
                document = json.dumps(make(self._latest()))
                headers = names_header(document)
                return Response(document, media_type="application/json", headers=headers)
            except MinicrawlError as error:
                return JSONResponse({"error": str(error)}, status_code=422)

        return await asyncio.get_running_loop().run_in_executor(self._thread, answer)

    def _latest(self) -> Finder:
        if self._finder is None or self._finder.is_old(self._folder):
            self._finder = None
            check_installed()
            remedy = f"run `minicrawl index --store {shlex.quote(self._store.name)}`"
            if not has_index(self._folder):
                raise StoreError(f"there is no search index yet: {remedy}")
            if self._store.is_file():
                with reading(self._store) as connection:
                    if why := why_useless(self._folder, connection):
                        raise StoreError(f"the search index: {why}; {remedy}")
                renew_importance(self._folder, self._store)
            self._finder = Finder(self._folder)
        return self._finder


def _lack(store: Path) -> dict[str, object]:
    """Return how far the index is, as a JSON document; null if it is complete."""
    lack = lack_of(store)
    return {"indexed": lack and lack._asdict()}


def answer_document(text: str, request: SearchRequest, finder: Finder) -> dict[str, object]:
    began = time.perf_counter()
    answer = finder.answer(text, request)
    results = [
        result.document(rank) for rank, result in enumerate(answer.results, request.offset + 1)
    ]
    ms = round(1000 * (time.perf_counter() - began), 1)
    corrected = {"instead": answer.instead, "suggestion": answer.suggestion}
    return {"results": results, "ms": ms, "at": finder.at, **corrected}


PAGE_FOLDER = Path(__file__).parent / "page"
_DASHBOARD = Path(routes.__file__).parent / "page"
_SHARED = ("dom.js", "server.js", "search.js", "search.css", "style.css", "icon.svg")
_FILES = {name: _DASHBOARD / name for name in _SHARED} | {
    path.name: path for path in PAGE_FOLDER.iterdir()
}


def panel(store: Path) -> list[Route]:
    return SearchAnswers(store).routes("/api/texts")


def serve_search(store: Path, port: int | None, say: Callable[[str], None]) -> None:
    """Serve the page until the process is told to end."""
    with listening(LOOPBACK, port) as listener:
        chosen = int(listener.getsockname()[1])
        token = secrets.token_urlsafe(24)
        access = DashboardAccess(port=chosen, names=frozenset((LOOPBACK,)), token=token)
        shown = [*page_routes(_FILES), *SearchAnswers(store).routes("/api")]
        server = LimitedServer(Guard(Starlette(routes=shown), access))
        say(f"http://{LOOPBACK}:{chosen}/#{token}")
        server.run_at(listener)
