"""HTTP/1.1 without I/O: writes requests as bytes, and parses responses as bytes arrive.

A response is a head and a body. The parser collects the head up to its blank line. The head says
where the body ends, and so which framing cuts it out of the bytes from then on: `ByLength`,
`ByChunks`, or `ByConnection` if only the end of the connection ends it. One response in three
pieces, as the network may split it:

    parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Enc")     b""     parser.head is None
    parser.feed(b"oding: chunked\r\n\r\n5\r\nhel")     b"hel"  head.status is 200; 2 bytes to come
    parser.feed(b"lo\r\n0\r\n\r\n")                    b"lo"   ended, and keeps_connection

Usually a head arrives in one piece, often with the whole body, so this case copies nothing twice.
Servers that send a byte at a time cost more, but the time stays proportional to the bytes: only
new bytes are searched for the blank line.

Errors that browsers forgive are forgiven: bare line feeds, missing reasons, unknown versions.
Heads that let two readers disagree on where a response ends are not, as the rest would be taken
for the response to the next request: two Content-Lengths that differ are a fault, and a
connection closes after a chunked response that also has a length.

framing   what marks the end of a body: its length, its chunks, or the end of the connection
excess    bytes after the end of a response although no further request was sent
interim   a response before the final one, such as 100 Continue; it is skipped

Laws: the result of parsing does not depend on how the network split the bytes. A head has a
maximum length, interim responses included. An invalid response ends in a fault that is stored,
not raised: the body before it still counts.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from http import HTTPStatus
from typing import Protocol

from minicrawl.fetch.http.heads import STATUS_LINE, Head, content_length, has_word, read_head
from minicrawl.fetch.http.messages import Fault
from minicrawl.model import FailureKind

BLANK_LINE = re.compile(rb"\n\r?\n")
"""End of a head, including the end of its last line."""

_BODILESS: frozenset[int] = frozenset((HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED))


# ---------------------------------------------------------------- where a body ends


class Framing(Protocol):
    """Extracts the body from the bytes of a response. `fault` is why parsing stopped."""

    ended: bool
    excess: bool
    fault: Fault | None

    def feed(self, piece: bytes) -> bytes:
        """Return the part of the body in these bytes."""
        ...


def framing_of(head: Head) -> Framing:
    """Return the framing of a response. Raises Fault if its headers contradict each other."""
    if head.status in _BODILESS:
        return ByLength(0)
    if is_chunked(head):
        return ByChunks()
    length = content_length(head.headers)
    return ByConnection() if length is None else ByLength(length)


def is_chunked(head: Head) -> bool:
    """Return True if chunked is among the transfer codings.

    The other codings are undone after chunked, whatever their order in the header.
    """
    return has_word(head.headers, "transfer-encoding", "chunked")


class ByLength:
    """Body of a known length."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.ended = not length
        self.excess = False
        self.fault: Fault | None = None

    def feed(self, piece: bytes) -> bytes:
        body = piece[: self._left]
        self._left -= len(body)
        self.ended = not self._left
        self.excess |= len(piece) > len(body)
        return body


class ByConnection:
    """Body that ends with the connection; the parser then sets `ended`."""

    def __init__(self) -> None:
        self.ended = False
        self.excess = False
        self.fault: Fault | None = None

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


class ByChunks:
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
        self.ended = False
        self.excess = False
        self.fault: Fault | None = None

    @property
    def has_more(self) -> bool:
        """True if held bytes are left for the next call."""
        return bool(self._held) and not (self.ended or self.fault)

    def feed(self, piece: bytes) -> bytes:
        return b"".join(self._chunks(self._held + piece))

    def _chunks(self, piece: bytes) -> Iterator[bytes]:
        at, most = 0, self._count + _CHUNKS_AT_ONCE
        while at < len(piece) and self._count < most and not (self.ended or self.fault):
            if self._left:
                chunk = piece[at : at + self._left]
                self._left -= len(chunk)
                at += len(chunk)
                yield chunk
            else:
                at = self._feed_line(piece, at)
        self._held = piece[at:]
        self.excess |= self.ended and at < len(piece)

    def _feed_line(self, piece: bytes, at: int) -> int:
        """Parse a line, or the part of it that is here. Return where the next one begins."""
        end = piece.find(b"\n", at) + 1
        end_line, may_begin = self._rule
        self._line += piece[at:end] if end else piece[at:]
        if end:
            end_line(bytes(self._line))
            self._line.clear()
        elif not may_begin(self._line):
            self._refuse(bytes(self._line))
        return end or len(piece)

    def _refuse(self, line: bytes) -> None:
        self.fault = Fault(FailureKind.PROTOCOL, f"no chunk: {line[:40]!r}")

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
            self.fault = Fault(FailureKind.PROTOCOL, "chunks that hold next to nothing")
        elif self._left:
            self._rule = self._end_chunk, _is_line_end
        else:
            self._rule = self._end_trailer, self._is_trailer

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


# ---------------------------------------------------------------- requests and responses

