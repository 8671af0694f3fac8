"""Worst robots.txt of hostile servers: parsed and checked within limits of CPU time.

The fastest of a few readings counts. Typical files stay far below the limits.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from minicrawl.web.robots.rules import MOST_ROBOTS_BYTES, Rules, parse

pytestmark = pytest.mark.proof

MB = 1_000_000
_TRIES = 12
_USUAL_S = 0.014
"""CPU time of `_known_work` on the machine that the limits were measured on."""


def _known_work() -> int:
    return sum(number * number for number in range(200_000))


def cpu_s(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def do_within(limit_s: float, work: Callable[[], object]) -> None:
    """Expect that work takes at most `limit_s`, scaled on a machine that is slow at the moment.

    One fast run of a few is enough.
    """
    for _ in range(_TRIES):
        slowness = max(1.0, cpu_s(_known_work) / _USUAL_S)
        if (took_s := cpu_s(work)) < limit_s * slowness:
            return
    pytest.fail(f"{took_s:.3g} s of CPU, more than {limit_s:g} x {slowness:.2g}")


def filled(piece: bytes) -> bytes:
    return (piece * (MB // len(piece) + 1))[:MB]


LONGEST_PARSE_S = 1.0 if sys.gettrace() is None else 10.0
"""Limit for one file. Coverage makes lines slower."""
LONGEST_CHECK_S = 0.003 if sys.gettrace() is None else 0.03
"""Limit for one check, ten times what it takes on a quiet machine."""


def rules(line: Callable[[int], bytes]) -> bytes:
    """Return a robots.txt with as many of these lines as are read."""
    body = bytearray(b"User-agent: *\n")
    numbers = count()
    while len(body) <= MOST_ROBOTS_BYTES:
        body += line(next(numbers)) + b"\n"
    return bytes(body)


def nearly_matching_rule(number: int) -> bytes:
    """Return a rule that almost matches at each place of a path of the letter "a"."""
    middle = 3 + number // 40
    return b"Allow: *%b%c%b" % (b"a" * (98 - middle), 98 + number % 20, b"a" * middle)


LONG_PATHS = [
    ("/" + piece * 2048)[:2030] for piece in ("a", "a/", "ab", "%ff", "%61", "?%2Fa/", "abcdefghij")
]


@pytest.mark.parametrize(
    "body",
    [
        b"".join(b"User-agent: bot-%d\n" % n for n in range(13_000)) + b"Disallow: /",
        rules(lambda n: b"Disallow: /%x" % n),
        rules(lambda n: b"allow:/%x" % n),
        rules(lambda n: b"Disallow: *%x*" % n),
        rules(lambda n: b"Disallow: /*%x*b*c*d" % n),
        rules(lambda _: b"Disallow: /" + b"*a" * 8000),
        rules(lambda n: b"Disallow: /*" + b"a" * (n % 100) + b"b"),
        rules(lambda n: b"Disallow: /%x" % n + b"\xff" * 16_000),
        rules(lambda n: b"Allow: /%x/index.htm" % n),
        b"User-agent: *\n" + b"\n".join(nearly_matching_rule(n) for n in range(300)),
        b"User-agent: *\n" + b"\n".join(b"Disallow: /%d*aab" % n for n in range(1000)),
        b"User-agent: *\n" + b"\n".join(b"Allow: /*%%%d*a" % n for n in range(1000)),
        rules(lambda _: b""),
        filled(b"User-agent: *\nDisallow: /\n"),
        filled(b"Sitemap: /\n"),
        b"\xff\xfe" + filled("Disallow: /\u4e00\n".encode("utf-16le")),
    ],
)
def test_the_worst_robots_txt_is_parsed_and_checked_in_time(body: bytes) -> None:
    body = body[:MOST_ROBOTS_BYTES]
    do_within(LONGEST_PARSE_S, lambda: parse(body, "minicrawl"))
    parsed = parse(body, "minicrawl")
    assert Rules.from_text(parsed.text()) == parsed
    for path in ("/", *LONG_PATHS):
        do_within(LONGEST_CHECK_S, partial(parsed.allows, f"http://a.example{path}"))
