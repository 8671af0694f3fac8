"""The requests of a crawl as they came: the latest ones, and how many in each span of time.

Law: what was read once is not read again. A reader goes on from the last request that it knows.
"""

from collections.abc import Iterator
from pathlib import Path

from minicrawl.store import fetches
from minicrawl.store.fetches import LoggedRequest
from minicrawl.store.reader import reading
from minicrawl.store.trouble import reporting_damage

WIDTH_S = 1.0
MOST_SPANS = 1200
"""When there are more, two neighbours become one."""


def latest(path: Path, last: int, count: int) -> list[LoggedRequest]:
    """The last `count` requests after the one with this id, in order."""
    with reading(path) as connection, reporting_damage(path):
        return fetches.requests_after(connection, last, count)


class RequestHistory:
    """Requests, failures and bytes by time, for a curve. It grows with each `read`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last, self._width_s = 0, WIDTH_S
        self._spans: dict[int, tuple[int, int, int]] = {}

    def read(self) -> None:
        """Read what is new."""
        with reading(self._path) as connection, reporting_damage(self._path):
            found = fetches.requests_by_time(connection, self._last, self._width_s)
        for row in found:
            self._add(row.span, (row.requests, row.failed, row.wire_bytes))
            self._last = max(self._last, row.last)
        while len(self._spans) > MOST_SPANS:
            self._width_s *= 2
            spans, self._spans = self._spans, {}
            for span, counts in spans.items():
                self._add(span // 2, counts)

    def sums(self) -> Iterator[tuple[float, int, int, int]]:
        """The time at the end of each span, and what came until then."""
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
