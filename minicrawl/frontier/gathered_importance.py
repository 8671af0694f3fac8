"""The importance gathered: the share of all importance that lies on pages that were read.

Law: it is added up in slices of the pages, so that a crawl does not stand still for it, however
many pages there are.

What is not known yet is estimated. An unread page is expected to reveal as many new pages as a
reading revealed of late, each worth as much as itself. With the shares R of the pages that were
read and U of those that wait, and n new pages a reading, R / (1 + n U) of all is gathered.
"""

from collections import deque

import numpy as np

from minicrawl.frontier.pages import Frontier
from minicrawl.model import READ_STATES, State

PAGES_AT_ONCE = 1 << 20


class GatheredImportance:
    """Adds up all pages again and again.

    `share` and `waiting`, that of the unread pages, are the results of the last whole lap.
    """

    def __init__(self, frontier: Frontier, share: float = 0.0) -> None:
        self.share = share
        self.waiting = 1 - share
        self._frontier = frontier
        self._start = 0
        self._read = self._unread = self._whole = 0.0

    def go_on(self) -> bool:
        """Add up one more slice; answers whether it was the last of its lap."""
        stop = min(self._start + PAGES_AT_ONCE, len(self._frontier))
        self._add(self._start, stop)
        self._start = stop
        if stop < len(self._frontier):
            return False
        self._end_lap()
        return True

    def _end_lap(self) -> None:
        if self._whole:
            self.share, self.waiting = self._read / self._whole, self._unread / self._whole
        self._start = 0
        self._read = self._unread = self._whole = 0.0

    def _add(self, start: int, stop: int) -> None:
        importance = self._frontier.importance_of(start, stop)
        states = self._frontier.states()[start:stop]
        self._read += float(importance[np.isin(states, READ_STATES)].sum())
        self._unread += float(importance[states == State.UNREAD].sum())
        self._whole += float(importance.sum())


def gathered(frontier: Frontier) -> float:
    """The importance gathered now, in one whole lap."""
    gathering = GatheredImportance(frontier)
    while not gathering.go_on():
        pass
    return gathering.share


FEWEST_READINGS = 200
"""From so many readings, or a tenth of all, it is estimated what the next ones will reveal."""
_MARKS = 50


class DiscoveryRate:
    """How many new pages a reading revealed of late."""

    def __init__(self, read: int, known: int, rate: float | None = None) -> None:
        """`rate` is what an earlier run has found; without it, that of all readings so far."""
        first: tuple[int, float] = (0, 0 if read else known)
        if rate is not None:
            first = (read - _width(read), known - rate * _width(read))
        self._marks = deque([first, (read, known)])

    def record(self, read: int, known: int) -> None:
        """So many pages were read and are known by now."""
        marks, width = self._marks, _width(read)
        if read - marks[-1][0] >= width / _MARKS:
            marks.append((read, known))
        while marks[1][0] <= read - width and marks[1] is not marks[-1]:
            marks.popleft()

    @property
    def rate(self) -> float:
        """New pages a reading."""
        (read_then, known_then), (read, known) = self._marks[0], self._marks[-1]
        return (known - known_then) / max(read - read_then, 1)


def _width(read: int) -> int:
    return max(FEWEST_READINGS, read // 10)


def of_all(share: float, waiting: float, rate: float) -> float:
    """The share of all importance that is gathered, that of pages yet unknown included."""
    return share / (1 + rate * waiting)
