"""Hints of change: what hosts say of their pages, and how far each host has been right.

A sitemap that is read at noon, and says that a page changed on Monday, *vouches* for what was
read of it on Tuesday. A `Cache-Control: max-age` vouches from the moment of reading.

    page read          sitemap read     now
    Tuesday            noon             6 pm
       |---- vouched for ---|- not vouched -|

Vouched time counts less than other time, by the *doubt* about the host. The history of a page
says how probable a change was in its vouched time. The sum of these is `expected`, and `seen`
counts the changes that came, over all readings of the host:

    doubt = (seen + 1) / (expected + 1), at most 1

The doubt about an unknown host is 1: its hints count for nothing. It is .1 if nine changes were
expected and none came, and 1 again if they come after all. If only a part of the time was vouched
for, a change in it is divided between both parts.

A list of hosts to trust was rejected, and so was trust until the first lie: many sites write
today's date into every entry, and many others forget a page now and then.

stated   time of the last change of a page, by a sitemap, a feed or a ping of IndexNow
dated    time of the last change, by the `Last-Modified` of the page: watched since then, if true
"""

from __future__ import annotations

from array import array
from collections import Counter
from heapq import nlargest
from math import expm1

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Hosts = NDArray[np.uint32]

_FEW_CHANGED = 0.02
"""Largest share of changed pages among the vouched ones of a host whose pages are left out."""
_MOST_WEIGHT = 100.0
"""Weight of a host's readings at which all of them are halved."""
_MOST_KEPT = 200
_LEFT_OUT_A_READING = 10
"""Pages of a host that may be left out for each vouched page that this run has read. Without this
limit, all would be left out before a reading could show that the template of the site changed.
"""


class Ratios:
    """Ratio of a part to a whole for each host, from 0 to 1; the prior has the weight 1."""

    def __init__(self, prior: float) -> None:
        self._prior = prior
        self._part, self._whole, self._ratio = array("d"), array("d"), array("d")

    def add(self, host: int) -> None:
        """Make the host known."""
        while len(self._ratio) <= host:
            self._part.append(0.0)
            self._whole.append(0.0)
            self._ratio.append(self._prior)

    def __getitem__(self, host: int) -> float:
        return self._ratio[host]

    def of(self, hosts: Hosts) -> Floats:
        """Return the ratio of each of these hosts."""
        return np.frombuffer(self._ratio)[hosts]

    def learn(self, host: int, part: float, whole: float) -> None:
        """Count another part of another whole."""
        self._set(host, self._part[host] + part, self._whole[host] + whole)

    def kept(self) -> dict[str, tuple[float, float]]:
        """Return the parts and wholes of the hosts that were counted most, for the next run.

        They are written with each commit, so there are few.
        """
        hosts = nlargest(_MOST_KEPT, range(len(self._whole)), key=self._whole.__getitem__)
        counted = (host for host in hosts if self._whole[host])
        return {str(host): (self._part[host], self._whole[host]) for host in counted}

    def restore(self, stored: object) -> None:
        """Load what `kept` returned, for known hosts; ignore what a damaged store has instead."""
        if not isinstance(stored, dict):
            return
        for host in range(len(self._whole)) if stored else ():
            match stored.get(str(host)):
                case [int() | float() as part, int() | float() as whole] if 0 <= part <= whole:
                    self._set(host, part, whole)

    def _set(self, host: int, part: float, whole: float) -> None:
        # Old readings count less and less, as a host may begin to lie.
        fewer = min(_MOST_WEIGHT / 2 / whole, 1.0) if whole >= _MOST_WEIGHT else 1.0
        self._part[host], self._whole[host] = part * fewer, whole * fewer
        ratio = (self._part[host] + self._prior) / (self._whole[host] + 1)
        self._ratio[host] = min(max(ratio, 0.0), 1.0)


