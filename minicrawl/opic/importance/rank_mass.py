"""RankMass: a proven lower bound of the importance on the pages read.

The importance of `estimate` and `CashFlow` depends on all known pages, so the share of pages
that are still undiscovered can only be guessed. RankMass guesses nothing. It measures PageRank
with jumps to the seeds alone: each page gives the small edge e to the seeds and the rest to its
links, and a page without links gives everything to the seeds.

Cash leaves the seeds once and moves along the links of the pages read, until it returns to the
seeds or reaches an unread page. Nothing that is discovered later can take back what flowed.

Example: e is 1/4, the seed A links to B and C, and B links to A; C is unread. Of 1 unit A gives
1/4 back, and 3/8 each to B and C. Of its 3/8 B gives 3/32 back and 9/32 to A, and so on: in the
end 32/23 units have flowed through A, 12/23 through B, and 12/23 have reached C. Behind C each
hop takes at least 1/4 of the cash, so that at most 4 times 12/23 can flow through C and what is
behind:

    share of A and B >= (32 + 12) / (32 + 12 + 4 * 12) = .478

h    flow through the pages read
u    flow through pages that were read and now wait for another turn
r    cash that has not surely returned to the seeds

All other flow is at most r / e. Its part through pages read only raises their share, so the share
is at least h / (h + u + r / e). It is exactly that if the unread pages link only to each other.

Cash is whole atoms: each amount is rounded down, and what rounding takes counts in r. Vectors of
float64 hold atoms exactly, as no sum reaches 2^53.

Laws: the share is never above the truth, however early the work is broken off. Pages that failed
or may not be fetched give everything to the seeds and do not count, as in the gathered share.

Source: Cho and Schonfeld, RankMass Crawler: A Crawler with High Personalized PageRank Coverage
Guarantee, VLDB 2007. They add up walks that end on pages read, e h in our terms; that only pages
behind the frontier can have the rest, and the share of counted pages, is our own.
"""

from collections.abc import Callable, Mapping
from math import floor, log2, nextafter

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.products import WeightedRows, by_counting, row_products
from minicrawl.model import PageId
from minicrawl.opic.importance.cash_flow import FEW_LINKS, CashFlow, blocks_of

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
        # In whole numbers: a denominator of 2 to some power multiplies all terms.
        edge, one = self._edge.as_integer_ratio()
        unread = edge * int(self._through[is_open].sum()) + one * self._left(is_open)
        return max(nextafter(edge * read / (edge * read + unread), 0), 0.0)
