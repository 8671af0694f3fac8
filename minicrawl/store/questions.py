"""Queries of the reports.

Law: a query takes memory for its answer, never for the whole store.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, compress, takewhile
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId, State
from minicrawl.opic.ledger.books import StepKind
from minicrawl.store import tables
from minicrawl.store.reader import connect
from minicrawl.store.records import (
    CHANGED,
    FETCH_COLUMNS,
    NOT_ASKED,
    DocumentRow,
    FetchRow,
    translating_sqlite_errors,
)
from minicrawl.store.schema import check_version
from minicrawl.store.stored_links import is_plain, unpack
from minicrawl.store.tables import Connection, terms, urls_of
from minicrawl.web.urls import split

_SPENDINGS_AT_ONCE = 2_000
_ROWS_AT_ONCE = 10_000


class PageLocations(NamedTuple):
    """Locations of pages, as columns."""

    urls: list[str]
    origins: list[str]
    depths: list[int]


class SpendingRow(NamedTuple):
    """Spending of a page in a step; `blob` is encoded."""

    seq: int
    kind: int
    page: PageId
    blob: bytes


class Spendings(NamedTuple):
    """Spendings of many steps, as columns."""

    seqs: NDArray[np.int64]
    kinds: NDArray[np.int64]
    pages: NDArray[np.int64]
    blobs: Sequence[bytes]

    def only(self, chosen: NDArray[np.bool_]) -> Spendings:
        """Return the chosen rows."""
        blobs = list(compress(self.blobs, chosen.tolist()))
        return Spendings(self.seqs[chosen], self.kinds[chosen], self.pages[chosen], blobs)

    def split(self) -> tuple[Spendings, Spendings]:
        """Split into spendings whose links all have equal weight, and the others."""
        alike = np.fromiter(map(is_plain, self.blobs), dtype=np.bool_, count=len(self.blobs))
        return self.only(alike), self.only(~alike)


def locations(connection: Connection, ids: Sequence[int]) -> PageLocations:
    """Return the locations of these pages, in this order. Use blocks of about 10,000 pages."""
    count, *texts = connection.execute(
        "SELECT count(*), group_concat(origin || path, char(10)), "
        "group_concat(origin, char(10)), group_concat(depth, char(10)) "
        # SQLite runs a cross join in the written order: that of the ids.
        "FROM (SELECT origin, urls.path, depth FROM json_each(?) "
        "CROSS JOIN urls ON urls.id = value CROSS JOIN hosts ON hosts.id = host)",
        (as_json_list(sorted(ids)),),
    ).fetchone()
    urls, origins, depths = (text.split("\n") if count else [] for text in texts)
    if not len(ids) == len(urls) == len(origins) == len(depths):
        raise ValueError(f"{len(ids)} pages have {len(urls)} URLs on {len(origins)} hosts")
    at = np.argsort(np.argsort(ids)).tolist()  # for each page, how many ids are smaller
    return PageLocations(
        [urls[place] for place in at],
        [origins[place] for place in at],
        [int(depths[place]) for place in at],
    )


def documents(connection: Connection, ids: Sequence[int]) -> Iterator[DocumentRow]:
    """Return the documents of these pages, in the order of the ids, skipping unread pages."""
    cursor = connection.execute(
        "SELECT documents.* FROM json_each(?) CROSS JOIN documents ON page = value",
        (as_json_list(sorted(ids)),),
    )
    return map(DocumentRow._make, cursor)


def inlinks(connection: Connection, ids: Sequence[int]) -> list[int]:
    """Return the in-links of each of these pages as of the last checkpoint, in this order."""
    cursor = connection.execute(
        "SELECT coalesce((SELECT inlinks FROM frontier WHERE id = value), 0) FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


def seeds(connection: Connection) -> list[int]:
    """Return the seeds: the pages that share an endowment."""
    cursor = connection.execute(
        "SELECT spending FROM steps WHERE kind = ? AND spending IS NOT NULL", (StepKind.ENDOWED,)
    )
    return [page for (blob,) in cursor for page in unpack(blob).links]


def first_seeds(connection: Connection, most: int) -> tuple[list[str], int]:
    """Return the URLs of the first seeds, and the number of all seeds."""
    pages = seeds(connection)
    return list(urls_of(connection, sorted(pages[:most]))), len(pages)


def noindex_pages(connection: Connection) -> list[int]:
    """Return the pages that ask not to be indexed."""
    return list(chain.from_iterable(connection.execute("SELECT page FROM documents WHERE noindex")))


def pages_read_since(connection: Connection, since: float) -> list[tuple[PageId, float]]:
    """Return the pages that were first read since then, with the time."""
    cursor = connection.execute(
        "SELECT page, first_at FROM documents WHERE first_at >= ?", (since,)
    )
    return cursor.fetchall()


def pages_read_ever(connection: Connection) -> list[PageId]:
    """Return the pages that were read at least once, whatever their state is now."""
    return list(chain.from_iterable(connection.execute("SELECT page FROM documents")))


def last_reading(connection: Connection) -> float:
    """Return the time at which a page was last read; 0.0 if none was."""
    (found,) = connection.execute("SELECT max(last_at) FROM documents").fetchone()
    return float(found or 0)


def pages_by_first_reading(connection: Connection) -> list[PageId]:
    """Return the pages that were read at least once, in the order of their first reading."""
    query = "SELECT page FROM documents ORDER BY first_at, page"
    return list(chain.from_iterable(connection.execute(query)))


def with_originals(connection: Connection) -> list[tuple[PageId, str]]:
    """Return the pages whose URL had session marks when it was found, with that URL."""
    return connection.execute("SELECT page, url FROM originals").fetchall()


def hosts_waiting(connection: Connection) -> dict[int, tuple[float, str]]:
    """Return end of pause (0 for none) and last trouble of each host that has either, by host."""
    cursor = connection.execute(
        "SELECT id, coalesce(wait_until, 0), coalesce(trouble, '') FROM hosts "
        "WHERE wait_until IS NOT NULL OR trouble IS NOT NULL"
    )
    return {host: (until, trouble) for host, until, trouble in cursor}


def find(connection: Connection, origin: str, path: str) -> int | None:
    """Return the page with this URL, or None.

    Scans all pages; an index would make the store larger for rare queries.
    """
    ((origin, path),) = concealed(connection, [(origin, path)])
    row = connection.execute(
        "SELECT id FROM urls WHERE host = (SELECT id FROM hosts WHERE origin = ?) AND path = ?",
        (origin, path),
    ).fetchone()
    return None if row is None else int(row[0])


def concealed(
    connection: Connection, locations: Sequence[tuple[str, str]]
) -> Sequence[tuple[str, str]]:
    """Return the origins and paths under which the store has pages."""
    gone = tables.taken_down(tables.counters(connection))
    return [split(gone.conceal("".join(one))) for one in locations] if gone else locations


def url_checksums(connection: Connection) -> NDArray[np.uint32]:
    """Return the CRC-32 of the URL of each page."""
    cursor = connection.execute(
        "SELECT origin || path FROM urls JOIN hosts ON hosts.id = host ORDER BY urls.id"
    )
    return np.fromiter((crc32(url.encode()) for (url,) in cursor), np.uint32)


def find_all(connection: Connection, wanted: Sequence[tuple[str, str]]) -> list[int | None]:
    """Return the pages with these URLs, each given as origin and path. Scans all pages once."""
    cursor = connection.execute(
        "WITH wanted AS MATERIALIZED (SELECT key AS place, hosts.id AS host, value ->> 1 AS path "
        "FROM json_each(?) CROSS JOIN hosts ON origin = value ->> 0) "
        "SELECT place, urls.id FROM urls CROSS JOIN wanted USING (host, path)",
        (json.dumps(concealed(connection, wanted)),),
    )
    found = dict(cursor.fetchall())
    return [found.get(place) for place in range(len(wanted))]


def pages_with(connection: Connection, words: Sequence[str]) -> list[int]:
    """Return the pages with all these words in title or URL, ignoring the case of ASCII letters."""
    cursor = connection.execute(
        "WITH said AS (SELECT urls.id, lower(origin || path || char(10) || coalesce(title, '')) "
        "AS text FROM urls JOIN hosts ON hosts.id = host "
        "LEFT JOIN documents ON documents.page = urls.id) "
        "SELECT id FROM said WHERE NOT EXISTS "
        "(SELECT 1 FROM json_each(?) WHERE instr(text, lower(value)) = 0) ORDER BY id",
        (json.dumps(list(words)),),
    )
    return list(chain.from_iterable(cursor))


def paths_of(connection: Connection, host: int) -> Iterator[str]:
    """Return the paths of all pages of a host."""
    cursor = connection.execute("SELECT path FROM urls WHERE host = ?", (host,))
    return chain.from_iterable(cursor)


def origins(connection: Connection) -> list[str]:
    """Return all origins, by host id."""
    return list(chain.from_iterable(connection.execute("SELECT origin FROM hosts ORDER BY id")))


def hosts_known(connection: Connection) -> int:
    """Return the number of origins; ids are dense."""
    return number(connection, "SELECT coalesce(max(id) + 1, 0) FROM hosts")


def pages_known(connection: Connection) -> int:
    """Return the number of pages; ids are dense."""
    return number(connection, "SELECT coalesce(max(id) + 1, 0) FROM urls")


def pages_read_by_host(connection: Connection) -> dict[int, int]:
    """Return the number of pages read on each host. Scans all documents."""
    # SQLite runs a cross join in the written order: documents first, since there are fewer.
    cursor = connection.execute(
        "SELECT host, count(*) FROM documents CROSS JOIN urls ON urls.id = page GROUP BY host"
    )
    return dict(cursor.fetchall())


def spendings(connection: Connection, after: int = 0) -> Iterator[Spendings]:
    """Return the spendings of turns after this step that are still in the log."""
    cursor = connection.execute(
        "SELECT seq, kind, page, spending FROM steps "
        "WHERE seq > ? AND kind IN (?, ?) AND spending IS NOT NULL",
        (after, StepKind.VISIT, StepKind.FORWARD),
    )
    return _in_blocks(cursor)


def spendings_in(connection: Connection, seqs: Sequence[int]) -> Iterator[Spendings]:
    """Return the spendings of these turns that are still in the log."""
    cursor = connection.execute(
        "SELECT seq, kind, page, spending FROM json_each(?) CROSS JOIN steps ON seq = value "
        "WHERE kind IN (?, ?) AND spending IS NOT NULL",
        (as_json_list(seqs), StepKind.VISIT, StepKind.FORWARD),
    )
    return _in_blocks(cursor)


def _in_blocks(cursor: sqlite3.Cursor) -> Iterator[Spendings]:
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


# ---------------------------------------------------------------- consistency


def integrity_errors(connection: Connection, check: str = "integrity_check") -> list[str]:
    """Return the problems that SQLite itself finds in the file by one of its checks."""
    try:
        found = [str(row[0]) for row in connection.execute(f"PRAGMA {check}")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if found == ["ok"] else found


def extent(connection: Connection, table: str) -> tuple[int, int, int]:
    """Return the number of rows of a table, and its smallest and largest id."""
    count, least, greatest = connection.execute(
        f"SELECT count(*), coalesce(min(id), 0), coalesce(max(id), -1) FROM {table}"
    ).fetchone()
    return count, least, greatest


def urls_without_host(connection: Connection) -> int:
    """Return the number of URLs without a row for their host."""
    return number(connection, "SELECT count(*) FROM urls WHERE host NOT IN (SELECT id FROM hosts)")


def all_spendings(connection: Connection) -> Iterator[SpendingRow]:
    """Return all spendings in the log, including endowments and replays."""
    cursor = connection.execute(
        "SELECT seq, kind, page, spending FROM steps WHERE spending IS NOT NULL ORDER BY seq"
    )
    return map(SpendingRow._make, cursor)


def born_after(connection: Connection, seq: int) -> int:
    """Return the number of pages added by steps after this one."""
    return number(connection, "SELECT coalesce(sum(born), 0) FROM steps WHERE seq > ?", seq)


def steps_known(connection: Connection) -> tuple[int, int]:
    """Return the number of steps in the log, and the number of the last one."""
    count, last = connection.execute("SELECT count(*), coalesce(max(seq), 0) FROM steps").fetchone()
    return count, last


def as_json_list(ids: Sequence[int]) -> str:
    """Return the ids as one JSON value: SQLite limits the number of values in a query."""
    return f"[{','.join(map(str, ids))}]"


def number(connection: Connection, query: str, *values: object) -> int:
    (number,) = connection.execute(query, values).fetchone()
    return int(number)


def links_stored(connection: Connection) -> tuple[int, int]:
    """Return the number of links as of the checkpoint, and the bytes of all spendings."""
    (links,) = connection.execute("SELECT ifnull(sum(inlinks), 0) FROM frontier").fetchone()
    query = "SELECT ifnull(sum(length(spending)), 0) FROM steps"
    (size,) = connection.execute(query).fetchone()
    return int(links), int(size)


def documents_stored(connection: Connection) -> tuple[int, int]:
    """Return the number of documents, and the bytes of their titles."""
    query = "SELECT count(*), ifnull(sum(length(CAST(title AS BLOB))), 0) FROM documents"
    count, size = connection.execute(query).fetchone()
    return int(count), int(size)


# ================================================================ fetches
#
# Queries of the reports about requests.


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


class RequestCounts(NamedTuple):
    """Requests in a span of time."""

    span: int
    requests: int
    failed: int
    wire_bytes: int
    last: int  # id of the last of these requests


def last_statuses(connection: Connection, ids: Sequence[int]) -> list[int | None]:
    """Return the status of the last request for each of these pages, in this order."""
    cursor = connection.execute(
        "SELECT (SELECT status FROM fetches WHERE page = value ORDER BY id DESC LIMIT 1) "
        "FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


def last_details(connection: Connection, ids: Sequence[int]) -> list[str | None]:
    """Return the note on the last request for each of these pages, in this order."""
    cursor = connection.execute(
        "SELECT (SELECT detail FROM fetches WHERE page = value ORDER BY id DESC LIMIT 1) "
        "FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


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
    cursor = connection.execute(
        "SELECT value FROM json_each(?) WHERE EXISTS "
        "(SELECT 1 FROM fetches WHERE page = value AND outcome != ?)",
        (as_json_list(ids), NOT_ASKED),
    )
    return set(chain.from_iterable(cursor))


def last_times(connection: Connection, ids: Sequence[int]) -> list[float | None]:
    """Return the time of the last request for each of these pages, in this order."""
    cursor = connection.execute(
        "SELECT (SELECT at FROM fetches WHERE page = value ORDER BY id DESC LIMIT 1) "
        "FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


class AnswerRow(NamedTuple):
    """Last request of a page: its status (0 without a response), bytes and seconds."""

    page: PageId
    status: int
    wire_bytes: int
    elapsed_s: float
    first_byte_s: float
    """0 if it is unknown."""


def last_answers(connection: Connection) -> Iterator[list[AnswerRow]]:
    """Yield the last request of each page, in blocks."""
    cursor = connection.execute(
        "SELECT page, ifnull(status, 0), wire_bytes, elapsed_s, ifnull(first_byte_s, 0) "
        "FROM fetches WHERE id IN (SELECT max(id) FROM fetches GROUP BY page)"
    )
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield list(map(AnswerRow._make, rows))


def changes(connection: Connection, since: float) -> list[tuple[PageId, float]]:
    """Return the pages that were found changed since then, with the time of the last change."""
    cursor = connection.execute(
        "SELECT page, max(at) FROM fetches WHERE at >= ? AND outcome = 'page' "
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
        f"ORDER BY id DESC LIMIT 1) AS before FROM fetches AS now WHERE at >= ? "
        f"AND ({_READ_AGAIN} OR outcome = 'moved' AND before != 'moved') "
        "AND (before LIKE 'failed:%' OR before = 'moved' OR before LIKE 'refused:%' "
        "AND (SELECT first_at FROM documents WHERE page = now.page) < ?) GROUP BY page",
        (since, since, since),
    )
    return [(page, at) for page, at, _ in cursor]


def died(connection: Connection, ids: Sequence[int]) -> list[PageId]:
    """Return the pages of which a turn has ended in a failure."""
    cursor = connection.execute(
        "SELECT DISTINCT page FROM steps WHERE kind = ? AND state >= ? "
        "AND page IN (SELECT value FROM json_each(?))",
        (StepKind.DEAD_END, State.DNS, as_json_list(ids)),
    )
    return list(chain.from_iterable(cursor)) if ids else []


def pages_answered_since(connection: Connection, since: float) -> int:
    """Return the number of pages that were requested since then and read, changed or not."""
    query = f"SELECT count(DISTINCT page) FROM fetches WHERE at >= ? AND {_READ_AGAIN}"
    return number(connection, query, since)


def failing_since(connection: Connection, ids: Sequence[int]) -> list[float | None]:
    """Return the time of the first failed request for each page since it was last read, or None."""
    cursor = connection.execute(
        "SELECT (SELECT min(at) FROM fetches WHERE page = value AND id > "
        "coalesce((SELECT max(id) FROM fetches WHERE page = value "
        "AND outcome IN ('page', 'unchanged')), 0)) FROM json_each(?)",
        (as_json_list(ids),),
    )
    return list(chain.from_iterable(cursor))


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
    found = dict(cursor.fetchall())
    found.pop(NOT_ASKED, None)  # not a request
    return found


def failed_requests(connection: Connection) -> Iterator[FetchRow]:
    """Return requests that failed, were refused or were not made, newest first."""
    cursor = connection.execute(
        f"SELECT {FETCH_COLUMNS} FROM fetches "
        "WHERE outcome LIKE 'failed:%' OR outcome LIKE 'refused:%' OR outcome = ? ORDER BY id DESC",
        (NOT_ASKED,),
    )
    return map(FetchRow._make, cursor)


def requests_after(connection: Connection, last: int, count: int) -> list[LoggedRequest]:
    """Return the last `count` requests after this one, in order."""
    cursor = connection.execute(
        "SELECT fetches.id, at, outcome, fetches.status, wire_bytes, elapsed_s, detail, "
        "origin || path FROM fetches JOIN urls ON urls.id = page JOIN hosts ON hosts.id = host "
        "WHERE fetches.id > ? ORDER BY fetches.id DESC LIMIT ?",
        (last, count),
    )
    return [LoggedRequest._make(row) for row in reversed(cursor.fetchall())]


def requests_by_time(connection: Connection, last: int, width_s: float) -> list[RequestCounts]:
    """Return the counts of requests after this one, by spans of `width_s` since 1970."""
    cursor = connection.execute(
        "SELECT CAST(at / ? AS INTEGER) AS span, count(*), sum(outcome LIKE 'failed:%'), "
        "sum(wire_bytes), max(id) FROM fetches WHERE id > ? AND outcome != ? "
        "GROUP BY span ORDER BY span",
        (width_s, last, NOT_ASKED),
    )
    return [RequestCounts._make(row) for row in cursor]


def documents_without_fetch(connection: Connection) -> int:
    """Return the number of documents whose page was never requested."""
    return number(
        connection,
        "SELECT count(*) FROM documents "
        "WHERE NOT EXISTS (SELECT 1 FROM fetches WHERE fetches.page = documents.page)",
    )


def fetches_indexed(connection: Connection) -> int:
    """Return the number of requests in the index by page."""
    return number(connection, "SELECT count(*) FROM fetches INDEXED BY fetches_of_page")


def requests(
    connection: Connection,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Return page, time and bytes of all requests, in order. Times never go back."""
    rows = connection.execute(
        "SELECT page, at, wire_bytes FROM fetches WHERE outcome != ? ORDER BY id", (NOT_ASKED,)
    )
    pages, times, octets = np.array(rows.fetchall(), dtype=np.float64).reshape(-1, 3).T
    return pages.astype(np.int64), np.maximum.accumulate(times), octets.astype(np.int64)