class ChangeHints:
    """Hints about pages that were read, by their places."""

    def __init__(self, hosts: array[int]) -> None:
        """`hosts` has the host of each page, and grows before a page is added."""
        self._hosts = hosts
        self._listed_until, self._cached_until = array("d"), array("d")
        self._dated = array("d")
        self._changed = bytearray()
        self._listed, self._cached, self._dates = Ratios(1.0), Ratios(1.0), Ratios(1.0)
        self._readings, self._left_out = Counter[int](), Counter[int]()
        """Numbers by host in this run: readings of vouched pages, and pages left out."""
        self._excess, self.unchanged = Ratios(0.5), Ratios(0.5)
        """Share of changes beyond the expected ones, among pages that are said to have changed; and
        share of unchanged pages, among those that are said to be unchanged.
        """

    def add(self, host: int, first_at: float, dated: float | None) -> None:
        """Add the next page: its host, its first reading, and the date in its headers."""
        self._listed_until.append(0.0)
        self._cached_until.append(0.0)
        self._dated.append(first_at if dated is None else min(dated, first_at))
        self._changed.append(0)
        for column in (self._listed, self._cached, self._dates, self._excess, self.unchanged):
            column.add(host)

    def listed(self, place: int, stated: float, last_at: float, now: float) -> None:
        """Note that a sitemap, feed or ping states now when the page last changed."""
        # A sitemap may lag behind a ping, so it takes nothing back before the page is read.
        self._changed[place] |= stated > last_at
        self._listed_until[place] = 0.0 if self._changed[place] else now

    def cached(self, place: int, until: float) -> None:
        """Note that a response may be cached until then."""
        self._cached_until[place] = until

    def watched_s(self, places: Places, first_at: Floats, last_at: Floats) -> Floats:
        """Return how long pages were watched: between readings, and before as far as believed."""
        before = first_at - np.frombuffer(self._dated)[places]
        believed = 1 - self._dates.of(self._hosts_of(places))
        return np.abs(last_at - first_at) + believed * before

    def age_s(self, places: Places, last_at: Floats, today: float) -> Floats:
        """Return the time since the last readings of pages, less what is vouched for."""
        hosts, believed = self._hosts_of(places), np.zeros(len(places))
        for until, doubts in self._vouchers():
            vouched = np.minimum(np.frombuffer(until)[places], today) - last_at
            believed = np.maximum(believed, vouched * (1 - doubts.of(hosts)))
        return np.abs(today - last_at) - believed

    def chance(self, places: Places, rates: Floats, age_s: Floats) -> Floats:
        """Return how probable it is that pages have changed, at these rates in this time."""
        said = np.frombuffer(self._changed, dtype=np.uint8)[places]
        unchanged = np.exp(-rates * age_s)
        return 1 - unchanged * (1 - said * self._excess.of(self._hosts_of(places)))

    def leaves_out(self, place: int, began_at: float) -> bool:
        """Return whether to leave the page out of this run, and count it if so.

        It is left out if its host has vouched for it since the run began, has nearly always been
        right, and has been tested by enough readings in this run.
        """
        host = self._hosts[place]
        is_enough = (
            self._listed_until[place] >= began_at
            and 1 - self.unchanged[host] <= _FEW_CHANGED
            and self._left_out[host] < _LEFT_OUT_A_READING * self._readings[host]
        )
        self._left_out[host] += is_enough
        return is_enough

    def learn(
        self,
        place: int,
        rate: float,
        last_at: float,
        today: float,
        dated: float | None,
        *,
        changed: bool,
    ) -> None:
        """Compare what was said of a page with what was read, at `rate` changes a second."""
        host, age_s = self._hosts[place], abs(today - last_at)
        for until, doubts in self._vouchers():
            vouched_s = min(until[place], today) - last_at
            if vouched_s > 0:
                doubted_s = doubts[host] * vouched_s
                part = doubted_s / (doubted_s + age_s - vouched_s)
                doubts.learn(host, changed * part, -expm1(-rate * vouched_s))
        if self._listed_until[place] > last_at:
            self._readings[host] += 1
            self.unchanged.learn(host, not changed, 1)
        if self._changed[place]:
            expected = -expm1(-rate * age_s)
            self._excess.learn(host, changed - expected, 1 - expected)
        if changed:
            self._dates.learn(host, dated is None or dated <= last_at, 1)
        self._changed[place] = 0

    def _vouchers(self) -> tuple[tuple[array[float], Ratios], ...]:
        return (self._listed_until, self._listed), (self._cached_until, self._cached)

    def _hosts_of(self, places: Places) -> Hosts:
        return np.frombuffer(self._hosts, dtype=np.uint32)[places]
