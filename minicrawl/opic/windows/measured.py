"""Windows that keep single measures of each page: variable, fixed, improved fixed; and adaptive.

measure   cash of one or more consecutive readings, and the time of the last of them
since     time at which the flow of a page's oldest measure began: the reading before it, or one
          circulation before the page's birth, as its initial cash is the average inflow of one
          circulation. Counted from the birth itself, the unit of a new page would have flowed in no
          time and would make the page the richest.

Invariant: the cash of the kept measures flowed between `since` and the last reading. So k measures
need no extra one to mark their beginning, and merging two measures loses only the time between
them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows.interpolation import (
    TICKS_IN_A_UNIT,
    Births,
    Floats,
    Flows,
    Numbers,
    Past,
    Pasts,
    Readings,
    atoms,
)


class Measure(NamedTuple):
    """Cash of one or more readings of a page, with the time of the last one."""

    at: int
    cash: int
    readings: int = 1


class MeasuredWindow(ABC):
    """Base of the windows that keep measures: the flow is their cash over their duration."""

    def __init__(self, width: float, most: int | None = None) -> None:
        """Keep at most `most` measures a page and merge older ones; without `most` keep all."""
        self.width = width
        self._most = most
        self._since = array("q")
        self._measures: dict[int, list[Measure]] = {}

    @abstractmethod
    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        """Return the number of oldest measures that no longer count."""

    def grow(self, count: int, now: int, circulation: int) -> None:
        self._since.extend(repeat(now - circulation, count))

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        measures = self._measures.setdefault(page, [])
        measures.append(Measure(now, cash))
        superfluous = self._superfluous(measures, now, circulation)
        if superfluous:
            self._since[page] = measures[superfluous - 1].at
            del measures[:superfluous]
        if self._most and len(measures) > self._most:
            _compress(measures)

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        """Store one reading whose flow began one circulation before the birth."""
        for page in pages:
            self._measures[page] = [Measure(now, flow)]

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        since = np.frombuffer(self._since, dtype=np.int64)[first : first + len(cash)]
        flow = cash / np.maximum(now - since, 1)
        for page, measures in self._measures.items():
            if 0 <= page - first < len(flow):
                flow[page - first] = self._flow(measures, self._since[page], now, circulation)
        return flow

    def _flow(self, measures: list[Measure], since: int, now: int, circulation: int) -> float:
        superfluous = self._superfluous(measures, now, circulation)
        if superfluous == len(measures):
            return 0.0
        if superfluous:
            since = measures[superfluous - 1].at
        flowed = sum(measure.cash for measure in measures[superfluous:])
        return flowed / UNIT / max(measures[-1].at - since, 1)

    def flows(self, now: int, circulation: int) -> Flows:
        flow = np.full(len(self._since), np.nan)
        read_at = np.array(self._since, dtype=np.int64)
        for page, measures in self._measures.items():
            flow[page] = self._flow(measures, self._since[page], now, circulation)
            read_at[page] = measures[-1].at
        return Flows(flow, now - read_at)

    def past(self, page: PageId) -> Past:
        measures = self._measures.get(page)
        return 0, self._since[page], self._packed(measures) if measures else None

    def _packed(self, measures: list[Measure]) -> bytes:
        """Pack the measures; windows that never merge measures omit the reading counts."""
        return array("q", chain(*(one if self._most else one[:2] for one in measures))).tobytes()

    def births(self, first: int, end: int) -> Births:
        return Births(np.frombuffer(self._since, dtype=np.int64)[first:end].copy())

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        kept = (self._measures.get(page, ()) for page in pages.tolist())
        return np.array([sum(one.cash for one in measures) / UNIT for measures in kept])

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        for _, times in pasts:
            self._since.frombytes(times.tobytes())
        size = 3 if self._most else 2
        for page, packed in measures.items():
            numbers = array("q", packed)
            columns = (numbers[place::size] for place in range(size))
            self._measures[page] = [Measure(*row) for row in zip(*columns, strict=True)]

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        """Store one measure a page: its flow since the last circulation began."""
        flows = importance * (circulation / TICKS_IN_A_UNIT)
        self._since = array("q", repeat(now - circulation, len(flows)))
        self._measures = {
            page: [Measure(now, int(flow * UNIT))] for page, flow in enumerate(flows.tolist())
        }

    def measures_per_page(self) -> float:
        return sum(map(len, self._measures.values())) / max(len(self._since), 1)


def _compress(measures: list[Measure]) -> None:
    """Merge two neighbours: those with the fewest readings, the oldest in case of a tie."""
    pairs = range(len(measures) - 1)
    place = min(pairs, key=lambda at: measures[at].readings + measures[at + 1].readings)
    one, other = measures[place : place + 2]
    measures[place : place + 2] = [
        Measure(other.at, one.cash + other.cash, one.readings + other.readings)
    ]


def _before_the_last(readings: int, measures: list[Measure]) -> int:
    """Return the number of oldest measures that are not needed for the last `readings` readings."""
    for place in range(len(measures) - 1, -1, -1):
        readings -= measures[place].readings
        if readings <= 0:
            return place
    return 0


class Variable(MeasuredWindow):
    """The last k readings, however old."""

    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        return _before_the_last(int(self.width), measures)


class Fixed(MeasuredWindow):
    """The measures of the last T. A page that was not read within T counts for nothing."""

    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        oldest = now - int(self.width * circulation)
        for place, measure in enumerate(measures):
            if measure.at >= oldest:
                return place
        return len(measures)


class ImprovedFixed(Fixed):
    """The measures of the last T, but at least those of three readings."""

    least = 3

    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        needless = _before_the_last(self.least, measures)
        return min(needless, super()._superfluous(measures, now, circulation))


# ================================================================ adaptive
#
# The adaptive window: wide where a page is steady, narrow where its importance changes.
#
# H, T   flow in the page's own window, and the width of that window
# n, N   flow in a narrow window, which follows changes at once but is noisy, and its width
# noise  cash arrives in lumps of about a unit, so by chance alone an amount of A units is off by
#        about the square root of A
#
# While the two windows agree, the page's width grows with time, up to a limit: H += c and T += d.
# If they differ by more than noise explains, the page has changed, and only the narrow window is
# kept of its past: H = n, T = N.

_NARROW, _WIDEST = 4, 4
"""The narrow window is a quarter of the user's width, the widest is four times that width."""
_CHANCE = UNIT // 2
"""Square of the deviation that chance explains, for an amount of 1 atom."""


