"""Where the body of an HTTP/1 answer ends: by its length, by its chunks, or with its connection.

excess   bytes that come after the end of an answer, though nothing more was asked

Laws: however the bytes are split as they come, the body is the same. What came before a fault
is given.
"""

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Protocol

from minicrawl.fetch.failures import Fault
from minicrawl.fetch.heads import Head, body_bytes, says
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
    """An old server that says so does not mean it."""
    return head.lasting and says(head.headers, "transfer-encoding", "chunked")


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
_SIZE = rb"[\t ]{0,16}([0-9A-Fa-f]{1,16})(?:[\t\r ;][^\n]{0,4096})?\n"
_PART_OF_SIZE = rb"[^\n]{0,5000}\Z"
_FIRST_SIZE, _PART_OF_FIRST = re.compile(_SIZE), re.compile(_PART_OF_SIZE)
_NEXT_SIZE = re.compile(rb"\r?\n" + _SIZE)
_PART_OF_NEXT = re.compile(rb"\r?\Z|\r?\n" + _PART_OF_SIZE)


_MAX_TRAILERS_BYTES = 32 * 1024
_MANY_CHUNKS, _TINY_BYTES = 10_000, 8  # so many of so few cost more than they can be worth


class ByChunks:
    """Chunks, each after its size; one of no bytes is the last, and trailers may follow it."""

    def __init__(self) -> None:
        self._held = b""
        self._left = 0  # bytes of the chunk under way
        self._size, self._part_of_size = _FIRST_SIZE, _PART_OF_FIRST
        self._in_trailers = False
        self._count = self._given_bytes = 0
        self.ended = False
        self.excess = False
        self.fault: Fault | None = None

    def take(self, piece: bytes) -> bytes:
        self._held += piece
        return b"".join(self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        """All that is held, but for what is too little to tell."""
        held, at = self._held, 0
        while at < len(held) and not (self.ended or self.fault):
            if self._left:
                chunk = held[at : at + self._left]
                self._left -= len(chunk)
                at += len(chunk)
                yield chunk
            elif (end := self._line_end(held, at)) is not None:
                at = end
            else:
                break
        self._held = held[at:]
        self.excess = self.ended and bool(self._held)

    def _line_end(self, held: bytes, at: int) -> int | None:
        return self._trailers_end(held, at) if self._in_trailers else self._size_end(held, at)

    def _size_end(self, held: bytes, at: int) -> int | None:
        line = self._size.match(held, at)
        if line is None:
            if not self._part_of_size.match(held, at):
                self.fault = Fault(FailureKind.PROTOCOL, f"no chunk: {held[at : at + 40]!r}")
            return None
        self._left = int(line[1], 16)
        self._in_trailers = not self._left
        self._count += 1
        self._given_bytes += self._left
        if self._count >= _MANY_CHUNKS and self._given_bytes < self._count * _TINY_BYTES:
            self.fault = Fault(FailureKind.PROTOCOL, "chunks that hold next to nothing")
            return None
        self._size, self._part_of_size = _NEXT_SIZE, _PART_OF_NEXT
        # The trailers' end is a blank line, and the line of the last size may be before it.
        return line.end() - self._in_trailers

    def _trailers_end(self, held: bytes, at: int) -> int | None:
        blank_line = BLANK_LINE.search(held, at)
        end = blank_line.end() if blank_line else len(held)
        if end - at > _MAX_TRAILERS_BYTES:
            self.fault = Fault(FailureKind.PROTOCOL, "trailers without end")
        self.ended = blank_line is not None and not self.fault
        return end if self.ended else None
