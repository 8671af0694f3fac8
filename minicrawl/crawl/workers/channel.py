"""A channel between two processes: a Unix socket that carries pickled values.

A message is a length in four bytes, big-endian, and a pickle of that length. The length is needed
because a socket is a stream of bytes: it keeps the order, but neither the number nor the sizes of
the writes. If one end sends "a" and "b", each a pickle of 16 bytes, in one turn of its event
loop, the other end may read the 40 bytes in two pieces:

    sent       00 00 00 10  pickle of "a"   00 00 00 10  pickle of "b"     one write of 40 bytes
    1st read   00 00 00 10  pickle of "a"   00 00                          22 bytes
               "a" is delivered; the 2 bytes of an incomplete length stay in the buffer
    2nd read                                      00 10  pickle of "b"     18 bytes
               "b" is delivered; the buffer is empty

A write costs a system call, and often wakes the other process. So messages sent within one turn
of the event loop share a write. The number per write is limited to `AT_ONCE`: one write at the
end of the turn was refused, because a crawl that sends 100 requests in one turn would leave its
worker idle until the last of them is pickled.

Pickles were preferred to JSON as messages hold bytes, tuples and functions. A pickle can run
code, so both ends must trust each other: a channel joins a crawl to a child that it has started
on the same machine.

Law: each message arrives whole and in order, however the bytes are split on the way. A process
without an event loop uses the functions of `messages` on the socket itself.
"""

import asyncio
import pickle
import socket
from collections.abc import Callable
from typing import Any

from minicrawl.crawl.workers.messages import LENGTH_BYTES, packed_message

_READ_BUFFER_BYTES = 64 * 1024
AT_ONCE = 4


class PickleChannel(asyncio.BufferedProtocol):
    """One end of a channel; `on_message` gets each message. Messages wait for `connect`."""

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
        """Send a message. It is lost if the other end is gone."""
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(packed_message(message))
        if len(self._unsent) == AT_ONCE:
            self._flush()

    async def drain(self) -> None:
        """Wait until the socket has taken nearly all sent bytes, or the channel is closed."""
        self._flush()
        while not self._may_write.is_set():
            await self._may_write.wait()

    def close(self) -> None:
        self._may_write.set()
        if self._transport is not None:
            self._transport.abort()

    def _flush(self) -> None:
        if self._unsent and self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(self._unsent))
            self._unsent.clear()

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
        while (body := begin + LENGTH_BYTES) <= len(received):
            end = body + int.from_bytes(received[begin:body], "big")
            if end > len(received):
                break
            with memoryview(received)[body:end] as packed:  # without a copy
                message = pickle.loads(packed)
            begin = end
            self._on_message(message)
        del received[:begin]

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set()
        self._may_write.set()
