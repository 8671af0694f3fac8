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

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat
from math import floor, log2, nextafter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import WeightedRows, by_counting, row_products
from minicrawl.model import PageId
from minicrawl.opic.ledger import READ, UNREAD, Ledger, Spending, visit, weighted_visit
from minicrawl.opic.money import UNIT, SmallEdge
from minicrawl.opic.windows import TICKS_IN_A_UNIT, Interpolation, Static, Window, interpolated

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

    def plus(self, other: Sums) -> Sums:
        """Return the sums over both ranges."""
        return Sums(*(one + more for one, more in zip(self, other, strict=True)))


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
        """Return the sums over a range of pages."""
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
        """Return the parameters that follow from the sums over all pages."""
        now, width = self._ledger.recorded / UNIT, self._width
        flowed, read = min(now, width), sums.read
        if not read or flowed <= 0:
            return Level()
        birth = 0.0 if self._ledger.is_dealt_anew else max(0.0, 1 - sums.age / read / width)
        offset = birth * (sums.born - sums.held) / read
        # The floor holds because the virtual page gets at least `_edge` of all cash; above the
        # ceiling, links would have given less than nothing.
        least = max(offset + self._dividends(sums), (self._edge * flowed + sums.given) / read)
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

    @property
    def _edge(self) -> float:
        """Least share of its cash that a page gives to the virtual page."""
        return 1 - self._ledger.small_edge(UNIT, _MANY_LINKS) / UNIT

    def _dividends(self, sums: Sums) -> float:
        """Return δ, averaged over the pages that were read."""
        if not sums.waiting or not sums.waiting_age:
            return 0.0
        each = max(self._ledger.virtual_page.pot, 0) / UNIT / max(self._ledger.unread, 1)
        return each * (sums.age / sums.read) / (sums.waiting_age / sums.waiting)

    def of(self, level: Level, first: int = 0, end: int | None = None) -> Floats:
        """Return the importance of a range of pages, up to a common factor."""
        ledger, end = self._ledger, len(self._ledger) if end is None else end
        if not isinstance(self._window, Interpolation | Static):
            cash = ledger.cash_of_all(first, end)
            return self._window.importance(cash, ledger.now, ledger.circulation, first)
        seen, width = self._seen(first, end), self._width
        flow = interpolated(seen.history, seen.cash, seen.distance, width, level.change)
        own = flow - level.birth * seen.birth + level.offset
        found = level.base + level.factor * np.maximum(own - level.least, 0)
        young = level.base + seen.given * (1 + level.growth * seen.age)
        return np.where(seen.waits, young, np.where(seen.is_read, found, 0))

    def of_all(self) -> Floats:
        """Return the importance of all pages, up to a common factor."""
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

    def _births(self, first: int, end: int) -> Floats:
        """Return the initial cash of the pages."""
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
        """Return the birth of each page; a read page gets that of the last waiting page before it.

        Stores keep no birth of read pages, but ids ascend with birth.
        """
        before, window = self._ledger.flags.rfind(UNREAD, 0, first), self._window
        earlier = int(window.births(before, before + 1).by_page()[0]) if before >= 0 else 0
        places = np.maximum.accumulate(np.where(waits, np.arange(len(births)), -1))
        return np.where(places < 0, earlier, births[places])


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


# ================================================================ formulas
#
# Shares from history and cash alone. Estimates are correct up to a common factor; `shares` removes
# it.
#
# H   cash that the page has spent      C   cash that it holds      C0  its initial cash
# G   sum of H over all pages           M   cash minted


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
    told = np.isfinite(promised)
    total = promised[told].sum()
    scale = cash[told].sum() / total if total > 0 else np.nan
    found: Floats = (cash + 1) / (promised * scale + 1)
    return found


def completed(converged: Floats, estimated: Floats) -> Floats:
    """Return converged shares, with estimated shares in place of NaN (pages found later).

    Those pages keep their estimated share of the whole; the other pages share the rest.
    """
    is_later = np.isnan(converged)
    rest = 1 - float(estimated[is_later].sum())
    return np.where(is_later, estimated, converged * (rest / converged[~is_later].sum()))


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


