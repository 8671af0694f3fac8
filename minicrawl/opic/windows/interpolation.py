"""The window protocol, and the two windows that keep one number a page: static and interpolating.

A window answers: how much cash flows through a page per tick *now*? Summing the whole past (static)
is right for a web that does not change. On a changing web, old flow must fade. Keeping every
reading with its time would do, but costs memory (see `measured`). The interpolating window keeps
one number H, the flow of the last T ticks, and assumes that the flow between two readings was even.
When a page is read after d ticks and hands on c:

    H = H (T - d) / T + c   if d < T        the part of H that is still within T, plus the new cash
    H = c T / d             if d >= T       only the part of c that flowed within T

Example with T = 100 units, in units of cash:

    read at 100, hands on 10, after 100 since its birth    H = 10 * 100 / 100 = 10
    read at 140, hands on 3                                H = 10 * 60 / 100 + 3 = 9
    at 160, holds 2     estimate 9 * 80 / 100 + 2 = 9.2 in T: 0.092 a unit of time
    read at 290, hands on 3, 150 after the last reading    H = 3 * 100 / 150 = 2

A page that was never read has H = 0 and only a time of birth. Most pages of a crawl are like that,
so `Readings` stores these times as runs, and a row for a page only after its first reading.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic import estimate
from minicrawl.opic.money import UNIT
from minicrawl.slots import DenseRows

# ================================================================ window
#
# The protocol of all windows, and the simplest window: the static one.
#
# G            cash recorded so far, the clock; here in *ticks* of 2^16 atoms.
# circulation  number of ticks in which as much cash flows as exists; widths are multiples of it.
# T            width of a window in ticks.
# c            cash that a page hands on when it is read; G_i is the time of that reading.
# d            time since the last reading of the page, or since its birth.

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

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        """Treat newborn pages as if each had handed on `flow` atoms per circulation."""

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        """Return the estimate for the pages from `first` on, which hold `cash` units."""

    def flows(self, now: int, circulation: int) -> Flows:
        """Return the flow to every page, without regard to the cash it holds now."""

    def measures_per_page(self) -> float:
        """Return the average number of measures (amounts of cash with their times) a page keeps."""

    def past(self, page: PageId) -> Past:
        """Return the state of a page to be saved."""

    def births(self, first: int, end: int) -> Births:
        """Return the saved state of the unread pages of a range, as a cheap copy."""

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        """Return what these pages handed on within the window, in units."""

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        """Load the saved pasts of all pages; `measures` maps pages to packed measures."""

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        """Rewrite the past so that the estimate for each page, given its cash, is `importance`.

        `importance` sums to 1 over the pages and the virtual page; `cash` is in units.
        """


def atoms(units: Floats) -> array[int]:
    """Convert amounts in units to integer atoms."""
    return array("q", np.rint(units * UNIT).astype(np.int64).tobytes())


# ---------------------------------------------------------------- the whole past


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

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        for page in pages:
            self._history[page] += flow * now // circulation

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        history = self.history[first : first + len(cash)]
        return estimate.growing(history, cash, now / TICKS_IN_A_UNIT, circulation / TICKS_IN_A_UNIT)

    def pasts(self, first: int, end: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return histories in atoms; the times are 0, as the whole past counts."""
        times = np.zeros(end - first, dtype=np.int64)
        return np.frombuffer(self._history, dtype=np.int64)[first:end], times, times

    def flows(self, now: int, circulation: int) -> Flows:
        """Return NaN for all pages: the static window stores no times of readings."""
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


# ================================================================ interpolation


