"""The rows of pages, for a checkpoint: columns copied at once, rows that are made later.

What is done at once stalls the crawl, what is done later is done by the store's thread.

Law: rows may be had again, for a disk that is full takes them the second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from minicrawl.frontier.changes import Cut, Numbers
from minicrawl.opic.windows.window import Births, Past
from minicrawl.store.records import UNCHANGED, FrontierRow

if TYPE_CHECKING:
    from minicrawl.frontier.pages import Frontier

Row = TypeVar("Row")

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Anew(Iterable[Row], Generic[Row]):
    """Rows that are made whenever they are asked for."""

    make: Callable[[], Iterator[Row]]

    def __iter__(self) -> Iterator[Row]:
        return self.make()


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Copies of all that a row says of some pages, but for their in-links."""

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


def columns_between(frontier: Frontier, first: int, end: int, *, spent: int) -> Columns:
    """Those of a range of pages; `spent` is what those say that were not spent lately."""
    history, g_time, measures = frontier.window.pasts(first, end)
    return Columns(
        pages=np.arange(first, end),
        state=frontier.states()[first:end].copy(),
        key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[first:end].copy(),
        history=history,
        g_time=g_time,
        spent=frontier.spent.newest_between(first, end, spent),
        measures=measures,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Born:
    """Pages that have no row yet, of which most were never read: they have but their birth."""

    first: int
    state: NDArray[np.uint8]
    key: Numbers
    births: Births
    pasts: Mapping[int, Past]
    spent: Mapping[int, int]

    @classmethod
    def of(cls, frontier: Frontier, pasts: Mapping[int, Past], first: int) -> Born:
        """All from the first one on; `pasts` are those of whoever had a turn."""
        return cls(
            first=first,
            state=frontier.states()[first:].copy(),
            key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[first:].copy(),
            births=frontier.window.births(first, len(frontier)),
            pasts=pasts,
            spent=frontier.spent.newest,
        )

    def rows(self, cut: Cut) -> Iterator[FrontierRow]:
        """Their rows, with the in-links that they gained."""
        first, count = self.first, len(self.state)
        history, g_time = np.zeros(count, dtype=np.int64), self.births.by_page()
        spent, measures = np.zeros(count, dtype=np.int64), {}
        for page, past in self.pasts.items():
            if page >= first:
                history[page - first], g_time[page - first], measures[page] = past
                spent[page - first] = self.spent.get(page, 0)
        columns = Columns(
            pages=np.arange(first, first + count),
            state=self.state,
            key=self.key,
            history=history,
            g_time=g_time,
            spent=spent,
            measures=measures,
        )
        return columns.rows(cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """Pages that had a turn: what still changes is copied, what does not is looked up later."""

    pages: Numbers
    state: NDArray[np.uint8]
    key: Numbers
    pasts: Mapping[int, Past]
    spent: Mapping[int, int]

    @classmethod
    def of(cls, frontier: Frontier, pasts: Mapping[int, Past], saved: int) -> Turned:
        """Those that have a row, in ascending order."""
        pages = np.fromiter(pasts, dtype=np.int64, count=len(pasts))
        pages = np.sort(pages[pages < saved])
        return cls(
            pages=pages,
            state=frontier.states()[pages],
            key=np.frombuffer(frontier.ledger.key, dtype=np.int64)[pages],
            pasts=pasts,
            spent=frontier.spent.newest,
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
