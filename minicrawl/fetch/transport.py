"""The seam between the fetcher and the ways to send a request.

`fetch.connection.client` is the usual transport; `fetch.httpx_transport` lets any transport of
httpx take its place.

Law: a transport raises what `EXPECTED` names; anything else is a bug.

fault   an error of the server or of the network; any other exception is a bug of ours

Law: whatever the network or the server does raises a Fault of a named kind, or an OSError, which
is how the system reports a broken connection.
"""

import ssl
from collections.abc import AsyncIterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from minicrawl.fetch.targets import ConnectTarget, Target
from minicrawl.model import Failed, FailureKind

_SHOWN = 200  # characters of a message


class Fault(Exception):
    """The message describes it."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind

    def __reduce__(self) -> tuple[type["Fault"], tuple[FailureKind, str]]:
        """Makes it copyable."""
        return Fault, (self.kind, str(self))


EXPECTED = (Fault, OSError)
"""The exceptions that `failure` takes."""


def failure(error: Fault | OSError) -> Failed:
    """The kind, and the message of the exception as one short line."""
    return Failed(kind=kind_of(error), detail=described(error))


def described(error: Fault | OSError) -> str:
    """What happened, in one short line; of TLS also what helps."""
    explained = _explained(error) if isinstance(error, ssl.SSLError) else ""
    return " ".join((explained or str(error)).split())[:_SHOWN]


def kind_of(error: Fault | OSError) -> FailureKind:
    """The kind of an error."""
    if isinstance(error, Fault):
        return error.kind
    return FailureKind.TLS if isinstance(error, ssl.SSLError) else FailureKind.RESET


_CERTIFICATES = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    62: "the certificate is for other hosts",
    64: "the certificate is for other addresses",
}
"""By the codes of OpenSSL. Only the owner of the server can mend these."""
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
    """A GET, a HEAD or an OPTIONS.

    `places` are the addresses that it may connect to, the best first. `is_anonymous`: nothing is
    added that says who the user is.
    """

    target: Target
    places: tuple[ConnectTarget, ...]
    headers: Sequence[tuple[bytes, bytes]]
    method: str = "GET"
    is_anonymous: bool = False


class ResponseStream(Protocol):
    """A response whose head has come. The caller closes it, whether it read the body or not."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> dict[str, str]:
        """By lower-case name."""
        ...

    @property
    def body(self) -> AsyncIterable[bytes]:
        """Chunks of the body as they come, not decoded."""
        ...

    def take_whole(self) -> bytes | None:
        """The body, if all of it has come: then `body` has no more of it. None: it may still come.

        Most bodies come with their heads. Nobody has to wait for them, or to watch the time.
        """

    async def aclose(self) -> None:
        """Give up the rest of the body."""


class Transport(Protocol):
    """A way to send requests."""

    async def send(self, request: TransportRequest) -> ResponseStream:
        """Send a request and wait for the head of the response."""
        ...

    async def aclose(self) -> None:
        """Close all connections."""
