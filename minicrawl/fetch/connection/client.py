"""An HTTP/1.1 client: sends requests over connections of its own and keeps some of them open.

pool key   origin and address: what a kept connection and a request must have in common

Laws of requests: a request connects only to an address that it names. No more than `connections`
requests are under way. A request is sent once; it is sent once more only if a kept connection ended
before the first byte of a response, and after a pause, as the server may have received it. What
ends a request early, cancellation included, closes its connection. A request tries few addresses,
and those that did not let us connect lately come last; all but the last one together take no more
than half of its time.

Laws of idle connections: a connection is kept for `keep_s` and no longer. Beyond the limit, the one
that has been idle longest is closed. The one that has been idle for the shortest time is used
first: it is the likeliest to be still open.
"""

import asyncio
import ssl
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from functools import cached_property, partial
from itertools import count
from typing import Self, TypedDict

from minicrawl.fetch.connection.connection import READ_BUFFER_BYTES, Connection
from minicrawl.fetch.connection.heads import Head
from minicrawl.fetch.connection.http1 import request_bytes
from minicrawl.fetch.transport import EXPECTED, Fault, TransportRequest
from minicrawl.fetch.where.targets import ConnectTarget, Origin
from minicrawl.model import FailureKind

PoolKey = tuple[Origin, ConnectTarget]


