"""Samples of a crawl's figures over time, in the file of derived data."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from minicrawl.states import READ_STATES, State
from minicrawl.store import questions, tables
from minicrawl.store.derived.samples import MOST_SAMPLES, append_sample, kept_samples
from minicrawl.store.reader import reading
from minicrawl.store.tables import Connection, last_step

if TYPE_CHECKING:
    from minicrawl.graph.outline import Outline

EVERY_S, FRESH_S = 2.0, 30.0
"""How often samples are taken, and the age up to which one is shown without a new one."""


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
    """Pages that failed, and URLs of a type that is not read."""
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
    outline: "Outline"

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

    def to_json(self) -> dict[str, Any]:
        """Return all figures by name, including derived ones."""
        return asdict(self) | {
            "total": self.total,
            "urls_per_s": self.urls_per_s,
            "bytes_per_s": self.bytes_per_s,
        }

    @classmethod
    def from_json(cls, figures: dict[str, Any]) -> "Sample":
        from minicrawl.graph.cohesion import Cohesion
        from minicrawl.graph.degrees import DegreeDistribution
        from minicrawl.graph.outline import BowTie, Outline

        known = {name: figures[name] for name in cls.__dataclass_fields__}
        outline = dict(known["outline"])
        for name in ("out_degrees", "in_degrees"):
            degrees = dict(outline[name])
            bins = tuple((int(least), int(pages)) for least, pages in degrees["bins"])
            outline[name] = DegreeDistribution(**degrees | {"bins": bins})
        if outline.get("bow_tie"):
            outline["bow_tie"] = BowTie(**outline["bow_tie"])
        if outline.get("cohesion"):
            outline["cohesion"] = Cohesion(**outline["cohesion"])
        bases = {name: Basis(known[name]) for name in ("basis", "distances_basis")}
        return cls(**known | bases | {"outline": Outline(**outline)})


def crawled_and_errors(states: Mapping[int, int]) -> dict[str, int]:
    """Return the numbers of crawled and failed pages, from the pages by state."""
    return {
        "crawled": sum(states.get(state, 0) for state in READ_STATES),
        "errors": sum(
            pages
            for state, pages in states.items()
            if State(state).is_failure or state == State.TYPE
        ),
    }


def keep_sample(
    store: Path, connection: Connection, sample: Sample, most: int = MOST_SAMPLES
) -> None:
    append_sample(store, connection, sample.at, asdict(sample), most)


def samples(store: Path, since: float = 0, last: int | None = None) -> list[Sample]:
    """Return all samples after this time, or the `last` of them, in order."""
    with reading(store) as connection:
        return kept_samples(store, connection, Sample.from_json, since, last)


def latest_sample(store: Path) -> Sample | None:
    return next(iter(samples(store, last=1)), None)


def fresh_sample(store: Path, graph_of: str, now: float, *, is_running: bool) -> Sample | None:
    """Return the last sample with all steps, or one that is `FRESH_S` young in a running crawl."""
    sample = latest_sample(store)
    if sample is None or sample.graph_of != graph_of:
        return None
    with reading(store) as connection:
        is_last = sample.step == last_step(connection)
    return sample if is_last or (is_running and now - sample.at < FRESH_S) else None


MOST_AT_ONCE = 50_000
"""Maximum number of pages whose graph is measured without an explicit request, in about 1 s."""


def shown_sample(
    store: Path,
    graph_of: str,
    *,
    is_running: bool,
    even_of_many: bool = False,
    measured: Sample | None = None,
) -> Sample | None:
    """Return current figures of the graph: stored or `measured` ones if still valid, else new ones.

    A graph of many pages is measured only with `even_of_many`; otherwise its last sample is
    returned.
    """
    sample = fresh_sample(store, graph_of, time.time(), is_running=is_running)
    if sample is not None:
        return sample
    with reading(store) as connection:
        pages, step = questions.pages_known(connection), tables.last_step(connection)
    if measured is not None and (measured.step, measured.graph_of) == (step, graph_of):
        return measured
    if pages <= MOST_AT_ONCE or even_of_many:
        from minicrawl.report.progress.live_sampler import sampled_now

        return sampled_now(store, graph_of)
    last = latest_sample(store)
    return last if last is not None and last.graph_of == graph_of else None
