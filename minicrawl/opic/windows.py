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

static         the whole past
interpolation  one number a page, the flow of the last T
variable       the measures of the last k readings
fixed          the measures of the last T
improved-fixed the measures of the last T, but of at least three readings
adaptive       wide where a page is steady, narrow where it changes

G            cash recorded so far, the clock; here in *ticks* of 2^16 atoms
circulation  number of ticks in which as much cash flows as exists; widths are multiples of it
T            width of a window in ticks
c            cash that a page hands on when it is read; G_i is the time of that reading
d            time since the last reading of the page, or since its birth
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.compact_map import CompactHashMap
from minicrawl.model import PageId
from minicrawl.opic.money import UNIT

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
        """Return the times to save for the unread pages of a range, as a cheap copy."""

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
        return (history + cash) / (now / TICKS_IN_A_UNIT + circulation / TICKS_IN_A_UNIT)

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
        self._readings = LastReadings()

    def grow(self, count: int, now: int, circulation: int) -> None:
        self._readings.grow(count, now)

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        width = max(1, int(self.width * circulation))
        row, history, read_at = self._readings.find(page)
        away = now - read_at
        # A page that was never read has the history 0 and its birth as the time of its last
        # reading, so its first reading needs no case of its own.
        # Whole numbers, like the ledger: a resumed crawl folds the same steps again, and must get
        # bit-identical histories. `minicrawl check` compares them.
        left = history * (width - away) // width + cash if away < width else cash * width // away
        self._readings.put(row, page, left, now)

    def presume(self, pages: Sequence[PageId], flow: int, now: int, circulation: int) -> None:
        for page in pages:
            self._readings.put(None, page, int(flow * self.width), now)

    def importance(self, cash: Floats, now: int, circulation: int, first: int = 0) -> Floats:
        history, times = self._readings.between(first, first + len(cash))
        away, width = (now - times).astype(np.float64), self.width * circulation
        return interpolated(history / UNIT, cash, away, width) / width

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
        self._readings = LastReadings()
        self._readings.restore([(history, np.full(len(history), now))])


def interpolated(
    history: Floats, cash: Floats, away: Floats, width: float, change: float = 1.0
) -> Floats:
    """Return the flow of the last T: (1 - w) H + w (H (1 - d / T) + C) if d < T, else w C T / d.

    `change` is w. With 0 the flow has stayed the same since the last reading; with 1 only the cash
    counts for the time since then.
    """
    is_within = away < width
    until_now = history * (1 - np.where(is_within, away, 0) / width) + cash
    long_ago = cash * (width / np.where(is_within, width, away) if np.isfinite(width) else 1)
    return (1 - change) * history + change * np.where(is_within, until_now, long_ago)


_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: neighbours end up far apart
_CODE = (1 << 64) - 1


