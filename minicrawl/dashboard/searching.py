"""The search of a store in the browser.

Laws: nobody can change anything here, so there is no token; all else of `guard` holds. A query that
cannot be answered is told in one line. Queries are answered one at a time, in a thread of their
own, by the index as it was last committed.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from minicrawl.dashboard.guard import Access, Guard
from minicrawl.dashboard.serving import LOOPBACK, listening, plain_config
from minicrawl.errors import MinicrawlError
from minicrawl.report.search.searching import Finder, SearchRequest
from minicrawl.search.query import parse

AT_ONCE = 10
MOST_SHOWN = 1_000
LONGEST_QUERY = 10_000
_HERE = Path(__file__).parent
_FILES = {name: _HERE / "page" / name for name in ("dom.js", "style.css", "icon.svg")} | {
    path.name: path for path in (_HERE / "search_page").iterdir()
}
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"} | {
    ".svg": "image/svg+xml"
}


class SearchPage:
    """The routes of the page."""

    def __init__(self, store: Path, folder: Path, access: Access) -> None:
        self._store, self._folder, self._access = store, folder, access
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._finder = Finder(folder)

    def app(self) -> Guard:
        """The application, guarded."""
        routes = [
            Route("/", _index),
            Route("/page/{name}", _file),
            Route("/api/about", self._about),
            Route("/api/search", self._search),
        ]
        return Guard(Starlette(routes=routes), self._access)

    async def _about(self, _request: Request) -> Response:
        return JSONResponse({"store": self._store.name, "pages": len(self._finder)})

    async def _search(self, request: Request) -> Response:
        asked = request.query_params
        offset = asked.get("offset", "")
        wanted = SearchRequest(
            count=AT_ONCE,
            offset=min(int(offset), MOST_SHOWN) if offset.isdecimal() else 0,
            folds=not asked.get("all"),
        )
        answer = partial(self._found, asked.get("q", "")[:LONGEST_QUERY], wanted)
        return await asyncio.get_running_loop().run_in_executor(self._thread, answer)

    def _found(self, text: str, wanted: SearchRequest) -> Response:
        began = time.perf_counter()
        try:
            if self._finder.is_old(self._folder):
                self._finder = Finder(self._folder)
            found = self._finder.find(parse(text), wanted)
        except MinicrawlError as error:
            return JSONResponse({"error": str(error)}, status_code=422)
        results = [one.as_json(rank) for rank, one in enumerate(found, wanted.offset + 1)]
        return JSONResponse(
            {"results": results, "ms": round(1000 * (time.perf_counter() - began), 1)}
        )


def serve_search(store: Path, folder: Path, port: int | None, say: Callable[[str], None]) -> None:
    """Serve the page until the process is told to end."""
    with listening(LOOPBACK, port) as listener:
        chosen = int(listener.getsockname()[1])
        access = Access(port=chosen, names=frozenset((LOOPBACK,)), token=os.urandom(16).hex())
        server = uvicorn.Server(plain_config(SearchPage(store, folder, access).app()))
        say(f"http://{LOOPBACK}:{chosen}/")
        asyncio.run(server.serve(sockets=[listener]))


async def _index(_request: Request) -> Response:
    return _sent("index.html")


async def _file(request: Request) -> Response:
    return _sent(request.path_params["name"])


def _sent(name: str) -> Response:
    path = _FILES.get(name)
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, media_type=_TYPES.get(path.suffix))
