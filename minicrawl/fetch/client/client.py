"""HTTP client over pooled connections.

key      origin and way, which a reused connection must share with the request
way      address of the host, or a proxy with the host that it is asked for (`fetch.proxy.dialing`)
slot     permit of one request in flight, held until its response is closed

Laws: at most `connections` requests are in flight. A request goes only where the dialer allows:
to an address that it names, or to a proxy. It is sent once, and repeated only if a reused
connection ended before the first byte of a response, and only after a pause, since the server may
have received it. Ending a request early, by cancellation too, closes its connection. Closing a
client closes all its connections.

Laws of idle connections: one is kept for at most `keep_s`. Beyond the limit, the one that was
idle longest is closed. The one that was idle shortest is reused first, as it is the likeliest to be
still open.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import NamedTuple, Self

from minicrawl.fetch.client.connection import READ_BUFFER_BYTES, Connection
from minicrawl.fetch.client.dialing import Dialer, Way, address_of
from minicrawl.fetch.http.faults import EXPECTED, Fault
from minicrawl.fetch.http.heads import Head
from minicrawl.fetch.http.messages import ResponseStream, TransportRequest
from minicrawl.fetch.http.targets import Origin
from minicrawl.model import Wire
from minicrawl.states import State

PoolKey = tuple[Origin, Way]


class IdleConnections:
    def __init__(self, limit: int, keep_s: float) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self._waiting: dict[Connection, tuple[PoolKey, float]] = {}
        self._by_key: defaultdict[PoolKey, list[Connection]] = defaultdict(list)
        self._timer: asyncio.TimerHandle | None = None

    def put(self, key: PoolKey, connection: Connection) -> None:
        until = asyncio.get_running_loop().time() + self._keep_s
        self._waiting[connection] = key, until
        self._by_key[key].append(connection)
        if len(self._waiting) > self._limit:
            self._abort_oldest()
        if self._timer is None:
            self._expire()

    def take(self, key: PoolKey) -> Connection | None:
        """Remove and return the newest connection of this key, or None."""
        if key not in self._by_key:
            return None
        connection = self._by_key[key][-1]
        self.forget(connection)
        return connection

    def forget(self, connection: Connection) -> None:
        key, _ = self._waiting.pop(connection, (None, 0.0))
        if key is None:
            return
        self._by_key[key].remove(connection)
        if not self._by_key[key]:
            del self._by_key[key]

    def close(self) -> None:
        while self._waiting:
            self._abort_oldest()
        if self._timer:
            self._timer.cancel()

    def _abort_oldest(self) -> None:
        connection = next(iter(self._waiting))
        self.forget(connection)
        connection.abort()

    def _expire(self) -> None:
        """End expired connections, and set the timer for the oldest one, which is the next."""
        loop, self._timer = asyncio.get_running_loop(), None
        while self._waiting:
            _, until = next(iter(self._waiting.values()))
            if until > loop.time():
                self._timer = loop.call_at(until, self._expire)
                break
            self._abort_oldest()


_LONGEST_PATH = 64 * 1024


class Pace(NamedTuple):
    """Limits of a client; `keep_s` is of idle connections, `pause_s` before a repeated request."""

    connections: int
    idle: int
    keep_s: float
    pause_s: float = 0.0


class HttpClient:
    def __init__(
        self, pace: Pace, dialer: Dialer, *, max_head_bytes: int, is_raw: bool = False
    ) -> None:
        self._dialer = dialer
        self._max_head_bytes, self._is_raw = max_head_bytes, is_raw
        self._slots = asyncio.Semaphore(pace.connections)
        self._idle = IdleConnections(pace.idle, pace.keep_s)
        self._open: set[Connection] = set()
        self._pause_s = pace.pause_s
        self._read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))

    async def send(self, request: TransportRequest) -> ResponseStream:
        if (length := len(request.target.path)) > _LONGEST_PATH:
            raise Fault(State.PROTOCOL, f"a URL of {length} characters")
        await self._slots.acquire()
        try:
            # A repeated POST may take effect twice, so it never uses a connection that may have
            # ended and would need a retry.
            if request.method != "POST" and (idle := self._kept(request)):
                _, connection = idle
                try:
                    return await self._ask(*idle, request)
                except EXPECTED:
                    if not connection.is_unanswered:
                        raise
                await asyncio.sleep(self._pause_s)
            way, connection = await self._dialer.dial(request, self._make)
            return await self._ask((request.target.origin, way), connection, request)
        except BaseException:
            self._slots.release()
            raise

    async def aclose(self) -> None:
        self._idle.close()
        for connection in self._open:
            connection.abort()
        while self._open:  # each is unregistered when the loop reports its end
            await asyncio.sleep(0)

    async def _ask(
        self, key: PoolKey, connection: Connection, request: TransportRequest
    ) -> ResponseStream:
        _, way = key
        began = perf_counter()
        try:
            head = await connection.send(self._dialer.request_bytes(way, request))
            first_byte_s = perf_counter() - began
            self._dialer.check(way, head.status)
        except BaseException as error:
            if isinstance(error, Fault) and error.kind is State.TOO_LARGE:
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

    def _kept(self, request: TransportRequest) -> tuple[PoolKey, Connection] | None:
        """Return an idle connection for the request, with its key, or None."""
        for way in self._dialer.ways(request):
            key = request.target.origin, way
            while connection := self._idle.take(key):
                if connection.is_usable:
                    return key, connection
                connection.abort()
        return None

    def _make(self) -> Connection:
        def lost(connection: Connection) -> None:
            self._open.discard(connection)
            self._idle.forget(connection)

        most, buffer = self._max_head_bytes, self._read_buffer
        return Connection(self._open.add, lost, most, buffer, is_raw=self._is_raw)


class HttpResponseStream:
    def __init__(
        self,
        head: Head,
        connection: Connection,
        done: Callable[[], None],
        wire: Wire,
        first_byte_s: float,
    ) -> None:
        self.status, self.first_byte_s = head.status, first_byte_s
        self.wire: Wire | None = wire
        self.headers = head.headers
        self._connection, self._done = connection, done
        self.take_whole = connection.take_whole

    @property
    def body(self) -> Self:
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if chunk := await self._connection.read():
            return chunk
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self._done()
