"""HTTP between the fetcher and its clients: requests and responses as values, and as bytes."""

import re
import ssl
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple, Protocol

import ada_url

from minicrawl.model import Failed, FailureKind, Wire

# ================================================================ values
#
# Requests and responses between the fetcher and the HTTP client, and the errors on the way.
#
# `connection.HttpClient` is the usual transport; `fetcher` adapts any httpx transport.
#
# origin   scheme, host and port; a connection belongs to one origin
# path     the part of a URL between its origin and its fragment
# fault    an error of the server or of the network
#
# Laws: a path is requested as given if it is valid in a request, else as the URL standard
# serializes it. Whatever the network or the server does raises a Fault of a named kind, or an
# OSError, which is how the system reports a broken connection. Any other exception is a bug.

# ---------------------------------------------------------------- targets

_PORTS = {"http:": 80, "https:": 443}
_MOST_ORIGINS = 20_000
_PARTS = re.compile(r"(https?://[^\s/?#@\\]+)(/[!\"$-~]*)(?:#.*)?", re.DOTALL)


class Origin(NamedTuple):
    """Scheme, host and port. `host` has no brackets; `name` is the value of the Host header."""

    is_tls: bool
    host: str
    port: int
    name: str


class Target(NamedTuple):
    """Origin, and a path on it. `url` has no credentials and no fragment."""

    origin: Origin
    path: str
    url: str


def target(url: str) -> Target | None:
    """Return the target of a URL, or None if it is neither http nor https."""
    try:
        parts = _PARTS.fullmatch(url) or _PARTS.fullmatch(_without_credentials(url))
        return Target(_origin(parts[1]), parts[2], parts[1] + parts[2]) if parts else None
    except ValueError:
        return None


@lru_cache(_MOST_ORIGINS)
def _origin(url: str) -> Origin:
    parsed = ada_url.URL(url)
    return Origin(
        is_tls=parsed.protocol == "https:",
        host=parsed.hostname.strip("[]"),
        port=int(parsed.port or _PORTS[parsed.protocol]),
        name=parsed.host,
    )


def _without_credentials(url: str) -> str:
    parsed = ada_url.URL(url)
    parsed.username = parsed.password = ""
    return parsed.href


class ConnectTarget(NamedTuple):
    """Address and port to connect to."""

    address: str
    port: int


# ---------------------------------------------------------------- faults

_SHOWN = 200  # characters of a message


class Fault(Exception):
    """Error of the server or of the network. The message describes it."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.wire: Wire | None = None
        """Heads of the exchange, if that of the response is too long; its beginning is enough."""

    def __reduce__(self) -> tuple[type["Fault"], tuple[FailureKind, str]]:
        """Support copying."""
        return Fault, (self.kind, str(self))


EXPECTED = (Fault, OSError)
"""Exceptions that `failure` accepts."""


def failure(error: Fault | OSError) -> Failed:
    """Return the failure for an exception, with its message as one short line."""
    return Failed(kind=kind_of(error), detail=described(error))


def described(error: Fault | OSError) -> str:
    """Return the message as one short line; for TLS errors, with a hint."""
    explained = _explained(error) if isinstance(error, ssl.SSLError) else ""
    return " ".join((explained or str(error)).split())[:_SHOWN]


def kind_of(error: Fault | OSError) -> FailureKind:
    """Return the kind of an error."""
    if isinstance(error, Fault):
        return error.kind
    return FailureKind.TLS if isinstance(error, ssl.SSLError) else FailureKind.RESET


_CERTIFICATES = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    62: "the certificate is for other hosts",
    64: "the certificate is for other addresses",
}
"""Messages by OpenSSL verification code. Only the server's owner can fix these."""
_UNKNOWN_ISSUERS = {
    18: "the certificate is self-signed",
    19: "the certificate chain ends in an unknown authority",
    20: "the issuer of the certificate is not trusted",
    21: "the certificate chain is incomplete: the server sends no intermediate certificate",
}
_ALERTS = {
    "CERTIFICATE_REQUIRED": "the server requires a client certificate (--client-cert)",
    "UNSUPPORTED_PROTOCOL": "the server only speaks an older version of TLS",
    "ALERT_PROTOCOL_VERSION": "the server only speaks another version of TLS",
}


