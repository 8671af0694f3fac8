"""The jar keeps little of each site and not too much of all, and mixes nothing up."""

from hypothesis import given
from hypothesis import strategies as st

from minicrawl.web import cookie_jar as jars
from minicrawl.web.cookie_jar import PER_SITE, SITE_BYTES, Cookie, CookieJar
from tests.linear_time import expect_linear

NOW = 1000.0


def jar(*settings: tuple[str, str]) -> CookieJar:
    made = CookieJar()
    for url, line in settings:
        made.take(url, [line], NOW)
    return made


def test_what_a_site_sets_is_sent_back_to_it_alone() -> None:
    made = jar(("https://www.a.example/", "a=1; Domain=a.example"), ("https://a.example/", "b=2"))
    assert made.header("https://a.example/x?y", NOW) == "a=1; b=2"
    assert made.header("https://c.a.example/", NOW) == "a=1"
    assert made.header("https://b.example/", NOW) == ""


def test_longer_paths_come_first_and_others_in_the_order_in_which_they_were_set() -> None:
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


def test_a_site_has_few_cookies_and_the_first_ones_go() -> None:
    made = CookieJar()
    for number in range(PER_SITE + 5):
        made.take("https://a.example/", [f"c{number}=x"], NOW)
    assert len(made) == PER_SITE
    assert made.header("https://a.example/", NOW).startswith("c5=x; ")
    for number in range(9):
        made.take("https://a.example/", [f"d{number}={'x' * 2000}"], NOW)
    assert sum(one.size for one in made) <= SITE_BYTES


def test_of_one_answer_not_all_headers_are_read() -> None:
    made = CookieJar()
    made.take("https://a.example/", (f"c{number}=x" for number in range(10_000)), NOW)
    assert len(made) == jars.MOST_LINES


def test_the_site_that_was_asked_least_lately_goes_first() -> None:
    made = CookieJar()
    for number in range(jars.IN_ALL):
        made.add(Cookie("a", "b", f"a{number}.example"), NOW)
    assert made.header("https://a0.example/", NOW) == "a=b"
    made.add(Cookie("a", "b", "new.example"), NOW)
    assert len(made) == jars.IN_ALL
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
def test_what_is_counted_is_what_is_there(settings: list[tuple[str, str]]) -> None:
    made = jar(*settings)
    assert len(made) == len(list(made)) == made._count
    assert made._size == sum(one.size for one in made) == sum(made._sizes.values())


def test_a_flood_takes_linear_time() -> None:
    def flood(count: int) -> None:
        made = CookieJar()
        for number in range(count):
            made.take(f"https://h{number}.example/", [f"c{number}=x; Path=/{number}"], NOW)

    expect_linear(lambda: flood(500), lambda: flood(2000))
