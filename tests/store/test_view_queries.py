"""Queries of users in SQL only read the views, within limits."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.store import user_queries
from minicrawl.store.user_queries import LONGEST_VALUE, query_views
from minicrawl.store.views import VIEWS
from tests.processes import PATIENCE_S
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
    found = query_views(store, "SELECT id, url FROM pages ORDER BY id", most=2)
    assert found.columns == ["id", "url"]
    assert [number for number, _ in found.rows] == [0, 1]
    assert found.is_cut
    assert not query_views(store, "SELECT 1").is_cut


@pytest.mark.slow
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
        *("SELECT zeroblob(300000)", "SELECT '\ud800'", "SELECT CAST(x'ff' AS TEXT)"),
    ],
)
def test_other_tables_and_statements_are_refused(store: Path, query: str) -> None:
    before = store.read_bytes()
    with pytest.raises(UsageError):
        query_views(store, query)
    assert store.read_bytes() == before


LONG = f"replace(hex(zeroblob({LONGEST_VALUE // 2 - 1})), '0', '%s')"
ENDLESS = {
    "steps": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
    "one call": f"SELECT rtrim({LONG % 'a'}, replace(hex(zeroblob(8100)), '0', 'b') || 'a')",
    "rows": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n WHERE i",
}


@pytest.mark.parametrize("query", ENDLESS.values(), ids=ENDLESS)
def test_an_endless_query_is_ended(store: Path, query: str) -> None:
    beside = set(store.parent.iterdir())
    with pytest.raises(UsageError, match=r"0\.1 s"):
        query_views(store, query, most=10**6, seconds=0.1)
    assert set(store.parent.iterdir()) == beside
    assert query_views(store, "SELECT 1").rows == [(1,)]


@pytest.mark.slow
def test_memory_is_limited(store: Path) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 10000)"
    large = f"{many} SELECT i FROM n ORDER BY hex(zeroblob(100000 + i))"
    with pytest.raises(UsageError, match="memory"):
        query_views(store, large, seconds=PATIENCE_S)


@pytest.mark.parametrize(
    ("ending", "why"),
    [("echo trace >&2; echo no disk >&2; exit 3", "no disk"), ("exit 3", "exit status 3")],
)
def test_why_a_query_ended_early_is_told(
    store: Path, monkeypatch: pytest.MonkeyPatch, ending: str, why: str
) -> None:
    monkeypatch.setattr(user_queries, "OWN_PYTHON", ("sh", "-c", ending))
    with pytest.raises(UsageError, match=f"^the query failed: {why}$"):
        query_views(store, "SELECT 1")


def functions() -> dict[str, tuple[int, str]]:
    """Return the number of arguments and type of each function of this SQLite."""
    with closing(sqlite3.connect(":memory:")) as connection:
        rows = connection.execute(
            "SELECT name, max(iif(narg < 0, 3, narg)), type FROM pragma_function_list GROUP BY name"
        )
        return {name: (count, kind) for name, count, kind in rows}


@pytest.mark.proof
@pytest.mark.parametrize("name", functions())
def test_no_function_outlasts_the_limit_with_the_largest_values(store: Path, name: str) -> None:
    """A call that is not ended takes minutes, and runs into the timeout of the test."""
    count, kind = functions()[name]
    values = [LONG % "a", f"substr({LONG % 'b'}, 2) || 'a'", LONG % "%", LONG % "c"]
    call = f'"{name}"({", ".join(values[:count])}){" OVER ()" if kind == "w" else ""}'
    with suppress(UsageError):
        query_views(store, f"SELECT length({call}) FROM states", seconds=0.05)
