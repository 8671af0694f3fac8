from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import StoreError, UsageError
from minicrawl.model import State
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows import WINDOWS
from minicrawl.report.selected_pages import PageSelection, rows, top
from minicrawl.report.snapshot import RISING, places_of_largest, rank_of, scores, snapshot
from minicrawl.store import tables
from minicrawl.store.records import StoreTerms
from minicrawl.wording import iso
from tests.stores import DEEP, GONE, MOVED, NOON, A, B, C, HandCrawl, filled_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


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
        assert [rank_of(values, place) for place in order] == list(range(1, len(order) + 1))


class TestRows:
    def test_pages_are_sorted_by_importance(self, store: Path) -> None:
        with snapshot(store) as seen:
            found = list(rows(seen, PageSelection()))
            np.testing.assert_allclose(
                [row.cash for row in found],
                [
                    seen.frontier.ledger.cash(page) / UNIT
                    for page in places_of_largest(seen.importance, 0).tolist()
                ],
            )
        assert {row.url for row in found} == {A, B, C, MOVED, GONE, DEEP}
        assert [row.rank for row in found] == [1, 2, 3, 4, 5, 6]
        assert sum(row.importance for row in found) == pytest.approx(1)
        assert sorted((row.importance for row in found), reverse=True) == [
            row.importance for row in found
        ]

    def test_a_page_that_disappeared_keeps_its_title(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, title="Here")
            crawl.ended(A, State.NOT_FOUND)
        with snapshot(crawl.path) as seen:
            (row,) = rows(seen, PageSelection())
        assert (row.title, row.state, row.status) == ("Here", "not-found", None)

    def test_a_row_has_all_facts_of_its_page(self, store: Path) -> None:
        with snapshot(store) as seen:
            by_url = {row.url: row for row in rows(seen, PageSelection())}
        first = by_url[A]
        assert first.host == "a.example"
        assert first.history == 6.0
        assert (first.inlinks, first.state, first.status, first.depth) == (2, "fetched", 200, 0)
        assert (first.title, first.first_fetched) == ("The first", "2027-01-15T08:00:01Z")
        assert by_url[DEEP].state == "unread"
        assert (by_url[DEEP].status, by_url[DEEP].title, by_url[DEEP].depth) == (None, "", 1)
        assert by_url[MOVED].state == "moved"
        assert by_url[GONE].state == "not-found"
        assert by_url[GONE].last_fetched is None

    def test_the_cash_of_all_pages_adds_up_but_for_rounding(self, store: Path) -> None:
        with snapshot(store) as seen:
            assert sum(row.cash for row in rows(seen, PageSelection())) == pytest.approx(16)

    def test_the_rank_counts_all_pages_even_in_a_selection(self, store: Path) -> None:
        with snapshot(store) as seen:
            ranks = {row.url: row.rank for row in rows(seen, PageSelection())}
            for choice in (
                PageSelection(unread=True),
                PageSelection(fetched=True),
                PageSelection(host="b.example"),
                PageSelection(count=2),
            ):
                assert all(ranks[row.url] == row.rank for row in rows(seen, choice))

    def test_pages_can_be_selected(self, store: Path) -> None:
        assert set(urls(store, unread=True)) == {DEEP, C}
        assert set(urls(store, fetched=True)) == {A, B}
        assert set(urls(store, host="B.example")) == {B, GONE}
        assert urls(store, count=2) == urls(store)[:2]
        assert urls(store, count=1, unread=True) == urls(store, unread=True)[:1]

    def test_an_unknown_host_is_refused(self, store: Path) -> None:
        with pytest.raises(UsageError, match=r"no page of host d\.example is known"):
            urls(store, host="d.example")

    def test_the_order_does_not_depend_on_the_checkpoint(self, tmp_path: Path, store: Path) -> None:
        assert urls(store) == urls(filled_store(tmp_path / "log.db", checkpoint=False))

    def test_a_store_without_pages_has_no_rows(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")):
            pass
        assert urls(tmp_path / "crawl.db") == []

    def test_a_host_is_selected_with_any_scheme_and_port(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A, "https://a.example:8443/", B])
        assert urls(crawl.path, host="a.example") == [A, "https://a.example:8443/"]

    @pytest.mark.parametrize("window", WINDOWS)
    def test_every_window_has_a_history(self, tmp_path: Path, window: str) -> None:
        path = filled_store(tmp_path / "crawl.db", StoreTerms(window=window))
        with snapshot(path) as seen:
            assert {row.url: row.history for row in rows(seen, PageSelection())}[A] == 6.0


def test_top_pages_say_whether_they_were_fetched(store: Path) -> None:
    with snapshot(store) as seen:
        found = {page.url: page for page in top(seen, PageSelection())}
    assert [url for url, page in found.items() if page.fetched] == urls(store, fetched=True)
    assert list(found[A]._asdict()) == [
        *("rank", "url", "importance", "cash", "history"),
        *("inlinks", "depth", "found", "fetched", "status", "title", "host", "score"),
        "near_duplicates",
    ]
    assert [page.found for page in sorted(found.values(), key=lambda page: page.found)] == list(
        range(1, len(found) + 1)
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 9])
def test_top_can_omit_redirects_and_missing_pages(store: Path, count: int) -> None:
    with snapshot(store) as seen:
        every = list(top(seen, PageSelection()))
        pages = [page for page in every if page.url not in (MOVED, GONE)]
        best = list(top(seen, PageSelection(count=count, only_pages=True)))
        assert best == pages[: count or None]
        unread = list(top(seen, PageSelection(only_pages=True, unread=True)))
        assert unread == [page for page in pages if not page.fetched]


def test_times_are_in_utc_to_the_second() -> None:
    assert iso(NOON + 0.9) == "2027-01-15T08:00:00Z"


def test_a_damaged_store_is_named(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B])
        crawl.commit()
        crawl.store.connection.execute("UPDATE steps SET spending = x'ff' WHERE seq = 2")
    with pytest.raises(StoreError, match=r"crawl\.db is damaged .*`minicrawl check`"):
        urls(crawl.path)


def test_unread_pages_with_a_presumed_history_are_not_rising(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
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
