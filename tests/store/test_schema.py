import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.errors import UsageError
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.schema import VERSION, prepare
from minicrawl.store.writer import StoreWriter
from tests.stores import filled_store


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def assert_refused(path: Path, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        StoreWriter.open(path)
    with pytest.raises(UsageError, match=message), reading(path):
        pass


def test_a_current_store_is_unchanged(store: Path) -> None:
    before = store.read_bytes()
    with closing(sqlite3.connect(store)) as connection:
        prepare(connection, str(store))
    assert store.read_bytes() == before


def test_a_newer_store_is_refused_with_both_versions(store: Path) -> None:
    execute(store, f"PRAGMA user_version = {VERSION + 1}")
    assert_refused(store, f"version {VERSION + 1}, but this minicrawl knows only {VERSION}")


def test_the_database_of_another_program_and_other_files_are_refused(tmp_path: Path) -> None:
    other, no_database = tmp_path / "other.db", tmp_path / "seeds.txt"
    execute(other, "CREATE TABLE notes (text)")
    no_database.write_text("https://example.org/\n" * 100, encoding="utf-8")
    for path, why in (
        (other, "is an SQLite database, but not a minicrawl store"),
        (no_database, "is not a minicrawl store: file is not a database"),
    ):
        before = path.read_bytes()
        assert_refused(path, why)
        assert path.read_bytes() == before


def downgrade(store: Path, settings: dict[str, str], version: int) -> None:
    """Turn a store into one of an earlier version with given settings."""
    execute(
        store,
        f"UPDATE meta SET value = json_set(value, '$.settings', json('{json.dumps(settings)}')) "
        "WHERE name = 'counters'",
    )
    execute(store, "DROP TABLE scored")
    execute(store, "DROP TABLE own_requests")
    execute(store, "DROP VIEW requests")
    execute(store, "CREATE VIEW requests AS SELECT id FROM fetches")
    execute(store, "ALTER TABLE fetches DROP COLUMN first_byte_s")
    execute(store, f"PRAGMA user_version = {version}")


@pytest.mark.parametrize(
    ("version", "setting", "default", "others"),
    [(7, "keep", "none", ("links", "pages")), (8, "strategy", "greedy", ("siblings",))],
)
def test_an_older_store_keeps_its_settings_and_the_defaults_of_its_version(
    store: Path, version: int, setting: str, default: str, others: tuple[str, ...]
) -> None:
    for chosen in (None, *others):
        downgrade(store, {setting: chosen} if chosen else {}, version)
        with closing(StoreWriter.open(store)) as writer:
            assert tables.settings(writer.connection)[setting] == (chosen or default)
