"""Requests and responses between the fetcher and the HTTP client, and the errors on the way.

`client.client.HttpClient` is the usual transport; `client.httpx_transport` adapts any of httpx.

origin   scheme, host and port; a connection belongs to one origin
path     the part of a URL between its origin and its fragment
fault    an error of the server or of the network

Laws: a path is requested as given if it is valid in a request, else as the URL standard
serializes it. Whatever the network or the server does raises a Fault of a named kind, or an
OSError, which is how the system reports a broken connection. Any other exception is a bug.
"""

import re
import ssl
from collections.abc import AsyncIterable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import ada_url

from minicrawl.model import Failed, FailureKind, Wire

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
    headers, keeps = list[bytes](), True
    if not lines:
        return b""
    # `splitlines` would also split at a lone carriage return, which ends no header.
    for line in [line + b"\n" for line in lines.removesuffix(b"\n").split(b"\n")]:
        if not line.startswith(_BLANK_BYTES):  # else it continues the header before it
            name, colon, _ = line.partition(b":")
            keeps = not colon or is_kept(name.strip().lower())
        if keeps:
            headers.append(line)
    return b"".join(headers)


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
