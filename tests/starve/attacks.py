"""What hostile hosts answer, one attack at a time.

An attack answers for a path with the bytes of an answer; None is silence.
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
"""From a path and the number of the request to an answer."""

_MB = 1_000_000


def answer(body: bytes, kind: str = "text/html", status: str = "200 OK", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


NOT_FOUND = answer(b"no", "text/plain", "404 Not Found")


def page(number: int, body: str = "") -> bytes:
    """One that says something new, and leads on."""
    words = " ".join("".join(random.choices(string.ascii_lowercase, k=6)) for _ in range(60))
    links = "".join(f"<a href=/{number}-{n}>x</a>" for n in range(3))
    return answer(f"<title>{words[:40]}</title><p>{words}</p>{links}{body}".encode())


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Pages of hostile hosts, their robots.txt, and how the crawl is set."""

    pages: Handler
    robots: Callable[[str], bytes | None] = lambda _: NOT_FOUND
    settings: Mapping[str, object] = field(default_factory=dict)


def coded(body: Callable[[], bytes], coding: str) -> Handler:
    """The same body always, behind links to more of it."""
    made = cache(body)
    return lambda _path, _number: answer(made(), more=f"Content-Encoding: {coding}\r\n")


# ---------------------------------------------------------------- bodies that swell


def _stored_blocks() -> bytes:
    """A stream of ten million bytes that holds nothing and ends in a mistake."""
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


# ---------------------------------------------------------------- names and rules

_NAMES = [a + b for a in string.ascii_lowercase for b in string.ascii_lowercase + string.digits]


def _parameters(path: str, _number: int) -> bytes:
    """Two pages that are the same prove a rule, which is then tried on the links."""
    query = "&".join(_NAMES[:672])
    if path != "/":
        return answer(b"<title>same</title><p>same</p>")
    links = "".join(f"<a href='/{n:05}/x?{query}'>x</a>" for n in range(3000))
    return answer(f"<title>e</title><a href=/p?a>x</a><a href='/p?a&b'>x</a>{links}".encode())


def _greedy_robots(_: str) -> bytes:
    """Patterns that cost most where they fail last."""
    patterns = []
    for n in range(320):
        end = 3 + n // 40
        patterns.append("Allow: *" + "a" * (98 - end) + chr(98 + n % 20) + "a" * end)
    text = "User-agent: *\nAllow: /$\nDisallow: /\n" + "\n".join(patterns)
    return answer(text.encode(), "text/plain")


def _forbidden(_path: str, number: int) -> bytes:
    links = "".join(f"<a href='/{number}-{n:04}{'a' * 2000}'>x</a>" for n in range(4000))
    return answer(f"<title>{number}</title>{links}".encode())


def _long_robots(host: str) -> bytes:
    lines = "".join(f"Disallow: /{n:x}*{host}\n" for n in range(22_000))
    return answer(f"User-agent: *\n{lines}".encode(), "text/plain")


def _sitemaps(host: str) -> bytes:
    lines = "".join(f"Sitemap: http://{host}/{n}.xml.gz\n" for n in range(100))
    return answer(f"User-agent: *\nAllow: /\n{lines}".encode(), "text/plain")


def _swelling_sitemap(path: str, number: int) -> bytes:
    return answer(_packed_sitemap(), "application/gzip") if ".xml" in path else page(number)


@cache
def _packed_sitemap() -> bytes:
    return gzip.compress(b"<urlset>" + b"<a/>" * 12_000_000, 9)


# ---------------------------------------------------------------- pages that are much to read


def _many_links(_path: str, number: int) -> bytes:
    """All of them new, and as long as links may be."""
    tail = "x" * 900
    links = "".join(f"<a href=/{number}/{n}?{tail}>x</a>" for n in range(10_000))
    return answer(f"<title>{number}</title>{links}".encode())


def _many_hosts(_path: str, number: int) -> bytes:
    """All of them new, each of a site of its own."""
    links = "".join(f"<a href=http://h.{number}x{n}.test/>x</a>" for n in range(10_000))
    return answer(f"<title>{number}</title><a href=/{number}>x</a>{links}".encode())


def _some_hosts(_path: str, number: int) -> bytes:
    """As many as a page may link to that is like others."""
    links = "".join(f"<a href=http://h.{number}x{n}.test/>x</a>" for n in range(990))
    return answer(f"<title>{number}</title><a href=/{number}>x</a>{links}".encode())


