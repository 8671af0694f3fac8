"""Set-Cookie headers, by RFC 6265 and as browsers read them since."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.cookies.cookie import LONGEST_LIFE_S, Cookie, cookie_date, parse_cookie

NOW = 1_000_000.0
PLAIN = Cookie("a", "b", "www.a.example", "/")


def cookie(line: str, url: str = "https://www.a.example/b/c") -> Cookie | None:
    scheme, _, rest = url.partition("://")
    host, _, path = rest.partition("/")
    return parse_cookie(line, scheme, host, f"/{path}", NOW)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a=b", PLAIN._replace(path="/b")),
        (" a = b=c ; x", PLAIN._replace(value="b=c", path="/b")),
        ("a=", PLAIN._replace(value="", path="/b")),
        (
            "a=b; Domain=.A.example; Path=/; Secure; HttpOnly; Max-Age=10",
            Cookie("a", "b", "a.example", "/", NOW + 10, True, False, True),
        ),
        ("a=b; path=x; domain=", PLAIN._replace(path="/b")),
        ("a=b; Domain=www.a.example; Path=/", PLAIN._replace(is_host_only=False)),
        ("a=b; Expires=Thu, 15-Jan-1970 00:00:00 GMT; Path=/", PLAIN._replace(expires=1_209_600.0)),
        ("a=b; Expires=no date; Path=/", PLAIN),
        ("a=b; Max-Age=-1; Path=/", PLAIN._replace(expires=0.0)),
        (f"a=b; Max-Age={'9' * 5000}; Path=/", PLAIN._replace(expires=NOW + LONGEST_LIFE_S)),
        ("__Host-a=b; Secure; Path=/", PLAIN._replace(name="__Host-a", is_secure=True)),
        ("__Secure-a=b; Secure; Path=/", PLAIN._replace(name="__Secure-a", is_secure=True)),
    ],
)
def test_set_cookie_headers_are_parsed(line: str, expected: Cookie) -> None:
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
def test_invalid_set_cookie_headers_are_refused(line: str, url: str) -> None:
    assert cookie(line, url) is None


def test_an_address_sets_cookies_for_itself() -> None:
    assert cookie("a=b; Domain=127.0.0.1", "http://127.0.0.1/") == Cookie("a", "b", "127.0.0.1")
    assert cookie("a=b", "http://[::1]/") == Cookie("a", "b", "[::1]")


HOST_ONLY = Cookie("a", "b", "a.example")
BELOW = HOST_ONLY._replace(is_host_only=False)
SECURE = HOST_ONLY._replace(is_secure=True)


@pytest.mark.parametrize(
    ("one", "url", "is_sent"),
    [
        (HOST_ONLY, "http://a.example/b", True),
        (HOST_ONLY, "http://www.a.example/", False),
        (HOST_ONLY._replace(path="/b"), "http://a.example/b", True),
        (HOST_ONLY._replace(path="/b"), "http://a.example/b/c", True),
        (HOST_ONLY._replace(path="/b/"), "http://a.example/b/c", True),
        (HOST_ONLY._replace(path="/b"), "http://a.example/bc", False),
        (HOST_ONLY._replace(path="/b/"), "http://a.example/b", False),
        (HOST_ONLY._replace(expires=NOW), "http://a.example/", False),
        (BELOW, "http://www.a.example/", True),
        (BELOW, "http://ba.example/", False),
        (SECURE, "https://a.example/", True),
        (SECURE, "http://a.example/", False),
    ],
)
def test_a_cookie_is_sent_to_its_hosts_and_below_its_path_until_it_expires(
    one: Cookie, url: str, is_sent: bool
) -> None:
    scheme, _, host, path = url.replace(":", "").split("/", 3)
    assert one.is_for(scheme, host, f"/{path}", NOW) == is_sent


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Wed, 09 Dec 2009 16:27:23 GMT", "2009-12-09 16:27:23"),
        ("Thursday, 01-Jan-1970 00:00:00 GMT", "1970-01-01 00:00:00"),
        ("Mon Dec 10 16:32:30 2007 GMT", "2007-12-10 16:32:30"),
        ("Mon, 10-Dec-07 20:35:03 GMT", "2007-12-10 20:35:03"),
        ("Thu, 31 Dec 23:55:55 2037 GMT", "2037-12-31 23:55:55"),
        ("Wed Dec 12 2007 08:44:07 GMT-0500 (EST)", "2007-12-12 08:44:07"),  # zones do not count
        ("Wednesday, 01-Jan-10 0:0:0 GMT", "2010-01-01 00:00:00"),
        ("23:59:59x december 31st 99", "1999-12-31 23:59:59"),  # in any order, with any ending
        ("1 Jan 70 0:0:0", "1970-01-01 00:00:00"),
        ("1 Jan 69 0:0:0", "2069-01-01 00:00:00"),
        ("1 Jan 069 0:0:0", "2069-01-01 00:00:00"),
        ("11 12 Jan 2013 0:0:0", "2012-01-11 00:00:00"),  # the first token that fits counts
        ("29/Feb;2012~10:11:12", "2012-02-29 10:11:12"),
        ("1 Jan 1601 0:0:0", "1601-01-01 00:00:00"),
        ("1 Jan 1600 0:0:0", None),
        ("1 Jan 100 0:0:0", None),
        ("29 Feb 2013 10:11:12", None),
        ("0 Jan 2013 10:11:12", None),
        ("Mon, 01-Jan-2011 00: 00:00 GMT", None),
        ("1 Jan 2011 24:00:00", None),
        ("1 Jan 2011 23:60:00", None),
        ("1 Jan 2011 23:00:60", None),
        ("1 Jan 2011 23:00:000", None),
        ("1 Jan 20110 23:00:00", None),
        ("100 Jan 2011 23:00:00", None),
        ("1 Jän 2011 23:00:00", None),
        ("1 Jan 23:00:00", None),
        ("Jan 2011", None),
        ("", None),
    ],
)
def test_dates_are_those_of_the_rfc(text: str, expected: str | None) -> None:
    """The cases are those of the suite http-state, and of each step of RFC 6265, 5.1.1."""
    date = cookie_date(text)
    assert date == (expected and datetime.fromisoformat(expected).replace(tzinfo=UTC))


@pytest.mark.parametrize(
    "form", ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y", "%d/%b/%Y,%T"]
)
@given(days=st.integers(0, 36_000), second=st.integers(0, 86_399))
def test_a_date_is_read_in_any_form(form: str, days: int, second: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days, second)
    assert cookie_date(moment.strftime(form)) == moment


DATES = st.from_regex(r"a=b; Expires=[A-Z][a-z]+, [0-9]{1,9} [A-Z][a-z]{2} [0-9]{1,6} .*")


@given(st.text() | DATES)
def test_no_header_raises_an_exception(line: str) -> None:
    found = cookie(line)
    assert found is None or found.domain.endswith("a.example")
