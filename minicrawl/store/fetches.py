"""The queries of the reports about requests.

Law: a query takes memory for its answer, never for the whole store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.store.questions import as_json_list, number
from minicrawl.store.records import CHANGED, NOT_ASKED, FetchRow
from minicrawl.store.tables import Connection


class LoggedRequest(NamedTuple):
    """A request for a page, as the log has it; ids rise with time."""

    id: int
    at: float
    outcome: str
    status: int | None
    wire_bytes: int
    elapsed_s: float
    detail: str
    url: str


class RequestCounts(NamedTuple):
    """The requests of a span of time."""

    span: int
    requests: int
    failed: int
    wire_bytes: int
    last: int  # the id of one of them


def last_statuses(connection: Connection, ids: Sequence[int]) -> list[int | None]:
    """The status of the last request for each of these pages, in this order."""
    cursor = connection.execute(
        "SELECT (SELECT status FROM fetches WHERE page = value ORDER BY id DESC LIMIT 1) "
        "FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


def last_details(connection: Connection, ids: Sequence[int]) -> list[str | None]:
    """What was noted of the last request for each of these pages, in this order."""
    cursor = connection.execute(
        "SELECT (SELECT detail FROM fetches WHERE page = value ORDER BY id DESC LIMIT 1) "
        "FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


def last_times(connection: Connection, ids: Sequence[int]) -> list[float | None]:
    """When each of these pages was requested last, in this order."""
    cursor = connection.execute(
        "SELECT (SELECT at FROM fetches WHERE page = value ORDER BY id DESC LIMIT 1) "
        "FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


def costly_fetches(connection: Connection, column: str, least: float) -> list[tuple[PageId, float]]:
    """The pages whose last request cost at least this much, the dearest first."""
    cursor = connection.execute(
        f"SELECT page, {column} FROM fetches WHERE id IN "
        f"(SELECT max(id) FROM fetches GROUP BY page) AND {column} >= ? ORDER BY {column} DESC",
        (least,),
    )
    return cursor.fetchall()


def changes(connection: Connection, since: float) -> list[tuple[PageId, float]]:
    """The pages that were found changed since then, and when that was the last time."""
    cursor = connection.execute(
        "SELECT page, max(at) FROM fetches WHERE at >= ? AND outcome = 'page' "
        "AND (detail = ? OR detail LIKE '%; ' || ?) GROUP BY page",
        (since, CHANGED, CHANGED),
    )
    return cursor.fetchall()


def ends(connection: Connection, ids: Sequence[int]) -> list[float | None]:
    """When each of these pages was asked for in vain for the first time since it was read last."""
    cursor = connection.execute(
        "SELECT (SELECT min(at) FROM fetches WHERE page = value AND id > "
        "coalesce((SELECT max(id) FROM fetches WHERE page = value "
        "AND outcome IN ('page', 'unchanged')), 0)) FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


def outcomes(connection: Connection, hosts: Sequence[int] | None = None) -> dict[str, int]:
    """The number of requests by outcome, for all pages or for those of some hosts."""
    if hosts is None:
        cursor = connection.execute("SELECT outcome, count(*) FROM fetches GROUP BY outcome")
    else:
        cursor = connection.execute(
            "SELECT outcome, count(*) FROM fetches CROSS JOIN urls ON urls.id = page "
            "WHERE host IN (SELECT value FROM json_each(?)) GROUP BY outcome",
            (as_json_list(hosts),),
        )
    found = dict(cursor.fetchall())
    found.pop(NOT_ASKED, None)  # not a request
    return found


def failed_requests(connection: Connection) -> Iterator[FetchRow]:
    """Requests that failed, were refused or were not made, the latest first."""
    cursor = connection.execute(
        "SELECT page, at, outcome, status, wire_bytes, elapsed_s, detail FROM fetches "
        "WHERE outcome LIKE 'failed:%' OR outcome LIKE 'refused:%' OR outcome = ? ORDER BY id DESC",
        (NOT_ASKED,),
    )
    return map(FetchRow._make, cursor)


def requests_after(connection: Connection, last: int, count: int) -> list[LoggedRequest]:
    """The last `count` requests after this one, in order."""
    cursor = connection.execute(
        "SELECT fetches.id, at, outcome, fetches.status, wire_bytes, elapsed_s, detail, "
        "origin || path FROM fetches JOIN urls ON urls.id = page JOIN hosts ON hosts.id = host "
        "WHERE fetches.id > ? ORDER BY fetches.id DESC LIMIT ?",
        (last, count),
    )
    return [LoggedRequest._make(row) for row in reversed(cursor.fetchall())]


def requests_by_time(connection: Connection, last: int, width_s: float) -> list[RequestCounts]:
    """How many requests after this one came in each span of so many seconds since 1970."""
    cursor = connection.execute(
        "SELECT CAST(at / ? AS INTEGER) AS span, count(*), sum(outcome LIKE 'failed:%'), "
        "sum(wire_bytes), max(id) FROM fetches WHERE id > ? AND outcome != ? "
        "GROUP BY span ORDER BY span",
        (width_s, last, NOT_ASKED),
    )
    return [RequestCounts._make(row) for row in cursor]


def documents_without_fetch(connection: Connection) -> int:
    """The number of documents whose page was never fetched."""
    return number(
        connection,
        "SELECT count(*) FROM documents "
        "WHERE NOT EXISTS (SELECT 1 FROM fetches WHERE fetches.page = documents.page)",
    )


def fetches_indexed(connection: Connection) -> int:
    """The number of requests in the index by page."""
    return number(connection, "SELECT count(*) FROM fetches INDEXED BY fetches_of_page")


def requests(
    connection: Connection,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Of all requests for pages, in order: the page, the time and the bytes."""
    rows = connection.execute(
        "SELECT page, at, wire_bytes FROM fetches WHERE outcome != ? ORDER BY id", (NOT_ASKED,)
    )
    pages, times, octets = np.array(rows.fetchall(), dtype=np.float64).reshape(-1, 3).T
    return pages.astype(np.int64), np.maximum.accumulate(times), octets.astype(np.int64)