# ================================================================ merging
#
# Rows of stores that are merged into one, in blocks, so that memory does not grow with a store.


class UrlColumns(NamedTuple):
    """Consecutive URLs as columns."""

    hosts: Sequence[int]
    paths: Sequence[str]
    depths: Sequence[int]


# ---------------------------------------------------------------- reading


def is_begun(path: Path) -> bool:
    """Return True if a crawl has begun in this file. A store that was just created has no terms."""
    with translating_sqlite_errors(path), closing(connect(path)) as connection:
        return check_version(connection, str(path)) > 0 and terms(connection) is not None


def url_columns(connection: Connection) -> Iterator[UrlColumns]:
    """Yield all URLs in blocks, in the order of the ids."""
    cursor = connection.execute("SELECT host, path, depth FROM urls ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield UrlColumns(*zip(*rows, strict=True))


def all_urls(connection: Connection) -> Iterator[tuple[int, str]]:
    """Yield all pages with their URLs."""
    yield from connection.execute(
        "SELECT urls.id, origin || path FROM urls JOIN hosts ON hosts.id = host"
    )


def fetch_rows(connection: Connection) -> Iterator[FetchRow]:
    """Yield all requests, oldest first."""
    cursor = connection.execute(f"SELECT {FETCH_COLUMNS} FROM fetches ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield from map(FetchRow._make, rows)


def asked_at(connection: Connection, pages: int) -> NDArray[np.float64]:
    """Return the time of each page's last request, or 0."""
    found = np.zeros(pages)
    cursor = connection.execute("SELECT page, at FROM fetches ORDER BY id")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        asked, times = zip(*rows, strict=True)
        found[list(asked)] = times  # the last request for a page wins
    return found


def originals(connection: Connection) -> Iterator[tuple[int, str]]:
    """Return the pages whose URL was written differently when found, with the written URL."""
    return connection.execute("SELECT page, url FROM originals ORDER BY page")


def endowments(connection: Connection) -> Iterator[tuple[Sequence[int], int]]:
    """Return the seeds of each endowment, with its units."""
    cursor = connection.execute(
        "SELECT spending, amount FROM steps WHERE kind = ? AND spending IS NOT NULL ORDER BY seq",
        (StepKind.ENDOWED,),
    )
    return ((unpack(blob).links, units) for blob, units in cursor)
