"""Guard of the public search page: who the client is, and what it may cost.

Laws: a client is charged for the processor time of its searches, `REQUEST_CPU_S` for a request at
least. It gets `RATE_S` requests a second, and `BURST` at once. One search runs at a time; the next
one is that of the client that has used least of late. So a client with dear queries, or with many
connections, delays another one by a search at most.

    query                    processor time     requests charged, of 20
    two words                  3 to 25 ms             1
    eight misspelt words        .1 s                  2
    32 Chinese characters       .7 s                 14

Behind a proxy, the client is the last entry of X-Forwarded-For, but only if the page has a base URL
and the connection comes from a private address. Otherwise everybody could be any client.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from ipaddress import ip_address
from itertools import count
from urllib.parse import unquote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minicrawl.dashboard.http_server import network_of

RATE_S, BURST = 2.0, 20
REQUEST_CPU_S = 0.05
MOST_AT_ONCE = 4
"""Requests of one client at a time."""
_MOST_CLIENTS = 10_000
"""Clients whose requests are counted; the client with the oldest request is forgotten first."""
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
CPU_S, DUE = "minicrawl.cpu_s", "minicrawl.due"
"""Keys of a scope: processor time that the request has taken, and the time that orders its turn."""


class RateLimit:
    """Requests that each client has left; a client that was charged for more owes some."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._clients = OrderedDict[str, tuple[float, float]]()  # requests left, as of when

    def wait_s(self, client: str) -> float:
        """Count a request, and return how long the client should wait; 0 if it may ask now."""
        left = self._left(client)
        if left < 1:
            return (1 - left) / RATE_S
        self.charge(client, 1)
        return 0.0

    def charge(self, client: str, requests: float) -> None:
        """Count requests, or parts of them, that were allowed."""
        self._clients[client] = self._left(client) - requests, self._clock()
        self._clients.move_to_end(client)
        if len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)

    def used(self, client: str) -> float:
        """Return how many requests of its burst a client lacks."""
        return BURST - self._left(client)

    def _left(self, client: str) -> float:
        now = self._clock()
        left, at = self._clients.get(client, (BURST, now))
        return min(BURST, left + (now - at) * RATE_S)


class Turns:
    """Lock that goes to the waiter with the earliest due time."""

    def __init__(self) -> None:
        self._is_taken = False
        self._waiters = list[tuple[float, int, asyncio.Future[None]]]()
        self._numbers = count()

    def __len__(self) -> int:
        """Return the number of turns that are taken or awaited."""
        return self._is_taken + len(self._waiters)

    @asynccontextmanager
    async def turn(self, due: float) -> AsyncIterator[None]:
        """Wait for a turn, and hold it inside the block."""
        if self._is_taken:
            waiter = asyncio.get_running_loop().create_future()
            heappush(self._waiters, (due, next(self._numbers), waiter))
            await waiter
        self._is_taken = True
        try:
            yield
        finally:
            self._is_taken = False
            while self._waiters and not self._is_taken:
                _, _, waiter = heappop(self._waiters)
                if not waiter.done():  # it is done if its request was cancelled
                    waiter.set_result(None)
                    self._is_taken = True


def client_of(peer: str, forwarded: str, *, has_proxy: bool) -> str:
    """Return the client: the peer, or the address that a proxy at a private address forwards."""
    try:
        if has_proxy and forwarded and ip_address(peer).is_private:
            return network_of(str(ip_address(forwarded.rpartition(",")[2].strip())))
    except ValueError:
        pass
    return network_of(peer)


class PublicGuard:
    """ASGI middleware that limits requests, adds headers, and takes the base path off the URL."""

    def __init__(self, app: ASGIApp, base: str, limit: RateLimit) -> None:
        self._app, self._base, self._limit = app, unquote(urlsplit(base).path).rstrip("/"), limit
        self._has_proxy = bool(base)
        self._at_once = Counter[str]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        peer = scope.get("client")
        forwarded = Headers(scope=scope).get("x-forwarded-for", "")
        client = client_of(peer[0] if peer else "", forwarded, has_proxy=self._has_proxy)
        wait_s = self._limit.wait_s(client)
        if wait_s or self._at_once[client] >= MOST_AT_ONCE:
            response = refused("too many requests: ask again later", 429, wait_s)
            await response(scope, receive, send_guarded)
            return
        # Later, if it has used much: it is overtaken by those that ask within this time.
        scope[DUE] = time.monotonic() + self._limit.used(client) * REQUEST_CPU_S
        self._at_once[client] += 1
        try:
            await self._routed(scope)(scope, receive, send_guarded)
        finally:
            self._limit.charge(client, max(scope.get(CPU_S, 0.0) / REQUEST_CPU_S - 1, 0))
            self._at_once[client] -= 1
            if not self._at_once[client]:
                del self._at_once[client]

    def _routed(self, scope: Scope) -> ASGIApp:
        path: str = scope["path"]
        if self._base and path == self._base:
            query = scope["query_string"].decode("ascii", "replace")
            return RedirectResponse(f"{self._base}/" + (f"?{query}" if query else ""), 308)
        if self._base and path.startswith(f"{self._base}/"):  # the proxy has not taken it off
            scope["path"] = path.removeprefix(self._base)
        return self._app


def refused(why: str, status: int, wait_s: float) -> Response:
    """Return a response that says when to ask again."""
    return JSONResponse({"error": why}, status, {"Retry-After": str(int(wait_s) + 1)})
