"""One connection to a server: one request at a time, and its response as it comes.

Laws: no more than 256 KiB of a body wait here to be read, however fast they come. A connection on
which bytes come without a request is closed. The error that broke a connection keeps nothing of the
response in memory. The memory of a connection is freed when it ends.

read buffer   where the event loop puts the bytes that come. They are copied from there at once, so
              all connections share one. If the loop had to allocate one for each read, that would
              cost ten times what the read does.
"""

import asyncio
from collections.abc import Callable
from copy import copy

from minicrawl.fetch.connection.cycles import break_cycles
from minicrawl.fetch.connection.heads import Head
from minicrawl.fetch.connection.http1 import ResponseParser

READ_BUFFER_BYTES = 64 * 1024
_MOST_WAITING_BYTES = 256 * 1024


class Connection(asyncio.BufferedProtocol):
    """Calls `on_made` and `on_lost` with itself when it begins and when it has ended."""

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
        self._body: bytes | bytearray = b""  # that has come and was not read yet
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
        """What has come of the body since the last read; nothing at its end."""
        assert self._parser
        while not self._body and not self._parser.ended:
            await self._wait(self._parser)
        return self._take()

    def take_whole(self) -> bytes | None:
        """What has come of the body since the last read, if that is all; else None."""
        return self._take() if self._parser is not None and self._parser.ended else None

    def _take(self) -> bytes:
        body, self._body = self._body, b""
        if self._is_paused:
            self._resume()
        return bytes(body)  # most often all of it came at once, and this copies nothing

    @property
    def is_unanswered(self) -> bool:
        """Whether not one byte has come in response to the last request."""
        return not (self._parser and self._parser.has_begun)

    @property
    def is_reusable(self) -> bool:
        """Whether the last response is complete and the server keeps the connection open."""
        return (
            self._transport is not None
            and self._parser is not None
            and self._parser.keeps_connection
        )

    def forget_response(self) -> None:
        """Hold nothing of the last response."""
        self._body, self._parser = b"", None
        if self._is_paused:
            self._resume()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self, parser: ResponseParser) -> None:
        """Wait for more of the response; raises what keeps it from coming."""
        if error := self._error or parser.fault:
            raise copy(error)  # a traceback holds its callers' variables: all that they have read
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
        """Parse more of what has come, after other connections had their turn."""
        if self._parser is parser and parser.has_more:
            self._feed(parser, b"")
            if self._is_paused:
                self._resume()

    def _is_full(self, parser: ResponseParser) -> bool:
        """Whether no more may come for now."""
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
