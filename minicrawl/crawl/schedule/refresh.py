"""Chooses the page to read again: the best one by the strategy of the crawl.

Laws: the order of reading again follows the strategy. For any host that may be contacted, its best
page as of now is found: a page that is given cash moves up at once, as an unread page does.

worth   the value that the strategy orders pages by, see `worth` below
listed  A host lists its best waiting pages with their worth: one in 32, and at least `FEWEST`. A
        page that is given cash enters the list if its worth exceeds the least one listed when the
        list was made. An empty list is made anew.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from math import inf
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger import Plan
from minicrawl.store.records import DocumentRow

# ================================================================ worth
#
# Worth of reading a page again, by the strategy of the crawl.
#
# siblings, greedy  cash × probability of change
# random            a random time at which the page is due: any page has an equal chance
# breadth-first     time since the page was read: pages have their turns in a fixed cycle
#
# rate    changes per second: (changes + 1/2) / (seconds watched + a prior week); so a page without
#         history counts as one that changes once a fortnight
# chance  probability that a page has changed since the last reading: 1 - exp(-rate × age)
# age     time since the last reading; its absolute value, as the clock may have been turned back

Floats = NDArray[np.float64]
CashOf = Callable[[NDArray[np.uint32]], Floats]

_WEEK_S = 7 * 86_400.0
_HALF = 0.5


def chance(first_at: Floats, last_at: Floats, changes: NDArray[np.uint32], today: float) -> Floats:
    """Return the probability that pages have changed since their last reading."""
    rate = (changes + _HALF) / (np.abs(last_at - first_at) + _WEEK_S)
    return -np.expm1(-rate * np.abs(today - last_at))


class Readings(NamedTuple):
    """Pages that were read: present cash, times of reading, and numbers of changes."""

    pages: NDArray[np.uint32]
    cash: CashOf
    first_at: Floats
    last_at: Floats
    changes: NDArray[np.uint32]
    today: float


Worth = Callable[[Readings], Floats]
"""Returns the worth of pages; the page worth most is read again first."""


def by_cash(readings: Readings) -> Floats:
    """Return cash × probability of change."""
    pages, cash, first_at, last_at, changes, today = readings
    return cash(pages) * chance(first_at, last_at, changes, today)


def by_age(readings: Readings) -> Floats:
    """Return the negated time of reading: the page read longest ago comes first."""
    return -readings.last_at


class RandomRevisits:
    """Random order: each page is due a random time after the one drawn before it.

    Any page has an equal chance. The draws are the same in every run.
    """

    def __init__(self) -> None:
        self._due: dict[int, tuple[float, float]] = {}
        self._rng, self._now = Random(0), 0.0

    def __call__(self, readings: Readings) -> Floats:
        rows = zip(readings.pages.tolist(), readings.last_at.tolist(), strict=True)
        return -np.array([self._due_at(page, last_at) for page, last_at in rows])

    def _due_at(self, page: PageId, last_at: float) -> float:
        """Return when a page is due that was last read at this time of day."""
        drawn_at, due = self._due.get(page, (-inf, 0.0))
        if drawn_at != last_at:
            self._now = max(self._now, due)
            due = self._now + self._rng.expovariate(1.0)
            self._due[page] = last_at, due
        return due


def worth_of(strategy: str) -> Worth:
    """Return the order in which a crawl with this strategy reads pages again."""
    match strategy:
        case "breadth-first":
            return by_age
        case "random":
            return RandomRevisits()
    return by_cash  # also with the order of a package, which says nothing of read pages


# ================================================================ refresh

FEWEST = 4
"""Least number of pages of a host that are listed at once; a large host lists one in 32."""
_AT_ONCE = 1000
"""Number of hosts that are put in order at once: after a start there are many."""
_SLACK = 64
"""Outdated entries of a list, or of the order, that are tolerated before it is made anew."""
_LOOK_AT, _LOOK_S = 16, 0.05
"""Number of plans, and time, after which payments are looked at."""
_NOTABLE = 1 / 16
"""Relative change of a page's worth that has it listed anew."""

# ---------------------------------------------------------------- pages


