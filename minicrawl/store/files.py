"""The files of a store: moved together, and the write-ahead log as bytes.

Laws: a store is moved or set aside only while nobody writes it. Within a file system each file is
renamed, the store last, so that repeating the command completes an interrupted move. Across file
systems the old files are removed when all copies are complete.

beside   files and folders named like the store, followed by `-` or `.log`
"""

import os
import re
import shutil
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from errno import EXDEV
from itertools import chain, count
from pathlib import Path
from typing import NamedTuple

from minicrawl.errors import DamagedStore, MinicrawlError, StoreError, UsageError
from minicrawl.store import tables
from minicrawl.store.reader import DASHBOARD, LOCK, LOG, file_beside, missing_store, real_path
from minicrawl.store.records import Batch, reporting_damage, translating_sqlite_errors
from minicrawl.store.writer import StoreWriter, locked

_BESIDE = ("-*", ".log*")
_MAGIC = b"SQLite format 3\0"


def is_database(path: Path) -> bool:
    """Return True if the file is an SQLite database."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


def files_of(store: Path) -> list[Path]:
    """Return the files and folders that belong to a store; the store comes last.

    Lock and dashboard note are not included. They belong to the path: the process that made them
    keeps them, whatever store is at the path next.
    """
    place = real_path(store)
    name = place.name.translate({ord(sign): f"[{sign}]" for sign in "*?["})
    found = chain.from_iterable(place.parent.glob(f"{name}{end}") for end in _BESIDE)
    of_place = {file_beside(place, LOCK), file_beside(place, DASHBOARD)}
    kept = sorted(file for file in found if file not in of_place)
    return [*kept, place] if place.exists() else kept


def bytes_of(file: Path) -> int:
    """Return the size of a file, or of all files in a folder."""
    with suppress(FileNotFoundError):  # a log may disappear at any time
        if not file.is_dir():
            return file.stat().st_size
    return sum(bytes_of(inner) for inner in file.iterdir()) if file.is_dir() else 0


def set_aside(path: Path) -> Path | None:
    """Rename the store. Return its new name, or None if there is no store.

    If the path is a symbolic link, its target is renamed and the link stays.
    """
    if not path.exists():
        return None
    if path.is_symlink():
        path = real_path(path)
    stamp = time.strftime(f"{path.name}.%Y-%m-%dT%H-%M-%S")
    names = chain((stamp,), (f"{stamp}-{number}" for number in count(2)))
    aside = next(free for name in names if not (free := path.with_name(name)).exists())
    with locked(path):
        for file, target in _moves(path, aside):
            file.rename(target)
    return aside


def stores_aside(path: Path) -> list[Path]:
    """Return the earlier stores of this path that `set_aside` renamed."""
    path = real_path(path) if path.is_symlink() else path
    stamped = re.compile(rf"{re.escape(path.name)}\.[0-9-]{{10}}T[0-9-]{{8,}}")
    return sorted(one for one in path.parent.iterdir() if stamped.fullmatch(one.name))


def move(
    path: Path,
    to: Path,
    *,
    is_folder: bool = False,
    made: Callable[[Path], None] = lambda _folder: None,
) -> list[Path]:
    """Move the store and all files beside it. Return the new files, the store last.

    `to` is the new name, or a folder. `made` is called with a folder that was created.
    """
    if not path.is_file():
        raise missing_store(path)
    target = to / path.name if to.is_dir() or is_folder else to
    for _, new in _moves(path, target):
        if os.path.lexists(new):
            raise UsageError(f"{new} exists: move it away or choose another name")
    with locked(path):
        if file_beside(path, LOG).exists():
            raise StoreError(f"{path} is being read: wait and try again")
        moves = list(_moves(path, target))
        try:
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                made(target.parent)
            _move_all(moves)
        except OSError as error:
            raise MinicrawlError(
                f"{path} cannot be moved to {target}: {error.strerror}; repeat the command"
            ) from error
    _note_move(real_path(path), target)
    return [new for _, new in moves]


def _note_move(place: Path, target: Path) -> None:
    """Let the next crawl go on with the WARC files of the store, which belong to a path."""
    with reporting_damage(target), closing(StoreWriter.open(target)) as store:
        counters = tables.counters(store.connection)
        series = counters.get(tables.WARC)
        if isinstance(series, dict) and series.get("store") == str(place):
            moved = series | {"store": str(real_path(target))}
            store.commit(Batch(counters=counters | {tables.WARC: moved}))


def _moves(path: Path, target: Path) -> Iterator[tuple[Path, Path]]:
    place = real_path(path)
    for file in files_of(place):
        yield file, target.with_name(target.name + file.name.removeprefix(place.name))


def _move_all(moves: list[tuple[Path, Path]]) -> None:
    for file, target in moves:
        try:
            file.rename(target)
        except OSError as error:
            if error.errno != EXDEV:
                raise
            _copy_all(moves)
            return


def _copy_all(moves: list[tuple[Path, Path]]) -> None:
    """Copy to another file system, under temporary names until all copies are complete."""
    drafts = [(file, target.with_name(f"{target.name}.part"), target) for file, target in moves]
    try:
        for file, draft, _ in drafts:
            _remove(draft)
            shutil.copytree(file, draft) if file.is_dir() else shutil.copy2(file, draft)
    except BaseException:
        for _, draft, _ in drafts:
            _remove(draft)
        raise
    for _, draft, target in drafts:
        draft.rename(target)
    for file, _ in reversed(moves):
        _remove(file)


def _remove(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


# ================================================================ wal
#
# Write-ahead log as bytes: reading committed bytes, and replaying them into another store.
#
# Laws: reading always ends at a commit. Folding the bytes of successive logs into an older file
# gives the pages of the last commit. A partial transaction at the end is ignored, as after a crash.
#
# SQLite documents both files in "WAL-mode File Format". The committed length is in the index
# (-shm), which the writer has just updated; the log itself may have stale bytes after it.
#
# salt    random number in the header of a log and of each frame; it changes with each new log
# frame   a page with its header; the last header of a commit holds the size of the database
# fold    move the committed pages of the log into the database

_INDEX = "-shm"
_JOURNAL = "-journal"
_HEADER, _FRAME_HEADER = 32, 24
_SALTS_AT = 16
_SALT_BYTES = 8
_INDEX_HEADER = struct.Struct("=12xBBHI12x8s")
"""Fields of the index: initialized flag, byte order, page size, number of frames, salts."""
_LARGEST_PAGE = 1 << 16


class WalPiece(NamedTuple):
    """Consecutive bytes of a log."""

    offset: int
    """Offset in the log; 0 at its beginning."""
    content: bytes


class WalTail:
    """Reader of the bytes that were committed to a log since the last read."""

    def __init__(self, path: Path) -> None:
        self._log, self._index = file_beside(path, LOG), file_beside(path, _INDEX)
        self._salts = b""
        self._offset = 0

    @property
    def log_bytes(self) -> int:
        """Number of bytes read so far from the current log."""
        return self._offset

    def forget(self) -> None:
        """Start over at the beginning of a new log, after the old one was folded."""
        self._offset = 0

    def pieces(self, most_bytes: int) -> Iterator[WalPiece]:
        """Yield the new committed bytes, once, in pieces of at most `most_bytes`."""
        end, salts = self._committed()
        if salts != self._salts:
            self._salts, self._offset = salts, 0
        if end <= self._offset:
            return
        with self._log.open("rb") as log:
            self._check(log.read(_HEADER))
            while self._offset < end:
                log.seek(self._offset)
                piece = log.read(min(most_bytes, end - self._offset))
                if not piece:
                    raise DamagedStore(f"{self._log} is shorter than SQLite says")
                offset, self._offset = self._offset, self._offset + len(piece)
                yield WalPiece(offset, piece)

    def _committed(self) -> tuple[int, bytes]:
        """Return the committed length of the log, and its salts."""
        try:
            with self._index.open("rb") as index:
                head = index.read(_INDEX_HEADER.size)
        except FileNotFoundError:
            return 0, self._salts
        is_set_up, _, page, frames, salts = _INDEX_HEADER.unpack(head)
        if not is_set_up or not frames:
            return 0, self._salts
        size = _LARGEST_PAGE if page == 1 else page
        return _HEADER + frames * (_FRAME_HEADER + size), salts

    def _check(self, header: bytes) -> None:
        if header[_SALTS_AT : _SALTS_AT + _SALT_BYTES] != self._salts:
            raise DamagedStore(f"{self._log} is not the log that SQLite says it is")


def make_empty(path: Path) -> None:
    """Replace the store with an empty database, into which the first log can be folded."""
    remove(path)
    with translating_sqlite_errors(path), closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def remove(path: Path) -> None:
    """Remove the store and its log, but no other files beside it."""
    for suffix in ("", LOG, _INDEX, _JOURNAL):
        file_beside(path, suffix).unlink(missing_ok=True)


def fold(path: Path) -> None:
    """Fold the log beside the store into it, and truncate the log."""
    with translating_sqlite_errors(path), closing(sqlite3.connect(path)) as connection:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise DamagedStore(f"{path} cannot be restored while another process reads it")
