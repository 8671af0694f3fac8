"""Windows that keep single measures of each page: variable, fixed and improved fixed.

measure   cash of one or more consecutive readings, and the time of the last of them
since     time at which the flow of a page's oldest measure began: the reading before it, or one
          circulation before the page's birth, as its initial cash is the average inflow of one
          circulation. Counted from the birth itself, the unit of a new page would have flowed in
          no time and would make the page the richest.

span      time instead of a width. The clock of the windows is G, so a span is the cash that has
          flowed during it: steps note the time, and the fold remembers G at each note.

Example of a span of 10 days, noted daily: pages read on the 1st, 5th and 14th hand on 2, 3 and 4
units, so G is 0, 2 and 5 at these notes. On the 14th the span begins at the note of the 5th, the
first that is at most 10 days old, so what was handed on above G = 2 counts.

Invariant: the cash of the kept measures flowed between `since` and the last reading. So k
measures need no extra one to mark their beginning, and merging two measures loses only the time
between them.
"""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.window import (
    TICKS_IN_A_UNIT,
    Births,
    EachInTurn,
    Floats,
    Flows,
    Past,
    Pasts,
)


class Measure(NamedTuple):
    """Cash of one or more readings of a page, with the time of the last one."""

    at: int
    cash: int
    readings: int = 1


_NOTES = 1000
"""Number of notes in a span: so exact is its beginning."""


class TimeSpan:
    """The last `seconds`, as the part of the clock G that passed during them."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.notes: list[tuple[int, int]] = []
        """Times within the span, ascending, and G at each of them."""

    def is_due(self, at: float) -> bool:
        """Return True if the last note is too old for this time, or later than it."""
        return not self.notes or abs(at - self.notes[-1][0]) >= max(1, self.seconds / _NOTES)

    def note(self, at: int, now: int) -> None:
        """Note that it is `at` when G is `now`."""
        # If the clock of the machine was set back, what came later counts as coming at this moment.
        notes = [(min(time, at), before) for time, before in self.notes] + [(at, now)]
        self.notes = [note for note in notes if note[0] >= at - self.seconds]

    @property
    def start(self) -> int:
        """The first tick of the span: cash recorded at or after it counts."""
        return self.notes[0][1] + 1 if self.notes else 0


class MeasuredWindow(EachInTurn, ABC):
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
            # Two neighbours become one: those with the fewest readings, of equals the oldest.
            pairs = range(len(measures) - 1)
            place = min(pairs, key=lambda at: measures[at].readings + measures[at + 1].readings)
            earlier, later = measures[place : place + 2]
            both = Measure(later.at, earlier.cash + later.cash, earlier.readings + later.readings)
            measures[place : place + 2] = [both]

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
        if not measures:
            return 0, self._since[page], None
        # Windows that never merge measures omit the numbers of readings.
        size = 3 if self._most else 2
        packed = array("q", chain(*(measure[:size] for measure in measures)))
        return 0, self._since[page], packed.tobytes()

    def births(self, first: int, end: int) -> Births:
        return Births(np.frombuffer(self._since, dtype=np.int64)[first:end].copy())

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        series = (self._measures.get(page, ()) for page in pages.tolist())
        return np.array([sum(measure.cash for measure in measures) / UNIT for measures in series])

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        for _, times in pasts:
            self._since.frombytes(times.tobytes())
        size = 3 if self._most else 2
        for page, packed in measures.items():
            numbers = array("q", packed)
            columns = (numbers[place::size] for place in range(size))
            self._measures[page] = [Measure(*row) for row in zip(*columns, strict=True)]

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        """Store one measure a page: its flow within the last circulation."""
        flows = importance * (circulation / TICKS_IN_A_UNIT)
        self._since = array("q", repeat(now - circulation, len(flows)))
        self._measures = {
            page: [Measure(now, int(flow * UNIT))] for page, flow in enumerate(flows.tolist())
        }

    def measures_per_page(self) -> float:
        return sum(map(len, self._measures.values())) / max(len(self._since), 1)


def _before_the_last(readings: int, measures: list[Measure]) -> int:
    """Return the number of oldest measures that are not needed for the last `readings` readings."""
    for place in range(len(measures) - 1, -1, -1):
        readings -= measures[place].readings
        if readings <= 0:
            return place
    return 0


class Variable(MeasuredWindow):
    """Window over the last k readings, however old."""

    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        return _before_the_last(int(self.width), measures)


class Fixed(MeasuredWindow):
    """Window over the measures of the last T. Pages with no reading within T have no flow."""

    def __init__(self, width: float | TimeSpan, most: int | None = None) -> None:
        self.span = width if isinstance(width, TimeSpan) else None
        super().__init__(0.0 if isinstance(width, TimeSpan) else width, most)

    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        oldest = self.span.start if self.span else now - int(self.width * circulation)
        for place, measure in enumerate(measures):
            if measure.at >= oldest:
                return place
        return len(measures)


class ImprovedFixed(Fixed):
    """Window over the measures of the last T, but over three readings at least."""

    least = 3

    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        needless = _before_the_last(self.least, measures)
        return min(needless, super()._superfluous(measures, now, circulation))
