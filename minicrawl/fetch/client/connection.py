"""One connection to a server: one request at a time, with its response as a stream.

Laws: while more than 256 KiB of a body wait here to be read, nothing more is received. If bytes
arrive without a request, the connection is closed. The exception that ended a connection keeps no
part of the response in memory. The memory of a connection is freed when it ends.

read buffer   where the event loop stores received bytes. They are copied out at once, so all
              connections share one buffer. Allocating one per read would cost ten times more
              than the read itself.
"""

import asyncio
from collections.abc import Callable
from copy import copy

from minicrawl.fetch.http.heads import Head
from minicrawl.fetch.http.http1 import ResponseParser
from minicrawl.fetch.tls.layer import break_cycles
from minicrawl.model import Wire

READ_BUFFER_BYTES = 256 * 1024  # most pages of the web arrive in one read
MOST_WAITING_BYTES = 256 * 1024


class Connection(asyncio.BufferedProtocol):
    """Connection that calls `on_made` and `on_lost` with itself when it begins and ends."""

    def __init__(
        self,
        on_made: Callable[["Connection"], None],
        on_lost: Callable[["Connection"], None],
        max_head_bytes: int,
        read_buffer: memoryview,
        *,
        is_raw: bool = False,
    ) -> None:
        self._read_buffer = read_buffer
        self._on_made = on_made
        self._on_lost = on_lost
        self._max_head_bytes, self._is_raw = max_head_bytes, is_raw
        self._transport: asyncio.Transport | None = None  # None before and after the connection
        self._parser: ResponseParser | None = None
        self._body: bytes | bytearray = b""  # received and not read yet
        self._is_paused = False
        self._error: Exception | None = None
        self._progress: asyncio.Future[None] | None = None
        self._request = b""
        self._tls_version = self._cipher = ""  # the version as WARC-Protocol names it

    async def send(self, request: bytes) -> Head:
        self._request = request
        parser = self._parser = ResponseParser(self._max_head_bytes, is_raw=self._is_raw)
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
        assert self._parser
        version = self._parser.raw_head[:8].decode("latin-1").lower()
        protocols = (version, *filter(None, (self._tls_version,)))
        raw = self._parser.raw_head
        request, blank_line, _ = self._request.partition(b"\r\n\r\n")
        interim = self._parser.interim if self._is_raw else None
        heads = request + blank_line, raw
        return Wire(*heads, address, protocols, self._cipher, interim=interim)

    @property
    def is_unanswered(self) -> bool:
        """True if no byte has arrived for the last request."""
        return not (self._parser and self._parser.has_begun)

    @property
    def is_usable(self) -> bool:
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
        self._body, self._parser, self._request = b"", None, b""
        if self._is_paused:
            self._resume()

    def abort(self) -> None:
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

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if (tls := transport.get_extra_info("ssl_object")) is not None:
            self._tls_version = (tls.version() or "").lower().replace("tlsv", "tls/")
            self._cipher, _, _ = tls.cipher() or ("", "", 0)
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
        if self._transport is not None and (has_more or len(self._body) > MOST_WAITING_BYTES):
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
            self._parser.has_more or len(self._body) > MOST_WAITING_BYTES
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
