"""Pages that were read: times of reading, numbers of changes, and which of them wait.

A host lists its best waiting pages with their worth: one in 32, and at least `FEWEST`. A page that
is given cash enters the list if its worth exceeds the least one listed when the list was made.

Law: a page is listed with the worth that it had when it was listed, or with none.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.crawl.schedule.hints_of_change import ChangeHints, Floats
from minicrawl.crawl.schedule.worth import HALF, WEEK_S, CashOf, Readings, Worth
from minicrawl.model import PageId
from minicrawl.store.records import DocumentRow
from minicrawl.web.responses.headers import http_date

FEWEST = 4
"""Least number of pages of a host that are listed at once; a large host lists one in 32."""
_NOTABLE = 1 / 16
"""Relative change of a page's worth from which it is listed anew."""


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
            self.set_waits(page, 0)  # it may wait, if it was reopened and leased as an unread page
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
        best = np.argsort(-worths, kind="stable")[: most_listed(len(places))]
        listed[places[best]] = worths[best]
        pages = np.frombuffer(self._pages, dtype=np.uint32)[places[best]]
        return list(zip((-worths[best]).tolist(), pages.tolist(), strict=True))

    def waiting_of(self, host: int) -> int:
        return self._waiting_of.get(host, 0)

    def list_paid(
        self, pages: NDArray[np.uint32], floor_of: array[float], today: float
    ) -> list[tuple[int, int, float]]:
        """List paid pages whose worth reaches the floor or has changed: host, page, worth."""
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
        chosen = np.flatnonzero(is_new | (is_other & np.isfinite(before)))
        listed[places[chosen]] = worths[chosen]
        pages = np.frombuffer(self._pages, dtype=np.uint32)[places[chosen]]
        rows = hosts[chosen].tolist(), pages.tolist(), worths[chosen].tolist()
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
        first_at = np.frombuffer(self._first_at)[places]
        last_at = np.frombuffer(self._last_at)[places]
        watched_s = self.hints.watched_s(places, first_at, last_at)
        changes = np.frombuffer(self._changes, dtype=np.uint32)[places]
        return (changes + HALF) / (watched_s + WEEK_S)


def dated_at(document: DocumentRow) -> float | None:
    """Return the moment in the Last-Modified of a page, if it has one."""
    date = http_date(document.last_modified or "")
    return None if date is None else date.timestamp()


def most_listed(waiting: int) -> int:
    """Return how many of the waiting pages of a host are listed at once."""
    return max(FEWEST, waiting >> 5)
