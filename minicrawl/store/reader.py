"""Read a store, while a crawl may be writing it.

Law: a reader sees the store as of one moment, and never changes it.

`real_path` says where a store is. Law: a store with several names, through symbolic links, is one
file in one place. The files that belong to it are beside that file.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from minicrawl.errors import UsageError
from minicrawl.own_files import refuse_links
from minicrawl.store.records import translating_sqlite_errors
from minicrawl.store.schema import VERSION, check_version


def real_path(path: Path) -> Path:
    """The file behind all symbolic links, whether it exists or not."""
    place = Path(os.path.realpath(path))
    if place.is_symlink():  # realpath returns a link only if it cannot be resolved
        raise UsageError(f"{path} is a symbolic link to itself")
    return place


def refuse_links_beside(store: Path) -> None:
    """Refuse a store that has links beside it. Raises UsageError."""
    place = real_path(store)
    with suppress(OSError), os.scandir(place.parent) as entries:
        names = [
            one.name
            for one in entries
            if one.name.startswith((f"{place.name}-", f"{place.name}.log"))
        ]
        for name in names:
            file_beside(place, name.removeprefix(place.name))


def refuse_to_overwrite(store: Path) -> None:
    """A store is imported into a new file."""
    if store.exists():
        raise UsageError(f"{store} exists: an import makes a new store and never overwrites one")


ARCHIVE = "-pages"
"""The suffix of the folder with the archive of a store."""

SEARCH = "-search"
"""The suffix of the folder with the search index of a store."""

JUDGED = "-judged.jsonl"
"""The suffix of the file with what users said of results of searches."""

LOCK = "-lock"
"""The suffix of the file that the writer of a store locks."""

DASHBOARD = "-dashboard"
"""The suffix of the note that the dashboard of a store locks, with its address and token."""

LOG = "-wal"
"""The suffix of the write-ahead log of SQLite."""


def file_beside(path: Path, suffix: str) -> Path:
    """A file or folder beside a store, which is no link, and the same for all names of the store.

    The archive of a store that was gathered of a cluster may be a link to the folder that all such
    stores of this cluster share.
    """
    place = real_path(path)
    file = place.with_name(f"{place.name}{suffix}")
    shared = shared_archive(place)
    if suffix == ARCHIVE and file.is_symlink() and str(file.readlink()) == shared.name:
        return refuse_links(shared)
    return refuse_links(file)


def shared_archive(place: Path) -> Path:
    """The archive of all stores of one cluster: that of `ID-MOMENT.db` is `ID.pages`."""
    return place.with_name(f"{place.name.partition('-')[0]}.pages")


def search_folder(store: Path) -> Path:
    """The folder of the search index of a store."""
    return file_beside(store, SEARCH)


def archive_folder(store: Path) -> Path:
    """The folder of the archive of a store."""
    return file_beside(store, ARCHIVE)


_CACHE_KIB = 16_384
_FIRST_QUERY = "SELECT count(*) FROM sqlite_master"


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that sees the store as it is now."""
    if not path.is_file():
        raise UsageError(
            f"no store at {path}: make one with `minicrawl crawl`, or name another --store"
        )
    refuse_links_beside(path)
    connection = _connect(path)
    try:
        with translating_sqlite_errors(path):
            _refuse_old_version(check_version(connection, str(path)), path)
            connection.execute("BEGIN")
            yield connection
    finally:
        connection.close()
        remove_log(path)


def remove_log(path: Path) -> None:
    """Let SQLite remove the log, unless somebody has the file open, or a writer of it has died.

    A connection that only reads makes a log where there is none, and cannot remove it.
    """
    if not file_beside(path, LOG).exists() or file_beside(path, LOCK).exists():
        return
    with suppress(sqlite3.Error), closing(_connect_to(path, "rw")) as last:
        last.execute(_FIRST_QUERY)


def connect(path: Path) -> sqlite3.Connection:
    """A connection without a snapshot: each query sees the store as it is at that time."""
    connection = _connect(path)
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    return connection


def begin_snapshot(connection: sqlite3.Connection) -> None:
    """Let all queries see the store as of one moment, in half the time.

    End the snapshot soon: the write-ahead log grows until then.
    """
    connection.execute("BEGIN")


def end_snapshot(connection: sqlite3.Connection) -> None:
    """Let each query see the store as it is at that time again."""
    if connection.in_transaction:
        connection.execute("COMMIT")


def _connect(path: Path) -> sqlite3.Connection:
    connection = _connect_to(path, "ro")
    try:
        connection.execute(_FIRST_QUERY)
    except sqlite3.OperationalError as error:
        connection.close()
        return _connect_read_only(path, error)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        pass  # not a database: the version check reports it
    return connection


def _connect_to(path: Path, mode: str) -> sqlite3.Connection:
    place = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(place, uri=True, isolation_level=None)


def _connect_read_only(path: Path, error: sqlite3.OperationalError) -> sqlite3.Connection:
    """Connect on a disk that is full or read-only, without room for the index of the log.

    Without locks SQLite keeps the index in memory. That is safe while nobody writes. A running
    crawl has a file for the index, so this code is not reached.
    """
    if file_beside(path, "-journal").exists():
        raise UsageError(
            f"{path} has an unfinished change: `minicrawl crawl` repairs it"
        ) from error
    if not _has_content(file_beside(path, LOG)):
        return _connect_to(path, "ro&immutable=1")
    if _is_being_written(path):
        raise UsageError(f"{path} cannot be read: {error}") from error
    connection = _connect_to(path, "ro&vfs=unix-none")
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute(_FIRST_QUERY)
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        connection.close()
        raise UsageError(f"{path} cannot be read: {error}") from error
    return connection


def _has_content(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0


def _is_being_written(path: Path) -> bool:
    """Whether a crawl holds the lock of the store."""
    try:
        lock = os.open(file_beside(path, LOCK), os.O_RDONLY)
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
        raise UsageError(
            f"{path} has the old schema version {version}: `minicrawl crawl` upgrades it"
        )
