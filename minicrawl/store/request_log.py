"""Queries about requests."""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.books import StepKind
from minicrawl.states import State
from minicrawl.store.records import CHANGED, FETCH_COLUMNS, NOT_ASKED, FetchRow
from minicrawl.store.tables import Connection, as_json_list, column, number

_ROWS_AT_ONCE = 10_000
_IN_ORDER = "fetches AS now NOT INDEXED"
"""All requests. To group them, SQLite would else read them by the index of pages, at random."""


class LoggedRequest(NamedTuple):
    """Logged request for a page; ids increase with time."""

    id: int
    at: float
    outcome: str
    status: int | None
    wire_bytes: int
    elapsed_s: float
    detail: str
    url: str


def last_values(
    connection: Connection, name: Literal["status", "detail", "at", "elapsed_s"], ids: Sequence[int]
) -> list[Any]:
    """Return a column of the last request for each of these pages, in this order, or None."""
    query = f"SELECT {name} FROM fetches WHERE page = value ORDER BY id DESC LIMIT 1"
    return column(connection, f"SELECT ({query}) FROM json_each(?)", as_json_list(ids))


def unread_outcomes(connection: Connection, page: PageId, *, moved: bool) -> list[str]:
    """Return the outcomes of a page's requests since the last one that read it, oldest first.

    `moved` tells whether a redirect leaves the page unread.
    """
    query = "SELECT outcome FROM fetches WHERE page = ? ORDER BY id DESC"
    outcomes = (str(outcome) for (outcome,) in connection.execute(query, (page,)))
    unread = ("failed:", "moved") if moved else ("failed:",)
    return list(takewhile(lambda outcome: outcome.startswith(unread), outcomes))[::-1]


def requested(connection: Connection, ids: Sequence[int]) -> set[PageId]:
    """Return the pages that were requested at least once."""
    query = (
        "SELECT value FROM json_each(?) WHERE EXISTS "
        "(SELECT 1 FROM fetches WHERE page = value AND outcome != ?)"
    )
    return set(column(connection, query, as_json_list(ids), NOT_ASKED))


def last_answers(connection: Connection) -> Iterator[list[tuple[PageId, int, float, float]]]:
    """Yield page, status, seconds and those to the first byte of last requests, in blocks.

    A status or time is 0 if it is unknown.
    """
    cursor = connection.execute(
        "SELECT page, ifnull(status, 0), elapsed_s, ifnull(first_byte_s, 0) "
        "FROM fetches WHERE id IN (SELECT max(id) FROM fetches GROUP BY page)"
    )
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield rows


def changes(connection: Connection, since: float) -> list[tuple[PageId, float]]:
    """Return the pages that were found changed since then, with the time of the last change."""
    cursor = connection.execute(
        f"SELECT page, max(at) FROM {_IN_ORDER} WHERE at >= ? AND outcome = 'page' "
        "AND (detail = ? OR detail LIKE '%; ' || ?) GROUP BY page",
        (since, CHANGED, CHANGED),
    )
    return cursor.fetchall()


_READ_AGAIN = "outcome IN ('page', 'unchanged')"


def mended(connection: Connection, since: float) -> list[tuple[PageId, float]]:
    """Return the pages read since then, or moved, whose last request before then failed or moved.

    A page that was refused before counts if it was read earlier.
    """
    cursor = connection.execute(
        f"SELECT page, min(at), (SELECT outcome FROM fetches WHERE page = now.page AND at < ? "
        f"ORDER BY id DESC LIMIT 1) AS before FROM {_IN_ORDER} WHERE at >= ? "
        f"AND ({_READ_AGAIN} OR outcome = 'moved' AND before != 'moved') "
        "AND (before LIKE 'failed:%' OR before = 'moved' OR before LIKE 'refused:%' "
        "AND (SELECT first_at FROM documents WHERE page = now.page) < ?) GROUP BY page",
        (since, since, since),
    )
    return [(page, at) for page, at, _ in cursor]


