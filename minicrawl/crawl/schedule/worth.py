"""How much a page that was read is worth to be read again, by the strategy of the crawl.

siblings, greedy  cash × probability of change
random            a random time at which the page is due: any page has an equal chance
breadth-first     time since the page was read: pages have their turns in a fixed cycle

rate    changes a second: (changes + 1/2) / (seconds watched + a prior week); so a page of which
        nothing is known yet counts as one that changes once in a fortnight
chance  that a page has changed since it was last seen: 1 - exp(-rate × age)
age     time since then; its absolute value, as the clock may have been turned back
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId

Floats = NDArray[np.float64]
CashOf = Callable[[NDArray[np.uint32]], Floats]

_WEEK_S = 7 * 86_400.0
_HALF = 0.5


def chance(first_at: Floats, last_at: Floats, changes: NDArray[np.uint32], today: float) -> Floats:
    """The probability that pages have changed since they were last seen."""
    rate = (changes + _HALF) / (np.abs(last_at - first_at) + _WEEK_S)
    return -np.expm1(-rate * np.abs(today - last_at))


class Readings(NamedTuple):
    """Pages that were read: what they hold now, when they were read and how often they changed."""

    pages: NDArray[np.uint32]
    cash: CashOf
    first_at: Floats
    last_at: Floats
    changes: NDArray[np.uint32]
    today: float


Worth = Callable[[Readings], Floats]
"""Answers with the worth of pages; the page worth most is read again first."""


def by_cash(readings: Readings) -> Floats:
    """Cash × probability of change."""
    pages, cash, first_at, last_at, changes, today = readings
    return cash(pages) * chance(first_at, last_at, changes, today)


def by_age(readings: Readings) -> Floats:
    """The page that was read the longest time ago comes first: a fixed cycle."""
    return -readings.last_at


class ByLot:
    """Any page with equal chance: each is due a random time after the page before it, and the page
    that is due first is read. The draws are the same in every run.
    """

    def __init__(self) -> None:
        self._due: dict[int, tuple[float, float]] = {}
        self._rng, self._now = Random(0), 0.0

    def __call__(self, readings: Readings) -> Floats:
        rows = zip(readings.pages.tolist(), readings.last_at.tolist(), strict=True)
        return -np.array([self._due_at(page, last_at) for page, last_at in rows])

    def _due_at(self, page: PageId, last_at: float) -> float:
        """When the page is due that was read last at this time of day."""
        drawn_at, due = self._due.get(page, (-inf, 0.0))
        if drawn_at != last_at:
            self._now = max(self._now, due)
            due = self._now + self._rng.expovariate(1.0)
            self._due[page] = last_at, due
        return due


def worth_of(strategy: str) -> Worth:
    """The order in which a crawl with this strategy reads pages again."""
    match strategy:
        case "siblings" | "greedy":
            return by_cash
        case "breadth-first":
            return by_age
        case "random":
            return ByLot()
    raise ValueError(f"no order of reading again for the strategy {strategy!r}")
