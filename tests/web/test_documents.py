"""Documents of all types, parsed into pages."""

import pytest

from minicrawl.model import ParsedPage
from minicrawl.web.documents.document import parse_document, title_of
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.responses.types import ALL, HTML
from tests.web.pdfs import pdf, words

URL = "http://a.example/d/page"
D = "http://a.example/d"
PROSE = "Enough words to be worth reading. " * 10
FEED = b"""<?xml version="1.0"?><rss><channel><title>A &amp; B</title><link>/home</link>
<item><title>One</title><link>/1</link></item><item><link>/2?utm_source=x</link></item>
<item><link>http://a.example/d/page</link></item></channel></rss>"""
INDEX = b"<sitemapindex><sitemap><loc>/s.xml</loc></sitemap><url><loc>/p</loc></url></sitemapindex>"


def read(body: bytes | str, kind: str, *, options: ParseOptions | None = None, **more: str):  # type: ignore[no-untyped-def]  # a page
    headers = {"content-type": kind} | {n.replace("_", "-"): v for n, v in more.items()}
    content = body.encode() if isinstance(body, str) else body
    return parse_document(content, URL, headers, options or ParseOptions(), types=ALL)


def test_a_document_in_html_is_read_like_a_page() -> None:
    page, headers = b"<title>A</title><a href=x>", {"content-type": "text/html"}
    found = parse_document(page, URL, headers, types=ALL)
    assert found == parse_document(page, URL, headers, types=HTML) == parse_page(page, URL, headers)


def test_other_types_are_empty_documents() -> None:
    found = read(b"GIF89a", "image/gif")
    assert found == ParsedPage(content=found.content, is_thin=True)
    assert found.content != 0


def test_a_text_has_its_first_line_as_title_and_its_urls_as_links() -> None:
    found = read(f"Title\n{PROSE}\rhttp://b.example/x http://a.example/d/page", "text/plain")
    assert (found.title, found.links, found.is_thin) == ("Title", ("http://b.example/x",), False)
    assert read("Title", "text/plain").is_thin


def test_markdown_has_links_with_their_words() -> None:
    options = ParseOptions(with_words=True, max_links=2)
    found = read("# T\n[one](1) [two](/2) [three](3)", "text/markdown", options=options)
    assert (found.title, found.links) == ("T", (f"{D}/1", "http://a.example/2"))
    assert found.words == ("one", "two")
    assert found.cut == "cut at 2 links"


def test_a_pdf_has_its_title_links_and_on_request_its_text() -> None:
    file = pdf(words("One", "Two"), title="T", links=["x", "mailto:a@a.example"])
    found = read(file, "application/pdf")
    assert (found.title, found.links, found.extracted) == ("T", (f"{D}/x",), "")
    kept = read(file, "application/pdf", options=ParseOptions(with_text=True))
    assert kept.extracted == "One\nTwo"
    assert read(b"%PDF-", "application/pdf").cut


def test_headers_count_for_each_type() -> None:
    link = '<http://a.example/page>; rel="canonical"'
    for body, kind in (
        (pdf(words("a"), links=["x"]), "application/pdf"),
        ("[a](b)", "text/markdown"),
    ):
        found = read(body, kind, link=link, x_robots_tag="noindex")
        assert (found.canonical, found.noindex) == ("http://a.example/page", True)
        assert read(body, kind, x_robots_tag="nofollow").links == ()
    for body in (FEED, INDEX):
        assert read(body, "text/xml", x_robots_tag="none").links == ()
        assert read(body, "text/xml", x_robots_tag="none").noindex


def test_a_feed_links_to_its_entries_and_is_not_indexed() -> None:
    found = read(FEED, "application/rss+xml", options=ParseOptions(with_words=True))
    assert found.title == "A & B"
    assert found.links == ("http://a.example/1", "http://a.example/2")
    assert found.words == ("", "")
    assert found.originals == (("http://a.example/2", "http://a.example/2?utm_source=x"),)
    assert (found.noindex, found.is_sitemap, found.cut) == (True, False, "")
    few = read(FEED, "text/html", options=ParseOptions(max_links=1))
    assert few.links == ("http://a.example/1",)
    assert few.cut == "cut at 1 link"


def test_a_json_feed_is_a_feed() -> None:
    feed = (
        '{"version": "https://jsonfeed.org/version/1", "title": " Tom\\n & Ann ", '
        '"items": [{"url": "http://a.example/1"}, {"url": "http://a.example/d/page"}]}'
    )
    for kind in ("application/feed+json", "application/json"):
        found = read(feed, kind)
        assert (found.title, found.links) == ("Tom & Ann", ("http://a.example/1",))
        assert found.noindex


def test_a_sitemap_links_to_its_pages_and_sitemaps() -> None:
    found = read(INDEX, "text/xml", options=ParseOptions(with_words=True, max_links=1))
    assert found.links == ("http://a.example/s.xml", "http://a.example/p")
    assert found.sitemaps == ("http://a.example/s.xml",)
    assert found.words == ("", "")
    assert (found.noindex, found.is_sitemap) == (True, True)


@pytest.mark.parametrize(
    ("feed", "title"),
    [
        ("<feed><title type='text'>A</title><entry><title>B", "A"),
        ("<rss><channel><item><title>B</title>", ""),
        ("<rss><channel><atom:title>A", "A"),
        ("<rss><channel><title><![CDATA[A & <b>]]></title>", "A & <b>"),
        ("<rss><title>\x1b[31m\x07A</title>", "\x1b[31m\x07A"),
        ("<?xml version='1.0' encoding='iso-8859-1'?><rss><title>\xe9", "\xe9"),
        ("", ""),
    ],
)
def test_the_title_of_a_feed_comes_before_its_entries(feed: str, title: str) -> None:
    assert title_of(feed.encode("latin-1")) == title
