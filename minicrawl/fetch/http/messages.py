"""Requests and responses between the fetcher and the HTTP client.

`client.client.HttpClient` is the usual transport; `client.httpx_transport` adapts any of httpx.
"""

from collections.abc import AsyncIterable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from minicrawl.fetch.http.targets import ConnectTarget, Target
from minicrawl.model import Wire

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
    response, interim = (
        head and _lines_of(head, lambda name: name not in _COOKIE_FIELDS)
        for head in (wire.response, wire.interim)
    )
    is_changed = (response, interim) != (wire.response, wire.interim)
    left_out = "Set-Cookie" if is_changed else ""
    return wire._replace(
        request=request, response=response or b"", interim=interim, left_out=left_out
    )


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
    """Request to one of `places`, best first; nothing identifies the user if `is_anonymous`."""

    target: Target
    places: tuple[ConnectTarget, ...]
    headers: Sequence[tuple[bytes, bytes]]
    method: str = "GET"
    is_anonymous: bool = False
    body: bytes = b""


class ResponseStream(Protocol):
    """Response whose head has arrived. The caller closes it, whether or not it read the body."""

    status: int
    headers: dict[str, str]  # by lower-case name
    first_byte_s: float
    """Seconds from the request on an open connection to the head of the response."""
    wire: Wire | None
    """Heads as bytes, secrets included, or None if unknown. Read it before the body."""

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
    async def send(self, request: TransportRequest) -> ResponseStream: ...

    async def aclose(self) -> None:
        """Close all connections."""
