"""URLs are folded once content has proven that they lead to the same page, and not before."""

import pytest

from minicrawl.crawl import trap_detector as module
from minicrawl.crawl.trap_detector import (
    LONGEST_NAME,
    LONGEST_PLACE,
    MOST_OF_A_PLACE,
    Folded,
    UrlEquivalence,
)
from minicrawl.web.urls import MOST_PARAMETERS
from tests.linear_time import TIMES, expect_linear

A, B = "http://a.example", "http://b.example"
LIMIT = 3


class Web:
    """Which pages were read and differ."""

    def __init__(self, limit: int | None = LIMIT) -> None:
        self.different: set[tuple[str, str]] = set()
        self.twins = UrlEquivalence(limit, lambda url, other: (url, other) in self.different)

    def original(self, url: str) -> str | None:
        folded = self.twins.original(url)
        return folded and folded.url

    def read_another(self, url: str, other: str) -> None:
        """The page at `url` is not what the other one was."""
        self.different.add((url, other))
        self.twins.saw_original(url)


@pytest.fixture
def web() -> Web:
    return Web()


def test_the_order_of_parameters_is_folded_when_enough_pages_were_the_same(web: Web) -> None:
    for number in range(LIMIT):
        assert web.original(f"{A}/x?b=1&a=9") is None
        web.twins.saw_copy(f"{A}/x?b={number}&a=1", f"{A}/x?a=1&b={number}")
    assert web.twins.original(f"{A}/x?b=1&a=9") == Folded(
        f"{A}/x?a=9&b=1", f"the order of its parameters changes nothing: seen on {LIMIT} pages"
    )
    assert web.original(f"{A}/x?a=9&b=1") is None
    assert web.original(f"{A}/y?b=1&a=9") is None
    assert web.original(f"{A}/x") is None


def test_two_orders_of_which_neither_is_by_name_show_it_too(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}/x?c=1&b={number}&a=1", f"{A}/x?b={number}&c=1&a=1")
    assert web.original(f"{A}/x?b=1&a=9") == f"{A}/x?a=9&b=1"


def test_a_parameter_is_dropped_when_enough_of_its_values_changed_nothing(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}/item/{number}?from={number}", f"{A}/item/{number}")
    assert web.original(f"{A}/item/77?from=9") == f"{A}/item/77"
    assert web.original(f"{A}/item/77?from=9&size=2") == f"{A}/item/77?size=2"
    assert web.original(f"{A}/item/77?size=2") is None


def test_it_does_not_matter_which_of_the_two_was_read_first(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}/x", f"{A}/x?from={number}")
    assert web.original(f"{A}/x?from=9") == f"{A}/x"


def test_one_value_of_a_parameter_proves_nothing_about_others(web: Web) -> None:
    """The first page of a list is often what the list shows without a number."""
    for number in range(9):
        web.twins.saw_copy(f"{A}/list/{number}?page=1", f"{A}/list/{number}")
    assert web.original(f"{A}/list/1?page=2") is None


def test_pages_that_differ_in_two_parameters_prove_nothing(web: Web) -> None:
    for number in range(9):
        web.twins.saw_copy(f"{A}/x?a={number}&b=1", f"{A}/x")
        web.twins.saw_copy(f"{A}/x?a={number}", f"{A}/x?a={number + 1}")
        web.twins.saw_copy(f"{A}/y", f"{A}/x")
    assert web.original(f"{A}/x?a=1") is None


@pytest.mark.parametrize("early", [True, False])
def test_one_page_that_differs_refutes_a_rule_for_ever(web: Web, early: bool) -> None:
    if early:
        web.read_another(f"{A}/x?from=0", f"{A}/x")
    for number in range(1, LIMIT + 1):
        web.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")
    if not early:
        web.read_another(f"{A}/x?from=0", f"{A}/x")
    web.twins.saw_copy(f"{A}/x?from=9", f"{A}/x")
    assert web.original(f"{A}/x?from=9") is None


# ---------------------------------------------------------------- hosts


