"""What is read of stores that are merged into one, and how that one is written.

Laws: rows come block by block, so that memory does not grow with a store. The merged store is an
ordinary one. Its mark says how far its log was made of other logs: what pages hold as of that step
was moved by several ledgers, so it cannot be made again from one log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.journal import StepKind
from minicrawl.store.blobs import unpack
from minicrawl.store.reader import connect
from minicrawl.store.records import FetchRow
from minicrawl.store.schema.migrations import check_version
from minicrawl.store.tables import Connection, meta, terms
from minicrawl.store.trouble import translating_sqlite_errors
from minicrawl.store.writer import StoreWriter, write_rows

MERGED = "merged"
"""In the table meta: the last step that was made of other logs."""

_ROWS_AT_ONCE = 10_000


class PackedStep(NamedTuple):
    """A row of the log, its spending as bytes."""

    seq: int
    kind: int
    page: int
    state: int
    born: int
    amount: int
    spending: bytes | None


class UrlColumns(NamedTuple):
    """URLs of pages in a row."""

    hosts: Sequence[int]
    paths: Sequence[str]
    depths: Sequence[int]


def merged_until(connection: Connection) -> int:
    """The last step that was made of the logs of other stores; 0 in a store that was crawled."""
    return int(meta(connection, MERGED) or 0)


# ---------------------------------------------------------------- reading


def is_begun(path: Path) -> bool:
    """Whether a crawl has begun in this file. One that was just made has no terms yet."""
    with translating_sqlite_errors(path), closing(connect(path)) as connection:
        return check_version(connection, str(path)) > 0 and terms(connection) is not None


def url_columns(connection: Connection) -> Iterator[UrlColumns]:
    """All URLs, in the order of the ids."""
    cursor = connection.execute("SELECT host, path, depth FROM urls ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield UrlColumns(*zip(*rows, strict=True))


def fetch_rows(connection: Connection) -> Iterator[FetchRow]:
    """All requests, the first one first."""
    cursor = connection.execute(
        "SELECT page, at, outcome, status, wire_bytes, elapsed_s, detail FROM fetches ORDER BY id"
    )
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield from map(FetchRow._make, rows)


def asked_at(connection: Connection, pages: int) -> NDArray[np.float64]:
    """When each of so many pages had its last turn; 0 if it had none."""
    found = np.zeros(pages)
    cursor = connection.execute("SELECT page, at FROM fetches ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        asked, times = zip(*rows, strict=True)
        found[list(asked)] = times  # the last one of a page counts
    return found


def originals(connection: Connection) -> Iterator[tuple[int, str]]:
    """The pages whose URL was written in another way."""
    return connection.execute("SELECT page, url FROM originals ORDER BY page")


def endowments(connection: Connection) -> Iterator[tuple[Sequence[int], int]]:
    """The seeds that share an endowment, and its units."""
    cursor = connection.execute(
        "SELECT spending, amount FROM steps WHERE kind = ? AND spending IS NOT NULL ORDER BY seq",
        (StepKind.ENDOWED,),
    )
    return ((unpack(blob).links, units) for blob, units in cursor)


# ---------------------------------------------------------------- writing


def add_steps(store: StoreWriter, steps: Iterable[PackedStep]) -> None:
    """Append these to the log."""
    with _transaction(store) as connection:
        write_rows(connection, "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)", steps)


def add_mirrors(store: StoreWriter, mirrors: Iterable[tuple[int, int, int]]) -> None:
    """Host, the host that it mirrors, and how many pages both have."""
    with _transaction(store) as connection:
        write_rows(connection, "INSERT INTO mirrors VALUES (?, ?, ?)", mirrors)


def begin_draft(store: StoreWriter) -> None:
    """Nothing of a draft need survive a power cut, so its rows are written without waiting."""
    store.connection.execute("PRAGMA synchronous = OFF")


def end_draft(store: StoreWriter) -> None:
    """All of it is on the disk."""
    store.connection.execute("PRAGMA synchronous = FULL")
    store.compact()


def mark(store: StoreWriter, seq: int) -> None:
    """Say that the log up to here was made of others."""
    with _transaction(store) as connection:
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (MERGED, str(seq)))


@contextmanager
def _transaction(store: StoreWriter) -> Iterator[Connection]:
    connection = store.connection
    with translating_sqlite_errors(store.path), connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
