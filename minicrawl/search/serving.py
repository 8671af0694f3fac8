"""The search in a browser: for its owner, as a dashboard panel, and for everybody.

Laws of the owner's page: a query that cannot be answered gets a one-line error. Queries run one at
a time, in a separate thread, on the last committed index. Only the importance array beside the
index is ever written. The page is protected like the dashboard, with a new token each time.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import escape
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlencode, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minicrawl.dashboard import serving
from minicrawl.dashboard.serving import (
    LOOPBACK,
    DashboardAccess,
    Guard,
    listening,
    names_header,
    page_routes,
    plain_config,
)
from minicrawl.errors import MinicrawlError, StoreError, UsageError
from minicrawl.search.index import check_installed
from minicrawl.search.indexing import has_index, why_useless
from minicrawl.search.searching import Answered, Finder, Result, SearchRequest, join_importance
from minicrawl.store.reader import reading, search_folder
from minicrawl.wording import counted, iso, visible

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
        """Return the routes below this path."""
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
        """Return the result of `make` on the current index, or a one-line error."""

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
        """Open the index, and update its importance if the store still exists."""
        check_installed()
        if not has_index(self._folder):
            raise StoreError("there is no search index yet: run `minicrawl index`")
        if self._store.is_file():
            with reading(self._store) as connection:
                if why := why_useless(self._folder, connection):
                    raise StoreError(f"the search index: {why}; run `minicrawl index`")
            join_importance(self._folder, self._store)
        return Finder(self._folder)


def _found(text: str, wanted: SearchRequest, finder: Finder) -> object:
    began = time.perf_counter()
    found = finder.answer(text, wanted)
    results = [one.as_json(rank) for rank, one in enumerate(found.results, wanted.offset + 1)]
    ms = round(1000 * (time.perf_counter() - began), 1)
    corrected = {"instead": found.instead, "suggestion": found.suggestion}
    return {"results": results, "ms": ms, "at": finder.at, **corrected}


_PAGE = Path(__file__).parent / "page"
_DASHBOARD = Path(serving.__file__).parent / "page"
_SHARED = ("dom.js", "server.js", "search.js", "search.css", "style.css", "icon.svg")
_FILES = {name: _DASHBOARD / name for name in _SHARED} | {
    path.name: path for path in _PAGE.iterdir()
}


def panel(store: Path) -> list[Route]:
    """Return the routes of the dashboard panel."""
    return SearchAnswers(store).routes("/api/texts")


def search_page(store: Path, access: DashboardAccess) -> Guard:
    """Return the guarded application of the search page."""
    shown = [*page_routes(_FILES), *SearchAnswers(store).routes("/api")]
    return Guard(Starlette(routes=shown), access)


def serve_search(store: Path, port: int | None, say: Callable[[str], None]) -> None:
    """Serve the page until the process is told to end."""
    with listening(LOOPBACK, port) as listener:
        chosen = int(listener.getsockname()[1])
        token = secrets.token_urlsafe(24)
        access = DashboardAccess(port=chosen, names=frozenset((LOOPBACK,)), token=token)
        server = uvicorn.Server(plain_config(search_page(store, access)))
        say(f"http://{LOOPBACK}:{chosen}/#{token}")
        asyncio.run(server.serve(sockets=[listener]))


# ================================================================ for everybody
#
# Search page for everybody: HTML, JSON, an OpenSearch description, and suggestions.
#
# Laws: a request only reads, and needs neither token nor cookie nor script. No text of a page
# becomes markup. A client gets `RATE_S` answers a second, and `BURST` at once; the searches of all
# clients run one after the other, and beyond `MOST_WAITING` they are refused. So no client can stop
# the others or fill the memory. No message to a client names a file of this machine.
#
# Behind a proxy, the client is the last entry of X-Forwarded-For, but only if the connection comes
# from a private address and the page has a base URL.

T = TypeVar("T")

RATE_S, BURST = 2.0, 20
_MOST_CLIENTS = 10_000
"""Clients whose requests are counted; the client with the oldest request is forgotten first."""
MOST_WAITING = 32
_PER_PAGE, _MOST_PER_PAGE, _DEEPEST = 10, 50, 1_000
_LONGEST_PUBLIC_QUERY = 500
_SUGGESTED = 8
_VALUES_SHOWN = 8
_LONGEST_SHORT_NAME = 16
_PREFIX_OF_CLIENT = 64
"""Bits of an IPv6 address that identify a client, which usually has a whole network."""
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


# ---------------------------------------------------------------- guard


class RateLimit:
    """Limit of requests, by client."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._clients = OrderedDict[str, tuple[float, float]]()  # requests left, as of when

    def wait_s(self, client: str) -> float:
        """Count a request, and return how long the client should wait; 0 if it may ask now."""
        now = self._clock()
        left, at = self._clients.pop(client, (float(BURST), now))
        left = min(float(BURST), left + (now - at) * RATE_S)
        is_allowed = left >= 1
        self._clients[client] = left - is_allowed, now
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        return 0.0 if is_allowed else (1 - left) / RATE_S


