"""Archive reader: finds answers in an archive by an index of its records, and verifies it.

Laws: reading an archive does not need its store. A damaged record affects only itself and the
revisits that refer to its body. A reader of a running crawl sees a commit: records at or after
`end` do not exist for it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from itertools import chain, pairwise, zip_longest
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import quote

from minicrawl.archive.record import (
    MAGIC,
    Answer,
    Codec,
    Header,
    RecordKind,
    beginning,
    check,
    dictionary_in,
    header_of,
    key_of,
    plain_codec,
    read,
    read_head,
    read_packed,
    spare_dictionary,
    unpacked,
)
from minicrawl.archive.segments import (
    FIRST,
    Segments,
    StoredPayload,
    held,
    held_alone,
    place_at,
    segment_of,
    shown,
)
from minicrawl.errors import Damaged, NoRoom, StoreError
from minicrawl.wording import counted

_UNKNOWN = "a page whose URL cannot be read"
_CODING = "content-encoding"
_NO_BODY = "it is a revisit, and the record that has its body is gone"
_IDENTITY_BYTES = 64
"""Bytes of the first record that identify an archive."""


class ArchiveReader:
    """Archive as of a commit. `end` defaults to the end of the segment files."""

    def __init__(self, folder: Path, end: int | None = None, *, writes: bool = False) -> None:
        """Open the archive. Only with `writes` may the index lock out other writers."""
        self.segments = Segments(folder)
        self._hold = held(folder)
        self.end = self.segments.end if end is None else end
        self.index: ArchiveIndex = open_index(self.segments, self.end, writes=writes)
        self.codec = Codec(self.dictionary)
        self.go_on_to(self.end)

    def close(self) -> None:
        """Close index and segment files, and release the shared lock."""
        self.index.close()
        self.segments.close()
        if self._hold is not None:
            os.close(self._hold)

    def go_on_to(self, end: int) -> None:
        """Advance to a newer commit; records that it pruned disappear."""
        self.end = end
        self.begin = self.index.first = self.segments.begin(end)

    def remove_pruned(self) -> bool:
        """Delete pruned segments unless others read them. Return True if none are left."""
        numbers = self.segments.numbers()
        if not numbers or numbers[0] >= segment_of(self.begin):
            return True
        if self._hold is None:
            return False
        with held_alone(self._hold) as is_alone:
            if is_alone:
                self.index.forget_before(self.begin)
                self.segments.close()
                self.segments.remove_before(self.begin)
        return is_alone

    def identity(self) -> str:
        """Return a name that changes when the archive is rewritten; "" for an empty archive."""
        for found in scan(self.segments, self.begin, self.end):
            if found.header is not None:
                length = min(found.length, _IDENTITY_BYTES)
                return self.segments.read_bytes(found.place, length).hex()
        return ""

    # ------------------------------------------------------------ answers

    def versions(self, url: str) -> list[IndexRow]:
        """Return the records of a URL, oldest first."""
        rows = self.index.of_key(key_of(url), self.end)
        return [row for row in rows if self._is_of(row.place, url)]

    def keys_of(self, fits: Callable[[Answer], object]) -> set[int]:
        """Return the keys of URLs with an answer that fits; `fits` gets answers without bodies."""
        return {row.key for row, head in self.heads() if fits(head)}

    def heads(self) -> Iterator[tuple[IndexRow, Answer]]:
        """Yield all answers without their bodies; damaged ones are left out."""
        for row in self.index.rows(self.end):
            if row.kind != RecordKind.DICTIONARY:
                with suppress(Damaged):
                    yield row, read_head(self.segments.beginning(row.place), self.codec)

    def answer(self, place: int) -> Answer:
        """Return the answer at `place`. A revisit gets the body of its original."""
        with _named(place):
            found = read(self.segments.read(place), self.codec)
            if found.kind is not RecordKind.REVISIT:
                return found
            place_of_body = self.place_of_body(found.digest)
            if place_of_body is None:
                raise Damaged(_NO_BODY)
            original = read(self.segments.read(place_of_body), self.codec)
            # A 304 response has no headers worth keeping: show those of the original.
            headers = found.headers or original.headers
            is_as_sent = headers.get(_CODING) == original.headers.get(_CODING)
            coded = original.coded if is_as_sent else None
            return found._replace(
                body=original.body, coded=coded, kind=original.kind, headers=headers
            )

    def shown(self, place: int) -> Answer:
        """Return the answer at `place`; for an unchanged page that was rendered, its last DOM."""
        found = self.answer(place)
        if found.status != HTTPStatus.NOT_MODIFIED:
            return found
        rows = [row for row in self.versions(found.url) if row.place <= place]
        chosen = rows[last_page(rows) - 1]
        return found if chosen.place == place else self.answer(chosen.place)

    def check(self, place: int) -> None:
        """Raise `Damaged` where `answer` would, without holding a body in memory."""
        with _named(place):
            header = self._check(place)
            if header.kind == RecordKind.REVISIT:
                body = self.place_of_body(header.digest)
                if body is None:
                    raise Damaged(_NO_BODY)
                self._check(body)

    def _check(self, place: int) -> Header:
        header = self.segments.header(place)
        if not self.segments.is_whole(place, header.record_bytes):
            raise Damaged("its checksum is wrong")
        check(header, StoredPayload(self.segments, place, header), self.codec)
        return header

    def beginning(self, place: int, count: int) -> bytes:
        """Return the first `count` bytes of head and body of the record at `place`."""
        return beginning(self.segments.beginning(place), self.codec, count)

    def place_of_body(self, digest: bytes) -> int | None:
        """Return the place of the record that has the body with this digest, or None."""
        for place in self.index.with_digest(digest):
            with suppress(Damaged):
                header = self.segments.header(place)
                if header.digest == digest and header.kind != RecordKind.REVISIT:
                    return place
        return None

    def has_body_of(self, place: int, record: bytes, payload: IO[bytes] | None = None) -> bool:
        """Return True if the record at `place` has the body of `record`, which is not sealed yet.

        `payload` is that of `record`, if it is in a file. Return False if either record is damaged,
        or if different bodies have the same digest.
        """
        try:
            if payload is not None:
                payload.seek(0)
                # A decompressor cannot read two streams at once.
                content = unpacked(header_of(record), payload, plain_codec())
                header = self._check(place)
                stored = StoredPayload(self.segments, place, header)
                both = zip_longest(content, unpacked(header, stored, self.codec))
                return next(both) is not None and all(one == other for one, other in both)
            original = read(self.segments.read(place), self.codec)
            return original.body == read_packed(record, self.codec).body
        except Damaged:
            return False

    def dictionary(self, number: int) -> bytes:
        """Return a dictionary from the first intact copy."""
        for _, place in self.index.dictionaries(number):
            with suppress(Damaged):
                return dictionary_in(self.segments.read(place))
        return spare_dictionary(self.segments.folder, number)

    def _is_of(self, place: int, url: str) -> bool:
        """Return True if the record is of this URL.

        Keys can collide, though rarely. A damaged record counts as a match, so that reading it
        reports the damage.
        """
        try:
            return read_head(self.segments.beginning(place), self.codec).url == url
        except Damaged:
            return True


def last_page(rows: Sequence[IndexRow]) -> int:
    """Return the 1-based number of the last version that is not a failure, or 0.

    If that version repeats the response that was rendered last, return the number of the DOM.
    """
    pages = [(number, row) for number, row in enumerate(rows, 1) if row.kind != RecordKind.FAILURE]
    if not pages:
        return 0
    last, row = pages[-1]
    if row.kind == RecordKind.REVISIT:
        pairs = pairwise(pages)
        rendered = [(of, dom) for (_, of), (dom, one) in pairs if one.kind == RecordKind.RENDERED]
        if rendered and rendered[-1][0].digest == row.digest:
            return rendered[-1][1]
    return last


def verify(
    reader: ArchiveReader, urls_of: Callable[[set[int]], Mapping[int, str]] = lambda _keys: {}
) -> Iterator[str]:
    """Read all records and yield one line for each problem.

    Problems are reported by URL. `urls_of` maps keys to URLs, for records whose own URL cannot be
    read.
    """
    unnamed: list[tuple[str, set[int]]] = []
    for found in scan(reader.segments, reader.begin, reader.end):
        if (wrong := _wrong(reader, found)) is None:
            continue
        urls, keys = _names(reader, found)
        if keys:
            unnamed.append((wrong, keys))
        yield from (f"{wrong}: {url}" for url in urls)
        if not urls and not keys:
            yield f"{wrong}: no page can be named"
    known = urls_of(set[int]().union(*(keys for _, keys in unnamed))) if unnamed else {}
    for wrong, keys in unnamed:
        yield from (f"{wrong}: {known.get(key, _UNKNOWN)}" for key in keys)
    missing = reader.end - reader.segments.end
    if missing > 0:
        yield f"the archive ends at {shown(reader.segments.end)}, not at {shown(reader.end)}"


def _names(reader: ArchiveReader, found: Found) -> tuple[list[str], set[int]]:
    """Return the URLs of the records in `found`, and the keys of those whose URL is unreadable."""
    urls: list[str] = []
    keys: set[int] = set()
    for row in reader.index.between(found.place, found.place + found.length):
        if row.kind == RecordKind.DICTIONARY:
            urls.append("a dictionary")
            continue
        try:
            url = read_head(reader.segments.beginning(row.place), reader.codec).url
            is_right = key_of(url) == row.key
        except Damaged:
            is_right = False
        if is_right:
            urls.append(url)
        else:
            keys.add(row.key)
    return urls, keys


def _wrong(reader: ArchiveReader, found: Found) -> str | None:
    if found.header is None:
        return f"{shown(found.place)}: {counted(found.length, 'byte is', 'bytes are')} damaged"
    try:
        if found.header.kind == RecordKind.DICTIONARY:
            return None
        reader.check(found.place)
    except Damaged as error:
        return str(error)
    return None


@contextmanager
def _named(place: int) -> Iterator[None]:
    """Prefix `Damaged` errors with the place of the record."""
    try:
        yield
    except Damaged as error:
        raise Damaged(f"{shown(place)}: {error}") from error


# ================================================================ scan
#
# Scan: iterate over all records between two places of an archive.
#
# Laws: a scan finds every intact record, however many others are damaged. After damage it resumes
# at the next record with a valid checksum. It never holds a whole record in memory, because a
# damaged header may claim any length.

_SEARCHED_AT_ONCE = 1 << 20


class Found(NamedTuple):
    """One step of a scan: a record, or a damaged stretch if `header` is None."""

    place: int
    header: Header | None
    length: int


def scan(segments: Segments, begin: int = FIRST, end: int | None = None) -> Iterator[Found]:
    """Yield the records and the damaged stretches between two places, in order."""
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
    """Return the record at `place`, or None if it is damaged."""
    try:
        header = segments.header(place)
        if place + header.record_bytes > end:
            return None
        is_whole = segments.is_whole(place, header.record_bytes)
    except Damaged:
        return None
    return Found(place, header, header.record_bytes) if is_whole else None


def _next_whole(segments: Segments, place: int, end: int) -> int:
    """Return the place of the next intact record, or `end`."""
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
#
# Index of the records by URL and by content digest.
#
# Laws: the index is derived data and can be deleted at any time. It records the place up to which
# it is complete, and catches up from there.

INDEX_FILE = "index.db"
_ASKED_AT_ONCE = 500
_ADDED_AT_ONCE = 100
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
CREATE INDEX IF NOT EXISTS by_key ON records (key);
CREATE INDEX IF NOT EXISTS by_digest ON records (digest) WHERE kind IN (1, 2);
CREATE INDEX IF NOT EXISTS dictionaries ON records (dictionary) WHERE kind = 4;
CREATE TABLE IF NOT EXISTS made (end INTEGER NOT NULL);
"""
_SELECT = "SELECT place, key, at, kind, digest, bytes FROM records WHERE place >= ? AND place < ?"


