"""Actions of an event loop, done by hand."""

import asyncio


def hear(protocol: asyncio.BufferedProtocol, data: bytes) -> None:
    """Deliver `data` to the protocol, as much at a time as its buffer holds."""
    while data:
        room = memoryview(protocol.get_buffer(-1))
        piece, data = data[: len(room)], data[len(room) :]
        room[: len(piece)] = piece
        protocol.buffer_updated(len(piece))
