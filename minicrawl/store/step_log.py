"""Queries about the log of steps: its rows, spendings, turns, and the cash of seeds and shards.

Law: a query takes memory for a block of steps, never for the whole log.
"""

from collections.abc import Iterator, Sequence
from itertools import compress, takewhile
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.store.records import StepRow
from minicrawl.store.stored_links import is_plain, unpack
from minicrawl.store.tables import Connection, as_json_list, urls_of

NO_LINKS = Spending(())
_SPENDINGS_AT_ONCE = 1_000  # arrays of larger blocks exceed the cache, and are given new memory


def steps_after(connection: Connection, seq: int) -> Iterator[StepRow]:
    """Yield the steps behind `seq` in order, each with its links."""
    cursor = connection.execute(
        "SELECT seq, kind, steps.page, state, born, amount, spending, value FROM steps "
        "LEFT JOIN scored USING (seq) WHERE seq > ? ORDER BY seq",
        (seq,),
    )
    for number, kind, page, state, born, amount, blob, value in cursor:
        spending = NO_LINKS if blob is None else unpack(blob)
        yield StepRow(number, state, Step(StepKind(kind), page, born, spending, amount), value)


def spending(connection: Connection, seq: int) -> Spending:
    row = connection.execute("SELECT spending FROM steps WHERE seq = ?", (seq,)).fetchone()
    return NO_LINKS if row is None or row[0] is None else unpack(row[0])


def spendings_of(connection: Connection, pages: Sequence[int]) -> list[Spending]:
    """Return the last spending of each of these pages as of the last checkpoint, in this order."""
    cursor = connection.execute(
        "SELECT spending FROM json_each(?) CROSS JOIN frontier ON frontier.id = value "
        "CROSS JOIN steps ON seq = spent AND spending IS NOT NULL",
        (str(list(pages)),),
    )
    spendings = [unpack(blob) for (blob,) in cursor]
    if len(spendings) != len(pages):
        raise ValueError(f"{len(pages) - len(spendings)} of {len(pages)} pages lack their steps")
    return spendings


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


def endowments(connection: Connection, steps: Sequence[int]) -> list[tuple[Sequence[int], int]]:
    """Return the seeds endowed by each of these steps, with the units they share."""
    cursor = connection.execute(
        "SELECT spending, amount FROM json_each(?) JOIN steps ON seq = value "
        "WHERE spending IS NOT NULL",
        (str(list(steps)),),
    )
    return [(unpack(blob).links, units) for blob, units in cursor]


def first_seeds(connection: Connection, most: int) -> tuple[list[str], int]:
    """Return the URLs of the first seeds, and the number of all seeds."""
    pages = seeds(connection)
    return list(urls_of(connection, sorted(pages[:most]))), len(pages)


def sendings(connection: Connection) -> Iterator[tuple[int, Step]]:
    """Yield all batches that were sent, with the numbers of their steps, in order."""
    cursor = connection.execute(
        "SELECT seq, page, amount, spending FROM steps WHERE kind = ? ORDER BY seq",
        (StepKind.SEND,),
    )
    for number, shard, batch, blob in cursor:
        yield number, Step(StepKind.SEND, shard, 0, unpack(blob), batch)


def sendings_to(connection: Connection, receiver: int, number: int, until: int) -> list[Step]:
    """Return the batches after `number` that were sent to a shard up to step `until`, in order.

    Scans the log backwards, only as far as needed.
    """
    cursor = connection.execute(
        "SELECT amount, spending FROM steps WHERE seq <= ? AND kind = ? AND page = ? "
        "ORDER BY seq DESC",
        (until, StepKind.SEND, receiver),
    )
    rows = takewhile(lambda row: row[0] > number, cursor)
    return [Step(StepKind.SEND, receiver, 0, unpack(blob), batch) for batch, blob in rows][::-1]
