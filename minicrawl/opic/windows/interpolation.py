"""The interpolating window: one number a page, the flow of the last T (see `window`).

Law: a page that was never read costs no row; times of birth are stored as runs.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import count, pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.compact_map import CompactHashMap
from minicrawl.model import PageId
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.window import (
    TICKS_IN_A_UNIT,
    Births,
    Floats,
    Flows,
    Numbers,
    Past,
    Pasts,
    atoms,
)

_SPREAD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: neighbours end up far apart
_CODE = (1 << 64) - 1
_SHORTEST_RUN = 4


class LastReadings:
    """History and time of the last reading of each page.

    While a web is being discovered, most pages were never read: they have no history, and their
    time is their time of birth, which is stored once for all pages born together. A page born with
    a history counts as read at its birth. Pages that are refused when they become known mostly
    follow each other: their rows are stored as runs, and others in a hash map.
    """

    def __init__(self) -> None:
        self._count = 0
        self._first = array("I", [0])
        self._born = array("q", [0])
        self._rows = CompactHashMap()
        """Rows of the pages that were read since loading, beside the runs; others have none."""
        self._loaded = 0
        """Number of rows that were loaded; they come first."""
        self._run_first, self._run_end, self._run_row = array("I"), array("I"), array("I")
        """First page of each run, ascending, the page after its last one, and its first row."""
        self.pages = array("I")
        self._history = array("q")
        self._read = array("q")
        self._latest: dict[int, int] = {}
        """Rows of the pages read last, a cache: `of` asks for them next."""

    def __len__(self) -> int:
        return self._count

    def grow(self, count: int, now: int) -> None:
        if self._born[-1] != now:
            self._first.append(self._count)
            self._born.append(now)
        self._count += count

    def of(self, page: PageId) -> tuple[int, int]:
        if (row := self._latest.get(page)) is not None:
            return self._history[row], self._read[row]
        return self.find(page)[1:]

    def find(self, page: PageId) -> tuple[int | None, int, int]:
        """Return the row of the page, or None; its history; the time of its reading or birth."""
        run = bisect_right(self._run_first, page) - 1
        if run >= 0 and page < self._run_end[run]:
            row = self._run_row[run] + page - self._run_first[run]
        # Multiplying by an odd number keeps the last 32 bits distinct, so pages never collide.
        elif rows := self._rows.matches((page * _SPREAD & _CODE,))[0]:
            row = rows[0]
        else:
            row = bisect_left(self.pages, page, 0, self._loaded)
            if row == self._loaded or self.pages[row] != page:
                return None, 0, self.born(page)
        return row, self._history[row], self._read[row]

    def born(self, page: PageId) -> int:
        return self._born[bisect_right(self._first, page) - 1]

    def rows_between(self, first: int, end: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the read pages of a range, as offsets into the range, and their rows."""
        pages = np.frombuffer(self.pages, dtype=np.uint32)
        rows = np.flatnonzero((pages >= first) & (pages < end))
        return pages[rows].astype(np.intp) - first, rows

    def put(self, row: int | None, page: PageId, history: int, now: int) -> None:
        """Record a reading of the page, which has this row or None."""
        if row is None:
            row = len(self.pages)
            self._rows.put((page * _SPREAD & _CODE,), row)
            self.pages.append(page)
            self._history.append(history)
            self._read.append(now)
        else:
            self._history[row], self._read[row] = history, now
        self._latest = {page: row}

    def put_first(self, pages: Sequence[PageId], histories: Sequence[int], now: int) -> None:
        """Record the first readings of these pages, in ascending order, all at the same time."""
        row, rows = len(self.pages), self._rows
        starts = [0]
        if pages[-1] - pages[0] >= len(pages):  # as when the page has links to its own host
            (ends,) = (np.diff(pages) != 1).nonzero()
            starts += (ends + 1).tolist()
        for start, end in pairwise((*starts, len(pages))):
            first = pages[start]
            if end - start >= _SHORTEST_RUN:
                place = bisect_right(self._run_first, first)
                self._run_first.insert(place, first)
                self._run_end.insert(place, pages[end - 1] + 1)
                self._run_row.insert(place, row + start)
            else:
                codes = (page * _SPREAD & _CODE for page in pages[start:end])
                rows.put(codes, row + start)
        self.pages.extend(pages)
        self._history.extend(histories)
        self._read.extend(repeat(now, len(pages)))
        self._latest = dict(zip(pages, count(row)))

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
            (starts,) = np.diff(born, prepend=self._born[-1]).nonzero()
            self._first.frombytes((self._count + unread[starts]).astype(np.uint32).tobytes())
            self._born.frombytes(born[starts].tobytes())
            self.pages.frombytes((self._count + read).astype(np.uint32).tobytes())
            self._history.frombytes(history[read].tobytes())
            self._read.frombytes(times[read].tobytes())
            self._count += len(history)
        self._loaded = len(self.pages)


class ReadingsWindow:
    """Base of the windows that keep the last reading of each page."""

    def __init__(self, width: float) -> None:
        self.width = width
        self._readings = LastReadings()

    def grow(self, count: int, now: int, circulation: int) -> None:
        self._readings.grow(count, now)

    def births(self, first: int, end: int) -> Births:
        return self._readings.births(first, end)

    def histories(self, pages: NDArray[np.int64]) -> Floats:
        return self._readings.histories(pages)


class Interpolation(ReadingsWindow):
    """Window with one number a page: the flow of the last T, even between two readings.

    H = H (T - d) / T + c   if d < T, else   c T / d
    """

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

    def record_first(
        self, pages: Sequence[PageId], cash: Sequence[int], now: int, circulation: int
    ) -> None:
        width = max(1, int(self.width * circulation))
        born, histories = self._readings.born, cash
        if now - born(min(pages)) >= width:
            aways = [now - born(page) for page in pages]
            pairs = zip(cash, aways, strict=True)
            histories = [own if away < width else own * width // away for own, away in pairs]
        self._readings.put_first(pages, histories, now)

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

    def past(self, page: PageId) -> Past:
        history, time = self._readings.of(page)
        return history, time, None

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
