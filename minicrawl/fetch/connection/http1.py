"""HTTP/1.1 as it is asked and answered, without a network: bytes in, values out.

interim   an answer before the answer, such as 100 Continue: skipped
head      of all answers to a question together, no more than a limit is read

Laws: however the bytes of an answer are split as they come, what is read is the same. What no
answer may be ends in a fault that is kept, not raised: what came before it still counts.

Where the body of an HTTP/1 answer ends: by its length, by its chunks, or with its connection.

excess   bytes that come after the end of an answer, though nothing more was asked

Laws: however the bytes are split as they come, the body is the same. What came before a fault
is given.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Protocol

from minicrawl.fetch.connection.heads import Head, body_bytes, read_head, says
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
_LINE_ENDS = (b"\n", b"\r\n")
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
        if line not in _LINE_ENDS:
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
            self.ended = line in _LINE_ENDS

    def _is_trailer(self, begun: bytearray) -> bool:
        return self._trailers_bytes + len(begun) <= _MAX_TRAILERS_BYTES


def _is_short(begun: bytearray) -> bool:
    return len(begun) <= _MAX_LINE_BYTES


def _is_line_end(begun: bytearray) -> bool:
    return begun == b"\r"


_INTERIM = 1  # hundred
_MAX_URL = 64 * 1024
_VERSION = b"HTTP/"
_BLANK_LINES = re.compile(rb"[\r\n]*")


def question(host: str, path: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The bytes that ask a host for a path, without anything that could end a line early."""
    if len(path) > _MAX_URL:
        raise Fault(FailureKind.PROTOCOL, f"a URL of {len(path)} characters")
    lines = [f"GET {path} HTTP/1.1\r\nHost: {host}".encode("ascii")]
    lines += [b"%b: %b" % header for header in headers]
    lines.append(b"Connection: keep-alive\r\n\r\n")
    return b"\r\n".join(lines)


class ResponseParser:
    """Reads one answer as it comes."""

    def __init__(self, max_head_bytes: int) -> None:
        self._max_head_bytes = max_head_bytes
        self.head: Head | None = None
        self.fault: Fault | None = None
        self.heard = False  # anything at all
        self.ended = False
        self._framing: Framing | None = None
        self._held = bytearray()  # of a head that is not whole
        self._head_bytes = 0

    def take(self, piece: bytes) -> bytes:
        """What of the body these bytes hold."""
        self.heard = True
        if self.fault:
            return b""
        if self._framing is None:
            try:
                piece = self._take_head(piece)
            except Fault as fault:
                self.fault = fault.with_traceback(None)
            if self._framing is None:
                return b""
        return self._take_body(self._framing, piece)

    def hang_up(self) -> None:
        """The connection ended, and the answer with it, whether it was whole or not."""
        if isinstance(self._framing, ByConnection):
            self.ended = True
        elif not (self.ended or self.fault):
            part = "body" if self.head else "head"
            self.fault = Fault(FailureKind.RESET, f"the connection ended before the {part} did")

    @property
    def leaves_connection(self) -> bool:
        """Whether the connection may be asked again."""
        if self.head is None or not self.ended or self._framing is None or self._framing.excess:
            return False
        headers = self.head.headers
        if "transfer-encoding" in headers and "content-length" in headers:
            return False  # someone on the way may take the one for the other
        if self.head.lasting:
            return not says(headers, "connection", "close")
        return says(headers, "connection", "keep-alive")

    def _take_body(self, frame: Framing, piece: bytes) -> bytes:
        body = frame.take(piece) if piece else b""
        self.ended, self.fault = frame.ended, frame.fault
        return body

    def _take_head(self, piece: bytes) -> bytes:
        """What comes after the head; nothing while it is not whole."""
        held, at = self._held, 0
        searched = max(0, len(held) - 2)
        held += piece
        while self._framing is None:
            at = self._skip_blank_lines(at)
            self._check_version(at)
            end = BLANK_LINE.search(held, max(at, searched))
            self._check_size(end.end() if end else len(held))
            if not end:
                break
            self._use(read_head(bytes(held[at : end.start()])))
            at = end.end()
        rest = bytes(held[at:]) if self._framing else b""
        self._head_bytes += at
        del held[: len(held) if self._framing else at]
        return rest

    def _skip_blank_lines(self, at: int) -> int:
        blank = _BLANK_LINES.match(self._held, at)
        return blank.end() if blank else at

    def _check_size(self, end: int) -> None:
        if self._head_bytes + end > self._max_head_bytes:
            told = f"a head of more than {self._max_head_bytes:,} bytes (--max-head)"
            raise Fault(FailureKind.TOO_LARGE, told)

    def _check_version(self, at: int) -> None:
        start = self._held[at : at + len(_VERSION)]
        if not _VERSION.startswith(start):
            raise Fault(FailureKind.PROTOCOL, f"no HTTP: {bytes(self._held[at : at + 40])!r}")

    def _use(self, head: Head) -> None:
        if head.status // 100 == _INTERIM and head.status != HTTPStatus.SWITCHING_PROTOCOLS:
            return
        self._framing = framing(head)
        self.head = head
