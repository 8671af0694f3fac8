"""HTTP client built from httpx's parts, for proxies and for HTTP/2.

client     sends requests and keeps connections open for the next ones
dialing    opens a connection to a host: directly to a checked address, or through a proxy
streams    byte streams over our own sockets, for httpcore
frames     counts HTTP/2 frames before they are parsed
lines      one connection: requests and responses over HTTP/1.1 or HTTP/2

httpx's pool and its HTTP/1.1 client are not used (see docs/decisions). HTTP/1.1 responses are
parsed by the same code as on direct connections, so that they mean the same.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import Any, NamedTuple, Protocol

import httpcore
from h2.events import (
    ConnectionTerminated,
    Event,
    InformationalResponseReceived,
    ResponseReceived,
    StreamReset,
    TrailersReceived,
)
from h2.exceptions import DenialOfServiceError, ProtocolError

from minicrawl.fetch import proxy as handshakes
from minicrawl.fetch.connection import ConnectionPool, Connector, Pace
from minicrawl.fetch.http1 import ResponseParser, check_path, joined_headers, request_bytes
from minicrawl.fetch.proxy import Proxy, ProxyRoutes, wants_login
from minicrawl.fetch.resolver import Resolver, stand_in
from minicrawl.fetch.targets import ConnectTarget, Origin
from minicrawl.fetch.tls import TlsOpener, TlsServer, break_cycles
from minicrawl.fetch.transport import Fault, TransportRequest, described
from minicrawl.model import Failed, FailureKind, Refused

# ================================================================ streams
#
# Byte streams for httpcore, over sockets that this package opened.
#
# Laws: at most 256 KiB wait here to be read. The memory of a connection is freed when it ends.

_MOST_WAITING_BYTES = 256 * 1024


class LoopStream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """Stream over an asyncio transport. It calls `on_lost` when the connection has ended.

    The timeouts of httpcore are ignored: the whole request has one deadline.
    """

    def __init__(self) -> None:
        self.on_lost: Callable[[], None] = lambda: None
        self._transport: asyncio.Transport | None = None  # None before and after the connection
        self._came = bytearray()
        self._error: Exception | None = None
        self._progress: asyncio.Future[None] | None = None

    @classmethod
    async def over(cls, opened: socket.socket) -> LoopStream:
        """Return a stream over an open socket."""
        loop = asyncio.get_running_loop()
        _, stream = await loop.create_connection(cls, sock=opened)
        return stream

    @property
    def is_quiet(self) -> bool:
        """True if the connection is open and no unread bytes wait."""
        return self._transport is not None and not self._came

    @property
    def is_open(self) -> bool:
        """True if the connection has not ended."""
        return self._transport is not None

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------ called by httpcore

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while not self._came:
            if self._error is not None:
                raise copy(self._error)  # a traceback would keep the callers' local variables alive
            if self._transport is None:
                return b""
            await self._wait()
        piece = bytes(self._came[:max_bytes])
        del self._came[:max_bytes]
        if self._transport is not None and len(self._came) <= _MOST_WAITING_BYTES:
            self._transport.resume_reading()
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Write a request. What the kernel does not accept at once is buffered: requests are small.

        Writes after an orderly end by the server are dropped, so that the caller still reads the
        response that it sent before, and then the end.
        """
        if self._transport is not None:
            self._transport.write(buffer)
        elif self._error is not None:
            raise copy(self._error)

    async def aclose(self) -> None:
        self.abort()

    async def secure(self, opener: TlsOpener, server: TlsServer) -> LoopStream:
        """Start TLS on this connection."""
        if self._transport is None:
            raise ConnectionResetError("the connection ended before TLS began")
        try:
            await opener.begin_over(self._transport, self, server)
        except BaseException:
            self.abort()
            self._transport = None  # TLS reports an end only after its handshake
            raise
        if self._transport is None:
            raise ConnectionResetError("the connection ended in the handshake of TLS")
        return self

    def get_extra_info(self, info: str) -> Any:
        if self._transport is None:
            return None
        return self._transport.get_extra_info(info)

    # ------------------------------------------------------------ called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._came += data
        if self._transport is not None and len(self._came) > _MOST_WAITING_BYTES:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            break_cycles(self._transport)
        self._transport = None
        self._error = exc and exc.with_traceback(None)
        self._wake()
        self.on_lost()

    async def _wait(self) -> None:
        self._progress = asyncio.get_running_loop().create_future()
        try:
            await self._progress
        finally:
            self._progress = None

    def _wake(self) -> None:
        if self._progress and not self._progress.done():
            self._progress.set_result(None)


