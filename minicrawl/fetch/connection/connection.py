"""One connection to a server: one question at a time, and its answer as it comes.

Laws: no more of a body is held than a little, however fast it comes. A connection on which
anything comes unasked is hung up. What broke a connection keeps nothing of its answer in memory.
One that has ended is gone at once, 256 KB with one of TLS: nobody may look for cycles for hours.

room     where the loop puts what comes; it is taken from there at once, so that all share one. To
         have the loop make as much room for each time costs ten times what it is to read
"""

import asyncio
from collections.abc import Callable
from copy import copy

from minicrawl.fetch.connection.heads import Head
from minicrawl.fetch.connection.http1 import ResponseParser

ROOM_BYTES = 64 * 1024
_MOST_HELD_BYTES = 256 * 1024


class Connection(asyncio.BufferedProtocol):
    """Tells `when_made` and `when_lost` from when to when it is."""

    def __init__(
        self,
        when_made: Callable[["Connection"], None],
        when_lost: Callable[["Connection"], None],
        max_head_bytes: int,
        room: memoryview,
    ) -> None:
        self._room = room
        self._when_made = when_made
        self._when_lost = when_lost
        self._max_head_bytes = max_head_bytes
        self._transport: asyncio.Transport | None = None
        self._carrier: asyncio.BaseTransport | None = None
        self._reader: ResponseParser | None = None
        self._body = bytearray()
        self._broken: Exception | None = None
        self._progress: asyncio.Future[None] | None = None
        self.is_lost = False

    async def ask(self, question: bytes) -> Head:
        """The head of the answer."""
        reader = self._reader = ResponseParser(self._max_head_bytes)
        if self._transport is None:
            reader.hang_up()
        else:
            self._transport.write(question)
        while reader.head is None:
            await self._more(reader)
        return reader.head

    async def read(self) -> bytes:
        """What has come of the body since; nothing at its end."""
        assert self._reader
        while not self._body and not self._reader.ended:
            await self._more(self._reader)
        body = bytes(self._body)
        self._hold_nothing()
        return body

    @property
    def is_unheard(self) -> bool:
        """Not one byte has come in answer to the last question."""
        return not (self._reader and self._reader.heard)

    @property
    def may_be_asked(self) -> bool:
        """All of the last answer has come, and its server stays for another question."""
        return not self.is_lost and self._reader is not None and self._reader.leaves_connection

    def rest(self) -> None:
        """Forget the last answer."""
        self._hold_nothing()
        self._reader = None

    def hang_up(self) -> None:
        """At once, and without a word."""
        if self._transport is not None:
            self._transport.abort()

    def _hold_nothing(self) -> None:
        if self._transport is not None and len(self._body) > _MOST_HELD_BYTES:
            self._transport.resume_reading()
        self._body.clear()

    async def _more(self, reader: ResponseParser) -> None:
        """Wait for more of the answer; raises what keeps it from coming."""
        if fault := self._broken or reader.fault:
            raise copy(fault)  # its traceback knows who knows it: all that came would stay
        self._progress = asyncio.get_running_loop().create_future()
        try:
            await self._progress
        finally:
            self._progress = None

    # ------------------------------------------------------------ what asyncio tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._carrier = transport, _carrier(transport)
        self._when_made(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        if self._reader is None:
            self.hang_up()
            return
        if body := self._reader.take(bytes(self._room[:nbytes])):
            self._body += body
            if self._transport is not None and len(self._body) > _MOST_HELD_BYTES:
                self._transport.pause_reading()
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        _let_go_of_itself(self._carrier)
        self._transport = self._carrier = None
        self._broken = error and error.with_traceback(None)
        if self._reader and not error:
            self._reader.hang_up()
        self._wake()
        self._when_lost(self)

    def _wake(self) -> None:
        if self._progress and not self._progress.done():
            self._progress.set_result(None)


def _carrier(transport: asyncio.BaseTransport) -> asyncio.BaseTransport:
    """The transport below one of TLS; without TLS, itself."""
    below = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
    return below or transport


def _let_go_of_itself(transport: asyncio.BaseTransport | None) -> None:
    """asyncio's transports keep methods of their own, and so themselves."""
    kept = vars(transport) if transport is not None else {}
    for name in [name for name, it in kept.items() if getattr(it, "__self__", None) is transport]:
        del kept[name]
