"""Bodies that are hard to read: each is a page all the same."""

from random import Random

from tests.hostile.fault import HEAD, PAGE, Fault, says

_MANY_LINKS = "page, cut at 10,000 links (--max-links)"


def _shows(body: bytes, outcome: str = PAGE) -> Fault:
    return says(outcome, HEAD + b"\r\n" + body)


SHEETS = {
    "600,000 tags inside each other": _shows(b"<div>" * 600_000 + b"<a href=/>"),
    "330,000 quotes that open and none that closes": _shows(b"<a href='" * 330_000),
    "20,000 links that differ in their marks": _shows(
        b"".join(b"<a href=/?utm_source=%d>" % number for number in range(20_000)), _MANY_LINKS
    ),
    "a character of 6,000 digits": _shows(b"\0\xff<a href=/&#" + b"9" * 6_000 + b">"),
    "noise": _shows(Random(2003).randbytes(10_000)),
}
