"""HTTP server of the dashboard: access control, routes, event streams, address and token."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hmac import compare_digest, digest
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minicrawl import ext
from minicrawl.control import MOST_PAGES
from minicrawl.dashboard.http_server import LOOPBACK, LimitedServer, listening
from minicrawl.dashboard.views import (
    METRICS_TYPE,
    MOST_NODES,
    SharedView,
    Views,
    made,
    metrics_text,
)
from minicrawl.errors import FormError, MinicrawlError, UsageError
from minicrawl.store.reader import DASHBOARD, real_path
from minicrawl.web.urls import readable_hosts

T = TypeVar("T")

# ================================================================ guard
#
# Access control.
#
# Laws: a request must name the dashboard by an IP address, by localhost, or by the name that the
# user gave, which defeats DNS rebinding. Requests from pages of another origin are refused. All
# data of stores and crawls, and all changes, need the token of the printed address, since other
# users of the machine can reach loopback addresses, too. Only the page itself, which is equal for
# all stores, is public. Its content security policy allows only its own files and no inline
# scripts.
#
# Pings of IndexNow have a key of their own, made from the token. The token itself was rejected: the
# protocol has sites publish their keys. With this one, a stranger can only say that known pages
# have changed.
#
# The token is sent as a header. A cookie was rejected: browsers send a cookie to all ports of an
# address, and another user may listen at the next port.

TOKEN_HEADER: Final = "x-minicrawl-token"
_SAFE_METHODS = ("GET", "HEAD")
PAGE = "/page/"
"""Path of the page's files."""
METRICS = "/metrics"
"""Path of the metrics for Prometheus."""
PINGS = "/indexnow"
"""Path that sites send pings of IndexNow to."""
BEGINNING = 16 * 1024
"""Bytes of a ping that must contain its key: the rest of a stranger's body is not read."""
_KEY = re.compile(rb'"key"\s*:\s*"([0-9a-f]{32})"')
_SAME_SITE = ("same-origin", "none")
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardAccess:
    """Address of the dashboard, and the token that opens it."""

    port: int
    names: frozenset[str]
    """Host names beside localhost and IP addresses."""
    token: str

    def refusal(self, method: str, path: str, headers: Headers) -> str | None:
        """Return why the request is refused, or None."""
        host = headers.get("host", "")
        if not self.is_ours(host):
            return "this is not the address of the dashboard"
        origin = headers.get("origin")
        if origin is not None and origin != f"http://{host}":
            return "requests from other pages are refused"
        is_safe = method in _SAFE_METHODS
        if is_safe and (path == "/" or path.startswith(PAGE)):
            return None
        if not is_safe and headers.get("sec-fetch-site", "none") not in _SAME_SITE:
            return "requests from other pages are refused"
        token = headers.get(TOKEN_HEADER, "")
        if is_safe and path == METRICS and not token:
            token = headers.get("authorization", "").removeprefix("Bearer ")  # as Prometheus does
        # The key of a ping is in its query or body, where the route checks it.
        if path != PINGS and not self.has_token(token):
            return "the token is missing: open the printed address, with everything after #"
        return None

    def is_ours(self, host: str) -> bool:
        """Return whether a Host header means this dashboard."""
        name, _, port = host.rpartition(":")
        return port == str(self.port) and (
            name in self.names or name == "localhost" or _is_address(name)
        )

    def has_token(self, token: str) -> bool:
        """Compare a token in constant time."""
        return compare_digest(token.encode(), self.token.encode())

    @property
    def ping_key(self) -> str:
        """Key that pings of IndexNow need. It does not reveal the token."""
        return digest(self.token.encode(), PINGS.encode(), "sha256").hex()[:32]

    def has_ping_key(self, key: object) -> bool:
        """Compare a key of IndexNow in constant time."""
        return isinstance(key, str) and compare_digest(
            key.encode(errors="replace"), self.ping_key.encode()
        )

    def begins_with_ping_key(self, body: bytes) -> bool:
        """Return True if a JSON object has the key of IndexNow in this beginning of it."""
        found = _KEY.search(body)
        return found is not None and self.has_ping_key(found[1].decode())


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


class Guard:
    """ASGI middleware that refuses requests, and adds security headers."""

    def __init__(self, app: ASGIApp, access: DashboardAccess) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        why = self._access.refusal(scope["method"], scope["path"], Headers(scope=scope))
        app = self._app if why is None else JSONResponse({"error": why}, status_code=403)
        await app(scope, receive, send_guarded)


