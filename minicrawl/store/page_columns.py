"""Numeric columns of all pages, as arrays in blocks.

Laws: a block takes memory only for its own rows. Ids are dense, so each block begins where the last
one ended, and a missing row is an error. SQLite joins the numbers of a block into one text per
column, and numpy parses it: a million numbers take 0.09 s, a third of the time with one Python
object per number.
"""

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from minicrawl.store.tables import Connection

Column = Literal["id", "state", "key", "history", "g_time", "inlinks", "spent", "host", "depth"]
Table = Literal["frontier", "urls"]
Numbers = NDArray[Any]

_COLUMN_ROWS = 20_000
_BETWEEN_PATHS = "\n"
"""No URL contains a line break; a damaged one is noticed, because there are too many paths."""
_KINDS: dict[Column, type[np.integer[Any]]] = {
    "state": np.uint8,
    "inlinks": np.uint32,
    "spent": np.uint32,
    "host": np.uint32,
    "depth": np.uint32,
}
"""Types of the narrow columns; others have 64-bit integers, like SQLite."""


def contents(connection: Connection) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield id and content hash of every page that was read, in blocks."""
    cursor = connection.execute("SELECT page, content FROM documents ORDER BY page")
    while rows := cursor.fetchmany(_COLUMN_ROWS):
        pages, hashes = np.array(rows, dtype=np.int64).T
        yield pages, hashes


def whole(connection: Connection, table: Table, column: Column) -> Numbers:
    """Return a column of all pages, which takes the memory of all blocks at once."""
    parts = (part for (part,) in blocks(connection, table, column))
    return np.concatenate([np.empty(0, _kind(column)), *parts])


def blocks(connection: Connection, table: Table, *columns: Column) -> Iterator[tuple[Numbers, ...]]:
    """Yield these columns of the last checkpoint or of the URLs, in the order of the ids."""
    texts = [f"group_concat({column})" for column in columns]
    for count, *values in _joined(connection, table, *texts):
        yield tuple(
            _numbers(text, column, count) for text, column in zip(values, columns, strict=True)
        )


def urls(connection: Connection) -> Iterator[tuple[Numbers, list[str], Numbers]]:
    """Yield hosts, paths and depths of all pages, in blocks, in the order of the ids."""
    texts = "group_concat(host)", "group_concat(depth)", "group_concat(path, char(10))"
    for count, hosts, depths, joined in _joined(connection, "urls", *texts):
        paths = joined.split(_BETWEEN_PATHS)
        if len(paths) != count:
            raise ValueError("path has invalid values")
        yield _numbers(hosts, "host", count), paths, _numbers(depths, "depth", count)


def _joined(connection: Connection, table: Table, *texts: str) -> Iterator[tuple[Any, ...]]:
    """Yield the number of rows of each block, and these texts of its columns."""
    # group_concat joins rows as they are scanned, and without an index that is by id.
    query = f"SELECT count(*), {', '.join(texts)} FROM {table} NOT INDEXED WHERE id >= ? AND id < ?"
    (rows,) = connection.execute(f"SELECT coalesce(max(id) + 1, 0) FROM {table}").fetchone()
    for start in range(0, rows, _COLUMN_ROWS):
        stop = min(start + _COLUMN_ROWS, rows)
        count, *values = connection.execute(query, (start, stop)).fetchone()
        if count != stop - start:
            raise ValueError(f"{table} lacks rows between {start} and {stop}")
        yield count, *(value or "" for value in values)


def _numbers(text: str, column: Column, count: int) -> Numbers:
    # Text that is not a number ends the parse early; the length below reveals it.
    numbers = np.fromstring(text, dtype=np.int64, sep=",")
    narrow = numbers.astype(_kind(column))
    if len(numbers) != count or (narrow != numbers).any():
        raise ValueError(f"{column} has invalid values")
    return narrow


def _kind(column: Column) -> type[np.integer[Any]]:
    return _KINDS.get(column, np.int64)
