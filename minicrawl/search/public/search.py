"""Search page for everybody: HTML, JSON, an OpenSearch description, and suggestions.

Laws: a request only reads, and needs neither token nor cookie nor script. Beyond `MOST_WAITING`
searches, further ones are refused; `guard` limits what a client may cost. No message to a client
names a file of this machine.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import escape
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from minicrawl.dashboard.http_server import LOOPBACK, LimitedServer, listening
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.search.indexing.index_folder import Completeness, has_index, lack_of
from minicrawl.search.page_look import page_look
from minicrawl.search.public.guard import CPU_S, DUE, PublicGuard, RateLimit, Turns, refused
from minicrawl.search.public.html import (
    FEED,
    LONGEST_PUBLIC_QUERY,
    OPENSEARCH,
    PublicQuery,
    about_html,
    feed_items,
    html_page,
    notice,
    results_html,
)
from minicrawl.search.searching import Answered, Finder
from minicrawl.store.reader import search_folder
from minicrawl.wording import iso, visible

T = TypeVar("T")


MOST_WAITING = 32
_SUGGESTED = 8
_MOST_NEW = 50
_LONGEST_SHORT_NAME = 16


class PublicSearch:
    """HTTP endpoints of the public search page."""

    def __init__(
        self,
        store: Path,
        base: str = "",
        say: Callable[[str], None] = lambda _: None,
        look: Mapping[str, str | Sequence[str]] = {},
    ) -> None:
        self._store, self._base, self._say = store, base, say
        self._folder = search_folder(store)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._turns = Turns()
        self._finder, self._fault = Finder(self._folder), ""
        name = urlsplit(base).hostname if base else None
        self._look = page_look(self._folder, look, name or self._finder.only_host)
        self._style = self._look.style()

    def app(self, limit: RateLimit) -> ASGIApp:
        routes = [
            Route("/", self._html),
            Route("/search.json", self._json),
            Route("/suggest", self._suggest),
            Route("/opensearch.xml", self._description),
            Route("/feed.xml", self._feed),
            Route("/style.css", self._css),
        ]

        async def busy(_request: Request, _error: Exception) -> Response:
            return refused("too many searches at once: ask again in a moment", 503, 0)

        app = Starlette(routes=routes, exception_handlers={_BusyError: busy})
        return PublicGuard(app, self._base, limit)

    async def _html(self, request: Request) -> Response:
        query = PublicQuery(request.query_params)
        if not query.text:
            pages, lack = await self._answer(
                request, lambda finder: (len(finder), lack_of(self._store))
            )
            return self._page(query, about_html(pages, self._look.text), lack)
        try:
            answer, lack = await self._answer(request, self._with_lack(query))
        except UsageError as error:
            return self._page(query, notice(str(error)), None, 422)
        return self._page(query, "".join(results_html(query, answer)), lack)

    def _page(
        self, query: PublicQuery, content: str, lack: Completeness | None, status: int = 200
    ) -> Response:
        warning = notice(f"{lack}; the rest follows") if lack else ""
        page = html_page(self._look, query, warning + content)
        return Response(page, status, media_type="text/html")

    async def _feed(self, request: Request) -> Response:
        query = PublicQuery(request.query_params)
        try:
            results = await self._answer(
                request, lambda finder: finder.newest(query.text, _MOST_NEW)
            )
        except UsageError as error:
            return JSONResponse({"error": str(error)}, 422)
        title, link = f"{query.text} - {self._look.title}", self._own(request)
        xml = FEED.format(
            title=escape(visible(title)),
            link=f"{escape(link)}{query.link(query.text).removeprefix('./')}",
            items="\n".join(feed_items(results)),
        )
        return Response(xml, media_type="application/rss+xml")

    async def _css(self, _request: Request) -> Response:
        return Response(self._style, media_type="text/css")

    def _own(self, request: Request) -> str:
        return self._base or str(request.base_url)

    def _with_lack(
        self, query: PublicQuery
    ) -> Callable[[Finder], tuple[Answered, Completeness | None]]:
        return lambda finder: (query.answer(finder), lack_of(self._store))

    async def _json(self, request: Request) -> Response:
        query, began = PublicQuery(request.query_params), time.perf_counter()
        allowed = {"Access-Control-Allow-Origin": "*"}
        try:
            answer, lack = await self._answer(request, self._with_lack(query))
        except UsageError as error:
            return JSONResponse({"error": str(error)}, 422, allowed)
        took = {
            "took_ms": round(1000 * (time.perf_counter() - began), 1),
            "indexed_at": iso(self._finder.at),
            "indexed": lack and lack._asdict(),
        }
        return JSONResponse(query.document(answer) | took, 200, allowed)

    async def _suggest(self, request: Request) -> Response:
        text = request.query_params.get("q", "")[:LONGEST_PUBLIC_QUERY]
        texts = await self._answer(request, lambda finder: finder.completions(text, _SUGGESTED))
        return Response(json.dumps([text, texts]), media_type="application/x-suggestions+json")

    async def _description(self, request: Request) -> Response:
        xml = OPENSEARCH.format(
            short=escape(self._look.logo[:_LONGEST_SHORT_NAME]),
            text=escape(self._look.text or self._look.title),
            base=escape(self._own(request)),
        )
        return Response(xml, media_type="application/opensearchdescription+xml")

    async def _answer(self, request: Request, make: Callable[[Finder], T]) -> T:
        """Return the result of `make` on the latest index; one thread makes one after the other."""
        if len(self._turns) >= MOST_WAITING:
            raise _BusyError
        async with self._turns.turn(request.scope[DUE]):
            loop = asyncio.get_running_loop()
            run = partial(self._timed, request.scope, make)
            return await loop.run_in_executor(self._thread, run)

    def _timed(self, scope: Scope, make: Callable[[Finder], T]) -> T:
        began = time.thread_time()
        try:
            # A rebuild first deletes the index: until it is done, the old index answers from its
            # open files.
            if self._finder.is_old(self._folder) and has_index(self._folder):
                try:
                    self._finder, self._fault = Finder(self._folder), ""
                except MinicrawlError as error:  # such as a mistake in the file of synonyms
                    if str(error) != self._fault:
                        self._fault = str(error)
                        self._say(f"{error}; searches go on as before")
            return make(self._finder)
        finally:
            scope[CPU_S] = time.thread_time() - began


class _BusyError(Exception):
    """Too many searches wait."""


def serve_publicly(
    store: Path,
    place: tuple[str | None, int | None],
    base: str,
    look: Mapping[str, str | Sequence[str]],
    say: Callable[[str], None],
) -> None:
    """Serve the page at a host and port, until the process is told to end."""
    host, port = place[0] or LOOPBACK, place[1]
    if base:
        parts = urlsplit(base)
        is_whole = parts.scheme in ("http", "https") and parts.hostname
        if not is_whole or parts.query or parts.fragment:
            problem = "must be a URL such as https://example.org/search/"
            raise UsageError(f"--base-url {base}: {problem}")
        base = f"{base.removesuffix('/')}/"
    with listening(host, port) as listener:
        name = f"[{host}]" if ":" in host else host
        own = f"http://{name}:{int(listener.getsockname()[1])}/"
        app = PublicSearch(store, base, say, look).app(RateLimit())
        server = LimitedServer(app)
        say(f"{base or own}  (listening at {own})" if base else own)
        server.run_at(listener)