_INTERIM = 1  # hundreds: the class of a status
MOST_INTERIM_HEADS = 32
"""Maximum number of interim heads.

Servers send one or two; parsing all that fit into a head would block the event loop.
"""
_VERSION = b"HTTP/"
_BLANK_LINES = re.compile(rb"[\r\n]*")


def request_bytes(
    host: str,
    path: str,
    headers: Iterable[tuple[bytes, bytes]],
    method: str = "GET",
    body: bytes = b"",
) -> bytes:
    """Return a request as bytes. No argument but the body may contain a line end."""
    lines = [f"{method} {path} HTTP/1.1\r\nHost: {host}".encode("ascii")]
    lines += [b"%b: %b" % header for header in headers]
    if method == "POST":
        lines.append(b"Content-Length: %d" % len(body))
    lines.append(b"Connection: keep-alive\r\n\r\n" + body)
    return b"\r\n".join(lines)


class ResponseParser:
    """Parser of one response, fed as its bytes arrive."""

    def __init__(self, max_head_bytes: int) -> None:
        self._max_head_bytes = max_head_bytes
        self.head: Head | None = None
        self.raw_head = (
            b""  # of the final response, with its blank line; one byte more than allowed
        )
        self.fault: Fault | None = None
        self.has_begun = False  # any byte has arrived
        self.ended = False
        self._framing: Framing | None = None
        self._head = bytearray()  # partial head
        self._head_bytes = 0
        self._interim_heads = 0

    def feed(self, piece: bytes) -> bytes:
        """Parse bytes and return the part of the body in them."""
        self.has_begun = True
        if self.fault:
            return b""
        if self._framing is None:
            try:
                piece = self._feed_head(piece)
            except Fault as fault:
                self.fault = fault.with_traceback(None)
            if self._framing is None:
                return b""
        body = self._framing.feed(piece) if piece or self.has_more else b""
        self.ended, self.fault = self._framing.ended, self._framing.fault
        return body

    @property
    def has_more(self) -> bool:
        """True if `feed` should be called again without waiting for more bytes."""
        return isinstance(self._framing, ByChunks) and self._framing.has_more

    def end_connection(self) -> None:
        """Note the end of the connection: the response ends with it, complete or not."""
        if isinstance(self._framing, ByConnection):
            self.ended = True
        elif not (self.ended or self.fault):
            part = "body" if self.head else "head"
            self.fault = Fault(FailureKind.RESET, f"the connection ended before the {part} did")

    @property
    def keeps_connection(self) -> bool:
        """True if the connection may be used for another request."""
        if self.head is None or not self.ended or self._framing is None or self._framing.excess:
            return False
        headers = self.head.headers
        if "transfer-encoding" in headers and "content-length" in headers:
            return False  # a proxy may have framed the response by the other header
        if self.head.persistent:
            return not has_word(headers, "connection", "close")
        return has_word(headers, "connection", "keep-alive")

    def _feed_head(self, piece: bytes) -> bytes:
        """Parse head bytes. Return the bytes after the head; none while it is incomplete."""
        # The blank line is at most three bytes long, and two of them may have arrived before.
        at, searched = 0, max(0, len(self._head) - 2)
        head: bytes | bytearray = piece  # usually the head arrives in one piece
        if self._head:
            self._head += piece
            head = self._head
        while self._framing is None:
            if blank := _BLANK_LINES.match(head, at):
                at = blank.end()
            _check_version(head, at)
            end = BLANK_LINE.search(head, max(at, searched))
            if self._head_bytes + (end.end() if end else len(head)) > self._max_head_bytes:
                begun = bytes(head[: self._max_head_bytes + 1])
                is_first = self._head_bytes + at == 0
                if is_first and STATUS_LINE.match(begun.decode("latin-1")):
                    self.raw_head = begun
                detail = f"a head of more than {self._max_head_bytes:,} bytes"
                raise Fault(FailureKind.TOO_LARGE, detail)
            if not end:
                break
            self._use(read_head(bytes(head[at : end.start()])))
            if self.head:
                self.raw_head = bytes(head[at : end.end()])
            at = end.end()
        self._head_bytes += at
        if self._framing:
            self._head = bytearray()
            return bytes(head[at:])
        if head is piece:
            self._head = bytearray(piece)
        del self._head[:at]
        return b""

    def _use(self, head: Head) -> None:
        if head.status // 100 == _INTERIM and head.status != HTTPStatus.SWITCHING_PROTOCOLS:
            self._interim_heads += 1
            if self._interim_heads > MOST_INTERIM_HEADS:
                detail = f"more than {MOST_INTERIM_HEADS} responses before the final one"
                raise Fault(FailureKind.TOO_LARGE, detail)
            return
        self._framing = framing_of(head)
        self.head = head


def _check_version(head: bytes | bytearray, at: int) -> None:
    if not _VERSION.startswith(head[at : at + len(_VERSION)]):
        raise Fault(FailureKind.PROTOCOL, f"no HTTP: {bytes(head[at : at + 40])!r}")
