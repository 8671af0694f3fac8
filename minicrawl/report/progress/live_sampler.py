"""Takes samples of a crawl: one now, or one after the other while it runs."""

import select
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from minicrawl.errors import MissingStoreError
from minicrawl.frontier.importance import gathered_now
from minicrawl.model import CRAWLED
from minicrawl.report.progress.followed_graph import (
    MOST_EXACT,
    MOST_WORK,
    WORK_AT_ONCE,
    FollowedGraph,
)
from minicrawl.report.progress.samples import EVERY_S, Sample, crawled_and_errors, keep_sample
from minicrawl.store import questions, tables
from minicrawl.store.derived.file import reading_beside
from minicrawl.store.derived.ranks import OPIC, rank_row
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import reading

OLDEST_S = 28.0
"""Maximum age of the distances, unless measuring takes longer."""
_NOTHING_KEPT = -1, 0.0, None
"""Last sample's step, time of its distances, and gathered importance."""


def counts_of(store: Path, connection: tables.Connection) -> dict[str, Any]:
    """Return the crawl's own counts as of the last commit."""
    counters = tables.counters(connection)
    numbers = {name: value for name, value in counters.items() if isinstance(value, int | float)}
    states = counters.get(tables.STATES)
    pages = states.items() if isinstance(states, dict) else ()
    with reading_beside(store, connection) as derived:
        converged = rank_row(derived, OPIC)
    return crawled_and_errors({int(state): int(count) for state, count in pages}) | {
        "running_s": numbers.get("running_s", 0.0),
        "requests": int(numbers.get("requests", 0)),
        "known": questions.pages_known(connection),
        "hosts": questions.hosts_known(connection),
        "maximum": counters.get(tables.MAXIMUM),
        "wire_bytes": int(numbers.get("wire_bytes", 0)),
        "importance_gathered": gathered_now(converged, connection),
    }


def sampled_now(
    store: Path, graph_of: str = CRAWLED, most_work: int = WORK_AT_ONCE
) -> Sample | None:
    """Return a sample of the last commit, from the log and not stored; None without links."""
    now, live = time.time(), FollowedGraph(graph_of, most_exact=0)
    with reading(store) as connection, reporting_damage(store):
        terms = tables.terms(connection)
        if terms is None or not terms.links:
            return None
        live.follow(connection)
        live.measure(now, most_work)
        return live.sample(now, counts_of(store, connection))


class Sampler:
    """Takes samples of a store repeatedly, and stores them beside it."""

    def __init__(
        self,
        store: Path,
        graph_of: str = CRAWLED,
        clock: Callable[[], float] = time.monotonic,
        is_over: Callable[[], bool] = lambda: False,
        most_exact: int = MOST_EXACT,
    ) -> None:
        """`is_over` returns True if only the last sample is still wanted."""
        self._store, self._clock, self._is_over = store, clock, is_over
        self._new_graph = partial(FollowedGraph, graph_of, most_exact)
        self._live, self._birth = self._new_graph(), ""
        self._due = 0.0
        self._known: tuple[int, float, object] = _NOTHING_KEPT

    def look(self) -> None:
        """Store a sample if one is due and the log has grown."""
        began = self._clock()
        if began < self._due:
            return
        with (
            suppress(MissingStoreError),  # the crawl has not made it yet
            reading(self._store) as connection,
            reporting_damage(self._store),
        ):
            if tables.fetches_known(connection):
                self._keep(connection)
        self._due = self._clock() + max(EVERY_S, self._clock() - began)

    def _keep(self, connection: tables.Connection) -> None:
        if self._birth != (birth := tables.birth(connection)):  # another store of that name
            self._live, self._birth = self._new_graph(), birth
            self._known = _NOTHING_KEPT
        self._live.follow(connection)
        if self._live.is_unmeasured or (self._is_over() and self._live.are_distances_old):
            self._live.measure(time.time(), WORK_AT_ONCE if self._is_over() else MOST_WORK)
        counts = counts_of(self._store, connection)
        known = self._live.log.step, self._live.distances_at, counts["importance_gathered"]
        if known != self._known:
            sample = self._live.sample(time.time(), counts)
            keep_sample(self._store, connection, sample)
            self._known = known

    def measure(self) -> float:
        """Measure the distances if they are outdated, and sample meanwhile; return the seconds."""
        began = self._clock()
        if self._live.are_distances_old:
            with suppress(_OverError):
                self._live.measure(time.time(), MOST_WORK, self._look_meanwhile)
        return self._clock() - began

    def _look_meanwhile(self, _share: float) -> None:
        if self._is_over():
            raise _OverError  # the last sample needs distances of all links
        self.look()

    def pauses(self) -> Iterator[float]:
        """Work, and yield how long to pause. Ends after the last sample."""
        measure_at = 0.0
        while not self._is_over():
            self.look()
            if self._clock() >= measure_at:
                took_s = self.measure()
                # A pause as long as the work leaves half of a processor to the crawl. By the time
                # the next distances are ready, these are as old as two measurements and the pause,
                # which is shortened to keep that within `OLDEST_S`.
                measure_at = self._clock() + max(0.0, min(took_s, OLDEST_S - 2 * took_s))
            yield max(0.0, self._due - self._clock())
        self._due = 0.0
        self.look()


class _OverError(Exception):
    """Raised to cancel a measurement."""


def main() -> None:
    """Run the process with store and graph as arguments, until standard input ends."""
    store, graph_of = sys.argv[1:]
    for pause_s in Sampler(Path(store), graph_of, is_over=_has_input_ended).pauses():
        _has_input_ended(pause_s)


def _has_input_ended(patience_s: float = 0.0) -> bool:
    return bool(select.select([sys.stdin], [], [], patience_s)[0])
