"""Activity of a crawl: busiest hosts, latest requests, and requests over time.

Law: each request is read once. A reader continues after the last request that it knows.
"""

from collections.abc import Iterator
from operator import add
from pathlib import Path
from typing import Any

import numpy as np

from minicrawl.report.snapshot import Snapshot
from minicrawl.states import State
from minicrawl.store import questions, request_log
from minicrawl.store.disk.trouble import reporting_damage
from minicrawl.store.reader import reading
from minicrawl.store.request_log import LoggedRequest

WIDTH_S = 1.0
MOST_SPANS = 1200
"""Maximum number of time spans; beyond it, neighbours are merged in pairs."""


_OF_HOST = ("id", "origin", "known", "read", "waiting", "failed", "importance", "until", "trouble")


def busiest_hosts(snapshot: Snapshot, count: int) -> list[dict[str, Any]]:
    """Return the hosts with most pages read; of equal hosts, those with more pages known first.

    `until` is the end of a pause that a host asked for, or 0.
    """
    states, number = snapshot.states, len(snapshot.origins)
    failed = np.isin(states, [state for state in State if state.is_failure])
    columns = [
        np.bincount(snapshot.host_of, minlength=number),
        *(
            np.bincount(snapshot.host_of[pages], minlength=number)
            for pages in (snapshot.was_read, states == State.UNREAD, failed)
        ),
        np.bincount(snapshot.host_of, snapshot.importance, number),
    ]
    order = np.lexsort((-columns[0], -columns[1]))[:count].tolist()
    with reporting_damage(snapshot.path):
        pauses = questions.hosts_waiting(snapshot.connection)
    rows = zip(*(column[order].tolist() for column in columns), strict=True)
    return [
        dict(zip(_OF_HOST, values, strict=True))
        for host, row in zip(order, rows, strict=True)
        for values in [(host, snapshot.origins[host], *row, *pauses.get(host, (0.0, "")))]
    ]


def latest(path: Path, last: int, count: int) -> list[LoggedRequest]:
    """Return the last `count` requests after the one with this id, in order."""
    with reading(path) as connection, reporting_damage(path):
        return request_log.requests_after(connection, last, count)


class RequestHistory:
    """Requests, failures and bytes over time, for a curve. Each `read` extends it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last, self._width_s = 0, WIDTH_S
        self._spans: dict[int, tuple[int, int, int]] = {}

    def read(self) -> None:
        with reading(self._path) as connection, reporting_damage(self._path):
            counted = request_log.requests_by_time(connection, self._last, self._width_s)
        for span, requests, failed, wire_bytes, last in counted:
            self._add(span, (requests, failed, wire_bytes))
            self._last = max(self._last, last)
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
            requests, failed, wire_bytes = map(add, (requests, failed, wire_bytes), more)
            yield (span + 1) * self._width_s, requests, failed, wire_bytes

    def _add(self, span: int, counts: tuple[int, int, int]) -> None:
        known = self._spans.get(span, (0, 0, 0))
        self._spans[span] = known[0] + counts[0], known[1] + counts[1], known[2] + counts[2]
