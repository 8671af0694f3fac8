"""A crawl, finished or running: its progress, samples and busiest hosts, and parts of its store.

status    progress of a crawl, and hosts that mirror others
samples   figures of a crawl over time
sampling  starts and ends the process that samples a crawl
activity  busiest hosts, latest requests, and requests over time
stored    contents of a store, part by part
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import chain, pairwise
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from minicrawl import ext
from minicrawl.archive.reader import ArchiveReader
from minicrawl.errors import MinicrawlError
from minicrawl.frontier.importance import converges_anew, gathered_now
from minicrawl.memory import child_command
from minicrawl.model import (
    READ_STATES,
    STANDS_FOR_ANOTHER,
    FailureKind,
    Refusal,
    State,
)
from minicrawl.opic.ledger.money import UNIT
from minicrawl.report.snapshot import (
    NO_NEAR_DUPLICATES,
    Convergence,
    Snapshot,
    convergence,
    kept_near_duplicates,
)
from minicrawl.store import questions, tables
from minicrawl.store.derived import (
    MOST_SAMPLES,
    OPIC,
    RankRow,
    append_sample,
    guaranteed,
    kept_samples,
    rank_row,
    reading_beside,
)
from minicrawl.store.files import bytes_of, files_of
from minicrawl.store.questions import LoggedRequest
from minicrawl.store.reader import archive_folder, reading, real_path, search_folder
from minicrawl.store.records import reporting_damage
from minicrawl.store.stored_links import WrittenLinks, written_bytes
from minicrawl.store.tables import Connection, last_step
from minicrawl.wording import counted

if TYPE_CHECKING:
    from minicrawl.graph.outline import Outline

# ================================================================ status
#
# Laws: `status` reads what the crawl itself counted, so it is immediate for a store of any size;
# anything else is unknown. Only the convergence of the importance may take longer, in a store with
# a short log, where it is converged for each report. `mirrors` compares pages by their content.
#
# G   units of cash recorded in histories, the clock of OPIC      M   all units minted

Counts = dict[str, int]

_STORE = "--store"


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Figures as of the last commit. The importance is updated from time to time.

    The error factor is M / G. `importance_gathered` is the share of the importance of readable
    pages that is on pages read, by converged importance if that includes all steps, otherwise by
    the crawl's estimate. `importance_guaranteed` is a lower bound of the same share by PageRank
    with jumps to the seeds alone, as of the last time the importance converged.
    """

    pages_known: int
    pages_fetched: int | None
    pages_unread: int | None
    standing_for_others: Counts | None
    failures: Counts | None
    refusals: Counts | None
    hosts: int
    bytes: int | None
    requests: int | None
    running_s: float | None
    fetches_per_second: float | None
    found_per_fetch: float | None
    g: float | None
    error_factor: float | None
    importance_gathered: float | None
    importance_guaranteed: float | None
    convergence: Convergence | None
    store_bytes: int
    beside_bytes: Counts  # sizes of the files beside the store, by suffix
    pruning_waits: bool  # deletion waits until nobody reads the archive
    taken_down: Sequence[tables.Takedown]  # oldest first
    command: str | None  # resumes the crawl from the current folder

    def as_json(self) -> dict[str, object]:
        """Return the figures by name."""
        return asdict(self) | {"taken_down": [one._asdict() for one in self.taken_down]}


def status(path: Path) -> Status:
    """Return the status of a store, which a crawl may be writing."""
    with reading(path) as connection, reporting_damage(path):
        found = _status(path, connection, *_converged(path, connection))
    others, name = files_of(path)[:-1], real_path(path).name
    sizes = {file.name.removeprefix(name): bytes_of(file) for file in others}
    return replace(found, beside_bytes=sizes)


def _converged(path: Path, connection: tables.Connection) -> tuple[RankRow | None, float | None]:
    """Return the converged ranks behind the shown importance, and the guaranteed importance."""
    with reading_beside(path, connection) as derived:
        row = rank_row(derived, OPIC)
    if converges_anew(row, connection):
        snapshot = Snapshot(path, connection)
        return snapshot.converged, snapshot.guaranteed
    return row, None if row is None else guaranteed(row, connection)


