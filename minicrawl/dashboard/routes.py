"""What can be asked of the dashboard, and the events that follow a crawl.

Laws: a browser gets a view when it has changed, and only the views that it shows. A request has at
most `LONGEST_BODY` bytes, and there are at most `MOST_STREAMS` streams of events.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from minicrawl.dashboard.guard import DashboardAccess, Guard
from minicrawl.dashboard.search_answers import SearchAnswers, names_header
from minicrawl.dashboard.views import MOST_NODES, SharedView, Views, made
from minicrawl.errors import FormError, MinicrawlError
from minicrawl.web.idn import readable_hosts

LONGEST_BODY = 4 * 1024 * 1024
MOST_STREAMS = 64
TICK_S = 0.5
HEARTBEAT_S = 4.0
NOTHING = "[]"
"""A log without news."""
_PAGE = Path(__file__).parent / "page"
_FILES = {path.name: path for path in _PAGE.iterdir() if path.is_file()}
_TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"} | {
    ".svg": "image/svg+xml"
}


class Dashboard:
    """The routes of one store."""

    def __init__(self, views: Views, access: DashboardAccess) -> None:
        self._views, self._access = views, access
        self._is_ending = False
        self._quick = ThreadPoolExecutor(2, thread_name_prefix="quick")
        self._slow = ThreadPoolExecutor(1, thread_name_prefix="slow")
        self.streams = 0  # that are open
        self._shared = {
            "crawl": SharedView(views.crawl, 0.5, self._quick),
            "history": SharedView(views.history, 1.0, self._quick),
            "hosts": SharedView(views.hosts, 2.0, self._slow),
            "errors": SharedView(views.errors, 2.0, self._slow),
            "top": SharedView(views.top, 2.0, self._slow),
        }

    def app(self) -> Guard:
        """The application, guarded."""
        routes = [
            Route("/", _index),
            Route("/page/{name}", _file),
            Route("/events", self._events),
            Route("/api/page", self._page),
            Route("/api/search", self._search),
            *SearchAnswers(self._views.store).routes("/api/texts"),
            Route("/api/errors", self._errors),
            Route("/api/graph", self._graph),
            Route("/api/token", _token, methods=["POST"]),
            Route("/api/start", self._start, methods=["POST"]),
            Route("/api/dry-run", self._dry_run, methods=["POST"]),
            Route("/api/control", self._control, methods=["POST"]),
        ]
        return Guard(Starlette(routes=routes), self._access)

    def end(self) -> None:
        """End all streams of events."""
        self._is_ending = True

    # ------------------------------------------------------------ what it shows

    async def _events(self, request: Request) -> Response:
        wanted = request.query_params.get("topics", "").split(",")
        topics = [name for name in wanted if name in self._shared]
        if self.streams >= MOST_STREAMS:
            raise HTTPException(503, "too many browsers")
        last = int(request.query_params["log"]) if "log" in request.query_params else None
        return StreamingResponse(self._stream(topics, last), media_type="text/event-stream")

    async def _stream(self, topics: list[str], last: int | None) -> AsyncIterator[str]:
        self.streams += 1
        try:
            sent: dict[str, str] = {}
            silent_s = HEARTBEAT_S
            while not self._is_ending:
                found = {name: await self._shared[name].text() for name in topics}
                changed = {n: text for n, text in found.items() if text != sent.get(n, "")}
                sent |= changed
                if last is not None:
                    log = await self._run(self._quick, partial(self._views.log, last))
                    last = _last_of(log, last)
                    changed |= {"log": log} if log != NOTHING else {}
                silent_s += TICK_S
                if silent_s >= HEARTBEAT_S or changed:
                    silent_s = 0.0
                    yield _as_events(changed)
                await asyncio.sleep(TICK_S)
        finally:
            self.streams -= 1

    async def _run(self, thread: ThreadPoolExecutor, make: Callable[[], object]) -> str:
        return await asyncio.get_running_loop().run_in_executor(thread, made, make)

    async def _answer(self, make: Callable[[], object]) -> Response:
        text = await self._run(self._slow, make)
        return Response(text, media_type="application/json", headers=names_header(text))

    async def _page(self, request: Request) -> Response:
        return await self._answer(partial(self._views.page, request.query_params.get("url", "")))

    async def _search(self, request: Request) -> Response:
        return await self._answer(partial(self._views.search, request.query_params.get("q", "")))

    async def _errors(self, request: Request) -> Response:
        kind = request.query_params.get("kind", "")
        return await self._answer(partial(self._views.failed, kind))

    async def _graph(self, request: Request) -> Response:
        of, count = request.query_params.get("of", "hosts"), request.query_params.get("n", "")
        wanted = int(count[:9]) if count.isdecimal() else MOST_NODES
        return await self._answer(partial(self._views.graph, of, wanted))

    # ------------------------------------------------------------ what changes something

    async def _start(self, request: Request) -> Response:
        try:
            await self._views.start(await _sent_object(request))
        except MinicrawlError as error:
            return _refused(error)
        return JSONResponse({"ok": True})

    async def _dry_run(self, request: Request) -> Response:
        try:
            text = await self._views.dry_run(await _sent_object(request))
        except MinicrawlError as error:
            return _refused(error)
        return JSONResponse({"text": text})

    async def _control(self, request: Request) -> Response:
        try:
            wanted = await _sent_object(request)
            return JSONResponse(await asyncio.to_thread(self._views.control, wanted))
        except MinicrawlError as error:
            return _refused(error)


def _as_events(changed: dict[str, str]) -> str:
    """Views that have changed, as events; one that says nothing but that the server is there.

    What readers call the hosts in them comes first.
    """
    names = readable_hosts("".join(changed.values()))
    changed = ({"names": json.dumps(names)} if names else {}) | changed
    events = "".join(f"event: {name}\ndata: {text}\n\n" for name, text in changed.items())
    return events or "event: alive\ndata: {}\n\n"


async def _index(_request: Request) -> Response:
    return _sent("index.html")


async def _file(request: Request) -> Response:
    return _sent(request.path_params["name"])


async def _token(_request: Request) -> Response:
    """Whoever comes as far as this has the token."""
    return JSONResponse({"ok": True})


def _sent(name: str) -> Response:
    path = _FILES.get(name)
    if path is None:
        raise HTTPException(404)
    return FileResponse(path, media_type=_TYPES.get(path.suffix))


def _last_of(log: str, last: int) -> int:
    found = json.loads(log)
    return found[-1]["id"] if isinstance(found, list) and found else last


async def _sent_object(request: Request) -> dict[str, Any]:
    """The JSON object in the body; no more of it is read than is allowed."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LONGEST_BODY:
            raise MinicrawlError(f"too long: at most {LONGEST_BODY:,} bytes")
    try:
        found = json.loads(bytes(body))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise MinicrawlError("not a JSON object")
    return found


def _refused(error: MinicrawlError) -> Response:
    fields = error.fields if isinstance(error, FormError) else {}
    return JSONResponse({"error": str(error), "fields": fields}, status_code=422)
