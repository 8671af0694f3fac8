import pickle

import pytest

from minicrawl.model import ParsedPage
from minicrawl.web.html_page import ParseOptions, parse_page
from minicrawl.web.urls import MOST_CHARS

URL = "https://e.org/dir/page"


def links(page: str, **headers: str) -> list[str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return list(parse_page(page.encode(), URL, named).links)


# ---------------------------------------------------------------- links


def test_the_base_element_counts_for_links_before_it_too() -> None:
    assert links("<a href=x><base href=/other/>") == ["https://e.org/other/x"]


@pytest.mark.parametrize("base", ["", "about:blank", "javascript:0", "http://["])
def test_a_base_that_is_no_web_url_is_ignored(base: str) -> None:
    assert links(f"<base href='{base}'><a href=x>") == ["https://e.org/dir/x"]


def test_a_page_does_not_link_to_itself() -> None:
    assert links("<a href=#top><a href=page><a href=''><a href=/dir/page#x>") == []


def test_links_are_decoded_in_the_encoding_of_the_page() -> None:
    reading = parse_page(b"<a href=/\xe9>", URL, {"content-type": "text/html; charset=latin1"})
    assert reading.links == ("https://e.org/%C3%A9",)
    assert reading.encoding == "windows-1252"


def test_words_belong_to_the_first_link_to_a_target() -> None:
    page = (
        b"<a href=/a#1>one</a><a href=/a#2>two</a><a href=mailto:x>three</a><a href=page>four</a>"
    )
    reading = parse_page(page, URL, {}, ParseOptions(with_words=True))
    assert (reading.links, reading.words) == (("https://e.org/a",), ("one two three four",))


def test_the_number_of_links_is_limited() -> None:
    page = "".join(f"<a href={number}>" for number in range(9)).encode()
    for limit, cut in ((5, "cut at 5 links"), (9, "")):
        reading = parse_page(page, URL, {}, ParseOptions(max_links=limit))
        assert (len(reading.links), reading.cut) == (limit, cut)


@pytest.mark.parametrize("with_words", [False, True])
def test_the_original_of_a_url_without_its_tracking_parameters_is_kept(with_words: bool) -> None:
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
def test_strip_marks_false_keeps_tracking_parameters(with_words: bool) -> None:
    page = b"<link rel=canonical href='/c?gclid=1'><a href='/a?utm_id=3'><a href='/a'>"
    reading = parse_page(page, URL, {}, ParseOptions(with_words=with_words, strip_marks=False))
    assert reading.links == ("https://e.org/a?utm_id=3", "https://e.org/a")
    assert (reading.canonical, reading.originals) == ("https://e.org/c?gclid=1", ())


# ---------------------------------------------------------------- content


def test_pages_have_the_same_content_only_if_all_their_bytes_are_the_same() -> None:
    one, same, other = (parse_page(body, URL, {}) for body in (b"<p>1", b"<p>1", b"<p>2"))
    assert one.content == same.content != other.content


def test_the_hash_of_content_stays_that_of_existing_stores() -> None:
    assert parse_page(b"", URL, {}).content == -0x4B4D_868B_A85F_591C


# ---------------------------------------------------------------- robots


def test_nofollow_removes_all_links() -> None:
    assert links("<a href=x><meta name=robots content=nofollow>") == []
    assert links("<a href=x>", x_robots_tag="otherbot: index, minicrawl: nofollow") == []
    assert links("<a href=x>", x_robots_tag="otherbot: nofollow") == ["https://e.org/dir/x"]


def test_noindex_counts_in_the_page_and_in_its_headers() -> None:
    assert parse_page(b"<meta name=robots content=noindex>", URL, {}).noindex
    assert parse_page(b"", URL, {"x-robots-tag": "noindex"}).noindex
    assert not parse_page(b"", URL, {}).noindex


def test_the_agent_of_robots_metas_is_configurable() -> None:
    page = b"<meta name=mybot content=noindex>"
    assert parse_page(page, URL, {}, ParseOptions(agent="MyBot")).noindex
    assert not parse_page(page, URL, {}).noindex


# ---------------------------------------------------------------- canonical


def test_a_canonical_tag_overrides_the_link_header() -> None:
    header, tag = {"link": "</header>; rel=canonical"}, b"<link rel=canonical href=tag>"
    assert parse_page(b"", URL, header).canonical == "https://e.org/header"
    assert parse_page(tag, URL, header).canonical == "https://e.org/dir/tag"


@pytest.mark.parametrize("href", ["", "page", "#x", "mailto:a@e.org"])
def test_a_page_that_is_its_own_canonical_names_none(href: str) -> None:
    assert parse_page(f"<link rel=canonical href='{href}'>".encode(), URL, {}).canonical is None


# ---------------------------------------------------------------- refresh


@pytest.mark.parametrize("delay", ["0", "1", "0.5"])
def test_an_immediate_refresh_is_a_redirect(delay: str) -> None:
    reading = parse_page(f"<meta http-equiv=refresh content='{delay};url=x'>".encode(), URL, {})
    assert (reading.refresh, reading.links) == ("https://e.org/dir/x", ())


def test_a_delayed_refresh_is_a_link() -> None:
    reading = parse_page(b"<meta http-equiv=refresh content='2;url=x'><a href=y>", URL, {})
    assert reading.refresh is None
    assert reading.links == ("https://e.org/dir/x", "https://e.org/dir/y")


@pytest.mark.parametrize("content", ["0", "0;", "0;url=page", "300", "0;url=mailto:x"])
def test_a_page_that_only_reloads_leads_nowhere(content: str) -> None:
    reading = parse_page(f"<meta http-equiv=refresh content='{content}'>".encode(), URL, {})
    assert (reading.refresh, reading.links) == (None, ())


# ---------------------------------------------------------------- laws


def test_xhtml_is_read_as_xhtml_only_if_the_header_says_so() -> None:
    page = "<script src='s'/><a href='x'/>"
    assert links(page, content_type="application/xhtml+xml") == ["https://e.org/dir/x"]
    assert links(page) == []


def test_a_reading_can_be_sent_to_another_process() -> None:
    reading = parse_page(b"<title>T</title><a href=x>", URL, {})
    links = ("https://e.org/dir/x",)
    assert reading == ParsedPage(title="T", links=links, content=reading.content, is_thin=True)
    assert pickle.loads(pickle.dumps(reading)) == reading


@pytest.mark.parametrize("with_words", [False, True])
def test_the_characters_of_all_links_together_are_limited(with_words: bool) -> None:
    base = f"http://a.example/{'x' * 1900}/"
    body = f"<base href={base}>" + "".join(f"<a href={n}>w</a>" for n in range(6000))
    options = ParseOptions(with_words=with_words)
    reading = parse_page(body.encode(), "http://a.example/", {}, options)
    assert sum(map(len, reading.links)) <= MOST_CHARS
    assert len(reading.links) > 3000
    assert len(reading.words) == (len(reading.links) if with_words else 0)
    assert f"{MOST_CHARS:,} characters" in reading.cut


# ---------------------------------------------------------------- the Refresh header


def test_an_immediate_refresh_header_is_resolved_against_the_url_of_the_page() -> None:
    headers = {"refresh": "0; url=x?gclid=1"}
    reading = parse_page(b"<base href='/b/'><meta http-equiv=refresh content='0;m'>", URL, headers)
    assert reading.refresh == "https://e.org/dir/x"
    assert reading.originals == (("https://e.org/dir/x", "https://e.org/dir/x?gclid=1"),)


def test_a_delayed_refresh_header_is_a_link() -> None:
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
def test_a_refresh_header_to_the_page_itself_or_to_no_page_is_ignored(value: str) -> None:
    reading = parse_page(b"", URL, {"refresh": value})
    assert (reading.refresh, reading.links) == (None, ())
