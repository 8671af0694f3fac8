"""Which bodies are in the WARC files that a crawl writes, so that they are not written again.

Laws: this is derived and may be deleted at any time: bodies that it does not know of are written
once more. Changes count when they are committed.

capture   a record of an answer, at a place of the files
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

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
