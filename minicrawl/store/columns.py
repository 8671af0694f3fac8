"""Columns of numbers of all pages, as arrays in blocks; and a check of the values in all columns.

Laws of the arrays: a block takes memory only for its own rows. Ids are dense, so a block begins
where the last one ended, and a table that lacks a row is an error. SQLite joins the numbers of a
block to one text for each column and numpy parses it: a million numbers in 0.09 s, a third of the
time with a Python object for each number.

Laws of the check: SQLite accepts any value in any column, but readers rely on types and ranges, so
the audit checks all values. Each table is read once, by SQLite itself. NULL is valid only in
columns that may be empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import State
from minicrawl.opic.journal import StepKind
from minicrawl.store.tables import Connection
from minicrawl.wording import counted

Column = Literal["id", "state", "key", "history", "g_time", "inlinks", "spent", "host", "depth"]
Numbers = NDArray[Any]

_ROWS_AT_ONCE = 20_000
_KINDS: dict[Column, type[np.integer[Any]]] = {
    "state": np.uint8,
    "inlinks": np.uint32,
    "spent": np.uint32,
    "host": np.uint32,
    "depth": np.uint32,
}
"""All other columns have 64-bit integers, like SQLite."""


def frontier(connection: Connection, *columns: Column) -> Iterator[tuple[Numbers, ...]]:
    """These columns of the last checkpoint, block by block, in the order of the ids."""
    return _blocks(connection, "frontier", columns)


def urls(connection: Connection, *columns: Column) -> Iterator[tuple[Numbers, ...]]:
    """These columns of the table of all URLs."""
    return _blocks(connection, "urls", columns)


def contents(connection: Connection) -> Iterator[tuple[Numbers, Numbers]]:
    """The id and the content hash of every page that was read."""
    cursor = connection.execute("SELECT page, content FROM documents ORDER BY page")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        pages, hashes = np.array(rows, dtype=np.int64).T
        yield pages, hashes


def whole(blocks: Iterator[tuple[Numbers, ...]], column: Column) -> Numbers:
    """One column as one array."""
    return np.concatenate([np.empty(0, _kind(column)), *(block for (block,) in blocks)])


def _blocks(
    connection: Connection, table: str, columns: tuple[Column, ...]
) -> Iterator[tuple[Numbers, ...]]:
    texts = ", ".join(f"group_concat({column})" for column in columns)
    # group_concat joins the rows in the order of the inner query.
    query = (
        f"SELECT count(*), {texts} "
        f"FROM (SELECT {', '.join(columns)} FROM {table} WHERE id >= ? AND id < ? ORDER BY id)"
    )
    (rows,) = connection.execute(f"SELECT coalesce(max(id) + 1, 0) FROM {table}").fetchone()
    for start in range(0, rows, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, rows)
        count, *found = connection.execute(query, (start, stop)).fetchone()
        if count != stop - start:
            raise ValueError(f"{table} lacks rows between {start} and {stop}")
        yield tuple(
            _numbers(text or "", column, count) for text, column in zip(found, columns, strict=True)
        )


def _numbers(text: str, column: Column, count: int) -> Numbers:
    found = np.fromstring(text, dtype=np.int64, sep=",")
    narrow = found.astype(_kind(column))
    if len(found) != count or (narrow != found).any():
        raise ValueError(f"{column} has invalid values")
    return narrow


def _kind(column: Column) -> type[np.integer[Any]]:
    return _KINDS.get(column, np.int64)


# ---------------------------------------------------------------- checks of all columns

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
    """A line for each column with invalid values."""
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
    """The number of origins that are not http or https. Only imported graphs may have some."""
    (count,) = connection.execute(
        "SELECT count(*) FROM hosts WHERE NOT (origin GLOB 'http://?*' OR origin GLOB 'https://?*')"
    ).fetchone()
    return int(count)
