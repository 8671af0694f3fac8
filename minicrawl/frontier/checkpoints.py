"""Checkpoints of the frontier: columns are copied at once, and made into rows later.

The crawl stands still while columns are copied, so the store's thread does all else.

Law: the rows can be iterated again, because a full disk may take two attempts.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.changes import Cut, Numbers
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.windows.window import Births, Past
from minicrawl.store.records import UNCHANGED, Checkpoint, FrontierRow

_ROWS_AT_ONCE = 1 << 14
Row = TypeVar("Row")


def cut_checkpoint(frontier: Frontier, at_once: int = _ROWS_AT_ONCE) -> Checkpoint:
    """Return the rows that changed since the last checkpoint, frozen as of now.

    They are made `at_once` while they are read.
    """
    changes = frontier.take_changes()
    cut = changes.cut(frontier.ledger.key)
    turned = UpdatedRows.of(frontier, changes.turned, changes.saved)
    born = NewRows.of(frontier, changes.turned, changes.saved)
    frontier.spendings.cut(len(frontier))
    siblings, values, channels = frontier.siblings, frontier.values, frontier.channels
    order = None if siblings is None else siblings.state() | (values.state() if values else {})
    return Checkpoint(
        watermark=frontier.last_seq,
        totals=frontier.ledger.totals,
        born=Rows(partial(born.rows, cut, at_once)),
        turned=Rows(partial(turned.rows, cut, at_once)),
        paid=Rows(partial(cut.paid, changes.saved, turned.pages, at_once)),
        siblings=order,
        channels=None if channels is None else channels.as_rows(),
    )


@dataclass(frozen=True, slots=True)
class Rows(Iterable[Row], Generic[Row]):
    """Iterable that recreates its rows for each iteration."""

    make: Callable[[], Iterator[Row]]

    def __iter__(self) -> Iterator[Row]:
        return self.make()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Copied columns of the rows of some pages, without their in-links."""

    pages: Numbers
    state: NDArray[np.uint8]
    key: Numbers
    history: Numbers
    g_time: Numbers
    spent: NDArray[np.int64]
    measures: Mapping[int, bytes | None]

    def rows(self, cut: Cut, at_once: int) -> Iterator[FrontierRow]:
        """Yield the rows, with the in-links that the pages gained."""
        inlinks = cut.gained(self.pages)
        columns = (self.state, self.key, self.history, self.g_time, inlinks, self.spent)
        for start in range(0, len(self.pages), at_once):
            block = slice(start, start + at_once)
            pages = self.pages[block].tolist()
            values = (column[block].tolist() for column in columns)
            measures = map(self.measures.get, pages)
            yield from map(FrontierRow._make, zip(pages, *values, measures, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRows:
    """Pages that have no row yet. Most were never read, so only their birth is stored."""

    first: int
    state: NDArray[np.uint8]
    key: Numbers
    births: Births
    pasts: Mapping[int, Past]
    spent: Mapping[int, int]

    @classmethod
    def of(cls, frontier: Frontier, pasts: Mapping[int, Past], first: int) -> "NewRows":
        """Return the pages from `first` on; `pasts` has the past of each page that had a turn."""
        return cls(
            first=first,
            state=frontier.states()[first:].copy(),
            key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[first:].copy(),
            births=frontier.window.births(first, len(frontier)),
            pasts=pasts,
            spent=frontier.spendings.newest,
        )

    def rows(self, cut: Cut, at_once: int) -> Iterator[FrontierRow]:
        """Yield the rows in blocks, with the in-links that the pages gained.

        Only the copied columns take memory, not the rows of a large web.
        """
        times, turned = self.births.by_page(), sorted(self.pasts)
        for start in range(0, len(self.state), at_once):
            block = slice(start, start + at_once)
            first = self.first + start
            mine = slice(bisect_left(turned, first), bisect_left(turned, first + at_once))
            yield from self._block(block, times[block], turned[mine]).rows(cut, at_once)

    def _block(self, block: slice, times: Numbers, turned: Sequence[int]) -> Columns:
        """Return the columns of a block of pages, some of which had a turn."""
        first, count = self.first + block.start, len(times)
        history, g_time = np.zeros(count, dtype=np.int64), times.copy()
        spent, measures = np.zeros(count, dtype=np.int64), {}
        for page in turned:
            place = page - first
            history[place], g_time[place], measures[page] = self.pasts[page]
            spent[place] = self.spent.get(page, 0)
        return Columns(
            pages=np.arange(first, first + count),
            state=self.state[block],
            key=self.key[block],
            history=history,
            g_time=g_time,
            spent=spent,
            measures=measures,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatedRows:
    """Pages that had a turn. Mutable values are copied; others are looked up later."""

    pages: Numbers
    state: NDArray[np.uint8]
    key: Numbers
    pasts: Mapping[int, Past]
    spent: Mapping[int, int]

    @classmethod
    def of(cls, frontier: Frontier, pasts: Mapping[int, Past], saved: int) -> "UpdatedRows":
        """Return the pages that have a row, in ascending order."""
        pages = np.fromiter(pasts, dtype=np.int64, count=len(pasts))
        pages = np.sort(pages[pages < saved])
        return cls(
            pages=pages,
            state=frontier.states()[pages],
            key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[pages],
            pasts=pasts,
            spent=frontier.spendings.newest,
        )

    def rows(self, cut: Cut, at_once: int) -> Iterator[FrontierRow]:
        """Yield the rows, with the in-links that the pages gained."""
        pages = self.pages.tolist()
        pasts = list(map(self.pasts.__getitem__, pages))
        histories, times, measures = zip(*pasts, strict=True) if pasts else ((), (), ())
        columns = Columns(
            pages=self.pages,
            state=self.state,
            key=self.key,
            history=np.array(histories, dtype=np.int64),
            g_time=np.array(times, dtype=np.int64),
            spent=np.array([self.spent.get(page, UNCHANGED) for page in pages], dtype=np.int64),
            measures=dict(zip(pages, measures, strict=True)),
        )
        return columns.rows(cut, at_once)
