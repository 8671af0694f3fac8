import csv
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ada_url import join_url
from hypothesis import example, given, strategies as st

from minicrawl.web.urls import (
    LONGEST,
    PICTURES,
    ResolvedUrl,
    canonical,
    canonical_seed,
    host,
    origin,
    pictured,
    posted,
    posted_to,
    resolve,
    resolve_links,
    resolve_seed,
    split,
)

Vector = Callable[[str], Path]

ROOT = "https://example.com"
BASE = f"{ROOT}/docs/a.html?page=2"


def canonical_links(hrefs: Iterable[str], base: str) -> list[str]:
    return list(resolve_links(hrefs, base))


STARTS = (
    "http://",
    " hTTps:",
    "http:\\\\",
    "//",
    "\t/\n/",
    "\\/",
    "http:/\t/",
    "http:////",
    "h\nttp://",
)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("letter", ["a", "\u4e00", "\ufdfa", "%E4%B8%80", "a\u0323\u0300", "@"])
def test_a_host_that_is_too_long_names_no_page_however_it_is_written(
    start: str, letter: str
) -> None:
    assert canonical(f"{start}{letter * 321}.example/", BASE) is None


def test_a_path_and_a_query_may_be_longer_than_a_host() -> None:
    for href in ("/" + "a" * 999, "b/" + "a" * 999, "?http://" + "a" * 999, "../" + "a" * 999):
        assert canonical(href, BASE) == join_url(BASE, href)


def test_without_a_base_only_an_absolute_url_names_a_page() -> None:
    assert canonical("https://example.com") == "https://example.com/"
    assert canonical("a.html") is canonical("#top") is None
    assert canonical("https://example.com/", "nowhere") is None
    assert canonical_links(["https://example.com/"], "nowhere") == []


def test_a_base_of_another_scheme_yields_absolute_links_only() -> None:
    hrefs = ["/a", "a", "?a", "https://example.com/a", "https://example.com:8443/b"]
    expected = ["https://example.com/a", "https://example.com:8443/b"]
    assert canonical_links(hrefs, "ftp://example.com/") == expected


