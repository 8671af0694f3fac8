"""Which page should be read again? The one that matters most and has probably changed.

Laws: the order is cash × probability of change. How often a page changes is learned from how it
answered when it was asked again. Whichever host may be asked, one of its pages is found: each host
has its next pages, and they are chosen anew when none of them is left.

rate    changes a second: (changes + 1/2) / (seconds watched + a prior week); so a page of which
        nothing is known yet counts as one that changes once in a fortnight
chance  that a page has changed since it was last seen: 1 - exp(-rate × age)
age     time since then; its absolute value, as the clock may have been turned back
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.store.records import DocumentRow

Floats = NDArray[np.float64]
CashOf = Callable[[NDArray[np.uint32]], Floats]

_WEEK_S = 7 * 86_400.0
_HALF = 0.5
FEWEST = 4
"""Pages of a host that are chosen at once; of a large host one in 32."""
_AT_ONCE = 1000
"""Hosts that are put in order at once: after a start there are many."""


def chance(first_at: Floats, last_at: Floats, changes: NDArray[np.uint32], today: float) -> Floats:
    """The probability that pages have changed since they were last seen."""
    rate = (changes + _HALF) / (np.abs(last_at - first_at) + _WEEK_S)
    return -np.expm1(-rate * np.abs(today - last_at))


class WatchedPages:
    """The pages that were read: when, how often they had changed, and which of them wait."""

    def __init__(self) -> None:
        self._places: dict[int, int] = {}
        self._of_host: defaultdict[int, array[int]] = defaultdict(lambda: array("I"))
        self._pages = array("I")
        self._first_at = array("d")
        self._last_at = array("d")
        self._changes = array("I")
        self._waits = bytearray()
        self.waiting = 0

    def __contains__(self, page: PageId) -> bool:
        return page in self._places

    def add(self, document: DocumentRow, host: int, *, waits: bool) -> None:
        """The page was read for the first time."""
        self._places[document.page] = len(self._pages)
        self._of_host[host].append(len(self._pages))
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

    def best_of(self, host: int, cash: CashOf, today: float) -> list[tuple[float, int]]:
        """Some of the host's pages that wait, by cash × probability of change, the best one last.

        Each comes with that product.
        """
        if host not in self._of_host:
            return []
        places = np.frombuffer(self._of_host[host], dtype=np.uint32)
        places = places[np.frombuffer(self._waits, dtype=np.uint8)[places] > 0]
        pages = np.frombuffer(self._pages, dtype=np.uint32)[places]
        scores = cash(pages) * chance(
            np.frombuffer(self._first_at)[places],
            np.frombuffer(self._last_at)[places],
            np.frombuffer(self._changes, dtype=np.uint32)[places],
            today,
        )
        best = np.argsort(-scores, kind="stable")[: max(FEWEST, len(places) >> 5)][::-1]
        return list(zip(scores[best].tolist(), pages[best].tolist(), strict=True))


class RefreshScheduler:
    """Chooses which of the pages that were read is read again next.

    A host that may not be asked leaves the order when its turn would have come. It comes back when
    somebody says that it may be asked.
    """

    def __init__(self, host_of: Sequence[int], *, endless: bool) -> None:
        """A page is read again once in a run; in an endless run, as often as there is time."""
        self._host_of = host_of
        self._endless = endless
        self._watched = WatchedPages()
        self._chosen: dict[int, list[tuple[float, int]]] = {}
        self._order: list[tuple[float, int]] = []  # a heap of hosts, that with the best page first
        self._in_order: set[int] = set()
        self._coming: dict[int, None] = {}  # hosts that may belong into the order

    def saw(self, document: DocumentRow, *, just_now: bool = False) -> None:
        """The page was read, for the first time or again.

        In a run that ends, what was read `just_now` for the first time is left to the next run.
        """
        if document.page in self._watched:
            self._watched.update(document)
            return
        host, waits = self._host_of[document.page], self._endless or not just_now
        self._watched.add(document, host, waits=waits)
        if waits:
            self.look_again(host)

    def take(self, may_be_asked: Callable[[int], bool], cash: CashOf, today: float) -> int | None:
        """Lease the best page of a host that may be asked; `cash` is that of some pages."""
        while self._coming or self._order:
            self._put_in_order(cash, today)
            while self._order:
                _, host = heappop(self._order)
                self._in_order.remove(host)
                if may_be_asked(host):
                    _, page = self._chosen[host].pop()
                    self._watched.set_waits(page, 0)
                    self.look_again(host)
                    return page
        return None

    def look_again(self, host: int) -> None:
        """The host may be asked."""
        if host not in self._in_order:
            self._coming[host] = None

    def release(self, page: PageId) -> None:
        """The turn of the page has ended."""
        if self._endless:
            self._watched.set_waits(page, 1)
            self.look_again(self._host_of[page])

    def forget(self, page: PageId) -> None:
        """The page may not be asked for again."""
        self._watched.forget(page)

    def give_back(self, page: PageId) -> None:
        """The lease ended before the page was asked for: it waits again, and is the next one."""
        host = self._host_of[page]
        self._watched.set_waits(page, 1)
        self._chosen[host].append((inf, page))
        self.look_again(host)

    def has_more(self) -> bool:
        """Whether pages wait for their turn."""
        return self._watched.waiting > 0

    def _put_in_order(self, cash: CashOf, today: float) -> None:
        for _ in range(min(_AT_ONCE, len(self._coming))):
            host, _ = self._coming.popitem()
            if not self._chosen.get(host):
                self._chosen[host] = self._watched.best_of(host, cash, today)
            if chosen := self._chosen[host]:
                heappush(self._order, (-chosen[-1][0], host))
                self._in_order.add(host)
