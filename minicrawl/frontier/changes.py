"""What a checkpoint must write: the rows that changed since the last one, as they are now.

Law: what is cut out at one moment is copied then, and put in order later, by whoever writes it, so
that the crawl hardly notices.

born     pages that have no row yet
turned   pages that had a turn: anything of their row may have changed. Their pasts are noted when
         they change, for to look them up all at once is what would be felt
paid     pages of whose row only the cash and the number of in-links changed; most are
gained   in-links that a page has more than its row says
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.windows.window import Past
from minicrawl.store.records import PaidRow

Numbers = NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 16


class Changes:
    """Collects them."""

    def __init__(self, saved: int = 0) -> None:
        """So many pages have a row."""
        self.saved = saved
        self.turned: dict[int, Past] = {}
        self._linked, self._unlinked, self._paid = array("I"), array("I"), array("I")

    def __len__(self) -> int:
        """About how many rows are concerned."""
        pages = len(self._linked) + len(self._unlinked) + len(self._paid)
        return pages + len(self.turned)

    def turn(self, page: int, past: Past) -> None:
        """The page had a turn; this is its past now."""
        self.turned[page] = past

    def link(self, pages: Iterable[int]) -> None:
        """These were linked to, and given cash."""
        self._linked.extend(pages)

    def unlink(self, pages: Iterable[int]) -> None:
        """A link to these has gone."""
        self._unlinked.extend(pages)

    def pay(self, pages: Iterable[int]) -> None:
        """These were given cash."""
        self._paid.extend(pages)

    def cut(self, keys: array[int]) -> Cut:
        """The pages that were linked to and paid, with their cash as it is now."""
        columns = [np.array(ids) for ids in (self._linked, self._unlinked, self._paid)]
        pages = np.concatenate(columns)
        gained = np.repeat(np.array([1, -1, 0], dtype=np.int8), list(map(len, columns)))
        return Cut(pages, gained, np.frombuffer(keys, dtype=np.int64)[pages])


class Cut:
    """Pages, some of them many times, and what they gained each time."""

    def __init__(self, pages: NDArray[np.uint32], gained: NDArray[np.int8], keys: Numbers) -> None:
        self._raw = pages, gained, keys

    @cached_property
    def _once(self) -> tuple[Numbers, Numbers, Numbers]:
        """Each page once, in ascending order; what it gained, and its key."""
        pages, gained, keys = self._raw
        order = np.argsort(pages, kind="stable")
        pages = pages[order]
        firsts = np.flatnonzero(np.diff(pages, prepend=-1, append=-1)[:-1])
        sums = np.add.reduceat(gained[order], firsts, dtype=np.int64) if len(firsts) else firsts
        return pages[firsts].astype(np.int64), sums, keys[order[firsts]]

    def gained(self, pages: Numbers) -> Numbers:
        """What each of these gained."""
        mine, gains, _ = self._once
        if not len(mine):
            return np.zeros(len(pages), dtype=np.int64)
        places = np.minimum(np.searchsorted(mine, pages), len(mine) - 1)
        return np.where(mine[places] == pages, gains[places], 0)

    def paid(self, saved: int, turned: Numbers) -> Iterator[PaidRow]:
        """The rows of those that were no more than paid."""
        pages, gained, keys = self._once
        stay = (pages < saved) & ~np.isin(pages, turned, assume_unique=True)
        for start in range(0, len(stay), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            columns = (keys, gained, pages)
            values = (column[block][stay[block]].tolist() for column in columns)
            yield from zip(*values, strict=True)
