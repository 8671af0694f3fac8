"""The write-ahead log of a store as bytes: what a writer has committed, and a store made of it.

Laws: what is read ends with a commit. A store that is folded from an older file and the bytes of
its logs, one after the other, has the pages that the writer had after its last commit; what was cut
off within a commit does not count, as after a kill.

SQLite describes both files in "WAL-mode File Format". How far the log is committed is in the index
beside it, which the writer has just brought up to date; the log itself may have older bytes behind.

salt    a random number in the header of a log and in each of its frames; a new log has a new one
frame   a page with its header; the header of the last one of a commit has the size of the store
fold    to move what the log says into the file
"""

import sqlite3
import struct
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from minicrawl.errors import DamagedStore
from minicrawl.store.reader import LOG, file_beside
from minicrawl.store.trouble import translating_sqlite_errors

_INDEX = "-shm"
_JOURNAL = "-journal"
_HEADER, _FRAME_HEADER = 32, 24
_SALTS_AT = 16
_SALT_BYTES = 8
_INDEX_HEADER = struct.Struct("=12xBBHI12x8s")
"""Of the index: is it set up, order of bytes, size of a page, frames, and the salts."""
_LARGEST_PAGE = 1 << 16


class WalPiece(NamedTuple):
    """Bytes of a log."""

    offset: int
    """0 if they are its first ones."""
    content: bytes


class WalTail:
    """What was committed since it was read last."""

    def __init__(self, path: Path) -> None:
        self._log, self._index = file_beside(path, LOG), file_beside(path, _INDEX)
        self._salts = b""
        self._offset = 0

    @property
    def log_bytes(self) -> int:
        """How long the log is, as far as it was read."""
        return self._offset

    def forget(self) -> None:
        """The log is in the file: a new one begins."""
        self._offset = 0

    def pieces(self, most_bytes: int) -> Iterator[WalPiece]:
        """The new bytes, in pieces. What was given is not given again."""
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
        """Up to which byte the log is committed, and its salts."""
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
    """A file without tables, to fold the first log into, instead of whatever was there."""
    remove(path)
    with translating_sqlite_errors(path), closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


def remove(path: Path) -> None:
    """Remove the store and its log. What else lies beside it stays."""
    for suffix in ("", LOG, _INDEX, _JOURNAL):
        file_beside(path, suffix).unlink(missing_ok=True)


def log_of(path: Path) -> Path:
    """Where the bytes of a log are to be laid."""
    return file_beside(path, LOG)


def fold(path: Path) -> None:
    """Move the commits of the log that lies beside the file into it, and remove the log."""
    with translating_sqlite_errors(path), closing(sqlite3.connect(path)) as connection:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise DamagedStore(f"{path} is read by somebody while it is restored")