class Interpolation:
    """Window with one number a page: the flow of the last T, even between two readings.

    H = H (T - d) / T + c   if d < T, else   c T / d
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self._readings = Readings()

    def grow(self, count: int, now: int, circulation: int) -> None:
        self._readings.grow(count, now)

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        width = max(1, int(self.width * circulation))
        row = self._readings.rows.get(page)
        history, read_at = self._readings.at(row, page)
        away = now - read_at
        left = history * (width - away) // width + cash if away < width else cash * width // away
        self._readings.put(row, page, left, now)

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        for page in pages:
            self._readings.put(None, page, int(flow * self.width), now)

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        history, times = self._readings.between(first, first + len(cash))
        away, width = (now - times).astype(np.float64), self.width * circulation
        return estimate.interpolated(history / UNIT, cash, away, width) / width

    def pasts(self, first: int, end: int) -> tuple[Numbers, Numbers, Numbers]:
        """Return histories in atoms, times of the last reading, and times of birth."""
        births = self._readings.births(first, end).by_page()
        return *self._readings.between(first, end), births

    def flows(self, now: int, circulation: int) -> Flows:
        history, times = self._readings.between(0, len(self._readings))
        width = max(1, int(self.width * circulation))
        return Flows(np.where(history, history / UNIT / width, np.nan), now - times)

    def measures_per_page(self) -> float:
        return 1.0

    def past(self, page: PageId) -> Past:
        return *self._readings.of(page), None

    def births(self, first: int, end: int) -> Births:
        return self._readings.births(first, end)

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        return self._readings.histories(pages)

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        self._readings.restore(pasts)

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        width = self.width * circulation / TICKS_IN_A_UNIT
        history = np.frombuffer(atoms(importance * width - cash), dtype=np.int64)
        self._readings = Readings()
        self._readings.restore([(history, np.full(len(history), now))])


class Readings:
    """History and time of the last reading of each page.

    While a web is being discovered, most pages were never read: they have no history, and their
    time is their time of birth, which is stored once for all pages born together. A page born with
    a history counts as read at its birth.
    """

    def __init__(self) -> None:
        self._count = 0
        self._first = array("I", [0])
        self._born = array("q", [0])
        self.rows = DenseRows()
        """Rows of the pages that were read; other pages have none."""
        self._history = array("q")
        self._read = array("q")

    def __len__(self) -> int:
        return self._count

    def grow(self, count: int, now: int) -> None:
        self._bear(self._count, now)
        self._count += count

    def _bear(self, first: int, now: int) -> None:
        """Start a run of pages born at `now`."""
        if self._born[-1] != now:
            self._first.append(first)
            self._born.append(now)

    def of(self, page: PageId) -> tuple[int, int]:
        return self.at(self.rows.get(page), page)

    def at(self, row: int | None, page: PageId) -> tuple[int, int]:
        """Return history and time of a page whose row is known."""
        if row is None:
            return 0, self._born[bisect_right(self._first, page) - 1]
        return self._history[row], self._read[row]

    def rows_between(self, first: int, end: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the read pages of a range, as offsets into the range, and their rows."""
        pages = self.rows.pages
        rows = np.flatnonzero((pages >= first) & (pages < end))
        return pages[rows].astype(np.intp) - first, rows

    def put(self, row: int | None, page: PageId, history: int, now: int) -> None:
        """Record a reading of the page, which has this row or None."""
        if row is None:
            self.rows.add(page)
            self._history.append(history)
            self._read.append(now)
        else:
            self._history[row], self._read[row] = history, now

    def histories(self, pages: Numbers) -> Floats:
        rows = map(self.rows.get, pages.tolist())
        history = self._history
        return np.array([0 if row is None else history[row] for row in rows]) / UNIT

    def between(self, first: int, end: int) -> tuple[Numbers, Numbers]:
        """Return histories and times of a range of pages."""
        history, times = np.zeros(end - first, dtype=np.int64), self.births(first, end).by_page()
        places, rows = self.rows_between(first, end)
        history[places] = np.frombuffer(self._history, dtype=np.int64)[rows]
        times[places] = np.frombuffer(self._read, dtype=np.int64)[rows]
        return history, times

    def births(self, first: int, end: int) -> Births:
        """Return the times of birth of a range of pages, whether or not they were read since."""
        here = slice(bisect_right(self._first, first) - 1, bisect_right(self._first, end - 1))
        edges = np.clip(np.append(np.array(self._first[here]), end), first, end)
        return Births(np.array(self._born[here]), np.diff(edges))

    def restore(self, pasts: Pasts) -> None:
        """Load the saved pasts of all pages. A page without a history was never read."""
        for history, times in pasts:
            self._restore_births(np.flatnonzero(history == 0), times)
            read = np.flatnonzero(history)
            self.rows.add_all((self._count + read).astype(np.uint32))
            self._history.frombytes(history[read].tobytes())
            self._read.frombytes(times[read].tobytes())
            self._count += len(history)
        self.rows.finish_loading()

    def _restore_births(self, unread: NDArray[np.intp], times: Numbers) -> None:
        born = times[unread]
        changes = np.flatnonzero(np.diff(born, prepend=born[:1] - 1))
        for place, now in zip(unread[changes].tolist(), born[changes].tolist(), strict=True):
            self._bear(self._count + place, now)
