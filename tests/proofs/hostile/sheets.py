"""Bodies that are hard to parse, but are valid pages."""

from random import Random

from tests.fetch.wire import Answer, Then
from tests.proofs.hostile.fault import CROWDED, HEAD, LATE, PAGE, Fault

_LINKS = "cut at 10,000 links"
_MANY_LINKS = f"page, {_LINKS}"


def _shows(body: bytes, outcome: str = PAGE) -> Fault:
    """Return a page. Other hosts flood the crawl, so a cap or the deadline may cut a large page."""
    answers = (Answer((HEAD + b"\r\n" + body,), Then.CLOSE),)
    cut = (LATE, CROWDED, *(f"{limit}; {_LINKS}" for limit in (LATE, CROWDED)))
    return Fault(outcomes=(outcome, *cut), answers=lambda: answers)


SHEETS = {
    "600,000 tags inside each other": _shows(b"<div>" * 600_000 + b"<a href=/>"),
    "330,000 quotes that open and none that closes": _shows(b"<a href='" * 330_000),
    "20,000 links that differ in their marks": _shows(
        b"".join(b"<a href=/?utm_source=%d>" % number for number in range(20_000)), _MANY_LINKS
    ),
    "a character of 6,000 digits": _shows(b"\0\xff<a href=/&#" + b"9" * 6_000 + b">"),
    "noise": _shows(Random(2003).randbytes(10_000)),
}
