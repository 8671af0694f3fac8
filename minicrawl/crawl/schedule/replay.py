"""Replays: pages that were read spend again what they were given since, along stored links.

Law: a replay costs no request and delays none. Replays are done while the loop has nothing else to
do, and for each fetch there are at most as many as the user allows.
"""

from minicrawl.crawl.settle.posting import StepPoster
from minicrawl.frontier.pages import Frontier
from minicrawl.opic.ledger import READ, Plan
from minicrawl.opic.money import UNIT
from minicrawl.opic.schedule import Richest

AT_ONCE = 32
GROWN = 8 * UNIT
"""Cash that is worth a replay. Smaller sums gain nothing, as measured on real graphs."""


class ReplayScheduler:
    """Chooses the pages that were given most since they were read."""

    def __init__(self, frontier: Frontier, a_fetch: int) -> None:
        self._frontier = frontier
        self._a_fetch = a_fetch
        self._allowed = 0
        ledger = frontier.ledger
        self._richest = Richest(ledger.key, ledger.flags, READ)

    def fetched(self) -> None:
        """One more page was fetched."""
        self._allowed += self._a_fetch

    def saw(self, plans: list[Plan]) -> None:
        """Cash has moved."""
        if not self._a_fetch:
            return
        for plan in plans:
            self._richest.offer(plan.links)
            self._richest.offer([page for page, _ in plan.extras])
            self._richest.release(plan.page)

    def run(self, poster: StepPoster) -> None:
        """A few replays, if any are allowed and worth it."""
        pages: list[int] = []
        while len(pages) < min(AT_ONCE, self._allowed):
            page = self._richest.take()
            if page is None:
                break
            if self._frontier.ledger.cash(page) < GROWN:
                self._richest.release(page)
                break
            pages.append(page)
        if pages:
            self._allowed -= len(pages)
            poster.replay(sorted(pages))
