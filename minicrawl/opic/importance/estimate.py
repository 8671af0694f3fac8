"""Importance of pages from the books: history and cash, corrected for the initial cash.

If all pages had been read for a long time, importance would be the flow through a page within its
window. But most pages of a crawl were read once or never, and most of their cash is the unit that
they were born with. PageRank of the known pages gives each page the same amount plus what its links
give it:

    x_i = u + Σ_j W_ji x_j      over the read pages j; W_ji is the share of x_j that j gives to i

With h_j, what j spent within the window, and r_i = Σ_j W_ji h_j, what links gave to i, the best
estimate is x_i ~ c + r_i. It is unbiased if it gives the read pages in sum what they spent, so

    c = mean(h - r)    over the n pages that were read

Example: a page with 1 unit at birth and .4 from links, which now holds .6, has spent .8 and gets
c + .4. If all pages held their initial cash again, c would be what the virtual page gave them: all
of the unit has gone round, and nothing of it counts. Before any of it has come back, c is 1.

b         initial cash of a page: a unit, and its part of an endowment
ρ         part of b that the window still remembers: 1 - age / T, averaged over the n pages
C, H      cash; flow in the window up to the last reading
δ         what the virtual page gave. It pays all pages alike, so δ grows with age: it is what the
          waiting pages got, times the mean age of the n pages over that of the waiting pages
h - r     its sum over the n pages is Σ (ρ b - ρ C + δ), and at least e of the flow plus what links
          gave to waiting pages, as the virtual page gets at least e of all cash
c + r_i   for a read page: flow - ρ b_i + mean(ρ b) - ρ mean(C), as δ is about the same for all; for
          an unread page exactly c + (key - b_i), as its key is what links gave it

The pages will also spend what they hold now. Pages introduced long ago gain most: their introducers
have received cash since then, by k = Σ C / Σ H d of their history for each unit of G. So an unread
page of age a has r' = r (1 + k a). Σ h' = Σ (h + C), of which the virtual page gets its part v;
c' = mean(h' - r') follows, and the read pages share the rest in proportion to r.

The flow is interpolated. Between the last reading and now, the window either forgets, so that only
C counts, or assumes that the flow of the page is unchanged. The measured change decides:

    flow = (1 - w) H + w (H (1 - d / T) + C),   w = 1 - chance / Σ (C - H d / T)²

The chance is Σ 1/12 (1 + d / T) H d / T: cash comes in lumps, so even in a static web the cash and
the history of a page deviate by the variance of an even distribution for each unit.

Source: the update of H at a reading is from the paper (Abiteboul, Preda, Cobena 2003); the rest is
our own.

Invariants: sums over ranges add up to the sum over the whole; the estimate of a page needs only its
own numbers and the sums. Windows other than static and interpolating provide their own estimate.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.ledger import READ, UNREAD, Ledger
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.windows.interpolation import Interpolation, interpolated
from minicrawl.opic.windows.window import TICKS_IN_A_UNIT, Static, Window

Floats = NDArray[np.float64]

_CHANCE = 1 / 12
_MANY_LINKS = 1 << 20
_TINY = 1e-12


class Sums(NamedTuple):
    """Sums over a range of pages, in units and units of G. Those of several ranges can be added."""

    read: float = 0.0
    """Number of pages that were read; the next four fields are sums over them."""
    born: float = 0.0
    held: float = 0.0
    age: float = 0.0
    history_by_distance: float = 0.0
    waiting: float = 0.0
    """Number of pages that were never read; the next three fields are sums over them."""
    given: float = 0.0
    waiting_age: float = 0.0
    given_by_age: float = 0.0
    chance: float = 0.0
    """Expected square of the deviation by chance, over the pages read within the window."""
    deviation: float = 0.0

    def plus(self, other: "Sums") -> "Sums":
        return Sums(*(own + more for own, more in zip(self, other, strict=True)))


class Level(NamedTuple):
    """Parameters that turn the books of a page into its importance.

    The defaults hold until the first page is read.
    """

    change: float = 1.0
    """w: 0 if nothing changes, 1 if everything does."""
    birth: float = 1.0
    """ρ."""
    offset: float = 0.0
    """mean(ρ b) - mean(ρ C)."""
    least: float = 1.0
    """c."""
    base: float = 1.0
    """c' of the pages; `factor` times what links gave is added to it."""
    factor: float = 1.0
    growth: float = 0.0
    """k."""


