"""Where the body of an HTTP/1 answer ends: by its length, by its chunks, or with its connection.

excess   bytes that come after the end of an answer, though nothing more was asked

Laws: however the bytes are split as they come, the body is the same. What came before a fault
is given.
"""

import re
from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Protocol

from minicrawl.fetch.connection.heads import Head, body_bytes, says
from minicrawl.fetch.failures import Fault
from minicrawl.model import FailureKind

BLANK_LINE = re.compile(rb"\n\r?\n")
"""With the end of the line before it."""

_BODILESS: frozenset[int] = frozenset((HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED))


class Framing(Protocol):
    """`fault` is why the body cannot be told from here on."""

    ended: bool
    excess: bool
    fault: Fault | None

    def take(self, piece: bytes) -> bytes:
        """What of the body these bytes hold."""
        ...


def framing(head: Head) -> Framing:
    """Raises Fault where the headers contradict themselves."""
    if head.status in _BODILESS:
        return ByLength(0)
    if is_chunked(head):
        return ByChunks()
    length = body_bytes(head.headers)
    return ByConnection() if length is None else ByLength(length)


def is_chunked(head: Head) -> bool:
    """Other transfer codings are undone after this one, whatever their order."""
    return says(head.headers, "transfer-encoding", "chunked")


class ByLength:
    """So many bytes."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.ended = not length
        self.excess = False
        self.fault: Fault | None = None

    def take(self, piece: bytes) -> bytes:
        body = piece[: self._left]
        self._left -= len(body)
        self.ended = not self._left
        self.excess |= len(piece) > len(body)
        return body


class ByConnection:
    """All that comes; whoever sees the connection end says that the body has."""

    def __init__(self) -> None:
        self.ended = False
        self.excess = False
        self.fault: Fault | None = None

    def take(self, piece: bytes) -> bytes:
        return piece


# The line of a chunk's size may carry blanks and extensions, which are of no interest.
_SIZE = re.compile(rb"[\t ]{0,16}([0-9A-Fa-f]{1,16})(?:[\t\r ;][^\n]{0,4096})?\n")
_BLANK_LINES = (b"\n", b"\r\n")
_MAX_LINE_BYTES = 5000
_MAX_TRAILERS_BYTES = 32 * 1024
_MANY_CHUNKS, _TINY_BYTES = 10_000, 8  # so many of so few cost more than they can be worth


class ByChunks:
    """Chunks, each after its size; one of no bytes is the last, and trailers may follow it.

    Between chunks it goes line by line, and holds no more than a line that has not ended.
    """

    def __init__(self) -> None:
        self._held = bytearray()  # of a line
        self._left = 0  # bytes of the chunk under way
        self._end_line = self._end_size_line
        self._is_begun: Callable[[bytearray], bool] = _is_short
        self._count = self._given_bytes = self._trailers_bytes = 0
        self.ended = False
        self.excess = False
        self.fault: Fault | None = None

    def take(self, piece: bytes) -> bytes:
        return b"".join(self._chunks(piece))

    def _chunks(self, piece: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(piece) and not (self.ended or self.fault):
            if self._left:
                chunk = piece[at : at + self._left]
                self._left -= len(chunk)
                at += len(chunk)
                yield chunk
            else:
                at = self._take_line(piece, at)
        self.excess |= self.ended and at < len(piece)

    def _take_line(self, piece: bytes, at: int) -> int:
        """Where what follows it begins."""
        end = piece.find(b"\n", at) + 1
        self._held += piece[at:end] if end else piece[at:]
        if end:
            self._end_line(bytes(self._held))
            self._held.clear()
        elif not self._is_begun(self._held):
            self._refuse(bytes(self._held))
        return end or len(piece)

    def _refuse(self, line: bytes) -> None:
        self.fault = Fault(FailureKind.PROTOCOL, f"no chunk: {line[:40]!r}")

    def _end_chunk(self, line: bytes) -> None:
        if line not in _BLANK_LINES:
            self._refuse(line)
        self._end_line, self._is_begun = self._end_size_line, _is_short

    def _end_size_line(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line)
        if size is None:
            self._refuse(line)
            return
        self._left = int(size[1], 16)
        self._count += 1
        self._given_bytes += self._left
        if self._count >= _MANY_CHUNKS and self._given_bytes < self._count * _TINY_BYTES:
            self._left = 0
            self.fault = Fault(FailureKind.PROTOCOL, "chunks that hold next to nothing")
        elif self._left:
            self._end_line, self._is_begun = self._end_chunk, _is_line_end
        else:
            self._end_line, self._is_begun = self._end_trailer, self._is_trailer

    def _end_trailer(self, line: bytes) -> None:
        self._trailers_bytes += len(line)
        if self._trailers_bytes > _MAX_TRAILERS_BYTES:
            self.fault = Fault(FailureKind.PROTOCOL, "trailers without end")
        else:
            self.ended = line in _BLANK_LINES

    def _is_trailer(self, begun: bytearray) -> bool:
        return self._trailers_bytes + len(begun) <= _MAX_TRAILERS_BYTES


def _is_short(begun: bytearray) -> bool:
    return len(begun) <= _MAX_LINE_BYTES


def _is_line_end(begun: bytearray) -> bool:
    return begun == b"\r"
