import pickle

import pytest

from minicrawl.model import ParsedPage
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions
from minicrawl.web.urls import MOST_CHARS

URL = "https://e.org/dir/page"
XHTML = "<script src='s'/><a href='x'/>"


def page(markup: str | bytes, options: ParseOptions | None = None, /, **headers: str) -> ParsedPage:
    body = markup if isinstance(markup, bytes) else markup.encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return parse_page(body, URL, named, options or ParseOptions())


@pytest.mark.parametrize(
    ("markup", "headers", "links"),
    [
        ("<a href=x><base href=/other/>", {}, ["/other/x"]),
        *(
            (f"<base href='{base}'><a href=x>", {}, ["/dir/x"])
            for base in ("", "about:blank", "javascript:0", "http://[")
        ),
        ("<a href=#top><a href=page><a href=''><a href=/dir/page#x>", {}, []),
        ("<a href=x><meta name=robots content=nofollow>", {}, []),
        ("<a href=x>", {"x_robots_tag": "otherbot: index, minicrawl: nofollow"}, []),
        ("<a href=x>", {"x_robots_tag": "otherbot: nofollow"}, ["/dir/x"]),
        # a page is read as XHTML only if its header says so
        (XHTML, {"content_type": "application/xhtml+xml"}, ["/dir/x"]),
        (XHTML, {}, []),
        # a delayed refresh is a link
        ("<meta http-equiv=refresh content='2;url=x'><a href=y>", {}, ["/dir/x", "/dir/y"]),
        ("<a href=y>", {"refresh": "5;URL='x'"}, ["/dir/y", "/dir/x"]),
        ("<a href=x>", {"refresh": "5;url=x"}, ["/dir/x"]),
        ("", {"refresh": "5;url=x", "x_robots_tag": "nofollow"}, []),
        # a page that only reloads leads nowhere
        *(
            (f"<meta http-equiv=refresh content='{content}'>", {}, [])
            for content in ("0", "0;", "0;url=page", "300", "0;url=mailto:x")
        ),
        *(
            ("", {"refresh": value}, [])
            for value in ("", "5", "0; url=", "no", f"0; url={URL}", "0; url=mailto:a")
        ),
    ],
)
def test_links_of_a_page(markup: str, headers: dict[str, str], links: list[str]) -> None:
    found = page(markup, **headers)
    assert [link.removeprefix("https://e.org") for link in found.links] == links
    assert found.refresh is None


def test_links_are_decoded_in_the_encoding_of_the_page() -> None:
    found = page(b"<a href=/\xe9>", content_type="text/html; charset=latin1")
    assert (found.links, found.encoding) == (("https://e.org/%C3%A9",), "windows-1252")


def test_words_belong_to_the_first_link_to_a_target() -> None:
    markup = (
        "<a href=/a#1>one</a><a href=/a#2>two</a><a href=mailto:x>three</a><a href=page>four</a>"
    )
    found = page(markup, ParseOptions(with_words=True))
    assert (found.links, found.words) == (("https://e.org/a",), ("one two three four",))
    assert page("<a href=y>why", ParseOptions(with_words=True), refresh="5;url=x").words == (
        "why",
        "",
    )


@pytest.mark.parametrize(("limit", "cut"), [(5, "cut at 5 links"), (9, "")])
def test_the_number_of_links_is_limited(limit: int, cut: str) -> None:
    markup = "".join(f"<a href={number}>" for number in range(9))
    found = page(markup, ParseOptions(max_links=limit))
    assert (len(found.links), found.cut) == (limit, cut)


@pytest.mark.parametrize("with_words", [False, True])
def test_tracking_parameters_are_removed_and_originals_kept(with_words: bool) -> None:
    markup = (
        "<link rel=canonical href='/c?gclid=1'><meta http-equiv=refresh content='0;/r?gclid=2'>"
        "<a href='/a?id=1&utm_id=3#top'><a href='/a?id=1&utm_id=4'><a href=/b?id=1>"
    )
    found = page(markup, ParseOptions(with_words=with_words))
    assert found.links == ("https://e.org/a?id=1", "https://e.org/b?id=1")
    assert (found.canonical, found.refresh) == ("https://e.org/c", "https://e.org/r")
    assert found.originals == (
        ("https://e.org/a?id=1", "https://e.org/a?id=1&utm_id=3"),
        ("https://e.org/c", "https://e.org/c?gclid=1"),
        ("https://e.org/r", "https://e.org/r?gclid=2"),
    )
    found = page(markup, ParseOptions(with_words=with_words, strip_marks=False))
    assert found.links == tuple(
        f"https://e.org/{rest}" for rest in ("a?id=1&utm_id=3", "a?id=1&utm_id=4", "b?id=1")
    )
    assert (found.canonical, found.originals) == ("https://e.org/c?gclid=1", ())


def test_pages_have_the_same_content_only_if_all_their_bytes_are_the_same() -> None:
    assert page("<p>1").content == page("<p>1").content != page("<p>2").content
    assert page("").content == -0x4B4D_868B_A85F_591C, "the hash of existing stores"


def test_noindex_counts_in_the_page_and_in_its_headers() -> None:
    assert page("<meta name=robots content=noindex>").noindex
    assert page("", x_robots_tag="noindex").noindex
    assert not page("").noindex
    mine = "<meta name=mybot content=noindex>"
    assert page(mine, ParseOptions(agent="MyBot")).noindex
    assert not page(mine).noindex


@pytest.mark.parametrize(
    ("markup", "headers", "url"),
    [
        ("", {"link": "</header>; rel=canonical"}, "https://e.org/header"),
        ("<link rel=canonical href=tag>", {"link": "</header>; rel=canonical"},
         "https://e.org/dir/tag"),
        *((f"<link rel=canonical href='{href}'>", {}, None)
          for href in ("", "page", "#x", "mailto:a@e.org")),
    ],
)  # fmt: skip
def test_a_canonical_tag_overrides_the_link_header_and_names_another_page(
    markup: str, headers: dict[str, str], url: str | None
) -> None:
    assert page(markup, **headers).canonical == url


@pytest.mark.parametrize("delay", ["0", "1", "0.5"])
def test_an_immediate_refresh_is_a_redirect(delay: str) -> None:
    found = page(f"<meta http-equiv=refresh content='{delay};url=x'>")
    assert (found.refresh, found.links) == ("https://e.org/dir/x", ())


def test_a_reading_can_be_sent_to_another_process() -> None:
    found = page("<title>T</title><a href=x>")
    links = ("https://e.org/dir/x",)
    assert found == ParsedPage(title="T", links=links, content=found.content, is_thin=True)
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("with_words", [False, True])
def test_the_characters_of_all_links_together_are_limited(with_words: bool) -> None:
    base = f"http://a.example/{'x' * 1900}/"
    markup = f"<base href={base}>" + "".join(f"<a href={n}>w</a>" for n in range(6000))
    found = page(markup, ParseOptions(with_words=with_words))
    assert sum(map(len, found.links)) <= MOST_CHARS
    assert len(found.links) > 3000
    assert len(found.words) == (len(found.links) if with_words else 0)
    assert f"{MOST_CHARS:,} characters" in found.cut


def test_an_immediate_refresh_header_is_resolved_against_the_url_of_the_page() -> None:
    markup = "<base href='/b/'><meta http-equiv=refresh content='0;m'>"
    found = page(markup, refresh="0; url=x?gclid=1")
    assert found.refresh == "https://e.org/dir/x"
    assert found.originals == (("https://e.org/dir/x", "https://e.org/dir/x?gclid=1"),)
