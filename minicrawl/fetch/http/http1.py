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

interim   a response before the final one, such as 100 Continue; only raw parsers keep it
raw       a body as it was sent: with the sizes of its chunks, and its trailers

Laws: the result of parsing does not depend on how the network split the bytes. A head has a
maximum length, interim responses included. An invalid response ends in a fault that is stored,
not raised: the body before it still counts.
"""

import re
from collections.abc import Iterable
from http import HTTPStatus

from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.http.framing import ByChunks, ByConnection, Framing, framing_of
from minicrawl.fetch.http.heads import STATUS_LINE, Head, has_word, read_head
from minicrawl.states import State

BLANK_LINE = re.compile(rb"\n\r?\n")
"""End of a head, including the end of its last line."""


_INTERIM = 1  # hundreds: the class of a status
MOST_INTERIM_HEADS = 32
"""Servers send one or two; parsing all that fit into a head would block the event loop."""
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
    def __init__(self, max_head_bytes: int, *, is_raw: bool = False) -> None:
        """With `is_raw`, `feed` returns the body as sent."""
        self._max_head_bytes, self._is_raw = max_head_bytes, is_raw
        self.head: Head | None = None
        self.raw_head = b""
        """Head of the final response, with its blank line; one byte more than allowed."""
        self.interim = b""  # interim responses, and line ends before a head
        self.fault: Fault | None = None
        self.has_begun = False  # any byte has arrived
        self.ended = False
        self._framing: Framing | None = None
        self._head = bytearray()  # partial head
        self._head_bytes = 0
        self._interim_heads = 0

    def feed(self, piece: bytes) -> bytes:
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
        if self._is_raw and isinstance(self._framing, ByChunks):
            return self._framing.take_parsed()
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
            self.fault = Fault(State.RESET, f"the connection ended before the {part} did")

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
            if not _VERSION.startswith(head[at : at + len(_VERSION)]):
                raise Fault(State.PROTOCOL, f"no HTTP: {bytes(head[at : at + 40])!r}")
            end = BLANK_LINE.search(head, max(at, searched))
            if self._head_bytes + (end.end() if end else len(head)) > self._max_head_bytes:
                begun = bytes(head[: self._max_head_bytes + 1])
                is_first = self._head_bytes + at == 0
                if is_first and STATUS_LINE.match(begun.decode("latin-1")):
                    self.raw_head = begun
                detail = f"a head of more than {self._max_head_bytes:,} bytes"
                raise Fault(State.TOO_LARGE, detail)
            if not end:
                break
            parsed = read_head(bytes(head[at : end.start()]))
            if parsed.status // 100 == _INTERIM and parsed.status != HTTPStatus.SWITCHING_PROTOCOLS:
                self._interim_heads += 1
                if self._interim_heads > MOST_INTERIM_HEADS:
                    detail = f"more than {MOST_INTERIM_HEADS} responses before the final one"
                    raise Fault(State.TOO_LARGE, detail)
            else:
                self._framing, self.head = framing_of(parsed), parsed
                self.raw_head = bytes(head[at : end.end()])
                self.interim += bytes(head[:at])
            at = end.end()
        self._head_bytes += at
        if self._framing:
            self._head = bytearray()
            return bytes(head[at:])
        if head is piece:
            self._head = bytearray(piece)
        self.interim += bytes(self._head[:at])
        del self._head[:at]
        return b""
