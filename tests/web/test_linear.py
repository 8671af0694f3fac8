"""Twice the bytes take twice the time, whoever reads them: a table of readers and of what is worst.

Law: nothing here takes the square of its length.
"""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from minicrawl.web import encoding, html_page, markup, responses, urls
from minicrawl.web import robots as rules
from minicrawl.web import sitemaps as sitemap
from minicrawl.web.html_page import ParseOptions, parse_page
from minicrawl.web.robots import Rules
from tests import linear_time
from tests.linear_time import TIMES, expect_linear

URL = "http://a.example/d/page"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Reader = Callable[[str], object]
Input = tuple[str, str]
"""What is there once, and what goes on and on."""


def assert_is_linear(read_it: Reader, once: str, again: str, length: int) -> None:
    some, more = (once + again * (n // len(again)) for n in (length // 2, length * TIMES // 2))
    what = f"of {once[:20]!r} and {again[:20]!r}"
    expect_linear(lambda: read_it(some), lambda: read_it(more), what)


# ---------------------------------------------------------------- readers


def as_bytes(text: str) -> bytes:
    return text.encode("latin-1")


def decode(text: str) -> object:
    return encoding.decode(as_bytes(text) + b"\xff", None)


def link_to(text: str) -> object:
    return urls.resolve_links([text, text + "x"], URL), urls.canonical(text, URL)


def many_links(text: str) -> object:
    return urls.resolve_links(text.split(" "), URL)


def scan(text: str) -> object:
    return markup.scan(text, max_links=1 << 20, with_words=True)


def scan_xhtml(text: str) -> object:
    return markup.scan(text, xhtml=True)


def read_page(text: str) -> object:
    return parse_page(
        as_bytes(text), URL, {}, ParseOptions(with_words=True), suspicious=(1 << 1024) - 1
    )


def read_headers(text: str) -> object:
    said = {"content-type": text, "link": text, "x-robots-tag": text}
    return parse_page(b"<a href=x>", URL, said)


def parse_robots(text: str) -> object:
    asked = rules.parse(as_bytes(text), "minicrawl")
    return Rules.from_text(asked.text()), asked.allows(URL)


def parse_sitemap(text: str) -> object:
    return sitemap.parse(as_bytes(text), URL)


def parse_packed_sitemap(text: str) -> object:
    return sitemap.parse(gzip.compress(as_bytes(text), 1), URL)


MARKUP: list[Input] = [
    *(
        ("", it)
        for it in ("<", ">", "<a", "<a ", "<a>", "<a href=", "<a href='", '<a b="', "</a", "</")
    ),
    *(
        ("", it)
        for it in ("<!", "<!-", "<!--", "<!-->", "<!-- -", "<?", "<![CDATA[", "]]>", "-->", "--")
    ),
    *(
        ("", it)
        for it in ("&", "&#", "&#x", "&amp", "&aaaaaaaa", "&#9", "&nbsp;", "\n", " ", "\0", "x")
    ),
    *(
        ("", f"<{it}>")
        for it in ("script", "style", "title", "svg", "noscript", "textarea", "iframe")
    ),
    *(("", f"<{it} ") for it in ("script", "meta", "base", "link", "area", "p", "meta robots")),
    *((f"<{it}>", f"</{it}") for it in ("script", "style", "title", "template", "textarea")),
    *(("<script>", it) for it in ("<!--", "<script", "<!--<script>", "-", "<!--<script></script>")),
    *(("<a ", it) for it in ("a ", "a=", "a='", 'a="" ', "/", "= ", "href", "rel=nofollow ")),
    *(("<a href=", it) for it in ("a", "../", "/", "&#65;", "#", "?", "%61", "&")),
    *(("<a href=x><script", it) for it in ("</script", "<style", "<!--")),
    *(("", f"<a href=x{it}>{it}</script") for it in ("<script>", "<!--")),
    *(("<title>", it) for it in ("&", "&#9", " ", "a ", "&#" + "9" * 99)),
    *(("<meta name=robots content='", it) for it in (",", "a:", " ", "none,", "a")),
    *(
        ("<meta http-equiv=refresh content='1;url=", it)
        for it in (" ", "\t", "url=", "a", "/", '"', "../")
    ),
    *(("<base href='", it) for it in ("a/", "../", "http://", "//", "@", "&#47;")),
    *(("<link rel=canonical href='", it) for it in ("a/", "../", "?a&", "utm_a=1&")),
]
ADDRESSES: list[Input] = [
    *(
        ("/", it)
        for it in ("a/", "../", "./", "%2e%2e/", "a/../", ";", ";jsessionid=1", "%", "é", "\t")
    ),
    *(
        ("?", it)
        for it in ("a=1&", "utm_a=1&", "&utm_a", "&sid=0", "&cfid=1", "?", ";hsa_a", "bsft_id")
    ),
    *(
        ("http://", it)
        for it in ("a", "a.", "1.", "@", "a@", ":", "[", "xn--a", "%61", "é", "\\", "a\t")
    ),
    *(("//", it) for it in ("a", "a:", "/", "@", "xn--")),
    *(
        ("", it)
        for it in ("a", "a:", ":", "../", "#", " ", "\\", "http:", "http:/", "-", "a.", "1.1")
    ),
]
HEADER: list[Input] = [
    *(
        ("", it)
        for it in (";", "; ", ",", " ", "\t", '"', "'", "a", "=", "<", ">", ":", "a:", "a: ")
    ),
    *(
        ("text/html", it)
        for it in (";charset=", ';charset="', "; charset", ";\t", ",text/html", "/")
    ),
    *(
        ("", it)
        for it in ("<a>", "<a>;", '<a>;"', "<a>; rel", "<a>;rel=x,", "<a>; rel=;", "<a>;a,<")
    ),
    *(("<a>;", it) for it in ('rel="', "rel ", "rel=\t", 'a="b"', ";", "; ", "rel=x;")),
    *(("", it) for it in ("noindex,", "a:b,", "none", "unavailable_after:", "minicrawl:")),
    *(
        ("", it)
        for it in ("9", "0", "1 ", "Mon", "Mon, ", "Mon Jan 1 ", "1:1", "+0", "(", "Jan ", "é")
    ),
    *(("Mon, ", it) for it in ("1", "-", ":", "1 Jan ", ",", "0:", "+9", " ")),
]
RULES: list[Input] = [
    *(
        ("", it)
        for it in ("\n", "\r", " ", ":", "#", "a", "*", "user-agent: a\n", "User-agent: *\n")
    ),
    *(
        ("User-agent: *\n", it)
        for it in ("Disallow: /\n", "Sitemap: /\n", "Crawl-delay: 1\n", "Allow:\n")
    ),
    *(
        ("User-agent: *\nDisallow: /", it)
        for it in ("*", "*a", "$", "%", "%61", "%%61", "\xff", " ", "?")
    ),
    *(("User-agent: *\nCrawl-delay: ", it) for it in ("9", "1_", ".", "e", "0")),
    *(("User-agent: ", it) for it in ("a", "*", " ", "a/")),
]
MAPS: list[Input] = [
    *(
        ("<urlset>", it)
        for it in ("<a>", "<a/>", "</a>", "<a></b>", "<", "<a", "<a ", "<a '", '<a "', "<1")
    ),
    *(
        ("<urlset>", it)
        for it in ("<!--", "-->", "<![CDATA[", "]]>", "<!", "<?", "<!-->", "&", "&#", "&#0;")
    ),
    *(
        ("<urlset>", it)
        for it in ("<url>", "<loc>", "</url>", "<loc>/a", "<url><loc>/</loc></url>", "<loc/>")
    ),
    *(
        ("<urlset><loc>", it)
        for it in ("a", "&", "&#65;", "<!---->", "<![CDATA[a]]>", "<b>", "&#9", " ", "\xff")
    ),
    *(
        ("<feed><entry>", it)
        for it in ("<link href=x/>", "<link a=b href='", "<link a='", "<link rel=x>")
    ),
    *(("<a ", it) for it in ("a=b ", "a='b'", "'", '"', "a:b", "xmlns:a='b' ")),
    *(("<a", it) for it in (":", "a", "/", "=")),
    *(
        ("", it)
        for it in ("http://a/b\n", "http://", "\n", " ", "\r\n", "\t \n", "<lastmod>1</lastmod>")
    ),
]
WORST: dict[str, tuple[Reader, int, list[Input]]] = {
    "encoding": (
        decode,
        30_000,
        [
            *(
                ("<?xml ", it)
                for it in ('encoding="a" ', "encoding=", 'encoding="', "encoding='", "a")
            ),
            *(
                ("<meta http-equiv=content-type content=", it)
                for it in ("charset='", "charset", "'")
            ),
            *MARKUP[:30],
        ],
    ),
    "html": (scan, 30_000, MARKUP),
    "xhtml": (scan_xhtml, 30_000, MARKUP),
    "thin": (lambda text: html_page.is_thin(text, ""), 60_000, MARKUP),
    "attributes": (
        markup.attributes,
        30_000,
        [*HEADER, *((" ", it) for it in ("a", "a=", "a='b'"))],
    ),
    "href": (
        markup.href,
        60_000,
        [*HEADER, *(("", it) for it in ("href", "a=href ", "href href"))],
    ),
    "references": (markup.unescaped, 60_000, MARKUP[20:31]),
    "values": (markup.decoded, 60_000, MARKUP[20:31]),
    "refresh": (
        markup.meta_refresh,
        60_000,
        [*HEADER, ("1;", "url="), ("1;url=", " "), ("", "1;")],
    ),
    "type": (responses.parse_content_type, 60_000, HEADER),
    "is html": (lambda text: responses.is_html("", as_bytes(text)), 60_000, MARKUP),
    "wait": (lambda text: responses.retry_after_s(text, NOW), 60_000, HEADER),
    "robots tag": (lambda text: responses.parse_robots_tag(text, "minicrawl"), 60_000, HEADER),
    "link header": (responses.link_canonical, 60_000, HEADER),
    "headers": (read_headers, 60_000, HEADER),
    "url": (link_to, 60_000, ADDRESSES),
    "urls": (many_links, 60_000, [(a, b + " ") for a, b in ADDRESSES]),
    "base": (lambda text: urls.canonical("../x", text), 60_000, ADDRESSES),
    "seed": (urls.canonical_seed, 60_000, ADDRESSES),
    "robots": (parse_robots, 60_000, RULES),
    "sitemap": (parse_sitemap, 30_000, MAPS),
    "packed sitemap": (parse_packed_sitemap, 30_000, MAPS[::3]),
    "page": (read_page, 30_000, MARKUP),
}


@pytest.mark.proof
@pytest.mark.parametrize("name", WORST)
def test_the_time_grows_with_the_length(name: str) -> None:
    reader, length, inputs = WORST[name]
    for once, again in inputs:
        assert_is_linear(reader, once, again, length)


def test_the_square_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each work tells its own time, so that no noise hides the square."""
    monkeypatch.setattr(linear_time, "_seconds", lambda work: work())
    expect_linear(lambda: 1.0, lambda: 1.0 * TIMES)
    with pytest.raises(pytest.fail.Exception, match="times the time"):
        expect_linear(lambda: 1.0, lambda: 1.0 * TIMES**2)
