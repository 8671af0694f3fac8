"""The adaptive window: wide where a page is steady, narrow where its importance changes.

H, T   flow in the page's own window, and the width of that window
n, N   flow in a narrow window, which follows changes at once but is noisy, and its width
noise  cash arrives in lumps of about a unit, so by chance alone an amount of A units is off by
       about the square root of A

While the two windows agree, the page's width grows with time, up to a limit: H += c and T += d.
If they differ by more than noise explains, the page has changed, and only the narrow window is
kept of its past: H = n, T = N.
"""

from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from minicrawl.model import PageId
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.interpolation import LastReadings, ReadingsWindow
from minicrawl.opic.windows.window import (
    TICKS_IN_A_UNIT,
    EachInTurn,
    Floats,
    Flows,
    Numbers,
    Past,
    Pasts,
    atoms,
)

_NARROW, _WIDEST = 4, 4
"""The narrow window is a quarter of the user's width, the widest is four times that width."""
_CHANCE = UNIT // 2
"""Square of the deviation that chance explains, for an amount of 1 atom."""


class Adaptive(ReadingsWindow, EachInTurn):
    """Window with its own width for each page, which grows until the page changes."""

    def __init__(self, width: float) -> None:
        super().__init__(width)
        self._own = array("q")
        self._narrow = array("q")

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        narrow, widest = self._widths(circulation)
        row, history, read_at = self._readings.find(page)
        span = max(now - read_at, narrow)
        if row is not None and history:
            flowed, own, recent = self._after(row, cash, now - read_at, history, narrow, widest)
        else:
            flowed, own, recent = cash, span, cash
        self._readings.put(row, page, flowed, now)
        self._put(row, own, recent * narrow // span)

    def _widths(self, circulation: int) -> tuple[int, int]:
        """Return the narrowest and the widest window, in ticks."""
        width = self.width * circulation
        return max(1, int(width / _NARROW)), max(1, int(width * _WIDEST))

    def _after(
        self, row: int, cash: int, away: int, history: int, narrow: int, widest: int
    ) -> tuple[int, int, int]:
        """Return H, T and n after a page has handed on `cash`."""
        before = self._narrow[row] * (narrow - away) // narrow if away < narrow else 0
        recent, span = before + cash, max(away, narrow)
        own = min(self._own[row] + away, widest)
        if away < own:
            flowed = history * (own - away) // self._own[row] + cash
        else:
            flowed = cash * own // away
        expected = flowed * span // own
        # Squares are compared: integers stay exact, so every machine narrows the same windows.
        if (recent - expected) ** 2 > _CHANCE * max(recent, expected):
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
        expected = steady * span
        chance = _CHANCE / UNIT * np.maximum(recent, expected)
        has_changed = (recent - expected) ** 2 > chance
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

    def past(self, page: PageId) -> Past:
        row, history, time = self._readings.find(page)
        if row is None or not history:
            return history, time, None
        return history, time, array("q", (self._own[row], self._narrow[row])).tobytes()

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        self._readings.restore(pasts)
        for page in self._readings.pages:
            own, narrow = array("q", measures[page])
            self._own.append(own)
            self._narrow.append(narrow)

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        width, narrow = max(1, int(self.width * circulation)), self._widths(circulation)[0]
        history, lately = (
            np.frombuffer(atoms(importance * (ticks / TICKS_IN_A_UNIT) - cash), dtype=np.int64)
            for ticks in (width, narrow)
        )
        self._readings = LastReadings()
        self._readings.restore([(history, np.full(len(history), now))])
        self._narrow = array("q", lately[history != 0].tobytes())
        self._own = array("q", [width]) * len(self._narrow)
