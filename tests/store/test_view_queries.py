"""Queries of users in SQL only read the views, within limits."""

from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.store.reader import VIEWS, SqlLimits, query_views
from tests.stores import filled_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled_store(tmp_path_factory.mktemp("views") / "crawl.db")


@pytest.mark.parametrize("view", VIEWS)
def test_each_view_can_be_queried(store: Path, view: str) -> None:
    assert query_views(store, f"SELECT * FROM {view}").rows


def test_string_literals_may_have_forbidden_words(store: Path) -> None:
    query = "SELECT count(*) FROM pages WHERE url LIKE '%/meta/%' OR url = 'it''s meta'"
    assert query_views(store, query).rows == [(0,)]


def test_rows_are_limited(store: Path) -> None:
    found = query_views(store, "SELECT id, url FROM pages ORDER BY id", SqlLimits(rows=2))
    assert found.columns == ["id", "url"]
    assert [number for number, _ in found.rows] == [0, 1]
    assert found.is_cut
    assert not query_views(store, "SELECT 1").is_cut


@pytest.mark.parametrize(
    "query",
    [
        *("SELECT * FROM meta", 'WITH pages AS (SELECT * FROM "Meta") SELECT * FROM pages'),
        *("SELECT * FROM 'meta'", "SELECT * FROM [META]", "SELECT * FROM `meta`"),
        *("SELECT 1 -- '\n FROM meta -- '", "SELECT 1 /* ' */ FROM meta /* ' */"),
        *('SELECT 1 AS "\'" FROM meta, pages AS "\'"', "SELECT '' FROM meta, (SELECT 'it''s')"),
        *("SELECT * FROM sqlite_master", "SELECT * FROM siblings", "PRAGMA user_version"),
        *("DELETE FROM urls", "DROP VIEW pages", "CREATE TEMP TABLE x(a)", "VACUUM", "BEGIN"),
        *("ATTACH ':memory:' AS x", "SELECT load_extension('x')", "SELECT 1; SELECT 2", "SELECT"),
        *("SELECT zeroblob(300000)", "SELECT PRINTF('%.*c', 1000, 'x')", "SELECT format('%d', 1)"),
    ],
)
def test_other_tables_and_statements_are_refused(store: Path, query: str) -> None:
    before = store.read_bytes()
    with pytest.raises(UsageError):
        query_views(store, query)
    assert store.read_bytes() == before


def test_an_endless_query_is_interrupted(store: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    with pytest.raises(UsageError, match=r"0\.01 s"):
        query_views(store, endless, SqlLimits(seconds=0.01))
