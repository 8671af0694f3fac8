"""The importance of pages by the books alone: history and cash, with the cash of birth taken out.

Where all pages have been read for long, importance is what flowed through a page in its window. In
a crawl most pages were read once or never, and most of their cash is the unit that they were born
with. PageRank of the pages known gives each page the same amount and what links give it:

    x_i = u + Σ_j W_ji x_j          over the pages j that were read; W is what j gives to i of x_j

With h_j, what j handed on within the window, and r_i = Σ_j W_ji h_j, what links gave to i, the best
guess is x_i ~ c + r_i. It is right on average if what the read pages hold by it is what they handed
on, so

    c = mean(h - r)    over the n pages that were read

Example: a page that was born with 1, was given .4 by links and holds .6 now handed on .8, and is
worth c + .4. Did all hold what they were born with again, c would be what the virtual page gave:
then all of the unit has gone round, and nothing of it counts. Before any of it came back, c is 1.

b         what a page was born with: a unit, and its part of an endowment
ρ         the part of it that the window still remembers: 1 - age / T, the mean of the n pages
C, H      cash; what flowed in the window before the last reading
δ         what the virtual page gave. It gives all pages alike, so δ grows with the age: by the
          mean age of the n pages over that of the pages that wait, times what those were given
h - r     Σ over the n pages is Σ (ρ b - ρ C + δ), and at least e of what flowed and what links gave
          to pages that wait, as the virtual page gets e of all cash at least
c + r_i   of a page that was read: flow - ρ b_i + mean(ρ b) - ρ mean(C), δ being about the same for
          all; of a page never read exactly c + (key - b_i), as its key is what links gave it

What the pages hold they will hand on as well. Pages introduced long ago gain most: what introduced
them has been given to since, by k = Σ C / Σ H d of its history for each unit of G. So for a page
never read, of age a, r' = r (1 + k a). Σ h' = Σ (h + C), of which the virtual page gets its part v;
c' = mean(h' - r') follows, and the read pages share what is left to them in proportion to r.

The flow is interpolated: from the last reading until now the window either forgets, so that only
C counts, or believes that the page goes on as before. Which of the two is a question of change:

    flow = (1 - w) H + w (H (1 - d / T) + C),   w = 1 - chance / Σ (C - H d / T)²

The chance is 1/12 (1 + d / T) H d / T, summed: cash comes in lumps, and in a calm web what a page
holds is off by the spread of an even distribution, for each unit, as is its history.

Source: the paper (Abiteboul, Preda, Cobena 2003) has the update of H at a reading. The rest is our
own.

Laws: sums of slices add up to those of the whole; a page is estimated from its own numbers and the
sums. A window that is not one history judges by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic import estimate
from minicrawl.opic.ledger import READ, UNREAD, Ledger
from minicrawl.opic.money import UNIT
from minicrawl.opic.windows.interpolation import TICKS_IN_A_UNIT, Interpolation, Static, Window

Floats = NDArray[np.float64]

_CHANCE = 1 / 12
_MANY_LINKS = 1 << 20
_TINY = 1e-12


class Sums(NamedTuple):
    """Sums over some pages, in units and units of G. Those of several slices can be added."""

    read: float = 0.0
    """Pages that were read; the next four are sums over them."""
    born: float = 0.0
    held: float = 0.0
    age: float = 0.0
    history_by_distance: float = 0.0
    waiting: float = 0.0
    """Pages that were never read; the next three are sums over them."""
    given: float = 0.0
    waiting_age: float = 0.0
    given_by_age: float = 0.0
    chance: float = 0.0
    """Of the pages read within the window: how far cash is off what was promised by chance."""
    deviation: float = 0.0

    def plus(self, other: Sums) -> Sums:
        """The sums over both."""
        return Sums(*(one + more for one, more in zip(self, other, strict=True)))


class Level(NamedTuple):
    """What turns the books of a page into its importance. The defaults are those before any page
    was read.
    """

    change: float = 1.0
    """w: 0 where nothing changes, 1 where all does."""
    birth: float = 1.0
    """ρ."""
    offset: float = 0.0
    """The mean of ρ b, less that of ρ C."""
    least: float = 1.0
    """c."""
    base: float = 1.0
    """c' of the pages; `factor` times what links gave is added."""
    factor: float = 1.0
    growth: float = 0.0
    """k."""


