"""Stores of other versions and files of other programs are migrated or refused."""

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


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def assert_refused(path: Path, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        StoreWriter.open(path)
    with pytest.raises(UsageError, match=message), reading(path):
        pass


def test_a_current_store_is_unchanged(filled: Path) -> None:
    before = filled.read_bytes()
    with closing(sqlite3.connect(filled)) as connection:
        prepare(connection, str(filled))
    assert filled.read_bytes() == before


def test_a_newer_store_is_refused_with_both_versions(filled: Path) -> None:
    execute(filled, f"PRAGMA user_version = {VERSION + 1}")
    assert_refused(filled, rf"{filled}.* {VERSION + 1}\b.* {VERSION}\b")


def test_the_database_of_another_program_and_other_files_are_refused(tmp_path: Path) -> None:
    other, no_database = tmp_path / "other.db", tmp_path / "seeds.txt"
    execute(other, "CREATE TABLE notes (text)")
    no_database.write_text("https://example.org/\n" * 100, encoding="utf-8")
    for path, why in (
        (other, "other.db is an SQLite database, but not a minicrawl store"),
        (no_database, "seeds.txt is not a minicrawl store"),
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
        "DROP TABLE scored",
        "DROP TABLE own_requests",
        "DROP VIEW requests",
        "CREATE VIEW requests AS SELECT id FROM fetches",
        "ALTER TABLE fetches DROP COLUMN first_byte_s",
        f"PRAGMA user_version = {version}",
    )


@pytest.mark.parametrize(
    ("version", "setting", "default", "others"),
    [(7, "keep", "none", ("links", "pages")), (8, "strategy", "greedy", ("siblings",))],
)
def test_an_older_store_keeps_its_settings_and_the_defaults_of_its_version(
    filled: Path, version: int, setting: str, default: str, others: tuple[str, ...]
) -> None:
    for chosen in (None, *others):
        downgrade(filled, {setting: chosen} if chosen else {}, version)
        with closing(StoreWriter.open(filled)) as writer:
            assert tables.settings(writer.connection)[setting] == (chosen or default)
