"""What a checkpoint writes: columns are copied at once, rows are made of them later.

Copying stalls the crawl, so it is all that is done at once; the store's thread does the rest.

Law: the rows can be iterated again, because a full disk takes them only the second time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.changes import Cut, Numbers
from minicrawl.frontier.pages import Frontier
from minicrawl.opic.windows.window import Births, Past
from minicrawl.store.records import UNCHANGED, Checkpoint, FrontierRow

Row = TypeVar("Row")

_ROWS_AT_ONCE = 1 << 14


def cut_checkpoint(frontier: Frontier) -> Checkpoint:
    """The rows that changed since the last checkpoint, as they are now, whenever they are read."""
    changes = frontier.take_changes()
    cut = changes.cut(frontier.ledger.key)
    turned = Turned.of(frontier, changes.turned, changes.saved)
    born = Born.of(frontier, changes.turned, changes.saved)
    frontier.spendings.cut(len(frontier))
    return Checkpoint(
        watermark=frontier.last_seq,
        totals=frontier.ledger.totals,
        born=Rows(partial(born.rows, cut)),
        turned=Rows(partial(turned.rows, cut)),
        paid=Rows(partial(cut.paid, changes.saved, turned.pages)),
        siblings=_shown(frontier),
        channels=None if frontier.channels is None else frontier.channels.as_rows(),
    )


def _shown(frontier: Frontier) -> Mapping[str, bytes] | None:
    return None if frontier.siblings is None else frontier.siblings.shown.state()


@dataclass(frozen=True, slots=True)
class Rows(Iterable[Row], Generic[Row]):
    """Rows that are made anew by each iteration."""

    make: Callable[[], Iterator[Row]]

    def __iter__(self) -> Iterator[Row]:
        return self.make()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Copies of all that the rows of some pages say, but for their in-links."""

    pages: Numbers
    state: NDArray[np.uint8]
    key: Numbers
    history: Numbers
    g_time: Numbers
    spent: NDArray[np.int64]
    measures: Mapping[int, bytes | None]

    def rows(self, cut: Cut) -> Iterator[FrontierRow]:
        """Their rows, with the in-links that they gained."""
        inlinks = cut.gained(self.pages)
        columns = (self.state, self.key, self.history, self.g_time, inlinks, self.spent)
        for start in range(0, len(self.pages), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            pages = self.pages[block].tolist()
            values = (column[block].tolist() for column in columns)
            measures = map(self.measures.get, pages)
            yield from map(FrontierRow._make, zip(pages, *values, measures, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Born:
    """Pages that have no row yet. Most were never read: only their birth is known of them."""

    first: int
    state: NDArray[np.uint8]
    key: Numbers
    births: Births
    pasts: Mapping[int, Past]
    spent: Mapping[int, int]

    @classmethod
    def of(cls, frontier: Frontier, pasts: Mapping[int, Past], first: int) -> Born:
        """All pages from the first one on; `pasts` are those of pages that had a turn."""
        return cls(
            first=first,
            state=frontier.states()[first:].copy(),
            key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[first:].copy(),
            births=frontier.window.births(first, len(frontier)),
            pasts=pasts,
            spent=frontier.spendings.newest,
        )

    def rows(self, cut: Cut) -> Iterator[FrontierRow]:
        """Their rows, with the in-links that they gained, made block by block: of a large web only
        what is copied takes memory.
        """
        times, turned = self.births.by_page(), sorted(self.pasts)
        for start in range(0, len(self.state), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            first = self.first + start
            mine = slice(bisect_left(turned, first), bisect_left(turned, first + _ROWS_AT_ONCE))
            yield from self._block(block, times[block], turned[mine]).rows(cut)

    def _block(self, block: slice, times: Numbers, turned: Sequence[int]) -> Columns:
        """Those of a few pages, some of which had a turn."""
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
class Turned:
    """Pages that had a turn: what may change is copied, what does not is looked up later."""

    pages: Numbers
    state: NDArray[np.uint8]
    key: Numbers
    pasts: Mapping[int, Past]
    spent: Mapping[int, int]

    @classmethod
    def of(cls, frontier: Frontier, pasts: Mapping[int, Past], saved: int) -> Turned:
        """The pages that have a row, in ascending order."""
        pages = np.fromiter(pasts, dtype=np.int64, count=len(pasts))
        pages = np.sort(pages[pages < saved])
        return cls(
            pages=pages,
            state=frontier.states()[pages],
            key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[pages],
            pasts=pasts,
            spent=frontier.spendings.newest,
        )

    def rows(self, cut: Cut) -> Iterator[FrontierRow]:
        """Their rows, with the in-links that they gained."""
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
        return columns.rows(cut)
