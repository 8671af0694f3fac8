"""What the loop does, done by hand."""

import asyncio


def hear(protocol: asyncio.BufferedProtocol, data: bytes) -> None:
    """These bytes come, as many at a time as there is room for."""
    while data:
        room = memoryview(protocol.get_buffer(-1))
        piece, data = data[: len(room)], data[len(room) :]
        room[: len(piece)] = piece
        protocol.buffer_updated(len(piece))