@pytest.mark.parametrize(
    ("href", "url"),
    [
        ("https://example.com/a#b", "https://example.com/a"),
        ("https://example.com/a#", "https://example.com/a"),
        ("https://example.com/a #b", "https://example.com/a%20"),
        ("https://me:secret@example.com/a", "https://example.com/a"),
        ("https://example.com/@me", "https://example.com/@me"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://a;jsessionid=1/b;c", "http://a;jsessionid=1/b;c"),  # a host, and no session
    ],
)
def test_fragment_credentials_and_default_port_are_removed(href: str, url: str) -> None:
    assert canonical(href) == url
    assert canonical_links([href], BASE) == [url]


def test_the_length_of_a_url_is_limited() -> None:
    longest = "https://example.com/".ljust(LONGEST, "a")
    assert canonical(longest) == longest
    assert canonical(longest + "a") is None
    assert canonical_links([longest, longest + "a"], BASE) == [longest]


@pytest.mark.parametrize(
    ("rest", "kept"),
    [
        ("?utm_source=a&utm_medium=b", ""),
        ("?id=1&UTM_Source=a&page=2", "?id=1&page=2"),
        ("?gclid=1&id=1", "?id=1"),
        ("?id=1&fbclid=", "?id=1"),
        ("?gad_source=1&gad_campaignid=2&igsh=3&id=1&_openstat=4", "?id=1"),
        ("?mtm_campaign=a&pk_kwd=b&__hstc=c&__s=d&ml_subscriber_hash=e", ""),
        ("?PHPSESSID=cdc993a493e899be&f=2", "?f=2"),
        ("?osCsid=cdc993a493e899be&zenid=1&f=2", "?f=2"),
        ("?ASPSESSIONIDQQABCDEF=X&f=2", "?f=2"),
        ("?CFID=12&CFTOKEN=34", ""),
        ("?topic=3&sid=0123456789abcdef0123456789abcdef", "?topic=3"),
        ("?a=1&b=2;jsessionid=1E6F", "?a=1&b=2"),
        ("?jsessionid=1E6F;a=1", "?a=1"),
        ("?utm_id=1&", ""),
        ("?&utm_id=1&&", "?&&"),
        (";jsessionid=1E6F", ""),
        (";JSESSIONID=1E6F!2?a=1", "?a=1"),
        (";jsessionid=1;jsessionid=2/b;v=1", "/b;v=1"),
        (";jsessionid=1.;jsessionid=2/b", "/b"),
        # parameters that may name another page stay
        *(
            (rest, rest)
            for rest in (
                *("?", "?&", "?b=2&a=1&a=1", "?gclid", "?utm_source", "?sid=12"),
                *("?sid=0123456789abcdef0123456789abcdef0", "?cfid=12", "?my_utm_source=1"),
                *("?pk_id=1&mtm_=2&igshop=3&_s=4", "?session=1&id=2", "?tl;dr", "?a?utm_id=1"),
                *("?to=https://me@example.org/", "//a//index.html", ";v=1", "/;jsessionid=1"),
                *("/..;jsessionid=1/b", "/%2e;jsessionid=1/b"),
            )
        ),
    ],
)
def test_tracking_parameters_and_sessions_are_removed(rest: str, kept: str) -> None:
    assert canonical(f"https://example.com/x{rest}") == f"https://example.com/x{kept}"


def test_links_are_unique_and_in_the_order_of_the_page() -> None:
    hrefs = ["b#1", "/a", "b#2", "mailto:x", "./b", "/docs/b?utm_id=3", "#", f"{ROOT}/a"]
    assert canonical_links(hrefs, BASE) == [f"{ROOT}/docs/b", f"{ROOT}/a", BASE]


@pytest.mark.parametrize(
    ("href", "original"),
    [
        ("b?utm_id=3#part", "https://example.com/docs/b?utm_id=3"),
        ("/b;jsessionid=1E6F", "https://example.com/b;jsessionid=1E6F"),
        ("https://me:secret@EXAMPLE.com/?gclid=1", "https://example.com/?gclid=1"),
        ("b?id=3#part", None),
        ("b", None),
        ("https://me:secret@example.com/b", None),
    ],
)
def test_the_original_of_a_changed_url_is_kept(href: str, original: str | None) -> None:
    url = canonical(href, BASE)
    assert url
    assert resolve(href, BASE) == ResolvedUrl(url, original)
    assert resolve_links([href], BASE) == {url: original}


def test_the_first_form_of_a_url_is_its_original() -> None:
    hrefs = ["/b?gclid=1", "/b", "/b?gclid=2", "/c", "/c?gclid=1"]
    assert resolve_links(hrefs, BASE) == {f"{ROOT}/b": f"{ROOT}/b?gclid=1", f"{ROOT}/c": None}


def test_strip_marks_false_keeps_tracking_parameters() -> None:
    marked = "https://example.com/a;jsessionid=1?utm_id=2"
    assert canonical(marked, strip_marks=False) == marked
    assert resolve(marked, strip_marks=False) == ResolvedUrl(marked, None)
    assert resolve_links([marked], BASE, strip_marks=False) == {marked: None}
    assert canonical_seed("example.com?utm_id=2", strip_marks=False) == f"{ROOT}/?utm_id=2"


def test_a_seed_has_an_original_too() -> None:
    found = ResolvedUrl("https://example.com/", "https://example.com/?utm_id=2")
    assert resolve_seed("example.com?utm_id=2") == found


@pytest.mark.parametrize(
    ("url", "its_origin", "its_host", "rest"),
    [
        ("https://example.com/", "https://example.com", "example.com", "/"),
        ("http://h/a:b?c=//d", "http://h", "h", "/a:b?c=//d"),
        ("https://example.com:8443/a/b", "https://example.com:8443", "example.com", "/a/b"),
        ("http://[::1]/", "http://[::1]", "[::1]", "/"),
        ("http://[::1]:8080/", "http://[::1]:8080", "[::1]", "/"),
    ],
)
def test_the_parts_of_a_url(url: str, its_origin: str, its_host: str, rest: str) -> None:
    assert origin(url) == its_origin
    assert host(url) == its_host
    assert split(url) == (its_origin, rest)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTP://example.com/a b ", "http://example.com/a%20b"),
        ("https://intranet/", "https://intranet/"),
        ("example.com", "https://example.com/"),
        (" example.com:8443/path?q#f\n", "https://example.com:8443/path?q"),
        ("example.com?q=a@b", "https://example.com/?q=a@b"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("пример.рф", "https://xn--e1afmkfd.xn--p1ai/"),
        ("localhost:8000", "http://localhost:8000/"),
        ("app.LOCALHOST", "http://app.localhost/"),
        ("127.0.0.1:8000/x", "http://127.0.0.1:8000/x"),
        ("[::1]:8000", "http://[::1]:8000/"),
        *(
            (malformed, None)
            for malformed in (
                *("", "# a comment", "not a url", "word", "word:8000", "ftp://example.com"),
                *("mailto:a@example.com", "a@example.com", "tel:12345", "/path/to.html"),
                *("//example.com/", "1.5", "300.1.1.1", "..", "https:", "example.com:99999"),
                "example.com a",
            )
        ),
    ],
)
def test_a_seed_may_leave_out_its_scheme(text: str, url: str | None) -> None:
    found = resolve_seed(text)
    assert canonical_seed(text) == (found and found.url) == url


