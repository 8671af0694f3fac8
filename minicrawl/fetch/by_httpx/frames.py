"""The frames of HTTP/2 as they come, counted before anybody parses them.

Laws: a server cannot keep us busy with frames that bring nothing: of these, and of frames with next
to nothing in them, only so many are read for a request. However many come at once, others have
their turn after `_AT_ONCE` of them.

frame   9 bytes that tell its length and type, and its content; of a body, that is data
"""

from __future__ import annotations

import asyncio
from typing import Any

import httpcore

from minicrawl.fetch.by_httpx.streams import LoopStream
from minicrawl.fetch.transport import Fault
from minicrawl.model import FailureKind

_HEAD_BYTES = 9
_DATA = 0
_AT_ONCE = 100  # some milliseconds
_FREE, _FREE_A_REQUEST = 2_000, 1_000
"""Frames that may hold anything. A page of 10 MB comes in some 700, a response as a rule in 3."""
_TINY_BYTES = 8


class FrameMeter:
    """Follows one connection from frame to frame. `requests` were sent on it so far."""

    def __init__(self) -> None:
        self.requests = 0
        self._frames = self._data_bytes = 0
        self._left = 0  # bytes of the content of the current frame
        self._head = b""  # of the next one, as far as it is here

    def take(self, piece: bytes) -> int:
        """How many of these bytes to parse now; raises Fault if there is no end of frames."""
        at, last = 0, self._frames + _AT_ONCE
        while at < len(piece) and self._frames < last:
            if self._left:
                step = min(self._left, len(piece) - at)
                self._left -= step
                at += step
                continue
            missing = _HEAD_BYTES - len(self._head)
            self._head += piece[at : at + missing]
            at += missing
            if len(self._head) == _HEAD_BYTES:
                self._begin(self._head)
                self._head = b""
        return min(at, len(piece))

    def _begin(self, head: bytes) -> None:
        self._left = int.from_bytes(head[:3])
        self._frames += 1
        if head[3] == _DATA:
            self._data_bytes += self._left
        free = _FREE + _FREE_A_REQUEST * self.requests
        if self._frames > free and self._data_bytes < (self._frames - free) * _TINY_BYTES:
            raise Fault(FailureKind.PROTOCOL, "HTTP/2: frames that hold next to nothing")


class MeteredStream(httpcore.AsyncNetworkStream):
    """The bytes of a connection, some frames at a time."""

    def __init__(self, stream: LoopStream) -> None:
        self.meter = FrameMeter()
        self._stream = stream
        self._came = b""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._came:
            await asyncio.sleep(0)
        else:
            self._came = await self._stream.read(max_bytes, timeout)
        end = self.meter.take(self._came)
        piece, self._came = self._came[:end], self._came[end:]
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
