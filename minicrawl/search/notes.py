"""Notes: data that the index needs between its runs, in SQLite beside it.

Laws: notes are committed after the index, so that they never know more than the index does. Work
missing from the notes is repeated, which is idempotent.

anchor      words of a link, which belong to its target
cut         what a limit has cut from the text of a page, and why
stale       indexed pages that received links with other words since
unsorted    pages whose signatures changed since near-duplicates were found
watermark   place in the archive and step of the log up to which the index is complete
"""

import os
import sqlite3
from array import array
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np

from minicrawl.search.indexing.boilerplate import HostLines
from minicrawl.search.near_duplicates import SignedPages
from minicrawl.web.signatures import PLACES

NAME = "notes.db"
VERSION = 8
"""Version of the whole index; an index with another version is rebuilt."""
MOST_ANCHORS = 30
"""Anchor texts of a page in the index."""
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS anchors (
    page INTEGER NOT NULL, site INTEGER NOT NULL, words TEXT NOT NULL,
    PRIMARY KEY (page, words, site)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS stale (page INTEGER PRIMARY KEY);
CREATE TRIGGER IF NOT EXISTS new_anchors AFTER INSERT ON anchors BEGIN
    INSERT OR IGNORE INTO stale VALUES (new.page);
END;
CREATE TABLE IF NOT EXISTS lines (
    site INTEGER NOT NULL, code INTEGER NOT NULL, pages INTEGER NOT NULL,
    PRIMARY KEY (site, code)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sites (site INTEGER PRIMARY KEY, pages INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS signatures (
    page INTEGER PRIMARY KEY, title INTEGER NOT NULL, signature BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS judged (
    page INTEGER NOT NULL, other INTEGER NOT NULL, alike INTEGER NOT NULL,
    PRIMARY KEY (page, other)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unsorted (page INTEGER PRIMARY KEY);
CREATE TABLE IF NOT EXISTS cut (page INTEGER PRIMARY KEY, what TEXT NOT NULL);
"""


_BEST_ANCHORS = """
SELECT words, site FROM (
    SELECT words, site, sites,
        row_number() OVER (PARTITION BY site ORDER BY sites DESC, words) AS nth
    FROM (
        SELECT words, site, count(*) OVER (PARTITION BY words) AS sites
        FROM anchors WHERE page = ?
    )
) ORDER BY nth, sites DESC, words, site LIMIT ?
"""


class Watermark(NamedTuple):
    """Place in the archive and step of the log up to which the index is complete."""

    place: int = 0
    step: int = 0


class AnchorRow(NamedTuple):
    """Words of a link from a site to a page."""

    page: int
    site: int
    words: str


class Notes:
    """Notes of an index. Changes take effect on commit."""

    def __init__(self, folder: Path) -> None:
        path = folder / NAME
        # In a folder that this process cannot write, nobody writes, so there is no write-ahead log.
        is_fixed = path.exists() and not os.access(folder, os.W_OK)
        name = f"{path.absolute().as_uri()}?mode=ro&immutable=1" if is_fixed else path
        self._connection = sqlite3.connect(name, isolation_level=None, uri=is_fixed)
        try:
            if not is_fixed:
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.executescript(_SCHEMA)
        except BaseException:
            self._connection.close()
            raise
        self.texts = TextNotes(self._connection)

    def close(self) -> None:
        """Close the file and discard uncommitted changes."""
        self._connection.close()

    @property
    def watermark(self) -> Watermark:
        """Place and step up to which the index is complete."""
        return Watermark(int(self._meta("place") or 0), int(self._meta("step") or 0))

    @property
    def store(self) -> str | None:
        """Identity of the indexed store."""
        return self._meta("store")

    @property
    def archive(self) -> str | None:
        """Identity of the archive to which the watermark refers."""
        return self._meta("archive")

    @property
    def version(self) -> int:
        return int(self._meta("version") or 0)

    def record_store(self, store: str) -> None:
        """Record the identity of the indexed store, and the current version."""
        self._set("store", store)
        self._set("version", str(VERSION))

    def begin(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN IMMEDIATE")

    def begin_archive(self, name: str, place: int) -> None:
        """Record a new archive, and the place up to which it is indexed."""
        self.begin()
        self._set("archive", name)
        self.commit(self.watermark._replace(place=place))

    def commit(self, watermark: Watermark) -> None:
        """Commit, with the index complete up to `watermark`."""
        self._set("place", str(watermark.place))
        self._set("step", str(watermark.step))
        self._connection.execute("COMMIT")

    def add_anchors(self, rows: Iterable[AnchorRow]) -> None:
        """Add anchors. Pages with new ones become stale."""
        self._connection.executemany("INSERT OR IGNORE INTO anchors VALUES (?, ?, ?)", rows)

    def pass_on(self, page: int, target: int) -> None:
        """Copy the anchors of a page to the page that it stands for."""
        if page == target:
            return
        query = "SELECT ?, site, words FROM anchors WHERE page = ?"
        self.add_anchors(
            [AnchorRow(*row) for row in self._connection.execute(query, (target, page))]
        )

    def mark_fresh(self, pages: Iterable[int]) -> None:
        """Mark pages as up to date in the index."""
        self._connection.executemany(
            "DELETE FROM stale WHERE page = ?", ((page,) for page in pages)
        )

    def keep_lines(self, host_id: int, lines: HostLines) -> None:
        self._connection.execute("DELETE FROM lines WHERE site = ?", (host_id,))
        rows = ((host_id, code, pages) for code, pages in lines.remembered())
        self._connection.executemany("INSERT INTO lines VALUES (?, ?, ?)", rows)
        row = host_id, lines.pages
        self._connection.execute("INSERT OR REPLACE INTO sites VALUES (?, ?)", row)

    def anchors(self, page: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Return the anchors of a page, at most `MOST_ANCHORS`, with their sites.

        The words used by most sites come first, and no site has a second place before every other
        site has its first.
        """
        rows = self._connection.execute(_BEST_ANCHORS, (page, MOST_ANCHORS)).fetchall()
        return tuple(words for words, _ in rows), tuple(site for _, site in rows)

    def stale(self, count: int, after: int = -1) -> list[int]:
        """Return up to `count` stale pages after the page `after`."""
        query = "SELECT page FROM stale WHERE page > ? ORDER BY page LIMIT ?"
        return [page for (page,) in self._connection.execute(query, (after, count))]

    def stale_counts(self) -> tuple[int, int]:
        """Return the number of stale pages whose text is in the index, and of the others."""
        query = (
            "SELECT count(signatures.page), count(*) FROM stale LEFT JOIN signatures USING (page)"
        )
        with_text, of_all = self._connection.execute(query).fetchone()
        return int(with_text), int(of_all - with_text)

    def lines(self, host_id: int) -> HostLines:
        query = "SELECT pages FROM sites WHERE site = ?"
        row = self._connection.execute(query, (host_id,)).fetchone()
        query = "SELECT code, pages FROM lines WHERE site = ?"
        return HostLines(row[0] if row else 0, self._connection.execute(query, (host_id,)))

    def anchors_stored(self) -> tuple[int, int]:
        """Return the number of anchor texts, and their characters."""
        query = "SELECT count(*), ifnull(sum(length(words)), 0) FROM anchors"
        count, characters = self._connection.execute(query).fetchone()
        return int(count), int(characters)

    def _meta(self, name: str) -> str | None:
        row = self._connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def _set(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


class TextNotes:
    """Signatures of page texts, and judged pairs, for near-duplicates."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def sign(self, page: int, title: str, signature: bytes | None, cut: str = "") -> None:
        """Set the signature of a page's text, and what is cut from it; None removes both."""
        self._connection.execute("DELETE FROM cut WHERE page = ?", (page,))
        if cut:
            self._connection.execute("INSERT INTO cut VALUES (?, ?)", (page, cut))
        row = (page, crc32(title.encode("utf-8", "replace")), signature)
        known = self._connection.execute(
            "SELECT page, title, signature FROM signatures WHERE page = ?", (page,)
        ).fetchone()
        # A page that was read again mostly has the same text, so its pairs stay judged.
        if known == row or known is None is signature:
            return
        self._connection.execute("DELETE FROM signatures WHERE page = ?", (page,))
        if signature is not None:
            self._connection.execute("INSERT INTO signatures VALUES (?, ?, ?)", row)
        self._connection.execute("INSERT OR IGNORE INTO unsorted VALUES (?)", (page,))

    def keep_judged(self, judged: Mapping[tuple[int, int], bool]) -> None:
        """Store the judged pairs, and mark all pages as sorted."""
        rows = ((page, other, is_alike) for (page, other), is_alike in judged.items())
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute("DELETE FROM judged")
        self._connection.executemany("INSERT INTO judged VALUES (?, ?, ?)", rows)
        self._connection.execute("DELETE FROM unsorted")
        self._connection.execute("COMMIT")

    def signed(self) -> SignedPages:
        """Return the signatures of all pages, in order; they take 150 bytes of memory each."""
        query = "SELECT page, title, signature FROM signatures ORDER BY page"
        pages, titles, signatures = array("q"), array("q"), bytearray()
        for page, title, signature in self._connection.execute(query):
            pages.append(page)
            titles.append(title)
            signatures += signature
        return SignedPages(
            np.array(pages, np.int64),
            np.array(titles, np.int64),
            np.frombuffer(signatures, np.uint8).reshape(-1, PLACES),
        )

    def cut(self) -> dict[int, str]:
        """Return what limits have cut from the texts of pages."""
        return dict(self._connection.execute("SELECT page, what FROM cut ORDER BY page"))

    def judged(self) -> dict[tuple[int, int], bool]:
        """Return the judged pairs whose pages have not changed since."""
        query = (
            "SELECT page, other, alike FROM judged WHERE page NOT IN (SELECT page FROM unsorted) "
            "AND other NOT IN (SELECT page FROM unsorted)"
        )
        return {
            (page, other): bool(alike) for page, other, alike in self._connection.execute(query)
        }

    @property
    def is_sorted(self) -> bool:
        """True if near-duplicates are up to date with all signatures."""
        return self._connection.execute("SELECT 1 FROM unsorted LIMIT 1").fetchone() is None
