"""Reading a store, also while a crawl is writing it.

Law: a reader sees one moment of the store, and never changes it.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from minicrawl.errors import UsageError
from minicrawl.store.schema import VERSION, check_version
from minicrawl.store.trouble import told

_CACHE_KIB = 16_384


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads the store as it is now."""
    if not path.is_file():
        raise UsageError(f"no store at {path}: `minicrawl crawl` makes one, --store names another")
    connection = _connect(path)
    try:
        with told(path):
            _refuse_what_is_old(check_version(connection, str(path)), path)
            connection.execute("BEGIN")
            yield connection
    finally:
        connection.close()


def glance(path: Path) -> sqlite3.Connection:
    """A connection for questions of which each is answered as of its own moment."""
    connection = _connect(path)
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    return connection


def hold(connection: sqlite3.Connection) -> None:
    """From now on all questions are answered as of one moment, in half the time.

    Not for long: the write-ahead log grows until the connection lets go.
    """
    connection.execute("BEGIN")


def let_go(connection: sqlite3.Connection) -> None:
    """Each question is answered as of its own moment again."""
    if connection.in_transaction:
        connection.execute("COMMIT")


def _connect(path: Path) -> sqlite3.Connection:
    """A place that cannot be written has no room for the index of a write-ahead log either."""
    place = f"file:{quote(str(path.absolute()))}?mode=ro"
    connection = sqlite3.connect(place, uri=True, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError as error:
        connection.close()
        if path.with_name(f"{path.name}-journal").exists():
            raise UsageError(f"{path} was left half changed: `minicrawl crawl` mends it") from error
        if path.with_name(f"{path.name}-wal").exists():
            raise UsageError(f"{path} cannot be read: {error}") from error
        return sqlite3.connect(f"{place}&immutable=1", uri=True, isolation_level=None)
    except sqlite3.DatabaseError:
        pass  # no database at all: the version check says so
    return connection


def _refuse_what_is_old(version: int, path: Path) -> None:
    if version < VERSION:
        raise UsageError(f"{path} is of schema version {version}: `minicrawl crawl` brings it up")
