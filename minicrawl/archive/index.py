"""The index of an archive: which records there are, by URL and by content.

Laws: the index is derived from the segments and may be deleted at any time. It knows up to which
place it has been made, and catches up from there.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from minicrawl.archive.record import MAGIC, Header, RecordKind
from minicrawl.archive.segments import FIRST, Segments, place_at, segment_of
from minicrawl.errors import Damaged, NoRoom, StoreError

# ================================================================ captures
#
# Which bodies are in the WARC files that a crawl writes, so that they are not written again.
#
# Laws: this is derived and may be deleted at any time: bodies that it does not know of are written
# once more. Changes count when they are committed.
#
# capture   a record of an answer, at a place of the files

_PATIENCE_S = 10.0
_CACHE_KIB = 4096
_SCHEMA = """
CREATE TABLE IF NOT EXISTS captures (
    place INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,       -- of the URL
    digest TEXT NOT NULL,
    at REAL NOT NULL,
    url TEXT                    -- NULL in a revisit
);
CREATE INDEX IF NOT EXISTS by_key ON captures (key);
CREATE INDEX IF NOT EXISTS by_digest ON captures (digest) WHERE url IS NOT NULL;
"""


class CaptureIndex:
    """The captures of some WARC files."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file; what is not committed is dropped."""
        self._connection.close()

    def begin(self, end: int) -> None:
        """Begin a change: forget what lies behind this end, and what was not committed."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("DELETE FROM captures WHERE place >= ?", (end,))

    def add(self, place: int, key: int, digest: str, at: float, url: str | None) -> None:
        """A capture; `url` is None if another one has its body."""
        self._connection.execute(
            "INSERT INTO captures VALUES (?, ?, ?, ?, ?)", (place, key, digest, at, url)
        )

    def commit(self) -> None:
        """What was added stays."""
        self._connection.execute("COMMIT")

    def original(self, digest: str) -> tuple[str, float] | None:
        """URL and time of the first capture with this body."""
        found = self._connection.execute(
            "SELECT url, at FROM captures WHERE digest = ? AND url IS NOT NULL ORDER BY place",
            (digest,),
        ).fetchone()
        return None if found is None else (str(found[0]), float(found[1]))

    def last_digest(self, key: int) -> str | None:
        """Of the body that the URL had last."""
        found = self._connection.execute(
            "SELECT digest FROM captures WHERE key = ? ORDER BY place DESC", (key,)
        ).fetchone()
        return None if found is None else str(found[0])


def open_captures(file: Path) -> CaptureIndex:
    """The index in this file: made anew if it is damaged, and in memory if it cannot be written."""
    for _ in range(2):
        try:
            return _opened(file)
        except sqlite3.OperationalError:
            break
        except sqlite3.DatabaseError:
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    file.with_name(f"{file.name}{suffix}").unlink()
    return _opened(Path(":memory:"))


def _opened(path: Path) -> CaptureIndex:
    connection = sqlite3.connect(
        path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        return CaptureIndex(connection)
    except BaseException:
        connection.close()
        raise


# ================================================================ scan
#
# A scan: all records between two places of an archive, one after the other.
#
# Laws: it finds every record that is whole, however many others are damaged. Behind damage it goes
# on at the next record whose checksum is right. No record is held, whatever its length says.

_SEARCHED_AT_ONCE = 1 << 20


class Found(NamedTuple):
    """A record of a scan, or damage: then `header` is None."""

    place: int
    header: Header | None
    length: int


def scan(segments: Segments, begin: int = FIRST, end: int | None = None) -> Iterator[Found]:
    """All that lies between two places, damage included."""
    for number in segments.numbers():
        first = max(begin, place_at(number, 0))
        last = place_at(number, segments.length(number))
        last = last if end is None else min(last, end)
        if segment_of(first) == number:
            yield from _scan_segment(segments, first, last)


def _scan_segment(segments: Segments, place: int, end: int) -> Iterator[Found]:
    while place < end:
        found = _whole_at(segments, place, end)
        if found is None:
            following = _next_whole(segments, place + 1, end)
            yield Found(place, None, following - place)
            place = following
        else:
            yield found
            place += found.length


def _whole_at(segments: Segments, place: int, end: int) -> Found | None:
    """The record here, if it is whole."""
    try:
        header = segments.header(place)
        if place + header.record_bytes > end:
            return None
        is_whole = segments.is_whole(place, header.record_bytes)
    except Damaged:
        return None
    return Found(place, header, header.record_bytes) if is_whole else None


def _next_whole(segments: Segments, place: int, end: int) -> int:
    """Where the next whole record begins; the end if there is none."""
    while place < end:
        piece = segments.read_bytes(place, min(_SEARCHED_AT_ONCE, end - place))
        at = piece.find(MAGIC)
        if at < 0:
            place += max(len(piece) - len(MAGIC) + 1, 1)
        elif _whole_at(segments, place + at, end) is not None:
            return place + at
        else:
            place += at + 1
    return end


# ================================================================ index

NAME = "index.db"
_ASKED_AT_ONCE = 500
_ADDED_AT_ONCE = 100
_PRIMARY = 0xFF
"""The bits of an error code with its primary result code."""
_LITTLE_ROOM = 1 << 16
_SCHEMA_INDEX = """
CREATE TABLE IF NOT EXISTS records (
    place INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,       -- of the URL
    at REAL NOT NULL,
    kind INTEGER NOT NULL,
    dictionary INTEGER NOT NULL,
    digest INTEGER NOT NULL,    -- half of it
    bytes INTEGER NOT NULL      -- of the record
);
CREATE INDEX IF NOT EXISTS by_key ON records (key);
CREATE INDEX IF NOT EXISTS by_digest ON records (digest) WHERE kind IN (1, 2);
CREATE INDEX IF NOT EXISTS dictionaries ON records (dictionary) WHERE kind = 4;
CREATE TABLE IF NOT EXISTS made (end INTEGER NOT NULL);
"""
_SELECT = "SELECT place, key, at, kind, digest, bytes FROM records WHERE place >= ? AND place < ?"


class IndexRow(NamedTuple):
    """A record."""

    place: int
    key: int
    at: float
    kind: int
    digest: int
    record_bytes: int


class KindTotal(NamedTuple):
    """How many records there are of a kind."""

    kind: RecordKind
    records: int
    record_bytes: int


def short(digest: bytes) -> int:
    """The half of a digest that the index has."""
    return int.from_bytes(digest[:8], "little", signed=True)


class ArchiveIndex:
    """The index of some segments. Changes count when they are committed."""

    def __init__(self, connection: sqlite3.Connection, *, is_made: bool = False) -> None:
        self._connection = connection
        self._added: list[tuple[object, ...]] = []
        self.first = FIRST
        """The place before which nothing counts."""
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        if is_made:
            return
        connection.executescript(_SCHEMA_INDEX)
        if connection.execute("SELECT count(*) FROM made").fetchone() == (0,):
            connection.execute("INSERT INTO made VALUES (?)", (FIRST,))

    @property
    def end(self) -> int:
        """The place up to which the index knows all records."""
        found = self._connection.execute("SELECT end FROM made").fetchone()
        return int(found[0])

    def close(self) -> None:
        """Close the file; what is not committed is dropped."""
        self._connection.close()

    # ------------------------------------------------------------ changes

    def begin(self, end: int) -> None:
        """Begin a change: forget what lies behind this end, and what was not committed."""
        self._added.clear()
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN IMMEDIATE")
        if self.end > end:
            self._connection.execute("DELETE FROM records WHERE place >= ?", (end,))

    def add(self, place: int, header: Header) -> None:
        """A record that was written; questions know of it after `flush`."""
        row = (place, header.key, header.at, header.kind, header.dictionary)
        self._added.append((*row, short(header.digest), header.record_bytes))

    def flush(self) -> None:
        """Many rows a statement: after each of them this thread waits for the GIL of a crawl."""
        for start in range(0, len(self._added), _ADDED_AT_ONCE):
            rows = self._added[start : start + _ADDED_AT_ONCE]
            marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(rows))
            values = tuple(chain.from_iterable(rows))
            self._connection.execute(f"INSERT OR REPLACE INTO records VALUES {marks}", values)
        self._added.clear()

    def commit(self, end: int) -> None:
        """All records before this place are in the index, and no others."""
        self.flush()
        self._connection.execute("UPDATE made SET end = ?", (end,))
        self._connection.execute("COMMIT")

    def forget_before(self, begin: int) -> None:
        """Forget what was pruned."""
        self._connection.execute("DELETE FROM records WHERE place < ?", (begin,))

    def catch_up(self, segments: Segments, end: int) -> None:
        """Add what lies between the end of the index and this one."""
        if self.end >= end:
            return
        self.begin(end)
        for found in scan(segments, self.end, end):
            if found.header is not None:
                self.add(found.place, found.header)
        self.commit(end)

    # ------------------------------------------------------------ questions

    def of_key(self, key: int, end: int) -> list[IndexRow]:
        """The records of a URL, the oldest first; rarely, of another URL too."""
        query = f"{_SELECT} AND key = ? ORDER BY place"
        found = self._connection.execute(query, (self.first, end, key))
        return [IndexRow._make(row) for row in found]

    def with_digest(self, digest: bytes, begin: int = 0) -> Iterator[int]:
        """The places of records that may have the body with this digest."""
        query = (
            "SELECT place FROM records WHERE digest = ? AND kind IN (1, 2) AND place >= ? "
            "ORDER BY place"
        )
        wanted = short(digest), max(begin, self.first)
        yield from (place for (place,) in self._connection.execute(query, wanted))

    def known(self, digests: Sequence[int]) -> set[int]:
        """Those of these halves of digests that a record with a body may have."""
        found: set[int] = set()
        for start in range(0, len(digests), _ASKED_AT_ONCE):
            some = digests[start : start + _ASKED_AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT digest FROM records WHERE kind IN (1, 2) AND digest IN ({marks})"
            found.update(digest for (digest,) in self._connection.execute(query, some))
        return found

    def dictionaries(self, number: int | None = None) -> list[tuple[int, int]]:
        """The numbers and places of all dictionaries, or of the copies of one."""
        query = "SELECT dictionary, place FROM records WHERE kind = 4 AND place >= ? ORDER BY place"
        found = self._connection.execute(query, (self.first,)).fetchall()
        return [(name, place) for name, place in found if number in (None, name)]

    def rows(self, end: int) -> Iterator[IndexRow]:
        """All records before a place, in the order in which they were written."""
        found = self._connection.execute(f"{_SELECT} ORDER BY place", (self.first, end))
        yield from map(IndexRow._make, found)

    def between(self, begin: int, end: int) -> list[IndexRow]:
        """The records that begin between two places."""
        found = self._connection.execute(f"{_SELECT} ORDER BY place", (begin, end))
        return [IndexRow._make(row) for row in found]

    def versions(self, end: int) -> Iterator[IndexRow]:
        """All answers before a place, those of a URL together, the last one first."""
        query = f"{_SELECT} AND kind != 4 ORDER BY key, place DESC"
        yield from map(IndexRow._make, self._connection.execute(query, (self.first, end)))

    def totals(self, end: int) -> list[KindTotal]:
        """How many records of each kind there are before a place, and their bytes."""
        query = (
            "SELECT kind, count(*), sum(bytes) FROM records WHERE place >= ? AND place < ? "
            "GROUP BY kind"
        )
        found = self._connection.execute(query, (self.first, end))
        return [KindTotal(RecordKind(kind), count, size) for kind, count, size in found]

    def next_body(self, place: int) -> int | None:
        """The place of the first record with a body, here or behind."""
        query = "SELECT place FROM records WHERE place >= ? AND kind IN (1, 2) LIMIT 1"
        found = self._connection.execute(query, (place,)).fetchone()
        return None if found is None else int(found[0])


def open_index(segments: Segments, end: int, *, writes: bool = False) -> ArchiveIndex:
    """The index of these segments up to this end at least: from its file, or made again.

    Who only reads changes the file only if it lacks something, so that no writer waits for readers.
    Where the file cannot be written, the index is made in memory.
    """
    file = segments.folder / NAME
    if not writes and (found := _opened_to_read(file, end)) is not None:
        return found
    for _ in range(2):
        try:
            return _opened_index(file, segments, end)
        except sqlite3.OperationalError:
            break
        except sqlite3.DatabaseError:  # it is damaged, or no database
            delete_index(segments.folder)
    return _opened_index(Path(":memory:"), segments, end)


def _opened_to_read(file: Path, end: int) -> ArchiveIndex | None:
    """The index as it is; None if it has to be made or completed."""
    if not file.is_file():
        return None
    place = f"file:{quote(str(file.absolute()))}?mode=ro"
    connection = sqlite3.connect(place, uri=True, isolation_level=None, check_same_thread=False)
    try:
        index = ArchiveIndex(connection, is_made=True)
        if index.end >= end:
            return index
    except (sqlite3.DatabaseError, TypeError):  # it is damaged, or has no tables
        pass
    connection.close()
    return None


def delete_index(folder: Path) -> None:
    """Delete the file; whoever has it open keeps what is in it."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            (folder / f"{NAME}{suffix}").unlink()


def _opened_index(path: Path, segments: Segments, end: int) -> ArchiveIndex:
    connection = sqlite3.connect(
        path, timeout=_PATIENCE_S, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        index = ArchiveIndex(connection)
        index.catch_up(segments, end)
    except BaseException:
        connection.close()
        raise
    return index


@contextmanager
def index_errors(folder: Path) -> Iterator[None]:
    """Turn errors of the index into errors of one line."""
    try:
        yield
    except sqlite3.Error as error:
        if _means_full_disk(error, folder):
            text = f"{folder}: database or disk is full; everything committed before is safe"
            raise NoRoom(text) from error
        raise StoreError(
            f"{folder}: {error} in its index, which can be deleted and is made again"
        ) from error


def _means_full_disk(error: sqlite3.Error, folder: Path) -> bool:
    """SQLite reports a full disk for most writes, but `disk I/O error` for some."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & _PRIMARY
    if code != sqlite3.SQLITE_IOERR:
        return bool(code == sqlite3.SQLITE_FULL)
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize < _LITTLE_ROOM
