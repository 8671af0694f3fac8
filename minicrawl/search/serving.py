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
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from html import escape
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Scope

from minicrawl.dashboard import serving
from minicrawl.dashboard.http_server import LOOPBACK, LimitedServer, listening
from minicrawl.dashboard.serving import (
    DashboardAccess,
    Guard,
    names_header,
    page_routes,
)
from minicrawl.errors import MinicrawlError, StoreError, UsageError
from minicrawl.search.index import check_installed
from minicrawl.search.indexing import Completeness, has_index, lack_of, why_useless
from minicrawl.search.public_guard import (
    CPU_S,
    DUE,
    PublicGuard,
    Turns,
    refused,
    search_rate_limit,
)
from minicrawl.search.rate_limit import RateLimit
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
        return await self._answer(
            lambda finder: {"store": self._store.name, "pages": len(finder)} | _lack(self._store)
        )

    async def _search(self, request: Request) -> Response:
        asked = request.query_params
        offset = asked.get("offset", "")
        wanted = SearchRequest(
            count=AT_ONCE,
            offset=min(int(offset[:_DIGITS]), MOST_SHOWN) if offset.isdecimal() else 0,
            folds=not asked.get("all"),
        )
        text = asked.get("q", "")[:LONGEST_QUERY]
        return await self._answer(lambda finder: _found(text, wanted, finder) | _lack(self._store))

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


def _lack(store: Path) -> dict[str, object]:
    """Return how far the index is, as a JSON document; null if it is complete."""
    lack = lack_of(store)
    return {"indexed": lack and lack._asdict()}


def _found(text: str, wanted: SearchRequest, finder: Finder) -> dict[str, object]:
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
        server = LimitedServer(search_page(store, access))
        say(f"http://{LOOPBACK}:{chosen}/#{token}")
        server.run_at(listener)


# ================================================================ for everybody
#
# Search page for everybody: HTML, JSON, an OpenSearch description, and suggestions.
#
# Laws: a request only reads, and needs neither token nor cookie nor script. No text of a page
# becomes markup. Beyond `MOST_WAITING` searches, further ones are refused; `public_guard` limits
# what a client may cost. No message to a client names a file of this machine.

T = TypeVar("T")

MOST_WAITING = 32
_PER_PAGE, _MOST_PER_PAGE, _DEEPEST = 10, 50, 1_000
_LONGEST_PUBLIC_QUERY = 500
_SUGGESTED = 8
_VALUES_SHOWN = 8
_LONGEST_SHORT_NAME = 16

# ---------------------------------------------------------------- answers


class PublicSearch:
    """HTTP endpoints of the public search page."""

    def __init__(
        self, store: Path, base: str = "", say: Callable[[str], None] = lambda _: None
    ) -> None:
        self._store, self._base, self._say = store, base, say
        self._folder = search_folder(store)
        self._name = (urlsplit(base).hostname if base else None) or store.stem
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="search")
        self._turns = Turns()
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
            pages = await self._answer(request, len)
            return _html(_page(self._name, asked, _about(pages)), 200)
        try:
            found, lack = await self._answer(request, self._with_lack(asked))
        except UsageError as error:
            return _html(_page(self._name, asked, _told(str(error))), 422)
        said = _told(f"{lack}; the rest follows") if lack else ""
        return _html(_page(self._name, asked, said + "".join(_shown(asked, found))), 200)

    def _with_lack(self, asked: _Asked) -> Callable[[Finder], tuple[Answered, Completeness | None]]:
        return lambda finder: (asked.answer(finder), lack_of(self._store))

    async def _json(self, request: Request) -> Response:
        asked, began = _Asked(request.query_params), time.perf_counter()
        allowed = {"Access-Control-Allow-Origin": "*"}
        try:
            found, lack = await self._answer(request, self._with_lack(asked))
        except UsageError as error:
            return JSONResponse({"error": str(error)}, 422, allowed)
        took = {
            "took_ms": round(1000 * (time.perf_counter() - began), 1),
            "indexed_at": iso(self._finder.at),
            "indexed": lack and lack._asdict(),
        }
        return JSONResponse(asked.as_json(found) | took, 200, allowed)

    async def _suggest(self, request: Request) -> Response:
        text = request.query_params.get("q", "")[:_LONGEST_PUBLIC_QUERY]
        found = await self._answer(request, lambda finder: finder.completions(text, _SUGGESTED))
        return Response(json.dumps([text, found]), media_type="application/x-suggestions+json")

    async def _description(self, request: Request) -> Response:
        base = self._base or str(request.base_url)
        xml = _OPENSEARCH.format(
            short=escape(self._name[:_LONGEST_SHORT_NAME]), name=escape(self._name),
            base=escape(base),
        )  # fmt: skip
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
            return self._run(make)
        finally:
            scope[CPU_S] = time.thread_time() - began

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
    return refused("too many searches at once: ask again in a moment", 503, 0)


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
        app = PublicSearch(store, base, say).app(search_rate_limit())
        server = LimitedServer(app)
        say(f"{base or own}  (listening at {own})" if base else own)
        server.run_at(listener)


def checked_base(base: str) -> str:
    """Return the base URL with a slash at its end. Raises UsageError if it is invalid."""
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"--base-url {base}: must be a URL such as https://example.org/search/")
    return base if base.endswith("/") else f"{base}/"
