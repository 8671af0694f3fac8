"""Captures of earlier archives: a crawl refers to their bodies and need not write them again.

A crawl reads the indexes of the earlier archives (CDXJ) once, into an SQLite file beside its store:

    org,example)/a 20261101120000 {"url": "https://example.org/a", "digest": "sha1:...", ...}

Laws: memory is bounded, however long the indexes are. The file beside the store is complete or is
not there: after a kill, the index is read again. An original was captured before its revisit: the
last response with this body at the same URL or, if there is none, the first at any URL.
"""

import gzip
import json
import re
import sqlite3
import zlib
from base64 import b32decode
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from urllib.parse import quote

from minicrawl.archive.index import index_errors
from minicrawl.archive.record import key_of
from minicrawl.archive.segments import disk_errors
from minicrawl.archive.warc.capture import Original
from minicrawl.errors import StoreError, UsageError
from minicrawl.own_files import put_in_place
from minicrawl.web.takedowns import NO_TAKEDOWNS, Takedowns
from minicrawl.web.urls import canonical
from minicrawl.wording import counted, iso

_LONGEST_LINE, _LONG_BYTES = 1 << 17, 1 << 26
_ADDED_AT_ONCE = 10_000
_CACHE_KIB = 16_384
_GZIP = b"\x1f\x8b"
_ENDINGS = (".cdxj", ".cdxj.gz", ".cdx", ".cdx.gz")
"""Endings of the indexes in a folder; WACZ files name theirs `.cdx`."""
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
    def __init__(self, file: Path) -> None:
        place = f"file:{quote(str(file.absolute()))}?mode=ro"
        self._file = file
        with index_errors(file, _ADVICE):
            self._connection = sqlite3.connect(place, uri=True, check_same_thread=False)
            made_from = "SELECT coalesce(max(file), '') FROM made_from"
            try:
                row = self._connection.execute(made_from).fetchone()
            except BaseException:
                self.close()
                raise
            self.made_from = str(row[0])
            """Path, size and time of each CDXJ that this file was made from."""

    def close(self) -> None:
        self._connection.close()

    def original(self, url: str, digest: str, at: float) -> Original | None:
        """Return the earlier response that holds the body of this capture, or None."""
        ask, sha1, before = self._connection.execute, _sha1_in(digest), int(at) - 1
        with index_errors(self._file, _ADVICE):
            row = ask(_OF_URL, (before, key_of(canonical(url) or url), sha1)).fetchone()
            if row is None or row[0] is None:
                row = ask(_OF_DIGEST, (before, sha1)).fetchone()
        return None if row is None else Original(row[0], iso(row[1]))


def forget_earlier(file: Path, is_gone: Callable[[str], object]) -> None:
    """Delete the captures of URLs that were taken down, also from the free space of the file."""
    with index_errors(file, _ADVICE), closing(sqlite3.connect(file)) as connection:
        connection.create_function("is_gone", 1, lambda url: bool(is_gone(canonical(url) or url)))
        with connection:
            connection.execute("DELETE FROM captures WHERE url IS NOT NULL AND is_gone(url)")
        connection.execute("VACUUM")


def read_earlier(
    place: Path, file: Path, say: Callable[[str], None], gone: Takedowns = NO_TAKEDOWNS
) -> None:
    """Make the file beside a store from a CDXJ, or from those in a folder and the folders in it.

    Captures of URLs that were taken down are left out. Nothing is done if the file is made from
    these indexes already.
    """
    paths = [place]
    try:
        if place.is_dir():
            paths = sorted(path for path in place.rglob("*") if path.name.endswith(_ENDINGS))
        states = [path.stat() for path in paths]
    except OSError as error:
        raise UsageError(f"{place}: {error.strerror}") from error
    for path in paths:
        if not path.is_file():
            raise UsageError(f"{path}: not a regular file: save it to one first")
    made_from = "\n".join(
        f"{path} {state.st_size} {state.st_mtime_ns}"
        for path, state in zip(paths, states, strict=True)
    )
    # A file that is missing or damaged is replaced.
    with suppress(StoreError), closing(EarlierArchive(file)) as known:
        if known.made_from == made_from:
            return
    if sum(state.st_size for state in states) > _LONG_BYTES:
        say(f"{place}: reading it, which takes 20 seconds for a million lines")
    lines = _Cdxj(place)
    draft = file.with_name(f"{file.name}.draft")
    with disk_errors(draft):
        draft.unlink(missing_ok=True)
        try:
            rows: Iterator[_Row] = chain.from_iterable(map(lines.rows, paths))
            if gone:
                rows = (
                    row
                    for row in rows
                    if not row[3] or not gone.covers(canonical(row[3]) or row[3])
                )
            with index_errors(draft, _ADVICE), closing(sqlite3.connect(draft)) as connection:
                # Nobody needs a part of a draft.
                connection.execute("PRAGMA journal_mode = OFF")
                connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
                connection.executescript(_TABLES)
                while block := list(islice(rows, _ADDED_AT_ONCE)):
                    with connection:
                        connection.executemany("INSERT INTO captures VALUES (?, ?, ?, ?)", block)
                # Indexes come last: digests are random, so each insert would touch another page of
                # them.
                connection.executescript(_INDEXES)
                with connection:
                    connection.execute("INSERT INTO made_from VALUES (?)", (made_from,))
            lines.check()
            put_in_place(draft, file)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    say(str(lines))


class _Cdxj:
    """Lines of CDXJ files, plain or gzip, and their counts."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._captures = self._bad = self._others = 0

    def __str__(self) -> str:
        counts = {
            "that cannot be read": self._bad,
            "without a GET and a SHA-1": self._others,
        }
        left_out = [f"{counted(count, 'line')} {why}" for why, count in counts.items() if count]
        omissions = f"; left out {' and '.join(left_out)}" if left_out else ""
        return f"{self._place}: {counted(self._captures, 'earlier capture')}{omissions}"

    def check(self) -> None:
        """Raise UsageError if no line could be read."""
        if self._bad and not self._captures + self._others:
            raise UsageError(
                f"{self._place}: not a CDXJ index (expected lines such as "
                "'org,example)/ 20261101120000 {...}')"
            )

    def rows(self, path: Path) -> Iterator[_Row]:
        for line in _lines(path):
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


def _lines(path: Path) -> Iterator[bytes]:
    """Yield the lines; a line that is too long is cut, so that its parsing fails."""
    try:
        with path.open("rb") as raw:
            is_packed = raw.read(len(_GZIP)) == _GZIP
            raw.seek(0)
            file = gzip.GzipFile(fileobj=raw) if is_packed else raw
            while line := file.readline(_LONGEST_LINE):
                if line.strip() and not line.startswith(_HEADS):
                    yield line
                while len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                    line = file.readline(_LONGEST_LINE)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UsageError(f"{path}: damaged ({error})") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


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
    match = _SHA1.fullmatch(digest)
    if match is None:
        return None
    return b32decode(match[1].upper()) if match[1] else bytes.fromhex(match[2])
