"""Stores of every earlier schema version are migrated, and survive a kill at any statement.

The tests add a future version that rewrites rows, so that one migration always does.
"""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.errors import UsageError
from minicrawl.store import reader, schema
from minicrawl.store.reader import reading
from minicrawl.store.schema import APPLICATION_ID, MIGRATIONS, check_version
from minicrawl.store.writer import StoreWriter
from tests.proofs import IS_LONG
from tests.stores import filled_store

ALL = (
    *MIGRATIONS,
    "CREATE TABLE later (id INTEGER PRIMARY KEY, path TEXT);"
    "INSERT INTO later SELECT id, upper(path) FROM urls;"
    "UPDATE documents SET title = title || '!';"
    "ALTER TABLE hosts ADD COLUMN later INTEGER NOT NULL DEFAULT 7;",
)
KILLED_FROM = range(len(ALL)) if IS_LONG else (0, 1, len(ALL) - 1)
"""Versions whose migration is killed: a new store, all migrations in turn, and the last one."""
KILLED = """
import os, shutil, signal, sqlite3, sys
from itertools import count
from tests.store.test_migrations import use_all
from minicrawl.store.schema import prepare

def migrate(path, statement):
    statements = count(1)

    def trace(_):
        if next(statements) == statement:
            os.kill(os.getpid(), signal.SIGKILL)

    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # so that unfinished changes are in the file
    connection.set_trace_callback(trace)
    prepare(connection, path)
    os._exit(0)

use_all()
old = sys.argv[1]
for statement in count(1):
    path = f"{old}.{statement}"
    shutil.copy(old, path)
    child = os.fork() or migrate(path, statement)
    if os.waitpid(child, 0)[1] != signal.SIGKILL:
        break
"""

Content = dict[str, list[tuple[object, ...]]]


def use_all() -> None:
    vars(schema).update(MIGRATIONS=ALL, VERSION=len(ALL))


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "MIGRATIONS", ALL)
    for module in (schema, reader):
        monkeypatch.setattr(module, "VERSION", len(ALL))


@pytest.fixture(scope="module")
def today(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled_store(tmp_path_factory.mktemp("today") / "crawl.db")


def store_of(version: int, path: Path, today: Path) -> Path:
    """Create a store with the schema of an earlier version, and the rows of today's that fit."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number, script in enumerate(ALL[:version], start=1):
            connection.executescript(script)
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID if version else 0}")
        connection.execute("ATTACH ? AS today", (str(today),))
        for table in tables_of(connection):
            if table in tables_of(connection, "today"):
                columns = ", ".join(columns_of(connection, table))
                connection.execute(f"INSERT INTO {table} SELECT {columns} FROM today.{table}")
    return path


def tables_of(connection: sqlite3.Connection, place: str = "main") -> list[str]:
    rows = connection.execute(f"SELECT name FROM {place}.sqlite_master WHERE type = 'table'")
    return [name for (name,) in rows]


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    there = {row[1] for row in connection.execute(f"PRAGMA today.table_info({table})")}
    columns = (row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
    return [column for column in columns if column in there]


def content(path: Path) -> Content:
    """Return the schema and all rows of a store, by table."""
    with closing(sqlite3.connect(path)) as connection:
        found = {name: rows(connection, name) for name in ["sqlite_master", *tables_of(connection)]}
    return found | {"version": [version_of(path)]}


def rows(connection: sqlite3.Connection, table: str) -> list[tuple[object, ...]]:
    columns = "type, name, sql" if table == "sqlite_master" else "*"
    return connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()


def version_of(path: Path) -> tuple[int]:
    with closing(sqlite3.connect(path)) as connection:
        return (check_version(connection, str(path)),)


def stages(version: int, folder: Path, today: Path) -> list[Content]:
    """Return the content of a store before and after each of its migrations."""
    path = store_of(version, folder / "stages.db", today)
    found = [content(path)]
    for number in range(version, len(ALL)):
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            script = f"{ALL[number]}PRAGMA application_id = {APPLICATION_ID};"
            connection.executescript(f"{script}PRAGMA user_version = {number + 1};")
        found.append(content(path))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("version", range(len(ALL)))
def test_a_store_of_any_version_is_migrated_with_all_rows(
    tmp_path: Path, today: Path, version: int
) -> None:
    path = store_of(version, tmp_path / "crawl.db", today)
    StoreWriter.open(path).close()
    assert content(path) == stages(version, tmp_path, today)[-1]
    if version:
        assert main(["check", "--store", str(path)]) == 0
        assert len(content(path)["urls"]) == len(content(path)["later"]) == 6


@pytest.mark.proof
@pytest.mark.parametrize("version", KILLED_FROM)
def test_after_a_kill_at_any_statement_a_store_has_one_version_and_can_be_migrated(
    tmp_path: Path, today: Path, version: int
) -> None:
    whole = stages(version, tmp_path, today)
    if not version:  # a new store is created at once
        whole = [whole[0], whole[-1]]
    old = store_of(version, tmp_path / "crawl.db", today)
    subprocess.run(
        [sys.executable, "-c", KILLED, str(old)], cwd=Path(__file__).parents[2], check=True
    )
    killed = [path for path in tmp_path.glob("crawl.db.*") if path.suffix[1:].isdecimal()]
    assert len(killed) > ALL[version].count(";")
    reached = set()
    for path in killed:
        error = complaint(path)
        found = content(path)
        assert "`minicrawl crawl`" in error or found == whole[-1]
        assert found in whole
        reached.add(whole.index(found))
        StoreWriter.open(path).close()
        assert content(path) == whole[-1]
    assert reached == set(range(len(whole)))


def complaint(path: Path) -> str:
    """Return the error of a reader, which may not migrate the store, or an empty text."""
    try:
        with reading(path):
            return ""
    except UsageError as error:
        return str(error)


def test_readers_refuse_a_store_with_an_interrupted_transaction(
    tmp_path: Path, today: Path
) -> None:
    path = store_of(1, tmp_path / "crawl.db", today)
    script = (
        "import os, sqlite3, sys\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "connection.execute('PRAGMA cache_size = 1')\n"
        "connection.execute('BEGIN')\n"
        "for name in 'abcdefgh':\n"
        "    connection.execute(f'CREATE TABLE {name} (x)')\n"
        f"os.kill(os.getpid(), {signal.SIGKILL})\n"
    )
    subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    before = path.read_bytes()
    assert str(path) in complaint(path)
    assert "`minicrawl crawl`" in complaint(path)
    assert path.read_bytes() == before
