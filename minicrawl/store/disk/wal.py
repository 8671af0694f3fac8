"""Write-ahead log as bytes: reading committed bytes, and replaying them into another store.

Laws: reading always ends at a commit. Folding the bytes of successive logs into an older file
gives the pages of the last commit. A partial transaction at the end is ignored, as after a crash.

SQLite documents both files in "WAL-mode File Format". The committed length is in the index
(-shm), which the writer has just updated; the log itself may have stale bytes after it.

salt    random number in the header of a log and of each frame; it changes with each new log
frame   a page with its header; the last header of a commit holds the size of the database
fold    move the committed pages of the log into the database
"""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from minicrawl.errors import DamagedStore
from minicrawl.store.disk.trouble import translating_sqlite_errors
from minicrawl.store.reader import LOG, file_beside

_INDEX = "-shm"
_JOURNAL = "-journal"
_HEADER, _FRAME_HEADER = 32, 24
_SALTS_AT = 16
_SALT_BYTES = 8
_INDEX_HEADER = struct.Struct("=12xBBHI12x8s")
"""Fields of the index: initialized flag, byte order, page size, number of frames, salts."""
_LARGEST_PAGE = 1 << 16


class WalTail:
    """Reader of the bytes that were committed to a log since the last read."""

    def __init__(self, path: Path) -> None:
        self._log, self._index = file_beside(path, LOG), file_beside(path, _INDEX)
        self._salts = b""
        self.log_bytes = 0
        """Number of bytes read so far from the current log."""

    def forget(self) -> None:
        """Start over at the beginning of a new log, after the old one was folded."""
        self.log_bytes = 0

    def pieces(self, most_bytes: int) -> Iterator[tuple[int, bytes]]:
        """Yield the new committed bytes, once: pieces of at most `most_bytes`, and their offsets.

        The offset is 0 at the beginning of a log.
        """
        try:
            with self._index.open("rb") as index:
                head = index.read(_INDEX_HEADER.size)
        except FileNotFoundError:
            return
        is_set_up, _, page, frames, salts = _INDEX_HEADER.unpack(head)
        if not is_set_up or not frames:
            return
        end = _HEADER + frames * (_FRAME_HEADER + (_LARGEST_PAGE if page == 1 else page))
        if salts != self._salts:
            self._salts, self.log_bytes = salts, 0
        if end <= self.log_bytes:
            return
        with self._log.open("rb") as log:
            if log.read(_HEADER)[_SALTS_AT : _SALTS_AT + _SALT_BYTES] != self._salts:
                raise DamagedStore(f"{self._log} is not the log that SQLite says it is")
            while self.log_bytes < end:
                log.seek(self.log_bytes)
                piece = log.read(min(most_bytes, end - self.log_bytes))
                if not piece:
                    raise DamagedStore(f"{self._log} is shorter than SQLite says")
                offset, self.log_bytes = self.log_bytes, self.log_bytes + len(piece)
                yield offset, piece


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