class _Seen(NamedTuple):
    """Books of a range of pages, in units and units of G."""

    history: Floats
    cash: Floats
    distance: Floats
    age: Floats
    birth: Floats
    given: Floats
    """Cash from links, for pages that were never read."""
    is_read: NDArray[np.bool_]
    waits: NDArray[np.bool_]


class Importance:
    """Estimate of the importance of pages from a ledger and one of its windows."""

    def __init__(
        self,
        ledger: Ledger,
        window: Window | None = None,
        stands_for: Callable[[PageId], PageId] | None = None,
    ) -> None:
        """Create an estimate for the ledger; `window` defaults to its first window.

        `stands_for` maps seeds to the pages that they redirect to, which got their endowments.
        """
        self._ledger = ledger
        self._window = ledger.windows[0] if window is None else window
        self._stands_for = stands_for
        self._endowed, self._endowments = np.empty(0, dtype=np.int64), np.empty(0)
        """Endowed pages in ascending order and their endowments, as of the start of the last lap.
        """
        self._endowment = 0.0

    @property
    def _width(self) -> float:
        """T, in units of G."""
        if isinstance(self._window, Interpolation):
            return max(self._window.width * self._ledger.minted / UNIT, _TINY)
        return np.inf

    def sums(self, first: int = 0, end: int | None = None) -> Sums:
        if not isinstance(self._window, Interpolation | Static):
            return Sums()
        if not first:
            endowed = dict(self._ledger.endowed)
            if self._stands_for is not None:
                for page, atoms in self._ledger.endowed.items():
                    if (target := self._stands_for(page)) != page:
                        endowed[target] = endowed.get(target, 0) + atoms
            self._endowed = np.array(sorted(endowed), dtype=np.int64)
            self._endowment = sum(self._ledger.endowed.values()) / UNIT
            self._endowments = np.array([endowed[page] / UNIT for page in sorted(endowed)])
        columns, width = self._seen(first, len(self._ledger) if end is None else end), self._width
        read, waits = columns.is_read, columns.waits
        history, cash, distance = (
            column[read] for column in (columns.history, columns.cash, columns.distance)
        )
        within = distance < width
        promised = (history * distance / width)[within]
        given, age = columns.given[waits], columns.age[waits]
        return Sums(
            read=float(np.count_nonzero(read)),
            born=float(columns.birth[read].sum()),
            held=float(cash.sum()),
            age=float(columns.age[read].sum()),
            history_by_distance=float(history @ distance),
            waiting=float(np.count_nonzero(waits)),
            given=float(given.sum()),
            waiting_age=float(age.sum()),
            given_by_age=float(given @ age),
            chance=_CHANCE * float(promised @ (1 + distance[within] / width)),
            deviation=float(((cash[within] - promised) ** 2).sum()),
        )

    def level(self, sums: Sums) -> Level:
        """Return the parameters that follow from the sums over all pages."""
        now, width = self._ledger.recorded / UNIT, self._width
        flowed, read = min(now, width), sums.read
        if not read or flowed <= 0:
            return Level()
        birth = 0.0 if self._ledger.is_dealt_anew else max(0.0, 1 - sums.age / read / width)
        offset = birth * (sums.born - sums.held) / read
        dividends = 0.0
        if sums.waiting and sums.waiting_age:
            each = max(self._ledger.virtual_page.pot, 0) / UNIT / max(self._ledger.unread, 1)
            dividends = each * (sums.age / read) / (sums.waiting_age / sums.waiting)
        # The floor holds because the virtual page gets at least `edge` of all cash; above the
        # ceiling, links would have given less than nothing.
        edge = 1 - self._ledger.small_edge(UNIT, _MANY_LINKS) / UNIT
        least = max(offset + dividends, (edge * flowed + sums.given) / read)
        least = min(least, flowed / read)
        to_links = 1 - (read * least - sums.given) / flowed
        more = to_links * sums.held
        growth = sums.held / max(sums.history_by_distance, _TINY)
        # The waiting pages cannot gain more than links will hand on.
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

    def of(self, level: Level, first: int = 0, end: int | None = None) -> Floats:
        """Return the importance of a range of pages, up to a common factor."""
        ledger, end = self._ledger, len(self._ledger) if end is None else end
        if not isinstance(self._window, Interpolation | Static):
            cash = ledger.cash_of_all(first, end)
            return self._window.importance(cash, ledger.now, ledger.circulation, first)
        columns, width = self._seen(first, end), self._width
        flow = interpolated(columns.history, columns.cash, columns.distance, width, level.change)
        own = flow - level.birth * columns.birth + level.offset
        estimates = level.base + level.factor * np.maximum(own - level.least, 0)
        young = level.base + columns.given * (1 + level.growth * columns.age)
        return np.where(columns.waits, young, np.where(columns.is_read, estimates, 0))

    def of_all(self) -> Floats:
        """Return the importance of all pages, up to a common factor."""
        return self.of(self.level(self.sums()))

    def _seen(self, first: int, end: int) -> _Seen:
        ledger, window = self._ledger, self._window
        assert isinstance(window, Interpolation | Static)
        history, times, births = window.pasts(first, end)
        flags = np.frombuffer(ledger.flags, dtype=np.uint8)[first:end]
        waits = (flags == UNREAD) & (history == 0)
        each = (ledger.minted / UNIT - self._endowment) / max(ledger.own, 1)
        birth = np.full(end - first, each)
        here = slice(*np.searchsorted(self._endowed, (first, end)))
        birth[self._endowed[here] - first] += self._endowments[here]
        # Stores keep no birth of read pages, but ids ascend with birth: a read page gets that of
        # the last waiting page before it.
        before = ledger.flags.rfind(UNREAD, 0, first)
        earlier = int(window.births(before, before + 1).by_page()[0]) if before >= 0 else 0
        places = np.maximum.accumulate(np.where(waits, np.arange(len(births)), -1))
        age = (ledger.now - np.where(places < 0, earlier, births[places])) / TICKS_IN_A_UNIT
        keys = np.frombuffer(ledger.key, dtype=np.int64)[first:end] / UNIT
        # Only cash received within the window counts, as if it came evenly since the page's birth.
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


