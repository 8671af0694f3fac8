"""An HTTP/1.1 client: sends requests over connections of its own and keeps some of them open.

pool key   origin and address: what a kept connection and a request must have in common

Laws of requests: a request connects only to an address that it names. No more than `connections`
requests are under way. A request is sent once; it is sent once more only if a kept connection ended
before the first byte of a response, and after a pause, as the server may have received it. What
ends a request early, cancellation included, closes its connection.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

from minicrawl.fetch.connection.connection import READ_BUFFER_BYTES, Connection
from minicrawl.fetch.connection.dialing import Connector
from minicrawl.fetch.connection.heads import Head
from minicrawl.fetch.connection.http1 import request_bytes
from minicrawl.fetch.connection.idle import IdleConnections
from minicrawl.fetch.connection.tls_layer import TlsOpener, TlsServer
from minicrawl.fetch.transport import EXPECTED, TransportRequest
from minicrawl.fetch.where.targets import ConnectTarget, Origin

PoolKey = tuple[Origin, ConnectTarget]


class HttpClient:
    """A transport. `tls` gives the context for a host; `bind` are addresses of our own.

    A request has `timeout_s`. It waits for `pause_s` before it is sent once more.
    """

    def __init__(  # noqa: PLR0913  # each is given by its name
        self,
        *,
        tls: Callable[[str], ssl.SSLContext],
        connections: int,
        kept: int,
        keep_s: float,
        timeout_s: float,
        max_head_bytes: int,
        pause_s: float = 0.0,
        bind: Sequence[str] = (),
    ) -> None:
        self._tls_for, self._pause_s = tls, pause_s
        self._max_head_bytes = max_head_bytes
        self._connector = Connector(timeout_s, bind)
        self._free = asyncio.Semaphore(connections)
        self._idle = IdleConnections[PoolKey, Connection](kept, keep_s)
        self._open: set[Connection] = set()
        self._tls = TlsOpener()
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
        connection = Connection(self._open.add, self._lost, self._max_head_bytes, self._read_buffer)
        if server is not None:
            return await self._tls.begin(opened, connection, server)
        await asyncio.get_running_loop().create_connection(lambda: connection, sock=opened)
        return connection

    def _lost(self, connection: Connection) -> None:
        self._open.discard(connection)
        self._idle.forget(connection)


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
