"""Connection that is read and written in bytes: for handshakes with proxies.

Laws: while more than 256 KiB wait here to be read, nothing more is received. The memory of a
connection is freed when it ends.
"""

import asyncio
from collections.abc import Callable
from copy import copy
from typing import TypeVar

from minicrawl.fetch.client.connection import MOST_WAITING_BYTES
from minicrawl.fetch.tls.layer import TlsOpener, TlsServer, break_cycles

P = TypeVar("P", bound=asyncio.BaseProtocol)


class ByteStream(asyncio.Protocol):
    """Stream over an asyncio transport."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None  # None before and after the connection
        self._received = bytearray()
        self._error: Exception | None = None
        self._progress: asyncio.Future[None] | None = None

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
        if self._transport is not None and len(self._received) <= MOST_WAITING_BYTES:
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
        if self._transport is not None:
            self._transport.abort()

    async def hand_over(
        self, make: Callable[[], P], opener: TlsOpener, server: TlsServer | None
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
        protocol = make()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._transport is not None and len(self._received) > MOST_WAITING_BYTES:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            break_cycles(self._transport)
        self._transport = None
        self._error = exc and exc.with_traceback(None)
        self._wake()

    def _wake(self) -> None:
        if self._progress and not self._progress.done():
            self._progress.set_result(None)