class RunningLevels:
    """Parameters from the last full lap over all pages, or from the first lap so far."""

    def __init__(self, estimate: Importance) -> None:
        self._estimate = estimate
        self._sums, self.now = Sums(), Level()
        self.is_whole = False
        """True once `now` comes from a full lap."""

    def add(self, first: int, end: int, pages: int) -> None:
        """Add the sums of the next range of a lap over `pages` pages."""
        self._sums = self._sums.plus(self._estimate.sums(first, end))
        if end == pages or not self.is_whole:
            self.now = self._estimate.level(self._sums)
        if end == pages:
            self._sums, self.is_whole = Sums(), True


def growing(history: Floats, cash: Floats, recorded: float, minted: float) -> Floats:
    """Return (H + C) / (G + M): valid for unread pages too, while pages are still being found.

    The estimates of all pages and the virtual page's own share sum to 1. The paper's
    (H + C) / (G + 1) is this formula with all cash as the unit.
    """
    return (history + cash) / (recorded + minted)


def minus_birth(history: Floats, cash: Floats, recorded: float, birth: float = 1.0) -> Floats:
    """Return (H + C - C0) / G: for a fixed set of pages, each with `birth` as its initial cash.

    The initial cash says nothing about a page. Without it the estimate is what the page's links
    gave it out of G, one power step on H: the error is 3 to 10 times smaller.
    """
    return (history + cash - birth) / recorded


def rising(cash: Floats, flow: Floats, away: NDArray[np.int64]) -> Floats:
    """Return the ratio of the cash a page received since it was read to what its past predicts.

    One unit added to numerator and denominator keeps little-known pages near 1. Predictions are
    scaled to the cash that all pages received together, so 1 means no change in any unit of flow.
    NaN for pages without a past, and for all pages while the predictions sum to 0.
    """
    promised = flow * away
    is_known = np.isfinite(promised)
    total = promised[is_known].sum()
    scale = cash[is_known].sum() / total if total > 0 else np.nan
    rises: Floats = (cash + 1) / (promised * scale + 1)
    return rises


def completed(converged: Floats, estimated: Floats) -> Floats:
    """Return converged shares, with estimated shares in place of NaN (pages found later).

    Those pages keep their estimated share of the whole; the other pages share the rest.
    """
    is_later = np.isnan(converged)
    mass = 1 - float(estimated[is_later].sum())
    return np.where(is_later, estimated, converged * (mass / converged[~is_later].sum()))


def shares(estimate: Floats) -> Floats:
    """Return the estimate normalised to sum 1; equal shares if it is all 0."""
    total = estimate.sum()
    return estimate / total if total > 0 else np.full(len(estimate), 1 / max(len(estimate), 1))


def of_all(share: float, waiting: float, rate: float) -> float:
    """Return the gathered share of all importance, with an estimate for unknown pages.

    `share` and `waiting` are those of read and of unread pages. `rate` is the number of new pages
    that a reading reveals.
    """
    return share / (1 + rate * waiting)
