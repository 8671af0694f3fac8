"""What was derived from a store, in a file of its own beside it: `crawl.db-ranks`.

It is not in the store, because a crawl may be writing that, and because it can be made anew: the
file may be deleted at any time.

Laws: nothing in it is half written; whatever was derived from another store of the same name is
as if it were not there, and goes when something is written.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from minicrawl.errors import StoreError
from minicrawl.store import tables
from minicrawl.store.place import real_path
from minicrawl.store.reader import begin_snapshot, connect
from minicrawl.store.tables import Connection
from minicrawl.store.trouble import NONSENSE, translating_sqlite_errors

SUFFIX = "-ranks"
DERIVED = "what it holds is derived: delete it if need be, and make it anew"

_PATIENCE_S = 60.0


def beside(store: Path) -> Path:
    """Where it is; by whatever name a store goes, this is one place."""
    place = real_path(store)
    return place.with_name(f"{place.name}{SUFFIX}")


@contextmanager
def reading_beside(store: Path, connection: Connection) -> Iterator[Connection | None]:
    """What was derived from the store that `connection` reads; None if nothing was."""
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
    """One transaction; the schema is `CREATE TABLE IF NOT EXISTS` and its like."""
    path = beside(store)
    with (
        translating_sqlite_errors(path, DERIVED),
        closing(sqlite3.connect(path, timeout=_PATIENCE_S, isolation_level=None)) as derived,
    ):
        derived.execute("PRAGMA journal_mode = WAL")
        derived.execute("BEGIN IMMEDIATE")
        with derived:  # commits, or rolls back
            if not _is_derived_from(derived, connection):
                _begin_anew(derived, connection)
            for statement in schema.split(";"):
                derived.execute(statement)
            yield derived


@contextmanager
def _reporting_damage(path: Path) -> Iterator[None]:
    """What is read here makes sense, or can be made anew."""
    try:
        yield
    except NONSENSE as error:
        raise StoreError(f"{path} is damaged ({error}); {DERIVED}") from error


def _is_derived_from(derived: Connection, connection: Connection) -> bool:
    """Whether it was derived from this store."""
    if not derived.execute("SELECT 1 FROM sqlite_master WHERE name = 'derived_from'").fetchone():
        return False
    row = derived.execute("SELECT store FROM derived_from").fetchone()
    return row is not None and str(row[0]) == tables.birth(connection)


def _begin_anew(derived: Connection, connection: Connection) -> None:
    names = derived.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    for (name,) in names:
        derived.execute(f'DROP TABLE "{name}"')
    derived.execute("CREATE TABLE derived_from (store TEXT NOT NULL)")
    derived.execute("INSERT INTO derived_from VALUES (?)", (tables.birth(connection),))
