"""Worth of reading a page again, by the strategy of the crawl.

siblings, greedy  cash × probability of change + expected new links
random            a random time at which the page is due: any page has an equal chance
breadth-first     time since the page was read: pages have their turns in a fixed cycle

rate    changes per second: (changes + 1/2) / (seconds watched + a prior week); so a page without
        history counts as one that changes once a fortnight
chance  probability that a page has changed since the last reading: 1 - exp(-rate × age)
age     time since the last reading, less what a trustworthy host vouches for (see above)
new     expected links to unknown pages within the scope: age × number that readings of this run
        found / (seconds watched in this run + a prior week). A new page is worth as much as the
        average page holds: a unit, and its part of the endowment

Example: a page with 2 units has changed once in two weeks: 1.5 changes in three weeks. After a
day its worth is 2 × .069. A hub whose readings of two weeks found 30 new links gains 30 in three
weeks. After a day it is worth 1.43 more, if the average page holds a unit.
"""

from collections.abc import Callable
from math import inf
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.hints_of_change import Floats

CashOf = Callable[[NDArray[np.uint32]], Floats]

WEEK_S = 7 * 86_400.0
HALF = 0.5


class Readings(NamedTuple):
    """Pages that were read: cash, last reading, and what may have happened since."""

    pages: NDArray[np.uint32]
    cash: CashOf
    last_at: Floats
    chance: Floats
    """Probability of a change."""
    new_links: Floats
    """Expected number of new links, times the average cash of a page."""


Worth = Callable[[Readings], Floats]
"""Returns the worth of pages; the page worth most is read again first."""


def by_cash(readings: Readings) -> Floats:
    """Return cash × probability of change, and the average cash for each expected new link."""
    return readings.cash(readings.pages) * readings.chance + readings.new_links


def by_age(readings: Readings) -> Floats:
    """Return the negated time of reading: the page read longest ago comes first."""
    return -readings.last_at


class RandomRevisits:
    """Random order: a page is due again after a random time, the same one in every run."""

    def __init__(self) -> None:
        self._due: dict[int, tuple[float, float]] = {}
        self._rng, self._now = Random(0), 0.0

    def __call__(self, readings: Readings) -> Floats:
        due_at = []
        for page, last_at in zip(readings.pages.tolist(), readings.last_at.tolist(), strict=True):
            drawn_at, due = self._due.get(page, (-inf, 0.0))
            if drawn_at != last_at:
                self._now = max(self._now, due)
                due = self._now + self._rng.expovariate(1.0)
                self._due[page] = last_at, due
            due_at.append(due)
        return -np.array(due_at)


def worth_of(strategy: str) -> Worth:
    """Return the order in which a crawl with this strategy reads pages again."""
    match strategy:
        case "breadth-first":
            return by_age
        case "random":
            return RandomRevisits()
    return by_cash  # also with the order of a package, which says nothing of read pages
