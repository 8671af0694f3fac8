"""Pings of IndexNow, for the next run that reads pages again.

Laws: a page has one ping, the latest. A ping that is older than the last reading of its page says
nothing. Unlike the rest of the file, pings cannot be computed again: without them, pages are read
later.
"""

from collections.abc import Iterable
from pathlib import Path

from minicrawl.store.derived.file import derived_rows, writing_beside
from minicrawl.store.tables import Connection

_PINGS = "CREATE TABLE IF NOT EXISTS pings (page INTEGER PRIMARY KEY, at REAL NOT NULL)"


def keep_pings(store: Path, connection: Connection, pages: Iterable[int], at: float) -> None:
    """Note that these pages have changed by now."""
    with writing_beside(store, connection, _PINGS) as derived:
        rows = ((page, at) for page in pages)
        derived.executemany("INSERT OR REPLACE INTO pings VALUES (?, ?)", rows)


def kept_pings(store: Path, connection: Connection) -> dict[int, float]:
    """Return the moment of the latest ping of each page that has one."""
    return {page: float(at) for page, at in derived_rows(store, connection, "pings")}