# ================================================================ frames
#
# HTTP/2 frames, counted before they are parsed.
#
# Laws: a server cannot keep the crawler busy with frames that carry next to nothing: their number
# per request is limited. After `_AT_ONCE` frames, other connections get a turn.
#
# frame   a 9-byte header with length and type, and a payload; DATA frames carry the body

_HEAD_BYTES = 9
_DATA = 0
_AT_ONCE = 100  # a few milliseconds
_FREE, _FREE_A_REQUEST = 2_000, 1_000
"""Number of frames that may be empty. A 10 MB page takes about 700, a typical response 3."""
_TINY_BYTES = 8


class FrameMeter:
    """Frame counter of one connection. `requests` is the number sent on it so far."""

    def __init__(self) -> None:
        self.requests = 0
        self._frames = self._data_bytes = 0
        self._left = 0  # payload bytes of the current frame
        self._head = b""  # partial header of the next frame

    def take(self, piece: bytes) -> int:
        """Return how many bytes of `piece` to parse now. Raises Fault for too many empty frames."""
        at, last = 0, self._frames + _AT_ONCE
        while at < len(piece) and self._frames < last:
            if self._left:
                step = min(self._left, len(piece) - at)
                self._left -= step
                at += step
                continue
            missing = _HEAD_BYTES - len(self._head)
            self._head += piece[at : at + missing]
            at += missing
            if len(self._head) == _HEAD_BYTES:
                self._begin(self._head)
                self._head = b""
        return min(at, len(piece))

    def _begin(self, head: bytes) -> None:
        self._left = int.from_bytes(head[:3])
        self._frames += 1
        if head[3] == _DATA:
            self._data_bytes += self._left
        free = _FREE + _FREE_A_REQUEST * self.requests
        if self._frames > free and self._data_bytes < (self._frames - free) * _TINY_BYTES:
            raise Fault(FailureKind.PROTOCOL, "HTTP/2: frames that hold next to nothing")


class MeteredStream(httpcore.AsyncNetworkStream):
    """Stream that hands on a limited number of frames at a time."""

    def __init__(self, stream: LoopStream) -> None:
        self.meter = FrameMeter()
        self._stream = stream
        self._came = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._came:
            await asyncio.sleep(0)
        else:
            self._came = await self._stream.read(max_bytes, timeout)
        end = self.meter.take(self._came)
        piece, self._came = self._came[:end], self._came[end:]
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


# ================================================================ lines
#
# Lines: one connection to a server, with its requests and responses, over HTTP/1.1 or HTTP/2.
#
# line     an open connection
# shared   a line that carries several requests at once, as HTTP/2 does
#
# Laws: HTTP/1.1 responses are parsed by the same code as on direct connections. An HTTP/2 head has
# :status and no other pseudo-header field (RFC 9113, 8.3); a malformed response does not affect
# concurrent ones. Whatever a server does raises a Fault of a named kind, or an OSError. A line
# takes no further requests if a response was not read to its end: the server cannot be told to
# stop.

_READ_BYTES = 64 * 1024
HTTP2 = "h2"
"""Name of HTTP/2 in ALPN."""


class Spelling(NamedTuple):
    """Request target as it is written, and extra headers for a proxy."""

    path: str
    headers: Sequence[tuple[bytes, bytes]] = ()


class ArrivingResponse(NamedTuple):
    """Head of a response, with its body as a stream. `is_whole`: the body is known to be empty."""

    status: int
    headers: dict[str, str]
    body: AsyncIterator[bytes]
    is_whole: bool = False


class Line(Protocol):
    """Open connection. `is_unanswered`: no byte has arrived for the last request."""

    is_unanswered: bool

    @property
    def is_shared(self) -> bool: ...

    @property
    def is_usable(self) -> bool:
        """True if another request may be sent on it."""
        ...

    async def send(self, request: TransportRequest, spelling: Spelling) -> ArrivingResponse:
        """Send a request and wait for the head of its response."""
        ...

    def abort(self) -> None:
        """Close the connection immediately."""

    async def end(self, answer: ArrivingResponse, *, is_whole: bool) -> None:
        """Finish a response. `is_whole` says whether its body was read to the end."""
        ...