# Pieces that are hard for parsers, small enough to be combined.
PIECES = """
    a b.html c1 xn-- com 0x7f 1 : :80 :443 / // /. /.. . .. %2e %2E. %2f % %zz ? # & = ; @
    utm_id=1 utm_id sid=0123456789abcdef0123456789abcdef cfid=1 cftoken=2 phpsessid=3
    ;jsessionid=1 ;jsess ionid= http:// HTTPS:// https://example.com example.org/ http: file:
    \\ ' ^ | [ ] [::1] { ` < ~ ! $ ( ) * + , _ - ü ß \u3002 \u00ad \u200d \ud800
"""
REFERENCES = st.lists(st.sampled_from([*PIECES.split(), " ", "\t", "\n", "\0"]), max_size=9).map(
    "".join
)
BASES = st.sampled_from(
    [
        *(BASE, "http://example.com", "http://u:p@h:81/d;jsessionid=1/..;x/e?f/g#h"),
        *("http://[::1]/%2e%2E/a//b/", "ftp://h/a/", "file:///a/b", "data:text/html,a"),
        "about:blank",
    ]
)


@given(REFERENCES, BASES)
@example("http://x/.;jsessionid=1", BASE)
@example("http://x/?cfid=1&utm_id=1&cftoken=2", BASE)
@example("http://x/?cfid=1&cfid=2&cftoken=3", BASE)
@example("http://x/?utm_utm_id=1id=2", BASE)
def test_canonical_is_idempotent(href: str, base: str) -> None:
    url = canonical(href, base)
    assert url is None or canonical(url) == canonical(url, base) == url


@given(REFERENCES, BASES)
def test_the_canonical_url_of_an_original_is_its_url(href: str, base: str) -> None:
    found = resolve(href, base)
    if found and found.original:
        assert found.original != found.url == canonical(found.original)


@given(st.lists(REFERENCES, max_size=5), BASES)
@example([f"http://{'a' * 300}.org/"], BASE)
@example([f"http://{'a' * 316}.org/"], BASE)
@example([f"http://{'a' * 317}.org/"], BASE)
@example([f"http://{'a' * 500}.org/"], BASE)
def test_resolve_links_agrees_with_canonical(hrefs: list[str], base: str) -> None:
    one_by_one = dict.fromkeys(canonical(href, base) for href in hrefs)
    assert canonical_links(hrefs, base) == [url for url in one_by_one if url]


PLAIN_PIECES = """
    a Z 0 0x7f com xn-- _ - . .. / // ../ ../../ %2e %2E %20 ? ?b=c & = ; @ : ! $ ( ) * + , ~
    http://example.org https://example.org/ http://a.b http://1.2
"""


@given(st.lists(st.sampled_from(PLAIN_PIECES.split()), max_size=8).map("".join), BASES)
def test_the_fast_path_agrees_with_the_parser(href: str, base: str) -> None:
    try:
        expected = page_names(join_url(base, href))
    except ValueError:
        expected = []
    assert canonical_links([href], base) == expected


def page_names(url: str) -> list[str]:
    name = canonical(url)
    return [name] if name else []


