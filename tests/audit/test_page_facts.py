"""Facts of single pages, from usual and from hostile markup."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from minicrawl.audit.facts import page_facts
from minicrawl.audit.facts.page_facts import BIT, FLAGS, LAYOUT, UrlReference, facts_of
from minicrawl.audit.url_columns import plain_form
from minicrawl.web.languages import is_known_language
from tests.linear_time import expect_linear_reading

URL = "https://a.example/page"


def number(markup: str, name: str, **headers: str) -> int:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    (found,) = np.frombuffer(facts_of(markup, URL, named, len(markup))[0], LAYOUT)
    return int(found[name])


def flags(markup: str, **headers: str) -> set[str]:
    found = number(markup, "flags", **headers)
    return {name for name in FLAGS if found & BIT[name]}


def test_another_heading_is_one_row() -> None:
    row = 'Fact("h1", _Kind.HEADING),'
    rows = row + row.replace("h1", "h6")
    changed = ModuleType("page_facts_with_h6")
    exec(Path(page_facts.__file__).read_text().replace(row, rows), changed.__dict__)
    markup = "<h1>one</h1><h6></h6><h6>two <img alt=three></h6>"
    (found,) = np.frombuffer(changed.facts_of(markup, URL, {}, 0)[0], changed.LAYOUT)
    assert [int(found[name]) for name in ("h1_chars", "h1s", "h6_chars", "h6s")] == [3, 1, 9, 2]
    assert found["h6"] == page_facts.text_hash("two three")


@pytest.mark.parametrize(
    ("markup", "name", "expected"),
    [
        ("<title>a &amp; b</title>", "title_chars", 5),
        ("<svg><title>drawing</title></svg><title>a</title>", "titles", 1),
        ("<!-- <title>a</title> --><TITLE>b</TITLE>", "titles", 1),
        ("<script>'<img src=x><h1>'</script>", "without_alt", 0),
        ("<h1>one <img alt=two> three</h1>", "h1_chars", len("one two three")),
        ("<h1>never closed", "h1_chars", len("never closed")),
        ("<h1></h1><h1>a</h1>", "h1s", 2),
        ("<h1>a</h1>" * 300, "h1s", 255),
        ("<h1>a</h1><h2>b</h2><h3>c</h3><h2>d</h2>", "skipped_headings", 0),
        ("<h1>a</h1><h3>b</h3>", "skipped_headings", 1),
        ("<h3>first</h3><h4>b</h4>", "skipped_headings", 0),
        ("<img><img alt><img role=presentation><img aria-hidden=true>", "without_alt", 1),
        ("<noscript><img></noscript><template><img></template>", "without_alt", 0),
        ("<img src='http://b.example/a'><script src=http://b.example/b></script>", "mixed", 2),
        ("<link rel=stylesheet href=http://b.example/c>", "mixed", 1),
        ("<img src=/a srcset='/b 1x, http://b.example/c 2x'>", "mixed", 1),
        ("<object data=http://b.example/a></object><video poster=http://b.example/>", "mixed", 2),
        ("<a href=http://b.example/>no part of the page</a>", "mixed", 0),
        ("<p style='background: url( \"http://b.example/a\")'>", "mixed", 1),
        ("<style>@import 'http://b.example/a'; p{src:url(http://b.example/b)}</style>", "mixed", 2),
        ("<!-- <p style='src:url(http://b.example/a)'> --><p style='top:0'>", "mixed", 0),
        ("<a rel=nofollow href=/in><a rel=nofollow href=//b.example/out>", "nofollow_links", 1),
        ("<a href=/about-nofollow>", "nofollow_links", 0),
        ("<p>one two</p><style>three</style>", "words", 2),
        ("<meta name=description content=' a  b '>", "description_chars", 3),
        ("<p>" * 100_000, "size", 300_000),
    ],
)
def test_numbers_are_counted(markup: str, name: str, expected: int) -> None:
    assert number(markup, name) == expected


@pytest.mark.parametrize(
    ("markup", "flag", "expected"),
    [
        ("<script type=application/ld+json>{}</script>", "bad_json", False),
        ("<script type=application/ld+json>{,}</script>", "bad_json", True),
        (f"<script type=application/ld+json>{'[' * 150_000}</script>", "bad_json", True),
        (f"<script type=application/ld+json>{'[' * 300_000}</script>", "bad_json", False),
        ("<meta name=robots content=noindex>", "noindex_meta", True),
        ("<meta name=robots content=nofollow>", "nofollow", True),
        ("<meta name=Googlebot content=noindex>", "noindex_meta", True),
        ("<meta name=otherbot content=noindex>", "noindex_meta", False),
        ("<meta charset=utf-8>", "charset", True),
        ("<meta http-equiv=refresh content='5; url=/b'>", "refresh", True),
        ("<meta http-equiv=refresh content=5>", "refresh", False),
        ("<meta http-equiv=Content-Security-Policy content=x>", "csp", True),
        ("<form action=http://a.example/send>", "insecure_form", True),
        ("<button formaction=http://a.example/send>", "insecure_form", True),
        ("<input formaction=/send value=http://a.example/>", "insecure_form", False),
        (" <!-- x --> <!DOCTYPE html>", "doctype", True),
        ("<html lang=''>", "html_lang", False),
        ("<p>Lorem  Ipsum\ndolor sit", "filler", True),
        ("<pre>'Lorem ipsum dolor sit'</pre>", "filler", False),
        ("<link rel=alternate hreflang=en href=/page>", "no_self_hreflang", False),
        ("<link rel=alternate hreflang=en href=/b>", "no_self_hreflang", True),
        ("<link rel=alternate hreflang=en_US href=/page>", "unknown_hreflang", True),
    ],
)
def test_flags_are_set(markup: str, flag: str, expected: bool) -> None:
    assert (flag in flags(markup)) is expected


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("x_robots_tag", "noindex", {"noindex_header"}),
        ("x_robots_tag", "googlebot: noindex", {"noindex_header"}),
        ("x_robots_tag", "otherbot: none", set()),
        ("x_robots_tag", "all", set()),
        ("content_encoding", "br", {"compressed"}),
        ("etag", '"1"', {"cached"}),
        ("strict_transport_security", "max-age=1", {"hsts"}),
        ("content_security_policy", "default-src 'self'", {"csp"}),
        ("content_type", "text/html; charset=utf-8", {"charset"}),
        ("refresh", "5; URL=/b", {"refresh"}),
        ("refresh", "5", set()),
    ],
)
def test_headers_set_flags(name: str, value: str, expected: set[str]) -> None:
    assert flags("", **{name: value}) - {"is_https"} == expected


def test_references_to_other_pages_are_resolved() -> None:
    markup = (
        "<link rel=canonical href=/page><link rel=next href=?p=2><link rel=prev href='http://['>"
        "<link rel=alternate hreflang=de href=/de>"
    )
    _, found = facts_of(markup, URL, {"link": "</b>; rel=canonical"}, 0)
    assert found == (
        UrlReference("canonical", "https://a.example/b"),
        UrlReference("next", f"{URL}?p=2"),
        UrlReference("alternate", "https://a.example/de"),
    )
    markup = "<a href='/shop?jsessionid=0123456789abcdef&page=2'><a href='/shop?page=2'>"
    _, (session,) = facts_of(markup, URL, {}, 0)
    assert session == UrlReference("session", "https://a.example/shop?page=2")
    markup = "<base href=/shop/><base href=/other/><link rel=canonical href=lamp>"
    _, (based,) = facts_of(markup, URL, {}, 0)
    assert based.url == "https://a.example/shop/lamp"
    _, (cyrillic,) = facts_of("<link rel=next href='?q=да'>", URL, {}, 0, "windows-1251")
    assert cyrillic.url == f"{URL}?q=%E4%E0"


@pytest.mark.parametrize(
    "again",
    [
        *("<!---->", "<!-- x --> ", "<h1>", "<h1>a</h1>", "<a rel=nofollow "),
        *("<a href=x>", "<form>", "<label>", "<input id=a>", "<pre>", "<p id", "<meta charset "),
        *("<a href=mailto:a,", "warning: a in ", "<title>index of ", "<script type=ld+json>{"),
    ],
)
def test_any_markup_is_read_in_linear_time(again: str) -> None:
    expect_linear_reading(lambda markup: facts_of(markup, URL, {}, 0), again, 50_000)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        *((code, True) for code in ("en", "de-AT", "zh-Hant", "zh-hant-tw", "x-default")),
        *((code, False) for code in ("en-UK", "jp", "", "en-GB-oed", "english", "de-at-x")),
    ],
)
def test_known_language_codes_are_recognised(code: str, expected: bool) -> None:
    assert is_known_language(code) is expected


def test_a_page_on_http_has_no_mixed_content() -> None:
    markup = "<script src=http://b.example/s></script><iframe src=http://b.example/f></iframe>"
    found, _ = facts_of(markup, "http://a.example/", {}, 0)
    assert np.frombuffer(found, LAYOUT)[0]["mixed"] == 0
    assert number(markup, "mixed") == 2
    assert facts_of("<link rel=next href='http://['>", URL, {}, 0)[1] == ()


ENGLISH = "The cat is in the house, and it is not for you to say that this is so. " * 4
GERMAN = "Die Katze ist in dem Haus, und das ist nicht von uns, sondern auch für den Hund. " * 4
CODE = "".join(f"<p>{word}</p>" for word in ["Haus", "Baum", "Bier"] * 20)


@pytest.mark.parametrize(
    ("lang", "text", "expected"),
    [
        *(("de", ENGLISH, 1), ("en-GB", GERMAN, 1), ("de-AT", GERMAN, 0), ("EN", ENGLISH, 0)),
        *(("", ENGLISH, 0), ("gl", ENGLISH, 0), ("de", ENGLISH[:70], 0), ("en", CODE, 0)),
        *(("de", f"{GERMAN}<p>{ENGLISH}", 0), ("de", f"{CODE}<pre>{ENGLISH * 3}</pre>", 0)),
    ],
)
def test_the_language_of_a_text_is_compared_with_the_declared_one(
    lang: str, text: str, expected: int
) -> None:
    assert number(f"<html lang='{lang}'><p>{text}", "other_language") == expected


ERRORS = (
    "Notice: Undefined index: a in /srv/a.php on line 3",
    "Traceback (most recent call last):",
    "You have an error in your SQL syntax",
    "SQLSTATE[42S02]: not found",
    "ORA-00942: table",
    "Unclosed quotation mark after the character string",
    "Server Error in '/' Application.",
    "ActionView::Template::Error",
    "at org.example.Main(Main.java:3)",
    "Uncaught PDOException",
)
DATA = "<script type='application/ld+json'>%s</script>"


@pytest.mark.parametrize(
    ("markup", "name", "expected"),
    [
        ("<a href='http://[::1]/'>a</a>", "bad_links", 0),
        ("<a href='http://'>a</a><a href='http//a.b'>a</a><a href='https:a'>a</a>", "bad_links", 3),
        ("<a href='httpd.html'>a</a><a href=www.html>a</a>", "bad_links", 0),
        ("<a href='mailto:'>a</a><a href='tel:'>b</a>", "bad_contacts", 2),
        ("<a href='tel:+49 30 (1)2-3;ext=4'>a</a>", "bad_contacts", 0),
        ("<a href='mailto:me&#37;40a.example'>a</a>", "bad_contacts", 0),
        ("<p id=a><p id=a><p id=a><p id=b><p id=''><p id=''>", "repeated_ids", 1),
        ("<a href=b><a href=c>c</a>", "nameless", 0),
        ("<a name=x></a><button></button>", "nameless", 1),
        ("<a href='?utm_source=a'>a</a><a href='/?mc_cid='>b</a>", "campaign_links", 2),
        ("<a href='/the-utm_term'>a</a>", "campaign_links", 0),
        ("<label>a</label><input><label>b <input></label><label for=c></label>", "unlabelled", 1),
        ("<label for=c>a</label><textarea id=c></textarea><textarea></textarea>", "unlabelled", 1),
        (DATA % "{" + DATA % ("[" * 100_000) + DATA % f'"{"x" * 200_000}"', "data_gaps", 0),
        (DATA % '[{"@type": ["Thing", "Event"], "name": "a"}, 1]', "data_gaps", 1),
        (DATA % '{"@graph": [{"@type": "FAQPage", "mainEntity": [1]}]}', "data_gaps", 0),
        ("<a href='javascript:a()'>a</a><a onclick=b()>b</a><a>c</a>", "script_links", 2),
        ("<a href=/b>here</a><a href=/b title=Terms>here</a>", "vague_links", 1),
        ("<iframe src=a></iframe><iframe src=a title=A></iframe>", "untitled_frames", 1),
        ("<iframe src=a hidden></iframe>", "untitled_frames", 0),
        ("<img src=a><img src=a width=1>", "unsized", 1),
        ("<meta name=viewport content='maximum-scale=1.0'>", "zoom_off", 1),
        *((f"<p>{error}", "error_texts", 1) for error in ERRORS),
        *((f"<pre>{error}</pre>", "error_texts", 0) for error in ERRORS),
        ("<meta charset=latin1>", "charset_conflict", 0),
        ("<meta charset=x-mine>", "charset_conflict", 1),
    ],
)
def test_faults_are_told_from_what_looks_like_them(markup: str, name: str, expected: int) -> None:
    headers = {"content_type": "text/html; charset=windows-1252"}
    assert number(markup, name, **headers) == expected


def test_a_password_on_http_and_cookies_there_need_no_secure() -> None:
    markup = "<form method=post><input type=password aria-label=a></form>"
    headers = {"set-cookie": "a=1; HttpOnly; SameSite=Lax\nb=2"}
    found = np.frombuffer(facts_of(markup, "http://a.example/", headers, 0)[0], LAYOUT)[0]
    assert (found["open_password"], found["weak_cookies"]) == (1, 1)


@pytest.mark.parametrize(
    ("url", "other", "expected"),
    [
        ("https://www.a.example/b", "https://a.example/b", True),
        ("https://a.example:8443/b", "http://a.example/b/", True),
        ("https://a.example/B/index.html", "https://a.example/b", True),
        ("https://a.example/b?c=1", "https://a.example/b?c=2", False),
        ("https://a.example/b?C", "https://a.example/b?c", False),
        ("https://blog.a.example/b", "https://a.example/b", False),
        ("https://a.example/index.html/b", "https://a.example/b", False),
    ],
)
def test_twins_differ_by_www_port_case_slash_or_index_file(
    url: str, other: str, expected: bool
) -> None:
    assert (plain_form(url) == plain_form(other)) is expected
