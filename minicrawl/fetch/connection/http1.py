"""HTTP/1.1 as it is asked and answered, without a network: bytes in, values out.

interim   an answer before the answer, such as 100 Continue: skipped
head      of all answers to a question together, no more than a limit is read

Laws: however the bytes of an answer are split as they come, what is read is the same. What no
answer may be ends in a fault that is kept, not raised: what came before it still counts.
"""

import re
from collections.abc import Iterable
from http import HTTPStatus

from minicrawl.fetch.connection.framing import BLANK_LINE, ByConnection, Framing, framing
from minicrawl.fetch.connection.heads import Head, read_head, says
from minicrawl.fetch.failures import Fault
from minicrawl.model import FailureKind

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
