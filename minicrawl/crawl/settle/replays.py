"""Replays: a page that was read spends the cash it got since, along its stored links.

A replay costs no request. The crawl loop posts a few per round, at most `Order.replay` per fetch.
"""

from __future__ import annotations

from minicrawl.crawl.settle.posting import StepPoster
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.ledger import READ, Plan
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.queues.candidate_heap import CandidateHeap

AT_ONCE = 32
"""Most replays in one step."""
GROWN = 8 * UNIT
"""Least cash that makes a replay worthwhile. Smaller sums gained nothing on real graphs."""


class ReplayScheduler:
    """Chooses the pages that were given most since they were read."""

    def __init__(self, frontier: Frontier, per_fetch: int) -> None:
        self._frontier = frontier
        self.per_fetch = per_fetch
        """Number of replays that each fetch allows."""
        self.allowed = 0
        ledger = frontier.ledger
        self._richest = CandidateHeap(ledger.key, ledger.flags, READ)

    def saw(self, plans: list[Plan]) -> None:
        """Note the cash that plans moved."""
        for plan in plans:
            self._richest.offer(plan.links)
            self._richest.offer([page for page, _ in plan.extras])
            self._richest.release(plan.page)

    def run(self, poster: StepPoster) -> None:
        """Post a few replays, if allowed and worthwhile."""
        pages: list[int] = []
        while len(pages) < min(AT_ONCE, self.allowed):
            page = self._richest.take()
            if page is None:
                break
            if self._frontier.ledger.cash(page) < GROWN:
                self._richest.release(page)
                break
            pages.append(page)
        if pages:
            self.allowed -= len(pages)
            poster.replay(sorted(pages))