class WatchedPages:
    """Pages that were read: times of reading, numbers of changes, and which of them wait."""

    def __init__(self, worth: Worth, cash: CashOf) -> None:
        self._worth, self._cash = worth, cash
        self._place_of = array("i")  # place of each page, or -1
        self._of_host: dict[int, array[int]] = {}
        self._waiting_of: dict[int, int] = {}
        self._pages = array("I")
        self._hosts = array("I")
        self._first_at = array("d")
        self._last_at = array("d")
        self._changes = array("I")
        self._waits = bytearray()
        self._listed = array("d")  # worth with which each page is listed, or -inf
        self.waiting = 0

    def __contains__(self, page: PageId) -> bool:
        return page < len(self._place_of) and self._place_of[page] >= 0

    def add(self, document: DocumentRow, host: int, *, waits: bool) -> None:
        """Add a page that was read for the first time."""
        page, place = document.page, len(self._pages)
        if page >= len(self._place_of):
            missing = max(page + 1, len(self._place_of) * 9 // 8) - len(self._place_of)
            self._place_of.frombytes(b"\xff" * 4 * missing)
        self._place_of[page] = place
        self._of_host.setdefault(host, array("I")).append(place)
        self._pages.append(page)
        self._hosts.append(host)
        self._first_at.append(document.first_at)
        self._last_at.append(document.last_at)
        self._changes.append(document.changes)
        self._waits.append(0)
        self._listed.append(-inf)
        self.set_waits(page, waits)

    def update(self, document: DocumentRow) -> None:
        """Update a page that was read again."""
        place = self._place_of[document.page]
        self._last_at[place] = document.last_at
        self._changes[place] = document.changes

    def set_waits(self, page: PageId, waits: int) -> None:
        """Set whether the page waits to be read again, and unlist it."""
        place = self._place_of[page]
        more = waits - self._waits[place]
        host = self._hosts[place]
        self.waiting += more
        self._waiting_of[host] = self._waiting_of.get(host, 0) + more
        self._waits[place] = waits
        self._listed[place] = -inf

    def forget(self, page: PageId) -> None:
        """Drop a page that may not be requested again."""
        self._place_of[page] = -1

    def put_first(self, page: PageId) -> None:
        """Let the page wait, listed before all others."""
        self.set_waits(page, 1)
        self._listed[self._place_of[page]] = inf

    def is_listed(self, worth: float, page: PageId) -> bool:
        """Return whether the page waits and is listed with this worth."""
        place = self._place_of[page]
        return place >= 0 and self._listed[place] == worth

    def best_of(self, host: int, today: float) -> list[tuple[float, int]]:
        """List the host's best waiting pages, and return them best first as (-worth, page)."""
        places = np.frombuffer(self._of_host[host], dtype=np.uint32).astype(np.intp)
        places = places[np.frombuffer(self._waits, dtype=np.uint8)[places] > 0]
        listed, worths = np.frombuffer(self._listed), self._worth_at(places, today)
        worths[listed[places] == inf] = inf
        listed[places] = -inf
        best = np.argsort(-worths, kind="stable")[: _most(len(places))]
        listed[places[best]] = worths[best]
        pages = np.frombuffer(self._pages, dtype=np.uint32)[places[best]]
        return list(zip((-worths[best]).tolist(), pages.tolist(), strict=True))

    def waiting_of(self, host: int) -> int:
        """Return the number of waiting pages of the host."""
        return self._waiting_of.get(host, 0)

    def list_paid(
        self, pages: NDArray[np.uint32], floor_of: array[float], today: float
    ) -> list[tuple[int, int, float]]:
        """List the paid pages whose worth reaches the floors of their hosts.

        Return them as (host, page, worth).
        """
        if not self._pages:
            return []
        known = np.frombuffer(self._place_of, dtype=np.int32)
        places = known[pages[pages < len(known)]].astype(np.intp)
        places = places[places >= 0]
        places = places[np.frombuffer(self._waits, dtype=np.uint8)[places] > 0]
        hosts = np.frombuffer(self._hosts, dtype=np.uint32)[places]
        listed, worths = np.frombuffer(self._listed), self._worth_at(places, today)
        before = listed[places]
        is_other = np.abs(worths - before) > _NOTABLE * np.abs(before)
        is_new = (before == -inf) & (worths >= np.frombuffer(floor_of)[hosts])
        found = np.flatnonzero(is_new | (is_other & np.isfinite(before)))
        listed[places[found]] = worths[found]
        pages = np.frombuffer(self._pages, dtype=np.uint32)[places[found]]
        rows = hosts[found].tolist(), pages.tolist(), worths[found].tolist()
        return list(zip(*rows, strict=True))

    def _worth_at(self, places: NDArray[np.intp], today: float) -> Floats:
        return self._worth(
            Readings(
                np.frombuffer(self._pages, dtype=np.uint32)[places],
                self._cash,
                np.frombuffer(self._first_at)[places],
                np.frombuffer(self._last_at)[places],
                np.frombuffer(self._changes, dtype=np.uint32)[places],
                today,
            )
        )


# ---------------------------------------------------------------- hosts


class RefreshScheduler:
    """Chooses the page to read again next.

    A host that may not be contacted leaves the order when its turn comes. It returns when the
    caller reports that it may be contacted.
    """

    def __init__(
        self,
        host_of: Sequence[int],
        worth: Worth,
        cash: CashOf,
        today: Callable[[], float],
        *,
        endless: bool,
    ) -> None:
        """Set up.

        Each page is read again once in a run; in an endless run, as often as time allows.
        """
        self._host_of, self._today, self._endless = host_of, today, endless
        self._watched = WatchedPages(worth, cash)
        self._lists: dict[int, list[tuple[float, int]]] = {}
        self._floors = array("d")  # worth of each host's worst listed page when its list was made
        self._best: dict[int, float] = {}  # worth of each listed host's best page
        self._order: list[tuple[float, int]] = []  # heaps of hosts, best page first
        self._of_all: list[tuple[float, int]] = []
        self._coming: dict[int, None] = {}  # hosts that may belong in the order
        self._paid, self._plans, self._looked_at = array("I"), 0, 0.0

    # ------------------------------------------------------------ pages

    def saw(self, document: DocumentRow, *, just_now: bool = False) -> None:
        """Note that the page was read, for the first time or again.

        In a run that ends, pages read for the first time `just_now` are left to the next run.
        """
        if document.page in self._watched:
            self._watched.update(document)
            return
        host, waits = self._host_of[document.page], self._endless or not just_now
        self._watched.add(document, host, waits=waits)
        while host >= len(self._floors):
            self._floors.append(inf)
        if waits:
            self.look_again(host)

    def posted(self, plans: Iterable[Plan]) -> None:
        """Note the pages of plans: they were paid, or spent their cash."""
        for plan in plans:
            self._paid.extend(plan.links)
            self._paid.extend([page for page, _ in plan.extras])
            self._paid.append(plan.page)
            self._plans += 1

    def release(self, page: PageId) -> None:
        """End the turn of the page."""
        if self._endless:
            self._watched.set_waits(page, 1)
            self.look_again(self._host_of[page])

    def forget(self, page: PageId) -> None:
        """Drop a page that may not be requested again."""
        self._watched.forget(page)

    def give_back(self, page: PageId) -> None:
        """End the lease of a page that was not requested: it waits again, and is the next one."""
        host = self._host_of[page]
        self._watched.put_first(page)
        heappush(self._lists.setdefault(host, []), (-inf, page))
        self.look_again(host)

    def has_more(self) -> bool:
        """Return whether pages wait for their turn."""
        return self._watched.waiting > 0

    # ------------------------------------------------------------ hosts

    def look_again(self, host: int) -> None:
        """Reconsider the host, which may be contacted."""
        self._coming[host] = None

    def best_host(self) -> int | None:
        """Return the host with the best page of all hosts, whether it may be contacted or not."""
        self._look()
        while self._of_all and self._is_outdated(self._of_all[0]):
            heappop(self._of_all)
        return self._of_all[0][1] if self._of_all else None

    def leave(self, host: int) -> None:
        """Pass over the best host of all until it may be contacted."""
        assert self._of_all[0][1] == host
        heappop(self._of_all)

    def next_host(self, may_be_asked: Callable[[int], bool]) -> int | None:
        """Remove and return the host with the best page, among those that may be contacted."""
        while True:
            self._look()
            while self._order:
                entry = heappop(self._order)
                if not self._is_outdated(entry) and may_be_asked(entry[1]):
                    return entry[1]
            if not self._coming:
                return None

    def take_of(self, host: int) -> int | None:
        """Lease the host's best page; None if it has no waiting page."""
        if self._list(host) is None:
            return None
        _, page = heappop(self._lists[host])
        self._watched.set_waits(page, 0)
        self._show(host)
        return page

    def _is_outdated(self, entry: tuple[float, int]) -> bool:
        return self._best.get(entry[1]) != -entry[0]

    def _look(self) -> None:
        """Order the hosts by everything that has happened since."""
        now = self._today()
        if self._plans >= _LOOK_AT or (self._plans and abs(now - self._looked_at) >= _LOOK_S):
            self._look_at_paid(now)
        for _ in range(min(_AT_ONCE, len(self._coming))):
            self._show(self._coming.popitem()[0])

    def _look_at_paid(self, now: float) -> None:
        paid, self._paid = np.unique(np.frombuffer(self._paid, dtype=np.uint32)), array("I")
        self._plans, self._looked_at = 0, now
        changed = set()
        for host, page, worth in self._watched.list_paid(paid, self._floors, now):
            heappush(self._lists[host], (-worth, page))
            changed.add(host)
        for host in changed:
            self._show(host)

    def _show(self, host: int) -> None:
        """Put the host in order, by its best page."""
        best = self._list(host)
        if best is None:
            self._best.pop(host, None)
            return
        self._best[host] = best
        heappush(self._order, (-best, host))
        heappush(self._of_all, (-best, host))
        self._order = self._tidied(self._order)
        self._of_all = self._tidied(self._of_all)

    def _tidied(self, order: list[tuple[float, int]]) -> list[tuple[float, int]]:
        if len(order) <= 4 * len(self._best) + _SLACK:
            return order
        order = [(-best, host) for host, best in self._best.items()]
        heapify(order)
        return order

    def _list(self, host: int) -> float | None:
        """Return the worth of the host's best waiting page, making its list anew if needed."""
        waiting = self._watched.waiting_of(host)
        if not waiting:
            return None
        found = self._lists.setdefault(host, [])
        while found and not self._watched.is_listed(-found[0][0], found[0][1]):
            heappop(found)
        if not found or len(found) > 4 * _most(waiting) + _SLACK:
            self._lists[host] = found = self._watched.best_of(host, self._today())
            self._floors[host] = -inf if len(found) == waiting else -found[-1][0]
        return -found[0][0]


def _most(waiting: int) -> int:
    """Return how many of the waiting pages of a host are listed at once."""
    return max(FEWEST, waiting >> 5)
