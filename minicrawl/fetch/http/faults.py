"""Faults: errors of the server or of the network, with a kind and a message for users.

Law: whatever the network or the server does raises a Fault of a named kind, or an OSError, which
is how the system reports a broken connection. Any other exception is a bug.
"""

import os
import ssl

from minicrawl.model import Failed, Wire
from minicrawl.states import State

_SHOWN = 200  # characters of a message


class Fault(Exception):
    """Error of the server or of the network. The message describes it."""

    def __init__(self, kind: State, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind
        self.wire: Wire | None = None
        """Heads of the exchange, if that of the response is too long; its beginning is enough."""

    def __reduce__(self) -> tuple[type["Fault"], tuple[State, str]]:
        return Fault, (self.kind, str(self))


EXPECTED = (Fault, OSError)
"""Exceptions that `failure` accepts."""


def failure(error: Fault | OSError) -> Failed:
    """Return the failure for an exception, with its message as one short line."""
    return Failed(kind=kind_of(error), detail=described(error))


def described(error: Fault | OSError) -> str:
    """Return the message as one short line; for TLS errors, with a hint."""
    # The texts of asyncio name its calls, not what went wrong.
    text = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
    if isinstance(error, ssl.SSLError):
        code, message = getattr(error, "verify_code", 0), getattr(error, "verify_message", "")
        reason = getattr(error, "reason", None) or ""
        if why := _CERTIFICATES.get(code):
            text = f"{why}: {message} (--insecure HOST, if it does not matter)"
        elif why := _UNKNOWN_ISSUERS.get(code):
            text = f"{why}: {message} (--ca FILE, or --insecure HOST)"
        else:
            alerts = (f"{why}: {reason}" for name, why in _ALERTS.items() if name in reason)
            text = next(alerts, str(error))  # its number is none of the system's
    return " ".join(text.split())[:_SHOWN]


def kind_of(error: Fault | OSError) -> State:
    if isinstance(error, Fault):
        return error.kind
    return State.TLS if isinstance(error, ssl.SSLError) else State.RESET


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
    "WRONG_VERSION_NUMBER": "the server speaks no TLS at this port",
}
