"""`minicrawl.Store`: the results of a crawl for programs."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from minicrawl import State, Store
from minicrawl.errors import UsageError
from tests.stores import DEEP, GONE, MOVED, A, B, C, filled_store


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(filled_store(path)) as found:
        yield found


def test_a_missing_store_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nothing\.db"):
        Store.open(tmp_path / "nothing.db")


def test_pages_come_by_importance_and_are_selected_by_state_host_and_number(store: Store) -> None:
    rows = list(store.pages())
    assert len(rows) == len(store) == 6
    assert [row.rank for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.url for row in store.pages(states=[State.NOT_FOUND])] == [GONE]
    table = store.pages(host="b.example")
    assert {row.host for row in table} == {"b.example"}
    assert len(table) == 2 == len(list(table))
    assert store.pages(2).columns()["rank"] == [1, 2]
    assert {len(column) for column in store.pages().columns("opic").values()} == {6}


def test_what_cannot_be_selected_is_refused(store: Store) -> None:
    with pytest.raises(UsageError, match="-3 pages"):
        store.pages(-3)
    with pytest.raises(UsageError, match=r"'fetched'.*State"):
        store.pages(states=["fetched"])  # type: ignore[list-item]  # as programs do


def test_answers_are_those_of_the_commands(store: Store) -> None:
    assert store.explain(A).title == "The first"
    assert [page.url for page in store.errors().pages] == [GONE]
    assert store.status().pages_fetched == 2
    assert {page.url for page in store.links(A)} == {B, DEEP}
    assert {page.url for page in store.backlinks(B)} == {A}
    assert [(link.source, link.target) for link in store.broken_links()] == [(B, GONE)]


def test_arrays_matrix_and_networkx_have_the_same_links(store: Store) -> None:
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


def test_a_change_of_returned_scores_changes_no_rank(store: Store) -> None:
    assert store.ranks() == ["opic"]
    store.rank()[:] = 0
    assert store.rank().sum() == pytest.approx(1)


class TestTables:
    def test_a_pandas_table_has_typed_columns(self, store: Store) -> None:
        pytest.importorskip("pandas")
        table = store.pages().to_pandas()
        assert list(table["url"]) == [row.url for row in store.pages()]
        assert np.isclose(table["importance"].sum(), 1)
        assert str(table["status"].dtype) == "Int16"

    def test_an_arrow_table_has_the_same_rows(self, store: Store) -> None:
        pytest.importorskip("pyarrow")
        table = store.pages().to_arrow()
        assert table.column("url").to_pylist() == [row.url for row in store.pages()]

    def test_a_polars_table_has_typed_columns(self, store: Store) -> None:
        polars = pytest.importorskip("polars")
        table = store.pages().to_polars()
        assert table["url"].to_list() == [row.url for row in store.pages()]
        assert table["first_fetched"].dtype == polars.Datetime("us", "UTC")
        assert table["status"].null_count() == 3
