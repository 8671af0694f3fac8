"""The static window: all of the past counts."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic import estimate
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows.window import (
    TICKS_IN_A_UNIT,
    Births,
    Floats,
    Flows,
    Past,
    Pasts,
    atoms,
)


class Static:
    """All of the past: H += c. For a web that does not change, or a crawl that reads once."""

    def __init__(self) -> None:
        self._history = array("q")

    @property
    def history(self) -> Floats:
        """H of every page, in units."""
        return np.frombuffer(self._history, dtype=np.int64) / UNIT

    def grow(self, count: int, now: int, turn: int) -> None:
        self._history.extend(repeat(0, count))

    def record(self, page: PageId, cash: int, now: int, turn: int) -> None:
        self._history[page] += cash

    def importance(self, cash: Floats, now: int, turn: int, first: int = 0) -> Floats:
        history = self.history[first : first + len(cash)]
        return estimate.growing(history, cash, now / TICKS_IN_A_UNIT, turn / TICKS_IN_A_UNIT)

    def flows(self, now: int, turn: int) -> Flows:
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

    def restate(self, importance: Floats, cash: Floats, now: int, turn: int) -> None:
        flowed = (now + turn) / TICKS_IN_A_UNIT
        self._history = atoms(importance * flowed - cash)
