"""Windows: how much of its past a page's history remembers, so that ranks follow a changing web.

G        all cash ever recorded, the clock; here in *ticks* of 2^16 atoms.
turn     ticks in which as much cash flows as there is: a width of 8 is 8 turns.
T        the width of a window in ticks.
c        the cash that a page hands on when it is read; G_i is the time of that.
d        time since the page was last read (or born).

A window keeps what it needs a page and turns it into an estimate of importance, up to a factor
that is the same for all pages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, repeat
from operator import itemgetter
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic import estimate
from minicrawl.opic.money import UNIT
from minicrawl.slots import DenseRows

TICK_BITS = 16
_TICKS_IN_A_UNIT = UNIT >> TICK_BITS

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


class Window(Protocol):
    """Remembers what pages handed on, and judges them by it."""

    def grow(self, count: int, now: int) -> None:
        """So many pages are born."""

    def record(self, page: int, cash: int, now: int, turn: int) -> None:
        """The page hands on its cash; `now` counts it already."""

    def importance(self, cash: Floats, now: int, turn: int, first: int = 0) -> Floats:
        """The estimate for the pages from `first` on; `cash` is what each holds, in units."""

    def measures_per_page(self) -> float:
        """How many numbers of its past a page keeps, on average."""

    def past(self, page: int) -> Past:
        """What must be saved of a page."""

    def pasts(self, first: int, end: int) -> tuple[Numbers, Numbers, dict[int, bytes]]:
        """The same of a range of pages, as columns; measures by page."""

    def births(self, first: int, end: int) -> Births:
        """The same of those that were never read: a copy, made in no time."""

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        """What these pages handed on, as far as it counts, in units."""

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        """All pages, as they were saved; `measures` are by page."""

    def restate(self, importance: Floats, cash: Floats, now: int, turn: int) -> None:
        """Rewrite the past so that `importance` is what it says of each page, given its cash.

        `importance` sums to 1 over the pages and the virtual page, `cash` is in units.
        """


class Static:
    """All of the past: H += c. For a web that does not change, or a crawl that reads once."""

    def __init__(self) -> None:
        self._history = array("q")

    @property
    def history(self) -> Floats:
        """H of every page, in units."""
        return np.frombuffer(self._history, dtype=np.int64) / UNIT

    def grow(self, count: int, now: int) -> None:
        self._history.extend(repeat(0, count))

    def record(self, page: int, cash: int, now: int, turn: int) -> None:
        self._history[page] += cash

    def importance(self, cash: Floats, now: int, turn: int, first: int = 0) -> Floats:
        history = self.history[first : first + len(cash)]
        return estimate.growing(history, cash, now / _TICKS_IN_A_UNIT, turn / _TICKS_IN_A_UNIT)

    def measures_per_page(self) -> float:
        return 1.0

    def past(self, page: int) -> Past:
        return self._history[page], 0, None

    def pasts(self, first: int, end: int) -> tuple[Numbers, Numbers, dict[int, bytes]]:
        history = np.frombuffer(self._history, dtype=np.int64)[first:end].copy()
        return history, np.zeros_like(history), {}

    def births(self, first: int, end: int) -> Births:
        return Births(np.zeros(1, dtype=np.int64), end - first)

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        return np.frombuffer(self._history, dtype=np.int64)[pages] / UNIT

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        for history, _ in pasts:
            self._history.frombytes(history.tobytes())

    def restate(self, importance: Floats, cash: Floats, now: int, turn: int) -> None:
        flowed = (now + turn) / _TICKS_IN_A_UNIT
        self._history = _atoms(importance * flowed - cash)


class Interpolation:
    """One number a page: the cash of the last T, were it spread evenly between two readings.

    H = H (T - d) / T + c   if d < T, else   c T / d
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self._readings = _Readings()

    def grow(self, count: int, now: int) -> None:
        self._readings.grow(count, now)

    def record(self, page: int, cash: int, now: int, turn: int) -> None:
        width = max(1, int(self.width * turn))
        history, read_at = self._readings.of(page)
        away = now - read_at
        left = history * (width - away) // width + cash if away < width else cash * width // away
        self._readings.put(page, left, now)

    def importance(self, cash: Floats, now: int, turn: int, first: int = 0) -> Floats:
        atoms, times = self._readings.between(first, first + len(cash))
        return estimate.interpolated(atoms / UNIT, cash, now - times, self.width * turn)

    def measures_per_page(self) -> float:
        return 1.0

    def past(self, page: int) -> Past:
        return *self._readings.of(page), None

    def pasts(self, first: int, end: int) -> tuple[Numbers, Numbers, dict[int, bytes]]:
        return *self._readings.between(first, end), {}

    def births(self, first: int, end: int) -> Births:
        return self._readings.births(first, end)

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        return self._readings.histories(pages)

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        self._readings.restore(pasts)

    def restate(self, importance: Floats, cash: Floats, now: int, turn: int) -> None:
        width = self.width * turn / _TICKS_IN_A_UNIT
        history = np.frombuffer(_atoms(importance * width - cash), dtype=np.int64)
        self._readings = _Readings()
        self._readings.restore([(history, np.full(len(history), now))])