class IdleConnections:
    """The connections that wait for a request, by pool key and by the time since when they wait."""

    def __init__(self, limit: int, keep_s: float) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self._waiting: dict[Connection, tuple[PoolKey, float]] = {}
        self._by_key: defaultdict[PoolKey, list[Connection]] = defaultdict(list)
        self._timer: asyncio.TimerHandle | None = None

    def put(self, key: PoolKey, connection: Connection) -> None:
        """Keep a connection from now on."""
        until = asyncio.get_running_loop().time() + self._keep_s
        self._waiting[connection] = key, until
        self._by_key[key].append(connection)
        if len(self._waiting) > self._limit:
            self._abort_oldest()
        self._set_timer()

    def take(self, key: PoolKey) -> Connection | None:
        """Use a connection of this key, if there is one."""
        if key not in self._by_key:
            return None
        connection = self._by_key[key][-1]
        self.forget(connection)
        return connection

    def forget(self, connection: Connection) -> None:
        """Keep this connection no longer, if it was kept."""
        key, _ = self._waiting.pop(connection, (None, 0.0))
        if key is None:
            return
        self._by_key[key].remove(connection)
        if not self._by_key[key]:
            del self._by_key[key]

    def close(self) -> None:
        """Close all of them."""
        while self._waiting:
            self._abort_oldest()
        if self._timer:
            self._timer.cancel()

    def _abort_oldest(self) -> None:
        connection = next(iter(self._waiting))
        self.forget(connection)
        connection.abort()

    def _set_timer(self) -> None:
        """One timer for all: the oldest connection is the first to expire."""
        if self._timer is None and self._waiting:
            _, until = next(iter(self._waiting.values()))
            self._timer = asyncio.get_running_loop().call_at(until, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._waiting and next(iter(self._waiting.values()))[1] <= now:
            self._abort_oldest()
        self._set_timer()


_CONNECT_S = 3.0  # for one address, while there are others to try
_MOST_PLACES = 4  # of one host, for one request: the next one tries others
_MOST_DEAD = 1000


class _Tls(TypedDict, total=False):
    """Arguments of `create_connection`; none without TLS."""

    ssl: ssl.SSLContext
    server_hostname: str


class HttpClient:
    """A transport. `tls` makes the context, once, when the first request needs it.

    A request has `timeout_s`. It waits for `pause_s` before it is sent once more.
    """

    def __init__(
        self,
        *,
        tls: Callable[[], ssl.SSLContext],
        connections: int,
        keep_s: float,
        timeout_s: float,
        max_head_bytes: int,
        pause_s: float = 0.0,
    ) -> None:
        self._make_tls = tls
        self._timeout_s, self._pause_s = timeout_s, pause_s
        self._max_head_bytes = max_head_bytes
        self._dead: OrderedDict[ConnectTarget, int] = (
            OrderedDict()
        )  # the number of its last failure
        self._failures = count(1)
        self._free = asyncio.Semaphore(connections)
        self._idle = IdleConnections(connections, keep_s)
        self._open: set[Connection] = set()
        self._read_buffer = memoryview(bytearray(READ_BUFFER_BYTES))

    async def send(self, request: TransportRequest) -> "HttpResponseStream":
        await self._free.acquire()
        try:
            return await self._send(request)
        except BaseException:
            self._free.release()
            raise

    async def aclose(self) -> None:
        self._idle.close()
        for connection in self._open:
            connection.abort()
        while self._open:  # the loop tells each that it has ended
            await asyncio.sleep(0)

    async def _send(self, request: TransportRequest) -> "HttpResponseStream":
        origin, path, _ = request.target
        written = request_bytes(origin.name, path, request.headers, request.method)
        if kept := self._kept(request):
            key, connection = kept
            try:
                return await self._receive(key, connection, written)
            except EXPECTED:
                if not connection.is_unanswered:
                    raise
            await asyncio.sleep(self._pause_s)
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
        self._free.release()
        if connection.is_reusable:
            connection.forget_response()
            self._idle.put(key, connection)
        else:
            connection.abort()

    # ------------------------------------------------------------ connections

    def _kept(self, request: TransportRequest) -> tuple[PoolKey, Connection] | None:
        for place in request.places:
            key = request.target.origin, place
            if connection := self._idle.take(key):
                return key, connection
        return None

    async def _connect(
        self, origin: Origin, places: tuple[ConnectTarget, ...]
    ) -> tuple[PoolKey, Connection]:
        """Try the addresses one after the other; a TLS error is the same at all of them."""
        tls = _tls_of(self._tls, origin.host.rstrip(".")) if origin.is_tls else {}
        failed: Fault | None = None
        tried = sorted(places, key=lambda place: self._dead.get(place, 0))[:_MOST_PLACES]
        for place in tried:
            connect_s = None if place is tried[-1] else self._connect_s(len(tried))
            try:
                async with asyncio.timeout(connect_s):
                    connection = await self._connect_to(place, tls)
            except ssl.SSLError:
                raise
            except asyncio.CancelledError:  # perhaps by the deadline, which the last one let pass
                self._remember_dead(place)
                raise
            except TimeoutError:
                failed = Fault(FailureKind.CONNECT, f"{place.address} is silent")
            except OSError as error:
                failed = Fault(FailureKind.CONNECT, str(error))
            else:
                self._dead.pop(place, None)
                return (origin, place), connection
            self._remember_dead(place)
        assert failed, "a request names at least one address"
        raise failed

    def _connect_s(self, places: int) -> float:
        return min(_CONNECT_S, self._timeout_s / 2 / (places - 1))

    def _remember_dead(self, place: ConnectTarget) -> None:
        """Try this address after all others next time."""
        self._dead[place] = next(self._failures)
        self._dead.move_to_end(place)
        if len(self._dead) > _MOST_DEAD:
            self._dead.popitem(last=False)

    async def _connect_to(self, place: ConnectTarget, tls: _Tls) -> Connection:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection(self._open.add, self._lost, self._max_head_bytes, self._read_buffer),
            place.address,
            place.port,
            **tls,
        )
        return connection

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        return self._make_tls()

    def _lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._idle.forget(connection)


def _tls_of(context: ssl.SSLContext, name: str) -> _Tls:
    try:
        # asyncio finds a name that TLS refuses too late, and leaves its socket open.
        context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=name)
    except ValueError as error:
        raise Fault(FailureKind.TLS, str(error)) from error
    return {"ssl": context, "server_hostname": name}


class HttpResponseStream:
    """A response whose head has come, and its body as it comes."""

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

    async def aclose(self) -> None:
        self._done()
