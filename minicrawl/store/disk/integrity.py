"""Faults that SQLite accepts and readers do not: ids that are not dense, invalid values in columns.

Law: SQLite accepts any value in any column, but readers rely on types and ranges, so `minicrawl
check` checks all values. SQLite itself scans each table, once. NULL is valid only in nullable
columns.
"""

import sqlite3
from collections.abc import Iterator, Mapping

from minicrawl.model import FULL_VALUE, PageId
from minicrawl.opic.ledger.books import StepKind
from minicrawl.states import State
from minicrawl.store.tables import Connection, number
from minicrawl.wording import counted

_MOST_COUNTED = 2**53
_YEARS_1_TO_9999 = (-62_135_596_800, 253_402_300_799)


def _whole(least: int, most: int) -> str:
    return f"typeof({{0}}) = 'integer' AND {{0}} BETWEEN {least} AND {most}"


def _enum(numbers: type[State] | type[StepKind]) -> str:
    return f"typeof({{0}}) = 'integer' AND {{0}} IN ({', '.join(str(int(n)) for n in numbers)})"


def _or_none(condition: str) -> str:
    return f"{{0}} IS NULL OR ({condition})"


_TEXT, _BLOB, _NUMBER = "typeof({0}) = 'text'", "typeof({0}) = 'blob'", "typeof({0}) = 'real'"
_ORIGIN = f"{_TEXT} AND length({{0}}) > 0"
_INTEGER, _COUNT = "typeof({0}) = 'integer'", _whole(0, _MOST_COUNTED)
_MOMENT = f"{_NUMBER} AND {{0}} BETWEEN {_YEARS_1_TO_9999[0]} AND {_YEARS_1_TO_9999[1]}"
_PAGE = f"{_COUNT} AND {{0}} < (SELECT coalesce(max(id) + 1, 0) FROM urls)"
_HOST = f"{_COUNT} AND {{0}} < (SELECT coalesce(max(id) + 1, 0) FROM hosts)"

_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "hosts": {
        "id": _COUNT,
        "origin": _ORIGIN,
        "robots": _or_none(_TEXT),
        "robots_until": _or_none(_NUMBER),
        "wait_until": _or_none(_NUMBER),
        "trouble": _or_none(_TEXT),
    },
    "urls": {"id": _COUNT, "host": _COUNT, "path": _TEXT, "depth": _COUNT},
    "originals": {"page": _PAGE, "url": _TEXT},
    "steps": {
        "seq": _whole(1, _MOST_COUNTED),
        "kind": _enum(StepKind),
        "page": _COUNT,
        "state": _enum(State),
        "born": _COUNT,
        "amount": _INTEGER,
        "spending": _or_none(_BLOB),
    },
    "own_requests": {"page": _PAGE, "method": _TEXT, "headers": _TEXT, "body": _BLOB},
    "scored": {"seq": _whole(1, _MOST_COUNTED), "page": _PAGE, "value": _whole(0, FULL_VALUE)},
    "frontier": {
        "id": _COUNT,
        "state": _enum(State),
        "key": _INTEGER,
        "history": _INTEGER,
        "g_time": _INTEGER,
        "inlinks": _COUNT,
        "spent": _COUNT,
        "measures": _or_none(_BLOB),
    },
    "fetches": {
        "page": _PAGE,
        "at": _MOMENT,
        "outcome": _TEXT,
        "status": _or_none(_COUNT),
        "wire_bytes": _COUNT,
        "elapsed_s": _NUMBER,
        "detail": _TEXT,
        "first_byte_s": _or_none(_NUMBER),
    },
    "documents": {
        "page": _PAGE,
        "title": _TEXT,
        "status": _COUNT,
        "etag": _or_none(_TEXT),
        "last_modified": _or_none(_TEXT),
        "content": _INTEGER,
        "noindex": _whole(0, 1),
        "first_at": _MOMENT,
        "last_at": _MOMENT,
        "checks": _COUNT,
        "changes": _COUNT,
    },
    "mirrors": {"host": _HOST, "of_host": _HOST, "pages": _COUNT},
    "written": {"closed": _whole(0, 1), "pages": _BLOB, "data": _BLOB},
    "siblings": {"name": _TEXT, "data": _BLOB},
    "refinement": {"seq": _COUNT, "rounds": _COUNT, "history": _BLOB, "cash": _BLOB},
}


def bad_columns(connection: Connection) -> Iterator[str]:
    """Yield a line for each column with invalid values."""
    for table, conditions in _COLUMNS.items():
        sums = ", ".join(
            f"coalesce(sum(NOT ({condition.format(column)})), 0)"
            for column, condition in conditions.items()
        )
        counts = connection.execute(f"SELECT {sums} FROM {table}").fetchone()
        for column, count in zip(conditions, counts, strict=True):
            if count:
                yield f"{column} of {table} is invalid in {counted(count, 'row')}"


def foreign_origins(connection: Connection) -> int:
    """Return the number of origins that are neither http nor https."""
    foreign = "NOT (origin GLOB 'http://?*' OR origin GLOB 'https://?*')"
    return number(connection, f"SELECT count(*) FROM hosts WHERE {foreign}")


def integrity_errors(connection: Connection, check: str = "integrity_check") -> list[str]:
    """Return the problems that SQLite itself finds in the file by one of its checks."""
    try:
        messages = [str(row[0]) for row in connection.execute(f"PRAGMA {check}")]
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [] if messages == ["ok"] else messages


def extent(connection: Connection, table: str) -> tuple[int, int, int]:
    """Return the number of rows of a table, and its smallest and largest id."""
    count, least, greatest = connection.execute(
        f"SELECT count(*), coalesce(min(id), 0), coalesce(max(id), -1) FROM {table}"
    ).fetchone()
    return count, least, greatest


def urls_without_host(connection: Connection) -> int:
    """Return the number of URLs without a row for their host."""
    return number(connection, "SELECT count(*) FROM urls WHERE host NOT IN (SELECT id FROM hosts)")


def all_spendings(connection: Connection) -> Iterator[tuple[int, int, PageId, bytes]]:
    """Return step, kind, page and encoded spending of each, with endowments and replays."""
    return connection.execute(
        "SELECT seq, kind, page, spending FROM steps WHERE spending IS NOT NULL ORDER BY seq"
    )


def born_after(connection: Connection, seq: int) -> int:
    """Return the number of pages added by steps after this one."""
    return number(connection, "SELECT coalesce(sum(born), 0) FROM steps WHERE seq > ?", seq)


def steps_known(connection: Connection) -> tuple[int, int]:
    """Return the number of steps in the log, and the number of the last one."""
    count, last = connection.execute("SELECT count(*), coalesce(max(seq), 0) FROM steps").fetchone()
    return count, last


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
