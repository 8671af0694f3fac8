"""Recent URLs are found by page or URL, and never mixed up, however little room there is."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.frontier import url_table as url_index
from minicrawl.frontier.url_table import RecentUrls

HERE, THERE = "http://a.example", "http://b.example"
A, B, C, D = (f"{HERE}/of-{name}/" for name in "abcd")


class OneHost(list[int]):
    """Hosts of pages that are all on host 0."""

    def __getitem__(self, page: Any) -> Any:
        return 0


ONE_HOST = OneHost()


def all_here() -> RecentUrls:
    return RecentUrls(ONE_HOST, [HERE])


@pytest.fixture
def recent() -> RecentUrls:
    return all_here()


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave room for three lines."""
    monkeypatch.setattr(url_index, "ROOM", 36)


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_index, "PLACES", 4)


def put(recent: RecentUrls, *urls: str) -> None:
    recent.put((url, page) for page, url in enumerate(urls))


def test_a_url_that_was_not_put_is_not_found(recent: RecentUrls) -> None:
    assert recent.url_of(0) is None
    assert recent.find([0, 1], A) is None
    put(recent, A)
    assert recent.url_of(1) is None
    assert recent.find([1, 2], A) is None


def test_a_url_that_was_put_is_found(recent: RecentUrls) -> None:
    recent.put([(A, 0), (B, 4_000_000_000)])
    assert recent.find([0], A) == 0
    assert recent.find([7, 0, 4_000_000_000], B) == 4_000_000_000
    assert recent.url_of(0) == A
    assert recent.url_of(4_000_000_000) == B


def test_a_page_has_no_url_but_its_own(recent: RecentUrls) -> None:
    put(recent, A, B)
    assert recent.find([0], B) is None
    assert recent.find([1, 0], A) == 0


@pytest.mark.parametrize("other", [f"{A}longer", A[:-1], "", f"{THERE}/of-a/", f"{HERE}:81/of-a/"])
def test_a_url_with_a_common_prefix_is_another_one(recent: RecentUrls, other: str) -> None:
    put(recent, A)
    assert recent.find([0], other) is None


def test_a_page_number_with_a_common_prefix_is_another_one(
    recent: RecentUrls, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url_index, "PLACES", 1)
    recent.put([(A, 12)])
    assert recent.find([1, 123], A) is None
    assert (recent.url_of(1), recent.url_of(123), recent.url_of(12)) == (None, None, A)


def test_each_origin_has_its_own_paths() -> None:
    recent = RecentUrls(range(2), [HERE, THERE])
    put(recent, f"{HERE}/", f"{THERE}/")
    assert recent.find([0, 1], f"{THERE}/") == 1
    assert recent.find([0, 1], f"{HERE}/") == 0
    assert [recent.url_of(page) for page in (0, 1)] == [f"{HERE}/", f"{THERE}/"]


@pytest.mark.usefixtures("little_room")
def test_new_urls_replace_the_oldest(recent: RecentUrls) -> None:
    put(recent, A, B, C, D)
    assert [recent.url_of(page) for page in range(4)] == [None, B, C, D]
    assert [recent.find([page], url) for page, url in enumerate((A, B, C, D))] == [None, 1, 2, 3]


def test_few_pages_take_little_memory() -> None:
    tracemalloc.start()
    try:
        many = [all_here() for _ in range(100)]
        for recent in many:
            put(recent, A, B, C)
        assert tracemalloc.get_traced_memory()[0] < 1000 * len(many)
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("few_places")
def test_a_later_page_replaces_an_earlier_one_in_its_place() -> None:
    recent, urls = all_here(), [f"{A}{page}" for page in range(10)]
    put(recent, *urls)
    assert [recent.url_of(page) for page in range(10)] == [None] * 6 + urls[6:]


@pytest.mark.usefixtures("little_room", "few_places")
@given(st.lists(st.text(max_size=8)))
def test_no_url_is_taken_for_another(urls: list[str]) -> None:
    recent, truth = RecentUrls(ONE_HOST, [""]), dict[str, int]()
    for url in urls:
        recent.put([(url, truth.setdefault(url, len(truth)))])
        for known, page in truth.items():
            assert recent.find(truth.values(), known) in {page, None}
            assert recent.url_of(page) in {known, None}
        assert recent.url_of(truth[url]) == url
