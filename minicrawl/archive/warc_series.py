"""WARC files of a crawl, each up to a certain size, and the earlier archive that they refer to.

A file that is being written has a name that ends in `.open`. When it is complete, its index (CDXJ)
is written beside it and it loses that suffix: from then on nobody changes it. A run ends by
completing its file, and the next run begins another one; after a kill, the next run goes on in the
open file. If the store was moved meanwhile, or the run has another name for its files, it completes
that file and begins a series of its own.

Laws: appended records count only after `confirm`, which is called when the store has committed the
steps of these responses; until then the next append overwrites them. The next start cuts off
records that the store does not know: each record is a gzip member of its own, so what remains is
a valid file. Files of other stores are never touched: each store uses its own file names.

place   number of a file and offset of a record in it, as in segments
series  the files of one store in one folder
"""

from __future__ import annotations

import gzip
import json
import os
import re
import sqlite3
import zlib
from base64 import b32decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from hashlib import sha1
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, NamedTuple, Self
from urllib.parse import quote

from minicrawl.archive.reader import index_errors
from minicrawl.archive.record import (
    MOST_OF_A_HEAD,
    Codec,
    RecordKind,
    header_of,
    key_of,
    read_head,
    read_packed,
    unpacked,
)
from minicrawl.archive.segments import (
    FIRST,
    disk_errors,
    offset_of,
    place_at,
    segment_of,
    write_at,
)
from minicrawl.archive.warc import (
    QUICK,
    Capture,
    CdxLine,
    Original,
    WarcWriter,
    capture_of,
    cdxj_line,
    moment,
    payload_digest,
    shown_digest,
)
from minicrawl.errors import StoreError, UsageError
from minicrawl.model import KeptAnswer
from minicrawl.own_files import make_folder, refuse_links, sync
from minicrawl.web.urls import canonical
from minicrawl.wording import counted, iso

OPEN = ".open"
"""Suffix of a file that is being written, as Heritrix names it."""
_WRITTEN_AT_ONCE = 1 << 22
_SUCCESS = 2  # hundreds: the class of a status
_NO_KEY = 0
_WITHOUT_BODY = ("", payload_digest(b""))
"""Digests of captures that refer to no other one."""


class WarcSeries(NamedTuple):
    """The WARC files of a store in a folder, and the end of the last one."""

    folder: str
    prefix: str
    store: str
    end: int = FIRST

    @classmethod
    def of(cls, folder: Path, store: Path, now: float, name: str = "") -> Self:
        """Return a new series with a unique prefix that begins with a name, or with the store's."""
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d%H%M%S%f")[:-3]
        return cls(str(folder), f"{name or store.stem}-{moment}", str(store))

    @classmethod
    def read(cls, value: object) -> Self | None:
        """Return the series that a counter of the store describes; None if it describes none."""
        if not isinstance(value, dict):
            return None
        with suppress(TypeError, ValueError):
            found = cls(**value)
            if Path(found.prefix).name == found.prefix:  # else it could lead out of the folder
                return found._replace(end=int(found.end))
        return None

    def has(self, store: Path, folder: Path, name: str) -> bool:
        """Return True if a store that writes to this folder under this name continues it."""
        is_named = not name or self.prefix.rpartition("-")[0] == name
        return (self.store, self.folder) == (str(store), str(folder)) and is_named

    def is_left_open(self, store: Path) -> bool:
        """Return True if the last file is open and belongs to this store, by whatever name.

        A store that was moved owns its series; a copy does not, as long as the original exists.
        """
        is_own = self.store == str(store) or not Path(self.store).exists()
        return is_own and self.open_path(segment_of(self.end)).exists()

    def path(self, number: int) -> Path:
        """Return the path of a complete file."""
        return Path(self.folder) / f"{self.prefix}-{number:05}.warc.gz"

    def open_path(self, number: int) -> Path:
        """Return the path of a file while it is written."""
        return self.path(number).with_name(f"{self.path(number).name}{OPEN}")

    def index_path(self, number: int) -> Path:
        """Return the path of the index of a complete file."""
        return Path(self.folder) / f"{self.prefix}-{number:05}.cdxj"

    def found(self, number: int) -> Path | None:
        """Return the path of a file, complete or not, if it is in the folder."""
        both = self.open_path(number), self.path(number)
        return next((path for path in both if path.exists()), None)


