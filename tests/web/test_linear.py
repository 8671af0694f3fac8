"""All readers of foreign text take linear time: a table of readers, and of the worst input."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from minicrawl.web import url_shapes, urls
from minicrawl.web.cookies.cookie import parse_cookie
from minicrawl.web.documents import writing
from minicrawl.web.encoding import detection
from minicrawl.web.html import attributes, page_text, scanner, scripts, thin
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses import headers, types as document_types
from minicrawl.web.robots import rules, usage
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps import json_feed, sitemap
from tests.linear_time import TIMES, expect_linear, expect_linear_reading

URL = "http://a.example/d/page"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
Input = tuple[str, str]
"""Start of an input, and the piece that is repeated after it."""


def as_bytes(text: str) -> bytes:
    return text.encode("latin-1")


def decode(text: str) -> object:
    return detection.decode(as_bytes(text) + b"\xff", None)


def link_to(text: str) -> object:
    return urls.resolve_links([text, text + "x"], URL), urls.canonical(text, URL)


def many_links(text: str) -> object:
    return urls.resolve_links(text.split(" "), URL)


def scan(text: str) -> object:
    return scanner.scan(text, ParseOptions(max_links=1 << 20, with_words=True))


def scan_xhtml(text: str) -> object:
    return scanner.scan(text, xhtml=True)


def read_page(text: str) -> object:
    return parse_page(
        as_bytes(text), URL, {}, ParseOptions(with_words=True), suspicious=(1 << 1024) - 1
    )


def read_headers(text: str) -> object:
    headers = dict.fromkeys(("content-type", "link", "x-robots-tag"), text)
    return parse_page(b"<a href=x>", URL, headers)


def parse_robots(text: str) -> object:
    parsed = rules.parse(as_bytes(text), "minicrawl")
    return Rules.from_text(parsed.text()), parsed.allows(URL)


def parse_sitemap(text: str) -> object:
    return sitemap.parse(as_bytes(text), URL)


def parse_packed_sitemap(text: str) -> object:
    return sitemap.parse(gzip.compress(as_bytes(text), 1), URL)


def after(once: str, *pieces: str) -> list[Input]:
    return [(once, again) for again in pieces]


MARKUP: list[Input] = [
    *after("", "<", ">", "<a", "<a ", "<a>", "<a href=", "<a href='", '<a b="', "</a", "</"),
    *after("", "<!", "<!-", "<!--", "<!-->", "<!-- -", "<?", "<![CDATA[", "]]>", "-->", "--"),
    *after("", "&", "&#", "&#x", "&amp", "&aaaaaaaa", "&#9", "&nbsp;", "\n", " ", "\0", "x"),
    *(
        ("", f"<{it}>")
        for it in ("script", "style", "title", "svg", "noscript", "textarea", "iframe")
    ),
    *(("", f"<{it} ") for it in ("script", "meta", "base", "link", "area", "p", "meta robots")),
    *((f"<{it}>", f"</{it}") for it in ("script", "style", "title", "template", "textarea")),
    *after("<script>", "<!--", "<script", "<!--<script>", "-", "<!--<script></script>"),
    *after("<a ", "a ", "a=", "a='", 'a="" ', "/", "= ", "href", "rel=nofollow "),
    *after("<a href=", "a", "../", "/", "&#65;", "#", "?", "%61", "&"),
    *after("<a href=x><script", "</script", "<style", "<!--"),
    *(("", f"<a href=x{it}>{it}</script") for it in ("<script>", "<!--")),
    *after("<title>", "&", "&#9", " ", "a ", "&#" + "9" * 99),
    *after("<meta name=robots content='", ",", "a:", " ", "none,", "a"),
    *after("<meta http-equiv=refresh content='1;url=", " ", "\t", "url=", "a", "/", '"', "../"),
    *after("<base href='", "a/", "../", "http://", "//", "@", "&#47;"),
    *after("<link rel=canonical href='", "a/", "../", "?a&", "utm_a=1&"),
]
ADDRESSES: list[Input] = [
    *after("/", "a/", "../", "./", "%2e%2e/", "a/../", ";", ";jsessionid=1", "%", "é", "\t"),
    *after("?", "a=1&", "utm_a=1&", "&utm_a", "&sid=0", "&cfid=1", "?", ";hsa_a", "bsft_id"),
    *after("http://", "a", "a.", "1.", "@", "a@", ":", "[", "xn--a", "%61", "é", "\\", "a\t"),
    *after("//", "a", "a:", "/", "@", "xn--"),
    *after("", "a", "a:", ":", "../", "#", " ", "\\", "http:", "http:/", "-", "a.", "1.1"),
]
HEADER: list[Input] = [
    *after("", ";", "; ", ",", " ", "\t", '"', "'", "a", "=", "<", ">", ":", "a:", "a: "),
    *after("text/html", ";charset=", ';charset="', "; charset", ";\t", ",text/html", "/"),
    *after("", "<a>", "<a>;", '<a>;"', "<a>; rel", "<a>;rel=x,", "<a>; rel=;", "<a>;a,<"),
    *after("<a>;", 'rel="', "rel ", "rel=\t", 'a="b"', ";", "; ", "rel=x;"),
    *after("", "noindex,", "a:b,", "none", "unavailable_after:", "minicrawl:"),
    *after("", "9", "0", "1 ", "Mon", "Mon, ", "Mon Jan 1 ", "1:1", "+0", "(", "Jan ", "é"),
    *after("Mon, ", "1", "-", ":", "1 Jan ", ",", "0:", "+9", " "),
]
RULES: list[Input] = [
    *after("", "\n", "\r", " ", ":", "#", "a", "*", "user-agent: a\n", "User-agent: *\n"),
    *after("User-agent: *\n", "Disallow: /\n", "Sitemap: /\n", "Crawl-delay: 1\n", "Allow:\n"),
    *after("User-agent: *\nDisallow: /", "*", "*a", "$", "%", "%61", "%%61", "\xff", " ", "?"),
    *after("User-agent: *\nCrawl-delay: ", "9", "1_", ".", "e", "0"),
    *after("User-agent: ", "a", "*", " ", "a/"),
]
MAPS: list[Input] = [
    *after("<urlset>", "<a>", "<a/>", "</a>", "<a></b>", "<", "<a", "<a ", "<a '", '<a "', "<1"),
    *after("<urlset>", "<!--", "-->", "<![CDATA[", "]]>", "<!", "<?", "<!-->", "&", "&#", "&#0;"),
    *after("<urlset>", "<url>", "<loc>", "</url>", "<loc>/a", "<url><loc>/</loc></url>", "<loc/>"),
    *after(
        "<urlset><loc>", "a", "&", "&#65;", "<!---->", "<![CDATA[a]]>", "<b>", "&#9", " ", "\xff"
    ),
    *after("<feed><entry>", "<link href=x/>", "<link a=b href='", "<link a='", "<link rel=x>"),
    *after("<a ", "a=b ", "a='b'", "'", '"', "a:b", "xmlns:a='b' "),
    *after("<a", ":", "a", "/", "="),
    *after("<!DOCTYPE a [", "<!ENTITY e 'x'>", "&e;"),
    *after("", "http://a/b\n", "http://", "\n", " ", "\r\n", "\t \n", "<lastmod>1</lastmod>"),
]
PLAIN = after("", "<!-", "<script>", "<p ", '<p a="', "</", "<p>", "&amp", "<svg <", "<pre>\n<")
MARKDOWN = [
    *after("", "[", "](", "](<", "](a(", "[a](/b)", "![", "<a ", "http://", "[a]:", "http://a/("),
    *after("", "[a", "`", "`` ` ", "(", "\\", "#", "# ", "\n", "---\n", "```\n", "    a\n"),
    *after("", "- ", "=\n", "<", "&amp;", "> ", "1. ", "> - ", "*", "<ul><li>"),
]
SCRIPTS = [
    *after("", "<script ", "<script>", "<div id=a>", "<div ", "<body ", "<a-b"),
    *after("", "<script>a</script>"),
]
REFRESHES = [("1;", "url="), ("1;url=", " "), ("", "1;")]
TARGETS: list[Input] = [
    *after("/", "/", "/a1", "/11", "1a", "a-", "a.", "/a1b2c3d4e5f6", "1b4e28ba-2fa1-"),
    *after("/x?", "/", "1a", "&", "&a=1"),
]
WORST: dict[str, tuple[Callable[[str], object], int, list[Input]]] = {
    "encoding": (
        decode,
        30_000,
        [
            *after("<?xml ", 'encoding="a" ', "encoding=", 'encoding="', "encoding='", "a"),
            *after("<meta http-equiv=content-type content=", "charset='", "charset", "'"),
            *MARKUP[:30],
        ],
    ),
    "html": (scan, 30_000, MARKUP),
    "xhtml": (scan_xhtml, 30_000, MARKUP),
    "thin": (lambda text: thin.is_thin(text, ""), 60_000, MARKUP),
    "attributes": (attributes.attributes, 30_000, [*HEADER, *after(" ", "a", "a=", "a='b'")]),
    "href": (attributes.href, 60_000, [*HEADER, *after("", "href", "a=href ", "href href")]),
    "references": (attributes.unescaped, 60_000, MARKUP[20:31]),
    "values": (attributes.decoded, 60_000, MARKUP[20:31]),
    "refresh": (scanner.meta_refresh, 60_000, [*HEADER, *REFRESHES]),
    "type": (headers.parse_content_type, 60_000, HEADER),
    "is html": (lambda text: document_types.is_html("", as_bytes(text)), 60_000, MARKUP),
    "wait": (lambda text: headers.retry_after_s(text, NOW), 60_000, HEADER),
    "robots tag": (lambda text: headers.parse_robots_tag(text, "minicrawl"), 60_000, HEADER),
    "link header": (headers.link_canonical, 60_000, HEADER),
    "headers": (read_headers, 60_000, HEADER),
    "url": (link_to, 60_000, ADDRESSES),
    "urls": (many_links, 15_000, [(a, b + " ") for a, b in ADDRESSES]),
    "base": (lambda text: urls.canonical("../x", text), 60_000, ADDRESSES),
    "seed": (urls.canonical_seed, 60_000, ADDRESSES),
    "robots": (parse_robots, 60_000, RULES),
    "sitemap": (parse_sitemap, 30_000, MAPS),
    "packed sitemap": (parse_packed_sitemap, 30_000, MAPS[::3]),
    "page": (read_page, 30_000, MARKUP),
    "scripts": (lambda text: scripts.scripting(text, 0, is_thin=True), 120_000, SCRIPTS),
    "plain text": (page_text.plain_text, 16_000, PLAIN),
    "headings": (page_text.headings, 16_000, after("", "<h1>", "<h1 ", "<h1></h")),
    "language": (page_text.language, 16_000, after("", "<html ", '<html lang="')),
    "preferences": (
        lambda text: list(usage.of_markup(text, URL)),
        1 << 18,
        after("<a ", "<script application/rsl+xml>", "<a rel=license creativecommons.org"),
    ),
    "text": (writing.read_text, 16_000, MARKDOWN),
    "markdown": (writing.read_markdown, 16_000, MARKDOWN),
    "JSON feed": (
        lambda text: json_feed.read_json_feed(text, 99),
        160_000,
        after('{"', '"', '\\"', "[", '{"items":[', '{"url":"', "]}", '"a":', '"\\', "a"),
    ),
    "cookie": (
        lambda text: parse_cookie(text, "https", "www.a.example", "/", 0.0),
        4000,
        after("a=b;", ";", "a=b;", "=", " ", "Expires=", "Domain=a.example;"),
    ),
    **{
        work.__name__: (work, 400_000, TARGETS)
        for work in (url_shapes.shape, url_shapes.program, url_shapes.most_repeats)
    },
}


@pytest.mark.proof
@pytest.mark.parametrize("name", WORST)
def test_readers_take_linear_time(name: str) -> None:
    reader, length, inputs = WORST[name]
    for once, again in inputs:
        expect_linear_reading(reader, again, length // 2, once)


def test_quadratic_time_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock is fake, so that the test does not depend on the machine."""
    now = [0.0]
    monkeypatch.setattr("time.thread_time", lambda: now[0])

    def work(seconds: float) -> None:
        now[0] += seconds

    expect_linear(lambda: work(1), lambda: work(TIMES))
    with pytest.raises(pytest.fail.Exception, match="times the time"):
        expect_linear(lambda: work(1), lambda: work(TIMES**2))
