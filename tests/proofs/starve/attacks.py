"""Attacks: responses of hostile hosts that cost a crawler much.

A handler returns the bytes of a whole response, or None for silence.
"""

import gzip
import random
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import brotli  # type: ignore[import-untyped]  # it comes without types
import zstandard

Handler = Callable[[str, int], bytes | None]
"""Function from a path and the number of the request to a response."""

_MB = 1_000_000


def answer(body: bytes, kind: str = "text/html", status: str = "200 OK", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


NOT_FOUND = answer(b"no", "text/plain", "404 Not Found")


def page(number: int) -> bytes:
    """Return a page with random words and three new links, which no trap detection skips."""
    words = " ".join("".join(random.choices(string.ascii_lowercase, k=6)) for _ in range(60))
    made = "".join(f"<a href=/{number}-{n}>x</a>" for n in range(3))
    return answer(f"<title>{words[:40]}</title><p>{words}</p>{made}".encode())


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Pages and robots.txt of the hostile hosts, and settings of the crawl."""

    pages: Handler
    robots: Callable[[str], bytes | None] = lambda _: NOT_FOUND
    settings: Mapping[str, object] = field(default_factory=dict)


def coded(body: Callable[[], bytes], coding: str) -> Handler:
    """Return a handler that always sends this body, with this content coding."""
    made = cache(body)
    return lambda _path, _number: answer(made(), more=f"Content-Encoding: {coding}\r\n")


def _stored_blocks() -> bytes:
    """Return a gzip stream of ten million bytes that is empty and ends with an invalid block."""
    head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    return head + b"\x00\x00\x00\xff\xff" * 1_990_000 + b"\x07"


def _members_in_members() -> bytes:
    inner = _stored_blocks()
    pieces = (inner[at : at + 10_000] for at in range(0, len(inner), 10_000))
    return gzip.compress(b"".join(gzip.compress(piece, 9) for piece in pieces), 9)


def _layers() -> bytes:
    return gzip.compress(_members_in_members(), 9)


def _one_byte_members() -> bytes:
    return gzip.compress(b"x", 9) * 40_000


def _zstd_frames() -> bytes:
    return zstandard.ZstdCompressor(level=19).compress(bytes(9 * _MB)) * 3


_NAMES = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase + string.digits]


def _parameters(path: str, _number: int) -> bytes:
    """Send two equal pages that suggest to ignore a parameter, and links to try that on."""
    query = "&".join(_NAMES[:672])
    if path != "/":
        return answer(b"<title>same</title><p>same</p>")
    made = "".join(f"<a href='/{n:05}/x?{query}'>x</a>" for n in range(3000))
    return answer(f"<title>e</title><a href=/p?a>x</a><a href='/p?a&b'>x</a>{made}".encode())


def _greedy_robots(_: str) -> bytes:
    """Return patterns that match nearly the whole path, and then fail."""
    patterns = []
    for n in range(320):
        end = 3 + n // 40
        patterns.append("Allow: *" + "a" * (98 - end) + chr(98 + n % 20) + "a" * end)
    text = "User-agent: *\nAllow: /$\nDisallow: /\n" + "\n".join(patterns)
    return answer(text.encode(), "text/plain")


def _long_robots(host: str) -> bytes:
    lines = "".join(f"Disallow: /{n:x}*{host}\n" for n in range(22_000))
    return answer(f"User-agent: *\n{lines}".encode(), "text/plain")


def sitemaps(count: int, url: str) -> Callable[[str], bytes]:
    """Return robots.txt files with `count` sitemaps; `url` is a format of `{host}` and `{n}`."""

    def robots(host: str) -> bytes:
        lines = "".join(f"Sitemap: {url.format(host=host, n=n)}\n" for n in range(count))
        return answer(f"User-agent: *\nAllow: /\n{lines}".encode(), "text/plain")

    return robots


def _swelling_sitemap(path: str, number: int) -> bytes:
    return answer(_packed_sitemap(), "application/gzip") if ".xml" in path else page(number)


@cache
def _packed_sitemap() -> bytes:
    return gzip.compress(b"<urlset>" + b"<a/>" * 12_000_000, 9)


def links(count: int, href: str, more: str = "") -> Handler:
    """Return pages with `count` links; `href` is a format of `{page}` and `{n}`."""

    def pages(_path: str, number: int) -> bytes:
        made = "".join(f"<a href={href.format(page=number, n=n)}>x</a>" for n in range(count))
        return answer(f"<title>{number}</title>{more.format(page=number)}{made}".encode())

    return pages


_ONWARD = "<a href=/{page}>x</a>"


def _onward(path: str, number: int) -> bytes:
    """Send links to this host, each of which redirects to a new host."""
    if path.startswith("/on"):
        return answer(b"", status="302 Found", more=f"Location: http://h.{number}.test/\r\n")
    paths = "".join(f"<a href=/on/{number}/{n}>x</a>" for n in range(900))
    return answer(f"<title>{number}</title><p>{number}</p>{paths}".encode())


def _attributes(_path: str, number: int) -> bytes:
    tag = "<a " + "b=c " * 10_000 + ">"
    return answer(f"<title>{number}</title><a href=/{number}>x</a>{tag * 200}".encode())


def _rel_links(_path: str, number: int) -> bytes:
    made = "".join(f'<link rel=next href="/{number}-{n}"/>' for n in range(5000))
    return answer(f"<title>{number}</title>{made}".encode())


def _silent_after_robots(_path: str, _number: int) -> None:
    return None


def _never_whole(_path: str, _number: int) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000000\r\n\r\n<title>"


def _interim(_path: str, number: int) -> bytes:
    return b"HTTP/1.1 103 Early Hints\r\n\r\n" * 200_000 + page(number)


@cache
def _one_byte_chunks() -> bytes:
    body = b"<title>1</title><a href=/1>x</a>" + bytes(1_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"


_SMALL = 127 * 1024
"""Bytes of a body that is small enough not to count as large."""


def small(mark: bytes, kind: str, begin: bytes = b"") -> Handler:
    """Return a handler that sends a body of one repeated token."""
    made = answer(begin + mark * ((_SMALL - len(begin)) // len(mark)), kind)
    return lambda _path, _number: made


_QUOTES = small(
    b'""', "application/feed+json", b'{"version":"https://jsonfeed.org/version/1","a":["",'
)


def _expensive_sitemap(path: str, number: int) -> bytes | None:
    return _QUOTES(path, number) if path.endswith(".json") else page(number)


def _distinct_links(_path: str, number: int) -> bytes:
    made = "".join(f"<a href=/{number}l{n}>w</a>" for n in range(9000))
    return answer(made.encode()[:_SMALL])


_TYPES = {"types": "html,feed,markdown"}

ATTACKS = {
    "318 bytes in three codings": Attack(pages=coded(_layers, "gzip, gzip, gzip")),
    "10 kB that become 10 MB": Attack(pages=coded(lambda: gzip.compress(bytes(10 * _MB)), "gzip")),
    "brotli": Attack(pages=coded(lambda: brotli.compress(bytes(10 * _MB)), "br")),
    "zstd": Attack(pages=coded(_zstd_frames, "zstd")),
    "gzip members of one byte": Attack(pages=coded(_one_byte_members, "gzip")),
    "greedy robots.txt": Attack(
        pages=links(4000, "/{page}-{n:04}" + "a" * 2000), robots=_greedy_robots
    ),
    "robots.txt of 500 kB": Attack(pages=lambda _path, n: page(n), robots=_long_robots),
    "672 parameters": Attack(pages=_parameters),
    "sitemaps of 48 MB": Attack(
        pages=_swelling_sitemap,
        robots=sitemaps(100, "http://{host}/{n}.xml.gz"),
        settings={"sitemaps": True},
    ),
    "10,000 long links": Attack(pages=links(10_000, "/{page}/{n}?" + "x" * 900)),
    "10,000 new hosts": Attack(pages=links(10_000, "http://h.{page}x{n}.test/", _ONWARD)),
    "990 new hosts": Attack(pages=links(990, "http://h.{page}x{n}.test/", _ONWARD)),
    "10,000 names of one site": Attack(
        pages=links(10_000, "http://{page}x{n}.hostile.test/", _ONWARD)
    ),
    "sitemaps at new hosts": Attack(
        pages=lambda _path, n: page(n),
        robots=sitemaps(5000, "http://s{n}.{host}/{n}.xml"),
        settings={"sitemaps": True},
    ),
    "links that lead to new hosts": Attack(pages=_onward),
    "2,000,000 attributes": Attack(pages=_attributes),
    "5,000 links of rel=next": Attack(pages=_rel_links),
    "chunks of one byte": Attack(pages=lambda _path, _number: _one_byte_chunks()),
    "200,000 interim responses": Attack(pages=_interim),
    "silence": Attack(pages=_silent_after_robots, robots=lambda _: None),
    "silence after robots.txt": Attack(pages=_silent_after_robots),
    "bodies that never end": Attack(pages=_never_whole),
    "a JSON feed of 127 kB of quotes": Attack(pages=_QUOTES, settings=_TYPES),
    "sitemaps of 127 kB of quotes": Attack(
        pages=_expensive_sitemap,
        robots=sitemaps(50, "http://{host}/{n}.json"),
        settings={"sitemaps": True},
    ),
    "Markdown of 127 kB of newlines": Attack(pages=small(b"\n", "text/markdown"), settings=_TYPES),
    "127 kB of <": Attack(pages=small(b"<", "text/html")),
    "127 kB of links, which are kept": Attack(pages=_distinct_links, settings={"keep": "links"}),
}
