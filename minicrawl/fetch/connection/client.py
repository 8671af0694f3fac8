"""An HTTP/1.1 client: sends requests over connections of its own and keeps some of them open.

pool key   origin and address: what a kept connection and a request must have in common

Laws of requests: a request connects only to an address that it names. What ends a request early,
cancellation included, closes its connection. All else is promised by `pool`.
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
from minicrawl.fetch.connection.pool import ConnectionPool, Pace
from minicrawl.fetch.connection.tls_layer import TlsOpener, TlsServer
from minicrawl.fetch.transport import TransportRequest
from minicrawl.fetch.where.targets import ConnectTarget, Origin

PoolKey = tuple[Origin, ConnectTarget]


class HttpClient:
    """A transport. `tls` gives the context for a host; `bind` are addresses of our own.

    A request has `timeout_s`.
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

    def take_whole(self) -> bytes | None:
        return self._connection.take_whole()

    async def aclose(self) -> None:
        self._done()