def _status(
    path: Path,
    connection: tables.Connection,
    converged: RankRow | None,
    proven: float | None,
) -> Status:
    counters = tables.counters(connection)
    counted = {name: number for name, number in counters.items() if isinstance(number, int | float)}
    pages: dict[State, int] | None = None
    if isinstance(of_states := counters.get(tables.STATES), dict):
        pages = {State(int(state)): int(number) for state, number in of_states.items()}
    known = questions.pages_known(connection) - (pages or {}).get(State.FOREIGN, 0)
    fetched = None if pages is None else sum(pages.get(state, 0) for state in READ_STATES)
    recorded, minted = counted.get(tables.RECORDED), counted.get(tables.MINTED)
    g = None if recorded is None else recorded / UNIT
    found = convergence(converged, known, tables.last_step(connection))
    requests, running_s = counted.get("requests"), counted.get("running_s")
    return Status(
        pages_known=known,
        pages_fetched=fetched,
        pages_unread=None if pages is None else pages.get(State.UNREAD, 0),
        standing_for_others=_named(pages, (state.name for state in STANDS_FOR_ANOTHER)),
        failures=_named(pages, FailureKind.__members__),
        refusals=_named(pages, Refusal.__members__),
        hosts=questions.hosts_known(connection),
        bytes=_whole(counted.get("wire_bytes")),
        requests=_whole(requests),
        running_s=running_s,
        fetches_per_second=requests / running_s if requests and running_s else None,
        found_per_fetch=known / fetched if fetched else None,
        g=g,
        error_factor=minted / recorded if minted and recorded else None,
        importance_gathered=gathered_now(converged, connection),
        importance_guaranteed=proven,
        convergence=found,
        store_bytes=path.stat().st_size,
        beside_bytes={},
        pruning_waits=counters.get(tables.PRUNING_WAITS) is True,
        taken_down=tables.takedowns(counters),
        command=_command(counters, path),
    )


def _command(counters: Mapping[str, object], path: Path) -> str | None:
    """Return the command that resumes the crawl from the current folder."""
    command, here = str(counters.get(tables.COMMAND) or ""), Path.cwd()
    folder, store = counters.get(tables.BEGUN_IN), counters.get(tables.BEGUN_AS)
    if not command or (folder, store) in ((None, None), (str(here), str(real_path(path)))):
        return command or None
    pairs = pairwise(("", *shlex.split(command)))
    words = [word for before, word in pairs if not word.startswith(_STORE) and before != _STORE]
    is_elsewhere = folder != str(here) and Path(str(folder)).is_dir()
    named = shlex.join([*words, "--store", str(real_path(path) if is_elsewhere else path)])
    return f"cd {shlex.quote(str(folder))} && {named}" if is_elsewhere else named


def _named(pages: Mapping[State, int] | None, names: Iterable[str]) -> Counts | None:
    """Return the number of pages in each of these states, without zeros."""
    if pages is None:
        return None
    states = [State[name] for name in names]
    return {state.label: pages[state] for state in states if state in pages}


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


# ---------------------------------------------------------------- mirrors

_FEWEST_PAGES = 5
_MOST_OF_A_HOST = 0.8


class Mirror(NamedTuple):
    """Host that mirrors another."""

    host: str
    of_host: str
    pages: int

    def __str__(self) -> str:
        return f"{self.host} mirrors {self.of_host} ({counted(self.pages, 'page')})"


def mirrors(path: Path) -> list[Mirror]:
    """Return the probable mirrors, largest first.

    Near-duplicates according to the search index count as well.
    """
    with reading(path) as connection, reporting_damage(path):
        return _mirrors(connection, _alike_across_hosts(path, connection))


def _alike_across_hosts(path: Path, connection: tables.Connection) -> Counter[tuple[int, int]]:
    """Return the number of near-duplicates between each pair of hosts."""
    folder = search_folder(path)
    if not folder.exists():
        return Counter()
    found = kept_near_duplicates(folder, tables.birth(connection)) or NO_NEAR_DUPLICATES
    host_of = tables.whole(tables.urls(connection, "host"), "host")
    pairs = zip(host_of[found.pages].tolist(), host_of[found.originals].tolist(), strict=True)
    return Counter((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1])


def _duplicates_across_hosts(connection: tables.Connection) -> Counter[tuple[int, int]]:
    """Return the number of copies between pairs of hosts, with the host of the copy first."""
    leads_to: dict[int, int] = {}
    for pages, states in tables.frontier(connection, "id", "state"):
        found = pages[states == State.ALIAS].tolist()
        spendings = tables.spendings_of(connection, found)
        leads_to |= {
            page: spending.links[0] for page, spending in zip(found, spendings, strict=True)
        }
    ends = np.fromiter((_end(page, leads_to) for page in leads_to), dtype=np.int64)
    host_of = tables.whole(tables.urls(connection, "host"), "host")
    pairs = zip(host_of[[*leads_to]].tolist(), host_of[ends].tolist(), strict=True)
    return Counter(pair for pair in pairs if pair[0] != pair[1])


def _end(page: int, leads_to: Mapping[int, int]) -> int:
    while page in leads_to:
        page = leads_to[page]
    return page


