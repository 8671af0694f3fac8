"""A line between two processes: a socket on which each says what it likes, value by value.

Laws: what one end says the other one hears, whole and in the same order, however the bytes travel;
what is said within one turn of the loop travels together. Each end trusts the other: a message is
a pickle behind its length.
"""

from __future__ import annotations

import asyncio
import pickle
import socket
from collections.abc import Callable
from typing import Any

_SIZE_BYTES = 4
_ROOM_BYTES = 64 * 1024


class PickleChannel(asyncio.BufferedProtocol):
    """One end. It may be spoken into before it is connected; after its end nobody listens."""

    def __init__(self, hear: Callable[[Any], None]) -> None:
        self.ended = asyncio.Event()
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self._room = memoryview(bytearray(_ROOM_BYTES))
        self._heard = bytearray()
        self._said: list[bytes] = []

    async def connect(self, connection: socket.socket) -> None:
        """From now on the line has the socket, and closes it."""
        await self._loop.create_unix_connection(lambda: self, sock=connection)

    def say(self, message: object) -> None:
        """The other end will hear it, unless it has gone."""
        if not self._said:
            self._loop.call_soon(self._send)
        self._said.append(_packed(message))

    def close(self) -> None:
        """Nothing more is said or heard."""
        if self._transport is not None:
            self._transport.abort()

    def _send(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._said))
            self._said.clear()

    # ------------------------------------------------------------ what the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._send()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        heard = self._heard
        heard += self._room[:nbytes]
        begin = 0
        while (end := _end_of_message(heard, begin)) <= len(heard):
            with memoryview(heard)[begin + _SIZE_BYTES : end] as packed:  # not a copy
                message = pickle.loads(packed)
            begin = end
            self._hear(message)
        del heard[:begin]

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set()


def first_message(connection: socket.socket) -> Any:
    """What is said first, waited for without a loop; None if the other end has gone."""
    size = int.from_bytes(connection.recv(_SIZE_BYTES, socket.MSG_WAITALL), "big")
    packed = connection.recv(size, socket.MSG_WAITALL)
    return pickle.loads(packed) if size and len(packed) == size else None


def _packed(message: object) -> bytes:
    packed = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return len(packed).to_bytes(_SIZE_BYTES, "big") + packed


def _end_of_message(heard: bytearray, begin: int) -> int:
    """Where the message that begins here ends, or its length does if that has not come yet."""
    body = begin + _SIZE_BYTES
    return body + int.from_bytes(heard[begin:body], "big") if len(heard) >= body else body
