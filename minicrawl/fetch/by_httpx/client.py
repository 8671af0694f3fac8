"""Sends requests over lines, and keeps some of them open for the next requests.

Laws: what ends a request early, cancellation included, closes its line, unless other requests are
on it: then it takes no more. A host that speaks HTTP/2 has one line. All else is promised by
`connection.pool`, as it is for our own client.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from http import HTTPStatus

from minicrawl.fetch.by_httpx.dialing import Dialer, ProxyWay, Way, spelling_of
from minicrawl.fetch.by_httpx.lines import ArrivingResponse, Line, line_over
from minicrawl.fetch.connection.http1 import check_path
from minicrawl.fetch.connection.pool import ConnectionPool, Pace
from minicrawl.fetch.proxy.handshakes import wants_login
from minicrawl.fetch.transport import TransportRequest
from minicrawl.fetch.where.targets import Origin

LineKey = tuple[Origin, Way]


class OpenLine:
    """A line, where it leads, and how many requests are on it."""

    def __init__(self, key: LineKey, line: Line) -> None:
        self.key, self.line = key, line
        self.requests = 0
        self.is_spoiled = False

    @property
    def is_usable(self) -> bool:
        """Whether it may carry another request."""
        return not self.is_spoiled and self.line.is_usable

    def abort(self) -> None:
        """Close it at once."""
        self.line.abort()


class HttpxClient:
    """A transport."""

    def __init__(
        self,
        dialer: Dialer,
        pace: Pace,
        *,
        max_head_bytes: int,
    ) -> None:
        self._dialer = dialer
        self._max_head_bytes = max_head_bytes
        self._pool = ConnectionPool[LineKey, OpenLine](pace)
        self._shared: dict[LineKey, OpenLine] = {}  # those with requests on them
        self._dialing: dict[Origin, asyncio.Lock] = {}

    async def send(self, request: TransportRequest) -> "LineResponse":
        return await self._pool.in_place(partial(self._send, request))

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _send(self, request: TransportRequest) -> "LineResponse":
        check_path(request.target.url)
        if kept := self._kept(request):
            answer = self._ask(kept, request)
            found = await self._pool.try_kept(answer, lambda: kept.line.is_unanswered)
            if found is not None:
                return found
        return await self._ask(await self._begun(request), request)

    async def _begun(self, request: TransportRequest) -> OpenLine:
        """A new line; if it is shared, all requests wait for it that want one to the same host."""
        origin = request.target.origin
        if not origin.is_tls:
            return await self._dial(request)
        lock = self._dialing.setdefault(origin, asyncio.Lock())
        try:
            async with lock:
                return self._shared_line(request) or await self._dial(request)
        finally:
            if not lock.locked():
                self._dialing.pop(origin, None)

    async def _dial(self, request: TransportRequest) -> OpenLine:
        way, stream = await self._dialer.dial(request)
        origin = request.target.origin
        one = OpenLine((origin, way), line_over(stream, origin, self._max_head_bytes))
        self._pool.add(one)
        stream.on_lost = partial(self._pool.discard, one)
        if one.line.is_shared:
            self._shared[one.key] = one
        return one

    async def _ask(self, one: OpenLine, request: TransportRequest) -> "LineResponse":
        one.requests += 1
        if one.line.is_shared:
            self._shared[one.key] = one
        _, way = one.key
        try:
            answer = await one.line.send(request, spelling_of(way, request))
            if isinstance(way, ProxyWay) and way.forwards:
                _check_login(answer, way)
        except BaseException:
            self._spoil(one)
            raise
        return LineResponse(answer, partial(self._done, one, answer))

    async def _done(self, one: OpenLine, answer: ArrivingResponse, is_whole: bool) -> None:
        self._pool.leave_place()
        try:
            await one.line.end(answer, is_whole=is_whole)
        except BaseException:
            self._spoil(one)
            raise
        one.requests -= 1
        if not one.is_usable:
            self._forget(one)
        elif not one.requests:
            self._shared.pop(one.key, None)
            self._pool.keep(one.key, one)

    def _spoil(self, one: OpenLine) -> None:
        """A request on this line ended before its response did: the line takes no more."""
        one.requests -= 1
        one.is_spoiled = True
        self._forget(one)

    def _forget(self, one: OpenLine) -> None:
        if self._shared.get(one.key) is one:
            del self._shared[one.key]
        if not one.requests:
            one.abort()

    def _kept(self, request: TransportRequest) -> OpenLine | None:
        if shared := self._shared_line(request):
            return shared
        for way in self._dialer.ways(request):
            while one := self._pool.take((request.target.origin, way)):
                if one.is_usable:
                    return one
                one.abort()
        return None

    def _shared_line(self, request: TransportRequest) -> OpenLine | None:
        for way in self._dialer.ways(request) if self._shared else ():
            one = self._shared.get((request.target.origin, way))
            if one is not None and one.is_usable:
                return one
        return None


def _check_login(answer: ArrivingResponse, way: ProxyWay) -> None:
    """What a proxy says of itself is not an answer of the host."""
    if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        raise wants_login(way.proxy)


class LineResponse:
    """A response whose head has come, and its body as it comes."""

    def __init__(self, answer: ArrivingResponse, done: Callable[[bool], Awaitable[None]]) -> None:
        self.status, self.headers = answer.status, answer.headers
        self._body, self._done = answer.body, done
        self._is_whole = answer.is_whole

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._pieces()

    def take_whole(self) -> bytes | None:
        return None  # httpcore does not tell

    async def aclose(self) -> None:
        await self._done(self._is_whole)

    async def _pieces(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            yield piece
        self._is_whole = True