# ================================================================ the limit
#
# Endless replays, off-line: the limit of the histories if no further page is read.
#
# While cash is replayed, the virtual page waits for its turn like any page. It keeps its inflow
# until it has all the cash, and then pays all pages alike. One such lap is enough, since the next
# one begins in the same state: an even dividend, u = 1/N for each of N pages. If W is the matrix of
# shares that pages give to the pages they link to, the flow through the pages in a lap is
#
#     x = u + u W + u W² + ...
#
# and importance is x / |x|: PageRank with a teleport e to all pages alike, to which pages without
# links spread evenly. |.| is the sum over all pages.
#
# e         the least share that a page with links gives to the virtual page; `FlowBuilder` keeps it
#           above 0.
# h         what pages have spent in this lap.
# c         what pages hold. h + c has flowed so far, and x = h + c + c W + c W² + ... at any time.
# way       the part of c on pages with links, which is still to be spent. The rest waits for the
#           end of the lap.
#
# In a round every page spends once. A round goes in blocks, and what a block gives to later blocks
# is spent in the same round, which saves a fifth to a half of the rounds. This is a residual
# method, as in `ranks.pagerank`, with h as the scores and c as the residual.
#
# Bound of the error: each hop takes e of the cash out of the lap, except from pages that stand for
# another. Those spend everything; as no link leads to them, cash takes at most one such hop, its
# first. So what is still to come is t = |x| - |h + c| <= way / e, and as shares of f = |h + c|
#
#     |x / |x| - (h + c) / f| <= t / (f + t) + f (1 / f - 1 / (f + t)) = 2 t / (f + t)
#
# A start from ranks that are nearly right takes fewer rounds: h is then a lap with these ranks, and
# c = u + h W - h, which may be negative. Only the first step of the bound holds then, with
# t <= |way| / e, and the error is at most 2 t / f.
#
# The flow between groups of pages, such as sites, is reported as a share too: of all cash that
# links carry from one group to another in a lap, the part that a group receives.
#
# Invariant: `importance` is never further from its limit than `error`, summed over all pages, apart
# from float rounding of about 1e-14.

Numbers = NDArray[np.int64]
Groups = NDArray[np.int32]
"""Group of each page, numbered from 0."""

_BLOCKS = 16
FEW_LINKS = 1 << 20
"""Most links for products by numpy: importing scipy would take longer than it saves."""
_PURSE_UNITS = (1 << 30) - 1
"""Cash of the page that measures shares: its rounding to atoms is finer than float precision."""
KEPT = 0.1
"""Part of the small edge that focus cannot spend."""


@dataclass(frozen=True, slots=True, eq=False)
class CashFlow:
    """Matrix of shares, in rows: one for each page that spends cash, in any order.

    Row k is that of page `givers[k]`. Its links are `targets[starts[k]:starts[k + 1]]`; each gets
    `shares[k]` of the page's cash, times its `parts` if there are any.
    """

    pages: int
    givers: NDArray[np.uint32]
    starts: NDArray[np.int64]
    targets: NDArray[np.uint32]
    shares: Floats
    parts: Floats | None
    edge: float
    """The least share given to the virtual page. Pages without in-links may give less."""

    @property
    def links(self) -> int:
        return len(self.targets)

    def between(self, importance: Floats, group_of: Groups, groups: int) -> Floats:
        """Return the inflow of each group from others, as a share of all flow between groups."""
        given = np.zeros(groups)
        for rows, links in blocks_of(self):
            starts, targets, parts = self.rows(rows, links)
            counts, givers, takers = np.diff(starts), self.givers[rows], group_of[targets]
            amounts = np.repeat(importance[givers] * self.shares[rows], counts) * parts
            crosses = np.repeat(group_of[givers], counts) != takers
            given += np.bincount(takers[crosses], amounts[crosses], minlength=groups)
        total = given.sum()
        return given / total if total else given

    def rows(self, rows: slice, links: slice) -> WeightedRows:
        """Return a range of rows; `links` is the range of their links."""
        starts = (self.starts[rows.start : rows.stop + 1] - links.start).astype(np.int32)
        parts = np.ones(links.stop - links.start) if self.parts is None else self.parts[links]
        return WeightedRows(starts, self.targets[links].view(np.int32), parts)