def line_over(stream: LoopStream, origin: Origin, max_head_bytes: int) -> Line:
    """Return a line for the protocol that the server negotiated."""
    secured = stream.get_extra_info("ssl_object")
    if secured is not None and secured.selected_alpn_protocol() == HTTP2:
        return Http2Line(stream, origin, max_head_bytes)
    return Http1Line(stream, max_head_bytes)


class Http1Line:
    """Line with one request at a time."""

    is_shared = False

    def __init__(self, stream: LoopStream, max_head_bytes: int) -> None:
        self._stream, self._max_head_bytes = stream, max_head_bytes
        self._parser: ResponseParser | None = None
        self.is_unanswered = True

    @property
    def is_usable(self) -> bool:
        is_free = self._parser is None or self._parser.keeps_connection
        return is_free and self._stream.is_quiet

    async def send(self, request: TransportRequest, spelling: Spelling) -> ArrivingResponse:
        parser = self._parser = ResponseParser(self._max_head_bytes)
        self.is_unanswered = True
        headers = [*request.headers, *spelling.headers]
        origin = request.target.origin
        written = request_bytes(origin.name, spelling.path, headers, request.method)
        await self._stream.write(written)
        begun = b""
        while parser.head is None:
            begun = await self._more(parser)
        return ArrivingResponse(parser.head.status, parser.head.headers, self._body(parser, begun))

    async def end(self, answer: ArrivingResponse, *, is_whole: bool) -> None:
        pass

    def abort(self) -> None:
        self._stream.abort()

    async def _body(self, parser: ResponseParser, begun: bytes) -> AsyncIterator[bytes]:
        if begun:
            yield begun
        while not parser.ended:
            if piece := await self._more(parser):
                yield piece

    async def _more(self, parser: ResponseParser) -> bytes:
        """Read more bytes and return the part of the body in them."""
        if parser.has_more:
            return parser.feed(b"")
        if parser.fault:
            raise parser.fault
        piece = await self._stream.read(_READ_BYTES)
        if piece:
            self.is_unanswered = False
            return parser.feed(piece)
        parser.end_connection()
        return b""


class Http2Line:
    """Line with concurrent requests, each on an HTTP/2 stream of its own."""

    is_shared = True

    def __init__(self, stream: LoopStream, origin: Origin, max_head_bytes: int) -> None:
        self._stream, self._max_head_bytes = stream, max_head_bytes
        self._scheme = b"https" if origin.is_tls else b"http"
        self._host, self._port = origin.host.encode(), origin.port
        at = httpcore.Origin(self._scheme, self._host, self._port)
        self._metered = MeteredStream(stream)
        self._connection = _CheckedConnection(at, self._metered)
        self._has_leftovers = False
        self._responses: dict[int, httpcore.Response] = {}
        self.is_unanswered = True

    @property
    def is_usable(self) -> bool:
        return not self._has_leftovers and self._stream.is_open and self._connection.is_available()

    async def send(self, request: TransportRequest, spelling: Spelling) -> ArrivingResponse:
        self.is_unanswered = True
        self._metered.meter.requests += 1
        url = httpcore.URL(
            scheme=self._scheme,
            host=self._host,
            port=self._port,
            target=spelling.path.encode("ascii"),
        )
        headers = [(b"Host", request.target.origin.name.encode()), *request.headers]
        asked = httpcore.Request(request.method, url, headers=headers)
        with _naming_faults():
            response = await self._connection.handle_async_request(asked)
        self.is_unanswered = False
        self._check_size(response)
        answer = ArrivingResponse(response.status, _headers(response), self._body(response))
        self._responses[id(answer.body)] = response
        if request.method != "HEAD" and answer.headers.get("content-length") != "0":
            return answer
        async for _ in answer.body:  # the end of the body is here or imminent
            pass
        return answer._replace(is_whole=True)

    async def end(self, answer: ArrivingResponse, *, is_whole: bool) -> None:
        self._has_leftovers |= not is_whole
        with _naming_faults():
            await self._responses.pop(id(answer.body)).aclose()

    def abort(self) -> None:
        self._stream.abort()

    def _check_size(self, response: httpcore.Response) -> None:
        if sum(len(name) + len(value) for name, value in response.headers) > self._max_head_bytes:
            detail = f"a head of more than {self._max_head_bytes:,} bytes"
            raise Fault(FailureKind.TOO_LARGE, detail)

    async def _body(self, response: httpcore.Response) -> AsyncIterator[bytes]:
        with _naming_faults():
            async for piece in response.aiter_stream():
                yield piece


