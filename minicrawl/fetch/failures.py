"""What can go wrong with a request, and the kind that each failure has.

fault   an error of the server or of the network; any other exception is a bug of ours

Law: whatever the network or the server does raises a Fault of a named kind, or an OSError, which
is how the system reports a broken connection.
"""

import ssl

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
    return Failed(kind=kind_of(error), detail=" ".join(str(error).split())[:_SHOWN])


def kind_of(error: Fault | OSError) -> FailureKind:
    """The kind of an error."""
    if isinstance(error, Fault):
        return error.kind
    return FailureKind.TLS if isinstance(error, ssl.SSLError) else FailureKind.RESET
