"""The figures of a crawl over time: the samples that were taken, or samples made again of the log.

Laws: a crawl that nobody watched has the same history as one that was, but for what only the moment
knew: importance gathered is then the share of what the pages are worth by now. Time is running
time: a pause between two runs counts as `LONGEST_GAP_S`.
"""

from pathlib import Path
from typing import Any

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.model import CRAWLED, READ_STATES
from minicrawl.progress import Progress, unreported
from minicrawl.report.live.growth import LinkLog
from minicrawl.report.live.sampling import WORK_AT_ONCE, LiveGraph, by_state, sample_of, sampled_now
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import columns, fetches, questions, tables
from minicrawl.store.beside.samples import Sample, samples
from minicrawl.store.reader import reading
from minicrawl.store.trouble import reporting_damage

FEWEST = 20
"""With fewer samples a curve says less than one that is made again."""
POINTS = 60
LONGEST_GAP_S = 60.0


def history(store: Path, graph_of: str = CRAWLED, tell: Progress = unreported) -> list[Sample]:
    """Samples in the order of time. The last one knows all of the store."""
    kept = [sample for sample in samples(store) if sample.graph_of == graph_of]
    if len(kept) < FEWEST:
        return remade(store, graph_of, tell)
    last = sampled_now(store, graph_of)
    return kept if last is None or last.step == kept[-1].step else [*kept, last]


def remade(
    store: Path, graph_of: str = CRAWLED, tell: Progress = unreported, points: int = POINTS
) -> list[Sample]:
    """Samples made of the log, at so many moments of the running time."""
    with reading(store) as connection, reporting_damage(store):
        past, live = _Past(store, connection), LiveGraph(graph_of, most_exact=0)
        found = []
        for number, place in enumerate(past.places(points), start=1):
            live.follow(connection, past.step_at(place))
            at = float(past.times[place])
            live.measure(at, WORK_AT_ONCE)
            found.append(sample_of(live, at, past.counts(place, live.log)))
            tell(number / points)
        return found


class _Past:
    """When which step was done, and what was asked for by then. A place is that of a request."""

    def __init__(self, store: Path, connection: tables.Connection) -> None:
        pages, self.times, octets = fetches.requests(connection)
        if not len(pages):
            raise UsageError(f"{store} has no history: nothing was fetched for it yet")
        self._bytes = np.cumsum(octets)
        gaps = np.diff(self.times, prepend=self.times[0])
        self._running = np.cumsum(np.minimum(gaps, LONGEST_GAP_S))
        self._steps, turned = questions.turns(connection)
        known = questions.pages_known(connection)
        last_asked = np.zeros(known)
        last_asked[pages] = self.times
        self._done_at = np.maximum.accumulate(last_asked[turned])
        self._last = tables.last_step(connection)
        self._hosts = 1 + np.maximum.accumulate(
            columns.whole(columns.urls(connection, "host"), "host")
        )
        self._maximum = tables.counters(connection).get(tables.MAXIMUM)
        self._worth = Snapshot(store, connection).importance

    def places(self, points: int) -> list[int]:
        """Of the last requests of so many equal parts of the running time."""
        ends = self._running[-1] * np.arange(1, points + 1) / points
        places = np.searchsorted(self._running, ends, side="right") - 1
        places[-1] = len(self.times) - 1
        return list(map(int, np.unique(places)))

    def step_at(self, place: int) -> int:
        """The last step that was done by then."""
        if place == len(self.times) - 1:
            return self._last
        turn = int(np.searchsorted(self._done_at, self.times[place], side="right"))
        return int(self._steps[turn - 1]) if turn else 0

    def counts(self, place: int, log: LinkLog) -> dict[str, Any]:
        """What the crawl had counted by then."""
        was_read = np.isin(log.states, READ_STATES)
        pages = enumerate(np.bincount(log.states).tolist())
        return by_state({state: count for state, count in pages if count}) | {
            "running_s": float(self._running[place]),
            "requests": place + 1,
            "known": len(log),
            "hosts": int(self._hosts[len(log) - 1]) if len(log) else 0,
            "maximum": self._maximum,
            "wire_bytes": int(self._bytes[place]),
            "importance_gathered": float(self._worth[: len(log)][was_read].sum()),
        }
