"""What a Set-Cookie header makes, by RFC 6265 and what browsers do since."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.web.cookie_jar import LONGEST_LIFE_S, Cookie, parse_cookie
from tests.linear_time import expect_linear

NOW = 1_000_000.0


def cookie(line: str, url: str = "https://www.a.example/b/c") -> Cookie | None:
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    return parse_cookie(line, scheme, host, f"/{path}", NOW)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a=b", Cookie("a", "b", "www.a.example", "/b")),
        (" a = b=c ; x", Cookie("a", "b=c", "www.a.example", "/b")),
        ("a=", Cookie("a", "", "www.a.example", "/b")),
        (
            "a=b; Domain=.A.example; Path=/; Secure; HttpOnly; Max-Age=10",
            Cookie("a", "b", "a.example", "/", NOW + 10, True, False, True),
        ),
        ("a=b; path=x; domain=", Cookie("a", "b", "www.a.example", "/b")),
        (
            "a=b; Domain=www.a.example; Path=/",
            Cookie("a", "b", "www.a.example", "/", is_host_only=False),
        ),
        (
            "a=b; Expires=Thu, 15-Jan-1970 00:00:00 GMT; Path=/",
            Cookie("a", "b", "www.a.example", "/", 1_209_600.0),
        ),
        ("a=b; Expires=no date; Path=/", Cookie("a", "b", "www.a.example", "/")),
        ("a=b; Max-Age=-1; Path=/", Cookie("a", "b", "www.a.example", "/", 0.0)),
        (
            "a=b; Max-Age=999999999999; Path=/",
            Cookie("a", "b", "www.a.example", "/", NOW + LONGEST_LIFE_S),
        ),
        (
            "__Host-a=b; Secure; Path=/",
            Cookie("__Host-a", "b", "www.a.example", "/", is_secure=True),
        ),
        (
            "__Secure-a=b; Secure; Path=/",
            Cookie("__Secure-a", "b", "www.a.example", "/", is_secure=True),
        ),
    ],
)
def test_a_header_makes_this_cookie(line: str, expected: Cookie) -> None:
    assert cookie(line) == expected


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ("", "https://a.example/"),
        ("=b", "https://a.example/"),
        ("a", "https://a.example/"),
        ("a=b\x00", "https://a.example/"),
        (f"a={'b' * 4096}", "https://a.example/"),
        (f"a=b; {'c' * 9000}", "https://a.example/"),
        ("a=b; Domain=b.example", "https://a.example/"),
        ("a=b; Domain=www.a.example", "https://a.example/"),
        ("a=b; Domain=example", "https://a.example/"),
        ("a=b; Domain=com", "https://a.com/"),
        ("a=b; Domain=co.uk", "https://a.co.uk/"),
        ("a=b; Domain=github.io", "https://a.github.io/"),
        ("a=b; Domain=0.0.1", "https://127.0.0.1/"),
        ("a=b; Secure", "http://a.example/"),
        ("__Host-a=b; Secure; Path=/; Domain=a.example", "https://a.example/"),
        ("__Host-a=b; Secure", "https://a.example/b/c"),
        ("__Secure-a=b", "https://a.example/"),
    ],
)
def test_a_header_that_oversteps_makes_none(line: str, url: str) -> None:
    assert cookie(line, url) is None


def test_an_address_sets_cookies_for_itself() -> None:
    assert cookie("a=b; Domain=127.0.0.1", "http://127.0.0.1/") == Cookie("a", "b", "127.0.0.1")
    assert cookie("a=b", "http://[::1]/") == Cookie("a", "b", "[::1]")


@pytest.mark.parametrize(
    ("path", "asked", "is_sent"),
    [
        ("/", "/b", True),
        ("/b", "/b", True),
        ("/b", "/b/c", True),
        ("/b/", "/b/c", True),
        ("/b", "/bc", False),
        ("/b/", "/b", False),
    ],
)
def test_a_path_has_what_lies_below_it(path: str, asked: str, is_sent: bool) -> None:
    assert Cookie("a", "b", "a.example", path).is_for("http", "a.example", asked, NOW) == is_sent


def test_a_request_has_what_is_for_its_host() -> None:
    own, below = Cookie("a", "b", "a.example"), Cookie("a", "b", "a.example", is_host_only=False)
    secure, over = own._replace(is_secure=True), own._replace(expires=NOW)
    assert own.is_for("http", "a.example", "/", NOW)
    assert not own.is_for("http", "www.a.example", "/", NOW)
    assert below.is_for("http", "www.a.example", "/", NOW)
    assert not below.is_for("http", "ba.example", "/", NOW)
    assert secure.is_for("https", "a.example", "/", NOW)
    assert not secure.is_for("http", "a.example", "/", NOW)
    assert not over.is_for("http", "a.example", "/", NOW)


@given(st.text())
def test_no_header_makes_it_fail(line: str) -> None:
    found = cookie(line)
    assert found is None or found.domain.endswith("a.example")


@given(st.from_regex(r"a=b; Expires=[A-Z][a-z]+, [0-9]{1,9} [A-Z][a-z]{2} [0-9]{1,6} .*"))
def test_no_date_makes_it_fail(line: str) -> None:
    cookie(line)


@pytest.mark.parametrize("piece", [";", "a=b;", "=", " ", "Expires=", "Domain=a.example;"])
def test_reading_a_header_takes_linear_time(piece: str) -> None:
    little, much = (f"a=b;{piece * (size // len(piece))}" for size in (2000, 8000))
    expect_linear(lambda: cookie(little), lambda: cookie(much))
