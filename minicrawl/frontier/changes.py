"""What changed since the last checkpoint, which the store does not know yet.

Laws: what a checkpoint needs of one moment is copied at that moment, and put in order later by
the store's thread, so that the crawl hardly notices. A checkpoint is in the store before the next
one is made.

born      pages that have no row yet
turned    pages that had a turn: anything in their row may have changed. Their pasts are noted as
          they change, because looking them all up at once would be felt
paid      pages of whose row only the cash and the number of in-links changed; most are
gained    the in-links that a page has more than its row says
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.journal import Spending
from minicrawl.opic.windows.window import Past
from minicrawl.store.records import PaidRow

Numbers = NDArray[np.int64]

_ROWS_AT_ONCE = 1 << 16


class Changes:
    """Collects the pages whose rows changed."""

    def __init__(self, saved: int = 0) -> None:
        """`saved` is the number of pages that have a row."""
        self.saved = saved
        self.turned: dict[int, Past] = {}
        self._linked, self._unlinked, self._paid = array("I"), array("I"), array("I")

    def __len__(self) -> int:
        """About how many rows changed."""
        pages = len(self._linked) + len(self._unlinked) + len(self._paid)
        return pages + len(self.turned)

    def turn(self, page: PageId, past: Past) -> None:
        """The page had a turn; this is its past now."""
        self.turned[page] = past

    def link(self, pages: Iterable[int]) -> None:
        """These pages were linked to, and given cash."""
        self._linked.extend(pages)

    def unlink(self, pages: Iterable[int]) -> None:
        """A link to each of these pages is gone."""
        self._unlinked.extend(pages)

    def pay(self, pages: Iterable[int]) -> None:
        """These pages were given cash."""
        self._paid.extend(pages)

    def cut(self, keys: array[int]) -> Cut:
        """A copy of the pages that were linked to or paid, with their cash as it is now."""
        columns = [np.array(ids) for ids in (self._linked, self._unlinked, self._paid)]
        pages = np.concatenate(columns)
        gained = np.repeat(np.array([1, -1, 0], dtype=np.int8), list(map(len, columns)))
        return Cut(pages, gained, np.frombuffer(keys, dtype=np.int64)[pages])


class Cut:
    """Pages, some of them many times, and the in-links that they gained each time."""

    def __init__(self, pages: NDArray[np.uint32], gained: NDArray[np.int8], keys: Numbers) -> None:
        self._raw = pages, gained, keys

    @cached_property
    def _once(self) -> tuple[Numbers, Numbers, Numbers]:
        """Each page once, in ascending order; the in-links that it gained, and its key."""
        pages, gained, keys = self._raw
        order = np.argsort(pages, kind="stable")
        pages = pages[order]
        firsts = np.flatnonzero(np.diff(pages, prepend=-1, append=-1)[:-1])
        sums = np.add.reduceat(gained[order], firsts, dtype=np.int64) if len(firsts) else firsts
        return pages[firsts].astype(np.int64), sums, keys[order[firsts]]

    def gained(self, pages: Numbers) -> Numbers:
        """How many in-links each of these pages gained."""
        mine, gains, _ = self._once
        if not len(mine):
            return np.zeros(len(pages), dtype=np.int64)
        places = np.minimum(np.searchsorted(mine, pages), len(mine) - 1)
        return np.where(mine[places] == pages, gains[places], 0)

    def paid(self, saved: int, turned: Numbers) -> Iterator[PaidRow]:
        """The rows of the pages that were paid, and neither born nor turned."""
        pages, gained, keys = self._once
        stay = (pages < saved) & ~np.isin(pages, turned, assume_unique=True)
        for start in range(0, len(stay), _ROWS_AT_ONCE):
            block = slice(start, start + _ROWS_AT_ONCE)
            columns = (keys, gained, pages)
            values = (column[block][stay[block]].tolist() for column in columns)
            yield from zip(*values, strict=True)


class LastSpendings:
    """page -> the step by which it last gave cash to links; 0 if there is none.

    The store knows the step of each page as of the last checkpoint; memory holds what is newer.
    """

    def __init__(
        self, spending_at: Callable[[int], Spending], saved_step: Callable[[int], int]
    ) -> None:
        """`spending_at` reads the spending of a step, `saved_step` the last checkpoint."""
        self.rows = 0  # pages from this one on are in no checkpoint
        self._spending_at = spending_at
        self._saved_step = saved_step
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}

    def __getitem__(self, page: PageId) -> int:
        step = self._young.get(page)
        if step is None:
            step = self._old.get(page)
        if step is None:
            step = self._saved_step(page) if page < self.rows else 0
        return step

    def __setitem__(self, page: PageId, step: int) -> None:
        self._young[page] = step

    def of(self, page: PageId) -> Spending:
        """How the page was last spent."""
        step = self[page]
        return self._spending_at(step) if step else Spending(())

    @property
    def newest(self) -> Mapping[int, int]:
        """The steps that are in no checkpoint yet; after `cut` this mapping stays as it is."""
        return self._young

    def cut(self, pages: int) -> None:
        """A checkpoint of so many pages takes the newest steps."""
        self._young, self._old = {}, self._young
        self.rows = pages

    def of_all(self, pages: int, saved: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
        """The steps of so many pages; `saved` are those that the rows of the first ones have."""
        found = np.zeros(pages, dtype=np.uint32)
        if saved is not None:
            found[: len(saved)] = saved
        for newer in (self._old, self._young):
            found[list(newer)] = list(newer.values())
        return found
