"""Which page should be read again? The best one by the strategy of the crawl.

Laws: the order of reading again follows the strategy. Whichever host may be asked, its best page is
found, as of now: a page that is given cash moves up at once, as an unread one does.

worth   what the strategy orders pages by, see `worth`
listed  A host lists its best waiting pages with their worth: one in 32, and at least `FEWEST`. A
        page that is given cash enters the list when it is worth more than the worst of the pages
        that were chosen. When the list is empty, pages are chosen anew.
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
# How much a page that was read is worth to be read again, by the strategy of the crawl.
#
# siblings, greedy  cash × probability of change
# random            a random time at which the page is due: any page has an equal chance
# breadth-first     time since the page was read: pages have their turns in a fixed cycle
#
# rate    changes a second: (changes + 1/2) / (seconds watched + a prior week); so a page of which
#         nothing is known yet counts as one that changes once in a fortnight
# chance  that a page has changed since it was last seen: 1 - exp(-rate × age)
# age     time since then; its absolute value, as the clock may have been turned back

Floats = NDArray[np.float64]
CashOf = Callable[[NDArray[np.uint32]], Floats]

_WEEK_S = 7 * 86_400.0
_HALF = 0.5


def chance(first_at: Floats, last_at: Floats, changes: NDArray[np.uint32], today: float) -> Floats:
    """The probability that pages have changed since they were last seen."""
    rate = (changes + _HALF) / (np.abs(last_at - first_at) + _WEEK_S)
    return -np.expm1(-rate * np.abs(today - last_at))


class Readings(NamedTuple):
    """Pages that were read: what they hold now, when they were read and how often they changed."""

    pages: NDArray[np.uint32]
    cash: CashOf
    first_at: Floats
    last_at: Floats
    changes: NDArray[np.uint32]
    today: float


Worth = Callable[[Readings], Floats]
"""Answers with the worth of pages; the page worth most is read again first."""


def by_cash(readings: Readings) -> Floats:
    """Cash × probability of change."""
    pages, cash, first_at, last_at, changes, today = readings
    return cash(pages) * chance(first_at, last_at, changes, today)


def by_age(readings: Readings) -> Floats:
    """The page that was read the longest time ago comes first: a fixed cycle."""
    return -readings.last_at


class ByLot:
    """Any page with equal chance: each is due a random time after the page before it, and the page
    that is due first is read. The draws are the same in every run.
    """

    def __init__(self) -> None:
        self._due: dict[int, tuple[float, float]] = {}
        self._rng, self._now = Random(0), 0.0

    def __call__(self, readings: Readings) -> Floats:
        rows = zip(readings.pages.tolist(), readings.last_at.tolist(), strict=True)
        return -np.array([self._due_at(page, last_at) for page, last_at in rows])

    def _due_at(self, page: PageId, last_at: float) -> float:
        """When the page is due that was read last at this time of day."""
        drawn_at, due = self._due.get(page, (-inf, 0.0))
        if drawn_at != last_at:
            self._now = max(self._now, due)
            due = self._now + self._rng.expovariate(1.0)
            self._due[page] = last_at, due
        return due


def worth_of(strategy: str) -> Worth:
    """The order in which a crawl with this strategy reads pages again."""
    match strategy:
        case "siblings" | "greedy":
            return by_cash
        case "breadth-first":
            return by_age
        case "random":
            return ByLot()
    raise ValueError(f"no order of reading again for the strategy {strategy!r}")


# ================================================================ refresh

FEWEST = 4
"""Pages of a host that are chosen at once; of a large host one in 32."""
_AT_ONCE = 1000
"""Hosts that are put in order at once: after a start there are many."""
_SLACK = 64
"""Entries of a list, or of the order, that may be out of date before all of these are dropped."""
_LOOK_AT, _LOOK_S = 16, 0.05
"""Payments are looked at after this many plans, or after this time."""
_NOTABLE = 1 / 16
"""A page is listed anew when its worth has changed by more than this part."""

# ---------------------------------------------------------------- pages


class WatchedPages:
    """The pages that were read: when, how often they had changed, and which of them wait."""

    def __init__(self, worth: Worth, cash: CashOf) -> None:
        self._worth, self._cash = worth, cash
        self._place_of = array("i")  # of each page: its place, or -1
        self._of_host: dict[int, array[int]] = {}
        self._waiting_of: dict[int, int] = {}
        self._pages = array("I")
        self._hosts = array("I")
        self._first_at = array("d")
        self._last_at = array("d")
        self._changes = array("I")
        self._waits = bytearray()
        self._listed = array("d")  # the worth with which a page is listed, or -inf
        self.waiting = 0

    def __contains__(self, page: PageId) -> bool:
        return page < len(self._place_of) and self._place_of[page] >= 0

    def add(self, document: DocumentRow, host: int, *, waits: bool) -> None:
        """The page was read for the first time."""
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
        """The page was read again."""
        place = self._place_of[document.page]
        self._last_at[place] = document.last_at
        self._changes[place] = document.changes

    def set_waits(self, page: PageId, waits: int) -> None:
        """Whether the page waits to be read again. It is not listed from now on."""
        place = self._place_of[page]
        more = waits - self._waits[place]
        host = self._hosts[place]
        self.waiting += more
        self._waiting_of[host] = self._waiting_of.get(host, 0) + more
        self._waits[place] = waits
        self._listed[place] = -inf

    def forget(self, page: PageId) -> None:
        """The page may not be asked for again."""
        self._place_of[page] = -1

    def put_first(self, page: PageId) -> None:
        """The page waits, and is listed before all others."""
        self.set_waits(page, 1)
        self._listed[self._place_of[page]] = inf

    def is_listed(self, worth: float, page: PageId) -> bool:
        """Whether the page waits and is listed with this worth."""
        place = self._place_of[page]
        return place >= 0 and self._listed[place] == worth

    def best_of(self, host: int, today: float) -> list[tuple[float, int]]:
        """List the host's best pages that wait, the best one first: (-worth, page)."""
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
        """How many pages of the host wait."""
        return self._waiting_of.get(host, 0)

    def list_paid(
        self, pages: NDArray[np.uint32], floor_of: array[float], today: float
    ) -> list[tuple[int, int, float]]:
        """List those of the paid pages that are worth as much as the floors of their hosts:
        (host, page, worth).
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
    """Chooses which of the pages that were read is read again next.

    A host that may not be asked leaves the order when its turn would have come. It comes back when
    somebody says that it may be asked.
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
        """A page is read again once in a run; in an endless run, as often as there is time."""
        self._host_of, self._today, self._endless = host_of, today, endless
        self._watched = WatchedPages(worth, cash)
        self._lists: dict[int, list[tuple[float, int]]] = {}
        self._floors = array("d")  # of each host: the worst of its pages when they were chosen
        self._best: dict[int, float] = {}  # of each host that has one: the worth of its best page
        self._order: list[tuple[float, int]] = []  # heaps of hosts, that with the best page first
        self._of_all: list[tuple[float, int]] = []
        self._coming: dict[int, None] = {}  # hosts that may belong into the order
        self._paid, self._plans, self._looked_at = array("I"), 0, 0.0

    # ------------------------------------------------------------ pages

    def saw(self, document: DocumentRow, *, just_now: bool = False) -> None:
        """The page was read, for the first time or again.

        In a run that ends, what was read `just_now` for the first time is left to the next run.
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
        """Pages were paid, or spent what they had."""
        for plan in plans:
            self._paid.extend(plan.links)
            self._paid.extend([page for page, _ in plan.extras])
            self._paid.append(plan.page)
            self._plans += 1

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
        self._watched.put_first(page)
        heappush(self._lists.setdefault(host, []), (-inf, page))
        self.look_again(host)

    def has_more(self) -> bool:
        """Whether pages wait for their turn."""
        return self._watched.waiting > 0

    # ------------------------------------------------------------ hosts

    def look_again(self, host: int) -> None:
        """The host may be asked."""
        self._coming[host] = None

    def best_host(self) -> int | None:
        """The host with the best page of all hosts, whether it may be asked or not."""
        self._look()
        while self._of_all and self._is_outdated(self._of_all[0]):
            heappop(self._of_all)
        return self._of_all[0][1] if self._of_all else None

    def leave(self, host: int) -> None:
        """Pass over the best host of all until it may be asked."""
        assert self._of_all[0][1] == host
        heappop(self._of_all)

    def next_host(self, may_be_asked: Callable[[int], bool]) -> int | None:
        """The host with the best page of those that may be asked. It leaves the order."""
        while True:
            self._look()
            while self._order:
                entry = heappop(self._order)
                if not self._is_outdated(entry) and may_be_asked(entry[1]):
                    return entry[1]
            if not self._coming:
                return None

    def take_of(self, host: int) -> int | None:
        """Lease the host's best page; None if it has no page that waits."""
        if self._list(host) is None:
            return None
        _, page = heappop(self._lists[host])
        self._watched.set_waits(page, 0)
        self._show(host)
        return page

    def _is_outdated(self, entry: tuple[float, int]) -> bool:
        return self._best.get(entry[1]) != -entry[0]

    def _look(self) -> None:
        """Order hosts by all that has happened."""
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
        """The worth of the host's best page that waits, after it was chosen if need be."""
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
    """How many of the waiting pages of a host are listed at once."""
    return max(FEWEST, waiting >> 5)