def _mirrors(connection: tables.Connection, alike: Counter[tuple[int, int]]) -> list[Mirror]:
    """Return pairs of hosts that share most pages of one of them, whichever was read first.

    The mirror is the host with more duplicates of the other one, as `duplicates` lists them; if
    both have the same number, the smaller one.
    """
    common = Counter(alike)
    for host, of_host, pages in tables.mirrors(connection):
        common[min(host, of_host), max(host, of_host)] += pages
    candidates = [pair for pair in common.most_common() if pair[1] >= _FEWEST_PAGES]
    if not candidates:
        return []
    origins, read = questions.origins(connection), questions.pages_read_by_host(connection)
    copies, found = _duplicates_across_hosts(connection), []
    for (one, other), pages in candidates:
        more = {one: copies[one, other], other: copies[other, one]}
        original, mirror = sorted(more, key=lambda host: (more[host], -read.get(host, 0), host))
        if pages >= _MOST_OF_A_HOST * read.get(mirror, 0):
            found.append(Mirror(origins[mirror], origins[original], pages))
    return found


# ================================================================ samples
#
# Samples of a crawl's figures over time, in the file of derived data.

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
    def from_json(cls, figures: dict[str, Any]) -> Sample:
        """Return the sample that was stored."""
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
        bases = {name: Basis(known[name]) for name in ("basis", "distances_basis")}
        return cls(**known | bases | {"outline": Outline(**outline)})


def keep_sample(
    store: Path, connection: Connection, sample: Sample, most: int = MOST_SAMPLES
) -> None:
    """Append a sample of the store."""
    append_sample(store, connection, sample.at, asdict(sample), most)


def samples(store: Path, since: float = 0, last: int | None = None) -> list[Sample]:
    """Return all samples after this time, or the `last` of them, in order."""
    with reading(store) as connection:
        return kept_samples(store, connection, Sample.from_json, since, last)


def latest_sample(store: Path) -> Sample | None:
    """Return the last sample, or None."""
    return next(iter(samples(store, last=1)), None)


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


# ================================================================ sampling
#
# Starts and ends the process that samples a crawl, and reads its last sample.
#
# Laws: only the sampling process imports the code that computes the figures, so a crawl that is
# sampled starts as fast as any other. The last sample of a crawl that has ended shows its end.

EVERY_S = 2.0
LAST_S = 30.0
"""Maximum time for the last sample."""
MOST_AT_ONCE = 50_000
"""Maximum number of pages whose graph is measured without an explicit request, in about 1 s."""
_MOMENT_S = 1.0
COMMAND = "import os; os.nice(19); from minicrawl.report.sampling import main; main()"
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
    kept = fresh_sample(store, graph_of, time.time(), is_running=is_running)
    if kept is not None:
        return kept
    with reading(store) as connection:
        pages, step = questions.pages_known(connection), tables.last_step(connection)
    if measured is not None and (measured.step, measured.graph_of) == (step, graph_of):
        return measured
    if pages <= MOST_AT_ONCE or even_of_many:
        from minicrawl.report.sampling import sampled_now

        return sampled_now(store, graph_of)
    last = latest_sample(store)
    return last if last is not None and last.graph_of == graph_of else None


@contextmanager
def sampling_beside(store: Path, graph_of: str) -> Iterator[SamplingProcess]:
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

    def finish(self, tell: Callable[[], None]) -> None:
        """Wait for the sample of the crawl's end.

        `tell` is called if that takes more than a moment.
        """
        assert self._process.stdin is not None
        self._process.stdin.close()
        with suppress(TimeoutExpired):
            try:
                self._process.wait(_MOMENT_S)
            except TimeoutExpired:
                tell()
                self._process.wait(LAST_S)

    def read(self) -> Sample | None:
        """Return the last sample since the crawl began, or None."""
        if time.monotonic() >= self._due:
            with suppress(MinicrawlError):  # a later call tries again
                found = latest_sample(self._store)
                self._sample = found if found and found.at >= self._began else None
            self._due = time.monotonic() + EVERY_S
        return self._sample


# ================================================================ activity
#
# Activity of a crawl: busiest hosts, latest requests, and requests over time.
#
# Law: each request is read once. A reader continues after the last request that it knows.

WIDTH_S = 1.0
MOST_SPANS = 1200
"""Maximum number of time spans; beyond it, neighbours are merged in pairs."""


# ---------------------------------------------------------------- hosts


class HostPages(NamedTuple):
    """Host with its pages. `until` is the end of a pause that the host asked for, or 0."""

    id: int
    origin: str
    known: int
    read: int
    waiting: int
    failed: int
    importance: float
    until: float
    trouble: str


