"""HTTP/1.1 client over its own connections.

client       sends requests and keeps connections open for the next ones
pool         the connections of a client, and its limit on concurrent requests
idle         connections that wait for the next request to their host
dialing      connects to the first address of a host that answers
connection   one connection, one request at a time
"""

import asyncio
import socket
import ssl
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Sequence
from copy import copy
from functools import partial
from itertools import count
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

from minicrawl.fetch.http1 import Head, ResponseParser, request_bytes
from minicrawl.fetch.targets import ConnectTarget, Origin
from minicrawl.fetch.tls import TlsOpener, TlsServer, break_cycles
from minicrawl.fetch.transport import EXPECTED, Fault, TransportRequest
from minicrawl.model import FailureKind

# ================================================================ connection
#
# One connection to a server: one request at a time, with its response as a stream.
#
# Laws: at most 256 KiB of a body wait here to be read, however fast the server sends. A connection
# that receives bytes without a request is closed. The exception that ended a connection keeps no
# part of the response in memory. The memory of a connection is freed when it ends.
#
# read buffer   where the event loop stores received bytes. They are copied out at once, so all
#               connections share one buffer. Allocating one per read would cost ten times more
#               than the read itself.

READ_BUFFER_BYTES = 64 * 1024
_MOST_WAITING_BYTES = 256 * 1024


class Connection(asyncio.BufferedProtocol):
    """Connection that calls `on_made` and `on_lost` with itself when it begins and ends."""

    def __init__(
        self,
        on_made: Callable[["Connection"], None],
        on_lost: Callable[["Connection"], None],
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

    async def send(self, request: bytes) -> Head:
        """Send a request and wait for the head of its response."""
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

    @property
    def is_unanswered(self) -> bool:
        """True if no byte has arrived for the last request."""
        return not (self._parser and self._parser.has_begun)

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
        self._body, self._parser = b"", None
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
        self._on_made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
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
        if self._transport is not None and self._is_full(parser):
            self._is_paused = True
            self._transport.pause_reading()
        if parser.has_more:
            asyncio.get_running_loop().call_soon(self._go_on, parser)
        self._wake()

    def _go_on(self, parser: ResponseParser) -> None:
        """Parse more of the received bytes, after other connections had their turn."""
        if self._parser is parser and parser.has_more:
            self._feed(parser, b"")
            if self._is_paused:
                self._resume()

    def _is_full(self, parser: ResponseParser) -> bool:
        """True if reading should pause."""
        return parser.has_more or len(self._body) > _MOST_WAITING_BYTES

    def _resume(self) -> None:
        if self._transport is not None and not (self._parser and self._is_full(self._parser)):
            self._is_paused = False
            self._transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is not None:
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

T = TypeVar("T")

_HEAD_START_S = 0.25  # head start of an address, as RFC 8305 recommends
_BEGIN_S = 3.0  # per address, while there are others to try
_MOST_PLACES = 4  # per request; the next request tries other addresses
_MOST_DEAD = 1000


class Connector:
    """Opener of connections for requests with `timeout_s`. `bind` are local addresses."""

    def __init__(self, timeout_s: float, bind: Iterable[str] = ()) -> None:
        self._timeout_s = timeout_s
        self._own = {_family(address): address for address in bind}
        # The sequence number of the last failure, by address.
        self._dead: OrderedDict[ConnectTarget, int] = OrderedDict()
        self._failures = count(1)

    async def connect(
        self, places: Iterable[ConnectTarget], begin: Callable[[socket.socket], Awaitable[T]]
    ) -> tuple[ConnectTarget, T]:
        """Return the first place that answers, with its connection after `begin`.

        A TLS error is not retried: it would be the same at the other addresses.
        """
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
            except asyncio.CancelledError:  # perhaps the deadline, spent on the last address
                self._remember_dead(place)
                raise
            else:
                self._dead.pop(place, None)
                return place, begun
            self._remember_dead(place)
            if not left:
                raise failed

    def _begin_s(self, others: int) -> float:
        """Return the time limit of `begin`: the others together get at most half of the total."""
        return min(_BEGIN_S, self._timeout_s / 2 / others)

    async def _first_open(
        self, places: Sequence[ConnectTarget]
    ) -> tuple[ConnectTarget, socket.socket]:
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
                    timeout=_HEAD_START_S if waiting else None,
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
            self._bind(opened, family)
            await asyncio.get_running_loop().sock_connect(opened, tuple(place))
        except BaseException as error:
            opened.close()
            self._remember_dead(place)
            if isinstance(error, OSError):
                raise Fault(FailureKind.CONNECT, str(error)) from error
            raise
        return opened

    def _bind(self, opened: socket.socket, family: socket.AddressFamily) -> None:
        if own := self._own.get(family):
            opened.bind((own, 0))
        elif self._own:
            raise OSError("an address of another family than --bind-address")

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


# ================================================================ idle
#
# Idle connections, which wait for the next request to their host.
#
# Laws: a connection is kept for at most `keep_s`. Beyond the limit, the connection that was idle
# longest is closed. The one that was idle shortest is reused first, as it is the likeliest to be
# still open.


class Abortable(Protocol):
    """Connection, as the pool sees it."""

    def abort(self) -> None:
        """Close the connection immediately."""


K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound=Abortable)