class _Seen(NamedTuple):
    """What the books say of some pages, in units and units of G."""

    history: Floats
    cash: Floats
    distance: Floats
    age: Floats
    birth: Floats
    given: Floats
    """By links, to pages that were never read."""
    is_read: NDArray[np.bool_]
    waits: NDArray[np.bool_]


class Importance:
    """The estimate of a crawl: the importance of pages by a ledger and its window."""

    def __init__(
        self,
        ledger: Ledger,
        window: Window | None = None,
        stands_for: Callable[[PageId], PageId] | None = None,
    ) -> None:
        """`window` is the first one of the ledger unless another is given. A seed that stands for
        another page handed its endowment to that one.
        """
        self._ledger = ledger
        self._window = ledger.windows[0] if window is None else window
        self._stands_for = stands_for
        self._endowed, self._endowments = np.empty(0, dtype=np.int64), np.empty(0)
        """The pages that were endowed, in order, and with how much, when the last lap began."""
        self._endowment = 0.0

    @property
    def _width(self) -> float:
        """T, in units of G."""
        if isinstance(self._window, Interpolation):
            return max(self._window.width * self._ledger.minted / UNIT, _TINY)
        return np.inf

    def sums(self, first: int = 0, end: int | None = None) -> Sums:
        """The sums over a range of pages."""
        if not isinstance(self._window, Interpolation | Static):
            return Sums()
        if not first:
            self._look_up_endowments()
        seen, width = self._seen(first, len(self._ledger) if end is None else end), self._width
        read, waits = seen.is_read, seen.waits
        history, cash, distance = (
            column[read] for column in (seen.history, seen.cash, seen.distance)
        )
        within = distance < width
        promised = (history * distance / width)[within]
        given, age = seen.given[waits], seen.age[waits]
        return Sums(
            read=float(np.count_nonzero(read)),
            born=float(seen.birth[read].sum()),
            held=float(cash.sum()),
            age=float(seen.age[read].sum()),
            history_by_distance=float(history @ distance),
            waiting=float(np.count_nonzero(waits)),
            given=float(given.sum()),
            waiting_age=float(age.sum()),
            given_by_age=float(given @ age),
            chance=_CHANCE * float(promised @ (1 + distance[within] / width)),
            deviation=float(((cash[within] - promised) ** 2).sum()),
        )

    def level(self, sums: Sums) -> Level:
        """What follows from the sums over all pages."""
        now, width = self._ledger.recorded / UNIT, self._width
        flowed, read = min(now, width), sums.read
        if not read or flowed <= 0:
            return Level()
        birth = 0.0 if self._ledger.is_dealt_anew else max(0.0, 1 - sums.age / read / width)
        offset = birth * (sums.born - sums.held) / read
        least = max(offset + self._dividends(sums), (self._edge * flowed + sums.given) / read)
        least = min(least, flowed / read)
        to_links = 1 - (read * least - sums.given) / flowed
        more = to_links * sums.held
        growth = sums.held / max(sums.history_by_distance, _TINY)
        if growth * sums.given_by_age > more:
            growth = more / sums.given_by_age
        given = flowed - read * least
        given_more = given + more - growth * sums.given_by_age
        return Level(
            change=1 - min(1.0, sums.chance / max(sums.deviation, _TINY)),
            birth=birth,
            offset=offset,
            least=least,
            base=(flowed + sums.held - given_more) / read,
            factor=given_more / given if given > _TINY else 1.0,
            growth=growth,
        )

    @property
    def _edge(self) -> float:
        """The least share of its cash that a page hands to the virtual page."""
        return 1 - self._ledger.small_edge(UNIT, _MANY_LINKS) / UNIT

    def _dividends(self, sums: Sums) -> float:
        """δ, the mean of the pages that were read."""
        if not sums.waiting or not sums.waiting_age:
            return 0.0
        each = max(self._ledger.virtual_page.pot, 0) / UNIT / max(self._ledger.unread, 1)
        return each * (sums.age / sums.read) / (sums.waiting_age / sums.waiting)

    def of(self, level: Level, first: int = 0, end: int | None = None) -> Floats:
        """The importance of a range of pages, up to a factor that all pages share."""
        ledger, end = self._ledger, len(self._ledger) if end is None else end
        if not isinstance(self._window, Interpolation | Static):
            cash = ledger.cash_of_all(first, end)
            return self._window.importance(cash, ledger.now, ledger.circulation, first)
        seen, width = self._seen(first, end), self._width
        flow = estimate.interpolated(seen.history, seen.cash, seen.distance, width, level.change)
        own = flow - level.birth * seen.birth + level.offset
        found = level.base + level.factor * np.maximum(own - level.least, 0)
        young = level.base + seen.given * (1 + level.growth * seen.age)
        return np.where(seen.waits, young, np.where(seen.is_read, found, 0))

    def of_all(self) -> Floats:
        """The same of all pages."""
        return self.of(self.level(self.sums()))

    def _seen(self, first: int, end: int) -> _Seen:
        ledger, window = self._ledger, self._window
        assert isinstance(window, Interpolation | Static)
        history, times, births = window.pasts(first, end)
        flags = np.frombuffer(ledger.flags, dtype=np.uint8)[first:end]
        waits = (flags == UNREAD) & (history == 0)
        birth = self._births(first, end)
        age = (ledger.now - self._births_around(first, births, waits)) / TICKS_IN_A_UNIT
        keys = np.frombuffer(ledger.key, dtype=np.int64)[first:end] / UNIT
        late = np.minimum(1, self._width / np.maximum(age, _TINY))
        return _Seen(
            history=history / UNIT,
            cash=ledger.cash_of_all(first, end),
            distance=(ledger.now - times) / TICKS_IN_A_UNIT,
            age=age,
            birth=birth,
            given=np.where(waits, np.maximum(keys - birth, 0) * late, 0),
            is_read=(flags == READ) | ((flags == UNREAD) & ~waits),
            waits=waits,
        )

    def _births(self, first: int, end: int) -> Floats:
        """What pages were born with."""
        ledger = self._ledger
        each = (ledger.minted / UNIT - self._endowment) / max(ledger.own, 1)
        birth = np.full(end - first, each)
        here = slice(*np.searchsorted(self._endowed, (first, end)))
        birth[self._endowed[here] - first] += self._endowments[here]
        return birth

    def _look_up_endowments(self) -> None:
        found = dict(self._ledger.endowed)
        if self._stands_for is not None:
            for page, atoms in self._ledger.endowed.items():
                if (target := self._stands_for(page)) != page:
                    found[target] = found.get(target, 0) + atoms
        self._endowed = np.array(sorted(found), dtype=np.int64)
        self._endowment = sum(self._ledger.endowed.values()) / UNIT
        self._endowments = np.array([found[page] / UNIT for page in sorted(found)])

    def _births_around(
        self, first: int, births: NDArray[np.int64], waits: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """When each page was born; a page that was read counts as born with the last one before it
        that waits. A store keeps no birth of pages that were read; ids go by birth.
        """
        before, window = self._ledger.flags.rfind(UNREAD, 0, first), self._window
        earlier = int(window.births(before, before + 1).by_page()[0]) if before >= 0 else 0
        places = np.maximum.accumulate(np.where(waits, np.arange(len(births)), -1))
        return np.where(places < 0, earlier, births[places])


class Levels:
    """The level of all pages: that of the last whole lap over their slices, and in the first lap
    that of the slices so far.
    """

    def __init__(self, estimate: Importance) -> None:
        self._estimate = estimate
        self._sums, self.now = Sums(), Level()
        self.is_whole = False
        """It is that of all pages."""

    def add(self, first: int, end: int, pages: int) -> None:
        """Add a slice, of so many pages."""
        self._sums = self._sums.plus(self._estimate.sums(first, end))
        if end == pages or not self.is_whole:
            self.now = self._estimate.level(self._sums)
        if end == pages:
            self._sums, self.is_whole = Sums(), True