def busiest_hosts(snapshot: Snapshot, count: int) -> list[HostPages]:
    """Return the hosts with most pages read; of equal hosts, those with more pages known first."""
    hosts, states = snapshot.host_of, snapshot.states
    number = len(snapshot.origins)
    failures = [state for state in State if state.is_failure]
    columns = [
        np.bincount(hosts, weights=weights, minlength=number)
        for weights in (
            None,
            snapshot.was_read,
            states == State.UNREAD,
            np.isin(states, failures),
            snapshot.importance,
        )
    ]
    order = np.lexsort((-columns[0], -columns[1]))[:count].tolist()
    with reporting_damage(snapshot.path):
        pauses = questions.hosts_waiting(snapshot.connection)
    known, read, waiting, failed, importance = columns
    return [
        HostPages(
            id=host,
            origin=snapshot.origins[host],
            known=int(known[host]),
            read=int(read[host]),
            waiting=int(waiting[host]),
            failed=int(failed[host]),
            importance=float(importance[host]),
            until=pauses.get(host, (0.0, ""))[0],
            trouble=pauses.get(host, (0.0, ""))[1],
        )
        for host in order
    ]


# ---------------------------------------------------------------- requests


def latest(path: Path, last: int, count: int) -> list[LoggedRequest]:
    """Return the last `count` requests after the one with this id, in order."""
    with reading(path) as connection, reporting_damage(path):
        return questions.requests_after(connection, last, count)


class RequestHistory:
    """Requests, failures and bytes over time, for a curve. Each `read` extends it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last, self._width_s = 0, WIDTH_S
        self._spans: dict[int, tuple[int, int, int]] = {}

    def read(self) -> None:
        """Read new requests."""
        with reading(self._path) as connection, reporting_damage(self._path):
            found = questions.requests_by_time(connection, self._last, self._width_s)
        for row in found:
            self._add(row.span, (row.requests, row.failed, row.wire_bytes))
            self._last = max(self._last, row.last)
        # Neighbours are merged, rather than the oldest spans dropped: the curve keeps its whole
        # length and only becomes coarser.
        while len(self._spans) > MOST_SPANS:
            self._width_s *= 2
            spans, self._spans = self._spans, {}
            for span, counts in spans.items():
                self._add(span // 2, counts)

    def sums(self) -> Iterator[tuple[float, int, int, int]]:
        """Yield the end of each span, with the totals up to then."""
        requests = failed = wire_bytes = 0
        for span in sorted(self._spans):
            more = self._spans[span]
            requests, failed, wire_bytes = (
                requests + more[0],
                failed + more[1],
                wire_bytes + more[2],
            )
            yield (span + 1) * self._width_s, requests, failed, wire_bytes

    def _add(self, span: int, counts: tuple[int, int, int]) -> None:
        known = self._spans.get(span, (0, 0, 0))
        self._spans[span] = known[0] + counts[0], known[1] + counts[1], known[2] + counts[2]


# ================================================================ stored
#
# Contents of a store, part by part: `status --stored`.
#
# Laws: everything is counted, so large stores take longer. Parts that the store does not have are
# omitted.


class StoredPart(NamedTuple):
    """Part of a store: number of items, their unit, and their bytes if known."""

    part: str
    number: int
    of: str
    bytes: int | None


def stored_parts(store: Path) -> list[StoredPart]:
    """Return all parts of a store and of the files beside it."""
    found = status(store)
    failures = [
        StoredPart(f"failed: {kind}", pages, "pages", None)
        for kind, pages in (found.failures or {}).items()
    ]
    fetched = StoredPart("fetched", found.requests or 0, "requests", found.bytes)
    with reading(store) as connection, reporting_damage(store):
        parts = [
            *_repository(store, connection),
            # of packages, such as the search index
            *chain.from_iterable(stored(store) for stored in ext.loaded(ext.STORED)),
            StoredPart("links", *_with_unit(questions.links_stored(connection), "links")),
            *_written(connection),
            StoredPart("documents", *_with_unit(questions.documents_stored(connection), "pages")),
        ]
    return [fetched, *parts, *failures]


def _with_unit(counted: tuple[int, int], unit: str) -> tuple[int, str, int]:
    number, size = counted
    return number, unit, size


def _repository(store: Path, connection: tables.Connection) -> Iterator[StoredPart]:
    end, folder = tables.archive_end(connection), archive_folder(store)
    if end is None or not folder.is_dir():
        return
    with closing(ArchiveReader(folder, end)) as archive:
        records = sum(one.records for one in archive.index.totals(end))
    yield StoredPart("repository", records, "answers", bytes_of(folder))


def _written(connection: tables.Connection) -> Iterator[StoredPart]:
    if found := WrittenLinks(connection):
        yield StoredPart("link texts", len(found), "pages", written_bytes(connection))