class Widths(NamedTuple):
    """Narrowest and widest window, in ticks."""

    narrow: int
    widest: int


class Adaptive:
    """Window with its own width for each page, which grows until the page changes."""

    def __init__(self, width: float) -> None:
        self.width = width
        self._readings = Readings()
        self._own = array("q")
        self._narrow = array("q")

    def grow(self, count: int, now: int, circulation: int) -> None:
        self._readings.grow(count, now)

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        widths = self._widths(circulation)
        row = self._readings.rows.get(page)
        history, read_at = self._readings.at(row, page)
        span = max(now - read_at, widths.narrow)
        if row is not None and history:
            flowed, own, recent = self._after(row, cash, now - read_at, history, widths)
        else:
            flowed, own, recent = cash, span, cash
        self._readings.put(row, page, flowed, now)
        self._put(row, own, recent * widths.narrow // span)

    def _widths(self, circulation: int) -> Widths:
        width = self.width * circulation
        return Widths(max(1, int(width / _NARROW)), max(1, int(width * _WIDEST)))

    def _after(
        self, row: int, cash: int, away: int, history: int, widths: Widths
    ) -> tuple[int, int, int]:
        """Return H, T and n after a page has handed on `cash`."""
        narrow = widths.narrow
        before = self._narrow[row] * (narrow - away) // narrow if away < narrow else 0
        recent, span = before + cash, max(away, narrow)
        own = min(self._own[row] + away, widths.widest)
        if away < own:
            flowed = history * (own - away) // self._own[row] + cash
        else:
            flowed = cash * own // away
        told = flowed * span // own
        if (recent - told) ** 2 > _CHANCE * max(recent, told):
            return recent, span, recent
        return flowed, own, recent

    def _put(self, row: int | None, own: int, narrow: int) -> None:
        if row is None:
            self._own.append(own)
            self._narrow.append(narrow)
        else:
            self._own[row], self._narrow[row] = own, narrow

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        own = max(1, int(self.width * circulation))
        for page in pages:
            self._readings.put(None, page, int(flow * self.width), now)
            self._put(None, own, int(flow * self.width / _NARROW))

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        """Return the estimates, as if all pages were read now."""
        end, (narrow, widest) = first + len(cash), self._widths(circulation)
        history, times = self._readings.between(first, end)
        before, lately = self._columns(first, end)
        away = now - times
        own = np.minimum(before + away, widest)
        within = (history / UNIT * (own - away) / np.maximum(before, 1) + cash) / own
        steady = np.where(away < own, within, cash / np.maximum(away, 1))
        span = np.maximum(away, narrow)
        recent = np.where(away < narrow, lately / UNIT * (1 - away / narrow), 0) + cash
        told = steady * span
        chance = _CHANCE / UNIT * np.maximum(recent, told)
        has_changed = (recent - told) ** 2 > chance
        return np.where(has_changed | (history == 0), recent / span, steady)

    def _columns(self, first: int, end: int) -> tuple[Numbers, Numbers]:
        """Return own widths and narrow histories of a range of pages; 1 and 0 for unread pages."""
        own, narrow = np.ones(end - first, dtype=np.int64), np.zeros(end - first, dtype=np.int64)
        places, rows = self._readings.rows_between(first, end)
        own[places] = np.frombuffer(self._own, dtype=np.int64)[rows]
        narrow[places] = np.frombuffer(self._narrow, dtype=np.int64)[rows]
        return own, narrow

    def flows(self, now: int, circulation: int) -> Flows:
        history, times = self._readings.between(0, len(self._readings))
        own, _ = self._columns(0, len(history))
        return Flows(np.where(history, history / UNIT / own, np.nan), now - times)

    def measures_per_page(self) -> float:
        """Return 2: a page keeps as many numbers as two measures take."""
        return 2.0

    def past(self, page: PageId) -> Past:
        history, time = self._readings.of(page)
        row = self._readings.rows.get(page)
        if row is None or not history:
            return history, time, None
        return history, time, array("q", (self._own[row], self._narrow[row])).tobytes()

    def births(self, first: int, end: int) -> Births:
        return self._readings.births(first, end)

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        return self._readings.histories(pages)

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        self._readings.restore(pasts)
        for page in self._readings.rows.pages.tolist():
            own, narrow = array("q", measures[page])
            self._own.append(own)
            self._narrow.append(narrow)

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        width, narrow = max(1, int(self.width * circulation)), self._widths(circulation).narrow
        history, lately = (
            np.frombuffer(atoms(importance * (ticks / TICKS_IN_A_UNIT) - cash), dtype=np.int64)
            for ticks in (width, narrow)
        )
        self._readings = Readings()
        self._readings.restore([(history, np.full(len(history), now))])
        self._narrow = array("q", lately[history != 0].tobytes())
        self._own = array("q", [width]) * len(self._narrow)
