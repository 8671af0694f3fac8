"""A sink: each fetched page becomes a row of the table `pages` in PostgreSQL, exactly once.

    minicrawl crawl https://docs.example.org/ --sink postgresql://crawler@localhost/web

The crawl counts a page as fetched after its row is committed. If it is killed in between, the next
run hands over the page with the same URL and reading: the row is replaced, not duplicated. Put a
password in ~/.pgpass or PGPASSWORD, where other users of the machine cannot see it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.types.json import Jsonb

from minicrawl.ext import OnPage, PageRead

TABLE = """
CREATE TABLE IF NOT EXISTS pages (
    url text, reading integer, status smallint NOT NULL, title text NOT NULL,
    headers jsonb NOT NULL, body bytea NOT NULL, read_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (url, reading))
"""
PUT = """
INSERT INTO pages (url, reading, status, title, headers, body)
VALUES (%s, %s, %s, %s, %s, %s)
ON CONFLICT (url, reading) DO UPDATE SET status = excluded.status, title = excluded.title,
    headers = excluded.headers, body = excluded.body, read_at = now()
"""


@contextmanager
def postgresql(address: str) -> Iterator[OnPage]:
    """Yield a function that commits a page as a row."""
    connection = _connected(address)

    def put(page: PageRead) -> None:
        nonlocal connection
        if (
            connection.broken
        ):  # the server was restarted: after an error, the crawl calls `put` again
            connection = _connected(address)
        headers = Jsonb({name: _text(value) for name, value in page.headers.items()})
        row = page.url, page.reading, page.status, _text(page.title), headers, page.body
        connection.execute(PUT, row)

    try:
        yield put
    finally:
        connection.close()


def _connected(address: str) -> psycopg.Connection:
    connection = psycopg.connect(address, autocommit=True, connect_timeout=10)
    connection.execute(TABLE)
    return connection


def _text(foreign: str) -> str:
    """Return text that PostgreSQL can store: without NUL and lone surrogates."""
    return foreign.replace("\0", "").encode(errors="replace").decode()
