"""What is told of a URL was put for it, however little room there is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.frontier import lately as lately_module
from minicrawl.frontier.lately import Lately

A, B, C, D = (f"http://{name}.example/" for name in "abcd")


@pytest.fixture
def lately() -> Lately:
    return Lately()


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """For three lines."""
    monkeypatch.setattr(lately_module, "ROOM", 64)


@pytest.fixture
def hashes_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four slots in all, and places that tell nothing of the hash."""
    monkeypatch.setattr(lately_module, "FEWEST_SLOTS", 4)
    monkeypatch.setattr(lately_module, "MOST_SLOTS", 4)
    monkeypatch.setattr(lately_module, "_HASH_BITS", 0)


def test_what_was_put_is_found_and_the_rest_is_not(lately: Lately) -> None:
    lately.put(A, 0)
    lately.put(B, 4_000_000_000)
    assert lately.find([C, B, A]) == ({B: 4_000_000_000, A: 0}, [C])


@pytest.mark.usefixtures("hashes_alike")
def test_a_url_that_begins_as_another_one_is_not_the_other(lately: Lately) -> None:
    lately.put(f"{A}long", 1)
    assert lately.find([A, f"{A}longer"]) == ({}, [A, f"{A}longer"])


@pytest.mark.usefixtures("little_room")
def test_new_bytes_take_the_place_of_the_oldest(lately: Lately) -> None:
    for page, url in enumerate((A, B, C, D)):
        lately.put(url, page)
    assert lately.find([A, B, C, D]) == ({B: 1, C: 2, D: 3}, [A])


@pytest.mark.usefixtures("hashes_alike")
def test_who_came_last_is_found_however_few_slots_there_are() -> None:
    lately, urls = Lately(), [f"{A}{page}" for page in range(10)]
    for page, url in enumerate(urls):
        lately.put(url, page)
        found, others = lately.find(urls)
        assert found[url] == page
        assert len(found) <= 4
        assert {*found, *others} == {*urls}


def test_nearly_nobody_is_lost_while_it_grows(lately: Lately) -> None:
    urls = [f"{A}{page}" for page in range(70_000)]
    for page, url in enumerate(urls):
        lately.put(url, page)
    found, others = lately.find(urls)
    assert found == {url: page for page, url in enumerate(urls) if url in found}
    assert len(others) < 3500


@pytest.mark.usefixtures("little_room", "hashes_alike")
@given(st.lists(st.text(max_size=8)))
def test_it_never_takes_one_url_for_another(urls: list[str]) -> None:
    lately, truth = Lately(), dict[str, int]()
    for url in urls:
        lately.put(url, truth.setdefault(url, len(truth)))
        found, others = lately.find(truth)
        assert found.items() <= truth.items()
        assert {*found, *others} == truth.keys()
