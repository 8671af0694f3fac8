"""Samples of a crawl's figures over time, in the file of derived data.

Laws: samples are appended every few seconds and never changed. Beyond `MOST` samples, every other
one of the older half is deleted, so that a long crawl keeps its whole curve, and the latest hours
in full. The file can be deleted, and the samples recomputed from the log of the store.
"""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from minicrawl.graph.outline import DegreeDistribution, Outline
from minicrawl.store.derived import has_table, reading_beside, writing_beside
from minicrawl.store.reader import reading
from minicrawl.store.tables import Connection, last_step

MOST = 4096
FRESH_S = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS samples (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    figures TEXT NOT NULL       -- as JSON
)
"""


class Basis(StrEnum):
    """Method by which a figure was obtained."""

    EXACT = "exact"  # maintained with each link
    BATCH = "batch"  # exact, computed for all links at once
    ESTIMATE = "estimate"  # from a sample of the pages
    HYPERBALL = "HyperBall"  # HyperBall estimate for all pages


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Figures of a crawl at one moment. Times are seconds since 1970.

    Mean distance and diameter in the outline are as of `distances_at`, by the method
    `distances_basis`; everything else is as of `at`.
    """

    at: float
    step: int
    running_s: float
    requests: int
    crawled: int
    errors: int
    """Pages that failed, and responses that are not HTML."""
    known: int
    hosts: int
    maximum: int | None
    """Maximum number of pages that the crawl may read."""
    wire_bytes: int
    importance_gathered: float | None
    graph_of: str
    """`crawled` if the graph contains only pages that were read, `known` if all."""
    basis: Basis
    distances_at: float
    distances_basis: Basis
    outline: Outline

    @property
    def total(self) -> int:
        return self.crawled + self.errors

    @property
    def urls_per_s(self) -> float | None:
        """Pages crawled per second, over all runs."""
        return self.crawled / self.running_s if self.running_s else None

    @property
    def bytes_per_s(self) -> float | None:
        return self.wire_bytes / self.running_s if self.running_s else None

    def as_json(self) -> dict[str, Any]:
        """Return all figures by name, including derived ones."""
        return asdict(self) | {
            "total": self.total,
            "urls_per_s": self.urls_per_s,
            "bytes_per_s": self.bytes_per_s,
        }

    @classmethod
    def from_json(cls, figures: dict[str, Any]) -> "Sample":
        """Return the sample that was stored."""
        known = {name: figures[name] for name in cls.__dataclass_fields__}
        outline = dict(known["outline"])
        for name in ("out_degrees", "in_degrees"):
            degrees = dict(outline[name])
            bins = tuple((int(least), int(pages)) for least, pages in degrees["bins"])
            outline[name] = DegreeDistribution(**degrees | {"bins": bins})
        bases = {name: Basis(known[name]) for name in ("basis", "distances_basis")}
        return cls(**known | bases | {"outline": Outline(**outline)})


def keep_sample(store: Path, connection: Connection, sample: Sample) -> None:
    """Append a sample of the store."""
    with writing_beside(store, connection, _SCHEMA) as derived:
        derived.execute(
            "INSERT INTO samples VALUES (NULL, ?, ?)", (sample.at, json.dumps(asdict(sample)))
        )
        (count,) = derived.execute("SELECT count(*) FROM samples").fetchone()
        if count > MOST:
            derived.execute(
                "DELETE FROM samples WHERE id IN (SELECT id FROM "
                "(SELECT id, row_number() OVER (ORDER BY id) AS place FROM samples) "
                "WHERE place <= ? AND place % 2 = 0)",
                (MOST // 2,),
            )


def latest_sample(store: Path) -> Sample | None:
    """Return the last sample, or None."""
    found = _samples(store, "ORDER BY id DESC LIMIT 1")
    return found[0] if found else None


def fresh_sample(store: Path, graph_of: str, now: float, *, is_running: bool) -> Sample | None:
    """Return the last sample if it is still valid for this graph, or None.

    It is valid if it has all steps, or if it is less than `FRESH_S` old in a running crawl.
    """
    found = latest_sample(store)
    if found is None or found.graph_of != graph_of:
        return None
    with reading(store) as connection:
        is_last = found.step == last_step(connection)
    return found if is_last or (is_running and now - found.at < FRESH_S) else None


def samples(store: Path, since: float = 0) -> list[Sample]:
    """Return all samples after this time, in order."""
    return _samples(store, "WHERE at > ? ORDER BY id", since)


def _samples(store: Path, which: str, *values: float) -> list[Sample]:
    with reading(store) as connection, reading_beside(store, connection) as derived:
        if derived is None or not has_table(derived, "samples"):
            return []
        rows = derived.execute(f"SELECT figures FROM samples {which}", values)
        return [Sample.from_json(json.loads(figures)) for (figures,) in rows]
