"""Windows that keep the last measures of each page: variable, fixed and improved fixed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from itertools import chain, repeat
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows.window import Births, Floats, Past, Pasts

Measure = tuple[int, int]
"""(G, c): when the page was read, and the cash it handed on."""


class MeasuredWindow(ABC):
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

    def record(self, page: PageId, cash: int, now: int, turn: int) -> None:
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

    def past(self, page: PageId) -> Past:
        measures = self._measures.get(page)
        return 0, self._born[page], array("q", chain(*measures)).tobytes() if measures else None

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

    def measures_per_page(self) -> float:
        return sum(map(len, self._measures.values())) / max(len(self._born), 1)


class Variable(MeasuredWindow):
    """The last k measures, however old."""

    def __init__(self, width: float) -> None:
        super().__init__()
        self._count = int(width)

    def _counting(self, measures: list[Measure], now: int, turn: int) -> int:
        return self._count


class Fixed(MeasuredWindow):
    """The measures of the last T. A page that was not read for so long counts for nothing."""

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
