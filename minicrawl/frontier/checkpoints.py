"""Checkpoints of the frontier: columns are copied at once, and made into rows later.

The crawl stands still while columns are copied, so the store's thread does all else.

Law: the rows can be iterated again, because a full disk may take two attempts.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.changes import CutChanges, Numbers, TurnedPages
from minicrawl.frontier.page_table import Frontier
from minicrawl.store.records import UNCHANGED, Checkpoint, FrontierRow

_ROWS_AT_ONCE = 1 << 14
Row = TypeVar("Row")


def cut_checkpoint(frontier: Frontier, at_once: int = _ROWS_AT_ONCE) -> Checkpoint:
    """Return the rows that changed since the last checkpoint, frozen as of now.

    They are made `at_once` while they are read.
    """
    changes = frontier.take_changes()
    cut = changes.cut(frontier.ledger.key)
    turned = changes.turned.before(changes.saved)
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
    """Iterable that recreates its rows, block by block, for each iteration."""

    make_blocks: Callable[[], Iterator[Iterator[Row]]]

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self.make_blocks())


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Copied columns of the rows of some pages, without their in-links."""

    pages: Numbers
    state: NDArray[np.uint8]
    key: Numbers
    history: Numbers
    g_time: Numbers
    spent: NDArray[np.int64]
    measures: Mapping[int, bytes]

    def blocks(self, cut: CutChanges, at_once: int) -> Iterator[Iterator[FrontierRow]]:
        """Yield the rows, with the in-links that the pages gained."""
        inlinks = cut.gained(self.pages)
        columns = (self.pages, self.state, self.key, self.history, self.g_time, inlinks, self.spent)
        for start in range(0, len(self.pages), at_once):
            values = [column[start : start + at_once].tolist() for column in columns]
            yield map(FrontierRow, *values, map(self.measures.get, values[0]))


MakeBlocks = Callable[[CutChanges, int], Iterator[Iterator[FrontierRow]]]
"""Yields rows, that many at once, with the in-links that their pages gained."""


def _rows_of_born(frontier: Frontier, turns: TurnedPages, first: int) -> MakeBlocks:
    """Copy the columns of the pages from `first` on, which have no row yet.

    Most were never read, so only their birth is stored. Only the copied columns take memory, not
    the rows of a large web.
    """
    state, spent = frontier.states()[first:].copy(), frontier.spendings.newest
    key = np.frombuffer(frontier.ledger.key, dtype=np.int64)[first:].copy()
    births = frontier.window.births(first, len(frontier))

    def blocks(cut: CutChanges, at_once: int) -> Iterator[Iterator[FrontierRow]]:
        times, (turned, histories, times_of_turns) = births.by_page(), turns.latest
        for start in range(0, len(state), at_once):
            block, begin = slice(start, start + at_once), first + start
            g_time = times[block].copy()
            history, spent_at = np.zeros((2, len(g_time)), dtype=np.int64)
            read = slice(*np.searchsorted(turned, (begin, begin + len(g_time))))
            places = turned[read] - begin
            history[places], g_time[places] = histories[read], times_of_turns[read]
            spent_at[places] = [spent.get(page, 0) for page in turned[read].tolist()]
            columns = Columns(
                pages=np.arange(begin, begin + len(g_time)),
                state=state[block],
                key=key[block],
                history=history,
                g_time=g_time,
                spent=spent_at,
                measures=turns.measures,
            )
            yield from columns.blocks(cut, at_once)

    return blocks


def _rows_of_turned(frontier: Frontier, turns: TurnedPages, turned: Numbers) -> MakeBlocks:
    """Copy what may change of these pages, which have a row; the rest is looked up later."""
    state, spent = frontier.states()[turned], frontier.spendings.newest
    key = np.frombuffer(frontier.ledger.key, dtype=np.int64)[turned]

    def blocks(cut: CutChanges, at_once: int) -> Iterator[Iterator[FrontierRow]]:
        pages, histories, times = turns.latest
        places = np.searchsorted(pages, turned)
        last_steps = [spent.get(page, UNCHANGED) for page in turned.tolist()]
        return Columns(
            pages=turned,
            state=state,
            key=key,
            history=histories[places],
            g_time=times[places],
            spent=np.array(last_steps, dtype=np.int64),
            measures=turns.measures,
        ).blocks(cut, at_once)

    return blocks
