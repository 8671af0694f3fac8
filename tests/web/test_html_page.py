import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.model import ParsedPage
from minicrawl.web.html_page import ParseOptions, parse_page
from minicrawl.web.urls import MOST_CHARS

URL = "https://e.org/dir/page"


def links(page: str, url: str = URL, **headers: str) -> list[str]:
    said = {name.replace("_", "-"): value for name, value in headers.items()}
    return list(parse_page(page.encode(), url, said).links)


# ---------------------------------------------------------------- links


def test_links_are_absolute_and_each_target_is_there_once() -> None:
    page = "<a href=/a#1><a href=../a><a href=//e.org/a><a href=b?c>"
    assert links(page) == ["https://e.org/a", "https://e.org/dir/b?c"]


def test_links_are_relative_to_the_base_wherever_it_stands() -> None:
    assert links("<a href=x><base href=/other/>") == ["https://e.org/other/x"]


@pytest.mark.parametrize("base", ["", "about:blank", "javascript:0", "http://["])
def test_a_base_that_is_no_page_is_none(base: str) -> None:
    assert links(f"<base href='{base}'><a href=x>") == ["https://e.org/dir/x"]


def test_a_page_does_not_link_to_itself() -> None:
    assert links("<a href=#top><a href=page><a href=''><a href=/dir/page#x>") == []


def test_what_is_no_page_is_no_link() -> None:
    assert links("<a href=mailto:a@e.org><a href=javascript:x()><a href='http://['>") == []


def test_links_are_written_in_the_encoding_of_the_page() -> None:
    reading = parse_page(b"<a href=/\xe9>", URL, {"content-type": "text/html; charset=latin1"})
    assert reading.links == ("https://e.org/%C3%A9",)
    assert reading.encoding == "windows-1252"


def test_words_come_with_the_first_link_to_a_target() -> None:
    page = (
        b"<a href=/a#1>one</a><a href=/a#2>two</a><a href=mailto:x>three</a><a href=page>four</a>"
    )
    reading = parse_page(page, URL, {}, ParseOptions(with_words=True))
    assert (reading.links, reading.words) == (("https://e.org/a",), ("one two three four",))


def test_only_so_many_links_are_read() -> None:
    page = "".join(f"<a href={number}>" for number in range(9)).encode()
    some, all_of_them = (
        parse_page(page, URL, {}, ParseOptions(max_links=5)),
        parse_page(page, URL, {}, ParseOptions(max_links=9)),
    )
    assert (len(some.links), some.cut) == (5, "cut at 5 links")
    assert (len(all_of_them.links), all_of_them.cut) == (9, "")


@pytest.mark.parametrize("with_words", [False, True])
def test_where_marks_went_the_url_is_known_as_it_was_written(with_words: bool) -> None:
    page = (
        b"<link rel=canonical href='/c?gclid=1'><meta http-equiv=refresh content='0;/r?gclid=2'>"
        b"<a href='/a?id=1&utm_id=3#top'><a href='/a?id=1&utm_id=4'><a href=/b?id=1>"
    )
    reading = parse_page(page, URL, {}, ParseOptions(with_words=with_words))
    assert reading.links == ("https://e.org/a?id=1", "https://e.org/b?id=1")
    assert (reading.canonical, reading.refresh) == ("https://e.org/c", "https://e.org/r")
    assert reading.originals == (
        ("https://e.org/a?id=1", "https://e.org/a?id=1&utm_id=3"),
        ("https://e.org/c", "https://e.org/c?gclid=1"),
        ("https://e.org/r", "https://e.org/r?gclid=2"),
    )


@pytest.mark.parametrize("with_words", [False, True])
def test_marks_stay_where_the_user_wants_them(with_words: bool) -> None:
    page = b"<link rel=canonical href='/c?gclid=1'><a href='/a?utm_id=3'><a href='/a'>"
    reading = parse_page(page, URL, {}, ParseOptions(with_words=with_words, strip_marks=False))
    assert reading.links == ("https://e.org/a?utm_id=3", "https://e.org/a")
    assert (reading.canonical, reading.originals) == ("https://e.org/c?gclid=1", ())


# ---------------------------------------------------------------- content


def test_pages_have_the_same_content_only_if_all_their_bytes_are_the_same() -> None:
    one, same, other = (parse_page(body, URL, {}) for body in (b"<p>1", b"<p>1", b"<p>2"))
    assert one.content == same.content != other.content


def test_a_content_is_the_number_that_stores_have_kept_so_far() -> None:
    assert parse_page(b"", URL, {}).content == -0x4B4D_868B_A85F_591C


# ---------------------------------------------------------------- robots


def test_who_must_not_follow_sees_no_links() -> None:
    assert links("<a href=x><meta name=robots content=nofollow>") == []
    assert links("<a href=x>", x_robots_tag="otherbot: index, minicrawl: nofollow") == []
    assert links("<a href=x>", x_robots_tag="otherbot: nofollow") == ["https://e.org/dir/x"]


def test_noindex_may_stand_in_the_page_or_in_its_headers() -> None:
    assert parse_page(b"<meta name=robots content=noindex>", URL, {}).noindex
    assert parse_page(b"", URL, {"x-robots-tag": "noindex"}).noindex
    assert not parse_page(b"", URL, {}).noindex


def test_the_agent_has_the_name_that_it_is_given() -> None:
    page = b"<meta name=mybot content=noindex>"
    assert parse_page(page, URL, {}, ParseOptions(agent="MyBot")).noindex
    assert not parse_page(page, URL, {}).noindex


# ---------------------------------------------------------------- canonical


