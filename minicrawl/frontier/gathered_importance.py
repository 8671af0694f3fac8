"""The importance gathered: the share of all importance that lies on pages that were read.

Law: it is added up in slices of the pages, so that a crawl does not stand still for it, however
many pages there are.
"""

import numpy as np

from minicrawl.frontier.pages import Frontier
from minicrawl.model import READ_STATES

PAGES_AT_ONCE = 1 << 20


class GatheredImportance:
    """Adds up all pages again and again; `share` is the result of the last whole lap."""

    def __init__(self, frontier: Frontier, share: float = 0.0) -> None:
        self.share = share
        self._frontier = frontier
        self._start = 0
        self._read = self._whole = 0.0

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
        self.share = self._read / self._whole if self._whole else 0.0
        self._start = 0
        self._read = self._whole = 0.0

    def _add(self, start: int, stop: int) -> None:
        importance = self._frontier.importance_of(start, stop)
        was_read = np.isin(self._frontier.states()[start:stop], READ_STATES)
        self._read += float(importance[was_read].sum())
        self._whole += float(importance.sum())


def gathered(frontier: Frontier) -> float:
    """The importance gathered now, in one whole lap."""
    gathering = GatheredImportance(frontier)
    while not gathering.go_on():
        pass
    return gathering.share