def _explained(error: ssl.SSLError) -> str:
    code, message = getattr(error, "verify_code", 0), getattr(error, "verify_message", "")
    if why := _CERTIFICATES.get(code):
        return f"{why}: {message} (--insecure HOST, if it does not matter)"
    if why := _UNKNOWN_ISSUERS.get(code):
        return f"{why}: {message} (--ca FILE, or --insecure HOST)"
    reason = getattr(error, "reason", None) or ""
    return next((f"{why}: {reason}" for alert, why in _ALERTS.items() if alert in reason), "")


# ---------------------------------------------------------------- requests and responses

_HARMLESS = frozenset(
    b"accept accept-encoding accept-language connection from host if-modified-since if-none-match"
    b" origin range referer user-agent access-control-request-headers"
    b" access-control-request-method content-length content-type".split()
)
"""Names of the request headers that are archived. Any other may hold a secret of the user."""
SIGNATURES = frozenset((b"signature", b"signature-agent", b"signature-input"))
"""Names of the headers that `signing` sets. They hold no secret: the key stays in its file."""
_COOKIE_FIELDS = frozenset((b"set-cookie",))
_REQUESTS_CACHED = 1024
_BLANK_BYTES = (b" ", b"\t")


def without_secrets(wire: Wire, *, hides_cookies: bool, is_signed: bool = False) -> Wire:
    """Return the heads without lines that may hold secrets.

    With `hides_cookies`, Set-Cookie is left out too, as it may hold the session of a login. With
    `is_signed`, signature headers are kept: they are the crawler's own.
    """
    first, end, lines = wire.request.partition(b"\n")
    request = first + end + _harmless_lines(lines, is_signed)
    if not hides_cookies:
        return wire._replace(request=request)
    first, end, lines = wire.response.partition(b"\n")
    response = first + end + _lines_of(lines, lambda name: name not in _COOKIE_FIELDS)
    return wire._replace(request=request, response=response)


@lru_cache(_REQUESTS_CACHED)
def _harmless_lines(lines: bytes, is_signed: bool) -> bytes:
    """Return the request lines that may be archived; cached, as most are equal for a whole host."""
    harmless = _HARMLESS | SIGNATURES if is_signed else _HARMLESS
    return _lines_of(lines, lambda name: name in harmless)


def _lines_of(lines: bytes, is_kept: Callable[[bytes], bool]) -> bytes:
    """Return the headers whose names are kept, and the blank line."""
    kept, keeps = list[bytes](), True
    if not lines:
        return b""
    # `splitlines` would also split at a lone carriage return, which ends no header.
    for line in [line + b"\n" for line in lines.removesuffix(b"\n").split(b"\n")]:
        if not line.startswith(_BLANK_BYTES):  # else it continues the header before it
            name, colon, _ = line.partition(b":")
            keeps = not colon or is_kept(name.strip().lower())
        if keeps:
            kept.append(line)
    return b"".join(kept)


