"""Queries about the log of steps: spendings as columns, turns, and the endowments of seeds.

Law: a query takes memory for a block of steps, never for the whole log.
"""

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.books import StepKind
from minicrawl.store.stored_links import is_plain, unpack
from minicrawl.store.tables import Connection, as_json_list, urls_of

_SPENDINGS_AT_ONCE = 1_000  # arrays of larger blocks exceed the cache, and are given new memory


class Spendings(NamedTuple):
    """Spendings of many steps, as columns."""

    seqs: NDArray[np.int64]
    kinds: NDArray[np.int64]
    pages: NDArray[np.int64]
    blobs: Sequence[bytes]

    def only(self, chosen: NDArray[np.bool_]) -> "Spendings":
        blobs = list(compress(self.blobs, chosen.tolist()))
        return Spendings(self.seqs[chosen], self.kinds[chosen], self.pages[chosen], blobs)

    def split(self) -> tuple["Spendings", "Spendings"]:
        """Split into spendings whose links all have equal weight, and the others."""
        alike = np.fromiter(map(is_plain, self.blobs), dtype=np.bool_, count=len(self.blobs))
        return self.only(alike), self.only(~alike)


def spendings(
    connection: Connection, after: int = 0, seqs: Sequence[int] | None = None
) -> Iterator[Spendings]:
    """Yield the spendings that are still in the log: of turns after a step, or of `seqs` alone."""
    chosen = "steps WHERE seq > ?"
    if seqs is not None:
        chosen = "json_each(?) CROSS JOIN steps ON seq = value WHERE true"
    cursor = connection.execute(
        f"SELECT seq, kind, page, spending FROM {chosen} "
        "AND kind IN (?, ?) AND spending IS NOT NULL",
        (after if seqs is None else as_json_list(seqs), StepKind.VISIT, StepKind.FORWARD),
    )
    while rows := cursor.fetchmany(_SPENDINGS_AT_ONCE):
        seqs, kinds, pages, blobs = zip(*rows, strict=True)
        yield Spendings(np.array(seqs), np.array(kinds), np.array(pages), blobs)


LogRow = tuple[int, int, PageId, int, int, bytes | None]
"""Step, kind, page, state, number of new pages, and the spending of a kind in `_WITH_LINKS`."""
_WITH_LINKS = f"({StepKind.VISIT}, {StepKind.FORWARD}, {StepKind.REOPEN}, {StepKind.REFUSE})"


def log_after(connection: Connection, seq: int, until: int) -> Iterator[list[LogRow]]:
    """Yield the steps from `seq + 1` to `until` in order, in blocks."""
    cursor = connection.execute(
        f"SELECT seq, kind, page, state, born, CASE WHEN kind IN {_WITH_LINKS} THEN spending END "
        "FROM steps WHERE seq > ? AND seq <= ? ORDER BY seq",
        (seq, until),
    )
    while rows := cursor.fetchmany(_SPENDINGS_AT_ONCE):
        yield rows


def turns(connection: Connection) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return step and page of each completed turn, in order."""
    kinds = f"({StepKind.VISIT}, {StepKind.FORWARD}, {StepKind.DEAD_END})"
    rows = connection.execute(f"SELECT seq, page FROM steps WHERE kind IN {kinds} ORDER BY seq")
    seqs, pages = np.array(rows.fetchall(), dtype=np.int64).reshape(-1, 2).T
    return seqs, pages


def seeds(connection: Connection) -> list[int]:
    """Return the seeds: the pages that share an endowment."""
    return [page for pages, _ in all_endowments(connection) for page in pages]


def all_endowments(connection: Connection) -> Iterator[tuple[Sequence[int], int]]:
    """Return the seeds of each endowment, with its units."""
    cursor = connection.execute(
        "SELECT spending, amount FROM steps WHERE kind = ? AND spending IS NOT NULL ORDER BY seq",
        (StepKind.ENDOWED,),
    )
    return ((unpack(blob).links, units) for blob, units in cursor)


def first_seeds(connection: Connection, most: int) -> tuple[list[str], int]:
    """Return the URLs of the first seeds, and the number of all seeds."""
    pages = seeds(connection)
    return list(urls_of(connection, sorted(pages[:most]))), len(pages)
