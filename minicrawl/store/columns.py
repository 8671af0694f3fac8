"""Numbers of all pages, as flat arrays in blocks.

Laws: a block costs memory for its own rows alone; ids are dense, so that a block begins where the
one before it ended, and a table that has lost a row is refused.

SQLite itself joins the numbers of a block to one text a column and numpy takes that apart: a
million numbers in 0.09 s. A Python object for each of them takes three times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from minicrawl.store.tables import Connection

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
"""All others may be as large as SQLite's."""


def frontier(connection: Connection, *columns: Column) -> Iterator[tuple[Numbers, ...]]:
    """These columns of the last checkpoint, block by block, in the order of the ids."""
    return _blocks(connection, "frontier", columns)


def urls(connection: Connection, *columns: Column) -> Iterator[tuple[Numbers, ...]]:
    """These columns of the table of all URLs."""
    return _blocks(connection, "urls", columns)


def contents(connection: Connection) -> Iterator[tuple[Numbers, Numbers]]:
    """Every page that was read, and the hash of its body."""
    cursor = connection.execute("SELECT page, content FROM documents ORDER BY page")
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        pages, hashes = np.array(rows, dtype=np.int64).T
        yield pages, hashes


def whole(blocks: Iterator[tuple[Numbers, ...]], column: Column) -> Numbers:
    """One column in one piece."""
    return np.concatenate([np.empty(0, _kind(column)), *(block for (block,) in blocks)])


def _blocks(
    connection: Connection, table: str, columns: tuple[Column, ...]
) -> Iterator[tuple[Numbers, ...]]:
    texts = ", ".join(f"group_concat({column})" for column in columns)
    # The order of the rows inside is the one in which they are joined.
    question = (
        f"SELECT count(*), {texts} "
        f"FROM (SELECT {', '.join(columns)} FROM {table} WHERE id >= ? AND id < ? ORDER BY id)"
    )
    (rows,) = connection.execute(f"SELECT coalesce(max(id) + 1, 0) FROM {table}").fetchone()
    for start in range(0, rows, _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, rows)
        count, *found = connection.execute(question, (start, stop)).fetchone()
        if count != stop - start:
            raise ValueError(f"{table} lacks rows between {start} and {stop}")
        yield tuple(
            _numbers(text or "", column, count) for text, column in zip(found, columns, strict=True)
        )


def _numbers(text: str, column: Column, count: int) -> Numbers:
    found = np.fromstring(text, dtype=np.int64, sep=",")
    narrow = found.astype(_kind(column))
    if len(found) != count or (narrow != found).any():
        raise ValueError(f"{column} cannot be what it is in some rows")
    return narrow


def _kind(column: Column) -> type[np.integer[Any]]:
    return _KINDS.get(column, np.int64)
