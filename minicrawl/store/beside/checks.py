"""What came of links that are not crawled: kept beside the store, as it can be asked for again.

check    a URL that was asked for, once
finding  a page that refers to something that is not there, though no link of the crawl leads to it
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from minicrawl.store.beside.derived import has_table, reading_beside, writing_beside
from minicrawl.store.tables import Connection

_SCHEMA = """
CREATE TABLE IF NOT EXISTS checks (
    url TEXT PRIMARY KEY, state INTEGER NOT NULL, status INTEGER, detail TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS findings (
    source INTEGER NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
)
"""


class CheckRow(NamedTuple):
    """A URL that was asked for. `state` is the number of a `State`."""

    url: str
    state: int
    status: int | None
    detail: str
    at: float


class FindingRow(NamedTuple):
    """A page that refers to an asset, or to an anchor (`kind`) that is not there."""

    source: int
    target: str
    kind: str
    text: str


def keep_checks(store: Path, connection: Connection, rows: Iterable[CheckRow]) -> None:
    """Add what came of these URLs."""
    with writing_beside(store, connection, _SCHEMA) as derived:
        derived.executemany("INSERT OR REPLACE INTO checks VALUES (?, ?, ?, ?, ?)", rows)


def keep_findings(store: Path, connection: Connection, rows: Iterable[FindingRow]) -> None:
    """Replace all findings."""
    with writing_beside(store, connection, _SCHEMA) as derived:
        derived.execute("DELETE FROM findings")
        derived.executemany("INSERT INTO findings VALUES (?, ?, ?, ?)", rows)


def all_checks(store: Path, connection: Connection) -> list[CheckRow]:
    """All that was asked for."""
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "checks"):
            return []
        return list(map(CheckRow._make, derived.execute("SELECT * FROM checks ORDER BY url")))


def all_findings(store: Path, connection: Connection) -> list[FindingRow]:
    """All findings, by the ids of the pages."""
    with reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "findings"):
            return []
        rows = derived.execute("SELECT * FROM findings ORDER BY source, target")
        return list(map(FindingRow._make, rows))
