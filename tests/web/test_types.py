"""Types of documents by media type, first bytes and URL."""

import gzip

import pytest

from minicrawl.web.responses.types import (
    ALL,
    FROM_SEEDS,
    HTML,
    WORDS,
    DocumentType,
    is_html,
    is_wanted,
    may_be_wanted,
    media_types,
    type_of,
    types_of,
    unwanted_endings,
)

A = "http://a.example/a"
PDF, TEXT, MARKDOWN = DocumentType.PDF, DocumentType.TEXT, DocumentType.MARKDOWN
JSON = b'{ "title": "x", "version": "https://jsonfeed.org/version/1.1", "items": [] }'
FEED, SITEMAP = DocumentType.FEED, DocumentType.SITEMAP
MAP = b'<?xml version="1.0"?>\n<!-- a --><urlset xmlns="x"><url>'
RSS = b'\xef\xbb\xbf<?xml version="1.0"?><rss version="2.0">'
XHTML = b'<?xml version="1.0"?><html xmlns="x">'


def test_types_are_chosen_by_name_and_have_media_types() -> None:
    assert types_of(["html"]) == HTML
    assert types_of(["pdf", "feed", "pdf"]) == PDF | FEED
    assert types_of(WORDS) == ALL
    assert media_types(HTML) == {"text/html", "application/xhtml+xml"}
    assert "application/rss+xml" in media_types(int(FEED))
    assert media_types(int(SITEMAP)) == frozenset()


def test_whether_a_response_without_a_type_is_html_is_open_before_its_first_bytes() -> None:
    assert is_html(None, b"") is None
    assert is_html(None, b"<html>") is True
    assert is_html(None, b"plain") is False
    assert is_html("text/plain", b"") is False


@pytest.mark.parametrize(
    ("content_type", "body", "kind"),
    [
        ("text/html", b"", DocumentType.HTML),
        ("text/html", RSS, FEED),
        ("text/html", MAP, SITEMAP),
        ("text/html", b"http://a.example/\n", DocumentType.HTML),
        ("application/xhtml+xml; charset=utf-8", XHTML, DocumentType.HTML),
        ("text/xml", XHTML, DocumentType.HTML),
        ("text/xml", MAP, SITEMAP),
        ("application/xml", b"<x:sitemapindex>", SITEMAP),
        ("application/xml", RSS, FEED),
        ("application/xml", b"<feed xmlns='x'>", FEED),
        ("application/xml", b"<rdf:RDF>", FEED),
        ("application/xml", b"<other>", None),
        ("application/rss+xml", b"", FEED),
        ("application/atom+xml", b"<feed/>", FEED),
        ("application/feed+json", b"{}", FEED),
        ("application/json", JSON, FEED),
        ("application/json", b"\xef\xbb\xbf" + JSON.replace(b"/", b"\\/"), FEED),
        (None, JSON, FEED),
        ("application/json", b'{"title": "x"}', None),
        ("application/json", b'{"items": ["https://jsonfeed.org/version/1"]}', None),
        ("text/html", JSON, FEED),
        ("application/pdf", b"", PDF),
        (None, b"%PDF-1.7", PDF),
        ("application/octet-stream", b"\0", None),
        ("application/octet-stream", b"<html >", DocumentType.HTML),
        ("text/plain", b"text", TEXT),
        ("text/plain", b"<rss>", TEXT),
        ("text/plain", b"GIF89a\0\0", None),
        ("text/plain", b"\n https://a.example/b \r\nmore", SITEMAP),
        ("text/plain", b"https://a.example/b is a URL", TEXT),
        ("text/markdown", b"# a", MARKDOWN),
        ("application/gzip", gzip.compress(MAP, mtime=0), SITEMAP),
        ("application/x-gzip", gzip.compress(b"a tar", mtime=0), None),
        ("application/x-gzip", b"\x1f\x8bbroken", None),
        ("image/png", b"<html >", None),
    ],
)
def test_the_media_type_decides_or_else_the_first_bytes(
    content_type: str | None, body: bytes, kind: DocumentType | None
) -> None:
    assert type_of(content_type, A, body, ALL) is kind
    wanted = is_wanted(content_type, A, ALL)
    assert wanted is not False or kind is None
    assert wanted is not True or not body or kind is not None


def test_a_text_is_markdown_by_the_ending_of_its_url() -> None:
    for url in (f"{A}.md", f"{A}.MARKDOWN?b=c"):
        assert type_of("text/plain", url, b"a", ALL) is MARKDOWN
        assert type_of("text/plain", url, b"a", TEXT) is TEXT
        assert type_of("application/octet-stream", url, b"a", ALL) is MARKDOWN
    assert type_of("text/plain", f"{A}?b.mdx", b"a", ALL) is TEXT


def test_only_wanted_types_are_read() -> None:
    assert is_wanted("text/html", A, HTML) is True
    assert is_wanted("text/html", A, FEED) is None
    assert is_wanted("text/html", A, PDF) is False
    assert is_wanted("application/pdf", A, HTML | FROM_SEEDS) is False
    assert type_of("text/html", A, RSS, HTML) is DocumentType.HTML
    assert type_of("text/plain", A, b"http://a.example/\n", TEXT | FEED) is TEXT
    assert type_of("text/xml", A, MAP, HTML) is None
    assert type_of("text/xml", A, MAP, HTML | FEED) is None


@pytest.mark.parametrize(
    ("ending", "wanted", "may_be"),
    [
        ("pdf", HTML, False),
        ("PDF?a", int(PDF), True),
        ("rss", HTML, False),
        ("atom", int(FEED), True),
        ("xml.gz", HTML, False),
        ("xml.gz", HTML | SITEMAP, True),
        ("txt.gz?a", HTML | SITEMAP, True),
        ("tar.gz", ALL, False),
        ("html?a.xml.gz", HTML, True),
        ("jpg", ALL, False),
        ("md", HTML, True),
    ],
)
def test_urls_with_an_unwanted_ending_are_not_requested(
    ending: str, wanted: int, may_be: bool
) -> None:
    assert may_be_wanted(f"{A}.{ending}", wanted, unwanted_endings(wanted)) is may_be
