"""Which page that was read should be read again? The one that probably changed and matters most.

Law: the order is cash × probability of change. How often a page changes is learned from how it
answered when it was asked again.

rate    changes a second: (changes + 1/2) / (seconds watched + a prior week); so a page of which
        nothing is known yet counts as one that changes once in a fortnight
chance  that a page has changed since it was last seen: 1 - exp(-rate × age)
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.store.records import DocumentRow

_WEEK_S = 7 * 86_400.0
_HALF = 0.5
FEWEST = 64
"""Pages that are chosen at once; of many, one in 32."""


class Seen(NamedTuple):
    """What is known of a page's changes."""

    first_at: float
    last_at: float
    changes: int


def chance(seen: Seen, today: float) -> float:
    """The probability that the page has changed since."""
    rate = (seen.changes + _HALF) / (seen.last_at - seen.first_at + _WEEK_S)
    return float(-np.expm1(-rate * max(today - seen.last_at, 0.0)))


class Refresh:
    """The pages that were read, and which of them comes next."""

    def __init__(self, *, endless: bool) -> None:
        """A page has one turn in a run, or, in an endless one, as many as there is time for."""
        self._endless = endless
        self._seen: dict[int, Seen] = {}
        self._chosen: list[int] = []
        self._leased: set[int] = set()
        self._done: set[int] = set()

    def saw(self, document: DocumentRow) -> None:
        """The page was read, for the first time or again."""
        self._seen[document.page] = Seen(document.first_at, document.last_at, document.changes)

    def take(
        self, may_ask: Callable[[int], bool], cash: Callable[[], NDArray[np.float64]], today: float
    ) -> int | None:
        """Lease the next page whose host may be asked."""
        if not self._chosen:
            self._choose(cash, today)
        for place, page in enumerate(self._chosen):
            if may_ask(page):
                del self._chosen[place]
                self._leased.add(page)
                return page
        return None

    def release(self, page: int) -> None:
        """The page's lease has ended, however; it had its turn."""
        self._leased.discard(page)
        if not self._endless:
            self._done.add(page)

    def forget(self, page: int) -> None:
        """The page may not be asked for again."""
        self._leased.discard(page)
        del self._seen[page]

    def has_more(self) -> bool:
        """Whether pages wait for their turn."""
        return bool(self._seen.keys() - self._done - self._leased)

    def give_back(self, page: int) -> None:
        """The lease ended before the page was asked: it waits again."""
        self._leased.discard(page)
        self._chosen.insert(0, page)

    def _choose(self, cash: Callable[[], NDArray[np.float64]], today: float) -> None:
        waiting = self._seen.keys() - self._done - self._leased
        if not waiting:
            return
        pages = np.fromiter(waiting, dtype=np.int64, count=len(waiting))
        chances = np.array([chance(self._seen[page], today) for page in pages.tolist()])
        order = np.argsort(-cash()[pages] * chances, kind="stable")
        self._chosen = pages[order[: max(FEWEST, len(pages) >> 5)]].tolist()
