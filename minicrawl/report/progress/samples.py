"""Samples of a crawl's figures over time, in the file of derived data, and who takes them.

Laws: only the sampling process imports the code that computes the figures, so a crawl that is
sampled starts as fast as any other. The last sample of a crawl that has ended shows its end.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any

from minicrawl.errors import MinicrawlError
from minicrawl.memory.child_interpreter import child_command
from minicrawl.store import questions, tables
from minicrawl.store.derived.samples import MOST_SAMPLES, append_sample, kept_samples
from minicrawl.store.reader import reading
from minicrawl.store.tables import Connection, last_step

if TYPE_CHECKING:
    from minicrawl.graph.outline import Outline

FRESH_S = 30.0


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


EVERY_S = 2.0
LAST_S = 60.0
"""Maximum time for the last sample."""
MOST_AT_ONCE = 50_000
"""Maximum number of pages whose graph is measured without an explicit request, in about 1 s."""
_MOMENT_S = 1.0
COMMAND = "import os; os.nice(19); from minicrawl.report.progress.live_sampler import main; main()"
"""Command of the process, which runs at the lowest priority from the start."""


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


@contextmanager
def sampling_beside(store: Path, graph_of: str) -> "Iterator[SamplingProcess]":
    """Run a sampling process beside a crawl, which never waits for it. It is killed on exit."""
    # The process has a session of its own, so that Ctrl-C reaches only the crawl, and a last sample
    # can be taken.
    arguments = child_command(COMMAND, str(store), graph_of)
    with Popen(
        arguments, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
    ) as process:
        try:
            yield SamplingProcess(store, process)
        finally:
            process.kill()


class SamplingProcess:
    """Running sampling process. Its file is read at most as often as samples are written."""

    def __init__(self, store: Path, process: Popen[bytes]) -> None:
        self._store, self._process = store, process
        self._began = time.time()
        self._due = 0.0
        self._sample: Sample | None = None

    def finish(self, warn: Callable[[], None]) -> None:
        """Wait for the sample of the crawl's end; call `warn` if that takes more than a moment."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutExpired):
            try:
                self._process.wait(_MOMENT_S)
            except TimeoutExpired:
                warn()
                self._process.wait(LAST_S)

    def read(self) -> Sample | None:
        """Return the last sample since the crawl began, or None."""
        if time.monotonic() >= self._due:
            with suppress(MinicrawlError):  # a later call tries again
                sample = latest_sample(self._store)
                self._sample = sample if sample and sample.at >= self._began else None
            self._due = time.monotonic() + EVERY_S
        return self._sample
