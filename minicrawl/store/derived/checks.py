"""Results of link checks, kept beside the store because they can be obtained again.

Law: the findings are replaced as a whole.

check    a URL that was requested to see whether it exists, but is not crawled
finding  a reference to a broken target that the crawl itself does not report, such as an asset,
         an anchor, or a missing page that is answered with 200 (soft 404); or to a large image
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.derived.file import beside, derived_rows, writing_beside
from minicrawl.store.disk.trouble import translating_derived_errors
from minicrawl.store.tables import Connection
from minicrawl.web.takedowns import Takedowns

LARGE_IMAGE, EMPTY_IMAGE, SMALL_PREVIEW = "image-large", "image-empty", "preview-small"
HEAVY_PAGE, MISTYPED = "page-heavy", "-mistyped"
"""Kinds of findings whose target is not broken, the last one behind the kind of a file. The text is
the number of bytes, or the media type.
"""

_CHECKS = """
CREATE TABLE IF NOT EXISTS checks (
    url TEXT PRIMARY KEY, state INTEGER NOT NULL, status INTEGER, detail TEXT NOT NULL,
    at REAL NOT NULL, bytes INTEGER, since REAL, type TEXT
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS findings (
    source INTEGER NOT NULL, target TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
)
"""
_DEAD = f"({{0}}state >= {State.DNS} OR {{0}}state = {State.ADDRESS})"


class CheckRow(NamedTuple):
    """Result of one URL. `state` is the value of a `State`."""

    url: str
    state: int
    status: int | None
    detail: str
    at: float
    bytes: int | None = None
    """Size of the response on the wire, if it is known."""
    since: float | None = None
    """Time of the first failure in a row; or when the target was mended, if it ever failed."""
    type: str | None = None
    """Media type of the response."""


class FindingRow(NamedTuple):
    """Reference of a page to a target that is broken, or was not requested, by its check."""

    source: int
    target: str
    kind: str
    text: str

    @property
    def is_broken(self) -> bool:
        """False if the target is there, and has another fault."""
        there = (LARGE_IMAGE, EMPTY_IMAGE, SMALL_PREVIEW, HEAVY_PAGE)
        return self.kind not in there and not self.kind.endswith(MISTYPED)


def keep_checks(store: Path, connection: Connection, rows: Iterable[CheckRow]) -> None:
    """Add or replace the results of these URLs."""
    with writing_beside(store, connection, _CHECKS) as derived:
        _put_checks(derived, rows)


def keep_findings(
    store: Path,
    connection: Connection,
    rows: Iterable[FindingRow],
    checks: Iterable[CheckRow] = (),
) -> None:
    """Replace all findings, and add or replace the results of the URLs that led to them."""
    gone = tables.taken_down(tables.counters(connection))
    with writing_beside(store, connection, _CHECKS) as derived:
        derived.execute("DELETE FROM findings")
        shown = (row for row in rows if not gone.covers(row.target))
        derived.executemany("INSERT INTO findings VALUES (?, ?, ?, ?)", shown)
        _put_checks(derived, checks)


def _put_checks(derived: Connection, rows: Iterable[CheckRow]) -> None:
    columns = derived.execute("SELECT name FROM pragma_table_info('checks')").fetchall()
    for name, kind in (("bytes", "INTEGER"), ("since", "REAL"), ("type", "TEXT")):
        if (name,) not in columns:  # a file of an earlier version
            derived.execute(f"ALTER TABLE checks ADD COLUMN {name} {kind}")
    # `since` moves when a target dies or is there again. A row of an earlier version lacks it: if
    # its target was dead then, it has been dead since that check.
    derived.executemany(
        "INSERT INTO checks VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (url) DO UPDATE SET "
        f"since = CASE WHEN {_DEAD.format('excluded.')} != {_DEAD.format('')} THEN excluded.at "
        f"ELSE coalesce(since, iif({_DEAD.format('')}, at, NULL)) END, state = excluded.state, "
        "status = excluded.status, detail = excluded.detail, at = excluded.at, "
        "bytes = excluded.bytes, type = excluded.type",
        (row._replace(since=row.at if State(row.state).is_dead_end else None) for row in rows),
    )


def drop_findings(
    store: Path, connection: Connection, pages: Iterable[int], gone: Takedowns
) -> None:
    """Delete the findings of these pages, and all that has a URL that was taken down."""
    with writing_beside(store, connection, _CHECKS) as derived:
        derived.create_function("is_gone", 1, gone.covers)
        derived.executemany("DELETE FROM findings WHERE source = ?", ((page,) for page in pages))
        derived.execute("DELETE FROM findings WHERE is_gone(target)")
        derived.execute("DELETE FROM checks WHERE is_gone(url)")
    path = beside(store)
    with translating_derived_errors(path), closing(sqlite3.connect(path)) as derived:
        derived.execute("VACUUM")


def all_checks(store: Path, connection: Connection) -> list[CheckRow]:
    """Return the results of all URLs, in alphabetical order."""
    # Not `_make`: files of earlier versions have fewer columns.
    return [CheckRow(*row) for row in derived_rows(store, connection, "checks", "ORDER BY url")]


def all_findings(
    store: Path, connection: Connection, kind: str | None = None
) -> Iterator[FindingRow]:
    """Yield the findings of this kind, or all, page by page."""
    clauses = "WHERE kind = coalesce(?, kind) ORDER BY source, target"
    return map(FindingRow._make, derived_rows(store, connection, "findings", clauses, (kind,)))