# ================================================================ names

NAMES = "x-readable-hosts"


def names_header(text: str) -> dict[str, str]:
    """Return a header with the readable names of the hosts in a response."""
    names = readable_hosts(text)
    return {NAMES: json.dumps(names)} if names else {}


# ================================================================ routes
#
# Laws: a browser gets a view only when it has changed and while it is shown, with the moment of its
# numbers. A slow response delays no other one. There
# are at most `MOST_STREAMS` event streams, and at most `MOST_ANSWERS` responses are computed at
# a time.

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
    """Routes of one store."""

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
        """Return the application behind its guard."""
        return Guard(Starlette(routes=self.routes()), self._access)

    def routes(self) -> list[Route]:
        """Return all routes; `DashboardAccess` decides which are public."""
        return [
            *page_routes(_FILES),
            Route("/events", self._events),
            Route(METRICS, self._metrics),
            Route(PINGS, self._ping, methods=["GET", "POST"]),
            Route("/api/form", self._form),
            Route("/api/page", self._page),
            Route("/api/search", self._search),
            *chain.from_iterable(
                cast(Callable[[Path], list[Route]], point.load())(self._views.store)
                for point in ext.entry_points(ext.PANELS).values()
            ),
            Route("/api/errors", self._errors),
            Route("/api/graph", self._graph),
            Route("/api/token", _token, methods=["POST"]),
            Route("/api/start", self._start, methods=["POST"]),
            Route("/api/dry-run", self._dry_run, methods=["POST"]),
            Route("/api/control", self._control, methods=["POST"]),
        ]

    def end(self) -> None:
        """End all event streams."""
        self._is_ending = True

    # ------------------------------------------------------------ views

    async def _events(self, request: Request) -> Response:
        wanted = request.query_params.get("topics", "").split(",")
        topics = [name for name in wanted if name in self._shared]
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
                found = dict(zip(topics, texts, strict=True))
                moments = {name: self._shared[name].at for name in topics}
                found["moments"] = json.dumps({n: at for n, at in moments.items() if at})
                changed = {n: text for n, text in found.items() if text != sent.get(n, "")}
                sent |= changed
                if log is not None and (news := await log.news()) != NOTHING:
                    changed["log"] = news
                # An event now and then shows the browser that the server is alive, and shows the
                # server when a browser has gone: its write then fails.
                silent_s += TICK_S
                if silent_s >= HEARTBEAT_S or changed:
                    silent_s = 0.0
                    yield _as_events(changed)
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
        making.add_done_callback(self._end_answer)
        return asyncio.shield(making)  # if the client leaves, its thread continues

    def _end_answer(self, _made: asyncio.Future[Any]) -> None:
        self._answers -= 1

    async def _form(self, request: Request) -> Response:
        asked, pages = request.query_params, request.query_params.get("demo-pages", "")
        form = {name: asked.get(name) == "1" for name in ("fresh", "demo")}
        size = {"demo-pages": int(pages[:_MOST_DIGITS]) if pages.isdecimal() else None}
        return await self._answer(partial(self._views.form, form | size))

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

    # ------------------------------------------------------------ changes

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


def _as_events(changed: dict[str, str]) -> str:
    """Return changed views as events, or an event that only shows that the server is alive.

    Readable names of hosts come first.
    """
    names = readable_hosts("".join(changed.values()))
    changed = ({"names": json.dumps(names)} if names else {}) | changed
    events = "".join(f"event: {name}\ndata: {text}\n\n" for name, text in changed.items())
    return events or "event: alive\ndata: {}\n\n"


async def _token(_request: Request) -> Response:
    """Return ok: the guard has checked the token."""
    return JSONResponse({"ok": True})


def page_routes(files: Mapping[str, Path]) -> list[Route]:
    """Return the routes of a page and its files."""

    async def sent(request: Request) -> Response:
        path = files.get(request.path_params.get("name", "index.html"))
        if path is None:
            raise HTTPException(404)
        return FileResponse(path, media_type=_TYPES.get(path.suffix))

    return [Route("/", sent), Route(f"{PAGE}{{name}}", sent)]


class _LogReader:
    """Reader of the requests that one browser has not seen yet."""

    def __init__(self, views: Views, last: int, thread: ThreadPoolExecutor) -> None:
        self._views, self._last = views, last
        self._reading = SharedView(self._read, 0.0, thread)

    async def news(self) -> str:
        """Return new requests, or none while they are being read."""
        text = await self._reading.text()
        found = json.loads(text or NOTHING)
        if isinstance(found, list) and found:
            if found[-1]["id"] <= self._last:
                return NOTHING
            self._last = found[-1]["id"]
        return text or NOTHING

    def _read(self) -> list[dict[str, Any]]:
        return self._views.log(self._last)


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
        found = json.loads(bytes(body))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise MinicrawlError("not a JSON object")
    return found


