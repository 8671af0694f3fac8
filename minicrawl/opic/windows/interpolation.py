"""The interpolating window: one number a page, which forgets evenly what was handed on before."""

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
# What every window keeps to: remember what pages handed on, and judge the pages by it.
#
# The simplest window is here: the static one, of which all of the past counts.
#
# G            all cash ever recorded, the clock; here in *ticks* of 2^16 atoms.
# circulation  ticks in which as much cash flows as there is: a width of 8 is 8 circulations.
# T            the width of a window in ticks.
# c            the cash that a page hands on when it is read; G_i is the time of that.
# d            time since the page was last read (or born).

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


# ================================================================ interpolation


class Interpolation:
    """One number a page: the cash of the last T, as if it flowed evenly between two readings.

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
        """History in atoms, the time of the last reading, and that of the birth."""
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

    Most pages of a web that is being discovered were never read: they have no history, and their
    time is that of their birth, which is kept once for all that were born together. A page that is
    born with a history counts as read at its birth.
    """

    def __init__(self) -> None:
        self._count = 0
        self._first = array("I", [0])
        self._born = array("q", [0])
        self.rows = DenseRows()
        """Of the pages that were read; others have none."""
        self._history = array("q")
        self._read = array("q")

    def __len__(self) -> int:
        return self._count

    def grow(self, count: int, now: int) -> None:
        self._bear(self._count, now)
        self._count += count

    def _bear(self, first: int, now: int) -> None:
        """The pages from `first` on were born now."""
        if self._born[-1] != now:
            self._first.append(first)
            self._born.append(now)

    def of(self, page: PageId) -> tuple[int, int]:
        return self.at(self.rows.get(page), page)

    def at(self, row: int | None, page: PageId) -> tuple[int, int]:
        """The same for a page whose row is known."""
        if row is None:
            return 0, self._born[bisect_right(self._first, page) - 1]
        return self._history[row], self._read[row]

    def rows_between(self, first: int, end: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of the pages of a range that were read, the places in the range, and the rows."""
        pages = self.rows.pages
        rows = np.flatnonzero((pages >= first) & (pages < end))
        return pages[rows].astype(np.intp) - first, rows

    def put(self, row: int | None, page: PageId, history: int, now: int) -> None:
        """The page, which has this row, was read."""
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
        """History and time of the pages of a range."""
        history, times = np.zeros(end - first, dtype=np.int64), self.births(first, end).by_page()
        places, rows = self.rows_between(first, end)
        history[places] = np.frombuffer(self._history, dtype=np.int64)[rows]
        times[places] = np.frombuffer(self._read, dtype=np.int64)[rows]
        return history, times

    def births(self, first: int, end: int) -> Births:
        """When the pages of a range were born, also those that were read since."""
        here = slice(bisect_right(self._first, first) - 1, bisect_right(self._first, end - 1))
        edges = np.clip(np.append(np.array(self._first[here]), end), first, end)
        return Births(np.array(self._born[here]), np.diff(edges))

    def restore(self, pasts: Pasts) -> None:
        """All pages, as they were saved. A page without a history was never read."""
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
