import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.frontier.page_table import contradictions, verify
from minicrawl.store import tables
from tests.stores import A, B, HandCrawl


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


def test_a_committed_store_is_consistent(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B])
        crawl.batch.counters[tables.FETCHES] = 1
        crawl.commit()
        verify(crawl.loaded(), crawl.store.connection)


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("DELETE FROM fetches WHERE id = 2", "fetches: 1, but 2"),
        ("INSERT INTO steps VALUES (4, 7, 0, 0, 0, 0, NULL)", "steps: 4, but 3"),
        ("DELETE FROM steps WHERE seq = 3", "states: "),
        ("UPDATE frontier SET state = 9 WHERE id = 0", "states: "),
        ("UPDATE meta SET value = 7 WHERE name = 'recorded'", "recorded: "),
        ("UPDATE hosts SET id = 7 WHERE id = 1", "hosts are known, but 2 have"),
        ("DELETE FROM urls WHERE id = 1", "1 URLs are known, but 2 pages were born"),
    ],
)
def test_tables_older_or_newer_than_the_rest_are_found(
    path: Path, statement: str, wrong: str
) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B])
        crawl.checkpoint()
        crawl.read(B, [A])
        crawl.batch.counters[tables.FETCHES] = 2
        crawl.commit()
        crawl.store.connection.execute(statement)
        with pytest.raises(ValueError, match=wrong):
            verify(crawl.loaded(), crawl.store.connection)


def test_a_store_of_an_older_version_without_counters_is_accepted(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.commit()
        crawl.store.connection.execute("UPDATE meta SET value = '{}' WHERE name = 'counters'")
        verify(crawl.loaded(), crawl.store.connection)


def complaints(path: Path) -> list[str]:
    with closing(HandCrawl(path)) as crawl:
        return list(contradictions(crawl.loaded(), crawl.store.connection))


@pytest.mark.parametrize(
    ("statement", "wrong"),
    [
        ("SELECT 1", []),
        ("DELETE FROM documents WHERE page = 0", ["1 pages were read, but have no document"]),
        (
            "UPDATE fetches SET page = 1 WHERE page = 0",
            ["1 documents of pages that were never requested"],
        ),
    ],
)
def test_pages_and_fetches_that_contradict_each_other_are_found(
    path: Path, statement: str, wrong: list[str]
) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B])
        crawl.checkpoint()
        crawl.store.connection.execute(statement)
    assert complaints(path) == wrong


def test_a_fetch_that_the_index_by_page_lacks_is_found(path: Path) -> None:
    index = "name = 'fetches_of_page'"
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
        crawl.read(A)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA writable_schema = ON")
        row = connection.execute(f"SELECT * FROM sqlite_master WHERE {index}").fetchone()
        connection.execute(f"DELETE FROM sqlite_master WHERE {index}")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO fetches SELECT NULL, 0, 0, '', 200, 0, 0, '', NULL FROM urls"
        )
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", row)
    # SQLite's own check compares the entries of an index as well, in newer versions.
    assert complaints(path)[0] == "2 fetches are known, but the index by page has 1"
