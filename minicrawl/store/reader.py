"""Reading a store, also while a crawl is writing it.

Law: a reader sees one moment of the store, and never changes it.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from minicrawl.errors import UsageError
from minicrawl.store.place import real_path
from minicrawl.store.schema import VERSION, check_version
from minicrawl.store.trouble import translating_sqlite_errors

LOCK = "-lock"
"""What a store's writer holds is beside it by this name."""

_CACHE_KIB = 16_384
_FIRST_QUERY = "SELECT count(*) FROM sqlite_master"


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads the store as it is now."""
    if not path.is_file():
        raise UsageError(f"no store at {path}: `minicrawl crawl` makes one, --store names another")
    connection = _connect(path)
    try:
        with translating_sqlite_errors(path):
            _refuse_old_version(check_version(connection, str(path)), path)
            connection.execute("BEGIN")
            yield connection
    finally:
        connection.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection for questions of which each is answered as of its own moment."""
    connection = _connect(path)
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    return connection


def begin_snapshot(connection: sqlite3.Connection) -> None:
    """From now on all questions are answered as of one moment, in half the time.

    Not for long: the write-ahead log grows until the connection lets go.
    """
    connection.execute("BEGIN")


def end_snapshot(connection: sqlite3.Connection) -> None:
    """Each question is answered as of its own moment again."""
    if connection.in_transaction:
        connection.execute("COMMIT")


def _connect(path: Path) -> sqlite3.Connection:
    place = f"file:{quote(str(path.absolute()))}?mode=ro"
    connection = sqlite3.connect(place, uri=True, isolation_level=None)
    try:
        connection.execute(_FIRST_QUERY)
    except sqlite3.OperationalError as error:
        connection.close()
        return _connect_read_only(path, place, error)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        pass  # no database at all: the version check says so
    return connection


def _connect_read_only(
    path: Path, place: str, error: sqlite3.OperationalError
) -> sqlite3.Connection:
    """A disk that is full, or read-only, has no room for the index of a write-ahead log.

    Without a lock the index is kept in memory. That is safe while nobody writes; a crawl that
    runs has made room for the index.
    """
    if _beside(path, "-journal").exists():
        raise UsageError(f"{path} was left half changed: `minicrawl crawl` mends it") from error
    if not _has_content(_beside(path, "-wal")):
        return sqlite3.connect(f"{place}&immutable=1", uri=True, isolation_level=None)
    if _is_being_written(path):
        raise UsageError(f"{path} cannot be read: {error}") from error
    connection = sqlite3.connect(f"{place}&vfs=unix-none", uri=True, isolation_level=None)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute(_FIRST_QUERY)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        connection.close()
        raise UsageError(f"{path} cannot be read: {error}") from error
    return connection


def _beside(path: Path, suffix: str) -> Path:
    place = real_path(path)
    return place.with_name(f"{place.name}{suffix}")


def _has_content(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _is_being_written(path: Path) -> bool:
    """Whether a crawl holds the lock of the store."""
    try:
        lock = os.open(_beside(path, LOCK), os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _refuse_old_version(version: int, path: Path) -> None:
    if version < VERSION:
        raise UsageError(f"{path} is of schema version {version}: `minicrawl crawl` brings it up")
