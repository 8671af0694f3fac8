"""The bytes of a connection, as httpcore takes them: over sockets that we have opened.

Law: no more than 256 KiB wait here to be read. The memory of a connection is freed when it ends.
"""

import asyncio
import socket
from collections.abc import Callable
from copy import copy
from typing import Any

import httpcore

from minicrawl.fetch.connection.cycles import break_cycles
from minicrawl.fetch.connection.tls_layer import TlsOpener, TlsServer

_MOST_WAITING_BYTES = 256 * 1024


class LoopStream(asyncio.Protocol, httpcore.AsyncNetworkStream):
    """Calls `on_lost` when it has ended. Its timeouts are those of the whole request."""

    def __init__(self) -> None:
        self.on_lost: Callable[[], None] = lambda: None
        self._transport: asyncio.Transport | None = None  # None before and after the connection
        self._came = bytearray()
        self._error: Exception | None = None
        self._progress: asyncio.Future[None] | None = None

    @classmethod
    async def over(cls, opened: socket.socket) -> "LoopStream":
        """A stream over an open socket."""
        loop = asyncio.get_running_loop()
        _, stream = await loop.create_connection(cls, sock=opened)
        return stream

    @property
    def is_quiet(self) -> bool:
        """Whether it is open, and nothing has come that was not read."""
        return self._transport is not None and not self._came

    @property
    def is_open(self) -> bool:
        """Whether the connection has not ended."""
        return self._transport is not None

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------ called by httpcore

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        while not self._came:
            if self._error is not None:
                raise copy(self._error)  # a traceback holds all that its callers have read
            if self._transport is None:
                return b""
            await self._wait()
        piece = bytes(self._came[:max_bytes])
        del self._came[:max_bytes]
        if self._transport is not None and len(self._came) <= _MOST_WAITING_BYTES:
            self._transport.resume_reading()
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Requests are small: what the system does not take at once waits in memory.

        What is written after the server has ended in order is dropped, so that what it said before
        is read, and then the end.
        """
        if self._transport is not None:
            self._transport.write(buffer)
        elif self._error is not None:
            raise copy(self._error)

    async def aclose(self) -> None:
        self.abort()

    async def secure(self, opener: TlsOpener, server: TlsServer) -> "LoopStream":
        """Begin TLS on it."""
        if self._transport is None:
            raise ConnectionResetError("the connection ended before TLS began")
        try:
            await opener.begin_over(self._transport, self, server)
        except BaseException:
            self.abort()
            self._transport = None  # TLS tells of the end of what did begin only
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
