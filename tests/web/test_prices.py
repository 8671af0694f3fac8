"""Prices, which estimate the time to parse a body: hostile bodies cost much, typical ones little.

A price above a limit such as `ENOUGH_S` sends a body to a parser process; see `responses.prices`.
"""

from math import inf

import pytest

from minicrawl.web.encoding.detection import decode
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses.prices import (
    TooExpensive,
    document_price_s,
    list_price_s,
    robots_price_s,
)
from minicrawl.web.responses.types import DocumentType

ENOUGH_S = 0.010
SIZE = 127 * 1024
URL = "http://a.example/"
PROSE = b"So it was that the crawler read on, a page at a time, until nothing was left. "
USUAL = b'<p class="x">Some words of a page.</p> <a href="/page/%d">Another page</a>\n'


def filled(piece: bytes, head: bytes = b"", size: int = SIZE) -> bytes:
    return head + piece * (size // len(piece))


def page(links: int) -> bytes:
    return b"<title>t</title>" + b"".join(USUAL % number for number in range(links))


@pytest.mark.parametrize(
    "body",
    [
        filled(b'""', b'{"version":"https://jsonfeed.org/version/1","a":['),
        filled(b'{"url":"http://a/"},', b'{"items":['),
        filled(b"<", b"<urlset>"),
        filled(b"<url><loc>http://a.example/x</loc></url>", b"<urlset>"),
        filled(b"http://a.example/x\n"),
        b"\x1f\x8b" + bytes(100),
        "<urlset>".encode("utf-16"),
        filled(b"\x80\xd8", b"\xff\xfe"),  # each lone surrogate calls an error handler
    ],
)
def test_lists_of_dense_markup_are_expensive(body: bytes) -> None:
    assert list_price_s(body) > ENOUGH_S


def test_typical_lists_are_cheap() -> None:
    entry = b"<url><loc>http://a.example/page</loc><lastmod>2026-01-01</lastmod></url>"
    assert list_price_s(filled(entry, b"<urlset>", size=8 * 1024)) < ENOUGH_S
    feed = b'{"id":"1","url":"http://a.example/1","content_text":"' + PROSE * 5 + b'"},'
    assert list_price_s(filled(feed, b'{"items":[', size=32 * 1024)) < ENOUGH_S


@pytest.mark.parametrize("piece", [b"\n", b"[", b"](", b"[](x)", b"http://a.example "])
def test_dense_markdown_is_expensive_and_prose_is_cheap(piece: bytes) -> None:
    assert document_price_s(filled(piece), DocumentType.MARKDOWN) > ENOUGH_S
    prose = filled(PROSE, size=48 * 1024)
    assert document_price_s(prose, DocumentType.MARKDOWN) < ENOUGH_S


def test_the_price_of_a_document_depends_on_its_type() -> None:
    body = filled(b"a word and ", size=20_000)
    cheapest = document_price_s(body, None)
    assert 0 < cheapest == document_price_s(body, DocumentType.HTML) < ENOUGH_S
    assert document_price_s(body, DocumentType.TEXT) > cheapest
    assert document_price_s(body, DocumentType.SITEMAP) == list_price_s(body)
    assert document_price_s(body, DocumentType.PDF) == inf


def test_utf_16_and_characters_that_expand_in_hosts_cost_more() -> None:
    text = "http://a.example/ " * 100
    plain = document_price_s(text.encode(), DocumentType.TEXT)
    assert document_price_s(text.encode("utf-16"), DocumentType.TEXT) > plain
    grown = text.replace("a.example", "\ufdfa" * 9).encode()
    assert document_price_s(grown, DocumentType.TEXT) > 1.5 * plain


def test_long_robots_txt_is_expensive_and_a_typical_one_cheap() -> None:
    assert robots_price_s(filled(b"Disallow: /a*b\n", size=64 * 1024)) > ENOUGH_S
    assert robots_price_s(b"User-agent: *\n" + b"Disallow: /private/\n" * 100) < ENOUGH_S


@pytest.mark.parametrize(
    ("body", "options"),
    [
        (b"".join(b"<a href=/%d>" % number for number in range(9000)), ParseOptions()),
        (filled(b"<meta name=robots %b>" % (b" a" * 500)), ParseOptions()),
        (filled(b"<?>"), ParseOptions()),
        (filled(b"<a "), ParseOptions()),
        (page(300), ParseOptions(with_words=True)),
    ],
)
def test_a_scan_that_exceeds_its_time_is_given_up(body: bytes, options: ParseOptions) -> None:
    with pytest.raises(TooExpensive):
        parse_page(body, URL, {}, options, most_us=ENOUGH_S * 1e6)


@pytest.mark.parametrize("mark", [b"", b"\xff\xfe"])
def test_large_pages_in_utf_16_are_given_up_before_decoding(mark: bytes) -> None:
    """Each lone surrogate calls an error handler, which takes 19 ms in 256 kB."""
    with pytest.raises(TooExpensive):
        decode(filled(b"\0\xd8", mark, 2 * SIZE), "utf-16le", most_us=ENOUGH_S * 1e6)


def test_small_pages_in_utf_16_are_read_at_once() -> None:
    body = "<title>t</title> Some words. ".encode("utf-16") * 500
    assert parse_page(body, URL, {}, most_us=ENOUGH_S * 1e6).title == "t"


def test_typical_pages_are_read_within_the_time_with_the_same_result() -> None:
    for body in (page(100), page(500), filled(PROSE, b"<title>t</title>"), b""):
        assert parse_page(body, URL, {}, most_us=ENOUGH_S * 1e6) == parse_page(body, URL, {})
