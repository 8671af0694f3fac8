"""Endless replays, off-line: the limit of the histories if no further page is read.

While cash is replayed, the virtual page waits for its turn like any page. It keeps its inflow
until it has all the cash, and then pays all pages alike. One such lap is enough, since the next
one begins in the same state: an even dividend, u = 1/N for each of N pages. If W is the matrix of
shares that pages give to the pages they link to, the flow through the pages in a lap is

    x = u + u W + u W² + ...

and importance is x / |x|: PageRank with a teleport e to all pages alike, to which pages without
links spread evenly. |.| is the sum over all pages.

e         the least share that a page with links gives to the virtual page; `FlowBuilder` keeps it
          above 0.
h         what pages have spent in this lap.
c         what pages hold. h + c has flowed so far, and x = h + c + c W + c W² + ... at any time.
way       the part of c on pages with links, which is still to be spent. The rest waits for the
          end of the lap.

In a round the pages with more cash per link than the average spend once, and in blocks where these
have many links, all pages: a start from the last ranks thus works on changed pages first, and on
what their links lead to. What a block gives to later blocks is spent in the same round, which saves
a fifth to a half of the rounds. This is a residual method, as in `ranks.pagerank`, with h as the
scores and c as the residual.

Bound of the error: each hop takes e of the cash out of the lap, except from pages that stand for
another. Those spend everything; as no link leads to them, cash takes at most one such hop, its
first. So what is still to come is t = |x| - |h + c| <= way / e, and as shares of f = |h + c|

    |x / |x| - (h + c) / f| <= t / (f + t) + f (1 / f - 1 / (f + t)) = 2 t / (f + t)

A start from ranks that are nearly right takes fewer rounds: h is then a lap with these ranks, and
c = u + h W - h, which may be negative. Only the first step of the bound holds then, with
t <= |way| / e, and the error is at most 2 t / f.

The flow between groups of pages, such as sites, is reported as a share too: of all cash that
links carry from one group to another in a lap, the part that a group receives.

Invariant: `importance` is never further from its limit than `error`, summed over all pages, apart
from float rounding of about 1e-14.
"""

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.products import WeightedRows, by_counting, row_products
from minicrawl.model import PageId
from minicrawl.opic.importance.estimate import Floats, shares
from minicrawl.opic.ledger.books import Spending
from minicrawl.opic.ledger.ledger import Ledger
from minicrawl.opic.ledger.money import SmallEdge
from minicrawl.opic.ledger.plans import visit, weighted_visit

Numbers = NDArray[np.int64]
Groups = NDArray[np.int32]
"""Group of each page, numbered from 0."""

_BLOCKS = 16
_COST_OF_CHOICE = 4
"""Time for a link of chosen pages, as a multiple of that for one of a whole block."""
FEW_LINKS = 1 << 20
"""Most links for products by numpy: importing scipy would take longer than it saves."""
_ROUNDING = 1e-14
"""Dividend of all pages, of an importance of 1, below which it is an error of rounding."""
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

    def rows_of(self, rows: NDArray[np.intp]) -> WeightedRows:
        """Return some rows with their links, copied."""
        counts = self.starts[rows + 1] - self.starts[rows]
        starts = np.append(0, np.cumsum(counts))
        links = np.repeat(self.starts[rows] - starts[:-1], counts) + np.arange(starts[-1])
        parts = np.ones(len(links)) if self.parts is None else self.parts[links]
        return WeightedRows(starts.astype(np.int32), self.targets[links].view(np.int32), parts)


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
        links, weights, focus, idle = spending[:4]
        if not links:
            return
        if weights or focus:
            weights = weights or [1] * len(links)
            credits = weighted_visit(self._purse, 0, links, weights, focus, idle).extras
            handed_on = sum(atoms for _, atoms in credits) / self._cash
            if not handed_on:
                return
            # A part of the small edge is reserved. If focus would spend it, all links of the page
            # are scaled down by the same factor.
            share = min(1.0, self._most / handed_on)
            self._edge = min(self._edge, 1 - share * handed_on)
            if self._parts is None:
                self._parts = array("d", repeat(1.0, len(self._targets)))
            self._parts.extend(atoms / self._cash for _, atoms in credits)
            self._add(page, [link for link, _ in credits], share)
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
        self.rounds = self.links_followed = 0
        self._history = np.zeros(flow.pages)
        self._cash = np.full(flow.pages, 1 / flow.pages) if cash is None else cash
        if start is not None:
            self._go_on_from(start)

    def _go_on_from(self, start: Floats) -> None:
        """Set the history to that of a lap whose flow has these shares; the cash is the rest."""
        flow, dividend = self._flow, self._cash
        handed = np.zeros(flow.pages)
        for rows, links in self._blocks:
            amounts = start[flow.givers[rows]] * flow.shares[rows]
            self._products.scatter(flow.rows(rows, links), amounts, handed)
        self.links_followed = flow.links
        # Any length of the lap is valid. As x = u + x W, start - handed is u / |x| where no in-link
        # has changed, so the median leaves cash only near changes; the mean leaves a sum of 0. A
        # length of 0 ignores ranks that are of no use.
        dividends = (start - handed)[flow.givers]
        half = len(dividends) // 2  # `np.median` would load numpy's masked arrays
        levels = (np.partition(dividends, half)[half], dividends.mean()) if len(dividends) else ()
        laps = [
            0.0,
            *(1 / flow.pages / level for level in levels if level * flow.pages > _ROUNDING),
        ]

        def error_with(lap: float) -> float:
            self._history[flow.givers] = lap * start[flow.givers]
            self._cash = dividend + lap * handed - self._history
            return self.error

        error_with(min(laps, key=error_with))

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
        """Let all pages above the average cash per link spend, or a block where these are many."""
        flow = self._flow
        under_way = float(np.abs(self._cash[flow.givers]).sum())
        # A page counts as a link of its own. Without the factor, rounding could leave no page.
        bar = 0.999 * under_way / (flow.links + len(flow.givers))
        for rows, links in self._blocks:
            cash = self._cash[flow.givers[rows]]
            counts = np.diff(flow.starts[rows.start : rows.stop + 1])
            active = np.flatnonzero(np.abs(cash) > bar * (counts + 1))
            is_few = _COST_OF_CHOICE * int(counts[active].sum()) < links.stop - links.start
            block = flow.rows_of(rows.start + active) if is_few else flow.rows(rows, links)
            chosen = rows.start + active if is_few else rows
            cash = cash[active] if is_few else cash
            self._history[flow.givers[chosen]] += cash
            # Zeroed before the cash is handed on: givers of this block may link to each other, and
            # what they get is for the next round.
            self._cash[flow.givers[chosen]] = 0
            self._products.scatter(block, cash * flow.shares[chosen], self._cash)
            self.links_followed += len(block.targets)
        self.rounds += 1


def blocks_of(flow: CashFlow) -> Iterator[tuple[slice, slice]]:
    """Yield row ranges with their link ranges, with about equally many links."""
    cuts = np.searchsorted(flow.starts, np.linspace(0, flow.links, _BLOCKS + 1))
    for first, last in pairwise(sorted(set(cuts.tolist()))):
        yield slice(first, last), slice(int(flow.starts[first]), int(flow.starts[last]))
