"""Connections that read a store, even while a crawl writes it, and paths of its files.

Laws: a reader sees the store as of one moment, and never changes it. A store that has several
names, through symbolic links, is one file in one place, and its other files are beside that file.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from minicrawl.errors import MissingStoreError, UsageError
from minicrawl.own_files import refuse_links
from minicrawl.store.disk.trouble import translating_sqlite_errors
from minicrawl.store.schema import VERSION, check_version


def real_path(path: Path) -> Path:
    """Return the file behind all symbolic links, whether it exists or not."""
    place = Path(os.path.realpath(path))
    if place.is_symlink():  # realpath returns a link only if it cannot be resolved
        raise UsageError(f"{path} is a symbolic link to itself")
    return place


def refuse_links_beside(store: Path) -> None:
    """Raise UsageError if a file beside the store is a symbolic link."""
    place = real_path(store)
    with suppress(OSError), os.scandir(place.parent) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name.startswith((f"{place.name}-", f"{place.name}.log"))
        ]
        for name in names:
            file_beside(place, name.removeprefix(place.name))  # raises for a link


def refuse_to_overwrite(store: Path) -> None:
    """Raise UsageError if the store exists, because an import makes a new one."""
    if store.exists():
        raise UsageError(f"{store} exists: an import makes a new store and never overwrites one")


ARCHIVE = "-pages"
"""Suffix of the folder with the archive of a store."""

EARLIER = "-earlier"
"""Suffix of the file with the captures of an earlier archive (`archive.warc.earlier`)."""

SEARCH = "-search"
"""Suffix of the folder with the search index of a store."""

LOCK = "-lock"
"""Suffix of the file that the writer of a store locks."""

DASHBOARD = "-dashboard"
"""Suffix of the note with address and token of the dashboard, which the dashboard locks."""

LOG = "-wal"
"""Suffix of SQLite's write-ahead log."""


def file_beside(path: Path, suffix: str) -> Path:
    """Return the path of a file or folder beside a store; it must not be a symbolic link.

    Exception: the archive of a store that was gathered from a cluster may be a link to the folder
    that all such stores of this cluster share.
    """
    place = real_path(path)
    file = place.with_name(f"{place.name}{suffix}")
    shared = shared_archive(place)
    if suffix == ARCHIVE and file.is_symlink() and str(file.readlink()) == shared.name:
        return refuse_links(shared)
    return refuse_links(file)


def shared_archive(place: Path) -> Path:
    """Return the archive shared by the stores of a cluster: `ID.pages` for `ID-MOMENT.db`."""
    return place.with_name(f"{place.name.partition('-')[0]}.pages")


def search_folder(store: Path) -> Path:
    return file_beside(store, SEARCH)


def archive_folder(store: Path) -> Path:
    return file_beside(store, ARCHIVE)


def missing_store(path: Path) -> UsageError:
    if path.is_dir():
        return UsageError(f"{path} is a directory, not a store: name a file in it")
    return MissingStoreError(
        f"no store at {path}: make one with `minicrawl crawl`, or name another --store"
    )


_CACHE_KIB = 4_096
"""Cache size: enough for the inner nodes of the tables; leaves are rarely asked for again."""
_FIRST_QUERY = "SELECT count(*) FROM sqlite_master"


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Yield a connection that sees the store as of now."""
    if not path.is_file():
        raise missing_store(path)
    refuse_links_beside(path)
    # A writer that crashed leaves its lock file; a copy of such a store lacks it. The log of a copy
    # must stay: it makes the next crawl check the whole file, which the copying may have damaged.
    log, is_copy = file_beside(path, LOG), False
    with suppress(FileNotFoundError):
        is_copy = log.stat().st_size > 0 and not file_beside(path, LOCK).exists()
    connection = _connect(path)
    try:
        with translating_sqlite_errors(path):
            version = check_version(connection, str(path))
            if not version:  # an empty file: a crawl is about to create the store
                raise missing_store(path)
            if version < VERSION:
                raise UsageError(
                    f"{path} has the old schema version {version}: `minicrawl crawl` upgrades it"
                )
            connection.execute("BEGIN")
            yield connection
    finally:
        connection.close()
        # A connection for reading creates a log of its own and cannot remove it. Left behind, it
        # would look like the log of a crawl that crashed, and the next crawl would check the whole
        # file.
        if not is_copy:
            remove_log(path)


def remove_log(path: Path) -> None:
    """Let SQLite remove the log, unless the file is in use or its writer crashed.

    A read-only connection creates a log if there is none, and cannot remove it.
    """
    if not file_beside(path, LOG).exists() or file_beside(path, LOCK).exists():
        return
    with suppress(sqlite3.Error), closing(_connect_to(path, "rw")) as last:
        last.execute(_FIRST_QUERY)


def connect(path: Path) -> sqlite3.Connection:
    """Return a connection without a snapshot: each query sees the latest commit."""
    connection = _connect(path)
    try:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def begin_snapshot(connection: sqlite3.Connection) -> None:
    """Begin a snapshot: all queries see the same commit, and take half the time.

    End it soon: until then the write-ahead log grows.
    """
    connection.execute("BEGIN")


def end_snapshot(connection: sqlite3.Connection) -> None:
    """End the snapshot: each query sees the latest commit again."""
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
        pass  # not a database; the version check reports it
    return connection


def _connect_to(path: Path, mode: str) -> sqlite3.Connection:
    place = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(place, uri=True, isolation_level=None)


def _connect_read_only(path: Path, error: sqlite3.OperationalError) -> sqlite3.Connection:
    """Connect on a disk that is full or read-only, where the index of the log cannot be created.

    Without locks, SQLite keeps that index in memory. That is safe while nobody writes; a running
    crawl has created the index, so this code is not reached then.
    """
    if file_beside(path, "-journal").exists():
        raise UsageError(
            f"{path} has an unfinished change: `minicrawl crawl` repairs it"
        ) from error
    log = file_beside(path, LOG)
    if not log.exists() or log.stat().st_size == 0:
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


def _is_being_written(path: Path) -> bool:
    """Return True if a crawl holds the lock of the store."""
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
