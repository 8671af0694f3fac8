"""Samples of a crawl's figures over time.

Law: samples are appended every few seconds and never changed. Beyond `MOST_SAMPLES`, every other
one of the older half is deleted: a long crawl keeps its whole curve, and the latest hours in
full.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from minicrawl.store.derived.file import derived_rows, writing_beside
from minicrawl.store.tables import Connection

MOST_SAMPLES = 4096
Sample = TypeVar("Sample")
_SAMPLES = """
CREATE TABLE IF NOT EXISTS samples (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    figures TEXT NOT NULL       -- as JSON
)
"""


def append_sample(
    store: Path,
    connection: Connection,
    at: float,
    figures: Mapping[str, Any],
    most: int = MOST_SAMPLES,
) -> None:
    """Append a sample, and thin out the older ones if there are more than `most`."""
    with writing_beside(store, connection, _SAMPLES) as derived:
        derived.execute("INSERT INTO samples VALUES (NULL, ?, ?)", (at, json.dumps(figures)))
        (count,) = derived.execute("SELECT count(*) FROM samples").fetchone()
        if count > most:
            derived.execute(
                "DELETE FROM samples WHERE id IN (SELECT id FROM "
                "(SELECT id, row_number() OVER (ORDER BY id) AS place FROM samples) "
                "WHERE place <= ? AND place % 2 = 0)",
                (most // 2,),
            )


def kept_samples(
    store: Path,
    connection: Connection,
    make: Callable[[dict[str, Any]], Sample],
    since: float = 0,
    last: int | None = None,
) -> list[Sample]:
    """Return the samples after `since`, at most the `last` ones, in order, converted by `make`."""
    clauses = "WHERE at > ? ORDER BY id DESC LIMIT ?"
    values = since, -1 if last is None else last
    rows = list(derived_rows(store, connection, "samples", clauses, values))
    return [make(json.loads(figures)) for _, _, figures in reversed(rows)]
