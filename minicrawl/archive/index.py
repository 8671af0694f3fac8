"""Index of the records by URL and by content digest.

Laws: the index is derived data and can be deleted at any time. It records the place up to which
it is complete, and catches up from there.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from minicrawl.archive.headers import headers_between
from minicrawl.archive.record import Header, RecordKind
from minicrawl.archive.segments import FIRST, Segments
from minicrawl.errors import NoRoom, StoreError

T = TypeVar("T")

INDEX_FILE = "index.db"
_ASKED_AT_ONCE = 500
_ADDED_AT_ONCE = 100
_WAITING = 10_000
_PATIENCE_S = 10.0
_CACHE_KIB = 4096
_PRIMARY = 0xFF
"""Mask of the primary result code in an extended SQLite error code."""
_LITTLE_ROOM = 1 << 16
_SCHEMA = """
CREATE TABLE IF NOT EXISTS records (
    place INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,       -- of the URL
    at REAL NOT NULL,
    kind INTEGER NOT NULL,
    dictionary INTEGER NOT NULL,
    digest INTEGER NOT NULL,    -- half of it
    bytes INTEGER NOT NULL      -- of the record
);
CREATE TABLE IF NOT EXISTS made (end INTEGER NOT NULL);
"""
_INDEXES = {
    "by_key": "records (key)",
    "by_digest": "records (digest) WHERE kind IN (1, 2)",
    "dictionaries": "records (dictionary) WHERE kind = 4",
}
_SELECT = "SELECT place, key, at, kind, digest, bytes FROM records WHERE place >= ? AND place < ?"


class IndexRow(NamedTuple):
    place: int
    key: int
    at: float
    kind: int
    digest: int
    record_bytes: int


def short(digest: bytes) -> int:
    """Return the first half of a digest, the hash, which the index stores."""
    return int.from_bytes(digest[:8], "little", signed=True)


class ArchiveIndex:
    """Index of the records in a folder of segments. Changes take effect on commit."""

    def __init__(self, connection: sqlite3.Connection, *, is_made: bool = False) -> None:
        self._connection = connection
        self._added: list[tuple[object, ...]] = []
        self.first = FIRST
        """Place of the first record that is not pruned."""
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        if is_made:
            return
        connection.executescript(_SCHEMA)
        self._make_indexes()
        if connection.execute("SELECT count(*) FROM made").fetchone() == (0,):
            connection.execute("INSERT INTO made VALUES (?)", (FIRST,))

    def _make_indexes(self) -> None:
        for name, columns in _INDEXES.items():
            self._connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {columns}")

    @property
    def end(self) -> int:
        """Place up to which the index is complete."""
        row = self._connection.execute("SELECT end FROM made").fetchone()
        return int(row[0])

    def close(self) -> None:
        """Close the file and discard uncommitted changes."""
        self._connection.close()

    def begin(self, end: int) -> None:
        """Begin a transaction: roll back uncommitted changes and delete rows at or after `end`."""
        self._added.clear()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN IMMEDIATE")
        if self.end > end:
            self._connection.execute("DELETE FROM records WHERE place >= ?", (end,))

    def cut_off(self, end: int) -> None:
        """Delete the rows at or after `end`, on the disk: other records will be written there.

        A power failure would otherwise bring them back, and later rows would go on behind them.
        """
        self._connection.execute("PRAGMA synchronous = FULL")
        self.begin(end)
        self.commit(end)
        self._connection.execute("PRAGMA synchronous = NORMAL")

    def add(self, place: int, header: Header) -> None:
        """Add a written record. Queries see it after `flush`."""
        row = (place, header.key, header.at, header.kind, header.dictionary)
        self._added.append((*row, short(header.digest), header.record_bytes))

    def flush(self) -> None:
        """Insert the added rows.

        Many rows per statement: after each statement this thread waits for the crawl to release the
        GIL.
        """
        for start in range(0, len(self._added), _ADDED_AT_ONCE):
            rows = self._added[start : start + _ADDED_AT_ONCE]
            marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(rows))
            values = tuple(chain.from_iterable(rows))
            self._connection.execute(f"INSERT OR REPLACE INTO records VALUES {marks}", values)
        self._added.clear()

    def commit(self, end: int) -> None:
        """Commit: the index then lists exactly the records before `end`."""
        self.flush()
        self._connection.execute("UPDATE made SET end = ?", (end,))
        self._connection.execute("COMMIT")

    def forget_before(self, begin: int) -> None:
        self._connection.execute("DELETE FROM records WHERE place < ?", (begin,))

    def catch_up(self, segments: Segments, end: int) -> None:
        """Index the records between the end of the index and `end`."""
        if self.end >= end:
            return
        self.begin(end)
        if self.end == FIRST:  # indexes of a whole table are made in a tenth of the time
            for name in _INDEXES:
                self._connection.execute(f"DROP INDEX {name}")
        for place, header in headers_between(segments, self.end, end):
            self.add(place, header)
            if len(self._added) == _WAITING:
                self.flush()
        self.flush()
        self._make_indexes()
        self.commit(end)

    def of_key(self, key: int, end: int) -> list[IndexRow]:
        """Return the records of a URL, oldest first. Keys can collide, though rarely."""
        return list(self._rows(self.first, end, "AND key = ? ORDER BY place", key))

    def with_digest(self, digest: bytes, begin: int = 0) -> Iterator[int]:
        """Yield the places of records that may have the body with this digest."""
        query = (
            "SELECT place FROM records WHERE digest = ? AND kind IN (1, 2) AND place >= ? "
            "ORDER BY place"
        )
        digest_from = short(digest), max(begin, self.first)
        yield from (place for (place,) in self._connection.execute(query, digest_from))

    def known(self, digests: Sequence[int]) -> set[int]:
        """Return those of the digest halves that belong to a record with a body."""
        archived: set[int] = set()
        for start in range(0, len(digests), _ASKED_AT_ONCE):
            block = digests[start : start + _ASKED_AT_ONCE]
            marks = ", ".join("?" * len(block))
            query = f"SELECT digest FROM records WHERE kind IN (1, 2) AND digest IN ({marks})"
            archived.update(digest for (digest,) in self._connection.execute(query, block))
        return archived

    def dictionaries(self, number: int | None = None) -> list[tuple[int, int]]:
        """Return number and place of each copy of a dictionary; by default of all dictionaries."""
        query = "SELECT dictionary, place FROM records WHERE kind = 4 AND place >= ? ORDER BY place"
        copies = self._connection.execute(query, (self.first,)).fetchall()
        return [(name, place) for name, place in copies if number in (None, name)]

    def rows(self, end: int) -> Iterator[IndexRow]:
        """Yield all records before `end` in the order they were written."""
        return self._rows(self.first, end, "ORDER BY place")

    def between(self, begin: int, end: int) -> list[IndexRow]:
        """Return the records that begin in [begin, end)."""
        return list(self._rows(begin, end, "ORDER BY place"))

    def versions(self, end: int) -> Iterator[IndexRow]:
        """Yield all answers before `end`, grouped by URL, newest first."""
        return self._rows(self.first, end, "AND kind != 4 ORDER BY key, place DESC")

    def _rows(self, begin: int, end: int, clause: str, *values: int) -> Iterator[IndexRow]:
        rows = self._connection.execute(f"{_SELECT} {clause}", (begin, end, *values))
        return map(IndexRow._make, rows)

    def totals(self, end: int) -> list[tuple[RecordKind, int, int]]:
        """Return number and size of the records before `end`, by kind."""
        query = (
            "SELECT kind, count(*), sum(bytes) FROM records WHERE place >= ? AND place < ? "
            "GROUP BY kind"
        )
        totals = self._connection.execute(query, (self.first, end))
        return [(RecordKind(kind), count, size) for kind, count, size in totals]

    def next_body(self, place: int) -> int | None:
        """Return the place of the first record with a body at or after `place`, or None."""
        query = "SELECT place FROM records WHERE place >= ? AND kind IN (1, 2) LIMIT 1"
        row = self._connection.execute(query, (place,)).fetchone()
        return None if row is None else int(row[0])


def open_index(segments: Segments, end: int, *, writes: bool = False) -> ArchiveIndex:
    """Open the index of these segments, complete up to `end`; rebuild it if necessary.

    Readers open the file read-only unless it lacks records, so that a writer never waits for
    readers. If the file cannot be written, the index is built in memory.
    """
    file = segments.folder / INDEX_FILE
    if not writes and (existing := _opened_to_read(file, end)) is not None:
        return existing

    def complete(connection: sqlite3.Connection) -> ArchiveIndex:
        index = ArchiveIndex(connection)
        index.catch_up(segments, end)
        return index

    return open_derived(file, complete)


def open_derived(
    file: Path, make: Callable[[sqlite3.Connection], T], synchronous: str = "NORMAL"
) -> T:
    """Open derived data. A damaged file is replaced; without write access it is in memory."""
    for _ in range(2):
        try:
            return _opened(file, make, synchronous)
        except sqlite3.OperationalError:
            break
        except sqlite3.DatabaseError:  # damaged, or not a database
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    file.with_name(f"{file.name}{suffix}").unlink()
    return _opened(Path(":memory:"), make, synchronous)


def _opened(path: Path, make: Callable[[sqlite3.Connection], T], synchronous: str) -> T:
    connection = sqlite3.connect(
        path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        return make(connection)
    except BaseException:
        connection.close()
        raise


def _opened_to_read(file: Path, end: int) -> ArchiveIndex | None:
    """Return the existing index opened read-only, or None if it is missing or incomplete."""
    if not file.is_file():
        return None
    place = f"file:{quote(str(file.absolute()))}?mode=ro"
    connection = sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)
    try:
        index = ArchiveIndex(connection, is_made=True)
        if index.end >= end:
            return index
    except (sqlite3.DatabaseError, TypeError):  # damaged, or without tables
        pass
    connection.close()
    return None


@contextmanager
def index_errors(
    folder: Path, advice: str = f"delete {INDEX_FILE}, which is rebuilt on demand"
) -> Iterator[None]:
    """Convert SQLite errors of the index into one-line `StoreError`s."""
    try:
        yield
    except sqlite3.Error as error:
        if _means_full_disk(error, folder):
            text = f"{folder}: database or disk is full; everything committed before is safe"
            raise NoRoom(text) from error
        raise StoreError(f"{folder}: {error} in the index: {advice}") from error


def _means_full_disk(error: sqlite3.Error, folder: Path) -> bool:
    """Return True if the error means that the disk is full.

    SQLite reports SQLITE_FULL for most failed writes, but SQLITE_IOERR for some.
    """
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & _PRIMARY
    if code != sqlite3.SQLITE_IOERR:
        return bool(code == sqlite3.SQLITE_FULL)
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < _LITTLE_ROOM