def test_a_canonical_page_is_named_by_a_tag_before_a_header() -> None:
    header = {"link": "</header>; rel=canonical"}
    assert parse_page(b"", URL, header).canonical == "https://e.org/header"
    assert (
        parse_page(b"<link rel=canonical href=tag>", URL, header).canonical
        == "https://e.org/dir/tag"
    )


@pytest.mark.parametrize("href", ["", "page", "#x", "mailto:a@e.org"])
def test_a_page_that_is_its_own_canonical_names_none(href: str) -> None:
    assert parse_page(f"<link rel=canonical href='{href}'>".encode(), URL, {}).canonical is None


# ---------------------------------------------------------------- refresh


@pytest.mark.parametrize("delay", ["0", "1", "0.5"])
def test_a_refresh_at_once_is_a_redirect_and_no_link(delay: str) -> None:
    reading = parse_page(f"<meta http-equiv=refresh content='{delay};url=x'>".encode(), URL, {})
    assert (reading.refresh, reading.links) == ("https://e.org/dir/x", ())


def test_a_refresh_that_waits_is_a_link_and_no_redirect() -> None:
    reading = parse_page(b"<meta http-equiv=refresh content='2;url=x'><a href=y>", URL, {})
    assert reading.refresh is None
    assert reading.links == ("https://e.org/dir/x", "https://e.org/dir/y")


@pytest.mark.parametrize("content", ["0", "0;", "0;url=page", "300", "0;url=mailto:x"])
def test_a_page_that_only_reloads_leads_nowhere(content: str) -> None:
    reading = parse_page(f"<meta http-equiv=refresh content='{content}'>".encode(), URL, {})
    assert (reading.refresh, reading.links) == (None, ())


# ---------------------------------------------------------------- laws


def test_xhtml_is_read_as_xhtml_where_the_server_says_so() -> None:
    page = "<script src='s'/><a href='x'/>"
    assert links(page, content_type="application/xhtml+xml") == ["https://e.org/dir/x"]
    assert links(page) == []


def test_a_reading_can_be_sent_to_another_process() -> None:
    reading = parse_page(b"<title>T</title><a href=x>", URL, {})
    links = ("https://e.org/dir/x",)
    assert reading == ParsedPage(title="T", links=links, content=reading.content, is_thin=True)
    assert pickle.loads(pickle.dumps(reading)) == reading


MARKUP = st.sampled_from(
    [
        b"<a href=",
        b"<base href=",
        b"<meta ",
        b"<meta charset=utf-16>",
        b"'",
        b'"',
        b">",
        b"<!--",
        b"&#",
        b"//",
    ]
)
HEADERS = st.dictionaries(
    st.sampled_from(["content-type", "link", "x-robots-tag"]), st.text(max_size=20), max_size=3
)


@given(st.lists(MARKUP | st.binary(max_size=9), max_size=20).map(b"".join), HEADERS, st.booleans())
def test_whatever_the_bytes_there_is_a_reading(
    body: bytes, headers: dict[str, str], with_words: bool
) -> None:
    reading = parse_page(body, URL, headers, ParseOptions(with_words=with_words))
    urls = reading.links
    assert len(urls) == len(set(urls))
    assert len(reading.words) == (len(urls) if with_words else 0)
    assert URL not in urls
    assert all(url.startswith(("http://", "https://")) and "#" not in url for url in urls)


@pytest.mark.parametrize("with_words", [False, True])
def test_short_references_to_long_urls_do_not_swell_without_end(with_words: bool) -> None:
    base = f"http://a.example/{'x' * 1900}/"
    body = f"<base href={base}>" + "".join(f"<a href={n}>w</a>" for n in range(6000))
    reading = parse_page(
        body.encode(), "http://a.example/", {}, ParseOptions(with_words=with_words)
    )
    assert sum(map(len, reading.links)) <= MOST_CHARS
    assert len(reading.links) > 3000
    assert len(reading.words) == (len(reading.links) if with_words else 0)
    assert reading.cut == "cut at 6,291,456 characters of links"


# ---------------------------------------------------------------- the Refresh header


def test_a_refresh_header_at_once_is_a_redirect_from_the_url_of_the_page() -> None:
    headers = {"refresh": "0; url=x?gclid=1"}
    reading = parse_page(b"<base href='/b/'><meta http-equiv=refresh content='0;m'>", URL, headers)
    assert reading.refresh == "https://e.org/dir/x"
    assert reading.originals == (("https://e.org/dir/x", "https://e.org/dir/x?gclid=1"),)


def test_a_refresh_header_that_waits_is_a_link() -> None:
    reading = parse_page(b"<a href=y>", URL, {"refresh": "5;URL='x'"})
    assert reading.refresh is None
    assert reading.links == ("https://e.org/dir/y", "https://e.org/dir/x")
    reading = parse_page(b"<a href=x>", URL, {"refresh": "5;url=x"})
    assert reading.links == ("https://e.org/dir/x",)
    words = ParseOptions(with_words=True)
    assert parse_page(b"<a href=y>why", URL, {"refresh": "5;url=x"}, words).words == ("why", "")
    hidden = {"refresh": "5;url=x", "x-robots-tag": "nofollow"}
    assert parse_page(b"", URL, hidden).links == ()


@pytest.mark.parametrize("value", ["", "5", "0; url=", "no", f"0; url={URL}", "0; url=mailto:a"])
def test_a_refresh_header_that_leads_nowhere_else_is_none(value: str) -> None:
    reading = parse_page(b"", URL, {"refresh": value})
    assert (reading.refresh, reading.links) == (None, ())