class FlowBuilder:
    """Builds a flow page by page; 4 bytes a link, and 8 more if links differ.

    Pages share their cash by the same plans as in a crawl. But if focus could spend the whole
    small edge, cash could circulate in a cycle for ever and no rank would converge. So a tenth of
    each small edge is reserved.
    """

    def __init__(self, small_edge: SmallEdge) -> None:
        self._purse = Ledger(small_edge=small_edge)
        self._purse.endow(self._purse.mint(1), _PURSE_UNITS)
        self._cash = self._purse.cash(0)
        self._most = 1 - KEPT * (1 - small_edge(self._cash, 1) / self._cash)
        if self._most >= 1:
            raise ValueError("the small edge must be above 0: without it, cash circulates for ever")
        self._edge = 1.0
        self._givers = array("I")
        self._starts = array("q", (0,))
        self._targets = array("I")
        self._shares = array("d")
        self._parts: array[float] | None = None
        self._equal: dict[int, float] = {}

    def forward(self, page: PageId, target: int) -> None:
        """Add a page that stands for the target. No link may lead to the page."""
        self._add(page, (target,), 1.0)

    def spend(self, page: PageId, spending: Spending) -> None:
        """Add a page that was read."""
        links, weights, focus, idle = spending[:4]
        if not links:
            return
        if weights or focus:
            weights = weights or [1] * len(links)
            plan = weighted_visit(self._purse, 0, links, weights, focus, idle)
            self._add_unequal(page, plan.extras)
        else:
            self._add(page, links, self._share_of_each(len(links)))

    def spend_equally(self, pages: Numbers, counts: Numbers, links: Numbers) -> None:
        """Add many pages with equal links; `counts` has the number of links of each."""
        pages, counts = pages[counts > 0], counts[counts > 0]
        starts = len(self._targets) + np.cumsum(counts)
        shares = [self._share_of_each(count) for count in counts.tolist()]
        self._givers.frombytes(pages.astype(np.uint32).tobytes())
        self._starts.frombytes(starts.astype(np.int64).tobytes())
        self._targets.frombytes(links.astype(np.uint32).tobytes())
        self._shares.extend(shares)
        self._fill_parts()

    def _share_of_each(self, count: int) -> float:
        """Return the share of each of `count` equal links."""
        share = self._equal.get(count)
        if share is None:
            plan = visit(self._purse, 0, range(count))
            self._edge = min(self._edge, plan.virtual / self._cash)
            share = self._equal[count] = plan.share / self._cash
        return share

    def _add_unequal(self, page: PageId, credits: Sequence[tuple[int, int]]) -> None:
        handed_on = sum(atoms for _, atoms in credits) / self._cash
        if not handed_on:
            return
        # A part of the small edge is reserved. If focus would spend it, all links of the page are
        # scaled down by the same factor.
        share = min(1.0, self._most / handed_on)
        self._edge = min(self._edge, 1 - share * handed_on)
        if self._parts is None:
            self._parts = array("d", repeat(1.0, len(self._targets)))
        self._parts.extend(atoms / self._cash for _, atoms in credits)
        self._add(page, [link for link, _ in credits], share)

    def _add(self, page: PageId, links: Sequence[int], share: float) -> None:
        self._givers.append(page)
        self._targets.extend(links)
        self._starts.append(len(self._targets))
        self._shares.append(share)
        self._fill_parts()

    def _fill_parts(self) -> None:
        """Fill up the parts with 1 for the equal links added last."""
        if self._parts is not None:
            self._parts.extend(repeat(1.0, len(self._targets) - len(self._parts)))

    def flow(self, pages: int) -> CashFlow:
        """Return the flow among this many pages. Nothing can be added afterwards."""
        return CashFlow(
            pages=pages,
            givers=np.frombuffer(self._givers, dtype=np.uint32),
            starts=np.frombuffer(self._starts, dtype=np.int64),
            targets=np.frombuffer(self._targets, dtype=np.uint32),
            shares=np.frombuffer(self._shares, dtype=np.float64),
            parts=None if self._parts is None else np.frombuffer(self._parts, dtype=np.float64),
            edge=self._edge,
        )