def client_of(peer: str, forwarded: str, *, has_proxy: bool) -> str:
    """Return the client: the peer, or the address that a proxy at a private address forwards."""
    try:
        address = ip_address(peer)
        if has_proxy and forwarded and address.is_private:
            address = ip_address(forwarded.rpartition(",")[2].strip())
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address), _PREFIX_OF_CLIENT), strict=False))
    return str(address)


class PublicGuard:
    """ASGI middleware that limits requests, adds headers, and takes the base path off the URL."""

    def __init__(self, app: ASGIApp, base: str, limit: RateLimit) -> None:
        self._app, self._base, self._limit = app, unquote(urlsplit(base).path).rstrip("/"), limit
        self._has_proxy = bool(base)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._chosen(scope)(scope, receive, send_guarded)

    def _chosen(self, scope: Scope) -> ASGIApp:
        peer, headers = scope.get("client"), Headers(scope=scope)
        forwarded = headers.get("x-forwarded-for", "")
        client = client_of(peer[0] if peer else "", forwarded, has_proxy=self._has_proxy)
        if wait_s := self._limit.wait_s(client):
            return _refused("too many requests: ask again later", 429, wait_s)
        path: str = scope["path"]
        if self._base and path == self._base:
            query = scope["query_string"].decode("ascii", "replace")
            return RedirectResponse(f"{self._base}/" + (f"?{query}" if query else ""), 308)
        if self._base and path.startswith(f"{self._base}/"):  # the proxy has not taken it off
            scope["path"] = path.removeprefix(self._base)
        return self._app


def _refused(why: str, status: int, wait_s: float) -> Response:
    return JSONResponse({"error": why}, status, {"Retry-After": str(int(wait_s) + 1)})


# ---------------------------------------------------------------- answers


class PublicSearch:
    """HTTP endpoints of the public search page."""

    def __init__(
        self, store: Path, base: str = "", say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._folder, self._base, self._say = search_folder(store), base, say
        self._name = (urlsplit(base).hostname if base else None) or store.stem
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._waiting = 0
        self._finder, self._fault = Finder(self._folder), ""

    def app(self, limit: RateLimit) -> ASGIApp:
        """Return the application."""
        routes = [
            Route("/", self._html),
            Route("/search.json", self._json),
            Route("/suggest", self._suggest),
            Route("/opensearch.xml", self._description),
            Route("/style.css", _style),
        ]
        handlers = {_BusyError: _busy}
        app = Starlette(routes=routes, exception_handlers=handlers)
        return PublicGuard(app, self._base, limit)

    async def _html(self, request: Request) -> Response:
        asked = _Asked(request.query_params)
        if not asked.text:
            pages = await self._answer(len)
            return _html(_page(self._name, asked, _about(pages)), 200)
        try:
            found = await self._answer(asked.answer)
        except UsageError as error:
            return _html(_page(self._name, asked, _told(str(error))), 422)
        return _html(_page(self._name, asked, "".join(_shown(asked, found))), 200)

    async def _json(self, request: Request) -> Response:
        asked, began = _Asked(request.query_params), time.perf_counter()
        allowed = {"Access-Control-Allow-Origin": "*"}
        try:
            found = await self._answer(asked.answer)
        except UsageError as error:
            return JSONResponse({"error": str(error)}, 422, allowed)
        took = {
            "took_ms": round(1000 * (time.perf_counter() - began), 1),
            "indexed_at": iso(self._finder.at),
        }
        return JSONResponse(asked.as_json(found) | took, 200, allowed)

    async def _suggest(self, request: Request) -> Response:
        text = request.query_params.get("q", "")[:_LONGEST_PUBLIC_QUERY]
        found = await self._answer(lambda finder: finder.completions(text, _SUGGESTED))
        return Response(json.dumps([text, found]), media_type="application/x-suggestions+json")

    async def _description(self, request: Request) -> Response:
        base = self._base or str(request.base_url)
        xml = _OPENSEARCH.format(
            short=escape(self._name[:_LONGEST_SHORT_NAME]), name=escape(self._name),
            base=escape(base),
        )  # fmt: skip
        return Response(xml, media_type="application/opensearchdescription+xml")

    async def _answer(self, make: Callable[[Finder], T]) -> T:
        """Return the result of `make` on the latest index; one thread makes one after the other."""
        if self._waiting >= MOST_WAITING:
            raise _BusyError
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, partial(self._run, make))
        finally:
            self._waiting -= 1

    def _run(self, make: Callable[[Finder], T]) -> T:
        # A rebuild first deletes the index: until it is done, the old index answers from its open
        # files.
        if self._finder.is_old(self._folder) and has_index(self._folder):
            try:
                self._finder, self._fault = Finder(self._folder), ""
            except MinicrawlError as error:  # such as a mistake in the file of synonyms
                if str(error) != self._fault:
                    self._fault = str(error)
                    self._say(f"{error}; searches go on as before")
        return make(self._finder)


