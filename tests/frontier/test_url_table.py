"""URLs are told apart even if their hashes are equal, however little room there is in memory."""

import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from minicrawl.frontier.url_index import (
    GENERATION,
    PLACES,
    ROOM,
    RecentUrls,
    UrlIndex,
)
from minicrawl.frontier.url_table import UrlTable
from minicrawl.store.records import HostRow, UrlRow
from minicrawl.web.urls import origin
from tests.stores import DEEP

HERE, THERE = "http://a.example", "http://b.example"
A, B, C = (f"http://{name}.example/" for name in "abc")


def test_each_unknown_url_gets_the_next_id_and_its_host_too() -> None:
    urls = UrlTable()
    assert urls.find(A) is None
    meeting = urls.meet([A, B, DEEP, A], depth=2)
    assert meeting.pages == [0, 1, 2, 0]
    assert meeting.urls == [UrlRow(0, 0, "/", 2), UrlRow(1, 1, "/", 2), UrlRow(2, 0, "/deep", 2)]
    assert meeting.hosts == [HostRow(0, HERE), HostRow(1, THERE)]
    again = urls.meet([A], depth=0)
    assert (again.pages, again.urls, again.hosts) == ([0], [], [])
    assert list(urls.depth) == [2, 2, 2]


def test_the_row_of_a_url_has_a_depth_above_255() -> None:
    urls = UrlTable()
    assert urls.meet([A], depth=1000).urls[0].depth == 1000
    assert list(urls.depth) == [255]


class Kept(dict[int, str]):
    """URLs in the store, and the number of look-ups."""

    asked = 0

    def __call__(self, pages: Sequence[int]) -> Mapping[int, str]:
        assert list(pages) == sorted(set(pages))
        self.asked += len(pages)
        return {page: self[page] for page in pages}


class OriginsOf(list[str]):
    """Origins of pages, each on a host of its own."""

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self._kept = kept

    def __getitem__(self, page: Any) -> Any:
        return origin(self._kept[page])


@pytest.fixture
def kept() -> Kept:
    return Kept()


def index_of(
    kept: Kept, ring_bytes: int = ROOM, generation: int = GENERATION, **more: Any
) -> UrlIndex:
    recent = RecentUrls(range(1000), OriginsOf(kept), ring_bytes)
    return UrlIndex(kept, recent, generation, **more)


@pytest.fixture
def known(kept: Kept) -> UrlIndex:
    return index_of(kept)


@pytest.fixture
def forgetful(kept: Kept) -> UrlIndex:
    """Index that remembers hardly any URL."""
    return index_of(kept, ring_bytes=16, generation=2)


def put(known: UrlIndex, kept: Kept, *urls: str) -> None:
    for url in urls:
        page = len(known)
        kept[page] = url
        known.add({url: page})


def test_a_recent_url_is_found_without_the_store(known: UrlIndex, kept: Kept) -> None:
    put(known, kept, A, B)
    assert known.find([B, A, C]) == {B: 1, A: 0}
    assert known.find_recent([A, B, C]) == ({A: 0, B: 1}, {})
    assert kept.asked == 0


def test_an_old_url_is_looked_up_and_remembered_again(forgetful: UrlIndex, kept: Kept) -> None:
    known = forgetful
    put(known, kept, A, B, C, *(f"{C}{number}" for number in range(4)))
    assert known.find([A, B]) == {A: 0, B: 1}
    assert kept.asked == 2
    assert known.find([B]) == {B: 1}
    assert kept.asked == 2


