"""Orders of reading: greedy by cash, and those that look at no cash at all.

All work in the same way: pages are `born`, a page is leased by `take`, its plan is posted and then
given to `settled`; a lease that ended without a plan is `put_back`. A strategy serves one pool, the
unread pages or the read ones: pages to discover and pages to refresh never compete.

Here are the orders that serve a known web as well. Those of an unknown web are in `discovery`.
"""

from array import array
from collections.abc import Callable, Sequence
from itertools import repeat
from random import Random
from typing import Protocol

from minicrawl.opic.ledger import READ, UNREAD, Ledger, Plan
from minicrawl.opic.schedule import Richest


class Strategy(Protocol):
    """Which page comes next."""

    def born(self, pages: Sequence[int]) -> None:
        """These pages have become known."""

    def take(self) -> int | None:
        """Lease the next page; None if no page waits."""

    def settled(self, plan: Plan) -> None:
        """The plan was posted; the lease of its page, if there was one, has ended."""

    def put_back(self, page: int) -> None:
        """The lease ended without a settlement: the page waits again."""


class Greedy:
    """The page that holds most cash; of the unread, the one that links gave most."""

    def __init__(self, ledger: Ledger, pool: int = UNREAD) -> None:
        self._richest = Richest(ledger.key, ledger.flags, pool)

    def born(self, pages: Sequence[int]) -> None:
        self._richest.offer(pages)

    def take(self) -> int | None:
        return self._richest.take()

    def settled(self, plan: Plan) -> None:
        self._richest.offer(plan.links)
        if plan.extras:
            self._richest.offer([page for page, _ in plan.extras])
        self._richest.release(plan.page)

    def put_back(self, page: int) -> None:
        self._richest.release(page)


class Cycle:
    """One after the other in the order of discovery, round and round.

    Over the unread pages this is breadth-first: ids are given in the order of discovery.
    """

    def __init__(self, ledger: Ledger, pool: int = UNREAD) -> None:
        self._flags = ledger.flags
        self._pool = pool
        self._next = 0
        self._leased: set[int] = set()

    def born(self, pages: Sequence[int]) -> None:
        """They come when the round reaches them."""

    def take(self) -> int | None:
        for start, end in ((self._next, len(self._flags)), (0, self._next)):
            page = self._flags.find(self._pool, start, end)
            while page in self._leased:
                page = self._flags.find(self._pool, page + 1, end)
            if page >= 0:
                self._next = page + 1
                self._leased.add(page)
                return page
        return None

    def settled(self, plan: Plan) -> None:
        self._leased.discard(plan.page)

    def put_back(self, page: int) -> None:
        self._leased.discard(page)


class Lottery:
    """Any page of the pool, with equal chance."""

    def __init__(self, ledger: Ledger, rng: Random, pool: int = UNREAD) -> None:
        self._flags = ledger.flags
        self._rng = rng
        self._pool = pool
        self._waiting = array("I")
        self._is_waiting = bytearray()

    def born(self, pages: Sequence[int]) -> None:
        self._is_waiting.extend(repeat(0, len(pages)))
        for page in pages:
            self._let_wait(page)

    def take(self) -> int | None:
        while self._waiting:
            drawn = self._rng.randrange(len(self._waiting))
            self._waiting[drawn], self._waiting[-1] = self._waiting[-1], self._waiting[drawn]
            page = self._waiting.pop()
            self._is_waiting[page] = 0
            if self._flags[page] == self._pool:
                return page
        return None

    def settled(self, plan: Plan) -> None:
        self._let_wait(plan.page)

    def put_back(self, page: int) -> None:
        self._let_wait(page)

    def _let_wait(self, page: int) -> None:
        if self._flags[page] == self._pool and not self._is_waiting[page]:
            self._is_waiting[page] = 1
            self._waiting.append(page)


OF_A_KNOWN_WEB: dict[str, Callable[[Ledger, int], Strategy]] = {
    "random": lambda ledger, seed: Lottery(ledger, Random(seed), READ),
    "cycle": lambda ledger, _seed: Cycle(ledger, READ),
    "greedy": lambda ledger, _seed: Greedy(ledger, READ),
}
"""Orders in which all pages of a known web are read again and again."""
