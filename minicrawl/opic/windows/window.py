"""What every window keeps to: remember what pages handed on, and judge the pages by it.

The simplest window is here: the static one, of which all of the past counts.

G            all cash ever recorded, the clock; here in *ticks* of 2^16 atoms.
circulation  ticks in which as much cash flows as there is: a width of 8 is 8 circulations.
T            the width of a window in ticks.
c            the cash that a page hands on when it is read; G_i is the time of that.
d            time since the page was last read (or born).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic import estimate
from minicrawl.opic.money import UNIT

TICK_BITS = 16
TICKS_IN_A_UNIT = UNIT >> TICK_BITS

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Past = tuple[int, int, bytes | None]
"""History in atoms, time in ticks, and the measures of windows that keep them."""
Pasts = Iterable[tuple[Numbers, Numbers]]
"""Histories and times of many pages, block by block."""


class Births(NamedTuple):
    """When the pages of a range were born: so many at each of these times, one after the other."""

    times: Numbers
    counts: Numbers | int = 1

    def by_page(self) -> Numbers:
        """A time for each page."""
        return np.repeat(self.times, self.counts)


class Flows(NamedTuple):
    """What flows to each page by its past alone, in units a tick, and for how long it has not been
    read. NaN for a page without a past.
    """

    flow: Floats
    away: Numbers


class Window(Protocol):
    """Remembers what pages handed on, and judges them by it."""

    def grow(self, count: int, now: int, circulation: int) -> None:
        """So many pages are born, each with what a page is given in a circulation on average."""

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        """The page hands on its cash; `now` counts it already."""

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        """These pages, just born, count as if each had handed on `flow` atoms a circulation."""

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        """The estimate for the pages from `first` on; `cash` is what each holds, in units."""

    def flows(self, now: int, circulation: int) -> Flows:
        """What flows to every page if its cash of now says nothing."""

    def measures_per_page(self) -> float:
        """How many measures a page keeps, on average: amounts of cash, each with its time."""

    def past(self, page: PageId) -> Past:
        """What must be saved of a page."""

    def births(self, first: int, end: int) -> Births:
        """The same of those that were never read: a copy, made in no time."""

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        """What these pages handed on, as far as it counts, in units."""

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        """All pages, as they were saved; `measures` are by page."""

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        """Rewrite the past so that `importance` is what it says of each page, given its cash.

        `importance` sums to 1 over the pages and the virtual page, `cash` is in units.
        """


def atoms(units: Floats) -> array[int]:
    """Amounts in units as whole atoms."""
    return array("q", np.rint(units * UNIT).astype(np.int64).tobytes())


# ---------------------------------------------------------------- the whole past


class Static:
    """All of the past: H += c. For a web that does not change, or a crawl that reads once."""

    def __init__(self) -> None:
        self._history = array("q")

    @property
    def history(self) -> Floats:
        """H of every page, in units."""
        return np.frombuffer(self._history, dtype=np.int64) / UNIT

    def grow(self, count: int, now: int, circulation: int) -> None:
        self._history.extend(repeat(0, count))

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        self._history[page] += cash

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        for page in pages:
            self._history[page] += flow * now // circulation

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        history = self.history[first : first + len(cash)]
        return estimate.growing(history, cash, now / TICKS_IN_A_UNIT, circulation / TICKS_IN_A_UNIT)

    def pasts(self, first: int, end: int) -> tuple[Numbers, Numbers, Numbers]:
        """History in atoms; the times are not known: all counts from the beginning."""
        times = np.zeros(end - first, dtype=np.int64)
        return np.frombuffer(self._history, dtype=np.int64)[first:end], times, times

    def flows(self, now: int, circulation: int) -> Flows:
        """Nothing is known: it does not keep when a page was read."""
        pages = len(self._history)
        return Flows(np.full(pages, np.nan), np.zeros(pages, dtype=np.int64))

    def measures_per_page(self) -> float:
        return 1.0

    def past(self, page: PageId) -> Past:
        return self._history[page], 0, None

    def births(self, first: int, end: int) -> Births:
        return Births(np.zeros(1, dtype=np.int64), end - first)

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        return np.frombuffer(self._history, dtype=np.int64)[pages] / UNIT

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        for history, _ in pasts:
            self._history.frombytes(history.tobytes())

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        flowed = (now + circulation) / TICKS_IN_A_UNIT
        self._history = atoms(importance * flowed - cash)
