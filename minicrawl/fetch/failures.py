"""What can go wrong on the way to an answer, and what it is called: a table.

Law: whatever the network or the server does is in the table; an exception that is not is a
mistake of our own and goes up.
"""

import ssl
from collections.abc import Iterator

import aiohttp
import httpx
from aiohttp import http_exceptions

from minicrawl.model import Failed, FailureKind

_SHOWN = 200  # characters of what an exception says


class Fault(Exception):
    """The message says what was met."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


# The first line that fits counts, so the special stand before the general.
_KINDS: tuple[tuple[type[Exception], FailureKind], ...] = (
    (aiohttp.ClientConnectorDNSError, FailureKind.DNS),
    (aiohttp.ClientSSLError, FailureKind.TLS),
    (ssl.SSLError, FailureKind.TLS),
    (aiohttp.ClientConnectorError, FailureKind.CONNECT),
    (aiohttp.ClientConnectionError, FailureKind.RESET),
    (aiohttp.ClientPayloadError, FailureKind.RESET),
    (aiohttp.ClientError, FailureKind.PROTOCOL),
    (httpx.TimeoutException, FailureKind.TIMEOUT),
    (httpx.ConnectError, FailureKind.CONNECT),
    (httpx.NetworkError, FailureKind.RESET),
    (httpx.TransportError, FailureKind.PROTOCOL),
    (httpx.InvalidURL, FailureKind.PROTOCOL),
    (OSError, FailureKind.RESET),
)

EXPECTED: tuple[type[Exception], ...] = (Fault, *(exception for exception, _ in _KINDS))
"""All that `failure` has a name for."""


def failure(error: Exception) -> Failed:
    """The named kind, and what the innermost cause says of it."""
    *_, innermost = _causes(error)
    return Failed(kind=_kind(error), detail=" ".join(str(innermost).split())[:_SHOWN])


def _kind(error: Exception) -> FailureKind:
    if isinstance(error, Fault):
        return error.kind
    if any(map(_is_flood, _causes(error))):
        return FailureKind.TOO_LARGE
    return next(kind for exception, kind in _KINDS if isinstance(error, exception))


def _is_flood(error: BaseException) -> bool:
    # aiohttp has no type of its own for too many headers.
    return isinstance(error, http_exceptions.LineTooLong) or "Too many headers" in str(error)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