class _CheckedConnection(httpcore.AsyncHTTP2Connection):
    """HTTP/2 connection that refuses malformed heads.

    httpcore would treat a head without a status as a success.
    """

    def __init__(self, origin: httpcore.Origin, stream: MeteredStream) -> None:
        super().__init__(origin, stream)
        self._malformed: dict[int, str] = {}

    async def _read_incoming_data(self, request: httpcore.Request) -> list[Event]:
        events: list[Event] = await super()._read_incoming_data(request)
        for event in events:
            if isinstance(event, _Head) and (why := _why_malformed(event)):
                self._malformed.setdefault(event.stream_id, why)
        return events

    async def _receive_stream_event(self, request: httpcore.Request, stream_id: int) -> Any:
        event = await super()._receive_stream_event(request, stream_id)
        if why := self._malformed.pop(stream_id, ""):
            raise Fault(FailureKind.PROTOCOL, f"HTTP/2: {why}")
        return event


_Head = ResponseReceived | InformationalResponseReceived | TrailersReceived
_STATUS = re.compile(rb"[1-9][0-9]{2}")


def _why_malformed(event: _Head) -> str:
    """Return what is wrong with the pseudo-header fields of a head or of trailers, or ""."""
    fields = list(event.headers or ())
    pseudo = [(bytes(name), bytes(value)) for name, value in fields if name.startswith(b":")]
    if isinstance(event, TrailersReceived):
        return "trailers with a pseudo field" if pseudo else ""
    if b":status" not in dict(pseudo):
        return "a head without :status"
    if len(pseudo) > 1 or not fields[0][0].startswith(b":"):
        return "a head with other pseudo fields than :status, or with fields before it"
    return "" if _STATUS.fullmatch(pseudo[0][1]) else "a :status that is none"


def _headers(response: httpcore.Response) -> dict[str, str]:
    """Return the headers without Transfer-Encoding, which HTTP/2 does not have."""
    found = joined_headers(
        (name.decode("latin-1"), value.decode("latin-1").strip())
        for name, value in response.headers
    )
    found.pop("transfer-encoding", None)
    return found


@contextmanager
def _naming_faults() -> Iterator[None]:
    """Convert exceptions of httpcore and h2 into Faults."""
    try:
        yield
    except (ProtocolError, httpcore.ProtocolError, httpcore.ConnectionNotAvailable) as error:
        raise _fault(error) from error
    except ValueError as error:  # a status that is not a number
        raise Fault(FailureKind.PROTOCOL, f"no HTTP/2: {error}") from error


def _fault(error: Exception) -> Fault:
    cause = error.args[0] if error.args else ""
    match cause:
        case StreamReset():
            return Fault(FailureKind.RESET, f"the server reset the stream: {_code(cause)}")
        case ConnectionTerminated():
            return Fault(FailureKind.RESET, f"the server ended the connection: {_code(cause)}")
        case DenialOfServiceError():
            error = cause
    if isinstance(error, DenialOfServiceError):
        return Fault(FailureKind.TOO_LARGE, f"HTTP/2: {error}")
    if isinstance(error, httpcore.RemoteProtocolError | httpcore.ConnectionNotAvailable):
        return Fault(FailureKind.RESET, "the connection ended before the response did")
    return Fault(FailureKind.PROTOCOL, f"HTTP/2: {error}")


def _code(event: StreamReset | ConnectionTerminated) -> str:
    code = event.error_code
    return getattr(code, "name", None) or f"error {code}"


# ================================================================ dialing
#
# Dialing: opens a connection to a host, directly or through a proxy.
#
# way   an address, or a proxy with the host it is asked for; connections to one host differ in it
#
# Laws: without a proxy, or through a socks5 proxy, a connection goes to an address that the request
# names. Other proxies are given the host name, unless a `--resolve` rule maps it to an address. A
# proxy that failed recently is tried after all others. If a proxy reports that the host is down, no
# other proxy is asked.

TlsFor = Callable[[str], ssl.SSLContext]
_MOST_ADDRESSES = 4
_ANY_PORT = 80  # any allowed port: proxies may listen where web servers do not
_REACH_S = 10.0
"""Time limit to connect and log in to a proxy. It is nearby; only hosts behind it are slow."""


