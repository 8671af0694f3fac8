"""Which page should be read again? The one that matters most and has probably changed.

Law: the order is cash × probability of change. How often a page changes is learned from how it
answered when it was asked again.

rate    changes a second: (changes + 1/2) / (seconds watched + a prior week); so a page of which
        nothing is known yet counts as one that changes once in a fortnight
chance  that a page has changed since it was last seen: 1 - exp(-rate × age)
age     time since then; its absolute value, as the clock may have been turned back
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.store.records import DocumentRow

Floats = NDArray[np.float64]

_WEEK_S = 7 * 86_400.0
_HALF = 0.5
FEWEST = 4
"""Pages that are chosen at once; of many, one in 32."""
MOST_OF_A_HOST = 4
"""Of these at most so many of one host, which is asked for one page at a time."""
_LOOKED_AT = 50_000
"""Pages that are looked at in search of other hosts."""


def chance(first_at: Floats, last_at: Floats, changes: NDArray[np.uint32], today: float) -> Floats:
    """The probability that pages have changed since they were last seen."""
    rate = (changes + _HALF) / (np.abs(last_at - first_at) + _WEEK_S)
    return -np.expm1(-rate * np.abs(today - last_at))


class WatchedPages:
    """The pages that were read: when, how often they had changed, and which of them wait."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._pages = array("I")
        self._first_at = array("d")
        self._last_at = array("d")
        self._changes = array("I")
        self._waits = bytearray()
        self.waiting = 0

    def __contains__(self, page: PageId) -> bool:
        return page in self._places

    def add(self, document: DocumentRow, *, waits: bool) -> None:
        """The page was read for the first time."""
        self._places[document.page] = len(self._pages)
        self._pages.append(document.page)
        self._first_at.append(document.first_at)
        self._last_at.append(document.last_at)
        self._changes.append(document.changes)
        self._waits.append(waits)
        self.waiting += waits

    def update(self, document: DocumentRow) -> None:
        """The page was read again."""
        place = self._places[document.page]
        self._last_at[place] = document.last_at
        self._changes[place] = document.changes

    def set_waits(self, page: PageId, waits: int) -> None:
        """Whether the page waits to be read again."""
        place = self._places[page]
        self.waiting += waits - self._waits[place]
        self._waits[place] = waits

    def forget(self, page: PageId) -> None:
        """The page may not be asked for again."""
        del self._places[page]

    def best_first(self, cash: Callable[[], Floats], today: float) -> list[int]:
        """Those that wait, by cash × probability of change."""
        places = np.flatnonzero(np.frombuffer(self._waits, dtype=np.uint8))
        pages = np.frombuffer(self._pages, dtype=np.uint32)[places]
        chances = chance(
            np.frombuffer(self._first_at)[places],
            np.frombuffer(self._last_at)[places],
            np.frombuffer(self._changes, dtype=np.uint32)[places],
            today,
        )
        order = np.argsort(-cash()[pages] * chances, kind="stable")[:_LOOKED_AT]
        return [int(page) for page in pages[order]]


class RefreshScheduler:
    """Chooses which of the pages that were read is read again next."""

    def __init__(self, host_of: Sequence[int], *, endless: bool) -> None:
        """A page is read again once in a run; in an endless run, as often as there is time."""
        self._host_of = host_of
        self._endless = endless
        self._watched = WatchedPages()
        self._chosen: list[int] = []
        self._may_find_more = True

    def saw(self, document: DocumentRow, *, just_now: bool = False) -> None:
        """The page was read, for the first time or again.

        In a run that ends, what was read `just_now` for the first time is left to the next run.
        """
        if document.page in self._watched:
            self._watched.update(document)
        else:
            self._watched.add(document, waits=self._endless or not just_now)
            self._may_find_more = True

    def take(
        self, may_be_asked: Callable[[int], bool], cash: Callable[[], Floats], today: float
    ) -> int | None:
        """Lease the next page whose host may be asked.

        If no host of the chosen pages may be asked, the best pages of other hosts are chosen.
        """
        page = self._take_chosen(may_be_asked)
        if page is None and self._may_find_more and self.has_more():
            self._may_find_more = False
            best = self._watched.best_first(cash, today)
            self._chosen = self._spread(best)
            page = self._take_chosen(may_be_asked)
            if page is None:
                self._chosen = self._spread(filter(may_be_asked, best))
                page = self._take_chosen(may_be_asked)
        return page

    def look_again(self) -> None:
        """Other hosts may be asked than before."""
        self._may_find_more = True

    def _take_chosen(self, may_be_asked: Callable[[int], bool]) -> int | None:
        for number, page in enumerate(self._chosen):
            if may_be_asked(page):
                del self._chosen[number]
                self._may_find_more = self._may_find_more or not self._chosen
                self._watched.set_waits(page, 0)
                return page
        return None

    def release(self, page: PageId) -> None:
        """The turn of the page has ended."""
        if self._endless:
            self._watched.set_waits(page, 1)
            self._may_find_more = True

    def forget(self, page: PageId) -> None:
        """The page may not be asked for again."""
        self._watched.forget(page)

    def give_back(self, page: PageId) -> None:
        """The lease ended before the page was asked for: it waits again."""
        self._watched.set_waits(page, 1)
        self._chosen.insert(0, page)

    def has_more(self) -> bool:
        """Whether pages wait for their turn."""
        return self._watched.waiting > 0

    def _spread(self, pages: Iterable[int]) -> list[int]:
        """The first ones, but not many of one host."""
        taken = Counter[int]()

        def take_few(page: PageId) -> bool:
            host = self._host_of[page]
            taken[host] += 1
            return taken[host] <= MOST_OF_A_HOST

        most = max(FEWEST, self._watched.waiting >> 5)
        return list(islice(filter(take_few, pages), most))