class _BusyError(Exception):
    """Too many searches wait."""


async def _busy(_request: Request, _error: Exception) -> Response:
    return _refused("too many searches at once: ask again in a moment", 503, 0)


class _Asked:
    """Query of a request, and which page of its results."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.text = given.get("q", "")[:_LONGEST_PUBLIC_QUERY].strip()
        self.each = _number(given.get("n", ""), _PER_PAGE, _MOST_PER_PAGE)
        self.page = _number(given.get("page", ""), 1, _DEEPEST // self.each)

    def answer(self, finder: Finder) -> Answered:
        """Return the results, and how many there are."""
        offset = (self.page - 1) * self.each
        return finder.answer(self.text, SearchRequest(count=self.each, offset=offset, counts=True))

    def pages(self, found: Answered) -> int:
        """Return the number of pages of results that can be asked for."""
        total = found.counts.pages if found.counts else 0
        return min(-(-total // self.each), _DEEPEST // self.each)

    def as_json(self, found: Answered) -> dict[str, object]:
        """Return the answer as a JSON document, see docs/how-to/publish-a-search.md."""
        first = (self.page - 1) * self.each + 1
        results = [one.as_json(rank) for rank, one in enumerate(found.results, first)]
        for one in results:
            del one["score"]
        counts = found.counts
        facets = {
            name: [{"value": value, "pages": pages} for value, pages in values]
            for name, values in (counts.facets if counts else {}).items()
        }
        return {
            "query": self.text,
            "answered_instead": found.instead or None,
            "did_you_mean": found.suggestion or None,
            "total": counts.pages if counts else 0,
            "page": self.page,
            "pages": self.pages(found),
            "per_page": self.each,
            "facets": facets,
            "results": results,
        }

    def link(self, text: str, page: int = 1) -> str:
        """Return a link to another query or page of results."""
        asked = {"q": text} | ({"page": page} if page > 1 else {})
        asked |= {"n": self.each} if self.each != _PER_PAGE else {}
        return escape(f"./?{urlencode(asked)}")


def _number(text: str, usual: int, most: int) -> int:
    return max(1, min(int(text[:9]), most)) if text.isascii() and text.isdecimal() else usual


# ---------------------------------------------------------------- page
#
# The HTML. Links are relative, so that a proxy may serve the page below any path.

_OPENSEARCH = """<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>{short}</ShortName>
<Description>Search {name}</Description>
<InputEncoding>UTF-8</InputEncoding>
<Url type="text/html" template="{base}?q={{searchTerms}}&amp;page={{startPage?}}"/>
<Url type="application/json"
 template="{base}search.json?q={{searchTerms}}&amp;page={{startPage?}}"/>
<Url type="application/x-suggestions+json" template="{base}suggest?q={{searchTerms}}"/>
</OpenSearchDescription>
"""
_TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="style.css">
<link rel="search" type="application/opensearchdescription+xml" href="opensearch.xml"
 title="{name}">
</head>
<body>
<a class="skip" href="#main">Skip to the results</a>
<header><h1><a href="./">Search {name}</a></h1>
<form role="search" action="./" method="get">
<label for="q">Words to find</label>
<div class="row"><input id="q" name="q" type="search" value="{text}" maxlength="{longest}"
 autocomplete="off" spellcheck="false"><button>Search</button></div>
</form></header>
<main id="main" tabindex="-1">
{content}
</main>
</body>
</html>
"""
_FACET_NAMES = {"host": "Site", "type": "Type", "language": "Language", "year": "Year"}
_FILTERS = {"host": "site", "type": "type", "language": "lang", "year": "year"}


def _page(name: str, asked: _Asked, content: str) -> str:
    title = f"{asked.text} - Search {name}" if asked.text else f"Search {name}"
    return _TEMPLATE.format(
        title=_safe(title),
        name=_safe(name),
        text=escape(asked.text),
        longest=_LONGEST_PUBLIC_QUERY,
        content=content,
    )


def _safe(text: str) -> str:
    """Return text of a page or a user as HTML, with control and bidirectional marks escaped."""
    return escape(visible(text))


