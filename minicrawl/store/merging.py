"""Rows of stores that are merged into one, and the writing of the merged store.

Laws: rows are read in blocks, so that memory does not grow with a store. The merged store is an
ordinary one. Its mark (`MERGED`) is the last step that was copied from other logs: several
ledgers produced the cash as of that step, so it cannot be recomputed from one log.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.store.disk.trouble import translating_sqlite_errors
from minicrawl.store.reader import connect
from minicrawl.store.schema import check_version
from minicrawl.store.tables import Connection, meta, terms
from minicrawl.store.writer import StoreWriter

MERGED = "merged"
"""Name in the table meta: last step that was copied from other logs."""
_ROWS_AT_ONCE = 10_000


class UrlColumns(NamedTuple):
    hosts: Sequence[int]
    paths: Sequence[str]
    depths: Sequence[int]


PackedStep = tuple[int, int, int, int, int, int, bytes | None]
"""Row of the log: step, kind, page, state, new pages, amount, and the encoded spending."""


def is_begun(path: Path) -> bool:
    """Return True if a crawl has begun in this file. A store that was just created has no terms."""
    with translating_sqlite_errors(path), closing(connect(path)) as connection:
        return check_version(connection, str(path)) > 0 and terms(connection) is not None


def merged_until(connection: Connection) -> int:
    """Return the last step that was copied from other stores; 0 in a store that was crawled."""
    return int(meta(connection, MERGED) or 0)


def url_columns(connection: Connection) -> Iterator[UrlColumns]:
    """Yield all URLs in blocks, in the order of the ids."""
    cursor = connection.execute("SELECT host, path, depth FROM urls ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield UrlColumns(*zip(*rows, strict=True))


def asked_at(connection: Connection, pages: int) -> NDArray[np.float64]:
    """Return the time of each page's last request, or 0."""
    times = np.zeros(pages)
    cursor = connection.execute("SELECT page, at FROM fetches ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        requested, moments = zip(*rows, strict=True)
        times[list(requested)] = moments  # the last request for a page wins
    return times


@contextmanager
def drafting_store(store: StoreWriter) -> Iterator[None]:
    """Write without syncing until the end: a draft need not survive a power failure."""
    store.connection.execute("PRAGMA synchronous = OFF")
    yield
    store.connection.execute("PRAGMA synchronous = FULL")
    store.compact()


def add_merged(
    store: StoreWriter,
    steps: Iterable[PackedStep] = (),
    values: Iterable[tuple[int, int, int]] = (),
    mirrors: Iterable[tuple[int, int, int]] = (),
) -> None:
    """Append steps to the log, values that a scorer gave (step, page, value), and mirrors.

    A mirror is a host, the host that it mirrors, and the number of pages in common.
    """
    with store.transaction() as write:
        write("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?)", steps)
        write("INSERT INTO scored VALUES (?, ?, ?)", values)
        write("INSERT INTO mirrors VALUES (?, ?, ?)", mirrors)


def mark(store: StoreWriter, seq: int) -> None:
    """Record that the log up to this step was copied from other logs."""
    with store.transaction() as write:
        write("INSERT OR REPLACE INTO meta VALUES (?, ?)", [(MERGED, str(seq))])
