"""Faults: the behaviour of a server and the right outcomes, as the catalogue describes them."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.fetch.wire import Answer, Then, answer

DEADLINE_S = 2.0
MAX_BODY_BYTES = 10_000_000

PAGE, MOVED, BAD_REDIRECT = "page", "moved", "failed:bad-redirect"
LATE, BROKEN = f"page, cut after {DEADLINE_S:g} s (--timeout)", "page, cut: reset"
JUNK, BAD_CODING = "page, cut: protocol", "page, cut: encoding"
BOMB, PART = "page, cut: a bomb", "page, cut: a part, though the whole was asked for"
CROWDED = "page, truncated: all bodies together exceeded 15,000,000 bytes"
LARGE, TAMPERED = f"page, cut at {MAX_BODY_BYTES:,} bytes (--max-body)", "page, cut: tls"
DNS, CONNECT, TLS = "failed:dns", "failed:connect", "failed:tls"
TIMEOUT, RESET, PROTOCOL = "failed:timeout", "failed:reset", "failed:protocol"
ENCODING, TOO_LARGE = "failed:encoding", "failed:too-large"
TYPE = "refused:type"

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
BEGIN = b"<html><title>hello</title><p>"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK = b"%x\r\n%b\r\n" % (len(BEGIN), BEGIN)


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Hostile host. `tls` is the kind of its certificate, `names` that of its DNS responses.

    `scene` is "wire" for a server that sends bytes, "deaf" for a socket that accepts nothing,
    "closed" for a free port, or "slammed" for a server that resets each connection.
    """

    outcomes: tuple[str, ...]
    answers: Callable[[], tuple[Answer, ...]] = lambda: (answer(BEGIN),)
    scene: str = "wire"
    tls: str = ""
    names: str = ""


def says(outcome: str, *pieces: bytes, then: Then = Then.CLOSE, **more: str) -> Fault:
    """Return a server that sends these bytes."""
    return Fault(outcomes=(outcome,), answers=lambda: (Answer(pieces, then),), **more)


def floods(*pieces: bytes, tls: str = "") -> Fault:
    """Return a server with an endless body, which a cap or the deadline cuts."""
    return Fault(
        outcomes=(LARGE, CROWDED, LATE), answers=lambda: (Answer(pieces, Then.REPEAT),), tls=tls
    )


def leads(*targets: bytes, outcome: str = BAD_REDIRECT) -> Fault:
    """Return a server that redirects to these targets in turn, and then always to the last."""
    heads = [b"HTTP/1.1 302 Found\r\nLocation: %b\r\n\r\n" % target for target in targets]
    answers = tuple(Answer((head,), Then.CLOSE) for head in heads)
    return Fault(outcomes=(outcome,), answers=lambda: answers)


def shows(outcome: str, response: Answer) -> Fault:
    """Return a server that sends an existing response."""
    return Fault(outcomes=(outcome,), answers=lambda: (response,))
