"""Bodies that are already in the WARC files of a crawl, so that each is written once.

Laws: this index is derived data and can be deleted at any time; the bodies it would have listed
are then written a second time. Changes take effect on commit.

capture   record of one answer, at a place in the WARC files
"""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from minicrawl.archive.index import open_derived

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
        self._connection.execute("COMMIT")

    def original(self, digest: str) -> tuple[str, float] | None:
        """Return URL and time of the first capture with this body, or None."""
        row = self._connection.execute(
            "SELECT url, at FROM captures WHERE digest = ? AND url IS NOT NULL ORDER BY place",
            (digest,),
        ).fetchone()
        return None if row is None else (str(row[0]), float(row[1]))

    def last_digest(self, key: int) -> str | None:
        """Return the digest of the URL's most recent page, or None."""
        row = self._connection.execute(
            "SELECT digest FROM captures WHERE key = ? ORDER BY place DESC", (key,)
        ).fetchone()
        return None if row is None else str(row[0])


def open_captures(file: Path) -> CaptureIndex:
    """Open the index. A damaged file is replaced; without write access the index is in memory."""
    # The lines are nowhere else: with NORMAL, a power failure would take some of them, and bring
    # back those of records that were cut off.
    return open_derived(file, CaptureIndex, "FULL")