class ProxyWay(NamedTuple):
    """Proxy, and the host that it connects to.

    If `forwards`, the proxy reads the request itself.
    """

    proxy: Proxy
    host: str
    port: int
    forwards: bool


Way = ConnectTarget | ProxyWay


class Dialer(Protocol):
    """Opener of connections."""

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        """Return the ways to the host, best first."""
        ...

    async def dial(self, request: TransportRequest) -> tuple[Way, LoopStream]:
        """Open a connection by the first way that works, including TLS for https."""
        ...


class DirectDialer:
    """Dialer to the addresses of a request."""

    def __init__(self, connector: Connector, tls: TlsFor) -> None:
        self._connector, self._tls, self._opener = connector, tls, TlsOpener()

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        return request.places

    async def dial(self, request: TransportRequest) -> tuple[Way, LoopStream]:
        begin = partial(_begin, self._opener, _server_of(request.target.origin, self._tls))
        return await self._connector.connect(request.places, begin)


class ProxyDialer:
    """Dialer through the proxies of a host. `tls_of_proxies` is for https proxies."""

    def __init__(
        self,
        routes: ProxyRoutes,
        connector: Connector,
        resolver: Resolver,
        tls: TlsFor,
        tls_of_proxies: TlsFor,
        reach_s: float = _REACH_S,
    ) -> None:
        self._routes, self._connector, self._resolver = routes, connector, resolver
        self._tls, self._tls_of_proxies, self._reach_s = tls, tls_of_proxies, reach_s
        self._opener = TlsOpener()
        self._failed: dict[Proxy, int] = {}  # by the sequence number of its last failure
        self._failures = count(1)

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        return [way for proxy in self._in_order(request) for way in _ways(proxy, request)]

    async def dial(self, request: TransportRequest) -> tuple[Way, LoopStream]:
        failed: Fault | None = None
        for proxy in self._in_order(request):
            try:
                found = await self._dial_through(proxy, request)
            except Fault as fault:
                if fault.kind is not FailureKind.PROXY:
                    raise
                self._failed[proxy] = next(self._failures)
                failed = fault
            else:
                self._failed.pop(proxy, None)
                return found
        assert failed, "a host without a proxy is not asked through one"
        raise failed

    def _in_order(self, request: TransportRequest) -> list[Proxy]:
        proxies = self._routes.proxies_of(request.target.origin)
        return sorted(proxies, key=lambda proxy: self._failed.get(proxy, 0))

    async def _dial_through(
        self, proxy: Proxy, request: TransportRequest
    ) -> tuple[Way, LoopStream]:
        server = _server_of(request.target.origin, self._tls)
        *others, last = _ways(proxy, request)
        for way in others:
            try:
                return way, await self._dial_by(way, server)
            except Fault as fault:
                if fault.kind is not FailureKind.CONNECT:
                    raise
        return last, await self._dial_by(last, server)

    async def _dial_by(self, way: ProxyWay, server: TlsServer | None) -> LoopStream:
        stream = await self.reach(way.proxy)
        try:
            await _lead(stream, way)
            return stream if server is None else await stream.secure(self._opener, server)
        except BaseException as error:
            stream.abort()
            if isinstance(error, OSError) and not isinstance(error, ssl.SSLError):
                raise Fault(FailureKind.CONNECT, str(error)) from error
            raise

    async def reach(self, proxy: Proxy) -> LoopStream:
        """Return a connection to the proxy itself, logged in. All failures are the proxy's."""
        try:
            async with asyncio.timeout(self._reach_s):
                return await self._reach(proxy)
        except TimeoutError:
            raise handshakes.fault_of(proxy, "is silent") from None
        except (OSError, Fault) as error:
            if isinstance(error, Fault) and error.kind is FailureKind.PROXY:
                raise
            raise handshakes.fault_of(proxy, described(error)) from error

    async def _reach(self, proxy: Proxy) -> LoopStream:
        found = await self._resolver.locate(proxy.host, _ANY_PORT)
        if isinstance(found, Failed | Refused):
            raise handshakes.fault_of(proxy, found.detail)
        places = [place._replace(port=proxy.port) for place in found]
        server: TlsServer | None = None
        if proxy.scheme == "https":
            server = TlsServer(self._tls_of_proxies(proxy.host), proxy.host, proxy.port)
        begin = partial(_begin, self._opener, server)
        _, stream = await self._connector.connect(places, begin)
        if proxy.is_socks:
            try:
                await handshakes.greet(stream, proxy)
            except BaseException:
                stream.abort()
                raise
        return stream


