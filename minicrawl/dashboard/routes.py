"""Routes of a dashboard, and streams of its views.

Laws: a browser gets a view only when it has changed and while it is shown, with the moment of its
numbers. A slow response delays no other one. There are at most `MOST_STREAMS` event streams, and at
most `MOST_ANSWERS` responses are computed at a time.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar, cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from minicrawl import ext
from minicrawl.control import MOST_PAGES
from minicrawl.dashboard.access import BEGINNING, METRICS, PAGE, PINGS, DashboardAccess, Guard
from minicrawl.dashboard.metrics import METRICS_TYPE, metrics_text
from minicrawl.dashboard.views import MOMENT_S, MOST_NODES, SHARE, Views
from minicrawl.errors import FormError, MinicrawlError, UsageError
from minicrawl.web.readable_hosts import readable_hosts


class SharedView:
    """View as JSON that browsers share, computed again on request when it is old enough."""

    def __init__(
        self,
        make: Callable[[], object],
        every_s: float,
        thread: ThreadPoolExecutor,
        moment: Callable[[], float | None] = time.time,
    ) -> None:
        self._make, self._every_s, self._thread, self._moment = make, every_s, thread, moment
        self._making: asyncio.Task[None] | None = None
        self._text, self._due = "", 0.0
        self.at: float | None = None
        """Moment of the numbers, in seconds since 1970."""

    async def text(self) -> str:
        """Return the view, fresh or a moment old; empty until it is first computed.

        A slow view blocks no request: the next call returns its result.
        """
        if self._making is None and asyncio.get_running_loop().time() >= self._due:
            self._making = asyncio.create_task(self._make_anew())
        if self._making is not None:
            await asyncio.wait((self._making,), timeout=MOMENT_S)
        return self._text

    async def _make_anew(self) -> None:
        loop = asyncio.get_running_loop()
        began, at = loop.time(), self._moment()
        try:
            self._text = await loop.run_in_executor(self._thread, made, self._make)
            self.at = at
        finally:
            # A view that took long is computed less often, so that the dashboard takes at most a
            # tenth of one processor for it, however large the store is. After an unexpected error,
            # which asyncio logs, it is computed again as well.
            now = loop.time()
            self._due = now + max(self._every_s, (now - began) / SHARE)
            self._making = None


def made(make: Callable[[], object]) -> str:
    """Return a view as JSON, or the error that prevents it."""
    try:
        value = make()
    except (MinicrawlError, OSError) as error:
        value = {"error": str(error)}
    return json.dumps(value, default=str)


T = TypeVar("T")

NAMES = "x-readable-hosts"


def names_header(text: str) -> dict[str, str]:
    """Return a header with the readable names of the hosts in a response."""
    names = readable_hosts(text)
    return {NAMES: json.dumps(names)} if names else {}


MOST_STREAMS = 64
MOST_ANSWERS = 16
TICK_S = 0.5
HEARTBEAT_S = 4.0
_MOST_DIGITS = 15
"""Maximum digits of a number, such as the id of a request."""
_BUSY = f"{MOST_ANSWERS} answers are being computed: ask again in a moment"
NOTHING = "[]"
"""A log without new requests."""
_PAGE = Path(__file__).parent / "page"
_FILES = {path.name: path for path in _PAGE.iterdir() if path.is_file()}
_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
}


class Dashboard:
    def __init__(self, views: Views, access: DashboardAccess) -> None:
        self._views, self._access = views, access
        self._is_ending = False
        self._threads = ThreadPoolExecutor(MOST_ANSWERS, thread_name_prefix="answer")
        self._log_threads = ThreadPoolExecutor(2, thread_name_prefix="log")
        self._answers = 0  # responses being computed
        self.streams = 0  # open event streams
        shown = {
            "crawl": (views.crawl, 0.5),
            "history": (views.history, 1.0),
            "graph": (views.graph_figures, 2.0),
            "hosts": (views.hosts, 2.0),
            "errors": (views.errors, 2.0),
            "top": (views.top, 2.0),
        }
        self._shared = {
            name: SharedView(make, every_s, ThreadPoolExecutor(1, name), views.moment)
            for name, (make, every_s) in shown.items()
        }

    def app(self) -> Guard:
        return Guard(Starlette(routes=self.routes()), self._access)

    def routes(self) -> list[Route]:
        """Return all routes; `DashboardAccess` decides which are public."""
        return [
            *page_routes(_FILES),
            Route("/events", self._events),
            Route(METRICS, self._metrics),
            Route(PINGS, self._ping, methods=["GET", "POST"]),
            *(Route(f"/api/{name}", self._view) for name in ("form", "page", "search")),
            *chain.from_iterable(
                cast(Callable[[Path], list[Route]], point.load())(self._views.store)
                for point in ext.entry_points(ext.PANELS).values()
            ),
            *(Route(f"/api/{name}", self._view) for name in ("errors", "graph")),
            *(
                Route(f"/api/{name}", self._act, methods=["POST"])
                for name in ("token", "start", "dry-run", "control")
            ),
        ]

    def end(self) -> None:
        self._is_ending = True

    async def _events(self, request: Request) -> Response:
        topics_asked = request.query_params.get("topics", "").split(",")
        topics = [name for name in topics_asked if name in self._shared]
        log = request.query_params.get("log")
        if log is not None and not (log.isascii() and log.isdecimal() and len(log) <= _MOST_DIGITS):
            return JSONResponse({"error": "log: must be the id of a request"}, status_code=400)
        if self.streams >= MOST_STREAMS:
            raise HTTPException(503, "too many browsers")
        last = None if log is None else int(log)
        return StreamingResponse(self._stream(topics, last), media_type="text/event-stream")

    async def _stream(self, topics: list[str], last: int | None) -> AsyncIterator[str]:
        self.streams += 1
        try:
            sent: dict[str, str] = {}
            silent_s = HEARTBEAT_S
            log = None if last is None else _LogReader(self._views, last, self._log_threads)
            while not self._is_ending:
                texts = await asyncio.gather(*(self._shared[name].text() for name in topics))
                views = dict(zip(topics, texts, strict=True))
                moments = {name: self._shared[name].at for name in topics}
                views["moments"] = json.dumps({n: at for n, at in moments.items() if at})
                changed = {n: text for n, text in views.items() if text != sent.get(n, "")}
                sent |= changed
                if log is not None and (news := await log.news()) != NOTHING:
                    changed["log"] = news
                # An event now and then shows the browser that the server is alive, and shows the
                # server when a browser has gone: its write then fails.
                silent_s += TICK_S
                if silent_s >= HEARTBEAT_S or changed:
                    silent_s = 0.0
                    # Readable names of hosts come first.
                    names = readable_hosts("".join(changed.values()))
                    events = ({"names": json.dumps(names)} if names else {}) | changed
                    yield "".join(
                        f"event: {name}\ndata: {text}\n\n"
                        for name, text in (events or {"alive": "{}"}).items()
                    )
                await asyncio.sleep(TICK_S)
        finally:
            self.streams -= 1

    async def _metrics(self, _request: Request) -> Response:
        loop = asyncio.get_running_loop()
        try:
            crawl = await loop.run_in_executor(self._threads, self._views.crawl)
        except (MinicrawlError, OSError) as error:
            return JSONResponse({"error": str(error)}, status_code=503)
        return Response(metrics_text(crawl), media_type=METRICS_TYPE)

    async def _answer(self, make: Callable[[], object]) -> Response:
        # Refused, not queued: a waiting browser asks again, so a queue would only grow.
        if self._answers >= MOST_ANSWERS:
            return _error(_BUSY, 503)
        text = await self._in_thread(partial(made, make))
        return Response(text, media_type="application/json", headers=names_header(text))

    def _in_thread(self, make: Callable[[], T]) -> asyncio.Future[T]:
        self._answers += 1
        making = asyncio.get_running_loop().run_in_executor(self._threads, make)

        def end(_made: asyncio.Future[T]) -> None:
            self._answers -= 1

        making.add_done_callback(end)
        return asyncio.shield(making)  # if the client leaves, its thread continues

    async def _view(self, request: Request) -> Response:
        query, views = request.query_params, self._views
        match request.url.path.rpartition("/")[2]:
            case "form":
                switches = {name: query.get(name) == "1" for name in ("fresh", "demo")}
                form = switches | {"demo-pages": _number(query.get("demo-pages", ""))}
                return await self._answer(partial(views.form, form))
            case "page":
                return await self._answer(partial(views.page, query.get("url", "")))
            case "search":
                return await self._answer(partial(views.search, query.get("q", "")))
            case "errors":
                return await self._answer(partial(views.failed, query.get("kind", "")))
        count = _number(query.get("n", ""))
        most = MOST_NODES if count is None else count
        return await self._answer(partial(views.graph, query.get("of", "hosts"), most))

    async def _act(self, request: Request) -> Response:
        """Start or control a crawl; `token` does nothing, since the guard has checked the token."""
        done: object = {"ok": True}
        try:
            match request.url.path.rpartition("/")[2]:
                case "start":
                    await self._views.start(await _sent_object(request))
                case "dry-run":
                    done = {"text": await self._views.dry_run(await _sent_object(request))}
                case "control":
                    action = await _sent_object(request)
                    done = await asyncio.to_thread(self._views.control, action)
        except MinicrawlError as error:
            fields = error.fields if isinstance(error, FormError) else {}
            return JSONResponse({"error": str(error), "fields": fields}, status_code=422)
        return JSONResponse(done)

    async def _ping(self, request: Request) -> Response:
        """Note the changes that a site announces by IndexNow. Status codes are of that protocol."""
        try:
            sent: dict[str, Any] = dict(request.query_params)
            if request.method == "POST":
                sent = await _sent_object(request, self._access.begins_with_ping_key)
        except MinicrawlError as error:
            return _error(error, 400)
        if not self._access.has_ping_key(sent.get("key")):
            return _error("the key is not that of this dashboard", 403)
        urls, host = sent.get("urlList", [sent.get("url")]), sent.get("host")
        is_valid = isinstance(urls, list) and 0 < len(urls) <= MOST_PAGES
        if not is_valid or not all(isinstance(text, str) for text in (host or "", *urls)):
            return _error(f"give a url, or from 1 to {MOST_PAGES:,} URLs as urlList", 400)
        if self._answers >= MOST_ANSWERS:
            return _error(_BUSY, 429)
        try:
            return JSONResponse(await self._in_thread(partial(self._views.ping, urls, host)))
        except (MinicrawlError, OSError) as error:
            return _error(error, 422 if isinstance(error, UsageError) else 503)


def page_routes(files: Mapping[str, Path]) -> list[Route]:

    async def sent(request: Request) -> Response:
        path = files.get(request.path_params.get("name", "index.html"))
        if path is None:
            raise HTTPException(404)
        return FileResponse(path, media_type=_TYPES.get(path.suffix))

    return [Route("/", sent), Route(f"{PAGE}{{name}}", sent)]


class _LogReader:
    """Reader of the requests that one browser has not seen yet."""

    def __init__(self, views: Views, last: int, thread: ThreadPoolExecutor) -> None:
        self._last = last
        self._reading = SharedView(lambda: views.log(self._last), 0.0, thread)

    async def news(self) -> str:
        """Return new requests, or none while they are being read."""
        text = await self._reading.text()
        document = json.loads(text or NOTHING)
        if isinstance(document, list) and document:
            if document[-1]["id"] <= self._last:
                return NOTHING
            self._last = document[-1]["id"]
        return text or NOTHING


async def _sent_object(
    request: Request, may_go_on: Callable[[bytes], bool] = lambda _: True
) -> dict[str, Any]:
    """Read the JSON object in the body. `may_go_on` judges a long body by its beginning."""
    body, is_judged = bytearray(), False
    async for piece in request.stream():
        body += piece
        if not is_judged and len(body) > BEGINNING:
            is_judged = True
            if not may_go_on(bytes(body[:BEGINNING])):
                raise HTTPException(403, f"the key must be in the first {BEGINNING:,} bytes")
    try:
        document = json.loads(bytes(body))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise MinicrawlError("not a JSON object")
    return document


def _number(text: str) -> int | None:
    return int(text[:_MOST_DIGITS]) if text.isdecimal() else None


def _error(why: object, status: int) -> Response:
    return JSONResponse({"error": str(why)}, status_code=status)
