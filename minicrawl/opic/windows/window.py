"""Windows: how much of its past a page's history remembers, so that ranks follow a changing web.

A window answers: how much cash flows through a page per tick *now*? Summing the whole past (static)
is right for a web that does not change. On a changing web, old flow must fade. Keeping every
reading with its time would do, but costs memory (`measured`). The interpolating window, the
default, keeps one number H for each page: the flow of the last T ticks. It assumes that the flow
between two readings was even. When a page is read after d ticks and hands on c:

    H = H (T - d) / T + c   if d < T        the part of H that is still within T, plus the new cash
    H = c T / d             if d >= T       only the part of c that flowed within T

Example with T = 100 units, in units of cash:

    read at 100, hands on 10, after 100 since its birth    H = 10 * 100 / 100 = 10
    read at 140, hands on 3                                H = 10 * 60 / 100 + 3 = 9
    at 160, holds 2     estimate 9 * 80 / 100 + 2 = 9.2 in T: 0.092 a unit of time
    read at 290, hands on 3, 150 after the last reading    H = 3 * 100 / 150 = 2

A page that was never read has H = 0 and only a time of birth. Most pages of a crawl are like that,
so `LastReadings` stores these times as runs, and a row for a page only after its first reading.

Estimates are correct up to a factor that is the same for all pages.

G            cash recorded so far, the clock; here in *ticks* of 2^16 atoms
circulation  number of ticks in which as much cash flows as exists; widths are multiples of it
T            width of a window in ticks
c            cash that a page hands on when it is read; G_i is the time of that reading
d            time since the last reading of the page, or since its birth

Here is the protocol of a window, and the static one, which remembers the whole past.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.money import UNIT

TICK_BITS = 16
TICKS_IN_A_UNIT = UNIT >> TICK_BITS

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
Past = tuple[int, int, bytes | None]
"""History in atoms, time in ticks, and the packed measures of windows that keep measures."""
Pasts = Iterable[tuple[Numbers, Numbers]]
"""Histories and times of pages, block by block."""


class Births(NamedTuple):
    """Times of birth of a range of pages, run-length encoded."""

    times: Numbers
    counts: Numbers | int = 1

    def by_page(self) -> Numbers:
        """Return a time for each page."""
        return np.repeat(self.times, self.counts)


class Flows(NamedTuple):
    """Flow to each page predicted from its past alone, and the time since its last reading.

    `flow` is in units per tick, NaN for pages without a past.
    """

    flow: Floats
    away: Numbers


class Window(Protocol):
    """Memory of the cash that pages handed on, and an estimate of importance from it."""

    def grow(self, count: int, now: int, circulation: int) -> None:
        """Add `count` newborn pages, assumed to receive the average inflow of a circulation."""

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        """Record that the page hands on its cash; `now` includes this cash."""

    def record_first(
        self, pages: Sequence[PageId], cash: Sequence[int], now: int, circulation: int
    ) -> None:
        """Record that pages without a past hand on their cash, all at once."""

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        """Treat newborn pages as if each had handed on `flow` atoms per circulation."""

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        """Return the estimate for the pages from `first` on, which hold `cash` units."""

    def flows(self, now: int, circulation: int) -> Flows:
        """Return the flow to every page, without regard to the cash it holds now."""

    def past(self, page: PageId) -> Past:
        """Return the state of a page to be saved."""

    def births(self, first: int, end: int) -> Births:
        """Return the times to save for the unread pages of a range, as a cheap copy."""

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        """Return what these pages handed on within the window, in units."""

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        """Load the saved pasts of all pages; `measures` maps pages to packed measures."""

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        """Rewrite the past so that the estimate for each page, given its cash, is `importance`.

        `importance` sums to 1 over the pages and the virtual page; `cash` is in units.
        """


class EachInTurn:
    """Base of the windows for which a first reading is a reading like others."""

    def record_first(
        self: Window, pages: Sequence[PageId], cash: Sequence[int], now: int, circulation: int
    ) -> None:
        for page, amount in zip(pages, cash, strict=True):
            self.record(page, amount, now, circulation)


def atoms(units: Floats) -> array[int]:
    """Convert amounts in units to integer atoms."""
    return array("q", np.rint(units * UNIT).astype(np.int64).tobytes())


class Static:
    """Window over the whole past: H += c. For a static web, or for pages that are read once."""

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

    def record_first(
        self, pages: Sequence[PageId], cash: Sequence[int], now: int, circulation: int
    ) -> None:
        for page, amount in zip(pages, cash, strict=True):
            self._history[page] = amount

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        for page in pages:
            self._history[page] += flow * now // circulation

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        history = self.history[first : first + len(cash)]
        return (history + cash) / (now / TICKS_IN_A_UNIT + circulation / TICKS_IN_A_UNIT)

    def pasts(self, first: int, end: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return histories in atoms; the times are 0, as the whole past counts."""
        times = np.zeros(end - first, dtype=np.int64)
        return np.frombuffer(self._history, dtype=np.int64)[first:end], times, times

    def flows(self, now: int, circulation: int) -> Flows:
        """Return NaN for all pages: the static window stores no times of readings."""
        pages = len(self._history)
        return Flows(np.full(pages, np.nan), np.zeros(pages, dtype=np.int64))

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
