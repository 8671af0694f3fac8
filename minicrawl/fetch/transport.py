"""Interface between the fetcher and the HTTP clients.

`connection.HttpClient` is the usual transport; `httpx_transport` adapts any httpx transport.

fault   an error of the server or of the network

Law: whatever the network or the server does raises a Fault of a named kind, or an OSError, which is
how the system reports a broken connection. Any other exception is a bug.
"""

import ssl
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from minicrawl.fetch.targets import ConnectTarget, Target
from minicrawl.model import Failed, FailureKind

_SHOWN = 200  # characters of a message


class Fault(Exception):
    """Error of the server or of the network. The message describes it."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind

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
    18: "the certificate is signed by itself",
    19: "the certificate is signed by an authority of its own",
    20: "the certificate is signed by an authority that is not trusted",
    21: "the certificate comes without the authority that signed it",
}
_ALERTS = {
    "CERTIFICATE_REQUIRED": "the server wants a certificate of ours (--client-cert)",
    "UNSUPPORTED_PROTOCOL": "the server speaks an older TLS only",
    "ALERT_PROTOCOL_VERSION": "the server speaks another version of TLS only",
}


def _explained(error: ssl.SSLError) -> str:
    code, message = getattr(error, "verify_code", 0), getattr(error, "verify_message", "")
    if why := _CERTIFICATES.get(code):
        return f"{why}: {message} (--insecure HOST, if it does not matter)"
    if why := _UNKNOWN_ISSUERS.get(code):
        return f"{why}: {message} (--ca FILE, or --insecure HOST)"
    reason = getattr(error, "reason", None) or ""
    return next((f"{why}: {reason}" for alert, why in _ALERTS.items() if alert in reason), "")


@dataclass(frozen=True, slots=True)
class TransportRequest:
    """GET, HEAD or OPTIONS request.

    `places` are the addresses that it may connect to, best first. If `is_anonymous`, nothing is
    added that identifies the user.
    """

    target: Target
    places: tuple[ConnectTarget, ...]
    headers: Sequence[tuple[bytes, bytes]]
    method: str = "GET"
    is_anonymous: bool = False


class ResponseStream(Protocol):
    """Response whose head has arrived. The caller closes it, whether or not it read the body."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]:
        """Headers by lower-case name."""
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
