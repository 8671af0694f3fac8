"""The index tells URLs apart even if their hashes are equal."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.frontier import url_table as url_index
from minicrawl.frontier.url_table import UrlIndex
from minicrawl.web.urls import origin

A, B, C = (f"http://{name}.example/" for name in "abc")


class Kept(dict[int, str]):
    """URLs in the store, and the number of look-ups."""

    asked = 0

    def __call__(self, pages: Sequence[int]) -> Mapping[int, str]:
        assert list(pages) == sorted(set(pages))
        self.asked += len(pages)
        return {page: self[page] for page in pages}


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def known(kept: Kept) -> UrlIndex:
    return UrlIndex(kept, range(1000), OriginsOf(kept))


class OriginsOf(list[str]):
    """Origins of pages, each on a host of its own."""

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self._kept = kept

    def __getitem__(self, page: Any) -> Any:
        return origin(self._kept[page])


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the index remember hardly any URL."""
    monkeypatch.setattr(url_index, "RECENT", 2)
    monkeypatch.setattr(url_index, "ROOM", 16)


@pytest.fixture
def one_hash_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_index, "code_of", lambda _url: 7)


def put(known: UrlIndex, kept: Kept, *urls: str) -> None:
    for url in urls:
        page = len(known)
        kept[page] = url
        known.add({url: page})


def test_a_url_that_was_not_put_is_unknown(known: UrlIndex) -> None:
    assert known.find([A]) == {}
    assert len(known) == 0


def test_a_recent_url_is_found_without_the_store(known: UrlIndex, kept: Kept) -> None:
    put(known, kept, A, B)
    assert known.find([B, A, C]) == {B: 1, A: 0}
    assert kept.asked == 0


@pytest.mark.usefixtures("forgetful")
def test_an_old_url_is_looked_up_and_remembered_again(known: UrlIndex, kept: Kept) -> None:
    put(known, kept, A, B, C, *(f"{C}{number}" for number in range(4)))
    assert known.find([A, B]) == {A: 0, B: 1}
    assert kept.asked == 2
    assert known.find([B]) == {B: 1}
    assert kept.asked == 2


def test_a_url_that_left_the_dictionaries_is_found_without_a_look_up(
    known: UrlIndex, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url_index, "RECENT", 2)
    kept[0] = C
    known.add_all([C])
    urls = [f"{A}{number}" for number in range(20)]
    for page, url in enumerate(urls, 1):
        put(known, kept, url)
        assert known.find([C, urls[page // 2]]) == {C: 0, urls[page // 2]: page // 2 + 1}
    assert known.find(urls) == {url: page for page, url in enumerate(urls, 1)}
    assert kept.asked == 1


@pytest.mark.usefixtures("forgetful")
def test_a_url_that_keeps_coming_is_never_looked_up(known: UrlIndex, kept: Kept) -> None:
    put(known, kept, A)
    for number in range(20):
        put(known, kept, f"{B}{number}")
        assert known.find([A]) == {A: 0}
    assert kept.asked == 0


@pytest.mark.usefixtures("forgetful", "one_hash_for_all")
def test_urls_of_one_hash_are_different_pages(known: UrlIndex, kept: Kept) -> None:
    urls = [f"{A}{number}" for number in range(50)]
    put(known, kept, *urls)
    assert known.find([*urls, B]) == {url: page for page, url in enumerate(urls)}


@pytest.mark.usefixtures("one_hash_for_all")
def test_urls_of_one_hash_are_told_apart_after_they_were_loaded(
    known: UrlIndex, kept: Kept
) -> None:
    kept.update(enumerate((A, B)))
    known.add_all([A, B])
    assert known.find([A, B, C]) == {A: 0, B: 1}


def test_an_unknown_url_is_found_once_it_is_added(known: UrlIndex, kept: Kept) -> None:
    assert known.find_recent([A, B, C]) == ({}, {})
    put(known, kept, A)
    kept[1] = B
    known.add_all([B])
    assert known.find([A, B, C]) == {A: 0, B: 1}


@pytest.mark.usefixtures("forgetful", "one_hash_for_all")
def test_an_unknown_url_is_found_long_after_it_was_added(known: UrlIndex, kept: Kept) -> None:
    assert known.find([A]) == {}
    put(known, kept, A, *(f"{B}{number}" for number in range(20)))
    assert known.find([A]) == {A: 0}


def test_the_url_of_a_page_is_known_if_it_is_recent(known: UrlIndex, kept: Kept) -> None:
    kept[0] = A
    known.add_all([A])
    assert known.recent.url_of(0) is None
    put(known, kept, B)
    assert known.recent.url_of(1) == B
    known.find([A])
    assert known.recent.url_of(0) == A


def test_loaded_pages_are_numbered_on(known: UrlIndex, kept: Kept) -> None:
    kept.update(enumerate((A, B, C)))
    known.add_all(iter((A, B)))
    known.add_all(iter((C,)))
    assert known.find([C, B, A]) == {A: 0, B: 1, C: 2}
    put(known, kept, f"{A}new")
    assert known.find([f"{A}new"]) == {f"{A}new": 3}


@pytest.mark.usefixtures("forgetful")
@given(st.lists(st.text(max_size=3)), st.sampled_from([hash, lambda _url: 7, len]))
def test_the_index_agrees_with_a_dictionary(urls: list[str], code_of: Callable[[str], int]) -> None:
    kept, truth = Kept(), dict[str, int]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(url_index, "code_of", code_of)
        known = UrlIndex(kept, bytes(1000), [""])
        for url in urls:
            assert known.find([url]) == ({url: truth[url]} if url in truth else {})
            if url not in truth:
                truth[url] = len(truth)
                put(known, kept, url)
        assert known.find(urls) == truth


# ---------------------------------------------------------------- look-ups ahead


def looked_up(known: UrlIndex, kept: Kept, *urls: str) -> None:
    """Look up the candidates of URLs, as the loop does before it meets the URLs."""
    _, candidates = known.find_recent(urls)
    known.remember({kept[page]: page for pages in candidates.values() for page in pages})


@pytest.mark.usefixtures("forgetful")
def test_a_url_looked_up_ahead_is_found_without_the_store(known: UrlIndex, kept: Kept) -> None:
    urls = [f"{A}{number}" for number in range(9)]
    put(known, kept, *urls)
    assert known.find_recent(urls[1:2]) == ({}, {urls[1]: [1]})
    looked_up(known, kept, urls[1], B)
    assert known.find([urls[1], B]) == {urls[1]: 1}
    assert kept.asked == 0


def test_a_recent_url_is_no_candidate(known: UrlIndex, kept: Kept) -> None:
    put(known, kept, A, B)
    assert known.find_recent([A, B, C]) == ({A: 0, B: 1}, {})


@pytest.mark.usefixtures("one_hash_for_all")
def test_a_url_looked_up_ahead_is_not_taken_for_another_of_its_hash(
    known: UrlIndex, kept: Kept
) -> None:
    kept.update(enumerate((A, B)))
    known.add_all([A, B])
    found, candidates = known.find_recent([C])
    assert (found, sorted(candidates[C])) == ({}, [0, 1])
    looked_up(known, kept, C)
    assert known.find([A, B, C]) == {A: 0, B: 1}