class IdleConnections(Generic[K, C]):
    """Idle connections by pool key, with their expiry times."""

    def __init__(self, limit: int, keep_s: float) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self._waiting: dict[C, tuple[K, float]] = {}
        self._by_key: defaultdict[K, list[C]] = defaultdict(list)
        self._timer: asyncio.TimerHandle | None = None

    def put(self, key: K, connection: C) -> None:
        """Add a connection."""
        until = asyncio.get_running_loop().time() + self._keep_s
        self._waiting[connection] = key, until
        self._by_key[key].append(connection)
        if len(self._waiting) > self._limit:
            self._abort_oldest()
        self._set_timer()

    def take(self, key: K) -> C | None:
        """Remove and return the newest connection of this key, or None."""
        if key not in self._by_key:
            return None
        connection = self._by_key[key][-1]
        self.forget(connection)
        return connection

    def forget(self, connection: C) -> None:
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
        if self._timer is None and self._waiting:
            _, until = next(iter(self._waiting.values()))
            self._timer = asyncio.get_running_loop().call_at(until, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._waiting and next(iter(self._waiting.values()))[1] <= now:
            self._abort_oldest()
        self._set_timer()


# ================================================================ pool
#
# Pool: the connections of a client, active and idle.
#
# Laws: at most `connections` requests are in flight. A request is sent once. It is repeated only if
# a reused connection ended before the first byte of a response, and only after a pause, since the
# server may have received the request. Closing a client closes all its connections.
#
# place   slot of a request in flight, until its response is closed


class Pace(NamedTuple):
    """Limits of a connection pool: requests in flight, idle connections, and times.

    `keep_s` is how long an idle connection is kept, `pause_s` the pause before a request is
    repeated.
    """

    connections: int
    kept: int
    keep_s: float
    pause_s: float = 0.0


class ConnectionPool(Generic[K, C]):
    """Connections of one client."""

    def __init__(self, pace: Pace) -> None:
        self._places = asyncio.Semaphore(pace.connections)
        self._idle = IdleConnections[K, C](pace.kept, pace.keep_s)
        self._open: set[C] = set()
        self._pause_s = pace.pause_s

    async def in_place(self, send: Callable[[], Awaitable[T]]) -> T:
        """Wait for a free place and send a request.

        The place is held until the response is closed.
        """
        await self._places.acquire()
        try:
            return await send()
        except BaseException:
            self._places.release()
            raise

    def leave_place(self) -> None:
        """Free the place of a request whose response was closed."""
        self._places.release()

    async def try_kept(self, answer: Awaitable[T], is_unanswered: Callable[[], bool]) -> T | None:
        """Await the response on a reused connection. Return None if the request may be repeated.

        The pause before the repetition has passed then.
        """
        try:
            return await answer
        except EXPECTED:
            if not is_unanswered():
                raise
        await asyncio.sleep(self._pause_s)
        return None

    def take(self, key: K) -> C | None:
        """Remove and return an idle connection of this key, or None."""
        return self._idle.take(key)

    def keep(self, key: K, connection: C) -> None:
        """Mark a connection as idle."""
        self._idle.put(key, connection)

    def add(self, connection: C) -> None:
        """Register a new connection."""
        self._open.add(connection)

    def discard(self, connection: C) -> None:
        """Unregister a connection that ended."""
        self._open.discard(connection)
        self._idle.forget(connection)

    async def aclose(self) -> None:
        """Close all connections."""
        self._idle.close()
        for connection in self._open:
            connection.abort()
        while self._open:  # each is unregistered when the loop reports its end
            await asyncio.sleep(0)


# ================================================================ client
#
# HTTP/1.1 client over pooled connections.
#
# pool key   origin and address, which a reused connection must share with the request
#
# Laws: a request connects only to addresses that it names. Ending a request early, by cancellation
# too, closes its connection. The remaining guarantees are those of `ConnectionPool`.

PoolKey = tuple[Origin, ConnectTarget]


class HttpClient:
    """Transport over pooled HTTP/1.1 connections.

    `tls` returns the TLS context for a host; `bind` are local addresses. A request has `timeout_s`.
    """

    def __init__(
        self,
        pace: Pace,
        *,
        tls: Callable[[str], ssl.SSLContext],
        timeout_s: float,
        max_head_bytes: int,
        bind: Sequence[str] = (),
    ) -> None:
        self._tls_for = tls
        self._max_head_bytes = max_head_bytes
        self._connector = Connector(timeout_s, bind)
        self._pool = ConnectionPool[PoolKey, Connection](pace)
        self._tls = TlsOpener()
        self._read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))

    async def send(self, request: TransportRequest) -> "HttpResponseStream":
        return await self._pool.in_place(partial(self._send, request))

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def _send(self, request: TransportRequest) -> "HttpResponseStream":
        origin, path, _ = request.target
        written = request_bytes(origin.name, path, request.headers, request.method)
        if kept := self._kept(request):
            _, connection = kept
            answer = self._receive(*kept, written)
            found = await self._pool.try_kept(answer, lambda: connection.is_unanswered)
            if found is not None:
                return found
        key, connection = await self._connect(origin, request.places)
        return await self._receive(key, connection, written)

    async def _receive(
        self, key: PoolKey, connection: Connection, written: bytes
    ) -> "HttpResponseStream":
        try:
            head = await connection.send(written)
        except BaseException:
            connection.abort()
            raise
        return HttpResponseStream(head, connection, partial(self._done, key, connection))

    def _done(self, key: PoolKey, connection: Connection) -> None:
        self._pool.leave_place()
        if connection.is_reusable:
            connection.forget_response()
            self._pool.keep(key, connection)
        else:
            connection.abort()

    # ------------------------------------------------------------ connections

    def _kept(self, request: TransportRequest) -> tuple[PoolKey, Connection] | None:
        for place in request.places:
            key = request.target.origin, place
            if connection := self._pool.take(key):
                return key, connection
        return None

    async def _connect(
        self, origin: Origin, places: tuple[ConnectTarget, ...]
    ) -> tuple[PoolKey, Connection]:
        place, connection = await self._connector.connect(
            places, partial(self._begin, self._server_of(origin))
        )
        return (origin, place), connection

    def _server_of(self, origin: Origin) -> TlsServer | None:
        if not origin.is_tls:
            return None
        name = origin.host.rstrip(".")
        return TlsServer(self._tls_for(name), name, origin.port)

    async def _begin(self, server: TlsServer | None, opened: socket.socket) -> Connection:
        connection = Connection(
            self._pool.add, self._pool.discard, self._max_head_bytes, self._read_buffer
        )
        if server is not None:
            return await self._tls.begin(opened, connection, server)
        await asyncio.get_running_loop().create_connection(lambda: connection, sock=opened)
        return connection


class HttpResponseStream:
    """Response whose head has arrived, with its body as a stream."""

    def __init__(self, head: Head, connection: Connection, done: Callable[[], None]) -> None:
        self.status = head.status
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
