"""The file of derived data, `crawl.db-ranks`.

It is not part of the store, because a crawl may be writing the store. It can be deleted at any
time: the data can be computed again.

Laws: every write is a transaction. Data of another store that had the same name is ignored, and
deleted by the next write. Everything is read and written in blocks. Each write creates its tables
if there are none; a table that is not there has no rows. A file that cannot be opened is refused by
readers; commands that write it, and each crawl, set it aside (`mend`).
"""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from minicrawl.errors import StoreError, UsageError
from minicrawl.store import tables
from minicrawl.store.disk.trouble import DERIVED, NONSENSE, primary_code, translating_derived_errors
from minicrawl.store.reader import LOG, begin_snapshot, connect, file_beside, remove_log
from minicrawl.store.tables import Connection

SUFFIX = "-ranks"
DAMAGED = f"{SUFFIX}-damaged"
"""Suffix of a file that could not be opened, and in whose place a new one was made."""
SET_ASIDE = "the ranks could not be opened: they are {} now"
_PATIENCE_S = 60.0
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def beside(store: Path) -> Path:
    """Return the path of the derived file, the same by whatever link the store is named."""
    return file_beside(store, SUFFIX)


def mend(store: Path) -> Path | None:
    """Prepare the file for writing, and return the new name of one that cannot be opened, or None.

    SQLite takes back a change that a power failure left unfinished, which a reader cannot do.
    """
    path = beside(store)
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(path, timeout=_PATIENCE_S)) as derived:
            _is_derived_from(derived, "")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if primary_code(error) not in _DAMAGE:
            return None  # busy, or the disk is full: whoever writes next says so
        aside = file_beside(store, DAMAGED)
        path.replace(aside)
        for end in ("-journal", LOG, "-shm"):
            file_beside(path, end).unlink(missing_ok=True)
        return aside
    return None


@contextmanager
def reading_beside(store: Path, connection: Connection) -> Iterator[Connection | None]:
    """Yield a connection to the derived data of the store, or None if there is none."""
    path = beside(store)
    if not path.is_file():
        yield None
        return
    birth = tables.birth(connection)  # outside: damage to the store is not damage to this file
    with translating_derived_errors(path), closing(connect(path)) as derived:
        begin_snapshot(derived)
        try:
            yield derived if _is_derived_from(derived, birth) else None
        except NONSENSE as error:
            raise StoreError(f"{path} is damaged ({error}); {DERIVED}") from error
    remove_log(path)


@contextmanager
def writing_beside(store: Path, connection: Connection, schema: str) -> Iterator[Connection]:
    """Yield a transaction in the derived file, after creating the tables of `schema`."""
    path, birth = beside(store), tables.birth(connection)
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"{path} cannot be written, as its folder is read-only")
    with (
        translating_derived_errors(path),
        closing(sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)) as derived,
    ):
        derived.execute("PRAGMA journal_mode = WAL")
        derived.execute("BEGIN IMMEDIATE")
        with derived:  # commits, or rolls back
            if not _is_derived_from(derived, birth):
                names = "SELECT name FROM sqlite_master WHERE type = 'table'"
                for (name,) in derived.execute(names).fetchall():
                    derived.execute(f'DROP TABLE "{name}"')
                derived.execute("CREATE TABLE derived_from (store TEXT NOT NULL)")
                derived.execute("INSERT INTO derived_from VALUES (?)", (birth,))
            for statement in schema.split(";"):
                derived.execute(statement)
            yield derived


def has_table(derived: Connection | None, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE name = ?"
    return derived is not None and derived.execute(query, (name,)).fetchone() is not None


def derived_rows(
    store: Path, connection: Connection, table: str, clauses: str = "", values: Sequence[Any] = ()
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a table beside the store; `clauses` end the query."""
    with reading_beside(store, connection) as derived:
        if derived is not None and has_table(derived, table):
            yield from derived.execute(f"SELECT * FROM {table} {clauses}", values)


def _is_derived_from(derived: Connection, birth: str) -> bool:
    if not has_table(derived, "derived_from"):
        return False
    row = derived.execute("SELECT store FROM derived_from").fetchone()
    return row is not None and str(row[0]) == birth
