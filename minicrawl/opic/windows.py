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
from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import chain, repeat
from operator import itemgetter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic import estimate
from minicrawl.opic.money import UNIT

TICK_BITS = 16
_TICKS_IN_A_UNIT = UNIT >> TICK_BITS

Floats = NDArray[np.float64]
Past = tuple[int, int, bytes | None]
"""History in atoms, time in ticks, and the measures of windows that keep them."""


class Window(Protocol):
    """Remembers what pages handed on, and judges them by it."""

    def grow(self, count: int, now: int) -> None:
        """So many pages are born."""

    def record(self, page: int, cash: int, now: int, turn: int) -> None:
        """The page hands on its cash; `now` counts it already."""

    def importance(self, cash: Floats, now: int, turn: int) -> Floats:
        """The estimate for every page; `cash` is what each holds, in units."""

    def measures_per_page(self) -> float:
        """How many numbers of its past a page keeps, on average."""

    def past(self, page: int) -> Past:
        """What must be saved of a page."""

    def restore(
        self, history: array[int], times: array[int], measures: Mapping[int, bytes]
    ) -> None:
        """Begin again with what was saved of all pages."""

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

    def importance(self, cash: Floats, now: int, turn: int) -> Floats:
        return estimate.growing(self.history, cash, now / _TICKS_IN_A_UNIT, turn / _TICKS_IN_A_UNIT)

    def measures_per_page(self) -> float:
        return 1.0

    def past(self, page: int) -> Past:
        return self._history[page], 0, None

    def restore(
        self, history: array[int], times: array[int], measures: Mapping[int, bytes]
    ) -> None:
        self._history = history

    def restate(self, importance: Floats, cash: Floats, now: int, turn: int) -> None:
        flowed = (now + turn) / _TICKS_IN_A_UNIT
        self._history = _atoms(importance * flowed - cash)


class Interpolation:
    """One number a page: the cash of the last T, were it spread evenly between two readings.

    H = H (T - d) / T + c   if d < T, else   c T / d
    """

    def __init__(self, width: float) -> None:
        self.width = width
        self._history = array("q")
        self._read_at = array("q")

    def grow(self, count: int, now: int) -> None:
        self._history.extend(repeat(0, count))
        self._read_at.extend(repeat(now, count))

    def record(self, page: int, cash: int, now: int, turn: int) -> None:
        width = max(1, int(self.width * turn))
        away = now - self._read_at[page]
        self._read_at[page] = now
        if away < width:
            self._history[page] = self._history[page] * (width - away) // width + cash
        else:
            self._history[page] = cash * width // away

    def importance(self, cash: Floats, now: int, turn: int) -> Floats:
        away = now - np.frombuffer(self._read_at, dtype=np.int64)
        history = np.frombuffer(self._history, dtype=np.int64) / UNIT
        return estimate.interpolated(history, cash, away, self.width * turn)

    def measures_per_page(self) -> float:
        return 1.0

    def past(self, page: int) -> Past:
        return self._history[page], self._read_at[page], None

    def restore(
        self, history: array[int], times: array[int], measures: Mapping[int, bytes]
    ) -> None:
        self._history, self._read_at = history, times

    def restate(self, importance: Floats, cash: Floats, now: int, turn: int) -> None:
        width = self.width * turn / _TICKS_IN_A_UNIT
        self._history = _atoms(importance * width - cash)
        self._read_at = array("q", repeat(now, len(importance)))


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

    def importance(self, cash: Floats, now: int, turn: int) -> Floats:
        born = np.frombuffer(self._born, dtype=np.int64)
        flow = cash / np.maximum(now - born, 1)
        for page, measures in self._measures.items():
            flow[page] = self._flow(measures, self._born[page], now, turn)
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

    def restore(
        self, history: array[int], times: array[int], measures: Mapping[int, bytes]
    ) -> None:
        self._born = times
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
