"""Many rows in few statements.

Law: however many rows there are, what runs is a handful of statements. Between two of them a thread
that writes must wait for its turn among Python's threads, milliseconds where the others are busy: a
statement a row would let it write a few hundred rows a second, and no more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

_SIZES = (1024, 256, 64, 16, 4, 1)
"""Rows of a statement: few sizes, so that each is prepared once."""


def write(connection: sqlite3.Connection, sql: str, rows: Iterable[Sequence[Any]]) -> None:
    """Run SQL with `VALUES (...)` for all rows as if it were run for one after the other."""
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
    """The SQL with as many tuples behind VALUES."""
    before, values, rest = sql.partition("VALUES ")
    one, end, after = rest.partition(")")
    return f"{before}{values}{', '.join([one + end] * rows)}{after}"
