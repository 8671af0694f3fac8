"""Changes since the last checkpoint, which the store does not know yet.

Laws: values that a checkpoint needs as of one moment are copied at that moment, and sorted later
by the store's thread, so that the crawl hardly stalls. Each checkpoint is stored before the next
is made.

born      pages that have no row yet: those from `saved` on
turned    pages that had a turn: anything in their row may have changed. Their pasts (history,
          time and measures) are noted with each turn, because looking them all up at once
          would stall the crawl
paid      pages of which only cash and in-links changed; most pages
gained    in-links of a page since its row was written
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.windows.window import Past
from minicrawl.store.records import PaidRow

Numbers = NDArray[np.int64]


class Changes:
    """Collector of the pages whose rows changed."""

    def __init__(self, saved: int = 0) -> None:
        """`saved` is the number of pages that have a row."""
        self.saved = saved
        self.turned = TurnedPages()
        self.linked, self.unlinked, self.paid = array("I"), array("I"), array("I")
        """Pages that received a link and cash, that lost a link, and that received cash."""

    def __len__(self) -> int:
        """Return the approximate number of changed rows."""
        return len(self.linked) + len(self.unlinked) + len(self.paid) + len(self.turned)

    def cut(self, keys: array[int]) -> CutChanges:
        """Return a copy of the pages that gained links or cash, with their current cash."""
        # Copied now and sorted by the store's thread later (`_once`): sorting a million changes
        # would stall the crawl.
        columns = [np.array(ids) for ids in (self.linked, self.unlinked, self.paid)]
        pages = np.concatenate(columns)
        gained = np.repeat(np.array([1, -1, 0], dtype=np.int8), list(map(len, columns)))
        return CutChanges(pages, gained, np.frombuffer(keys, dtype=np.int64)[pages])


class TurnedPages:
    """Pages that had turns, and the past of each after its last one.

    They are columns, because a hundred links of a page may be refused when they are met: in a
    dictionary, each would take 200 bytes until the next checkpoint.
    """

    def __init__(self) -> None:
        self._pages = array("I")
        self._histories, self._times = array("q"), array("q")
        self.measures: dict[int, bytes] = {}
        """Packed measures of the pages that have some."""

    def __len__(self) -> int:
        return len(self._pages)

    def note(self, page: PageId, past: Past) -> None:
        """Note the past of a page after a turn."""
        history, time, measures = past
        self._pages.append(page)
        self._histories.append(history)
        self._times.append(time)
        if measures is not None:
            self.measures[page] = measures
        elif self.measures:
            self.measures.pop(page, None)

    def before(self, end: PageId) -> Numbers:
        """Return the pages with smaller numbers, ascending."""
        pages = np.array(self._pages, dtype=np.int64)
        return np.unique(pages[pages < end])

    @cached_property
    def latest(self) -> tuple[Numbers, Numbers, Numbers]:
        """The pages, ascending, with the history and time of each; no turn may follow."""
        pages, places = np.unique(np.array(self._pages, dtype=np.int64)[::-1], return_index=True)
        places = len(self) - 1 - places
        return pages, np.array(self._histories)[places], np.array(self._times)[places]


class CutChanges:
    """Pages, possibly repeated, with the in-links gained each time."""

    def __init__(self, pages: NDArray[np.uint32], gained: NDArray[np.int8], keys: Numbers) -> None:
        self._raw = pages, gained, keys

    @cached_property
    def _once(self) -> tuple[Numbers, Numbers, Numbers]:
        """Distinct pages in ascending order, with their in-links gained and their keys."""
        pages, gained, keys = self._raw
        order = np.argsort(pages, kind="stable")
        pages = pages[order]
        firsts = np.flatnonzero(np.diff(pages, prepend=-1, append=-1)[:-1])
        sums = np.add.reduceat(gained[order], firsts, dtype=np.int64) if len(firsts) else firsts
        return pages[firsts].astype(np.int64), sums, keys[order[firsts]]

    def gained(self, pages: Numbers) -> Numbers:
        """Return the number of in-links that each of these pages gained."""
        mine, gains, _ = self._once
        if not len(mine):
            return np.zeros(len(pages), dtype=np.int64)
        places = np.minimum(np.searchsorted(mine, pages), len(mine) - 1)
        return np.where(mine[places] == pages, gains[places], 0)

    def paid(self, saved: int, turned: Numbers, at_once: int) -> Iterator[Iterator[PaidRow]]:
        """Yield the rows of pages that were paid, but are neither new nor `turned`, in blocks."""
        pages, gained, keys = self._once
        stay = (pages < saved) & ~np.isin(pages, turned, assume_unique=True)
        for start in range(0, len(stay), at_once):
            block = slice(start, start + at_once)
            columns = (keys, gained, pages)
            values = (column[block][stay[block]].tolist() for column in columns)
            yield zip(*values, strict=True)