class Refinement:
    """One lap of the cash, from scratch or from ranks that are nearly right."""

    def __init__(
        self, flow: CashFlow, start: Floats | None = None, cash: Floats | None = None
    ) -> None:
        """Start a lap from the known shares of pages, or from none.

        `cash` replaces the even dividend that pages hold at first.
        """
        self._flow = flow
        self._blocks = list(blocks_of(flow))
        self._products = row_products() if flow.links > FEW_LINKS else by_counting()
        self.rounds = 0
        self._history = np.zeros(flow.pages)
        self._cash = np.full(flow.pages, 1 / flow.pages) if cash is None else cash
        if start is not None:
            self._go_on_from(start)

    def _go_on_from(self, start: Floats) -> None:
        """Set the history to that of a lap whose flow has these shares; the cash is the rest."""
        givers = self._flow.givers
        handed = np.zeros(self._flow.pages)
        for rows, links in self._blocks:
            self._hand_on(rows, links, start[givers[rows]], handed)
        # Summed over all pages, x = u + x W says |x| = 1 + |x| * handed, which gives the length of
        # a lap.
        lap = 1 / max(1 - float(handed.sum()), self._flow.edge)
        self._history[givers] = lap * start[givers]
        self._cash += lap * handed - self._history

    def until(self, error: float) -> Iterator[float]:
        """Run rounds until the error is at most `error`; yield the error before each round.

        The loop may be left after any round: `error` and `importance` are valid at any time.
        """
        while (left := self.error) > error:
            yield left
            self._round()

    @property
    def error(self) -> float:
        """Bound of the error of `importance`, summed over all pages; at most 2."""
        under_way = self._cash[self._flow.givers]
        to_come = float(np.abs(under_way).sum()) / self._flow.edge
        flowed = self.flowed
        # Negative cash may cancel positive cash later, so only the first step of the bound in the
        # module's docstring holds.
        if (under_way < 0).any():
            return min(2.0, 2 * to_come / flowed)
        return 2 * to_come / (flowed + to_come)

    @property
    def flowed(self) -> float:
        """Flow through all pages in this lap, as a multiple of the dividend."""
        return float(self._history.sum() + self._cash.sum())

    @property
    def importance(self) -> Floats:
        """Share of each page; they sum to 1."""
        return shares(self._history + self._cash)

    def _round(self) -> None:
        givers = self._flow.givers
        for rows, links in self._blocks:
            cash = self._cash[givers[rows]]
            self._history[givers[rows]] += cash
            # Zeroed before the cash is handed on: givers of this block may link to each other, and
            # what they get is for the next round.
            self._cash[givers[rows]] = 0
            self._hand_on(rows, links, cash, self._cash)
        self.rounds += 1

    def _hand_on(self, rows: slice, links: slice, cash: Floats, to: Floats) -> None:
        """Send the cash of these givers along their links."""
        flow = self._flow
        self._products.scatter(flow.rows(rows, links), cash * flow.shares[rows], to)


def blocks_of(flow: CashFlow) -> Iterator[tuple[slice, slice]]:
    """Yield row ranges with their link ranges, with about equally many links."""
    cuts = np.searchsorted(flow.starts, np.linspace(0, flow.links, _BLOCKS + 1))
    for first, last in pairwise(sorted(set(cuts.tolist()))):
        yield slice(first, last), slice(int(flow.starts[first]), int(flow.starts[last]))


# ================================================================ rank mass
#
# RankMass: a proven lower bound of the importance on the pages read.
#
# The importance of `estimate` and `CashFlow` depends on all known pages, so the share of pages
# that are still undiscovered can only be guessed. RankMass guesses nothing. It measures PageRank
# with jumps to the seeds alone: each page gives the small edge e to the seeds and the rest to its
# links, and a page without links gives everything to the seeds.
#
# Cash leaves the seeds once and moves along the links of the pages read, until it returns to the
# seeds or reaches an unread page. Nothing that is discovered later can take back what flowed.
#
# Example: e is 1/4, the seed A links to B and C, and B links to A; C is unread. Of 1 unit A gives
# 1/4 back, and 3/8 each to B and C. Of its 3/8 B gives 3/32 back and 9/32 to A, and so on: in the
# end 32/23 units have flowed through A, 12/23 through B, and 12/23 have reached C. Behind C each
# hop takes at least 1/4 of the cash, so that at most 4 times 12/23 can flow through C and what is
# behind:
#
#     share of A and B >= (32 + 12) / (32 + 12 + 4 * 12) = .478
#
# h    flow through the pages read
# u    flow through pages that were read and now wait for another turn
# r    cash that has not surely returned to the seeds
#
# All other flow is at most r / e. Its part through pages read only raises their share, so the share
# is at least h / (h + u + r / e). It is exactly that if the unread pages link only to each other.
#
# Cash is whole atoms: each amount is rounded down, and what rounding takes counts in r. Vectors of
# float64 hold atoms exactly, as no sum reaches 2^53.
#
# Laws: the share is never above the truth, however early the work is broken off. Pages that failed
# or may not be fetched give everything to the seeds and do not count, as in the gathered share.
#
# Source: Cho and Schonfeld, RankMass Crawler: A Crawler with High Personalized PageRank Coverage
# Guarantee, VLDB 2007. They add up walks that end on pages read, e h in our terms; that only pages
# behind the frontier can have the rest, and the share of counted pages, is our own.