def test_a_url_that_left_the_dictionaries_is_found_without_a_look_up(kept: Kept) -> None:
    known = index_of(kept, generation=2)
    kept[0] = C
    known.add_all([C])
    urls = [f"{A}{number}" for number in range(20)]
    for page, url in enumerate(urls, 1):
        put(known, kept, url)
        assert known.find([C, urls[page // 2]]) == {C: 0, urls[page // 2]: page // 2 + 1}
    assert known.find(urls) == {url: page for page, url in enumerate(urls, 1)}
    assert kept.asked == 1


def test_a_url_that_keeps_coming_is_never_looked_up(forgetful: UrlIndex, kept: Kept) -> None:
    put(forgetful, kept, A)
    for number in range(20):
        put(forgetful, kept, f"{B}{number}")
        assert forgetful.find([A]) == {A: 0}
    assert kept.asked == 0


def test_the_url_of_a_page_is_known_if_it_is_recent(known: UrlIndex, kept: Kept) -> None:
    kept[0] = A
    known.add_all([A])
    assert known.recent.url_of(0) is None
    put(known, kept, B)
    assert known.recent.url_of(1) == B
    known.find([A])
    assert known.recent.url_of(0) == A


def looked_up(known: UrlIndex, kept: Kept, *urls: str) -> None:
    """Look up the candidates of URLs, as the loop does before it meets the URLs."""
    _, candidates = known.find_recent(urls)
    known.remember({kept[page]: page for pages in candidates.values() for page in pages})


@given(
    st.lists(st.text(max_size=3)),
    st.lists(st.text(max_size=3)),
    st.sampled_from([hash, lambda _url: 7, len]),
)
def test_the_index_agrees_with_a_dictionary(
    loaded: list[str], urls: list[str], code_of: Callable[[str], int]
) -> None:
    """Some URLs are loaded, and some are looked up ahead."""
    truth = {url: page for page, url in enumerate(dict.fromkeys(loaded))}
    kept = Kept(enumerate(truth))
    known = UrlIndex(kept, RecentUrls(bytes(1000), [""], ring_bytes=16), 2, code_of)
    known.add_all(iter([*truth][:3]))
    known.add_all(iter([*truth][3:]))
    for number, url in enumerate(urls):
        if number % 2:
            looked_up(known, kept, url)
        assert known.find([url]) == ({url: truth[url]} if url in truth else {})
        if url not in truth:
            truth[url] = len(truth)
            put(known, kept, url)
    everything = [*loaded, *urls]
    assert known.find(everything) == truth
    found, candidates = known.find_recent(everything)
    for url in everything:
        assert url in found or truth[url] in candidates[url]


def test_a_url_looked_up_ahead_is_found_without_the_store(forgetful: UrlIndex, kept: Kept) -> None:
    known = forgetful
    urls = [f"{A}{number}" for number in range(9)]
    put(known, kept, *urls)
    assert known.find_recent(urls[1:2]) == ({}, {urls[1]: [1]})
    looked_up(known, kept, urls[1], B)
    assert known.find([urls[1], B]) == {urls[1]: 1}
    assert kept.asked == 0


def test_a_url_that_was_unknown_is_found_once_its_page_is_loaded(
    known: UrlIndex, kept: Kept
) -> None:
    assert known.find([A]) == {}
    kept[0] = A
    known.add_all([A])
    assert known.find([A]) == {A: 0}


def test_urls_that_were_not_found_take_bounded_memory(forgetful: UrlIndex) -> None:
    forgetful.find([A])
    tracemalloc.start()
    try:
        for number in range(3000):
            assert forgetful.find([f"{A}{number}"]) == {}
        assert tracemalloc.get_traced_memory()[0] < 50_000
    finally:
        tracemalloc.stop()


class OneHost(list[int]):
    """Hosts of pages that are all on host 0."""

    def __getitem__(self, page: Any) -> Any:
        return 0


def recent_of(
    *urls: str, origins: Sequence[str] = (HERE,), ring_bytes: int = ROOM, places: int = PLACES
) -> RecentUrls:
    """Return recent URLs of pages 0, 1 and so on; host 0 has all, or each origin its page."""
    host_of = OneHost() if len(origins) == 1 else range(len(origins))
    recent = RecentUrls(host_of, origins, ring_bytes, places)
    recent.put((url, page) for page, url in enumerate(urls))
    return recent


def test_a_url_with_a_common_prefix_is_another_one() -> None:
    recent = recent_of(A)
    assert recent.find([0], A) == 0
    for other in (f"{A}longer", A[:-1], "", f"{THERE}/", f"{HERE}:81/"):
        assert recent.find([0], other) is None


@pytest.mark.parametrize("places", [1, PLACES])
def test_a_page_number_with_a_common_prefix_is_another_one(places: int) -> None:
    recent = recent_of(places=places)
    recent.put([(A, 12)])
    assert recent.find([1, 123], A) is None
    assert (recent.url_of(1), recent.url_of(123), recent.url_of(12)) == (None, None, A)
    recent.put([(f"{A}large", 4_000_000_000)])
    assert recent.find([7, 4_000_000_000], f"{A}large") == 4_000_000_000


def test_each_origin_has_its_own_paths() -> None:
    recent = recent_of(f"{HERE}/", f"{THERE}/", origins=(HERE, THERE))
    assert recent.find([0, 1], f"{THERE}/") == 1
    assert recent.find([0, 1], f"{HERE}/") == 0
    assert [recent.url_of(page) for page in (0, 1)] == [f"{HERE}/", f"{THERE}/"]


@pytest.mark.parametrize(("ring_bytes", "places", "left"), [(36, PLACES, 3), (ROOM, 4, 4)])
def test_new_urls_replace_the_oldest(ring_bytes: int, places: int, left: int) -> None:
    urls = [f"{A}of-{page}/" for page in range(8)]
    recent = recent_of(*urls, ring_bytes=ring_bytes, places=places)
    assert [recent.url_of(page) for page in range(8)] == [None] * (8 - left) + urls[-left:]
    found = [recent.find([page], url) for page, url in enumerate(urls)]
    assert found == [None] * (8 - left) + list(range(8))[-left:]


def test_few_pages_take_little_memory() -> None:
    tracemalloc.start()
    try:
        many = [recent_of(A, f"{A}1", f"{A}2") for _ in range(100)]
        assert tracemalloc.get_traced_memory()[0] < 1000 * len(many)
    finally:
        tracemalloc.stop()


@given(st.lists(st.text(max_size=8)))
def test_no_url_is_taken_for_another(urls: list[str]) -> None:
    recent, truth = recent_of(origins=("",), ring_bytes=36, places=4), dict[str, int]()
    for url in urls:
        recent.put([(url, truth.setdefault(url, len(truth)))])
        for known, page in truth.items():
            assert recent.find(truth.values(), known) in {page, None}
            assert recent.url_of(page) in {known, None}
        assert recent.url_of(truth[url]) == url
