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
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.hints_of_change import ChangeHints, Floats
from minicrawl.crawl.schedule.worth import HALF, WEEK_S, CashOf, Readings, Worth
from minicrawl.model import PageId, StatedChanges
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.store.records import DocumentRow
from minicrawl.web.responses.headers import http_date

FEWEST = 4
"""Least number of pages of a host that are listed at once; a large host lists one in 32."""
_AT_ONCE = 1000
"""Number of hosts that enter the order at once: after a start there are many."""
_SLACK = 64
"""Number of entries, beyond four times the needed ones, after which a heap is made anew."""
_LISTED_A_TURN = 64
"""Number of waiting pages that may be listed anew for each turn, host by host."""
_LOOK_AT, _LOOK_S = 16, 0.05
"""Number of plans, or time since the last look, after which payments are looked at."""
_ROTATION, _HOUR_S = 11, 3600.0
"""A run that begins in the hour of a page, one in this many, does not leave the page out. A prime:
with 12, a run every 24 hours would always come to the same pages.
"""
_NOTABLE = 1 / 16
"""Relative change of a page's worth from which it is listed anew."""

# ---------------------------------------------------------------- pages


class WatchedPages:
    """Pages that were read: times of reading, numbers of changes, and which of them wait."""

    def __init__(
        self,
        worth: Worth,
        cash: CashOf,
        mean_cash: Callable[[], float] = lambda: 1.0,
        began_at: float = 0.0,
    ) -> None:
        self._worth, self._cash, self._mean_cash = worth, cash, mean_cash
        self._began_at = began_at
        self._place_of = array("i")  # place of each page, or -1
        self._of_host: dict[int, array[int]] = {}
        self._waiting_of: dict[int, int] = {}
        self._pages = array("I")
        self._hosts = array("I")
        self._first_at = array("d")
        self._last_at = array("d")
        self._changes = array("I")
        self._new_links = array("I")  # found by reading the page again in this run
        self.hints = ChangeHints(self._hosts)
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
        self._new_links.append(0)
        self.hints.add(host, document.first_at, dated_at(document))
        self._waits.append(0)
        self._listed.append(-inf)
        self.set_waits(page, waits)

    def update(self, document: DocumentRow) -> None:
        """Update a page that was read again."""
        place = self._place_of[document.page]
        last_at = self._last_at[place]
        if document.last_at != last_at:
            rate = float(self._rates(np.array([place]))[0])
            changed = document.changes != self._changes[place]
            dated = dated_at(document)
            self.hints.learn(place, rate, last_at, document.last_at, dated, changed=changed)
        self._last_at[place] = document.last_at
        self._changes[place] = document.changes

    def stated(self, page: PageId, stated_at: float, today: float) -> bool:
        """Note when a page has changed, as its host states. Return whether it was read."""
        place = self._place_of[page] if page < len(self._place_of) else -1
        if place >= 0:
            self.hints.listed(place, stated_at, self._last_at[place], today)
        return place >= 0

    def found(self, page: PageId, new_links: int) -> None:
        """Count the new links that were found by reading the page again."""
        self._new_links[self._place_of[page]] += new_links

    def cached(self, page: PageId, seconds: float) -> None:
        """Note for how long the response of a page that was read may be cached."""
        place = self._place_of[page]
        self.hints.cached(place, self._last_at[place] + seconds)

    def leaves_out(self, page: PageId, began_at: float) -> bool:
        """Return whether a page need not be read again in the run that began then, and count it."""
        return self.hints.leaves_out(self._place_of[page], began_at)

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
        """Drop a page that may not be requested again, if it is here."""
        if page in self:
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
        """List the paid pages whose worth reaches the floor of the host, or has changed notably.

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
        last_at = np.frombuffer(self._last_at)[places]
        age_s = self.hints.age_s(places, last_at, today)
        new_links = np.frombuffer(self._new_links, dtype=np.uint32)[places]
        since = np.maximum(np.frombuffer(self._first_at)[places], self._began_at)
        watched_s = np.abs(last_at - since) + WEEK_S
        return self._worth(
            Readings(
                np.frombuffer(self._pages, dtype=np.uint32)[places],
                self._cash,
                last_at,
                self.hints.chance(places, self._rates(places), age_s),
                new_links / watched_s * age_s * self._mean_cash(),
            )
        )

    def _rates(self, places: NDArray[np.intp]) -> Floats:
        """Return the changes a second of pages, as far as they are known."""
        first_at, last_at = (
            np.frombuffer(self._first_at)[places],
            np.frombuffer(self._last_at)[places],
        )
        watched_s = self.hints.watched_s(places, first_at, last_at)
        changes = np.frombuffer(self._changes, dtype=np.uint32)[places]
        return (changes + HALF) / (watched_s + WEEK_S)


def dated_at(document: DocumentRow) -> float | None:
    """Return the moment in the Last-Modified of a page, if it has one."""
    date = http_date(document.last_modified or "")
    return None if date is None else date.timestamp()


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
        mean_cash: Callable[[], float] = lambda: 1.0,
    ) -> None:
        """Set up; `mean_cash` returns the cash that the average page holds.

        Each page is read again once in a run; in an endless run, as often as time allows.
        """
        self._host_of, self._today, self._endless = host_of, today, endless
        self._watched = WatchedPages(worth, cash, mean_cash, today())
        self._lists: dict[int, list[tuple[float, int]]] = {}
        self._floors = array("d")  # worth of each host's worst listed page when its list was made
        self._best: dict[int, float] = {}  # worth of each listed host's best page
        self._order: list[tuple[float, int]] = []  # heap of available hosts, best page first
        self._of_all: list[tuple[float, int]] = []  # heap of all hosts, best page first
        self._coming: dict[int, None] = {}  # hosts that may belong in the order
        self._paid, self._plans, self._looked_at = array("I"), 0, 0.0
        self._rotation: deque[int] = deque()  # hosts, the next one to be listed anew first
        self._credit = 0
        self._began_at = today()
        self.sitemap_records = self._watched.hints.unchanged
        """How often the sitemap of each host was right about pages that have not changed."""
        self.left_out = 0
        """Number of pages that are not read in this run, as their host vouches for them."""

    # ------------------------------------------------------------ pages

    def __contains__(self, page: PageId) -> bool:
        return page in self._watched

    def saw(self, document: DocumentRow, *, just_now: bool = False) -> None:
        """Note that the page was read, for the first time or again.

        In a run that ends, pages read for the first time `just_now` are left to the next run.
        """
        if document.page in self._watched:
            self._watched.update(document)
            return
        host, waits = self._host_of[document.page], self._endless or not just_now
        if host not in self._lists:
            self._lists[host] = []
            self._rotation.append(host)
        self._watched.add(document, host, waits=waits)
        while host >= len(self._floors):
            self._floors.append(inf)
        if waits:
            self.look_again(host)

    def hear(self, page_of: Mapping[str, int], changed: StatedChanges) -> None:
        """Note when pages last changed, by a sitemap or a feed."""
        self.stated((page_of[url], stated_at) for url, stated_at in changed if url in page_of)

    def stated(self, changed: Iterable[tuple[PageId, float]]) -> None:
        """Note when pages last changed, as their hosts state."""
        now = self._today()
        for page, stated_at in changed:
            if self._watched.stated(page, stated_at, now):
                self._paid.append(page)  # its worth has changed, as if it had been paid
        self._plans += 1

    def cached(self, page: PageId, seconds: float) -> None:
        """Note for how long the response of a page that was read may be cached."""
        self._watched.cached(page, seconds)

    def found(self, page: PageId, new_links: int) -> None:
        """Count the new links that were found by reading the page again."""
        self._watched.found(page, new_links)

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
        heappush(self._lists[host], (-inf, page))
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
        self._list_next_anew()
        return page

    def _list_next_anew(self) -> None:
        """List the next host anew, if there were enough turns since the last one.

        Pages that are not paid become worth more as well: they age, and the virtual page pays them.
        """
        self._credit += _LISTED_A_TURN
        host = self._rotation[0]
        waiting = self._watched.waiting_of(host)
        if waiting <= self._credit:
            self._credit = min(self._credit - waiting, _LISTED_A_TURN)
            self._rotation.rotate(-1)
            self._lists[host] = []
            self._show(host)

    def _is_outdated(self, entry: tuple[float, int]) -> bool:
        return self._best.get(entry[1]) != -entry[0]

    def _look(self) -> None:
        """Update the order of hosts by what has happened since the last look."""
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
        """Enter the host into the order, by its best page."""
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
        while waiting := self._watched.waiting_of(host):
            found = self._lists[host]
            while found and not self._watched.is_listed(-found[0][0], found[0][1]):
                heappop(found)
            if not found or len(found) > 4 * _most(waiting) + _SLACK:
                self._lists[host] = found = self._watched.best_of(host, self._today())
                self._floors[host] = -inf if len(found) == waiting else -found[-1][0]
            if self._endless or not self._leaves_out(found[0][1]):
                return -found[0][0]
            self._watched.set_waits(found[0][1], 0)
            self.left_out += 1
        return None

    def _leaves_out(self, page: PageId) -> bool:
        # Each page has an hour in which it is read, by its number: so lies are found out, and no
        # page is left out for ever, unless the runs begin a multiple of `_ROTATION` hours apart.
        is_its_turn = (page + int(self._began_at // _HOUR_S)) % _ROTATION == 0
        return not is_its_turn and self._watched.leaves_out(page, self._began_at)


def _most(waiting: int) -> int:
    """Return how many of the waiting pages of a host are listed at once."""
    return max(FEWEST, waiting >> 5)