def _about(pages: int) -> str:
    return _told(
        f"{counted(pages, 'page')}. Some results may lack a few words. Quotes find an exact "
        "phrase, and a minus leaves out a word."
    )


def _told(text: str) -> str:
    return f'<p role="status">{_safe(text)}</p>'


def _shown(asked: _Asked, found: Answered) -> Iterator[str]:
    total = found.counts.pages if found.counts else 0
    yield _told(f"{counted(total, 'page')} found" if found.results else "No page has these words.")
    if found.instead:
        yield f"<p>No page has the words as typed. Shown is <b>{_safe(found.instead)}</b>.</p>"
    if found.suggestion:
        link = asked.link(found.suggestion)
        yield f'<p>Did you mean <a href="{link}">{_safe(found.suggestion)}</a>?</p>'
    yield '<div class="columns">'
    first = (asked.page - 1) * asked.each + 1
    yield f'<ol id="results" start="{first}" aria-label="Results">'
    yield from map(_result, found.results)
    yield "</ol>"
    yield from _facets(asked, found)
    yield "</div>"
    yield from _other_pages(asked, found)


def _result(one: Result) -> str:
    entry = one.entry
    title = _safe(entry.title or entry.url)
    # Only links to the web: a crawl of recorded files may know other schemes.
    is_link = entry.url.startswith(("http://", "https://"))
    head = f'<a href="{escape(entry.url)}">{title}</a>' if is_link else title
    facts = [entry.language, "" if entry.type == "html" else entry.type]
    facts += [iso(entry.at)[:10]] if entry.at is not None else []
    facts += [f"and {counted(one.folded, 'page')} like it"] if one.folded else []
    said = " · ".join(_safe(fact) for fact in facts if fact)
    return (
        f"<li><h2>{head}</h2>"
        f'<p class="place">{_safe(entry.url)}</p><p dir="auto">{_marked(one)}</p>'
        f'<p class="facts">{said}</p></li>'
    )


def _marked(one: Result) -> str:
    text, at, pieces = one.snippet.text, 0, list[str]()
    for begin, end in one.snippet.marks:
        pieces += [_safe(text[at:begin]), f"<mark>{_safe(text[begin:end])}</mark>"]
        at = end
    return "".join((*pieces, _safe(text[at:])))


def _facets(asked: _Asked, found: Answered) -> Iterator[str]:
    """Yield links that narrow the query, for facets with several values."""
    text = found.instead or asked.text
    facets = found.counts.facets if found.counts else {}
    several = {name: values for name, values in facets.items() if len(values) > 1}
    if not several:
        return
    yield '<nav aria-label="Narrow the results">'
    for name, values in several.items():
        yield f"<h2>{_FACET_NAMES[name]}</h2><ul>"
        for value, pages in values[:_VALUES_SHOWN]:
            link = asked.link(f"{text} {_FILTERS[name]}:{value}")
            yield f'<li><a href="{link}">{_safe(value)}</a> <span>{pages:,}</span></li>'
        yield "</ul>"
    yield "</nav>"


def _other_pages(asked: _Asked, found: Answered) -> Iterator[str]:
    text, pages = found.instead or asked.text, asked.pages(found)
    links = [("Previous", asked.page - 1)] if asked.page > 1 else []
    links += [("Next", asked.page + 1)] if asked.page < pages and found.results else []
    if links:
        yield '<nav aria-label="Pages of results" class="pages">'
        for label, page in links:
            yield f'<a href="{asked.link(text, page)}">{label} page</a> '
        yield f"<span>Page {asked.page} of {pages:,}</span></nav>"


def _html(text: str, status: int) -> Response:
    return Response(text, status, media_type="text/html")


async def _style(_request: Request) -> Response:
    return FileResponse(_PAGE / "public.css", media_type="text/css")


# ---------------------------------------------------------------- running


def serve_publicly(
    store: Path, place: tuple[str | None, int | None], base: str, say: Callable[[str], None]
) -> None:
    """Serve the page at a host and port, until the process is told to end."""
    host, port = place[0] or LOOPBACK, place[1]
    if base:
        base = checked_base(base)
    with listening(host, port) as listener:
        name = f"[{host}]" if ":" in host else host
        own = f"http://{name}:{int(listener.getsockname()[1])}/"
        app = PublicSearch(store, base, say).app(RateLimit())
        server = uvicorn.Server(plain_config(app))
        say(f"{base or own}  (listening at {own})" if base else own)
        asyncio.run(server.serve(sockets=[listener]))


def checked_base(base: str) -> str:
    """Return the base URL with a slash at its end. Raises UsageError if it is invalid."""
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"--base-url {base}: must be a URL such as https://example.org/search/")
    return base if base.endswith("/") else f"{base}/"
