"""How far a page is from where it counts, where the user limits that.

Law: a page is refused for its distance only when no shorter way to it can be found any more. The
crawl reads the most important page first and not the nearest, so it often finds a long way to a
page and then a shorter one. Until all else is read, pages that are too far are parked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, MutableSequence, Sequence

import numpy as np

from minicrawl.frontier.pages import Frontier
from minicrawl.model import STANDS_FOR_ANOTHER, PageId, State
from minicrawl.opic.journal import Spending

FARTHEST = 255
"""Distances are a byte a page."""


class DistanceTracker:
    """The distances of all pages, kept as short as what was read allows."""

    refusal = State.DEPTH
    """What becomes of pages that are too far for good."""

    def __init__(self, frontier: Frontier, limit: int, distance: MutableSequence[int]) -> None:
        self._frontier = frontier
        self._limit = limit
        self._distance = distance
        self._parked: set[int] = set()
        self.brought_nearer: set[int] | None = None
        """Collects pages to which a shorter way was found, for whoever wants to know."""

    def __len__(self) -> int:
        """Pages that are parked."""
        return len(self._parked)

    def is_too_far(self, page: PageId) -> bool:
        """Whether the page may be read only when a shorter way to it is found."""
        return self._distance[page] > self._limit

    def park(self, page: PageId) -> None:
        """The page waits for a shorter way."""
        self._parked.add(page)

    def look_at(self, pages: Sequence[PageId]) -> None:
        """These pages have become known: their URLs may say something of where they are."""

    def shorten(self, page: PageId, spending: Spending) -> list[int]:
        """The page links to these pages. Returns the parked pages that need not wait any longer."""
        released = []
        ways = deque([(page, spending)])
        while ways:
            for link in self._nearer(*ways.popleft()):
                released += self._release(link)
                if self._frontier.state[link] != State.UNREAD:
                    ways.append((link, self._frontier.spendings.of(link)))
        return released

    def begin_at(self, page: PageId, distance: int = 0) -> list[int]:
        """The page is a seed now, or so far from one by a way that nobody here has seen. Returns
        the parked pages that need not wait any longer.
        """
        if distance and self._distance[page] <= distance:
            return []
        self._distance[page] = min(distance, FARTHEST)
        released = self._release(page)
        if self._frontier.state[page] == State.UNREAD:
            return released
        return released + self.shorten(page, self._frontier.spendings.of(page))

    def give_up(self) -> list[int]:
        """All else is read: the parked pages are too far for good."""
        pages, self._parked = sorted(self._parked), set()
        return pages

    def learn(self) -> None:
        """Find out again what earlier runs have found out."""
        read = np.flatnonzero(self._frontier.states() != State.UNREAD).tolist()
        for page in sorted(read, key=self._distance.__getitem__):
            self.shorten(page, self._frontier.spendings.of(page))

    def _release(self, page: PageId) -> list[int]:
        if page not in self._parked or self._distance[page] > self._limit:
            return []
        self._parked.discard(page)
        return [page]

    def _reach(self, start: PageId) -> int:
        """How far the links of this page are."""
        step = 0 if self._frontier.state[start] in STANDS_FOR_ANOTHER else 1
        return min(self._distance[start] + step, FARTHEST)

    def _nearer(self, start: PageId, spending: Spending) -> list[int]:
        return self._bring_to(spending.links, self._reach(start))

    def _bring_to(self, links: Iterable[int], reach: int) -> list[int]:
        nearer = [link for link in links if self._distance[link] > reach]
        for link in nearer:
            self._distance[link] = reach
        if self.brought_nearer is not None:
            self.brought_nearer.update(nearer)
        return nearer


class DepthTracker(DistanceTracker):
    """The depths of all pages: how far they are from the seeds."""

    def __init__(self, frontier: Frontier, limit: int) -> None:
        super().__init__(frontier, limit, frontier.urls.depth)
        self.learn()