class LastReadings:
    """History and time of the last reading of each page.

    While a web is being discovered, most pages were never read: they have no history, and their
    time is their time of birth, which is stored once for all pages born together. A page born with
    a history counts as read at its birth.
    """

    def __init__(self) -> None:
        self._count = 0
        self._first = array("I", [0])
        self._born = array("q", [0])
        self._rows = CompactHashMap()
        """Rows of the pages that were read, in this order; other pages have none."""
        self.pages = array("I")
        """Page of each row."""
        self._history = array("q")
        self._read = array("q")
        self._latest: tuple[int, int] | None = None
        """Page and row of the latest reading, a cache: `of` asks for them next."""

    def __len__(self) -> int:
        return self._count

    def grow(self, count: int, now: int) -> None:
        self._start_run(self._count, now)
        self._count += count

    def _start_run(self, first: int, now: int) -> None:
        """Start a run of pages born at `now`."""
        if self._born[-1] != now:
            self._first.append(first)
            self._born.append(now)

    def of(self, page: PageId) -> tuple[int, int]:
        if self._latest is not None and self._latest[0] == page:
            row = self._latest[1]
            return self._history[row], self._read[row]
        return self.find(page)[1:]

    def find(self, page: PageId) -> tuple[int | None, int, int]:
        """Return the row of the page, or None; its history; the time of its reading or birth."""
        # Multiplying by an odd number keeps the last 32 bits distinct, so pages never collide.
        found = self._rows.matches(page * _SPREAD & _CODE)
        if not found:
            return None, 0, self._born[bisect_right(self._first, page) - 1]
        row = found[0]
        return row, self._history[row], self._read[row]

    def rows_between(self, first: int, end: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the read pages of a range, as offsets into the range, and their rows."""
        pages = np.frombuffer(self.pages, dtype=np.uint32)
        rows = np.flatnonzero((pages >= first) & (pages < end))
        return pages[rows].astype(np.intp) - first, rows

    def put(self, row: int | None, page: PageId, history: int, now: int) -> None:
        """Record a reading of the page, which has this row or None."""
        if row is None:
            row = len(self.pages)
            self._rows.put(page * _SPREAD & _CODE, row)
            self.pages.append(page)
            self._history.append(history)
            self._read.append(now)
        else:
            self._history[row], self._read[row] = history, now
        self._latest = page, row

    def histories(self, pages: Numbers) -> Floats:
        return np.array([self.find(page)[1] for page in pages.tolist()]) / UNIT

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
            unread, read = np.flatnonzero(history == 0), np.flatnonzero(history)
            born = times[unread]
            changes = np.flatnonzero(np.diff(born, prepend=born[:1] - 1))
            for place, now in zip(unread[changes].tolist(), born[changes].tolist(), strict=True):
                self._start_run(self._count + place, now)
            rows = np.arange(len(self.pages), len(self.pages) + len(read), dtype=np.uint32)
            pages = (self._count + read).astype(np.uint32)
            self._rows.put_all(pages.astype(np.uint64) * np.uint64(_SPREAD), rows)
            self.pages.frombytes(pages.tobytes())
            self._history.frombytes(history[read].tobytes())
            self._read.frombytes(times[read].tobytes())
            self._count += len(history)
        self._rows.insert_pending()  # now, rather than at the first lookup of a crawl


# ================================================================ measured
#
# Windows that keep single measures of each page: variable, fixed and improved fixed.
#
# measure   cash of one or more consecutive readings, and the time of the last of them
# since     time at which the flow of a page's oldest measure began: the reading before it, or one
#           circulation before the page's birth, as its initial cash is the average inflow of one
#           circulation. Counted from the birth itself, the unit of a new page would have flowed in
#           no time and would make the page the richest.
#
# Invariant: the cash of the kept measures flowed between `since` and the last reading. So k
# measures need no extra one to mark their beginning, and merging two measures loses only the time
# between them.


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
        """Store one measure a page: its flow within the last circulation."""
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
    """Window over the last k readings, however old."""

    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        return _before_the_last(int(self.width), measures)


class Fixed(MeasuredWindow):
    """Window over the measures of the last T. Pages with no reading within T have no flow."""

    def _superfluous(self, measures: list[Measure], now: int, circulation: int) -> int:
        oldest = now - int(self.width * circulation)
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
        self._readings = LastReadings()
        self._own = array("q")
        self._narrow = array("q")

    def grow(self, count: int, now: int, circulation: int) -> None:
        self._readings.grow(count, now)

    def record(self, page: PageId, cash: int, now: int, circulation: int) -> None:
        widths = self._widths(circulation)
        row, history, read_at = self._readings.find(page)
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
        # Squares are compared: integers stay exact, so every machine narrows the same windows.
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
        row, history, time = self._readings.find(page)
        if row is None or not history:
            return history, time, None
        return history, time, array("q", (self._own[row], self._narrow[row])).tobytes()

    def births(self, first: int, end: int) -> Births:
        return self._readings.births(first, end)

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        return self._readings.histories(pages)

    def restore(self, pasts: Pasts, measures: Mapping[int, bytes]) -> None:
        self._readings.restore(pasts)
        for page in self._readings.pages:
            own, narrow = array("q", measures[page])
            self._own.append(own)
            self._narrow.append(narrow)

    def restate(self, importance: Floats, cash: Floats, now: int, circulation: int) -> None:
        width, narrow = max(1, int(self.width * circulation)), self._widths(circulation).narrow
        history, lately = (
            np.frombuffer(atoms(importance * (ticks / TICKS_IN_A_UNIT) - cash), dtype=np.int64)
            for ticks in (width, narrow)
        )
        self._readings = LastReadings()
        self._readings.restore([(history, np.full(len(history), now))])
        self._narrow = array("q", lately[history != 0].tobytes())
        self._own = array("q", [width]) * len(self._narrow)


# ================================================================ by name

WINDOWS: dict[str, Callable[[float, int | None], Window]] = {
    "static": lambda _width, _most: Static(),
    "fixed": Fixed,
    "improved-fixed": ImprovedFixed,
    "variable": Variable,
    "interpolation": lambda width, _most: Interpolation(width),
    "adaptive": lambda width, _most: Adaptive(width),
}
"""Constructors by name. They take the width (in readings for `variable`, in circulations for the
others) and the largest number of measures a page may keep."""

WITHOUT_WIDTH = frozenset({"static"})
WITHOUT_MEASURES = frozenset({"static", "interpolation", "adaptive"})
"""Windows that take no width, and windows that take no number of measures."""
