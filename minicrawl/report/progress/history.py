"""Figures of a crawl over time: the stored samples, or samples recomputed from the log.

Laws: a crawl that was not sampled has the same history as one that was, except for the gathered
importance, which is recomputed with today's importance. Time is running time: a pause between
two runs counts as `LONGEST_GAP_S`.
"""

from pathlib import Path
from typing import Any

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.frontier.importance import share_read
from minicrawl.model import CRAWLED
from minicrawl.ports import Progress, unreported
from minicrawl.report.progress.followed_graph import WORK_AT_ONCE, FollowedGraph
from minicrawl.report.progress.link_log import LinkLog
from minicrawl.report.progress.live_sampler import sampled_now
from minicrawl.report.progress.samples import Sample, crawled_and_errors, samples
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import page_columns, questions, request_log, step_log, tables
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import reading

FEWEST = 20
"""Minimum number of stored samples; with fewer, recomputed ones are more informative."""
POINTS = 60
LONGEST_GAP_S = 60.0


def history(store: Path, graph_of: str = CRAWLED, progress: Progress = unreported) -> list[Sample]:
    """Return samples in order of time. The last one includes all steps."""
    stored = [sample for sample in samples(store) if sample.graph_of == graph_of]
    if len(stored) < FEWEST:
        return remade(store, graph_of, progress)
    last = sampled_now(store, graph_of)
    return stored if last is None or last.step == stored[-1].step else [*stored, last]


def remade(
    store: Path, graph_of: str = CRAWLED, progress: Progress = unreported, points: int = POINTS
) -> list[Sample]:
    """Return samples recomputed from the log, at `points` moments of the running time."""
    with reading(store) as connection, reporting_damage(store):
        past, graph = _Past(store, connection), FollowedGraph(graph_of, most_exact=0)
        samples = []
        for number, place in enumerate(past.places(points), start=1):
            graph.follow(connection, past.step_at(place))
            at = float(past.times[place])
            graph.measure(at, WORK_AT_ONCE)
            samples.append(graph.sample(at, past.counts(place, graph.log)))
            progress(number / points)
        return samples


class _Past:
    """Progress of a crawl by request, whose index is its place: steps done, and counts so far."""

    def __init__(self, store: Path, connection: tables.Connection) -> None:
        pages, self.times, octets = request_log.requests(connection)
        if not len(pages):
            raise UsageError(f"{store} has no history: nothing was fetched for it yet")
        self._bytes = np.cumsum(octets)
        gaps = np.diff(self.times, prepend=self.times[0])
        self._running = np.cumsum(np.minimum(gaps, LONGEST_GAP_S))
        self._steps, turned = step_log.turns(connection)
        known = questions.pages_known(connection)
        last_asked = np.zeros(known)
        last_asked[pages] = self.times
        # The log has no times. A turn was done by the last request of its page, and not before the
        # turn that precedes it in the log.
        self._done_at = np.maximum.accumulate(last_asked[turned])
        self._last = tables.last_step(connection)
        self._hosts = 1 + np.maximum.accumulate(page_columns.whole(connection, "urls", "host"))
        self._maximum = tables.counters(connection).get(tables.MAXIMUM)
        self._worth = Snapshot(store, connection).importance

    def places(self, points: int) -> list[int]:
        """Return the last request in each of `points` equal parts of the running time."""
        ends = self._running[-1] * np.arange(1, points + 1) / points
        places = np.searchsorted(self._running, ends, side="right") - 1
        places[-1] = len(self.times) - 1
        return list(map(int, np.unique(places)))

    def step_at(self, place: int) -> int:
        """Return the last step done by that request."""
        if place == len(self.times) - 1:
            return self._last
        turn = int(np.searchsorted(self._done_at, self.times[place], side="right"))
        return int(self._steps[turn - 1]) if turn else 0

    def counts(self, place: int, log: LinkLog) -> dict[str, Any]:
        """Return the crawl's counts at that request."""
        pages = enumerate(np.bincount(log.states).tolist())
        return crawled_and_errors({state: count for state, count in pages if count}) | {
            "running_s": float(self._running[place]),
            "requests": place + 1,
            "known": len(log),
            "hosts": int(self._hosts[len(log) - 1]) if len(log) else 0,
            "maximum": self._maximum,
            "wire_bytes": int(self._bytes[place]),
            "importance_gathered": share_read(self._worth[: len(log)], log.states),
        }
