"""URLs are rewritten only after content has proven that they lead to the same page."""

import pytest

from minicrawl.crawl.admission.equivalence import (
    LONGEST_NAME,
    LONGEST_PLACE,
    MOST_OF_A_PLACE,
    UrlEquivalence,
)
from minicrawl.web.url_shapes import MOST_PARAMETERS
from tests.linear_time import TIMES, expect_linear

A, B = "http://a.example", "http://b.example"
LIMIT = 3


class Web:
    """Rules for URLs, and pairs of pages that were read and differ."""

    def __init__(self, limit: int | None = LIMIT, **limits: int) -> None:
        self.different: set[tuple[str, str]] = set()
        self.twins = UrlEquivalence(limit, self.differ, **limits)

    def differ(self, url: str, other: str) -> bool:
        return (url, other) in self.different

    def original(self, url: str) -> str | None:
        original = self.twins.original(url)
        return original and original[0]

    def read_copies(self, url: str, other: str, times: int = LIMIT) -> None:
        """Read copies at two URLs, in which {} is a number."""
        for number in range(times):
            self.twins.saw_copy(url.format(number), other.format(number))

    def read_mirror(self, times: int = LIMIT) -> None:
        self.read_copies(B + "/{}", A + "/{}", times)

    def read_needless(self, first: int = 0) -> None:
        """Read pages that are the same whatever their parameter `from` is."""
        for number in range(first, first + LIMIT):
            self.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")

    def read_another(self, url: str, other: str) -> None:
        """Note that the pages at these URLs differ."""
        self.different.add((url, other))
        self.twins.saw_original(url)


@pytest.fixture
def web() -> Web:
    return Web()


def test_the_order_of_parameters_is_folded_after_enough_copies(web: Web) -> None:
    for number in range(LIMIT):
        assert web.original(f"{A}/x?b=1&a=9") is None
        web.twins.saw_copy(f"{A}/x?b={number}&a=1", f"{A}/x?a=1&b={number}")
    original = web.twins.original(f"{A}/x?b=1&a=9")
    assert original is not None
    assert original[0] == f"{A}/x?a=9&b=1"
    assert f"{LIMIT} pages" in original[1]
    assert web.original(f"{A}/x?a=9&b=1") is None
    assert web.original(f"{A}/y?b=1&a=9") is None
    assert web.original(f"{A}/x") is None


MANY = "&".join(f"p{number}" for number in range(MOST_PARAMETERS))
LONG_PATH, LONG_NAME = "/" + "x" * LONGEST_PLACE, "y" * (LONGEST_NAME + 1)
LONG_HOST = f"http://{'x.' * LONGEST_PLACE}example"


@pytest.mark.parametrize(
    ("url", "copy_of", "other", "original"),
    [
        # Two orders other than by name prove that the order does not matter.
        (A + "/x?c=1&b={}&a=1", A + "/x?b={}&c=1&a=1", A + "/x?b=1&a=9", A + "/x?a=9&b=1"),
        # A parameter is dropped after copies with enough of its values,
        (A + "/item/{0}?from={0}", A + "/item/{}", A + "/item/77?from=9", A + "/item/77"),
        (A + "/item/{0}?from={0}", A + "/item/{}", A + "/item/7?from=9&b=2", A + "/item/7?b=2"),
        (A + "/item/{0}?from={0}", A + "/item/{}", A + "/item/77?size=2", None),
        # whichever URL was read first.
        (A + "/x", A + "/x?from={}", A + "/x?from=9", A + "/x"),
        # A list without a page number often shows its first page: one value proves nothing.
        (A + "/list/{}?page=1", A + "/list/{}", A + "/list/1?page=2", None),
        # Copies at other paths make no mirror.
        (B + "/{}", A + "/about", B + "/x", None),
        # Nothing is learned from long paths, names and hosts, or from many parameters.
        (A + LONG_PATH + "?from={}", A + LONG_PATH, A + LONG_PATH + "?from=9", None),
        (A + f"/x?{LONG_NAME}={{}}", A + "/x", A + f"/x?{LONG_NAME}=9", None),
        (LONG_HOST + "/{}", A + "/{}", LONG_HOST + "/x", None),
        (A + f"/x?{MANY}&from={{}}", A + f"/x?{MANY}", A + f"/x?{MANY}&from=9", None),
    ],
)
def test_copies_prove_where_another_url_leads(
    web: Web, url: str, copy_of: str, other: str, original: str | None
) -> None:
    web.read_copies(url, copy_of, times=9)
    assert web.original(other) == original


def test_pages_that_differ_in_two_parameters_prove_nothing(web: Web) -> None:
    for number in range(9):
        web.twins.saw_copy(f"{A}/x?a={number}&b=1", f"{A}/x")
        web.twins.saw_copy(f"{A}/x?a={number}", f"{A}/x?a={number + 1}")
        web.twins.saw_copy(f"{A}/y", f"{A}/x")
    assert web.original(f"{A}/x?a=1") is None