def test_a_host_that_repeats_another_one_is_folded_path_by_path(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{B}/{number}", f"{A}/{number}")
    assert web.twins.original(f"{B}/x?a=1") == Folded(
        f"{A}/x?a=1", f"its host repeats {A}: seen on {LIMIT} pages"
    )
    assert web.original(f"{A}/x") is None


def test_once_a_host_is_a_mirror_the_other_one_is_not(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{B}/{number}", f"{A}/{number}")
    for number in range(9):
        web.twins.saw_copy(f"{A}/{number}", f"{B}/{number}")
    assert web.original(f"{B}/x") == f"{A}/x"
    assert web.original(f"{A}/x") is None


def test_of_two_hosts_it_is_folded_onto_the_one_that_it_repeats_most(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{B}/{number}", f"{A}/{number}")
    web.twins.saw_copy(f"{B}/x", "http://c.example/x")
    assert web.original(f"{B}/y") == f"{A}/y"


def test_pages_of_other_paths_do_not_make_a_mirror(web: Web) -> None:
    for number in range(9):
        web.twins.saw_copy(f"{B}/{number}", f"{A}/about")
    assert web.original(f"{B}/x") is None


def test_hosts_with_different_front_pages_are_no_mirrors(web: Web) -> None:
    web.different.add((f"{B}/", f"{A}/"))
    for number in range(9):
        web.twins.saw_copy(f"{B}/{number}", f"{A}/{number}")
    assert web.original(f"{B}/x") is None


def test_a_page_of_its_own_refutes_a_mirror(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{B}/{number}", f"{A}/{number}")
    web.read_another(f"{B}/news", f"{A}/news")
    assert web.original(f"{B}/x") is None


# ---------------------------------------------------------------- bounds


def test_without_a_limit_nothing_is_folded() -> None:
    web = Web(limit=None)
    for number in range(99):
        web.twins.saw_copy(f"{B}/{number}", f"{A}/{number}")
        web.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")
    web.read_another(f"{A}/x?from=1", f"{A}/x")
    assert web.original(f"{B}/x") is web.original(f"{A}/x?from=1") is None


def test_rules_that_nobody_needs_are_forgotten(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RULES", 2)
    for number in range(LIMIT):
        web.twins.saw_copy(f"{B}/{number}", f"{A}/{number}")
        web.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")
    assert web.original(f"{A}/x?from=9") == f"{A}/x"
    web.twins.saw_copy(f"{A}/y?from=1", f"{A}/y")
    assert web.original(f"{B}/x") is None
    assert web.original(f"{A}/x?from=9") == f"{A}/x"


@pytest.fixture
def _few_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_PROOFS", LIMIT)


@pytest.mark.usefixtures("_few_proofs")
def test_rules_are_forgotten_when_there_are_too_many_proofs(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")
    assert web.original(f"{A}/x?from=9") == f"{A}/x"
    web.twins.saw_copy(f"{A}/y?from=1", f"{A}/y")
    assert web.original(f"{A}/x?from=9") is None


@pytest.mark.usefixtures("_few_proofs")
def test_what_is_refuted_has_no_proofs_that_count(web: Web) -> None:
    web.twins.saw_copy(f"{A}/y?from=1", f"{A}/y")
    web.read_another(f"{A}/y?from=0", f"{A}/y")
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")
    assert web.original(f"{A}/x?from=9") == f"{A}/x"


def test_of_a_place_the_oldest_of_many_needless_parameters_is_forgotten(web: Web) -> None:
    names = [f"p{number:02}" for number in range(MOST_OF_A_PLACE + 1)]
    for name in names:
        for number in range(LIMIT):
            web.twins.saw_copy(f"{A}/x?{name}={number}", f"{A}/x")
    assert web.original(f"{A}/x?{names[0]}=9") is None
    assert all(web.original(f"{A}/x?{name}=9") == f"{A}/x" for name in names[1:])


@pytest.mark.parametrize(
    ("path", "name"), [("/" + "x" * LONGEST_PLACE, "from"), ("/x", "y" * (LONGEST_NAME + 1))]
)
def test_nothing_is_learned_of_what_is_out_of_size(web: Web, path: str, name: str) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}{path}?{name}={number}", A + path)
    assert web.original(f"{A}{path}?{name}=9") is None


def test_a_host_with_a_name_out_of_size_is_no_mirror(web: Web) -> None:
    origin = f"http://{'x.' * LONGEST_PLACE}example"
    for number in range(LIMIT):
        web.twins.saw_copy(f"{origin}/{number}", f"{A}/{number}")
    assert web.original(f"{origin}/x") is None


def test_nothing_is_learned_of_urls_with_more_parameters_than_anybody_needs(web: Web) -> None:
    many = "&".join(f"p{number}" for number in range(MOST_PARAMETERS))
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}/x?{many}&from={number}", f"{A}/x?{many}")
        web.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")
    assert web.original(f"{A}/x?{many}&from=9") is None
    assert web.original(f"{A}/x?from=9") == f"{A}/x"


def test_a_page_with_many_parameters_refutes_only_what_was_shown(web: Web) -> None:
    many = "&".join(f"p{number}" for number in range(MOST_OF_A_PLACE))
    web.read_another(f"{A}/x?{many}&from=0", f"{A}/x?{many}")
    for number in range(1, LIMIT + 1):
        web.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")
    assert web.original(f"{A}/x?from=9") == f"{A}/x"
    web.read_another(f"{A}/x?{many}&from=0", f"{A}/x?{many}")
    assert web.original(f"{A}/x?from=9") is None


def test_the_contrary_of_an_order_refutes_it(web: Web) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}/x?b={number}&a=1", f"{A}/x?a=1&b={number}")
    web.read_another(f"{A}/x?b=9&a=1", f"{A}/x?a=1&b=9")
    assert web.original(f"{A}/x?b=1&a=9") is None


@pytest.mark.parametrize("piece", ["&a", "/a1", "&a=1", "a", "1a"])
def test_no_url_takes_more_than_its_share(web: Web, piece: str) -> None:
    for number in range(LIMIT):
        web.twins.saw_copy(f"{A}/x?from={number}", f"{A}/x")

    def all_that_is_asked(query: str) -> None:
        url, other = f"{A}/x?from&{query}", f"{A}/x?{query}"
        web.twins.saw_copy(url, other)
        web.twins.saw_original(url)
        web.twins.original(url)

    times = 25_000 // len(piece)
    short, long = piece * times, piece * times * TIMES
    expect_linear(lambda: all_that_is_asked(short), lambda: all_that_is_asked(long))
