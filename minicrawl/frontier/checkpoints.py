"""Checkpoints of the frontier: columns are copied at once, and made into rows later.

The crawl stands still while columns are copied, so the store's thread does all else.

Law: the rows can be iterated again, because a full disk may take two attempts.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.changes import CutChanges, Numbers
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.windows.window import Past
from minicrawl.store.records import UNCHANGED, Checkpoint, FrontierRow

_ROWS_AT_ONCE = 1 << 14
Row = TypeVar("Row")


def cut_checkpoint(frontier: Frontier, at_once: int = _ROWS_AT_ONCE) -> Checkpoint:
    """Return the rows that changed since the last checkpoint, frozen as of now.

    They are made `at_once` while they are read.
    """
    changes = frontier.take_changes()
    cut = changes.cut(frontier.ledger.key)
    pages = np.fromiter(changes.turned, dtype=np.int64, count=len(changes.turned))
    turned = np.sort(pages[pages < changes.saved])
    turned_rows = _rows_of_turned(frontier, changes.turned, turned)
    born_rows = _rows_of_born(frontier, changes.turned, changes.saved)
    frontier.spendings.cut(len(frontier))
    siblings, values, channels = frontier.siblings, frontier.values, frontier.channels
    order = None if siblings is None else siblings.state() | (values.state() if values else {})
    return Checkpoint(
        watermark=frontier.last_seq,
        totals=frontier.ledger.totals,
        born=Rows(partial(born_rows, cut, at_once)),
        turned=Rows(partial(turned_rows, cut, at_once)),
        paid=Rows(partial(cut.paid, changes.saved, turned, at_once)),
        siblings=order,
        channels=None if channels is None else channels.as_rows(),
        times=None if frontier.span is None else frontier.span.notes,
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

    def rows(self, cut: CutChanges, at_once: int) -> Iterator[FrontierRow]:
        """Yield the rows, with the in-links that the pages gained."""
        inlinks = cut.gained(self.pages)
        columns = (self.state, self.key, self.history, self.g_time, inlinks, self.spent)
        for start in range(0, len(self.pages), at_once):
            block = slice(start, start + at_once)
            pages = self.pages[block].tolist()
            values = (column[block].tolist() for column in columns)
            measures = map(self.measures.get, pages)
            yield from map(FrontierRow._make, zip(pages, *values, measures, strict=True))


MakeRows = Callable[[CutChanges, int], Iterator[FrontierRow]]
"""Yields rows, that many at once, with the in-links that their pages gained."""


def _rows_of_born(frontier: Frontier, pasts: Mapping[int, Past], first: int) -> MakeRows:
    """Copy the columns of the pages from `first` on, which have no row yet.

    `pasts` has the past of each page that had a turn. Most were never read, so only their birth is
    stored. Only the copied columns take memory, not the rows of a large web.
    """
    state, spent = frontier.states()[first:].copy(), frontier.spendings.newest
    key = np.frombuffer(frontier.ledger.key, dtype=np.int64)[first:].copy()
    births = frontier.window.births(first, len(frontier))

    def rows(cut: CutChanges, at_once: int) -> Iterator[FrontierRow]:
        times, turned = births.by_page(), sorted(pasts)
        for start in range(0, len(state), at_once):
            block, begin = slice(start, start + at_once), first + start
            g_time = times[block].copy()
            history, spent_at = np.zeros((2, len(g_time)), dtype=np.int64)
            measures = dict[int, bytes | None]()
            for page in turned[bisect_left(turned, begin) : bisect_left(turned, begin + at_once)]:
                place = page - begin
                history[place], g_time[place], measures[page] = pasts[page]
                spent_at[place] = spent.get(page, 0)
            columns = Columns(
                pages=np.arange(begin, begin + len(g_time)),
                state=state[block],
                key=key[block],
                history=history,
                g_time=g_time,
                spent=spent_at,
                measures=measures,
            )
            yield from columns.rows(cut, at_once)

    return rows


def _rows_of_turned(frontier: Frontier, pasts: Mapping[int, Past], turned: Numbers) -> MakeRows:
    """Copy what may change of these pages, which have a row; the rest is looked up later."""
    state, spent = frontier.states()[turned], frontier.spendings.newest
    key = np.frombuffer(frontier.ledger.key, dtype=np.int64)[turned]

    def rows(cut: CutChanges, at_once: int) -> Iterator[FrontierRow]:
        pages = turned.tolist()
        columns = [pasts[page] for page in pages]
        histories, times, measures = zip(*columns, strict=True) if columns else ((), (), ())
        return Columns(
            pages=turned,
            state=state,
            key=key,
            history=np.array(histories, dtype=np.int64),
            g_time=np.array(times, dtype=np.int64),
            spent=np.array([spent.get(page, UNCHANGED) for page in pages], dtype=np.int64),
            measures=dict(zip(pages, measures, strict=True)),
        ).rows(cut, at_once)

    return rows