class IndexRow(NamedTuple):
    """Index entry of one record."""

    place: int
    key: int
    at: float
    kind: int
    digest: int
    record_bytes: int


class KindTotal(NamedTuple):
    """Number and total size of the records of one kind."""

    kind: RecordKind
    records: int
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
        if connection.execute("SELECT count(*) FROM made").fetchone() == (0,):
            connection.execute("INSERT INTO made VALUES (?)", (FIRST,))

    @property
    def end(self) -> int:
        """Place up to which the index is complete."""
        found = self._connection.execute("SELECT end FROM made").fetchone()
        return int(found[0])

    def close(self) -> None:
        """Close the file and discard uncommitted changes."""
        self._connection.close()

    # ------------------------------------------------------------ changes

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
        """Delete the rows of pruned records."""
        self._connection.execute("DELETE FROM records WHERE place < ?", (begin,))

    def catch_up(self, segments: Segments, end: int) -> None:
        """Index the records between the end of the index and `end`."""
        if self.end >= end:
            return
        self.begin(end)
        for found in scan(segments, self.end, end):
            if found.header is not None:
                self.add(found.place, found.header)
        self.commit(end)

    # ------------------------------------------------------------ questions

    def of_key(self, key: int, end: int) -> list[IndexRow]:
        """Return the records of a URL, oldest first. Keys can collide, though rarely."""
        query = f"{_SELECT} AND key = ? ORDER BY place"
        found = self._connection.execute(query, (self.first, end, key))
        return [IndexRow._make(row) for row in found]

    def with_digest(self, digest: bytes, begin: int = 0) -> Iterator[int]:
        """Yield the places of records that may have the body with this digest."""
        query = (
            "SELECT place FROM records WHERE digest = ? AND kind IN (1, 2) AND place >= ? "
            "ORDER BY place"
        )
        wanted = short(digest), max(begin, self.first)
        yield from (place for (place,) in self._connection.execute(query, wanted))

    def known(self, digests: Sequence[int]) -> set[int]:
        """Return those of the digest halves that belong to a record with a body."""
        found: set[int] = set()
        for start in range(0, len(digests), _ASKED_AT_ONCE):
            some = digests[start : start + _ASKED_AT_ONCE]
            marks = ", ".join("?" * len(some))
            query = f"SELECT digest FROM records WHERE kind IN (1, 2) AND digest IN ({marks})"
            found.update(digest for (digest,) in self._connection.execute(query, some))
        return found

    def dictionaries(self, number: int | None = None) -> list[tuple[int, int]]:
        """Return number and place of each copy of a dictionary; by default of all dictionaries."""
        query = "SELECT dictionary, place FROM records WHERE kind = 4 AND place >= ? ORDER BY place"
        found = self._connection.execute(query, (self.first,)).fetchall()
        return [(name, place) for name, place in found if number in (None, name)]

    def rows(self, end: int) -> Iterator[IndexRow]:
        """Yield all records before `end` in the order they were written."""
        found = self._connection.execute(f"{_SELECT} ORDER BY place", (self.first, end))
        yield from map(IndexRow._make, found)

    def between(self, begin: int, end: int) -> list[IndexRow]:
        """Return the records that begin in [begin, end)."""
        found = self._connection.execute(f"{_SELECT} ORDER BY place", (begin, end))
        return [IndexRow._make(row) for row in found]

    def versions(self, end: int) -> Iterator[IndexRow]:
        """Yield all answers before `end`, grouped by URL, newest first."""
        query = f"{_SELECT} AND kind != 4 ORDER BY key, place DESC"
        yield from map(IndexRow._make, self._connection.execute(query, (self.first, end)))

    def totals(self, end: int) -> list[KindTotal]:
        """Return number and size of the records before `end`, by kind."""
        query = (
            "SELECT kind, count(*), sum(bytes) FROM records WHERE place >= ? AND place < ? "
            "GROUP BY kind"
        )
        found = self._connection.execute(query, (self.first, end))
        return [KindTotal(RecordKind(kind), count, size) for kind, count, size in found]

    def next_body(self, place: int) -> int | None:
        """Return the place of the first record with a body at or after `place`, or None."""
        query = "SELECT place FROM records WHERE place >= ? AND kind IN (1, 2) LIMIT 1"
        found = self._connection.execute(query, (place,)).fetchone()
        return None if found is None else int(found[0])


def open_index(segments: Segments, end: int, *, writes: bool = False) -> ArchiveIndex:
    """Open the index of these segments, complete up to `end`; rebuild it if necessary.

    Readers open the file read-only unless it lacks records, so that a writer never waits for
    readers. If the file cannot be written, the index is built in memory.
    """
    file = segments.folder / INDEX_FILE
    if not writes and (found := _opened_to_read(file, end)) is not None:
        return found
    for _ in range(2):
        try:
            return _opened_index(file, segments, end)
        except sqlite3.OperationalError:
            break
        except sqlite3.DatabaseError:  # damaged, or not a database
            delete_index(segments.folder)
    return _opened_index(Path(":memory:"), segments, end)


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


def delete_index(folder: Path) -> None:
    """Delete the index file. Processes that have opened it continue to read the deleted file."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            (folder / f"{INDEX_FILE}{suffix}").unlink()


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