def _many_names(_path: str, number: int) -> bytes:
    """All of them new, and of one site."""
    links = "".join(f"<a href=http://{number}x{n}.hostile.test/>x</a>" for n in range(10_000))
    return answer(f"<title>{number}</title><a href=/{number}>x</a>{links}".encode())


def _sitemaps_elsewhere(host: str) -> bytes:
    """Each at a new host, which has such a robots.txt as well."""
    lines = "".join(f"Sitemap: http://s{n}.{host}/{n}.xml\n" for n in range(5000))
    return answer(f"User-agent: *\nAllow: /\n{lines}".encode(), "text/plain")


def _onward(path: str, number: int) -> bytes:
    """Each link of a page leads on to a new host."""
    if path.startswith("/on"):
        return answer(b"", status="302 Found", more=f"Location: http://h.{number}.test/\r\n")
    links = "".join(f"<a href=/on/{number}/{n}>x</a>" for n in range(900))
    return answer(f"<title>{number}</title><p>{number}</p>{links}".encode())


def _attributes(_path: str, number: int) -> bytes:
    tag = "<a " + "b=c " * 10_000 + ">"
    return answer(f"<title>{number}</title><a href=/{number}>x</a>{tag * 200}".encode())


def _rel_links(_path: str, number: int) -> bytes:
    links = "".join(f'<link rel=next href="/{number}-{n}"/>' for n in range(5000))
    return answer(f"<title>{number}</title>{links}".encode())


# ---------------------------------------------------------------- hosts that take their time


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


# ---------------------------------------------------------------- small bodies that cost much

_SMALL = 127 * 1024
"""Bytes of a body that is read at once, if its size is all that counts."""


def small(mark: bytes, kind: str, begin: bytes = b"") -> Handler:
    """A body of what a parser stops at, again and again."""
    made = answer(begin + mark * ((_SMALL - len(begin)) // len(mark)), kind)
    return lambda _path, _number: made


_QUOTES = small(
    b'""', "application/feed+json", b'{"version":"https://jsonfeed.org/version/1","a":["",'
)


def _dear_sitemaps(host: str) -> bytes:
    lines = "".join(f"Sitemap: http://{host}/{n}.json\n" for n in range(50))
    return answer(f"User-agent: *\nAllow: /\n{lines}".encode(), "text/plain")


def _dear_sitemap(path: str, number: int) -> bytes | None:
    return _QUOTES(path, number) if path.endswith(".json") else page(number)


def _distinct_links(_path: str, number: int) -> bytes:
    links = "".join(f"<a href=/{number}l{n}>w</a>" for n in range(9000))
    return answer(links.encode()[:_SMALL])


_TYPES = {"types": "html,feed,markdown"}

ATTACKS = {
    "318 bytes in three codings": Attack(pages=coded(_layers, "gzip, gzip, gzip")),
    "10 kB that become 10 MB": Attack(pages=coded(lambda: gzip.compress(bytes(10 * _MB)), "gzip")),
    "brotli": Attack(pages=coded(lambda: brotli.compress(bytes(10 * _MB)), "br")),
    "zstd": Attack(pages=coded(_zstd_frames, "zstd")),
    "gzip members of one byte": Attack(pages=coded(_one_byte_members, "gzip")),
    "greedy robots.txt": Attack(pages=_forbidden, robots=_greedy_robots),
    "robots.txt of 500 kB": Attack(pages=lambda _path, n: page(n), robots=_long_robots),
    "672 parameters": Attack(pages=_parameters),
    "sitemaps of 48 MB": Attack(
        pages=_swelling_sitemap, robots=_sitemaps, settings={"sitemaps": True}
    ),
    "10,000 long links": Attack(pages=_many_links),
    "10,000 new hosts": Attack(pages=_many_hosts),
    "990 new hosts": Attack(pages=_some_hosts),
    "10,000 names of one site": Attack(pages=_many_names),
    "sitemaps at new hosts": Attack(
        pages=lambda _path, n: page(n), robots=_sitemaps_elsewhere, settings={"sitemaps": True}
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
        pages=_dear_sitemap, robots=_dear_sitemaps, settings={"sitemaps": True}
    ),
    "Markdown of 127 kB of newlines": Attack(pages=small(b"\n", "text/markdown"), settings=_TYPES),
    "127 kB of <": Attack(pages=small(b"<", "text/html")),
    "127 kB of links, which are kept": Attack(pages=_distinct_links, settings={"keep": "links"}),
}
