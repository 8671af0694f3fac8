"""How far a page is from the seeds, where the user limits that.

Law: a page is refused for its depth only when no shorter way to it can be found any more. The crawl
reads the most important page first and not the nearest, so it often finds a long way to a page and
then a shorter one. Until all else is read, pages that are too deep are parked.
"""

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from minicrawl.frontier.pages import Frontier
from minicrawl.model import STANDS_FOR_ANOTHER, PageId, State


class DepthTracker:
    """The depths of all pages, kept as short as what was read allows."""

    def __init__(self, frontier: Frontier, limit: int) -> None:
        self._frontier = frontier
        self._limit = limit
        self._parked: set[int] = set()
        read = np.flatnonzero(frontier.states() != State.UNREAD).tolist()
        for page in sorted(read, key=frontier.urls.depth.__getitem__):
            self.shorten(page, frontier.spendings.of(page).links)

    def __len__(self) -> int:
        """Pages that are parked."""
        return len(self._parked)

    def is_too_deep(self, page: PageId) -> bool:
        """Whether the page may be read only when a shorter way to it is found."""
        return self._frontier.urls.depth[page] > self._limit

    def park(self, page: PageId) -> None:
        """The page waits for a shorter way."""
        self._parked.add(page)

    def shorten(self, page: PageId, links: Sequence[int]) -> list[int]:
        """The page links to these pages. Returns the parked pages that need not wait any longer."""
        released = []
        ways = deque([(page, links)])
        while ways:
            start, ends = ways.popleft()
            for link in self._nearer(start, ends):
                if link in self._parked and self._frontier.urls.depth[link] <= self._limit:
                    self._parked.discard(link)
                    released.append(link)
                if self._frontier.state[link] != State.UNREAD:
                    ways.append((link, self._frontier.spendings.of(link).links))
        return released

    def begin_at(self, page: PageId) -> list[int]:
        """The page is a seed now. Returns the parked pages that need not wait any longer."""
        self._frontier.urls.depth[page] = 0
        released = [page] if page in self._parked else []
        self._parked.discard(page)
        if self._frontier.state[page] == State.UNREAD:
            return released
        return released + self.shorten(page, self._frontier.spendings.of(page).links)

    def give_up(self) -> list[int]:
        """All else is read: the parked pages are too deep for good."""
        pages, self._parked = sorted(self._parked), set()
        return pages

    def _nearer(self, start: int, ends: Iterable[int]) -> list[int]:
        depth = self._frontier.urls.depth
        step = 0 if self._frontier.state[start] in STANDS_FOR_ANOTHER else 1
        reach = min(depth[start] + step, 255)
        nearer = [link for link in ends if depth[link] > reach]
        for link in nearer:
            depth[link] = reach
        return nearer
