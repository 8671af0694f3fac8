"""The file beside a store for data derived from it: `crawl.db-ranks`.

It is not part of the store, because a crawl may be writing the store, and because the data can be
computed again: the file may be deleted at any time.

Laws: every write is a transaction. Data of another store that had the same name is ignored, and
deleted by the next write.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import chain, count
from pathlib import Path

from minicrawl.errors import StoreError
from minicrawl.store import tables
from minicrawl.store.reader import begin_snapshot, connect, real_path
from minicrawl.store.tables import Connection
from minicrawl.store.trouble import NONSENSE, translating_sqlite_errors
from minicrawl.store.writer import Store

SUFFIX = "-ranks"
DERIVED = "delete it if need be: it can be made again"

_PATIENCE_S = 60.0


def beside(store: Path) -> Path:
    """The path of the file. It is the same for all names of a store."""
    place = real_path(store)
    return place.with_name(f"{place.name}{SUFFIX}")


@contextmanager
def reading_beside(store: Path, connection: Connection) -> Iterator[Connection | None]:
    """A connection to the file of the store that `connection` reads; None if there is no data."""
    path = beside(store)
    if not path.is_file():
        yield None
        return
    with (
        translating_sqlite_errors(path, DERIVED),
        closing(connect(path)) as derived,
        _reporting_damage(path),
    ):
        begin_snapshot(derived)
        yield derived if _is_derived_from(derived, connection) else None


@contextmanager
def writing_beside(store: Path, connection: Connection, schema: str) -> Iterator[Connection]:
    """A transaction in the file. The schema has statements such as `CREATE TABLE IF NOT EXISTS`."""
    path = beside(store)
    with (
        translating_sqlite_errors(path, DERIVED),
        closing(sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)) as derived,
    ):
        derived.execute("PRAGMA journal_mode = WAL")
        derived.execute("BEGIN IMMEDIATE")
        with derived:  # commits, or rolls back
            if not _is_derived_from(derived, connection):
                _clear(derived, connection)
            for statement in schema.split(";"):
                derived.execute(statement)
            yield derived


@contextmanager
def _reporting_damage(path: Path) -> Iterator[None]:
    """Turn an error of bad values into a `StoreError` about the file."""
    try:
        yield
    except NONSENSE as error:
        raise StoreError(f"{path} is damaged ({error}); {DERIVED}") from error


def _is_derived_from(derived: Connection, connection: Connection) -> bool:
    """Whether the file belongs to this store."""
    if not derived.execute("SELECT 1 FROM sqlite_master WHERE name = 'derived_from'").fetchone():
        return False
    row = derived.execute("SELECT store FROM derived_from").fetchone()
    return row is not None and str(row[0]) == tables.birth(connection)


def _clear(derived: Connection, connection: Connection) -> None:
    names = derived.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in names:
        derived.execute(f'DROP TABLE "{name}"')
    derived.execute("CREATE TABLE derived_from (store TEXT NOT NULL)")
    derived.execute("INSERT INTO derived_from VALUES (?)", (tables.birth(connection),))


# ---------------------------------------------------------------- all files of a store

_WHILE_READ = ("", "-wal", "-shm")
"""The last two exist while a process has the store open."""
_FILES = (*_WHILE_READ, *(f"{SUFFIX}{end}" for end in _WHILE_READ))


def set_aside(path: Path) -> Path | None:
    """Rename the store. Returns its new name, or None if there is no store.

    If the path is a link, the store that it leads to is renamed, and the link stays.
    """
    if not path.exists():
        return None
    if path.is_symlink():
        path = real_path(path)
    with closing(Store.open(path)) as store:  # nobody else is writing it
        store.compact()
    stamp = time.strftime(f"{path.name}.%Y-%m-%dT%H-%M-%S")
    names = chain((stamp,), (f"{stamp}-{number}" for number in count(2)))
    aside = next(free for name in names if not (free := path.with_name(name)).exists())
    for suffix in _FILES:
        if (file := path.with_name(path.name + suffix)).exists():
            file.rename(aside.with_name(aside.name + suffix))
    return aside
