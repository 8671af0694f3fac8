"""Ranks by name: the options each was made with, and the scores of its pages.

Laws: a rank replaces the old one of its name as a whole. It is written and read block by block. A
page that was found after the rank was made has no score, which reads as NaN.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.store.derived.files import writing_beside
from minicrawl.store.tables import Connection

OPIC = "opic"
"""The name of the importance: converged, where it is kept here, or as the crawl estimates it."""
GATHERED = "gathered"
"""An option of `OPIC`: the share of it on pages that were read."""
FLOWED = "flowed"
"""An option of `OPIC`: what flows through a page in a lap of `opic.refine`, on average."""

_SCORES_AT_ONCE = 1 << 16
_SCHEMA = """
CREATE TABLE IF NOT EXISTS ranks (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    options TEXT NOT NULL,      -- as JSON
    made_at REAL NOT NULL,
    step INTEGER NOT NULL,      -- the last one when it was made
    nodes INTEGER NOT NULL,     -- the pages of the store then
    edges INTEGER NOT NULL,
    iterations INTEGER NOT NULL,
    error_bound REAL NOT NULL,
    converged INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS scores (
    rank INTEGER NOT NULL,
    block INTEGER NOT NULL,
    scores BLOB NOT NULL,       -- a float for each page of the block
    PRIMARY KEY (rank, block)
)
"""


class RankRow(NamedTuple):
    """A rank without its scores."""

    name: str
    options: str
    made_at: float
    step: int
    nodes: int
    edges: int
    iterations: int
    error_bound: float
    converged: bool


Floats = NDArray[np.float64] | NDArray[np.float32]


def keep(store: Path, connection: Connection, found: Iterable[tuple[RankRow, Floats]]) -> None:
    """Write these ranks of the store that `connection` reads, all of them or none."""
    with writing_beside(store, connection, _SCHEMA) as derived:
        for row, values in found:
            _replace(derived, row, values)


def kept(derived: Connection | None) -> list[RankRow]:
    """All ranks, by name."""
    if derived is None or not _has_ranks(derived):
        return []
    columns = ", ".join(RankRow._fields)
    rows = derived.execute(f"SELECT {columns} FROM ranks ORDER BY name")
    return [_checked(RankRow._make(row)) for row in rows]


def row_of(derived: Connection | None, name: str) -> RankRow | None:
    """The rank of this name, if it is kept."""
    return next((row for row in kept(derived) if row.name == name), None)


def gathered(row: RankRow) -> float | None:
    """The share of the importance on pages that were read; None if it is not kept."""
    return _number(row, GATHERED)


def flowed(row: RankRow) -> float | None:
    """What flows through a page, on average; None if it is not kept."""
    return _number(row, FLOWED)


def _number(row: RankRow, option: str) -> float | None:
    found = json.loads(row.options).get(option)
    return float(found) if isinstance(found, float | int) else None


def scores(derived: Connection, name: str, pages: int) -> NDArray[np.float64]:
    """The scores by this rank of all pages in the store."""
    found = np.full(pages, np.nan)
    cursor = derived.execute(
        "SELECT block, scores FROM scores JOIN ranks ON ranks.id = rank WHERE name = ?", (name,)
    )
    for block, blob in cursor:
        first = block * _SCORES_AT_ONCE
        values = np.frombuffer(blob)[: max(pages - first, 0)]
        found[first : first + len(values)] = values
    return found


def _has_ranks(derived: Connection) -> bool:
    """Whether the file has the tables of the ranks."""
    found = derived.execute("SELECT 1 FROM sqlite_master WHERE name = 'ranks'").fetchone()
    return found is not None


def _checked(row: RankRow) -> RankRow:
    """The row; raises an error of `NONSENSE` if `keep` cannot have written it."""
    numbers = row.step, row.nodes, row.edges, row.iterations, row.error_bound
    if not all(isinstance(number, int | float) for number in numbers):
        raise ValueError(f"{row.name} has text instead of numbers")
    if not isinstance(json.loads(row.options), dict):
        raise ValueError(f"{row.name} has no options")
    datetime.fromtimestamp(row.made_at, UTC)
    return row._replace(converged=bool(row.converged))


def _replace(derived: Connection, row: RankRow, values: Floats) -> None:
    derived.execute(
        "DELETE FROM scores WHERE rank = (SELECT id FROM ranks WHERE name = ?)", (row.name,)
    )
    derived.execute("DELETE FROM ranks WHERE name = ?", (row.name,))
    cursor = derived.execute("INSERT INTO ranks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    for number, blob in zip(count(), _blobs(values), strict=False):
        derived.execute("INSERT INTO scores VALUES (?, ?, ?)", (cursor.lastrowid, number, blob))


def _blobs(values: Floats) -> Iterator[bytes]:
    for first in range(0, len(values), _SCORES_AT_ONCE):
        yield values[first : first + _SCORES_AT_ONCE].astype(np.float64).tobytes()