def _error(why: object, status: int) -> Response:
    return JSONResponse({"error": str(why)}, status_code=status)


def _refused(error: MinicrawlError) -> Response:
    fields = error.fields if isinstance(error, FormError) else {}
    return JSONResponse({"error": str(error), "fields": fields}, status_code=422)


# ================================================================ server
#
# Laws: a store has one dashboard at a time. The file beside the store that names it has mode 0600,
# because it contains the token; a restarted dashboard keeps the token, so that open pages go on.
# The dashboard runs at low priority.

_NICE = 10
_GROUP = Path("/proc/self/autogroup")
UNWATCHED_S = 600.0
_TICKS_A_LOOK = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Address to listen at. Without a port it is the default one, or any if that is in use."""

    host: str = LOOPBACK
    port: int | None = None
    ends_alone: bool = False
    """End when the starting process is gone and nobody has looked for `UNWATCHED_S`."""


def serve_views(views: Views, store: Path, place: Place, announce: Callable[[str], None]) -> None:
    """Serve these views, as the only dashboard of this store, until the process is told to end."""
    with _only_dashboard(store) as note, listening(place.host, place.port) as listener:
        port = int(listener.getsockname()[1])
        kept = _read(note).get("token")
        token = kept if isinstance(kept, str) and kept else secrets.token_urlsafe(24)
        name = f"[{place.host}]" if ":" in place.host else place.host
        address = f"http://{name}:{port}/"
        access = DashboardAccess(port=port, names=frozenset((place.host,)), token=token)
        about = {"address": address, "pid": os.getpid(), "token": token}
        _write(note, about | {"indexnow_key": access.ping_key})
        _lower_priority()
        dashboard = Dashboard(views, access)
        parent = os.getppid() if place.ends_alone else None
        server = _Server(dashboard, parent)
        announce(f"{address}#{token}")
        server.run_at(listener)


class _Server(LimitedServer):
    """Server that ends its event streams when it ends, and ends itself when nobody needs it."""

    def __init__(self, dashboard: Dashboard, parent: int | None) -> None:
        """Without `parent`, the server never ends by itself."""
        super().__init__(dashboard.app())
        self._dashboard, self._parent = dashboard, parent
        self._looked_at = time.monotonic()

    async def on_tick(self, counter: int) -> bool:
        """Check whether to end; uvicorn calls this ten times a second."""
        if self._parent is not None and not counter % _TICKS_A_LOOK:
            now = time.monotonic()
            # An orphan gets another parent, so the parent's number tells whether the command that
            # started the dashboard has ended.
            if self._dashboard.streams or os.getppid() == self._parent:
                self._looked_at = now
            elif now - self._looked_at > UNWATCHED_S:
                self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[Any] | None = None) -> None:
        self._dashboard.end()
        await super().shutdown(sockets)


def _lower_priority() -> None:
    """Lower the priority, and that of the process group where Linux groups by session."""
    os.nice(_NICE)
    if os.getsid(0) == os.getpid():
        with suppress(OSError):
            _GROUP.write_text(str(_NICE), encoding="ascii")


# ---------------------------------------------------------------- one dashboard per store


@contextmanager
def _only_dashboard(store: Path) -> Iterator[int]:
    """Lock and yield the file that names the dashboard of the store."""
    place = real_path(store)
    if place.is_dir():
        raise UsageError(f"{store} is a folder: name a file as --store")
    path = place.with_name(f"{place.name}{DASHBOARD}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        note = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        other = _read(note)
        os.close(note)
        raise MinicrawlError(
            f"{store} has a dashboard already, at {other.get('address')}: open that one, "
            f"or end its process {other.get('pid')}"
        ) from None
    try:
        os.fchmod(note, 0o600)
        yield note
    finally:
        os.close(note)


def _read(note: int) -> dict[str, object]:
    with suppress(ValueError, OSError):
        found = json.loads(os.pread(note, 4096, 0))
        if isinstance(found, dict):
            return found
    return {}


def _write(note: int, content: dict[str, object]) -> None:
    os.ftruncate(note, 0)
    os.pwrite(note, json.dumps(content).encode(), 0)