def head_bytes(first: str, fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a head as HTTP/1.1 writes it, from the fields of another protocol."""
    lines = (b"%b: %b\r\n" % field for field in fields if not field[0].startswith(b":"))
    return b"".join((f"{first}\r\n".encode("ascii"), *lines, b"\r\n"))


@dataclass(frozen=True, slots=True)
class TransportRequest:
    """GET, HEAD, OPTIONS or POST request.

    `places` are the addresses that it may connect to, best first. If `is_anonymous`, nothing is
    added that identifies the user.
    """

    target: Target
    places: tuple[ConnectTarget, ...]
    headers: Sequence[tuple[bytes, bytes]]
    method: str = "GET"
    is_anonymous: bool = False
    body: bytes = b""


class ResponseStream(Protocol):
    """Response whose head has arrived. The caller closes it, whether or not it read the body."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]:
        """Headers by lower-case name."""
        ...

    @property
    def first_byte_s(self) -> float:
        """Seconds from the request on an open connection to the head of the response."""
        ...

    @property
    def wire(self) -> Wire | None:
        """Heads as bytes, secrets included, or None if unknown. Read it before the body."""
        ...

    @property
    def body(self) -> AsyncIterable[bytes]:
        """Chunks of the body as they arrive, not decoded."""
        ...

    def take_whole(self) -> bytes | None:
        """Return the body if all of it has arrived, else None; after that `body` is empty.

        Most bodies arrive with their heads. The caller then needs neither to wait nor a deadline.
        """

    async def aclose(self) -> None:
        """Discard the rest of the body."""


class Transport(Protocol):
    """Client that sends requests."""

    async def send(self, request: TransportRequest) -> ResponseStream:
        """Send a request and wait for the head of its response."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""


# ================================================================ heads
#
# Parses the head of an HTTP/1 response, that is status line and headers, as browsers do.
#
# fold    a line that begins with a blank; it continues the header before it
#
# Laws: a head is refused only if it has no status line, or if the end of the body is ambiguous. A
# line that is not a header is skipped, a line may end without a carriage return, and a status may
# lack a reason. Header values that may be stored are short: longer ones are cut and end with a
# note; longer validators are dropped.

_STATUS_LINE = re.compile(r"HTTP/([0-9]{1,3})(?:\.([0-9]{1,3}))?[\t ]+([0-9]{3})(?![0-9])")
_FOLD = re.compile(rb"\r?\n[\t ]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_BLANKS = "\t\r "

MOST_CHARACTERS = 2048
"""Maximum characters of a header value that may be stored: the same as of a URL."""
CONFLICT = "\n"
"""Separator of conflicting Locations, and of Set-Cookie lines; no value contains it."""
_CUT = f" [cut at {MOST_CHARACTERS:,} characters]"
_ONLY_ONE = frozenset(("location",))
_COOKIES = "set-cookie"
_VALIDATORS = frozenset(("etag", "last-modified"))
# These decide how the response is handled, and are not stored. Cutting one could reverse its
# meaning.
_NEVER_CUT = frozenset(
    ("connection", "content-encoding", "content-length", "link", "transfer-encoding")
) | {"x-robots-tag"}


class Head(NamedTuple):
    """Head of a response, with lower-case header names.

    `persistent` is True if the HTTP version keeps connections open by default.
    """

    status: int
    headers: dict[str, str]
    persistent: bool = True


def read_head(head: bytes) -> Head:
    """Parse the lines before the blank one."""
    lines = _FOLD.sub(b" ", head).decode("latin-1").split("\n")
    status_line = _STATUS_LINE.match(lines[0])
    if not status_line:
        raise Fault(FailureKind.PROTOCOL, f"no status line: {lines[0][:40]!r}")
    major, minor, status = status_line.groups(default="0")
    headers, persistent = joined_headers(_fields(lines[1:])), (int(major), int(minor)) > (1, 0)
    if not persistent:
        headers.pop("transfer-encoding", None)  # HTTP/1.0 has none
    return Head(int(status), headers, persistent)


def _fields(lines: Iterable[str]) -> list[tuple[str, str]]:
    fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and (name := name.strip(_BLANKS)):
            fields.append((name, value.strip(_BLANKS)))
    return fields


def joined_headers(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the headers by lower-case name; repeated ones are joined by commas.

    `fields` are decoded as Latin-1; values that are valid UTF-8 are decoded again.
    """
    joined: dict[str, str] = {}
    several: dict[str, list[str]] = {}  # values of repeated headers, and of long ones to be cut
    for written, value in fields:
        name, text = written.lower(), value if value.isascii() else _text(value)
        if name in joined:
            several.setdefault(name, [joined[name]]).append(text)
            continue
        joined[name] = text
        if len(text) > MOST_CHARACTERS:
            several[name] = [text]
    for name, given in several.items():
        joined[name] = _joined(name, given)
    for name in _VALIDATORS.intersection(joined):
        if len(joined[name]) > MOST_CHARACTERS:
            del joined[name]
    return joined


def take_cookies(headers: dict[str, str], *, stay: bool = True) -> tuple[str, ...]:
    """Remove the Set-Cookie lines and return them; with `stay`, keep them as one header."""
    value = headers.pop(_COOKIES, None)
    if value is None:
        return ()
    lines = value.split(CONFLICT)
    if not stay:
        return tuple(lines)
    headers[_COOKIES] = _cut(", ".join(lines))
    return ()


def _joined(name: str, values: list[str]) -> str:
    if name in _ONLY_ONE:
        return _cut(CONFLICT.join(dict.fromkeys(values)))
    if name == _COOKIES:
        return CONFLICT.join(values)  # cookie dates contain commas; `take_cookies` joins the lines
    joined = ", ".join(values)
    return joined if name in _NEVER_CUT or name in _VALIDATORS else _cut(joined)


def _cut(value: str) -> str:
    return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + _CUT


def _text(value: str) -> str:
    try:
        return value.encode("latin-1").decode()
    except UnicodeDecodeError:
        return value


def has_word(headers: dict[str, str], name: str, word: str) -> bool:
    """Return True if a comma-separated header contains this word."""
    value = headers.get(name)
    return value is not None and word in map(str.strip, value.lower().split(","))


def transfer_codings(headers: Mapping[str, str]) -> list[str]:
    """Return the transfer codings other than chunked, in the order they were applied."""
    if "transfer-encoding" not in headers:
        return []
    names = map(str.strip, headers["transfer-encoding"].lower().split(","))
    return [name for name in names if name not in ("", "chunked", "identity")]


def content_length(headers: dict[str, str]) -> int | None:
    """Return the Content-Length, or None.

    Equal repetitions are allowed; values that are not numbers are ignored.
    """
    written = headers.get("content-length", "")
    if _LENGTH.fullmatch(written):  # as nearly always
        return int(written)
    texts = map(str.strip, written.split(","))
    lengths = {int(text) for text in texts if _LENGTH.fullmatch(text)}
    if len(lengths) > 1:
        raise Fault(FailureKind.PROTOCOL, "lengths that contradict each other")
    return lengths.pop() if lengths else None


# ================================================================ HTTP/1.1
#
# HTTP/1.1 without I/O: writes requests as bytes, and parses responses as bytes arrive.
#
# A response is a head and a body. The parser collects the head up to its blank line. The head says
# where the body ends, and so which framing cuts it out of the bytes from then on: `ByLength`,
# `ByChunks`, or `ByConnection` if only the end of the connection ends it. One response in three
# pieces, as the network may split it:
#
#     parser.feed(b"HTTP/1.1 200 OK\r\nTransfer-Enc")     b""     parser.head is None
#     parser.feed(b"oding: chunked\r\n\r\n5\r\nhel")     b"hel"  head.status is 200; 2 bytes to come
#     parser.feed(b"lo\r\n0\r\n\r\n")                    b"lo"   ended, and keeps_connection
#
# Usually a head arrives in one piece, often with the whole body, so this case copies nothing twice.
# Servers that send a byte at a time cost more, but the time stays proportional to the bytes: only
# new bytes are searched for the blank line.
#
# Errors that browsers forgive are forgiven: bare line feeds, missing reasons, unknown versions.
# Heads that let two readers disagree on where a response ends are not, as the rest would be taken
# for the response to the next request: two Content-Lengths that differ are a fault, and a
# connection closes after a chunked response that also has a length.
#
# framing   what marks the end of a body: its length, its chunks, or the end of the connection
# excess    bytes after the end of a response although no further request was sent
# interim   a response before the final one, such as 100 Continue; it is skipped
#
# Laws: the result of parsing does not depend on how the network split the bytes. A head has a
# maximum length, interim responses included. An invalid response ends in a fault that is stored,
# not raised: the body before it still counts.

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
                if is_first and _STATUS_LINE.match(begun.decode("latin-1")):
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