def died(connection: Connection, ids: Sequence[int]) -> list[PageId]:
    """Return the pages of which a turn has ended in a failure."""
    query = (
        "SELECT DISTINCT page FROM steps WHERE kind = ? AND state >= ? "
        "AND page IN (SELECT value FROM json_each(?))"
    )
    return column(connection, query, StepKind.DEAD_END, State.DNS, as_json_list(ids))


def pages_answered_since(connection: Connection, since: float) -> int:
    """Return the number of pages that were requested since then and read, changed or not."""
    query = f"SELECT count(DISTINCT page) FROM fetches WHERE at >= ? AND {_READ_AGAIN}"
    return number(connection, query, since)


def failing_since(connection: Connection, ids: Sequence[int]) -> list[float | None]:
    """Return the time of the first failed request for each page since it was last read, or None."""
    query = (
        "SELECT (SELECT min(at) FROM fetches WHERE page = value AND id > "
        "coalesce((SELECT max(id) FROM fetches WHERE page = value "
        f"AND {_READ_AGAIN}), 0)) FROM json_each(?)"
    )
    return column(connection, query, as_json_list(ids))


def outcomes(connection: Connection, hosts: Sequence[int] | None = None) -> dict[str, int]:
    """Return the number of requests by outcome, for all hosts or only these."""
    if hosts is None:
        cursor = connection.execute("SELECT outcome, count(*) FROM fetches GROUP BY outcome")
    else:
        cursor = connection.execute(
            "SELECT outcome, count(*) FROM fetches CROSS JOIN urls ON urls.id = page "
            "WHERE host IN (SELECT value FROM json_each(?)) GROUP BY outcome",
            (as_json_list(hosts),),
        )
    counts = dict(cursor.fetchall())
    counts.pop(NOT_ASKED, None)  # not a request
    return counts


def failed_requests(connection: Connection) -> Iterator[FetchRow]:
    """Return requests that failed, were refused or were not made, newest first."""
    cursor = connection.execute(
        f"SELECT {FETCH_COLUMNS} FROM fetches "
        "WHERE outcome LIKE 'failed:%' OR outcome LIKE 'refused:%' OR outcome = ? ORDER BY id DESC",
        (NOT_ASKED,),
    )
    return map(FetchRow._make, cursor)


def requests_after(connection: Connection, last: int, count: int) -> list[LoggedRequest]:
    cursor = connection.execute(
        "SELECT fetches.id, at, outcome, fetches.status, wire_bytes, elapsed_s, detail, "
        "origin || path FROM fetches JOIN urls ON urls.id = page JOIN hosts ON hosts.id = host "
        "WHERE fetches.id > ? ORDER BY fetches.id DESC LIMIT ?",
        (last, count),
    )
    return [LoggedRequest._make(row) for row in reversed(cursor.fetchall())]


def requests_by_time(
    connection: Connection, last: int, width_s: float
) -> list[tuple[int, int, int, int, int]]:
    """Return the requests after this one, by spans of `width_s` since 1970.

    Each row has the number of the span, requests, failures, bytes, and the id of the last request.
    """
    cursor = connection.execute(
        "SELECT CAST(at / ? AS INTEGER) AS span, count(*), sum(outcome LIKE 'failed:%'), "
        "sum(wire_bytes), max(id) FROM fetches WHERE id > ? AND outcome != ? "
        "GROUP BY span ORDER BY span",
        (width_s, last, NOT_ASKED),
    )
    return cursor.fetchall()


def requests(
    connection: Connection,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return page, time and bytes of all requests, in order. Times never go back."""
    rows = connection.execute(
        "SELECT page, at, wire_bytes FROM fetches WHERE outcome != ? ORDER BY id", (NOT_ASKED,)
    )
    pages, times, octets = np.array(rows.fetchall(), dtype=np.float64).reshape(-1, 3).T
    return pages.astype(np.int64), np.maximum.accumulate(times), octets.astype(np.int64)


def fetch_rows(connection: Connection) -> Iterator[FetchRow]:
    """Yield all requests, oldest first."""
    cursor = connection.execute(f"SELECT {FETCH_COLUMNS} FROM fetches ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield from map(FetchRow._make, rows)
