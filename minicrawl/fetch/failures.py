"""What can go wrong on the way to an answer, and what it is called.

fault   of a server or of the way to it; an exception that is none is a mistake of our own

Law: whatever the network or the server does is a fault of a named kind, or an OSError, which is
the system's word for a connection that broke.
"""

import ssl

from minicrawl.model import Failed, FailureKind

_SHOWN = 200  # characters of what an exception says


class Fault(Exception):
    """The message says what was met."""

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind

    def __reduce__(self) -> tuple[type["Fault"], tuple[FailureKind, str]]:
        """So it can be copied."""
        return Fault, (self.kind, str(self))


EXPECTED = (Fault, OSError)
"""All that `failure` has a name for."""


def failure(error: Fault | OSError) -> Failed:
    """The named kind, and in one short line what the exception says."""
    return Failed(kind=kind_of(error), detail=" ".join(str(error).split())[:_SHOWN])


def kind_of(error: Fault | OSError) -> FailureKind:
    """What it is called."""
    if isinstance(error, Fault):
        return error.kind
    return FailureKind.TLS if isinstance(error, ssl.SSLError) else FailureKind.RESET
