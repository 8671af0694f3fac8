"""Distance of a page from a seed, where the user limits it.

Law: a page is refused for its distance only while no shorter path to it is known. The crawl reads
the most important page first, not the nearest, so it often finds a long path to a page and then a
shorter one. Then a page that was refused waits again.
"""

from collections import deque

import numpy as np

from minicrawl.frontier.page_table import Frontier
from minicrawl.model import PageId
from minicrawl.opic.ledger.books import Spending
from minicrawl.states import STANDS_FOR_ANOTHER, State

FARTHEST = 255
"""Largest distance: each takes one byte."""


class DepthTracker:
    """Distances of all pages from the seeds, as short as the pages read so far allow."""

    def __init__(self, frontier: Frontier, limit: int) -> None:
        """Compute the distances that earlier runs found."""
        self._frontier, self.limit = frontier, limit
        self._depth = frontier.urls.depth
        self.brought_nearer: set[int] | None = None
        """Pages to which a shorter path was found since this was set; None to collect none."""
        read = np.flatnonzero(frontier.states() != State.UNREAD).tolist()
        for page in sorted(read, key=self._depth.__getitem__):
            self.shorten(page, frontier.spendings.of(page))

    def is_too_far(self, page: PageId) -> bool:
        """Return whether the page may be read only when a shorter path to it is found."""
        return self._depth[page] > self.limit

    def shorten(self, page: PageId, spending: Spending) -> list[int]:
        """Shorten paths along the links of a page. Return refused pages that are near enough."""
        near_enough = []
        paths = deque([(page, spending)])
        while paths:
            start, spent = paths.popleft()
            step = 0 if self._frontier.state[start] in STANDS_FOR_ANOTHER else 1
            nearer = []
            for links, hops in ((spent.links, step), (spent.unpaid, 1)):
                reach = min(self._depth[start] + hops, FARTHEST)
                for link in links:
                    if self._depth[link] > reach:
                        self._depth[link] = reach
                        nearer.append(link)
            if self.brought_nearer is not None:
                self.brought_nearer.update(nearer)
            for link in nearer:
                if self._was_too_far(link):
                    near_enough.append(link)
                if self._frontier.state[link] != State.UNREAD:
                    paths.append((link, self._frontier.spendings.of(link)))
        return near_enough

    def begin_at(self, page: PageId, depth: int = 0) -> list[int]:
        """Start a path at a seed, or at a `depth` that another shard found. Return as `shorten`."""
        if depth and self._depth[page] <= depth:
            return []
        self._depth[page] = min(depth, FARTHEST)
        near_enough = [page] if self._was_too_far(page) else []
        if self._frontier.state[page] == State.UNREAD:
            return near_enough
        return near_enough + self.shorten(page, self._frontier.spendings.of(page))

    def _was_too_far(self, page: PageId) -> bool:
        return self._frontier.state[page] == State.DEPTH and self._depth[page] <= self.limit
