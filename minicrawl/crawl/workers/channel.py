"""A channel between two processes: a socket that carries pickled values.

Laws: what one end sends arrives at the other end whole and in order, however the bytes are split on
the way. What is sent within one turn of the event loop travels together, a few messages at a time:
so neither end waits until the other has done all that it has to do in that turn. The two ends trust
each other: a message is a pickle after its length in four bytes.

A process without an event loop uses the functions of `messages` on the socket itself.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
from collections.abc import Callable
from typing import Any

from minicrawl.crawl.workers.messages import LENGTH_BYTES, packed_message

_READ_BUFFER_BYTES = 64 * 1024
AT_ONCE = 4
"""Messages that travel together."""


class PickleChannel(asyncio.BufferedProtocol):
    """One end. Messages may be sent before it is connected; `on_message` gets what arrives."""

    def __init__(self, on_message: Callable[[Any], None]) -> None:
        self.ended = asyncio.Event()
        self._on_message = on_message
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._read_buffer = memoryview(bytearray(_READ_BUFFER_BYTES))
        self._received = bytearray()
        self._unsent: list[bytes] = []
        self._may_write = asyncio.Event()

    async def connect(self, connection: socket.socket) -> None:
        """Use this socket, and close it at the end."""
        await self._loop.create_unix_connection(lambda: self, sock=connection)

    def send(self, message: object) -> None:
        """Send a message; it is lost if the other end has gone."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(packed_message(message))
        if len(self._unsent) == AT_ONCE:
            self._flush()

    async def drain(self) -> None:
        """Wait until the socket has taken nearly all of what was sent, or the channel is closed."""
        self._flush()
        while not self._may_write.is_set():
            await self._may_write.wait()

    def close(self) -> None:
        """Send and receive nothing more."""
        self._may_write.set()
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        if self._unsent and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()

    # ------------------------------------------------------------ called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._may_write.set()
        self._flush()

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        received = self._received
        received += self._read_buffer[:nbytes]
        begin = 0
        while (end := _end_of_message(received, begin)) <= len(received):
            with memoryview(received)[begin + LENGTH_BYTES : end] as packed:  # not a copy
                message = pickle.loads(packed)
            begin = end
            self._on_message(message)
        del received[:begin]

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set()
        self._may_write.set()


def _end_of_message(received: bytearray, begin: int) -> int:
    """Where the message ends that begins here, or where its length ends if that is incomplete."""
    body = begin + LENGTH_BYTES
    if len(received) < body:
        return body
    return body + int.from_bytes(received[begin:body], "big")
