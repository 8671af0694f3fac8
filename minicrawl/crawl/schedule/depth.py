"""How far from the seeds a page is, when that decides whether it is fetched.

Law: a page is refused for its depth only when no shorter way to it can be found any more. The most
important page comes first and not the nearest, so a page is often found on a long way and then on
a shorter one; until all is read, pages that are too deep wait aside.
"""

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from minicrawl.frontier.pages import Frontier
from minicrawl.model import STANDS_FOR_ANOTHER, State


class DepthTracker:
    """The depths of all pages, kept as short as what was read allows."""

    def __init__(self, frontier: Frontier, limit: int) -> None:
        self._frontier = frontier
        self._limit = limit
        self._aside: set[int] = set()
        read = np.flatnonzero(frontier.states() != State.UNREAD).tolist()
        for page in sorted(read, key=frontier.urls.depth.__getitem__):
            self.shorten(page, frontier.spendings.of(page).links)

    def __len__(self) -> int:
        """Pages that wait aside."""
        return len(self._aside)

    def is_too_deep(self, page: int) -> bool:
        """Whether the page must wait for a shorter way; it waits from now on."""
        if self._frontier.urls.depth[page] <= self._limit:
            return False
        self._aside.add(page)
        return True

    def shorten(self, page: int, links: Sequence[int]) -> list[int]:
        """The page links to these; answers with the pages that need not wait any longer."""
        released = []
        ways = deque([(page, links)])
        while ways:
            start, ends = ways.popleft()
            for link in self._nearer(start, ends):
                if link in self._aside and self._frontier.urls.depth[link] <= self._limit:
                    self._aside.discard(link)
                    released.append(link)
                if self._frontier.state[link] != State.UNREAD:
                    ways.append((link, self._frontier.spendings.of(link).links))
        return released

    def give_up(self) -> list[int]:
        """All is read: those who wait aside are too deep for good."""
        pages, self._aside = sorted(self._aside), set()
        return pages

    def _nearer(self, start: int, ends: Iterable[int]) -> list[int]:
        depth = self._frontier.urls.depth
        step = 0 if self._frontier.state[start] in STANDS_FOR_ANOTHER else 1
        reach = min(depth[start] + step, 255)
        nearer = [link for link in ends if depth[link] > reach]
        for link in nearer:
            depth[link] = reach
        return nearer
