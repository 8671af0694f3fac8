"""Cookie jar: which cookies a request gets, and limits by site and in all."""

from hypothesis import given, strategies as st

from minicrawl.web.cookies.cookie import Cookie
from minicrawl.web.cookies.jar import IN_ALL, MOST_LINES, PER_SITE, SITE_BYTES, CookieJar
from tests.linear_time import expect_linear

NOW = 1000.0


def jar(*settings: tuple[str, str]) -> CookieJar:
    made = CookieJar()
    for url, line in settings:
        made.take(url, [line], NOW)
    return made


def test_cookies_are_sent_back_to_their_site_only() -> None:
    made = jar(("https://www.a.example/", "a=1; Domain=a.example"), ("https://a.example/", "b=2"))
    assert made.header("https://a.example/x?y", NOW) == "a=1; b=2"
    assert made.header("https://c.a.example/", NOW) == "a=1"
    assert made.header("https://b.example/", NOW) == ""


def test_cookies_are_sorted_by_length_of_path_and_then_by_age() -> None:
    made = jar(
        ("https://a.example/", "a=1; Path=/"),
        ("https://a.example/", "b=2; Path=/b"),
        ("https://a.example/", "c=3; Path=/"),
    )
    assert made.header("https://a.example/b", NOW) == "b=2; a=1; c=3"


def test_a_cookie_is_replaced_and_removed() -> None:
    made = jar(("https://a.example/", "a=1"), ("https://a.example/", "a=2"))
    assert (made.header("https://a.example/", NOW), len(made)) == ("a=2", 1)
    changes = made.changes
    made.take("https://a.example/", ["a=2"], NOW)
    assert made.changes == changes
    made.take("https://a.example/", ["a=; Max-Age=0", "b=; Max-Age=0"], NOW)
    assert (made.header("https://a.example/", NOW), len(made), list(made)) == ("", 0, [])


def test_a_cookie_that_is_not_secure_never_replaces_one_that_is() -> None:
    made = jar(("https://a.example/", "a=1; Secure"), ("http://a.example/", "a=2"))
    assert made.header("https://a.example/", NOW) == "a=1"
    assert made.header("http://a.example/", NOW) == ""


def test_the_oldest_cookies_of_a_full_site_are_dropped() -> None:
    made = CookieJar()
    for number in range(PER_SITE + 5):
        made.take("https://a.example/", [f"c{number}=x"], NOW)
    assert len(made) == PER_SITE
    assert made.header("https://a.example/", NOW).startswith("c5=x; ")
    for number in range(9):
        made.take("https://a.example/", [f"d{number}={'x' * 2000}"], NOW)
    assert sum(one.size for one in made) <= SITE_BYTES


def test_the_number_of_set_cookie_headers_of_a_response_is_limited() -> None:
    made = CookieJar()
    made.take("https://a.example/", (f"c{number}=x" for number in range(10_000)), NOW)
    assert len(made) == MOST_LINES


def test_the_least_recently_used_site_is_dropped_from_a_full_jar() -> None:
    made = CookieJar()
    for number in range(IN_ALL):
        made.add(Cookie("a", "b", f"a{number}.example"), NOW)
    assert made.header("https://a0.example/", NOW) == "a=b"
    made.add(Cookie("a", "b", "new.example"), NOW)
    assert len(made) == IN_ALL
    assert made.header("https://a0.example/", NOW) == "a=b"
    assert made.header("https://a1.example/", NOW) == ""


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["https://a.example/", "http://b.a.example/b/c", "https://c.example/"]),
            st.from_regex(r"[ab]=[cd]{0,3}(; (Max-Age=[01]|Path=/b|Domain=a.example|Secure))*"),
        )
    )
)
def test_counts_and_sizes_are_those_of_the_cookies(settings: list[tuple[str, str]]) -> None:
    made = jar(*settings)
    # The limits of the jar go by these sums, which are kept beside the cookies.
    assert len(made) == len(list(made)) == made._count
    assert made._size == sum(one.size for one in made) == sum(made._sizes.values())


def test_a_flood_takes_linear_time() -> None:
    def flood(count: int) -> None:
        made = CookieJar()
        for number in range(count):
            made.take(f"https://h{number}.example/", [f"c{number}=x; Path=/{number}"], NOW)

    expect_linear(lambda: flood(500), lambda: flood(2000))
