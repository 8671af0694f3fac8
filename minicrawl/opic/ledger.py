"""The ledger: every atom of cash is on a page or on the virtual page, after every step.

M        all atoms ever minted: one unit for each page, and the endowment of the seeds.
G        all atoms ever recorded in histories; it is the clock.
D        the dividend: what the virtual page has given each read page so far.
key      a read page's cash is key + D, so that raising the one number D pays all of them.
         An unread page's cash is its key, which is what it was born with and what links gave
         it, and its part of the unread pages' common pot.
virtual  what the virtual page holds because it does not divide evenly: less than an atom a page.

Why unread pages have a common pot and not a D of their own: a page has as good a claim to the
virtual page's gifts whether it was found early or late. With a D that counts from its birth the
early pages run ahead and the order drifts to breadth-first (on cnr-2000 that costs .05 to .08 of
the importance gathered after 20 to 50 % of the pages); minting a late page the dividends it
missed would print money. A pot shared by all who wait does neither, and both kinds of key shift
alike, so a heap over the keys stays right whatever the virtual page pays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.opic.money import PARTS, UNIT, SmallEdge, fixed_edge, in_parts
from minicrawl.opic.steps import Plan
from minicrawl.opic.windows import TICK_BITS, Window

UNREAD, READ = 0, 1
"""The two pools of pages: those whose turn has not come yet, and the others."""
CLOSED = 2
"""Flag of a page that is never fetched; it is settled when its turn comes."""

_BLOCK = 1 << 20
_FLOAT_ERROR = 2.0**-40
"""What sums of floats may be off by, with room to spare: nobody is dealt what is not there."""


class Totals(NamedTuple):
    """What the books hold beside the pages, in atoms."""

    minted: int
    recorded: int
    dividend: int
    virtual: int
    pot: int
    unread: int
    discovery: int
    """The unread pages' share of the dividends in 65,536ths; -1: as much as any other page's."""


class Ledger:
    """The books. `steps` decide, `post` does."""

    def __init__(
        self,
        *,
        windows: Sequence[Window] = (),
        small_edge: SmallEdge | None = None,
        discovery: float | None = None,
    ) -> None:
        """`discovery` is the share of the dividends that unread pages get.

        Without it every page gets as much as any other. `windows` remember the histories.
        """
        self.windows = windows
        self.small_edge = small_edge or fixed_edge()
        self._discovery = None if discovery is None else in_parts(discovery)
        self.key = array("q")
        self.flags = bytearray()
        self.minted = 0
        self.recorded = 0
        self.dividend = 0
        self.virtual = 0
        self.pot = 0
        self.unread = 0

    def restore(self, key: array[int], flags: bytearray, totals: Totals) -> None:
        """Go on with books as they were saved; windows are restored by themselves."""
        self.key, self.flags, self.totals = key, flags, totals

    @property
    def totals(self) -> Totals:
        """The books beside the pages: with the keys and flags, all there is to save."""
        discovery = -1 if self._discovery is None else self._discovery
        return Totals(
            self.minted,
            self.recorded,
            self.dividend,
            self.virtual,
            self.pot,
            self.unread,
            discovery,
        )

    @totals.setter
    def totals(self, totals: Totals) -> None:
        self.minted, self.recorded, self.dividend, self.virtual, self.pot, self.unread = totals[:6]
        self._discovery = None if totals.discovery < 0 else totals.discovery

    def __len__(self) -> int:
        return len(self.key)

    @property
    def now(self) -> int:
        """G in ticks, the time that windows know."""
        return self.recorded >> TICK_BITS

    @property
    def turn(self) -> int:
        """Ticks in which as much cash flows as there is."""
        return self.minted >> TICK_BITS

    def mint(self, count: int, *, pool: int = UNREAD) -> range:
        """`count` pages become known, each with one unit. Their ids follow on the last.

        `pool=READ` is for a graph that is given whole, where no page waits to be discovered.
        """
        born = range(len(self.key), len(self.key) + count)
        self.key.extend(repeat(UNIT - self.dividend if pool == READ else UNIT, count))
        self.flags.extend(repeat(pool, count))
        self.unread += count if pool == UNREAD else 0
        self.minted += count * UNIT
        for window in self.windows:
            window.grow(count, self.now)
        return born

    def endow(self, seeds: Sequence[int], units: int) -> None:
        """Whoever gave the seeds vouches for them: they share this many units."""
        share, rest = divmod(units * UNIT, len(seeds))
        for seed in seeds:
            self.key[seed] += share
        self.minted += units * UNIT
        self._pay_dividends(rest)

    def pay_unread(self, share: int | None) -> None:
        """From now on unread pages get so many 65,536ths of the dividends; None: as any other."""
        self._discovery = share

    def close(self, page: int) -> None:
        """The page will never be fetched; it keeps its place in the queue to be settled."""
        self.flags[page] |= CLOSED

    def reopen(self, page: int) -> None:
        """The page waits for another turn, with the cash that it holds."""
        self.key[page] += self.dividend
        self.flags[page] &= ~READ
        self.unread += 1

    def is_read(self, page: int) -> bool:
        """Whether the page has been settled at least once."""
        return bool(self.flags[page] & READ)

    def is_closed(self, page: int) -> bool:
        """Whether the page must be settled without a fetch."""
        return bool(self.flags[page] & CLOSED)

    def cash(self, page: int) -> int:
        """What the page would hand on now."""
        if self.flags[page] & READ:
            return self.key[page] + self.dividend
        return self.key[page] + self.pot // self.unread

    def post(self, plan: Plan) -> None:
        """Carry the plan out. Costs O(links), whatever the number of pages."""
        page = plan.page
        if plan.cash != self.cash(page):
            raise ValueError(
                f"the plan for page {page} is out of date: it spends {plan.cash} atoms "
                f"of {self.cash(page)}; post each plan before the next one is made"
            )
        key = self.key
        if not self.flags[page] & READ:
            self._leave_the_unread(page)
        key[page] = -self.dividend
        self.recorded += plan.cash
        now, turn = self.recorded >> TICK_BITS, self.minted >> TICK_BITS
        for window in self.windows:
            window.record(page, plan.cash, now, turn)
        share = plan.share
        for link in plan.links:
            key[link] += share
        for link, atoms in plan.extras:
            key[link] += atoms
        self._pay_dividends(plan.virtual)

    def hand_over(self, plan: Plan) -> None:
        """The page's cash was meant for its one link: it gets there, and is in no history yet."""
        (target,) = plan.links
        if not self.is_read(plan.page):
            raise ValueError(f"page {plan.page} was never read: nothing was meant for another")
        self.key[plan.page] = -self.dividend
        self.key[target] += plan.cash

    def _leave_the_unread(self, page: int) -> None:
        self.pot -= self.pot // self.unread
        self.unread -= 1
        self.flags[page] |= READ

    def _pay_dividends(self, inflow: int) -> None:
        """The virtual page hands on what it has; the remainder waits for the next time."""
        purse = self.virtual + inflow
        pages, unread = len(self.key), self.unread
        read = pages - unread
        if not read:
            self.pot += purse
            self.virtual = 0
            return
        if unread:
            discovery = self._discovery
            part = purse * unread // pages if discovery is None else purse * discovery // PARTS
            self.pot += part
            purse -= part
        each, self.virtual = divmod(purse, read)
        self.dividend += each

    def restate(self, importance: NDArray[np.float64]) -> None:
        """Deal all cash anew, to each page its share of the importance; windows follow suit.

        It is the state that replays without end would lead to. `importance` sums to 1.
        """
        atoms = np.floor(importance * (self.minted * (1 - _FLOAT_ERROR))).astype(np.int64)
        self.key[:] = array("q", atoms.tobytes())
        self.dividend = self.virtual = self.pot = 0
        self.virtual = self.missing()
        cash = self.cash_of_all()
        for window in self.windows:
            window.restate(importance, cash, self.now, self.turn)

    def cash_of_all(self, first: int = 0, end: int | None = None) -> NDArray[np.float64]:
        """The cash of every page, or of a range of them, in units."""
        atoms = np.frombuffer(self.key, dtype=np.int64)[first:end].astype(np.float64)
        read = np.frombuffer(self.flags, dtype=np.uint8)[first:end] & READ == READ
        atoms[read] += self.dividend
        if self.unread:
            atoms[~read] += self.pot / self.unread
        return atoms / UNIT

    def missing(self) -> int:
        """Law 1: atoms that were minted and are nowhere, less those that came from nowhere."""
        read = len(self.key) - self.unread
        on_pages = sum(self._block_sums()) + self.dividend * read + self.pot
        return self.minted - on_pages - self.virtual

    def _block_sums(self) -> Iterable[int]:
        """Exact sums of keys: high and low halves apart, for a sum of keys may exceed 64 bits."""
        keys = np.frombuffer(self.key, dtype=np.int64)
        for start in range(0, len(keys), _BLOCK):
            block = keys[start : start + _BLOCK]
            yield (int((block >> 32).sum()) << 32) + int((block & 0xFFFFFFFF).sum())