@pytest.mark.parametrize("early", [True, False])
def test_one_differing_page_refutes_a_rule_for_ever(web: Web, early: bool) -> None:
    if early:
        web.read_another(f"{A}/x?from=0", f"{A}/x")
    web.read_needless(first=1)
    if not early:
        web.read_another(f"{A}/x?from=0", f"{A}/x")
    web.twins.saw_copy(f"{A}/x?from=9", f"{A}/x")
    assert web.original(f"{A}/x?from=9") is None


def test_a_mirror_of_two_hosts_is_folded_onto_the_one_that_it_repeats_most(web: Web) -> None:
    web.read_mirror()
    web.twins.saw_copy(f"{B}/x", "http://c.example/x")
    assert web.original(f"{B}/y") == f"{A}/y"


def test_hosts_with_different_front_pages_are_no_mirrors(web: Web) -> None:
    web.different.add((f"{B}/", f"{A}/"))
    web.read_mirror(9)
    assert web.original(f"{B}/x") is None


def test_one_differing_page_refutes_a_mirror(web: Web) -> None:
    web.read_mirror()
    web.read_another(f"{B}/news", f"{A}/news")
    assert web.original(f"{B}/x") is None


def test_without_a_limit_nothing_is_folded() -> None:
    web = Web(limit=None)
    web.read_mirror(99)
    web.read_copies(A + "/x?from={}", A + "/x", times=99)
    web.read_another(f"{A}/x?from=1", f"{A}/x")
    assert web.original(f"{B}/x") is web.original(f"{A}/x?from=1") is None


def test_of_too_many_rules_those_used_least_recently_are_forgotten() -> None:
    web = Web(most_rules=2)
    web.read_mirror()
    web.read_needless()
    assert web.original(f"{A}/x?from=9") == f"{A}/x"
    web.twins.saw_copy(f"{A}/y?from=1", f"{A}/y")
    assert web.original(f"{B}/x") is None
    assert web.original(f"{A}/x?from=9") == f"{A}/x"


def test_rules_are_forgotten_if_there_are_too_many_proofs() -> None:
    web = Web(most_proofs=LIMIT)
    web.read_needless()
    assert web.original(f"{A}/x?from=9") == f"{A}/x"
    web.twins.saw_copy(f"{A}/y?from=1", f"{A}/y")
    assert web.original(f"{A}/x?from=9") is None


def test_proofs_of_a_refuted_rule_do_not_count() -> None:
    web = Web(most_proofs=LIMIT)
    web.twins.saw_copy(f"{A}/y?from=1", f"{A}/y")
    web.read_another(f"{A}/y?from=0", f"{A}/y")
    web.read_needless()
    assert web.original(f"{A}/x?from=9") == f"{A}/x"


def test_of_too_many_needless_parameters_of_a_path_the_oldest_is_forgotten(web: Web) -> None:
    names = [f"p{number:02}" for number in range(MOST_OF_A_PLACE + 1)]
    for name in names:
        web.read_copies(f"{A}/x?{name}={{}}", f"{A}/x")
    assert web.original(f"{A}/x?{names[0]}=9") is None
    assert all(web.original(f"{A}/x?{name}=9") == f"{A}/x" for name in names[1:])


def test_a_page_with_many_parameters_refutes_only_proven_rules(web: Web) -> None:
    many = "&".join(f"p{number}" for number in range(MOST_OF_A_PLACE))
    web.read_another(f"{A}/x?{many}&from=0", f"{A}/x?{many}")
    web.read_needless(first=1)
    assert web.original(f"{A}/x?from=9") == f"{A}/x"
    web.read_another(f"{A}/x?{many}&from=0", f"{A}/x?{many}")
    assert web.original(f"{A}/x?from=9") is None


def test_pages_that_differ_by_the_order_of_parameters_refute_the_rule(web: Web) -> None:
    web.read_copies(A + "/x?b={}&a=1", A + "/x?a=1&b={}")
    web.read_another(f"{A}/x?b=9&a=1", f"{A}/x?a=1&b=9")
    assert web.original(f"{A}/x?b=1&a=9") is None


@pytest.mark.parametrize("piece", ["&a", "/a1", "&a=1", "a", "1a"])
def test_the_time_for_a_url_is_linear_in_its_length(web: Web, piece: str) -> None:
    web.read_needless()

    def all_that_is_asked(query: str) -> None:
        url, other = f"{A}/x?from&{query}", f"{A}/x?{query}"
        web.twins.saw_copy(url, other)
        web.twins.saw_original(url)
        web.twins.original(url)

    times = 25_000 // len(piece)
    short, long = piece * times, piece * times * TIMES
    expect_linear(lambda: all_that_is_asked(short), lambda: all_that_is_asked(long))
