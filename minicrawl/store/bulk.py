"""Many rows in few statements.

Law: any number of rows takes only a handful of statements. After each statement a writing thread
has to wait for the GIL, for milliseconds if other threads are busy. With one statement a row it
would write only a few hundred rows a second.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

_SIZES = (1024, 256, 64, 16, 4, 1)
"""Rows in a statement. There are few sizes, so that each statement is prepared once."""


def write(connection: sqlite3.Connection, sql: str, rows: Iterable[Sequence[Any]]) -> None:
    """Run SQL with `VALUES (...)` for all rows, with the effect of one run for each row."""
    source = iter(rows)
    while block := list(islice(source, _SIZES[0])):
        done = 0
        for size in _SIZES:
            while len(block) - done >= size:
                values = chain.from_iterable(block[done : done + size])
                connection.execute(_for_rows(sql, size), tuple(values))
                done += size


@lru_cache
def _for_rows(sql: str, rows: int) -> str:
    """The SQL with this many tuples after VALUES."""
    before, values, rest = sql.partition("VALUES ")
    one, end, after = rest.partition(")")
    return f"{before}{values}{', '.join([one + end] * rows)}{after}"