class _Readings:
    """History and time of the last reading of each page.

    Most pages of a web that is being discovered were never read: they have no history, and their
    time is that of their birth, which is kept once for all that were born together.
    """

    def __init__(self) -> None:
        self._count = 0
        self._first = array("I", [0])
        self._born = array("q", [0])
        self._rows = DenseRows()
        self._history = array("q")
        self._read = array("q")

    def grow(self, count: int, now: int) -> None:
        self._bear(self._count, now)
        self._count += count

    def _bear(self, first: int, now: int) -> None:
        """The pages from this one on were born now."""
        if self._born[-1] != now:
            self._first.append(first)
            self._born.append(now)

    def of(self, page: int) -> tuple[int, int]:
        row = self._rows.get(page)
        if row is None:
            return 0, self._born[bisect_right(self._first, page) - 1]
        return self._history[row], self._read[row]

    def put(self, page: int, history: int, now: int) -> None:
        row = self._rows.get(page)
        if row is None:
            self._rows.add(page)
            self._history.append(history)
            self._read.append(now)
        else:
            self._history[row], self._read[row] = history, now

    def histories(self, pages: Numbers) -> Floats:
        rows = map(self._rows.get, pages.tolist())
        history = self._history
        return np.array([0 if row is None else history[row] for row in rows]) / UNIT

    def between(self, first: int, end: int) -> tuple[Numbers, Numbers]:
        """Those of the pages of a range."""
        history, times = np.zeros(end - first, dtype=np.int64), self.births(first, end).by_page()
        pages = self._rows.pages
        rows = np.flatnonzero((pages >= first) & (pages < end))
        places = pages[rows] - first
        history[places] = np.frombuffer(self._history, dtype=np.int64)[rows]
        times[places] = np.frombuffer(self._read, dtype=np.int64)[rows]
        return history, times

    def births(self, first: int, end: int) -> Births:
        """Those of the pages of a range, be they read by now."""
        here = slice(bisect_right(self._first, first) - 1, bisect_right(self._first, end - 1))
        edges = np.clip(np.append(np.array(self._first[here]), end), first, end)
        return Births(np.array(self._born[here]), np.diff(edges))

    def restore(self, pasts: Pasts) -> None:
        """All pages. Without a history nobody was read."""
        for history, times in pasts:
            self._restore_births(np.flatnonzero(history == 0), times)
            read = np.flatnonzero(history)
            self._rows.add_all((self._count + read).astype(np.uint32))
            self._history.frombytes(history[read].tobytes())
            self._read.frombytes(times[read].tobytes())
            self._count += len(history)
        self._rows.finish_loading()

    def _restore_births(self, unread: NDArray[np.intp], times: Numbers) -> None:
        born = times[unread]
        changes = np.flatnonzero(np.diff(born, prepend=born[:1] - 1))
        for place, now in zip(unread[changes].tolist(), born[changes].tolist(), strict=True):
            self._bear(self._count + place, now)


Measure = tuple[int, int]
"""(G, c): when the page was read, and the cash it handed on."""


