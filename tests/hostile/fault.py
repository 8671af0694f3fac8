"""A fault: what a server does, and which outcomes are right. The words of the catalogue."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.fetch.wire import Answer, Then, answer

PAGE, MOVED = "page", "moved"
LATE, BROKEN = "page, cut: timeout", "page, cut: reset"
JUNK, BAD_CODING = "page, cut: protocol", "page, cut: encoding"
LARGE, TAMPERED = "page, cut: too-large", "page, cut: tls"
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
    """One host. `tls` names its certificate, `names` its addresses where no rule leads to it.

    `state` is that of the page in the end, where the last outcome does not tell; `scene` is what
    stands there: a server on a wire, one that is deaf, nobody, or one that slams the door.
    """

    outcomes: tuple[str, ...]
    answers: Callable[[], tuple[Answer, ...]] = lambda: (answer(BEGIN),)
    scene: str = "wire"
    tls: str = ""
    names: str = ""
    state: str = ""


def says(outcome: str, *pieces: bytes, then: Then = Then.CLOSE, **more: str) -> Fault:
    """A server that answers with these bytes."""
    return Fault(outcomes=(outcome,), answers=lambda: (Answer(pieces, then),), **more)


def floods(*pieces: bytes, tls: str = "") -> Fault:
    """A server whose body has no end: the cap or the deadline cuts it, whichever comes first."""
    return Fault(outcomes=(LARGE, LATE), answers=lambda: (Answer(pieces, Then.REPEAT),), tls=tls)


def leads(*targets: bytes, status: bytes = b"302 Found", state: str = "bad-redirect") -> Fault:
    """A server that redirects, the last time for ever."""
    heads = [b"HTTP/1.1 %b\r\nLocation: %b\r\n\r\n" % (status, target) for target in targets]
    answers = tuple(Answer((head,), Then.CLOSE) for head in heads)
    return Fault(outcomes=(MOVED,), answers=lambda: answers, state=state)


def shows(outcome: str, one: Answer) -> Fault:
    """A server that gives an answer that is known elsewhere."""
    return Fault(outcomes=(outcome,), answers=lambda: (one,))
