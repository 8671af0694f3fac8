"""Scores of all pages by rank, and the pages of topics that have a rank of their own.

Laws: a rank is replaced as a whole, and so are the topics of a family, as their ranks are. A page
that was found after a rank was computed has the score NaN.

family   common name of the ranks of some topics: the rank of a topic is named NAME-TOPIC
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.store import tables
from minicrawl.store.derived.file import derived_rows, has_table, writing_beside
from minicrawl.store.tables import Connection

OPIC = "opic"
"""Name of the importance rank: converged if it is kept here, otherwise the crawl's estimate."""
OPIC_SITES = "opic-sites"
"""Name of the site importance at the time when the importance converged.

The pages of a site have equal shares of it.
"""
GATHERED = "gathered"
"""Option of `OPIC`: gathered share of the importance of all readable pages."""
READABLE_PAGES = "readable"
"""Option of `OPIC`: number of readable pages, whether read or not."""
FLOWED = "flowed"
"""Option of `OPIC`: mean flow through a page per iteration of `opic.importance.cash_flow`."""
GUARANTEED = "guaranteed"
"""Option of `OPIC`: share of PageRank from the seeds that `opic.importance.rank_mass` proves."""

_SCORES_AT_ONCE = 1 << 16
_RANKS = """
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
_TOPICS = """
CREATE TABLE IF NOT EXISTS topics (
    family TEXT NOT NULL, topic TEXT NOT NULL, pages BLOB NOT NULL,
    PRIMARY KEY (family, topic)
) WITHOUT ROWID
"""

Floats = NDArray[np.float64] | NDArray[np.float32]
Topics = dict[str, list[int]]


class RankRow(NamedTuple):
    name: str
    options: str
    made_at: float
    step: int
    nodes: int
    edges: int
    iterations: int
    error_bound: float
    converged: bool

    def number(self, option: str) -> float | None:
        """Return the value of an option such as `GATHERED`, or None if it is not kept."""
        value = json.loads(self.options).get(option)
        return float(value) if isinstance(value, float | int) else None


def keep_ranks(
    store: Path, connection: Connection, ranks: Iterable[tuple[RankRow, Floats]]
) -> None:
    """Write the ranks beside the store, all of them or none."""
    with writing_beside(store, connection, _RANKS) as derived:
        for row, values in ranks:
            _delete_rank(derived, row.name)
            rank = derived.execute(
                "INSERT INTO ranks VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row
            ).lastrowid
            for number, first in enumerate(range(0, len(values), _SCORES_AT_ONCE)):
                blob = values[first : first + _SCORES_AT_ONCE].astype(np.float64).tobytes()
                derived.execute("INSERT INTO scores VALUES (?, ?, ?)", (rank, number, blob))


def drop_rank(store: Path, connection: Connection, name: str) -> None:
    with writing_beside(store, connection, _RANKS) as derived:
        _delete_rank(derived, name)


def _delete_rank(derived: Connection, name: str) -> None:
    derived.execute(
        "DELETE FROM scores WHERE rank = (SELECT id FROM ranks WHERE name = ?)", (name,)
    )
    derived.execute("DELETE FROM ranks WHERE name = ?", (name,))


def kept_ranks(derived: Connection | None) -> list[RankRow]:
    """Return the metadata of all ranks, by name.

    Raises an error of `NONSENSE` if `keep_ranks` cannot have written a row.
    """
    if derived is None or not has_table(derived, "ranks"):
        return []
    ranks = list[RankRow]()
    columns = ", ".join(RankRow._fields)
    for row in map(RankRow._make, derived.execute(f"SELECT {columns} FROM ranks ORDER BY name")):
        numbers = row.step, row.nodes, row.edges, row.iterations, row.error_bound
        if not all(isinstance(number, int | float) for number in numbers):
            raise ValueError(f"{row.name} has text instead of numbers")
        if not isinstance(json.loads(row.options), dict):
            raise ValueError(f"{row.name} has no options")
        datetime.fromtimestamp(row.made_at, UTC)
        ranks.append(row._replace(converged=bool(row.converged)))
    return ranks


def rank_row(derived: Connection | None, name: str) -> RankRow | None:
    return next((row for row in kept_ranks(derived) if row.name == name), None)


def guaranteed(row: RankRow, connection: Connection) -> float | None:
    """Return the proven share of PageRank; None if it is not kept or seeds were added since."""
    seeds_at = tables.endowed(tables.counters(connection))
    return row.number(GUARANTEED) if max(seeds_at, default=0) <= row.step else None


def rank_scores(derived: Connection, name: str, pages: int) -> NDArray[np.float64]:
    """Return the scores of all pages by this rank; NaN where it has none."""
    scores = np.full(pages, np.nan)
    cursor = derived.execute(
        "SELECT block, scores FROM scores JOIN ranks ON ranks.id = rank WHERE name = ?", (name,)
    )
    for block, blob in cursor:
        first = block * _SCORES_AT_ONCE
        values = np.frombuffer(blob)[: max(pages - first, 0)]
        scores[first : first + len(values)] = values
    return scores


def keep_topics(
    store: Path, connection: Connection, family: str, topics: Mapping[str, Sequence[int]]
) -> None:
    with writing_beside(store, connection, _TOPICS) as derived:
        derived.execute("DELETE FROM topics WHERE family = ?", (family,))
        rows = ((family, topic, np.array(values).tobytes()) for topic, values in topics.items())
        derived.executemany("INSERT INTO topics VALUES (?, ?, ?)", rows)


def kept_topics(store: Path, connection: Connection) -> dict[str, Topics]:
    families: dict[str, Topics] = {}
    rows = derived_rows(store, connection, "topics", "ORDER BY family, topic")
    for family, topic, blob in rows:
        families.setdefault(family, {})[topic] = np.frombuffer(blob, np.int64).tolist()
    return families