_MOST_BITS = 52
_SAFE = 2.0**-40
"""Exceeds the rounding error of shares: products with amounts are rounded down below the truth."""
_LEFT = 1 / 1000
"""Share of r that may still be moving when `move` stops."""
_NEGLIGIBLE = 2.0**-30
"""Share of all cash that may still be moving when `move` stops."""

Mask = NDArray[np.bool_]


class RankMass:
    """Cash on its way from the seeds along the links of a flow."""

    def __init__(self, flow: CashFlow, seeds: Mapping[PageId, int], edge: float) -> None:
        """Place cash on the seeds, in proportion to their weights.

        `edge` is the least small edge of all pages, unread ones included.
        """
        self._flow = flow
        self._edge = min(edge, flow.edge) - _SAFE
        self._blocks = list(blocks_of(flow))
        self._products = row_products() if flow.links > FEW_LINKS else by_counting()
        parts = np.ones(flow.links) if flow.parts is None else flow.parts
        handed_on = np.add.reduceat(parts, flow.starts[:-1]) if flow.links else np.empty(0)
        self._returns = np.maximum(1 - flow.shares * handed_on - _SAFE, 0)
        self._shares = flow.shares * (1 - _SAFE)
        self.atoms = 1 << floor(_MOST_BITS + log2(self._edge))
        self.returned = 0
        self._through, self.waiting = np.zeros(flow.pages), np.zeros(flow.pages)
        for page, weight in seeds.items():
            self.waiting[page] = self.atoms * weight // sum(seeds.values())

    def move(self, is_open: Mask, goes_on: Callable[[], bool]) -> None:
        """Move cash until more would hardly raise the share, or until `goes_on` returns False."""
        while is_open.any() and goes_on():
            moving = float(self.waiting[self._flow.givers].sum())
            if moving <= max(_LEFT * self._left(is_open), _NEGLIGIBLE * self.atoms):
                return
            for rows, links in self._blocks:
                self._move(rows, links)

    def _move(self, rows: slice, links: slice) -> None:
        flow, givers = self._flow, self._flow.givers[rows]
        cash = self.waiting[givers]
        self._through[givers] += cash
        self.waiting[givers] = 0
        self.returned += int(np.floor(cash * self._returns[rows]).sum())
        each, targets = cash * self._shares[rows], flow.rows(rows, links)
        if flow.parts is None:
            self._products.scatter(targets, np.floor(each), self.waiting)
            return
        amounts = np.floor(np.repeat(each, np.diff(targets.starts)) * targets.weights)
        single = WeightedRows(targets.starts, targets.targets, amounts)
        self._products.scatter(single, np.ones(len(givers)), self.waiting)

    def _left(self, is_open: Mask) -> int:
        """Return r. Pages that are neither open nor givers return all cash to the seeds."""
        is_end = ~is_open
        is_end[self._flow.givers] = False
        return self.atoms - self.returned - int(self.waiting[is_end].sum())

    def share(self, is_read: Mask, is_open: Mask) -> float:
        """Return a lower bound of the share of the pages read; `is_open` marks pages still to read.

        Without open pages it is 1: all pages behind the seeds were read.
        """
        flow = self._through + self.waiting
        read = int(flow[is_read].sum())
        if not read or not is_open.any():
            return 1.0 if read else 0.0
        from fractions import Fraction  # deferred: most commands need no proof

        others = int(self._through[is_open].sum()) + self._left(is_open) / Fraction(self._edge)
        return max(nextafter(float(read / (read + others)), 0), 0.0)
