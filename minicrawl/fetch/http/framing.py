"""Framing: what marks the end of a body, and so cuts it out of the bytes that arrive.

framing   its length, its chunks, or the end of the connection
excess    bytes after the end of a response although no further request was sent
"""

import re
from collections.abc import Callable, Iterator
from http import HTTPStatus

from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.http.heads import Head, content_length, has_word
from minicrawl.states import State

_BODILESS: frozenset[int] = frozenset((HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED))


class Framing:
    """Extracts the body from the bytes of a response. `fault` is why parsing stopped."""

    ended = False
    excess = False
    fault: Fault | None = None

    def feed(self, piece: bytes) -> bytes:
        raise NotImplementedError


def framing_of(head: Head) -> Framing:
    """Return the framing of a response. Raises Fault if its headers contradict each other."""
    if head.status in _BODILESS:
        return ByLength(0)
    # Other codings are undone after chunked, whatever their order in the header.
    if has_word(head.headers, "transfer-encoding", "chunked"):
        return ByChunks()
    length = content_length(head.headers)
    return ByConnection() if length is None else ByLength(length)


class ByLength(Framing):
    def __init__(self, length: int) -> None:
        self._left = length
        self.ended = not length

    def feed(self, piece: bytes) -> bytes:
        body = piece[: self._left]
        self._left -= len(body)
        self.ended = not self._left
        self.excess |= len(piece) > len(body)
        return body


class ByConnection(Framing):
    """Body that ends with the connection; the parser then sets `ended`."""

    def feed(self, piece: bytes) -> bytes:
        return piece


# A chunk-size line may have blanks and extensions, which are ignored.
_SIZE = re.compile(rb"[\t ]{0,16}([0-9A-Fa-f]{1,16})(?:[\t\r ;][^\n]{0,4096})?\n")
_LINE_ENDS = (b"\n", b"\r\n")
_MAX_LINE_BYTES = 5000
_MAX_TRAILERS_BYTES = 32 * 1024
_CHUNKS_AT_ONCE = 100  # about 0.25 ms
_MANY_CHUNKS, _TINY_BYTES = 10_000, 8  # refused: more chunks, and smaller on average


_LineRule = tuple[Callable[[bytes], None], Callable[[bytearray], bool]]
"""Handler of a complete line, and a test whether a partial line may still become valid."""


class ByChunks(Framing):
    """Chunked body: each chunk follows its size; an empty chunk is the last, then come trailers.

    Between chunks, parsing is line by line. Tiny chunks are slow to parse and would block other
    connections, so each call parses a limited number and holds the rest for the next call.
    """

    def __init__(self) -> None:
        self._line = bytearray()  # partial line
        self._left = 0  # remaining bytes of the current chunk
        self._rule: _LineRule = self._end_size_line, _is_short
        self._count = self._chunk_bytes = self._trailers_bytes = 0
        self._held = b""
        self._parsed = b""

    @property
    def has_more(self) -> bool:
        """True if held bytes are left for the next call."""
        return bool(self._held) and not (self.ended or self.fault)

    def feed(self, piece: bytes) -> bytes:
        return b"".join(self._chunks(self._held + piece))

    def take_parsed(self) -> bytes:
        """Return what the last call has parsed, once: chunks with their sizes, and trailers."""
        parsed, self._parsed = self._parsed, b""
        return parsed

    def _chunks(self, piece: bytes) -> Iterator[bytes]:
        at, most = 0, self._count + _CHUNKS_AT_ONCE
        while at < len(piece) and self._count < most and not (self.ended or self.fault):
            if self._left:
                chunk = piece[at : at + self._left]
                self._left -= len(chunk)
                at += len(chunk)
                yield chunk
                continue
            # A line, or the part of it that is here.
            end = piece.find(b"\n", at) + 1
            end_line, may_begin = self._rule
            self._line += piece[at:end] if end else piece[at:]
            if end:
                end_line(bytes(self._line))
                self._line.clear()
            elif not may_begin(self._line):
                self._refuse(bytes(self._line))
            at = end or len(piece)
        self._parsed, self._held = piece[:at], piece[at:]
        self.excess |= self.ended and at < len(piece)

    def _refuse(self, line: bytes) -> None:
        self.fault = Fault(State.PROTOCOL, f"no chunk: {line[:40]!r}")

    def _end_chunk(self, line: bytes) -> None:
        if line not in _LINE_ENDS:
            self._refuse(line)
        self._rule = self._end_size_line, _is_short

    def _end_size_line(self, line: bytes) -> None:
        size = _SIZE.fullmatch(line)
        if size is None:
            self._refuse(line)
            return
        self._left = int(size[1], 16)
        self._count += 1
        self._chunk_bytes += self._left
        if self._count >= _MANY_CHUNKS and self._chunk_bytes < self._count * _TINY_BYTES:
            self._left = 0
            self.fault = Fault(State.PROTOCOL, "chunks that hold next to nothing")
        elif self._left:
            self._rule = self._end_chunk, lambda begun: begun == b"\r"
        else:
            self._rule = self._end_trailer, self._is_trailer

    def _end_trailer(self, line: bytes) -> None:
        self._trailers_bytes += len(line)
        if self._trailers_bytes > _MAX_TRAILERS_BYTES:
            self.fault = Fault(State.PROTOCOL, "trailers without end")
        else:
            self.ended = line in _LINE_ENDS

    def _is_trailer(self, begun: bytearray) -> bool:
        return self._trailers_bytes + len(begun) <= _MAX_TRAILERS_BYTES


def _is_short(begun: bytearray) -> bool:
    return len(begun) <= _MAX_LINE_BYTES
