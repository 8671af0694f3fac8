"""Facts of kept pages, for an audit, and the entries of kept sitemaps.

Law: facts are complete up to a place in the archive. After a kill, the records behind that place
are read again.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from minicrawl.store.derived.file import derived_rows, writing_beside
from minicrawl.store.tables import Connection

T = TypeVar("T")

_ROWS_A_BLOCK = 1 << 12
_FACTS = """
CREATE TABLE IF NOT EXISTS facts (
    page INTEGER PRIMARY KEY, numbers BLOB NOT NULL, refs BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS listed (
    sitemap INTEGER NOT NULL, page INTEGER NOT NULL, lastmod TEXT NOT NULL,
    PRIMARY KEY (sitemap, page)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts_of (version INTEGER NOT NULL, archive TEXT NOT NULL, place INTEGER)
"""


class FactsUntil(NamedTuple):
    """Version of the facts, identity of the archive, and place in it up to which facts are kept."""

    version: int
    archive: str
    place: int


class FactsRow(NamedTuple):
    """Facts of a page and its references, both packed."""

    page: int
    numbers: bytes
    refs: bytes


class ListedRow(NamedTuple):
    """Entry of a sitemap: the keys of the URLs of sitemap and page, and the `lastmod` date."""

    sitemap: int
    page: int
    lastmod: str


def keep_facts(
    store: Path,
    connection: Connection,
    until: FactsUntil,
    rows: Iterable[FactsRow],
    listed: Mapping[int, Iterable[ListedRow]],
) -> None:
    """Add or replace facts and sitemap entries. Those of another archive or version are deleted."""
    with writing_beside(store, connection, _FACTS) as derived:
        before = derived.execute("SELECT version, archive FROM facts_of").fetchone()
        if before != until[:2]:
            derived.execute("DELETE FROM facts")
            derived.execute("DELETE FROM listed")
        derived.execute("DELETE FROM facts_of")
        derived.execute("INSERT INTO facts_of VALUES (?, ?, ?)", until)
        derived.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", rows)
        for sitemap, entries in listed.items():
            derived.execute("DELETE FROM listed WHERE sitemap = ?", (sitemap,))
            derived.executemany("INSERT OR REPLACE INTO listed VALUES (?, ?, ?)", entries)


def facts_until(store: Path, connection: Connection) -> FactsUntil | None:
    """Return the place in the archive up to which facts are kept, or None without facts."""
    rows = list(derived_rows(store, connection, "facts_of"))
    return FactsUntil._make(rows[0]) if rows else None


def facts_in_blocks(store: Path, connection: Connection) -> Iterator[list[FactsRow]]:
    """Yield the facts of all pages, in blocks, in the order of their ids."""
    rows = derived_rows(store, connection, "facts", "ORDER BY page")
    return _in_blocks(map(FactsRow._make, rows))


def listed_in_blocks(store: Path, connection: Connection) -> Iterator[list[ListedRow]]:
    return _in_blocks(map(ListedRow._make, derived_rows(store, connection, "listed")))


def _in_blocks(rows: Iterator[T]) -> Iterator[list[T]]:
    while block := list(islice(rows, _ROWS_A_BLOCK)):
        yield block
