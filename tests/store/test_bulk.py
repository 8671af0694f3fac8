"""Many rows are written as one by one, by a handful of statements."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.store import bulk

INSERT = "INSERT INTO numbers VALUES (?, ?, 7)"
UPSERT = f"{INSERT} ON CONFLICT (id) DO UPDATE SET value = value + excluded.value"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(a_table()) as connection:
        yield connection


def a_table() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE numbers (id INTEGER PRIMARY KEY, value, seven)")
    return connection


def numbers(connection: sqlite3.Connection) -> list[tuple[int, int, int]]:
    return connection.execute("SELECT * FROM numbers ORDER BY id").fetchall()


@pytest.mark.parametrize("count", [0, 1, 5, 1024, 3003])
def test_all_rows_are_written(connection: sqlite3.Connection, count: int) -> None:
    bulk.write(connection, INSERT, ((number, -number) for number in range(count)))
    assert numbers(connection) == [(number, -number, 7) for number in range(count)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=90))
def test_rows_that_meet_are_written_one_after_the_other(rows: list[tuple[int, int]]) -> None:
    with closing(a_table()) as once, closing(a_table()) as singly:
        bulk.write(once, UPSERT, rows)
        singly.executemany(UPSERT, rows)
        assert numbers(once) == numbers(singly)


def test_statements_are_few(connection: sqlite3.Connection) -> None:
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    bulk.write(connection, INSERT, [(number, 0) for number in range(4000)])
    assert len(statements) < 20
