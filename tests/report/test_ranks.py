from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.report.saved_ranks import RISING, position_of, scores
from minicrawl.report.selected_pages import PageSelection, rows, top
from minicrawl.report.snapshot import places_of_largest, snapshot
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.records import StoreTerms
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store


def urls(path: Path, **choice: object) -> list[str]:
    with snapshot(path) as seen:
        return [row.url for row in rows(seen, PageSelection(**choice))]  # type: ignore[arg-type]


class TestOrder:
    @given(st.lists(st.integers(-3, 3), max_size=30), st.integers(0, 35))
    def test_the_largest_few_are_the_head_of_the_sorted_list(
        self, numbers: list[int], count: int
    ) -> None:
        values = np.array(numbers, dtype=np.int64)
        expected = sorted(range(len(numbers)), key=lambda place: (-numbers[place], place))
        assert places_of_largest(values, count).tolist() == expected[: count or None]

    @given(st.lists(st.integers(0, 3), min_size=1, max_size=30))
    def test_the_rank_of_a_value_is_its_position_in_the_order(self, numbers: list[int]) -> None:
        values = np.array(numbers, dtype=np.float64)
        order = places_of_largest(values, 0).tolist()
        assert [position_of(values, place) for place in order] == list(range(1, len(order) + 1))


class TestRows:
    def test_pages_are_sorted_by_importance_with_all_their_facts(self, store: Path) -> None:
        with snapshot(store) as seen:
            found = list(rows(seen, PageSelection()))
            order = places_of_largest(seen.importance, 0).tolist()
            cash = [seen.frontier.ledger.cash(page) / UNIT for page in order]
        assert [row.cash for row in found] == pytest.approx(cash)
        assert sum(cash) == pytest.approx(16)
        assert {row.url for row in found} == {A, B, C, MOVED, GONE, DEEP}
        assert [row.rank for row in found] == [1, 2, 3, 4, 5, 6]
        shares = [row.importance for row in found]
        assert sum(shares) == pytest.approx(1)
        assert sorted(shares, reverse=True) == shares
        by_url = {row.url: row for row in found}
        first, deep = by_url[A], by_url[DEEP]
        assert (first.host, first.history) == ("a.example", 6.0)
        assert (first.inlinks, first.state, first.status, first.depth) == (2, "fetched", 200, 0)
        assert (first.title, first.first_fetched) == ("The first", "2027-01-15T08:00:01Z")
        assert (deep.state, deep.status, deep.title, deep.depth) == ("unread", None, "", 1)
        assert by_url[MOVED].state == "moved"
        assert (by_url[GONE].state, by_url[GONE].last_fetched) == ("not-found", None)

    def test_a_page_that_disappeared_keeps_its_title(self, path: Path) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds([A])
            crawl.read(A, title="Here")
            crawl.ended(A, State.NOT_FOUND)
        with snapshot(crawl.path) as seen:
            (row,) = rows(seen, PageSelection())
        assert (row.title, row.state, row.status) == ("Here", "not-found", None)

    def test_pages_can_be_selected_and_keep_their_rank_among_all(
        self, store: Path, tmp_path: Path
    ) -> None:
        everything = urls(store)
        for choice, selected in (
            ({"unread": True}, {DEEP, C}),
            ({"fetched": True}, {A, B}),
            ({"host": "B.example"}, {B, GONE}),
            ({"count": 2}, set(everything[:2])),
            ({"count": 1, "unread": True}, {min({DEEP, C}, key=everything.index)}),
        ):
            with snapshot(store) as seen:
                found = list(rows(seen, PageSelection(**choice)))
            assert {row.url for row in found} == selected
            assert [everything[row.rank - 1] for row in found] == [row.url for row in found]
        assert everything == urls(filled_store(tmp_path / "log.db", checkpoint=False))
        with closing(HandCrawl(tmp_path / "ports.db")) as crawl:
            crawl.seeds([A, "https://a.example:8443/", B])
        assert urls(crawl.path, host="a.example") == [A, "https://a.example:8443/"]

    @pytest.mark.parametrize("window", WINDOWS)
    def test_every_window_has_a_history(self, tmp_path: Path, window: str) -> None:
        path = filled_store(tmp_path / "crawl.db", StoreTerms(window=window))
        with snapshot(path) as seen:
            assert {row.url: row.history for row in rows(seen, PageSelection())}[A] == 6.0


def test_top_pages_say_whether_they_were_fetched(store: Path) -> None:
    with snapshot(store) as seen:
        found = list(top(seen, PageSelection()))
    assert [page["url"] for page in found if page["fetched"]] == urls(store, fetched=True)
    assert sorted(page["found"] for page in found) == list(range(1, len(found) + 1))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 9])
def test_top_can_omit_redirects_and_missing_pages(store: Path, count: int) -> None:
    with snapshot(store) as seen:
        every = list(top(seen, PageSelection()))
        pages = [page for page in every if page["url"] not in (MOVED, GONE)]
        best = list(top(seen, PageSelection(count=count, only_pages=True)))
        assert best == pages[: count or None]
        unread = list(top(seen, PageSelection(only_pages=True, unread=True)))
        assert unread == [page for page in pages if not page["fetched"]]


def test_unread_pages_with_a_presumed_history_are_not_rising(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.batch.counters[tables.SETTINGS] = {"newborn-history": "mean"}
        crawl.seeds([A, B, C])
        crawl.presume([A, B, C], UNIT)
        crawl.read(A, [B])
        crawl.read(C, [B])
    with snapshot(crawl.path) as seen:
        assert np.isnan(scores(seen, RISING)).tolist() == [False, True, False]


@pytest.mark.parametrize("checkpoint", [True, False])
def test_a_page_rises_by_the_cash_it_received_since_it_was_read(
    tmp_path: Path, *, checkpoint: bool
) -> None:
    """The score follows from each page's history, time of reading and cash in the store."""
    path = filled_store(tmp_path / "crawl.db", checkpoint=checkpoint)
    with snapshot(path) as seen:
        found, ledger = scores(seen, RISING), seen.frontier.ledger
        pages = range(len(seen))
        pasts = [seen.frontier.window.past(page) for page in pages]
        cash = [ledger.cash(page) / UNIT for page in pages]
        read = np.flatnonzero(seen.was_read).tolist()
    predicted = [history * (ledger.now - at) for history, at, _ in pasts]
    scale = sum(cash[page] for page in read) / sum(predicted[page] for page in read)
    assert len(read) >= 2
    for page in pages:
        if page in read:
            assert found[page] == pytest.approx((cash[page] + 1) / (predicted[page] * scale + 1))
        else:
            assert np.isnan(found[page])
