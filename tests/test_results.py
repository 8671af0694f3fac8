"""What a crawl found is the same for a program as for the commands."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import minicrawl
from minicrawl.errors import UsageError
from minicrawl.model import State
from minicrawl.results import Store
from tests.stores import DEEP, GONE, MOVED, A, B, C, filled_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(filled_store(tmp_path / "crawl.db")) as found:
        yield found


def test_it_is_part_of_the_api() -> None:
    assert minicrawl.Store is Store


def test_a_store_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.db"):
        Store.open(tmp_path / "nothing.db")


class TestPages:
    def test_all_of_them_the_most_important_first(self, store: Store) -> None:
        rows = list(store.pages())
        assert len(rows) == len(store) == 6
        assert [row.rank for row in rows] == [1, 2, 3, 4, 5, 6]

    def test_some_of_them(self, store: Store) -> None:
        assert [row.url for row in store.pages(states=[State.NOT_FOUND])] == [GONE]
        assert {row.host for row in store.pages(host="b.example")} == {"b.example"}
        assert len(list(store.pages(2))) == 2

    def test_one_of_them_is_explained(self, store: Store) -> None:
        assert store.explain(A).title == "The first"

    def test_what_failed_and_how_far_it_came(self, store: Store) -> None:
        assert [page.url for page in store.errors().pages] == [GONE]
        assert store.status().pages_fetched == 2


class TestLinks:
    def test_from_a_page_to_a_page_and_to_nowhere(self, store: Store) -> None:
        assert {page.url for page in store.links(A)} == {B, DEEP}
        assert {page.url for page in store.backlinks(B)} == {A}
        assert [(link.source, link.target) for link in store.broken_links()] == [(B, GONE)]

    def test_arrays_matrix_and_networkx_have_the_same_links(self, store: Store) -> None:
        urls = store.graph.urls()
        expected = {(A, B), (A, DEEP), (B, A), (B, C), (B, GONE), (MOVED, A)}
        sources, targets = store.graph.arrays()
        assert {(urls[a], urls[b]) for a, b in zip(sources, targets, strict=True)} == expected
        rows, columns = store.graph.matrix().nonzero()
        assert {(urls[a], urls[b]) for a, b in zip(rows, columns, strict=True)} == expected
        graph = store.graph.to_networkx()
        assert set(graph.edges) == expected
        assert graph.nodes[GONE]["state"] == "not-found"
        assert sum(graph.nodes[url]["importance"] for url in urls) == pytest.approx(1)


class TestRanks:
    def test_the_importance_is_always_there(self, store: Store) -> None:
        assert store.ranks() == ["opic"]
        assert store.rank().sum() == pytest.approx(1)

    def test_what_is_given_is_a_copy(self, store: Store) -> None:
        store.rank()[:] = 0
        assert store.rank().sum() == pytest.approx(1)


class TestTables:
    def test_columns_have_a_value_for_each_page(self, store: Store) -> None:
        assert {len(column) for column in store.pages().columns("opic").values()} == {6}
        assert store.pages(2).columns()["rank"] == [1, 2]

    def test_it_tells_its_size(self, store: Store) -> None:
        table = store.pages(host="b.example")
        assert len(table) == 2 == len(list(table)) == len(list(table))
        assert "2 pages" in repr(table)

    def test_pandas(self, store: Store) -> None:
        pytest.importorskip("pandas")
        table = store.pages().to_pandas()
        assert list(table["url"]) == [row.url for row in store.pages()]
        assert np.isclose(table["importance"].sum(), 1)
        assert str(table["status"].dtype) == "Int16"

    def test_arrow(self, store: Store) -> None:
        pytest.importorskip("pyarrow")
        table = store.pages().to_arrow()
        assert table.column("url").to_pylist() == [row.url for row in store.pages()]

    def test_polars(self, store: Store) -> None:
        polars = pytest.importorskip("polars")
        table = store.pages().to_polars()
        assert table["url"].to_list() == [row.url for row in store.pages()]
        assert table["first_fetched"].dtype == polars.Datetime("us", "UTC")
        assert table["status"].null_count() == 3