class WarcFiles:
    """Series that is open for writing. The caller holds the lock of its store."""

    def __init__(
        self,
        series: WarcSeries,
        codec: Codec,
        about: Callable[[], Mapping[str, str]],
        full_bytes: int,
        earlier: Path | None = None,
    ) -> None:
        """Open the series, and cut off the bytes behind its end. `codec` unpacks records.

        `about` returns the facts of the crawl, for the first record of each file. A file of
        `full_bytes` gets no more records. `earlier` is the file with the captures of an earlier
        archive.
        """
        self._series, self._codec, self._about = series, codec, about
        self._full_bytes = full_bytes
        self._folder = Path(series.folder)
        with disk_errors(self._folder):
            make_folder(self._folder)
        for file in self._folder.glob(f"{series.prefix}-*"):
            refuse_links(file)
        cut_off(series)
        self._earlier = None if earlier is None else EarlierArchive(earlier)
        self._captures = open_captures(self._folder / f"{series.prefix}-bodies.db")
        with index_errors(self._folder):
            self._captures.begin(series.end, FIRST)  # also there, nothing is behind the end
            self._captures.commit()
        self.was_shortened = False
        self._complete_before(segment_of(series.end))
        self._mark = self._ahead = self._continued()
        self._unwritten = BytesIO()
        self._writer = self._writer_at(self._mark)

    @property
    def series(self) -> WarcSeries:
        """The series up to the last confirmed record."""
        return self._series._replace(end=self._mark)

    def append(self, answers: Iterable[KeptAnswer]) -> dict[str, object]:
        """Write responses behind the last confirmed record. Return the series with its new end."""
        self._complete_before(segment_of(self._mark))
        self._ahead = begin = self._mark
        self._writer = self._writer_at(begin)
        with index_errors(self._folder):
            self._captures.begin(begin, place_at(segment_of(begin), 0))
            for answer in answers:
                self._append(answer)
            self._write()
            self._sync(begin)
            self._captures.commit()
        return self._series._replace(end=self._ahead)._asdict()

    def confirm(self) -> None:
        """Confirm the records that were appended last.

        Files are completed later, as this must not fail: the store has committed the batch.
        """
        self._mark = self._ahead

    def close(self, *, completes: bool = True) -> None:
        """Complete the last file, unless it has records that the store may not know."""
        number = segment_of(self._mark)
        try:
            path, later = self._series.found(number), self._series.found(number + 1)
            length = 0 if path is None else path.stat().st_size
            if completes and later is None and length == offset_of(self._mark):
                self._complete_before(number + 1)
        finally:
            self._captures.close()
            if self._earlier is not None:
                self._earlier.close()

    # ------------------------------------------------------------ one answer

    def _append(self, kept: KeptAnswer) -> None:
        if header_of(kept.record).kind == RecordKind.RENDERED:
            answer = read_packed(kept.record, self._codec)
            self._writer.add_rendered(capture_of(answer, at=kept.at))
            return
        if self._writer.offset >= self._full_bytes:
            self._write()
            self._ahead = place_at(segment_of(self._ahead) + 1, 0)
            self._writer = self._writer_at(self._ahead)
        if self._writer.offset == 0:
            self._writer.begin(kept.at, self._about())
        if kept.payload is not None:
            self._append_file(kept, kept.payload)
            return
        answer = read_packed(kept.record, self._codec)
        capture = capture_of(answer, at=kept.at, importance=kept.importance, hops=kept.hops)
        if capture.is_confirmed:
            digest = self._captures.last_digest(key_of(capture.url)) or ""
        else:
            digest = payload_digest(capture.body)
        original = None if digest in _WITHOUT_BODY else self._original(capture, digest)
        self._list(self._writer.add(capture, digest, original))
        if self._unwritten.tell() >= _WRITTEN_AT_ONCE:
            self._write()

    def _append_file(self, kept: KeptAnswer, payload: IO[bytes]) -> None:
        """Append a response whose body is in a file, which is never in memory as a whole."""
        header, digest = header_of(kept.record), sha1(usedforsecurity=False)

        def body() -> Iterator[bytes]:
            payload.seek(0)
            return islice(unpacked(header, payload, self._codec, coded=True), 1, None)

        length = 0
        for piece in body():
            digest.update(piece)
            length += len(piece)
        payload.seek(0)
        answer = read_head(kept.record + payload.read(MOST_OF_A_HEAD), self._codec)
        capture = capture_of(answer, at=kept.at)._replace(length=length)
        named = shown_digest(digest.digest())
        original = self._original(capture, named)
        if original is not None:
            self._list(self._writer.add(capture, named, original))
            return
        begin, length = self._writer.offset, 0
        for written in self._writer.add_file(capture, named, body):
            length = written
            if self._unwritten.tell() >= _WRITTEN_AT_ONCE:
                self._write()
        self._list(CdxLine(capture, named, begin, length, is_revisit=False))

    def _original(self, capture: Capture, digest: str) -> Original | None:
        """Return the response that has this body, here or in an earlier archive."""
        if (found := self._captures.original(digest)) is not None:
            return Original(found[0], moment(found[1]))
        if self._earlier is None:
            return None
        return self._earlier.original(capture.url, digest, capture.at)

    def _list(self, line: CdxLine) -> None:
        """Add the response that was written last to the indexes of bodies and of the file."""
        number, capture = segment_of(self._ahead), line.capture
        # A confirmation refers to the last page, not to a failure or redirect after that.
        is_page = capture.is_confirmed or (capture.status // 100 == _SUCCESS and capture.has_page)
        key = key_of(capture.url) if is_page else _NO_KEY
        url = None if line.is_revisit else capture.url
        place = place_at(number, line.offset)
        name = self._series.path(number).name
        shown = cdxj_line(line, name) if capture.has_page else ""  # as in `warc.cdxj`
        self._captures.add(place, key, line.digest, capture.at, url, shown)

    # ------------------------------------------------------------ files

    def _continued(self) -> int:
        """Return the place to continue at: in the open file, if its length is that in the store.

        An open file whose index is lost gets no more records: its CDXJ would lack the older ones.
        """
        end = self._series.end
        number = segment_of(end)
        path, first = self._series.found(number), place_at(number, 0)
        self.was_shortened = path is not None and path.stat().st_size != offset_of(end)
        is_open = path == self._series.open_path(number) and not self.was_shortened
        if offset_of(end) == 0 or (is_open and self._captures.has_lines(first, end)):
            return end
        return place_at(number + 1, 0)

    def _complete_before(self, number: int) -> None:
        """Complete the files before the one with this number, the last one first."""
        while (number := number - 1) > 0 and (path := self._series.open_path(number)).exists():
            with disk_errors(self._folder):
                begin, end = place_at(number, 0), place_at(number + 1, 0)
                if self._captures.has_lines(begin, end):
                    index = self._series.index_path(number)
                    draft = index.with_name(f"{index.name}.draft")
                    with draft.open("w", encoding="utf-8") as file:
                        file.writelines(f"{line}\n" for line in self._captures.lines(begin, end))
                    sync(draft)
                    draft.rename(index)
                    sync(self._folder)  # a complete file must not lack its index
                path.rename(self._series.path(number))
                sync(self._folder)

    def _writer_at(self, place: int) -> WarcWriter:
        self._unwritten = BytesIO()
        name, offset = self._series.path(segment_of(place)).name, offset_of(place)
        return WarcWriter(self._unwritten, name, offset=offset, level=QUICK)

    def _write(self) -> None:
        content = self._unwritten.getvalue()
        if content:
            path = self._series.open_path(segment_of(self._ahead))
            write_at(path, offset_of(self._ahead), content)
            self._ahead += len(content)
            self._unwritten.seek(0)
            self._unwritten.truncate()

    def _sync(self, begin: int) -> None:
        with disk_errors(self._folder):
            for number in range(segment_of(begin), segment_of(self._ahead) + 1):
                with suppress(FileNotFoundError):  # nothing was written yet
                    sync(self._series.open_path(number))
            if offset_of(begin) == 0 or segment_of(begin) != segment_of(self._ahead):
                sync(self._folder)


def cut_off(series: WarcSeries) -> None:
    """Remove everything behind the end of a series."""
    number, keep = segment_of(series.end), offset_of(series.end)
    with disk_errors(Path(series.folder)):
        path = series.found(number)
        if path is not None and path.stat().st_size > keep:
            os.truncate(path, keep) if keep else path.unlink()
        while (path := series.found(number := number + 1)) is not None:
            path.unlink()


# ================================================================ bodies
#
# Bodies that are already in the WARC files of a crawl, so that each is written once.
#
# Laws: this index is derived data and can be deleted at any time; the bodies it would have listed
# are then written a second time. Changes take effect on commit.
#
# capture   record of one answer, at a place in the WARC files

_PATIENCE_S = 10.0
_BODIES_CACHE_KIB = 4096
_BODIES = """
CREATE TABLE IF NOT EXISTS captures (
    place INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,       -- of the URL; 0 if the response is not a page
    digest TEXT NOT NULL,
    at REAL NOT NULL,
    url TEXT                    -- NULL in a revisit
);
CREATE INDEX IF NOT EXISTS by_key ON captures (key);
CREATE INDEX IF NOT EXISTS by_digest ON captures (digest) WHERE url IS NOT NULL;
CREATE TABLE IF NOT EXISTS lines (place INTEGER PRIMARY KEY, line TEXT NOT NULL);  -- of the CDXJ
"""


class CaptureIndex:
    """Index of the captures in a set of WARC files."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.execute(f"PRAGMA cache_size = -{_BODIES_CACHE_KIB}")
        connection.executescript(_BODIES)

    def close(self) -> None:
        """Close the file and discard uncommitted changes."""
        self._connection.close()

    def begin(self, end: int, of_file: int) -> None:
        """Begin a transaction: roll back uncommitted changes, delete captures at or after `end`.

        Lines before `of_file`, the place where the open WARC file begins, are deleted too.
        """
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("DELETE FROM captures WHERE place >= ?", (end,))
        self._connection.execute("DELETE FROM lines WHERE place >= ? OR place < ?", (end, of_file))

    def add(  # one argument for each column
        self, place: int, key: int, digest: str, at: float, url: str | None, line: str
    ) -> None:
        """Add a capture, and its line for the CDXJ of the file; an empty line is left out there.

        `url` is None for a revisit, whose body is in another capture.
        """
        self._connection.execute(
            "INSERT INTO captures VALUES (?, ?, ?, ?, ?)", (place, key, digest, at, url)
        )
        self._connection.execute("INSERT INTO lines VALUES (?, ?)", (place, line))

    def has_lines(self, begin: int, end: int) -> bool:
        """Return True if there is a line between two places, even an empty one."""
        query = "SELECT 1 FROM lines WHERE place >= ? AND place < ? LIMIT 1"
        return self._connection.execute(query, (begin, end)).fetchone() is not None

    def lines(self, begin: int, end: int) -> Iterator[str]:
        """Yield the lines between two places, sorted as readers of CDXJ require."""
        chosen = "place >= ? AND place < ? AND line != ''"
        query = f"SELECT line FROM lines WHERE {chosen} ORDER BY line"
        yield from (line for (line,) in self._connection.execute(query, (begin, end)))

    def take_down(self, is_gone: Callable[[str], bool]) -> None:
        """Delete all captures of URLs, also from the free space of the file."""
        self._connection.create_function("is_gone", 1, is_gone)
        self._connection.execute("DELETE FROM captures WHERE url IS NOT NULL AND is_gone(url)")
        url = "json_extract(substr(line, instr(line, ' {') + 1), '$.url')"
        self._connection.execute(f"DELETE FROM lines WHERE line != '' AND is_gone({url})")
        self._connection.execute("VACUUM")

    def commit(self) -> None:
        """Commit the added captures."""
        self._connection.execute("COMMIT")

    def original(self, digest: str) -> tuple[str, float] | None:
        """Return URL and time of the first capture with this body, or None."""
        found = self._connection.execute(
            "SELECT url, at FROM captures WHERE digest = ? AND url IS NOT NULL ORDER BY place",
            (digest,),
        ).fetchone()
        return None if found is None else (str(found[0]), float(found[1]))

    def last_digest(self, key: int) -> str | None:
        """Return the digest of the URL's most recent page, or None."""
        found = self._connection.execute(
            "SELECT digest FROM captures WHERE key = ? ORDER BY place DESC", (key,)
        ).fetchone()
        return None if found is None else str(found[0])


def open_captures(file: Path) -> CaptureIndex:
    """Open the index. A damaged file is replaced; without write access the index is in memory."""
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
        # The lines are nowhere else: with NORMAL, a power failure would take some of them, and
        # bring back those of records that were cut off.
        connection.execute("PRAGMA synchronous = FULL")
        return CaptureIndex(connection)
    except BaseException:
        connection.close()
        raise


# ================================================================ earlier archives
#
# Captures of an earlier archive: a crawl refers to their bodies and need not write them again.
#
# A crawl reads the index of the earlier archive (CDXJ) once, into an SQLite file beside its store:
#
#     org,example)/a 20261101120000 {"url": "https://example.org/a", "digest": "sha1:...", ...}
#
# Laws: memory is bounded, however long the index is. The file beside the store is complete or is
# not there: after a kill, the index is read again. An original was captured at the same URL, before
# its revisit. If that capture is a revisit itself, the first response with its digest takes its
# place; if the index has none, there is no original, and the body is written.

_LONGEST_LINE, _LONG_BYTES = 1 << 17, 1 << 26
_ADDED_AT_ONCE = 10_000
_CACHE_KIB = 16_384
_GZIP = b"\x1f\x8b"
_HEADS = (b"!", b"@")
"""Beginnings of header lines, which describe the file."""
_SHA1 = re.compile(r"(?:sha-?1:)?(?:([A-Z2-7]{32})|([0-9A-F]{40}))", re.IGNORECASE)
_STAMP = re.compile(r"[0-9]{14,17}")
_REVISIT = "warc/revisit"
_Row = tuple[int, bytes, int, str | None]
_ADVICE = "delete it, and name the CDXJ again by --dedupe-with"
_TABLES = """
CREATE TABLE captures (
    key INTEGER NOT NULL,   -- of the canonical URL
    digest BLOB NOT NULL,   -- SHA-1 of the payload
    at INTEGER NOT NULL,
    url TEXT                -- as the index has it; NULL in a revisit
);
CREATE TABLE made_from (file TEXT NOT NULL);
"""
_INDEXES = """
CREATE INDEX by_key ON captures (key, digest);
CREATE INDEX by_digest ON captures (digest, at) WHERE url IS NOT NULL;
"""
_FOUND = "SELECT CAST(url AS TEXT), CAST(at AS INTEGER) FROM captures WHERE at BETWEEN 0 AND ?"
_OF_URL = f"{_FOUND} AND key = ? AND digest = ? ORDER BY url IS NULL, at DESC LIMIT 1"
_OF_DIGEST = f"{_FOUND} AND url IS NOT NULL AND digest = ? ORDER BY at LIMIT 1"


class EarlierArchive:
    """Captures of an earlier archive, in a file beside the store."""

    def __init__(self, file: Path) -> None:
        place = f"file:{quote(str(file.absolute()))}?mode=ro"
        self._file = file
        with index_errors(file, _ADVICE):
            self._connection = sqlite3.connect(place, uri=True, check_same_thread=False)
            made_from = "SELECT coalesce(max(file), '') FROM made_from"
            try:
                found = self._connection.execute(made_from).fetchone()
            except BaseException:
                self.close()
                raise
            self.made_from = str(found[0])
            """Path, size and time of the CDXJ that this file was made from."""

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def original(self, url: str, digest: str, at: float) -> Original | None:
        """Return the earlier response that holds the body of this capture, or None."""
        ask, sha1, before = self._connection.execute, _sha1_in(digest), int(at) - 1
        with index_errors(self._file, _ADVICE):
            found = ask(_OF_URL, (before, key_of(canonical(url) or url), sha1)).fetchone()
            if found is not None and found[0] is None:
                found = ask(_OF_DIGEST, (before, sha1)).fetchone()
        return None if found is None else Original(found[0], iso(found[1]))


def read_earlier(cdxj: Path, file: Path, tell: Callable[[str], None]) -> None:
    """Make the file beside a store from a CDXJ, unless it is made from this one already."""
    try:
        status = cdxj.stat()
        if not cdxj.is_file():
            raise UsageError(f"{cdxj}: not a regular file: save it to one first")
        raw = cdxj.open("rb")
    except OSError as error:
        raise UsageError(f"{cdxj}: {error.strerror}") from error
    with raw:
        made_from = f"{cdxj} {status.st_size} {status.st_mtime_ns}"
        if file.exists() and _is_made_from(file, made_from):
            return
        if status.st_size > _LONG_BYTES:
            tell(f"{cdxj}: reading it, which takes 20 seconds for a million lines")
        lines = _Cdxj(cdxj, raw)
        draft = file.with_name(f"{file.name}.draft")
        with disk_errors(draft):
            draft.unlink(missing_ok=True)
            try:
                _fill(draft, lines.rows(), made_from)
                lines.check()
                sync(draft)
                draft.rename(file)
                sync(file.parent)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        tell(str(lines))


def _is_made_from(file: Path, made_from: str) -> bool:
    with suppress(StoreError), closing(EarlierArchive(file)) as known:  # damaged: replaced
        return known.made_from == made_from
    return False


def _fill(draft: Path, rows: Iterator[_Row], made_from: str) -> None:
    with index_errors(draft, _ADVICE), closing(sqlite3.connect(draft)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")  # nobody needs a part of a draft
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.executescript(_TABLES)
        while some := list(islice(rows, _ADDED_AT_ONCE)):
            with connection:
                connection.executemany("INSERT INTO captures VALUES (?, ?, ?, ?)", some)
        # Indexes come last: digests are random, so each insert would touch another page of them.
        connection.executescript(_INDEXES)
        with connection:
            connection.execute("INSERT INTO made_from VALUES (?)", (made_from,))


# ================================================================ cdxj


class _Cdxj:
    """Lines of a CDXJ file, plain or gzip, and their counts."""

    def __init__(self, path: Path, raw: BinaryIO) -> None:
        self._path, self._raw = path, raw
        self._captures = self._bad = self._others = 0

    def __str__(self) -> str:
        counts = {
            "that cannot be read": self._bad,
            "without a GET and a SHA-1": self._others,
        }
        left_out = [f"{counted(count, 'line')} {why}" for why, count in counts.items() if count]
        said = f"; left out {' and '.join(left_out)}" if left_out else ""
        return f"{self._path}: {counted(self._captures, 'earlier capture')}{said}"

    def check(self) -> None:
        """Raise UsageError if no line could be read."""
        if self._bad and not self._captures + self._others:
            raise UsageError(
                f"{self._path}: not a CDXJ index (expected lines such as "
                "'org,example)/ 20261101120000 {...}')"
            )

    def rows(self) -> Iterator[_Row]:
        """Yield the captures."""
        for line in self._lines():
            try:
                row = _row(line)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                self._bad += 1
                continue
            if row is None:
                self._others += 1
            else:
                self._captures += 1
                yield row

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines; a line that is too long is cut, so that its parsing fails."""
        is_packed = self._raw.read(len(_GZIP)) == _GZIP
        self._raw.seek(0)
        try:
            with gzip.GzipFile(fileobj=self._raw) if is_packed else self._raw as file:
                while line := file.readline(_LONGEST_LINE):
                    if line.strip() and not line.startswith(_HEADS):
                        yield line
                    while len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                        line = file.readline(_LONGEST_LINE)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UsageError(f"{self._path}: damaged ({error})") from error


def _row(line: bytes) -> _Row | None:
    """Return the row of a line, or None without a GET and a SHA-1. Errors mean a bad line."""
    _, stamp, document = line.decode().split(" ", 2)
    fields = json.loads(document)
    if not _STAMP.fullmatch(stamp):
        raise ValueError(stamp)
    at = int(datetime.fromisoformat(f"{stamp[:8]}T{stamp[8:14]}Z").timestamp())
    url, digest = fields["url"], _sha1_in(fields.get("digest", ""))
    if not url.isprintable() or " " in url:  # it is written into the head of a record
        raise ValueError(url)
    known = canonical(url)
    if digest is None or known is None or fields.get("method", "GET") != "GET":
        return None
    return key_of(known), digest, at, None if fields.get("mime") == _REVISIT else url


def _sha1_in(digest: str) -> bytes | None:
    """Return the SHA-1 in a digest, in base32 or hexadecimal, or None for another algorithm."""
    found = _SHA1.fullmatch(digest)
    if found is None:
        return None
    return b32decode(found[1].upper()) if found[1] else bytes.fromhex(found[2])