def vectors(path: Path) -> Any:
    """Return the cases of a file, without its comments."""
    cases = json.loads(path.read_text(encoding="utf-8"))
    return [it for it in cases if not isinstance(it, str)] if isinstance(cases, list) else cases


def bare(url: str) -> str:
    scheme, slashes, rest = url.partition("#")[0].partition("//")
    authority, slash, path = rest.partition("/")
    return scheme + slashes + authority.rpartition("@")[2] + slash + path


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("wpt_urltestdata.json", 669),
        ("wpt_ada_extra_urltestdata.json", 19),
        ("wpt_ada_long_urltestdata.json", 1),
    ],
)
def test_urls_are_parsed_as_in_browsers(shared_vector: Vector, name: str, least: int) -> None:
    cases = vectors(shared_vector(name))
    assert len(cases) >= least
    for case in cases:
        href = case.get("href", "")
        is_page = href.startswith(("http://", "https://")) and len(href) <= LONGEST
        expected = bare(href) if is_page else None
        base = case.get("base") or "about:blank"
        assert canonical(case["input"], base) == expected, case
        assert canonical_links([case["input"]], base) == ([expected] if expected else []), case


@pytest.mark.parametrize(
    ("name", "least"), [("wpt_toascii.json", 66), ("wpt_IdnaTestV2.json", 2012)]
)
def test_international_names_are_encoded_as_in_browsers(
    shared_vector: Vector, name: str, least: int
) -> None:
    cases = vectors(shared_vector(name))
    assert len(cases) >= least
    for case in cases:
        url = canonical(f"http://{case['input']}/")
        assert url == (f"http://{case['output']}/" if case["output"] else None), case


def test_queries_are_percent_encoded_as_in_browsers(shared_vector: Vector) -> None:
    for case in vectors(shared_vector("wpt_percent-encoding.json")):
        url = canonical(f"https://example.com/?{case['input']}")
        assert url == f"https://example.com/?{case['output']['utf-8']}", case


def test_dots_and_odd_addresses_are_read_as_in_browsers(shared_vector: Vector) -> None:
    folder = shared_vector("urlcanon")
    for path, expected in vectors(folder / "path_dots.json")["special"].items():
        if "\\" not in path:  # urlcanon does not read backslashes as slashes, browsers do
            assert canonical(f"http://example.com{path}") == f"http://example.com{expected}"
    for name, address in vectors(folder / "funky_ipv4.json").items():
        if name != "0000xa":  # a number for urlcanon, a name for browsers
            assert canonical(f"http://{name}/") == (address and f"http://{address}/"), name


def test_references_are_resolved_as_by_crawler_commons(shared_vector: Vector) -> None:
    lines = shared_vector("cc_url-resolve.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.reader(rows(lines), skipinitialspace=True):
        href, base, expected = row
        assert canonical_links([href], base or BASE) == page_names(expected), row


def test_sessions_are_removed_as_by_nutch(shared_vector: Vector) -> None:
    """Parameters whose names may mean something else are kept on purpose."""
    lines = shared_vector("nutch_regex-normalize-default.test").read_text(encoding="utf-8")
    doubtful = ("_sessionid=", "bv_sessionid=", "sid=xyz")
    for row in rows(lines.splitlines()):
        href, expected = row.split()
        if "sess" in href.lower() or "sid=" in href.lower():
            kept = any(name in href.lower() for name in doubtful)
            assert canonical(href) == (href if kept else expected), row


def rows(lines: list[str]) -> Iterator[str]:
    return (line for line in lines if line and not line.startswith("#"))


def test_the_name_of_a_picture_has_the_url_of_its_page() -> None:
    url = "http://a.example/b?c"
    assert {pictured(f"{beginning}{url}") for beginning in ("", *PICTURES)} == {url}


def test_the_url_of_a_post_is_canonical_and_reversible() -> None:
    search = "http://a.example/search"
    for url in (search, f"{search}?a=1", "http://a.example/?", f"{search}?__wb_method=POST"):
        named = posted(url, b"q=sea")
        assert canonical(named) == named
        assert posted_to(named) == url
        assert posted_to(url) == url
    assert posted(search, b"q=sea") != posted(search, b"q=ink")