def _server_of(origin: Origin, tls_for: TlsFor) -> TlsServer | None:
    if not origin.is_tls:
        return None
    name = origin.host.rstrip(".")
    return TlsServer(tls_for(name), name, origin.port)


async def _begin(opener: TlsOpener, server: TlsServer | None, opened: socket.socket) -> LoopStream:
    if server is None:
        return await LoopStream.over(opened)
    return await opener.begin(opened, LoopStream(), server)


def _ways(proxy: Proxy, request: TransportRequest) -> list[ProxyWay]:
    """Return what to ask a proxy for: the host name, or some of its addresses."""
    origin, places = request.target.origin, request.places
    if proxy.resolves_names and places[0].address in (origin.host, stand_in(origin.host)):
        forwards = not proxy.is_socks and not origin.is_tls
        return [ProxyWay(proxy, origin.host, origin.port, forwards)]
    return [ProxyWay(proxy, *place, False) for place in places[:_MOST_ADDRESSES]]


async def _lead(stream: LoopStream, way: ProxyWay) -> None:
    """Make the proxy connect to the host, unless it forwards requests."""
    try:
        if way.proxy.is_socks:
            await handshakes.connect(stream, way.proxy, way.host, way.port)
        elif not way.forwards:
            await handshakes.tunnel(stream, way.proxy, way.host, way.port)
    except OSError as error:
        raise handshakes.fault_of(way.proxy, str(error)) from error


def spelling_of(way: Way, request: TransportRequest) -> Spelling:
    """Return the request target; a forwarding proxy needs the full URL."""
    if isinstance(way, ProxyWay) and way.forwards:
        return Spelling(request.target.url, handshakes.login_header(way.proxy))
    return Spelling(request.target.path)


# ================================================================ client
#
# Client: sends requests over lines, and keeps lines open for the next requests.
#
# Laws: ending a request early, by cancellation too, closes its line; a line with other requests on
# it stays open for these, but takes no new ones. A host has one HTTP/2 line. The remaining
# guarantees are those of `connection.ConnectionPool`, as for the HTTP/1.1 client.

LineKey = tuple[Origin, Way]


class OpenLine:
    """Line with its destination and the number of requests on it."""

    def __init__(self, key: LineKey, line: Line) -> None:
        self.key, self.line = key, line
        self.requests = 0
        self.is_spoiled = False

    @property
    def is_usable(self) -> bool:
        """True if another request may be sent on it."""
        return not self.is_spoiled and self.line.is_usable

    def abort(self) -> None:
        """Close the connection immediately."""
        self.line.abort()


class HttpxClient:
    """Transport over lines of HTTP/1.1 and HTTP/2."""

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
        self._shared: dict[LineKey, OpenLine] = {}  # lines with requests on them
        self._dialing: dict[Origin, asyncio.Lock] = {}

    async def send(self, request: TransportRequest) -> LineResponse:
        return await self._pool.in_place(partial(self._send, request))

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _send(self, request: TransportRequest) -> LineResponse:
        check_path(request.target.url)
        if kept := self._kept(request):
            answer = self._ask(kept, request)
            found = await self._pool.try_kept(answer, lambda: kept.line.is_unanswered)
            if found is not None:
                return found
        return await self._ask(await self._begun(request), request)

    async def _begun(self, request: TransportRequest) -> OpenLine:
        """Return a new line. Requests to the same host wait for it, in case it can be shared."""
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

    async def _ask(self, one: OpenLine, request: TransportRequest) -> LineResponse:
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
        """Stop using a line after a request on it ended early."""
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
    """Raise a Fault for a 407: it is the proxy's answer, not the host's."""
    if answer.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
        raise wants_login(way.proxy)


class LineResponse:
    """Response whose head has arrived, with its body as a stream."""

    def __init__(self, answer: ArrivingResponse, done: Callable[[bool], Awaitable[None]]) -> None:
        self.status, self.headers = answer.status, answer.headers
        self._body, self._done = answer.body, done
        self._is_whole = answer.is_whole

    @property
    def body(self) -> AsyncIterator[bytes]:
        return self._pieces()

    def take_whole(self) -> bytes | None:
        return None  # httpcore does not say whether the body is complete

    async def aclose(self) -> None:
        await self._done(self._is_whole)

    async def _pieces(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            yield piece
        self._is_whole = True
