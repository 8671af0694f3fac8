"""HTTP client over its own connections: HTTP/1.1, and HTTP/2 where servers choose it.

connection   one HTTP/1.1 connection, one request at a time
byte stream  one connection that is read and written in bytes, for proxies and HTTP/2
dialing      connects to the first address of a host that answers
idle         connections that wait for the next request to their host
client       sends requests and keeps connections open for the next ones
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Sequence
from copy import copy
from functools import partial
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from minicrawl.fetch.http import (
    EXPECTED,
    ConnectTarget,
    Fault,
    Head,
    Origin,
    ResponseParser,
    ResponseStream,
    TransportRequest,
    request_bytes,
)
from minicrawl.fetch.tls import HTTP2, TlsOpener, TlsServer, break_cycles
from minicrawl.model import FailureKind, Wire

if TYPE_CHECKING:
    from minicrawl.fetch.http2 import Http2Connection

T = TypeVar("T")
P = TypeVar("P", bound=asyncio.BaseProtocol)

# ================================================================ connection
#
# One connection to a server: one request at a time, with its response as a stream.
#
# Laws: while more than 256 KiB of a body wait here to be read, nothing more is received. If bytes
# arrive without a request, the connection is closed. The exception that ended a connection keeps no
# part of the response in memory. The memory of a connection is freed when it ends.
#
# read buffer   where the event loop stores received bytes. They are copied out at once, so all
#               connections share one buffer. Allocating one per read would cost ten times more
#               than the read itself.

READ_BUFFER_BYTES = 64 * 1024


class TlsSession(NamedTuple):
    """Version, as WARC-Protocol names it, and cipher suite; both empty without TLS."""

    version: str = ""
    cipher: str = ""


PLAINTEXT = TlsSession()


def tls_session(transport: asyncio.BaseTransport) -> TlsSession:
    """Return what the TLS handshake of a connection agreed on."""
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        return PLAINTEXT
    version, (cipher, _, _) = tls.version() or "", tls.cipher() or ("", "", 0)
    return TlsSession(version.lower().replace("tlsv", "tls/"), cipher)


_MOST_WAITING_BYTES = 256 * 1024


class Connection(asyncio.BufferedProtocol):
    """Connection that calls `on_made` and `on_lost` with itself when it begins and ends."""

    def __init__(
        self,
        on_made: Callable[[Connection], None],
        on_lost: Callable[[Connection], None],
        max_head_bytes: int,
        read_buffer: memoryview,
    ) -> None:
        self._read_buffer = read_buffer
        self._on_made = on_made
        self._on_lost = on_lost
        self._max_head_bytes = max_head_bytes
        self._transport: asyncio.Transport | None = None  # None before and after the connection
        self._parser: ResponseParser | None = None
        self._body: bytes | bytearray = b""  # received and not read yet
        self._is_paused = False
        self._error: Exception | None = None
        self._progress: asyncio.Future[None] | None = None
        self._request = b""
        self.tls = PLAINTEXT

    async def send(self, request: bytes) -> Head:
        """Send a request and wait for the head of its response."""
        self._request = request
        parser = self._parser = ResponseParser(self._max_head_bytes)
        if self._transport is None:
            parser.end_connection()
        else:
            self._transport.write(request)
        while parser.head is None:
            await self._wait(parser)
        return parser.head

    async def read(self) -> bytes:
        """Return the next bytes of the body; empty at its end."""
        assert self._parser
        while not self._body and not self._parser.ended:
            await self._wait(self._parser)
        return self._take()

    def take_whole(self) -> bytes | None:
        """Return the unread rest of the body if it has arrived completely, else None."""
        return self._take() if self._parser is not None and self._parser.ended else None

    def _take(self) -> bytes:
        body, self._body = self._body, b""
        if self._is_paused:
            self._resume()
        return bytes(body)  # usually the body arrived in one piece, and this does not copy

    def wire(self, address: str) -> Wire:
        """Return the heads of the last exchange, which went to this address."""
        assert self._parser
        version = self._parser.raw_head[:8].decode("latin-1").lower()
        protocols = (version, *filter(None, (self.tls.version,)))
        raw = self._parser.raw_head
        request, blank_line, _ = self._request.partition(b"\r\n\r\n")
        return Wire(request + blank_line, raw, address, protocols, self.tls.cipher)

    @property
    def is_unanswered(self) -> bool:
        """True if no byte has arrived for the last request."""
        return not (self._parser and self._parser.has_begun)

    @property
    def is_usable(self) -> bool:
        """True if the connection has not ended, so that a request may be sent on it."""
        return self._transport is not None

    @property
    def is_reusable(self) -> bool:
        """True if the last response is complete and the server keeps the connection open."""
        return (
            self._transport is not None
            and self._parser is not None
            and self._parser.keeps_connection
        )

    def forget_response(self) -> None:
        """Release the last response."""
        self._body, self._parser, self._request = b"", None, b""
        if self._is_paused:
            self._resume()

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self, parser: ResponseParser) -> None:
        """Wait for more of the response. Raise the error that ended it."""
        if error := self._error or parser.fault:
            raise copy(error)  # a traceback would keep the callers' local variables alive
        self._progress = asyncio.get_running_loop().create_future()
        try:
            await self._progress
        finally:
            self._progress = None

    # ------------------------------------------------------------ called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.tls = tls_session(transport)
        self._on_made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        # Bytes that a server sends without a request could be taken for the response to the next
        # one, so the connection is given up.
        if self._parser is None:
            self.abort()
            return
        self._feed(self._parser, bytes(self._read_buffer[:nbytes]))

    def _feed(self, parser: ResponseParser, piece: bytes) -> None:
        if self._body:
            self._body = bytearray(self._body) if isinstance(self._body, bytes) else self._body
            self._body += parser.feed(piece)
        else:
            self._body = parser.feed(piece)
        has_more = parser.has_more
        if self._transport is not None and (has_more or len(self._body) > _MOST_WAITING_BYTES):
            self._is_paused = True
            self._transport.pause_reading()
        # Not in a loop here: one piece may hold thousands of tiny chunks, and other connections
        # would wait until all are parsed.
        if has_more:
            asyncio.get_running_loop().call_soon(self._go_on, parser)
        self._wake()

    def _go_on(self, parser: ResponseParser) -> None:
        """Parse more of the received bytes, after other connections had their turn."""
        if self._parser is parser and parser.has_more:
            self._feed(parser, b"")
            if self._is_paused:
                self._resume()

    def _resume(self) -> None:
        """Read on, unless more than enough of the response waits to be parsed or taken."""
        is_full = self._parser is not None and (
            self._parser.has_more or len(self._body) > _MOST_WAITING_BYTES
        )
        if self._transport is not None and not is_full:
            self._is_paused = False
            self._transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is not None:
            # Transport and protocol refer to each other. Such a cycle keeps its buffers until the
            # garbage collector runs, long after the connection has ended.
            break_cycles(self._transport)
        self._transport = None
        self._error = error and error.with_traceback(None)
        if self._parser and not error:
            self._parser.end_connection()
        self._wake()
        self._on_lost(self)

    def _wake(self) -> None:
        if self._progress and not self._progress.done():
            self._progress.set_result(None)


# ================================================================ byte stream
#
# Connection that is read and written in bytes: for handshakes with proxies, and for HTTP/2.
#
# Laws: while more than 256 KiB wait here to be read, nothing more is received. The memory of a
# connection is freed when it ends.


class ByteStream(asyncio.Protocol):
    """Stream over an asyncio transport. It calls `on_lost` when the connection has ended."""

    def __init__(self) -> None:
        self.on_lost: Callable[[], None] = lambda: None
        self._transport: asyncio.Transport | None = None  # None before and after the connection
        self._received = bytearray()
        self._error: Exception | None = None
        self._progress: asyncio.Future[None] | None = None
        self.tls = PLAINTEXT

    @property
    def is_open(self) -> bool:
        """True if the connection has not ended."""
        return self._transport is not None

    async def read(self, max_bytes: int) -> bytes:
        """Return some bytes; empty at the end."""
        while not self._received:
            if self._error is not None:
                raise copy(self._error)  # a traceback would keep the callers' local variables alive
            if self._transport is None:
                return b""
            self._progress = asyncio.get_running_loop().create_future()
            try:
                await self._progress
            finally:
                self._progress = None
        piece = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if self._transport is not None and len(self._received) <= _MOST_WAITING_BYTES:
            self._transport.resume_reading()
        return piece

    def write(self, data: bytes) -> None:
        """Write a request. What the kernel does not accept at once is buffered: requests are small.

        Writes after an orderly end by the server are dropped, so that the caller still reads the
        response that it sent before, and then the end.
        """
        if self._transport is not None:
            self._transport.write(data)
        elif self._error is not None:
            raise copy(self._error)

    def abort(self) -> None:
        """Close the connection immediately."""
        if self._transport is not None:
            self._transport.abort()

    async def hand_over(
        self, make: Callable[[str | None], P], opener: TlsOpener, server: TlsServer | None
    ) -> P:
        """Give the connection to the protocol that `make` returns, under TLS if there is a server.

        Unread bytes are an error: the server sent them before it received any request.
        """
        transport, self._transport = self._transport, None
        if transport is None or self._received:
            if transport is not None:
                transport.abort()
            raise self._error or ConnectionResetError("the connection ended before the request")
        if server is not None:
            return await opener.begin_over(transport, make, server)
        protocol = make(None)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        return protocol

    # ------------------------------------------------------------ called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.tls = tls_session(transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._transport is not None and len(self._received) > _MOST_WAITING_BYTES:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            break_cycles(self._transport)
        self._transport = None
        self._error = exc and exc.with_traceback(None)
        self._wake()
        self.on_lost()

    def _wake(self) -> None:
        if self._progress and not self._progress.done():
            self._progress.set_result(None)


# ================================================================ dialing
#
# Dialing: connects to the first address of a host that answers (Happy Eyeballs, RFC 8305).
#
# Laws: an unresponsive address delays the next by a quarter of a second; a refused connection does
# not delay it. Only one connection to a host is used; others that the race opened are closed. Few
# addresses are tried, and addresses that failed recently come last.
#
# begin   setup of a new connection, such as the TLS handshake. While there are other addresses to
#         try, it has a time limit.

_HEAD_START_S = 0.25  # as RFC 8305 recommends
_BEGIN_S = 3.0  # per address, while there are others to try
_MOST_PLACES = 4  # per request; the next request tries other addresses
_MOST_DEAD = 1000


class Connector:
    """Opener of connections.

    `timeout_s` is the time limit of a request; `bind` are the local addresses to connect from. Each
    address has a head start before the next one is tried.
    """

    def __init__(
        self, timeout_s: float, bind: Iterable[str] = (), head_start_s: float = _HEAD_START_S
    ) -> None:
        self._timeout_s, self._head_start_s = timeout_s, head_start_s
        self._own = {_family(address): address for address in bind}
        # Sequence number of the last failure, by address; oldest failure first.
        self._dead: OrderedDict[ConnectTarget, int] = OrderedDict()
        self._failures = count(1)

    async def connect(
        self, places: Iterable[ConnectTarget], begin: Callable[[socket.socket], Awaitable[T]]
    ) -> tuple[ConnectTarget, T]:
        """Return the first place that answers, with its connection after `begin`.

        A TLS error is not retried: it would be the same at the other addresses.
        """
        # Stable: addresses that never failed keep the order of the resolver, and the one that
        # failed longest ago is retried before the others that failed.
        left = sorted(places, key=lambda place: self._dead.get(place, 0))[:_MOST_PLACES]
        while True:
            place, opened = await self._first_open(left)
            left = [it for it in left if it != place]
            try:
                async with asyncio.timeout(self._begin_s(len(left)) if left else None):
                    begun = await begin(opened)
            except ssl.SSLError:
                raise
            except TimeoutError:
                failed = Fault(FailureKind.CONNECT, f"{place.address} is silent")
            except OSError as error:
                why = str(error) or f"{place.address} hung up in the handshake of TLS"
                failed = Fault(FailureKind.CONNECT, why)
            # Perhaps the request's deadline passed while this address was silent. The address must
            # come last at the next request, or each try would spend its time there.
            except asyncio.CancelledError:
                self._remember_dead(place)
                raise
            else:
                self._dead.pop(place, None)
                return place, begun
            self._remember_dead(place)
            if not left:
                raise failed

    def _begin_s(self, others: int) -> float:
        """Return the time limit of `begin`, which leaves time for the `others` still to try."""
        return min(_BEGIN_S, self._timeout_s / 2 / others)

    async def _first_open(
        self, places: Sequence[ConnectTarget]
    ) -> tuple[ConnectTarget, socket.socket]:
        """Return the first place that accepts a connection, with its socket."""
        if len(places) == 1:
            return places[0], await self._open(places[0])
        waiting = list(places)
        racing: dict[asyncio.Task[socket.socket], ConnectTarget] = {}
        failed: BaseException | None = None
        try:
            while waiting or racing:
                if waiting:
                    place = waiting.pop(0)
                    racing[asyncio.create_task(self._open(place))] = place
                ended, _ = await asyncio.wait(
                    racing,
                    timeout=self._head_start_s if waiting else None,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in ended:
                    if (failed := task.exception()) is None:
                        return racing.pop(task), task.result()
                    del racing[task]
            assert failed, "a request names at least one address"
            raise failed
        finally:
            await _end(racing)

    async def _open(self, place: ConnectTarget) -> socket.socket:
        """Return a connected socket."""
        family = _family(place.address)
        opened = socket.socket(family, socket.SOCK_STREAM)
        try:
            opened.setblocking(False)
            if own := self._own.get(family):
                opened.bind((own, 0))
            elif self._own:
                raise OSError("an address of another family than --bind-address")
            await asyncio.get_running_loop().sock_connect(opened, tuple(place))
        except BaseException as error:
            opened.close()
            self._remember_dead(place)
            if isinstance(error, OSError):
                raise Fault(FailureKind.CONNECT, str(error)) from error
            raise
        return opened

    def _remember_dead(self, place: ConnectTarget) -> None:
        """Try this address last in the future."""
        self._dead[place] = next(self._failures)
        self._dead.move_to_end(place)
        if len(self._dead) > _MOST_DEAD:
            self._dead.popitem(last=False)


async def _end(racing: Collection[asyncio.Task[socket.socket]]) -> None:
    """Cancel the pending attempts, and close the sockets that they opened meanwhile."""
    for task in racing:
        task.cancel()
    if racing:
        await asyncio.wait(racing)
    for task in racing:
        if not task.cancelled() and task.exception() is None:
            task.result().close()


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


Way = Hashable
"""Route to a host: one of its addresses, or a proxy with the host. Only dialers look inside."""


def address_of(way: Way) -> str:
    """Return the address that the connection goes to; empty if it goes through a proxy."""
    return way.address if isinstance(way, ConnectTarget) else ""


TlsFor = Callable[[str], ssl.SSLContext]
"""Function from a host to its TLS context."""


class Dialer(Protocol):
    """Opener of the connections of a client.

    Connections to one host by different ways are not interchangeable.
    """

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        """Return the ways to the host, best first."""
        ...

    async def dial(
        self, request: TransportRequest, make: Callable[[str | None], P]
    ) -> tuple[Way, P]:
        """Open a connection by the first way that works, including TLS for https.

        `make` returns the protocol of the connection. Its argument is the name of the protocol that
        the TLS handshake negotiated, or None.
        """
        ...

    def request_bytes(self, way: Way, request: TransportRequest) -> bytes:
        """Return the HTTP/1.1 request for this way."""
        ...

    def check(self, way: Way, status: int) -> None:
        """Raise a Fault if a response with this status does not come from the host."""


class DirectDialer:
    """Dialer to the addresses that requests name."""

    def __init__(self, connector: Connector, tls_for: TlsFor) -> None:
        self.connector, self.tls_for, self.opener = connector, tls_for, TlsOpener()

    def ways(self, request: TransportRequest) -> Sequence[Way]:
        return request.places

    async def dial(
        self, request: TransportRequest, make: Callable[[str | None], P]
    ) -> tuple[Way, P]:
        begin = partial(self.begin, self.server_of(request.target.origin), make)
        return await self.connector.connect(request.places, begin)

    def server_of(self, origin: Origin) -> TlsServer | None:
        """Return the server for the TLS handshake, or None for plain HTTP."""
        if not origin.is_tls:
            return None
        name = origin.host.rstrip(".")
        return TlsServer(self.tls_for(name), name, origin.port)

    async def begin(
        self, server: TlsServer | None, make: Callable[[str | None], P], opened: socket.socket
    ) -> P:
        """Attach a protocol to an open socket, under TLS if there is a server."""
        if server is not None:
            return await self.opener.begin(opened, make, server)
        loop = asyncio.get_running_loop()
        _, protocol = await loop.create_connection(lambda: make(None), sock=opened)
        return protocol

    def request_bytes(self, way: Way, request: TransportRequest) -> bytes:
        origin, path, _ = request.target
        return request_bytes(origin.name, path, request.headers, request.method, request.body)

    def check(self, way: Way, status: int) -> None:
        pass


# ================================================================ idle
#
# Idle connections, which wait for the next request to their host.
#
# Laws: a connection is kept for at most `keep_s`. Beyond the limit, the connection that was idle
# longest is closed. The one that was idle shortest is reused first, as it is the likeliest to be
# still open.


AnyConnection: TypeAlias = "Connection | Http2Connection"
PoolKey = tuple[Origin, Way]


class IdleConnections:
    """Idle connections by key, with their expiry times."""

    def __init__(self, limit: int, keep_s: float) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self._waiting: dict[AnyConnection, tuple[PoolKey, float]] = {}
        self._by_key: defaultdict[PoolKey, list[AnyConnection]] = defaultdict(list)
        self._timer: asyncio.TimerHandle | None = None

    def put(self, key: PoolKey, connection: AnyConnection) -> None:
        """Add a connection."""
        until = asyncio.get_running_loop().time() + self._keep_s
        self._waiting[connection] = key, until
        self._by_key[key].append(connection)
        if len(self._waiting) > self._limit:
            self._abort_oldest()
        if self._timer is None:
            self._set_timer()

    def take(self, key: PoolKey) -> AnyConnection | None:
        """Remove and return the newest connection of this key, or None."""
        if key not in self._by_key:
            return None
        connection = self._by_key[key][-1]
        self.forget(connection)
        return connection

    def forget(self, connection: AnyConnection) -> None:
        """Remove a connection if it is idle."""
        key, _ = self._waiting.pop(connection, (None, 0.0))
        if key is None:
            return
        self._by_key[key].remove(connection)
        if not self._by_key[key]:
            del self._by_key[key]

    def close(self) -> None:
        """Close all idle connections."""
        while self._waiting:
            self._abort_oldest()
        if self._timer:
            self._timer.cancel()

    def _abort_oldest(self) -> None:
        connection = next(iter(self._waiting))
        self.forget(connection)
        connection.abort()

    def _set_timer(self) -> None:
        """Set the timer for the oldest connection, which is the first to expire."""
        if self._waiting:
            _, until = next(iter(self._waiting.values()))
            self._timer = asyncio.get_running_loop().call_at(until, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._waiting and next(iter(self._waiting.values()))[1] <= now:
            self._abort_oldest()
        self._set_timer()


# ================================================================ client
#
# HTTP client over pooled connections.
#
# key      origin and way, which a reused connection must share with the request
# way      address of the host, or a proxy with the host that it is asked for (`fetch.proxy`)
# slot     permit of one request in flight, held until its response is closed
# shared   HTTP/2 connection with requests on it; it may take more (`fetch.http2`)
#
# Laws: at most `connections` requests are in flight. A request goes only where the dialer allows:
# to an address that it names, or to a proxy. It is sent once, and repeated only if a reused
# connection ended before the first byte of a response, and only after a pause, since the server may
# have received it. Ending a request early, by cancellation too, closes its connection; a shared one
# stays open for its other requests, but takes no new ones. A host has one HTTP/2 connection.
# Closing a client closes all its connections.

_LONGEST_PATH = 64 * 1024


class Pace(NamedTuple):
    """Limits of a client: requests in flight, idle connections, and times.

    `keep_s` is how long an idle connection is kept, `pause_s` the pause before a request is
    repeated.
    """

    connections: int
    kept: int
    keep_s: float
    pause_s: float = 0.0


class HttpClient:
    """Transport over pooled connections.

    Without `http2`, which makes HTTP/2 connections, the dialer must not offer HTTP/2 to servers.
    """

    def __init__(
        self,
        pace: Pace,
        dialer: Dialer,
        *,
        max_head_bytes: int,
        http2: type[Http2Connection] | None = None,
    ) -> None:
        self._dialer, self._http2 = dialer, http2
        self._max_head_bytes = max_head_bytes
        self._slots = asyncio.Semaphore(pace.connections)
        self._idle = IdleConnections(pace.kept, pace.keep_s)
        self._open: set[AnyConnection] = set()
        self._shared: dict[PoolKey, Http2Connection] = {}
        self._dialing: dict[Origin, asyncio.Lock] = {}
        self._pause_s = pace.pause_s
        self._read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))

    async def send(self, request: TransportRequest) -> ResponseStream:
        if (length := len(request.target.path)) > _LONGEST_PATH:
            raise Fault(FailureKind.PROTOCOL, f"a URL of {length} characters")
        await self._slots.acquire()
        try:
            # A repeated POST may take effect twice, so it never uses a connection that may have
            # ended and would need a retry.
            if request.method != "POST" and (kept := self._kept(request)):
                _, connection = kept
                try:
                    return await self._ask(*kept, request)
                except EXPECTED:
                    if not connection.is_unanswered:
                        raise
                await asyncio.sleep(self._pause_s)
            return await self._ask(*await self._connect(request), request)
        except BaseException:
            self._slots.release()
            raise

    async def aclose(self) -> None:
        """Close all connections."""
        self._idle.close()
        for connection in self._open:
            connection.abort()
        while self._open:  # each is unregistered when the loop reports its end
            await asyncio.sleep(0)

    async def _ask(
        self, key: PoolKey, connection: AnyConnection, request: TransportRequest
    ) -> ResponseStream:
        if not isinstance(connection, Connection):
            return await self._share(key, connection, request)
        _, way = key
        began = perf_counter()
        try:
            head = await connection.send(self._dialer.request_bytes(way, request))
            first_byte_s = perf_counter() - began
            self._dialer.check(way, head.status)
        except BaseException as error:
            if isinstance(error, Fault) and error.kind is FailureKind.TOO_LARGE:
                wire = connection.wire(address_of(way))
                error.wire = wire if wire.response else None
            connection.abort()
            raise
        done = partial(self._done, key, connection)
        wire = connection.wire(address_of(way))
        return HttpResponseStream(head, connection, done, wire, first_byte_s)

    def _done(self, key: PoolKey, connection: Connection) -> None:
        self._slots.release()
        if connection.is_reusable:
            connection.forget_response()
            self._idle.put(key, connection)
        else:
            connection.abort()

    async def _share(
        self, key: PoolKey, connection: Http2Connection, request: TransportRequest
    ) -> ResponseStream:
        """Send a request on an HTTP/2 connection, beside others."""
        self._shared[key] = connection

        def done() -> None:
            self._slots.release()
            self._end_share(key, connection)

        try:
            return await connection.send(request, done, address_of(key[1]))
        except BaseException:
            self._end_share(key, connection)
            raise

    def _end_share(self, key: PoolKey, connection: Http2Connection) -> None:
        is_usable = connection.is_usable
        if connection.requests and is_usable:
            return
        if self._shared.get(key) is connection:
            del self._shared[key]
        if is_usable:
            self._idle.put(key, connection)
        elif not connection.requests:
            connection.abort()

    # ------------------------------------------------------------ connections

    def _kept(self, request: TransportRequest) -> tuple[PoolKey, AnyConnection] | None:
        """Return an open connection for the request, shared or idle, with its key, or None."""
        if self._shared and (shared := self._shared_with(request)):
            return shared
        for way in self._dialer.ways(request):
            key = request.target.origin, way
            while connection := self._idle.take(key):
                if connection.is_usable:
                    return key, connection
                connection.abort()
        return None

    def _shared_with(self, request: TransportRequest) -> tuple[PoolKey, Http2Connection] | None:
        for way in self._dialer.ways(request):
            key = request.target.origin, way
            if (connection := self._shared.get(key)) and connection.is_usable:
                return key, connection
        return None

    async def _connect(self, request: TransportRequest) -> tuple[PoolKey, AnyConnection]:
        """Return a new connection.

        Requests to an https host wait for each other, as one HTTP/2 connection may serve them all.
        """
        origin = request.target.origin
        if self._http2 is None or not origin.is_tls:
            return await self._dial(request)
        # One handshake at a time: if the server chooses HTTP/2, waiting requests share the result.
        lock = self._dialing.setdefault(origin, asyncio.Lock())
        try:
            async with lock:
                return self._shared_with(request) or await self._dial(request)
        finally:
            if not lock.locked():
                self._dialing.pop(origin, None)

    async def _dial(self, request: TransportRequest) -> tuple[PoolKey, AnyConnection]:
        origin = request.target.origin
        way, made = await self._dialer.dial(request, self._protocol_for)
        if isinstance(made, Connection):
            return (origin, way), made
        assert self._http2 is not None
        shared = self._http2(made, origin, self._max_head_bytes)
        if not made.is_open:
            raise ConnectionResetError("the connection ended before the request")
        made.on_lost = partial(self._discard, shared)
        self._open.add(shared)
        self._shared[origin, way] = shared
        return (origin, way), shared

    def _protocol_for(self, negotiated: str | None) -> Connection | ByteStream:
        if negotiated == HTTP2:
            return ByteStream()
        return Connection(self._open.add, self._discard, self._max_head_bytes, self._read_buffer)

    def _discard(self, connection: AnyConnection) -> None:
        """Unregister a connection that ended."""
        self._open.discard(connection)
        self._idle.forget(connection)


class HttpResponseStream:
    """Response whose head has arrived, with its body as a stream."""

    def __init__(
        self,
        head: Head,
        connection: Connection,
        done: Callable[[], None],
        wire: Wire,
        first_byte_s: float,
    ) -> None:
        self.status, self.wire, self.first_byte_s = head.status, wire, first_byte_s
        self.headers = head.headers
        self._connection = connection
        self._done = done

    @property
    def body(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if chunk := await self._connection.read():
            return chunk
        raise StopAsyncIteration

    def take_whole(self) -> bytes | None:
        return self._connection.take_whole()

    async def aclose(self) -> None:
        self._done()
