"""How far a page is from what the user looks for, where a crawl reads nothing else.

Laws: a seed is 0 links away, and so is a page in focus. All others are as far as the shortest way
from one of these. What is in focus by its URL is so whatever the order of reading; what is in focus
by words is so as soon as one link says them. The log has which links did, so a crawl that goes on
knows as much as one that was never stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from minicrawl.config import Order
from minicrawl.crawl.schedule.depth import FARTHEST, DistanceTracker
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.settle.shares import is_in_focus
from minicrawl.model import PageId, State
from minicrawl.opic.journal import Spending

_URLS_AT_ONCE = 10_000


class OffFocusTracker(DistanceTracker):
    """The distances of all pages from the seeds and from pages in focus."""

    refusal = State.FOCUS

    def __init__(self, recorder: Recorder, limit: int, order: Order) -> None:
        self._away = bytearray()
        self._url_of = recorder.pages.url_of
        super().__init__(recorder.frontier, limit, self._away)
        self._is_in_focus = is_in_focus(order)
        self._grow()
        for page in recorder.seeds.ids():
            self._away[page] = 0
        for first in range(0, len(self._away), _URLS_AT_ONCE):
            pages = range(first, min(first + _URLS_AT_ONCE, len(self._away)))
            for page, url in recorder.pages.urls_at(pages).items():
                if self._is_in_focus(url):
                    self._away[page] = 0
        # An earlier run may have looked for other URLs: of its links only the words count.
        self._counts_links = bool(order.focus_words or order.focus_similar)
        self.learn()
        self._counts_links = True

    def look_at(self, pages: Sequence[PageId]) -> None:
        """They may be in focus by their URLs, whoever leads to them."""
        self._grow()
        for page in pages:
            if self._is_in_focus(self._url_of(page)):
                self._away[page] = 0

    def _nearer(self, start: PageId, spending: Spending) -> list[int]:
        self._grow()
        found = self._bring_to(spending.links, self._reach(start))
        if spending.focus and self._counts_links:
            pairs = zip(spending.links, spending.focus, strict=True)
            looked_for = self._bring_to((link for link, strength in pairs if strength), 0)
            found = list({*found, *looked_for})
        return found

    def _grow(self) -> None:
        """Pages that became known are as far as can be until a way to them is known."""
        missing = len(self._frontier) - len(self._away)
        if missing > 0:
            self._away.extend(bytes((FARTHEST,)) * missing)