class Measures(ABC):
    """Windows that keep the last measures themselves: what flowed in them over how long.

    One measure more than counts is kept: the flow of the oldest that counts began there.
    """

    def __init__(self) -> None:
        self._born = array("q")
        self._measures: dict[int, list[Measure]] = {}

    @abstractmethod
    def _counting(self, measures: list[Measure], now: int, turn: int) -> int:
        """How many of the newest measures count."""

    def grow(self, count: int, now: int) -> None:
        self._born.extend(repeat(now, count))

    def record(self, page: int, cash: int, now: int, turn: int) -> None:
        measures = self._measures.setdefault(page, [])
        measures.append((now, cash))
        superfluous = len(measures) - self._counting(measures, now, turn) - 1
        if superfluous > 0:
            del measures[:superfluous]

    def importance(self, cash: Floats, now: int, turn: int, first: int = 0) -> Floats:
        born = np.frombuffer(self._born, dtype=np.int64)[first : first + len(cash)]
        flow = cash / np.maximum(now - born, 1)
        for page, measures in self._measures.items():
            if 0 <= page - first < len(flow):
                flow[page - first] = self._flow(measures, self._born[page], now, turn)
        return flow

    def _flow(self, measures: list[Measure], born: int, now: int, turn: int) -> float:
        first = max(0, len(measures) - self._counting(measures, now, turn))
        if first == len(measures):
            return 0.0
        since = measures[first - 1][0] if first else born
        flowed = sum(cash for _, cash in measures[first:])
        return flowed / UNIT / max(measures[-1][0] - since, 1)

    def past(self, page: int) -> Past:
        measures = self._measures.get(page)
        return 0, self._born[page], array("q", chain(*measures)).tobytes() if measures else None

    def pasts(self, first: int, end: int) -> tuple[Numbers, Numbers, dict[int, bytes]]:
        born = np.frombuffer(self._born, dtype=np.int64)[first:end].copy()
        packed = ((page, self.past(page)[2]) for page in range(first, end))
        return np.zeros_like(born), born, {page: one for page, one in packed if one is not None}

    def births(self, first: int, end: int) -> Births:
        return Births(np.frombuffer(self._born, dtype=np.int64)[first:end].copy())

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        kept = (self._measures.get(page, ()) for page in pages.tolist())
        return np.array([sum(cash for _, cash in measures) / UNIT for measures in kept])

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        for _, times in pasts:
            self._born.frombytes(times.tobytes())
        for page, packed in measures.items():
            numbers = array("q", packed)
            self._measures[page] = list(zip(numbers[::2], numbers[1::2], strict=True))

    def restate(self, importance: Floats, cash: Floats, now: int, turn: int) -> None:
        """One measure a page: what flowed through it since the beginning of the last turn."""
        since = now - turn
        flows = importance * (turn / _TICKS_IN_A_UNIT)
        self._born = array("q", repeat(since, len(flows)))
        self._measures = {
            page: [(now, int(flow * UNIT))] for page, flow in enumerate(flows.tolist())
        }

    def measures_per_page(self) -> float:
        return sum(map(len, self._measures.values())) / max(len(self._born), 1)


class Variable(Measures):
    """The last k measures, however old."""

    def __init__(self, width: float) -> None:
        super().__init__()
        self._count = int(width)

    def _counting(self, measures: list[Measure], now: int, turn: int) -> int:
        return self._count


class Fixed(Measures):
    """The measures of the last T, be they none: a page not read for so long counts for nothing."""

    def __init__(self, width: float) -> None:
        super().__init__()
        self.width = width

    def _counting(self, measures: list[Measure], now: int, turn: int) -> int:
        oldest = now - int(self.width * turn)
        return len(measures) - bisect_left(measures, oldest, key=itemgetter(0))


class ImprovedFixed(Fixed):
    """The measures of the last T, but at least three."""

    least = 3

    def _counting(self, measures: list[Measure], now: int, turn: int) -> int:
        return max(self.least, super()._counting(measures, now, turn))


def _atoms(units: Floats) -> array[int]:
    return array("q", np.rint(units * UNIT).astype(np.int64).tobytes())


WINDOWS: dict[str, Callable[[float], Window]] = {
    "static": lambda _width: Static(),
    "fixed": Fixed,
    "improved-fixed": ImprovedFixed,
    "variable": Variable,
    "interpolation": Interpolation,
}
"""Each by its width: turns, or for `variable` measures."""
