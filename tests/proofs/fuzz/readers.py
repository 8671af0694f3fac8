"""Readers of foreign bytes, each with assertions about its results.

Law: a reader raises only the exceptions that it declares.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from random import Random

from minicrawl.fetch.body.decoding import Decoder, UnknownCoding, codings
from minicrawl.fetch.http.faults import Fault
from minicrawl.fetch.http.framing import ByChunks
from minicrawl.fetch.http.heads import content_length, read_head
from minicrawl.fetch.http.http1 import ResponseParser
from minicrawl.web import urls
from minicrawl.web.documents.document import parse_document
from minicrawl.web.encoding import detection, labels
from minicrawl.web.html import scanner, thin
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses import headers, types as document_types
from minicrawl.web.responses.headers import LONGEST_WAIT_S
from minicrawl.web.responses.types import ALL, is_wanted, may_be_wanted, type_of
from minicrawl.web.robots import rules
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps import sitemap
from tests.proofs.fuzz.wire import WIRE_READERS

URL = "http://a.example/d/page"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
MAX_LINKS = 50
MAX_HEAD_BYTES = 1024
LIMIT = 100_000
CODINGS = ("gzip", "x-gzip", "deflate", "br", "zstd", "compress")
MEDIA_TYPES = (
    *("text/html", "application/xml", "application/pdf", "application/rss+xml", "text/markdown"),
    *("text/plain", "application/gzip", "application/octet-stream"),
)
LABELS = (None, "utf-8", "utf-16", "big5", "gbk", "iso-2022-jp", "shift_jis", "x-user-defined", "?")

Reader = Callable[[bytes, Random], object]


def _text(body: bytes, random: Random) -> str:
    return body.decode(random.choice(("latin-1", "utf-8", "utf-16")), errors="replace")


def assert_canonical(url: str, *, stripped: bool = True) -> None:
    """Assert that a URL is canonical; unless `stripped`, it may have session ids and the like."""
    assert url.startswith(("http://", "https://"))
    assert len(url) <= urls.LONGEST
    assert "#" not in url
    assert url.isascii()
    assert urls.canonical(url, strip_marks=stripped) == url
    assert "".join(urls.split(url)) == url
    assert urls.host(url) in urls.origin(url)


def read_page(body: bytes, random: Random) -> None:
    header = _text(body[: random.randrange(200)], random)
    names = random.sample(("content-type", "link", "x-robots-tag"), k=random.randrange(3))
    options = ParseOptions(max_links=MAX_LINKS, with_words=random.random() < 0.5)
    suspicious = random.getrandbits(1024)
    reading = parse_page(body, URL, dict.fromkeys(names, header), options, suspicious=suspicious)
    assert len(set(reading.links)) == len(reading.links) <= MAX_LINKS
    assert len(reading.words) == (len(reading.links) if options.with_words else 0)
    assert len(reading.title) <= scanner.TITLE_LENGTH
    assert URL not in (*reading.links, reading.canonical, reading.refresh)
    for url in filter(None, (*reading.links, reading.canonical, reading.refresh)):
        assert_canonical(url)


def read_document(body: bytes, random: Random) -> None:
    """Read a body as a document of a random media type."""
    header = {"content-type": random.choice(MEDIA_TYPES)}
    if random.random() < 0.2:
        header["x-robots-tag"] = _text(body[:100], random)
    options = ParseOptions(max_links=MAX_LINKS, with_words=random.random() < 0.5, with_text=True)
    url = random.choice((URL, f"{URL}.md"))
    found = parse_document(body, url, header, options, types=random.randrange(ALL + 1))
    most = sitemap.MAX_URLS if found.is_sitemap else MAX_LINKS
    assert len(set(found.links)) == len(found.links) <= most
    assert len(found.words) == (len(found.links) if options.with_words else 0)
    assert set(found.sitemaps) <= set(found.links)
    assert url not in (*found.links, found.canonical)
    assert len(found.title) <= scanner.TITLE_LENGTH
    f"{found.title}{found.extracted}{found.cut}".encode()
    for link in filter(None, (*found.links[:20], found.canonical)):
        assert_canonical(link)


def tell_types(body: bytes, random: Random) -> None:
    kind = random.choice((*MEDIA_TYPES, _text(body[:50], random), None))
    types, url = random.randrange(ALL + 1), _text(body[-50:], random)
    found = type_of(kind, url, body, types)
    assert found is None or (found & types and is_wanted(kind, url, types) is not False)
    assert may_be_wanted(url, types) in (True, False)


def scan(body: bytes, random: Random) -> None:
    text = _text(body, random)
    options = ParseOptions(max_links=MAX_LINKS)
    page = scanner.scan(text, options, xhtml=random.random() < 0.5)
    assert len(page.links) <= MAX_LINKS
    assert thin.is_thin(text, page.title) in (True, False)


def parse_robots(body: bytes, random: Random) -> None:
    asked = rules.parse(body, "minicrawl", cut=random.random() < 0.5)
    assert Rules.from_text(asked.text()) == asked
    path = _text(body[-random.randrange(1, 300) :], random)
    url = urls.canonical(f"/{path}", URL)
    assert url is None or asked.allows(url) in (True, False)
    for pattern in filter(str.isalnum, (path[1:] for path in asked.forbidden)):
        escaped = "".join(f"%{ord(letter):02x}" for letter in pattern)
        assert not Rules(forbidden=(f"/{pattern}",)).allows(f"http://a.example/{escaped}")
        assert not Rules(forbidden=(f"/{escaped}",)).allows(f"http://a.example/{pattern}")


def parse_sitemap(body: bytes, random: Random) -> None:
    stripped = random.random() < 0.5
    found = sitemap.parse(body, URL, strip_marks=stripped)
    assert len(found.pages) + len(found.sitemaps) <= sitemap.MAX_URLS
    assert sum(map(len, found.pages + found.sitemaps)) <= urls.MOST_CHARS
    for url in (*found.pages[:20], *found.sitemaps[:20]):
        assert_canonical(url, stripped=stripped)


def read_headers(body: bytes, random: Random) -> None:
    value = _text(body, random)
    essence, charset = headers.parse_content_type(value)
    assert essence == essence.lower()
    assert charset is None or isinstance(charset, str)
    kind = random.choice((value, None, "text/xml"))
    assert document_types.is_html(kind, body) in (True, False, None)
    wait_s = headers.retry_after_s(value, NOW)
    assert wait_s is None or 0 <= wait_s <= LONGEST_WAIT_S
    assert headers.parse_robots_tag(value, "minicrawl").noindex in (True, False)
    assert isinstance(headers.link_canonical(value), str | None)
    scanner.meta_refresh(value)


def decode(body: bytes, random: Random) -> None:
    text, name = detection.decode(body, random.choice(LABELS))
    assert labels.encoding_of_label(name) == name
    assert len(text) <= len(body) + 1


def canonicalise_urls(body: bytes, random: Random) -> None:
    text = _text(body, random)
    hrefs = text.split(random.choice(("\n", '"', " ", "<")))
    base = hrefs[0] if random.random() < 0.3 else URL
    for url in urls.resolve_links(hrefs, base):
        assert_canonical(url)
    found = [*map(urls.canonical_seed, (text, hrefs[-1])), urls.canonical(hrefs[-1], base)]
    for url in filter(None, found):
        assert_canonical(url)


def _pieces(body: bytes, random: Random) -> list[bytes]:
    cuts = sorted(random.randrange(len(body) + 1) for _ in range(random.randrange(6)))
    return [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]


def undo_codings(body: bytes, random: Random) -> None:
    names = random.choices(CODINGS, k=random.randint(1, 3))
    try:
        decoder = Decoder(names, LIMIT)
    except UnknownCoding:
        assert "compress" in names
        return
    given = sum(len(part) for piece in _pieces(body, random) for part in decoder.slices(piece))
    assert given <= LIMIT
    assert not (decoder.whole and decoder.is_over and not decoder.swelling)
    codings(_text(body[:100], random))


def _answer(pieces: list[bytes]) -> tuple[ResponseParser, bytes]:
    reader = ResponseParser(MAX_HEAD_BYTES)
    body = bytearray()
    for piece in pieces:
        if not reader.ended:
            body += reader.feed(piece)
        while reader.has_more:
            body += reader.feed(b"")
    reader.end_connection()
    return reader, bytes(body)


def read_answer(body: bytes, random: Random) -> None:
    sent = body if random.random() < 0.5 else b"HTTP/1.1 200 \r\n" + body
    (whole, all_of_it), (split, joined) = _answer([sent]), _answer(_pieces(sent, random))
    assert joined == all_of_it
    assert whole.head == split.head
    assert whole.ended == split.ended
    assert (whole.fault and whole.fault.kind) == (split.fault and split.fault.kind)
    assert whole.keeps_connection in (True, False)


def read_chunks(body: bytes, random: Random) -> None:
    whole, split = ByChunks(), ByChunks()
    all_of_it = whole.feed(body)
    assert b"".join([split.feed(piece) for piece in _pieces(body, random)]) == all_of_it
    assert (whole.ended, whole.fault is None) == (split.ended, split.fault is None)


def read_heads(body: bytes, random: Random) -> None:
    with suppress(Fault):
        content_length(read_head(body).headers)
    with suppress(Fault):
        content_length({"content-length": _text(body, random)})


READERS: dict[str, Reader] = {
    "page": read_page,
    "document": read_document,
    "kinds": tell_types,
    "markup": scan,
    "robots.txt": parse_robots,
    "sitemap": parse_sitemap,
    "headers": read_headers,
    "encoding": decode,
    "urls": canonicalise_urls,
    "codings": undo_codings,
    "answer": read_answer,
    "chunks": read_chunks,
    "heads": read_heads,
    **WIRE_READERS,
}
