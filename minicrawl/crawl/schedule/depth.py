"""Distance of a page from a seed, where the user limits it.

Law: a page is refused for its distance only when no shorter path to it can be found. The crawl
reads the most important page first, not the nearest, so it often finds a long path to a page and
then a shorter one. Until everything else is read, pages that are too far are parked.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, MutableSequence

import numpy as np

from minicrawl.frontier.page_table import Frontier
from minicrawl.model import STANDS_FOR_ANOTHER, PageId, State
from minicrawl.opic.ledger.books import Spending

FARTHEST = 255
"""Largest distance: each takes one byte."""


class DistanceTracker:
    """Distances of all pages, as short as the pages read so far allow."""

    refusal = State.DEPTH
    """State of pages that stay too far."""

    def __init__(self, frontier: Frontier, limit: int, distance: MutableSequence[int]) -> None:
        self._frontier = frontier
        self._limit = limit
        self._distance = distance
        self._parked: set[int] = set()
        self.brought_nearer: set[int] | None = None
        """Pages to which a shorter path was found since this was set; None to collect none."""

    def __len__(self) -> int:
        """Return the number of parked pages."""
        return len(self._parked)

    def is_too_far(self, page: PageId) -> bool:
        """Return whether the page may be read only when a shorter path to it is found."""
        return self._distance[page] > self._limit

    def park(self, page: PageId) -> None:
        """Let the page wait for a shorter path."""
        self._parked.add(page)

    def shorten(self, page: PageId, spending: Spending) -> list[int]:
        """Shorten paths along the links of a page.

        Return the parked pages that are near enough now.
        """
        released = []
        paths = deque([(page, spending)])
        while paths:
            start, spent = paths.popleft()
            for link in self._bring_to(spent.links, self._reach(start)):
                released += self._release(link)
                if self._frontier.state[link] != State.UNREAD:
                    paths.append((link, self._frontier.spendings.of(link)))
        return released

    def begin_at(self, page: PageId, distance: int = 0) -> list[int]:
        """Start a path at the page, which is a seed, or at a `distance` that another shard found.

        Return the parked pages that are near enough now.
        """
        if distance and self._distance[page] <= distance:
            return []
        self._distance[page] = min(distance, FARTHEST)
        released = self._release(page)
        if self._frontier.state[page] == State.UNREAD:
            return released
        return released + self.shorten(page, self._frontier.spendings.of(page))

    def give_up(self) -> list[int]:
        """Return and forget the parked pages: everything else is read, so they stay too far."""
        pages, self._parked = sorted(self._parked), set()
        return pages

    def learn(self) -> None:
        """Compute the distances that earlier runs found."""
        read = np.flatnonzero(self._frontier.states() != State.UNREAD).tolist()
        for page in sorted(read, key=self._distance.__getitem__):
            self.shorten(page, self._frontier.spendings.of(page))

    def _release(self, page: PageId) -> list[int]:
        if page not in self._parked or self._distance[page] > self._limit:
            return []
        self._parked.discard(page)
        return [page]

    def _reach(self, start: PageId) -> int:
        """Return the distance of the links of this page."""
        step = 0 if self._frontier.state[start] in STANDS_FOR_ANOTHER else 1
        return min(self._distance[start] + step, FARTHEST)

    def _bring_to(self, links: Iterable[int], reach: int) -> list[int]:
        nearer = [link for link in links if self._distance[link] > reach]
        for link in nearer:
            self._distance[link] = reach
        if self.brought_nearer is not None:
            self.brought_nearer.update(nearer)
        return nearer


class DepthTracker(DistanceTracker):
    """Depths of all pages: their distances from the seeds."""

    def __init__(self, frontier: Frontier, limit: int) -> None:
        super().__init__(frontier, limit, frontier.urls.depth)
        self.learn()
