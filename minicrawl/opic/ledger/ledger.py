"""The ledger: every atom of cash is on a page or on the virtual page, after every step.

The virtual page receives cash at nearly every step and pays all pages alike. Updating every page
would cost O(pages) per step, so the ledger stores a *key* for each page and two global numbers:

    cash of a read page    = key + D
    cash of an unread page = key + pot / unread        (never below 0)

Raising D pays all read pages at once, raising the pot pays all unread ones.

Example, in units, with a small edge of 1/4. Page 0 starts with 6 units (1 minted, 5 endowed). It is
read and links to the new pages 1 and 2: each gets 6 * 3/4 / 2 = 2.25, and the virtual page shares
1.5 among the three pages. Then page 1 turns out to be a dead end and gives its 3.75 to the virtual
page, 1.25 for each page:

                 D     pot   unread   cash of 0     of 1                 of 2
    at first     0     0     1        6
    0 was read   0.5   1     2        0 + D = 0.5   3.25 + pot/2 = 3.75  3.75
    1 failed     1.75  1.75  1        0 + D = 1.75  -0.5 + D = 1.25      3.25 + pot = 5

Page 1 left the pool of unread pages with its share of the pot (0.5), and its key became -D (-0.5),
so that it held nothing before the virtual page paid. The cash sums to 8 units in the last two rows:
6, and one for each new page.

Unread pages share a pot instead of a second dividend, because a page has the same claim to the
virtual page's cash whether it was found early or late. With a dividend counted from a page's birth,
early pages run ahead and the order drifts towards breadth-first (on cnr-2000 this costs .05 to .08
of the importance gathered after 20 to 50 % of the pages). Minting the dividends that a late page
missed would inflate the total. Both kinds of key shift alike, so a heap over keys stays valid
whatever the virtual page pays.

M          atoms minted so far: one unit for each page, plus the endowment of the seeds.
G          atoms recorded in histories so far; the clock of the windows.
D          dividend paid to each read page so far.
pot        cash paid to the unread pages together. Negative after loans to focused links: an unread
           page whose share of the debt exceeds its key holds nothing.
remainder  less than one atom for each read page, which the last division left with the virtual
           page.
foreign    page of another shard. It is neither minted here nor paid dividends; cash given to it
           stays on it until it is sent to that shard (see `shard_cash.send`).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.ledger.money import PARTS, UNIT, SmallEdge, edge_of, fixed_edge, in_parts
from minicrawl.opic.windows.window import TICK_BITS, Window

UNREAD, READ, FOREIGN = 0, 1, 2
"""Flag of a page: waiting for its first turn, past its turn, or owned by another shard."""

_BLOCK = 1 << 20
_FLOAT_ERROR = 2.0**-40
"""Exceeds the rounding error of float sums, so that `restate` hands out no more than exists."""


class Plan(NamedTuple):
    """A page's spending: `share` for each of `links`, `extras`, the rest for `virtual`."""

    page: PageId
    cash: int
    links: Sequence[int]
    share: int
    extras: Sequence[tuple[int, int]]
    """Amounts for single pages beside the shares: (page, atoms)."""
    virtual: int
    """Negative if focused links get more than the page holds: the pot lends the difference."""


class Totals(NamedTuple):
    """State of the ledger beside the pages, in atoms. Stores use these names for their columns."""

    minted: int
    recorded: int
    dividend: int
    virtual: int
    pot: int
    unread: int
    discovery: int
    """The unread pages' share of the dividends in 65,536ths; -1: the same amount for every page."""
    focus: int = 0
    """Credit line of the pot for focused links, in 65,536ths of a unit for each unread page."""
    foreign: int = 0
    """Number of pages of other shards."""
    abroad: int = 0
    """Cash sent to other shards minus cash received from them."""
    edge: int = 0
    """The small edge in 65,536ths; 0: unchanged since the ledger was created."""


class VirtualPage:
    """The page that every page links to. It pays its cash to all pages at once."""

    def __init__(self, discovery: int | None = None, focus: int = 0) -> None:
        """Create a virtual page without cash.

        `discovery` is the share of its payments for unread pages; None pays every page the same
        amount. `focus` is its credit line for focused links, in units for each unread page. Both
        are in 65,536ths.
        """
        self.discovery, self.focus = discovery, focus
        self.dividend = 0
        self.pot = 0
        self.remainder = 0

    def pay(self, inflow: int, pages: int, unread: int) -> None:
        """Pay `inflow` and the remainder to the pages; what does not divide evenly is kept.

        A negative inflow is a loan to focused links, taken out of the pot.
        """
        if inflow < 0:
            self.pot += inflow
            return
        purse, read = self.remainder + inflow, pages - unread
        # Only the dividend needs an even division. The pot keeps every atom, since it is divided
        # anew whenever an unread page's share is looked at (`Ledger.cash`).
        if not read:
            self.pot += purse
            self.remainder = 0
            return
        if unread:
            discovery = self.discovery
            part = purse * unread // pages if discovery is None else purse * discovery // PARTS
            self.pot += part
            purse -= part
        each, self.remainder = divmod(purse, read)
        self.dividend += each


class Ledger:
    """Cash of all pages. The functions under `plans` make plans, `post` carries them out."""

    def __init__(
        self,
        *,
        windows: Sequence[Window] = (),
        small_edge: SmallEdge | None = None,
        discovery: float | None = None,
    ) -> None:
        """Create a ledger without pages.

        `discovery` is the share of the virtual page's cash for unread pages; None pays every page
        the same amount. `windows` remember the histories.
        """
        self.windows = windows
        self.small_edge = small_edge or fixed_edge()
        self.edge = 0
        self.virtual_page = VirtualPage(None if discovery is None else in_parts(discovery))
        self.key = array("q")
        self.flags = bytearray()
        self.minted = 0
        self.recorded = 0
        self.unread = 0
        self.own = 0
        """Number of pages that are not foreign."""
        self.abroad = 0
        self.endowed: dict[PageId, int] = {}
        """Endowment of each seed beside its unit, in atoms."""
        self.is_dealt_anew = False
        """True after `restate`: no page holds the cash it was born with."""

    def restore(self, key: array[int], flags: bytearray, totals: Totals) -> None:
        """Continue from a saved ledger. Windows are restored separately."""
        self.key, self.flags = key, flags
        self.minted, self.recorded, self.unread = totals.minted, totals.recorded, totals.unread
        self.own, self.abroad = len(key) - totals.foreign, totals.abroad
        discovery = None if totals.discovery < 0 else totals.discovery
        self.virtual_page = VirtualPage(discovery, totals.focus)
        self.virtual_page.dividend = totals.dividend
        self.virtual_page.remainder = totals.virtual
        self.virtual_page.pot = totals.pot
        self.change_edge(totals.edge)

    @property
    def totals(self) -> Totals:
        """State beside the pages: with keys and flags, everything that a checkpoint saves."""
        virtual_page = self.virtual_page
        return Totals(
            minted=self.minted,
            recorded=self.recorded,
            dividend=virtual_page.dividend,
            virtual=virtual_page.remainder,
            pot=virtual_page.pot,
            unread=self.unread,
            discovery=-1 if virtual_page.discovery is None else virtual_page.discovery,
            focus=virtual_page.focus,
            foreign=len(self.key) - self.own,
            abroad=self.abroad,
            edge=self.edge,
        )

    def change_edge(self, parts: int) -> None:
        """Set the small edge to `parts` 65,536ths; 0 leaves it unchanged."""
        if parts:
            self.edge, self.small_edge = parts, edge_of(parts)

    def __len__(self) -> int:
        return len(self.key)

    @property
    def now(self) -> int:
        """G in ticks, the clock of the windows."""
        return self.recorded >> TICK_BITS

    @property
    def circulation(self) -> int:
        """Number of ticks in which as much cash flows as exists."""
        return self.minted >> TICK_BITS

    def mint(self, count: int, *, pool: int = UNREAD) -> range:
        """Add `count` pages with one unit each, and return their ids.

        `pool=READ` is for a graph that is known as a whole, where no page waits to be discovered.
        """
        born = range(len(self.key), len(self.key) + count)
        # A read page must not receive the dividends that were paid before it was born.
        key = UNIT - self.virtual_page.dividend if pool == READ else UNIT
        self.key.extend(repeat(key, count))
        self.flags.extend(repeat(pool, count))
        self.own += count
        self.unread += count if pool == UNREAD else 0
        self.minted += count * UNIT
        for window in self.windows:
            window.grow(count, self.now, self.circulation)
        return born

    def endow(self, seeds: Sequence[int], units: int) -> None:
        """Mint `units` more units and share them among the seeds."""
        share, remainder = divmod(units * UNIT, len(seeds))
        for seed in seeds:
            self.key[seed] += share
            self.endowed[seed] = self.endowed.get(seed, 0) + share
        self.minted += units * UNIT
        # The rest of the division goes to all pages: if the first seeds got it, the order in which
        # a user names seeds would matter.
        self.virtual_page.pay(remainder, self.own, self.unread)

    def grant(self, newborn: Sequence[int], atoms: int) -> None:
        """Mint `atoms` more (may be negative) for each of these newborn pages."""
        if atoms < -UNIT:
            raise ValueError(f"cannot take {-atoms} atoms from a newborn page: it holds {UNIT}")
        for page in newborn:
            self.key[page] += atoms
        self.minted += atoms * len(newborn)

    def presume(self, newborn: Sequence[int], flow: int) -> None:
        """Credit each newborn page with a past flow of `flow` atoms per circulation.

        Neither cash nor the clock changes: only windows see this flow, until readings replace it.
        """
        if flow <= 0:
            raise ValueError(f"a presumed flow must be above 0 atoms a circulation, not {flow}")
        for window in self.windows:
            window.presume(newborn, flow, self.now, self.circulation)

    def reopen(self, page: PageId) -> None:
        """Return a read page to the pool of unread pages, with the cash it holds."""
        self.key[page] += self.virtual_page.dividend
        self.flags[page] = UNREAD
        self.unread += 1

    def refuse(self, newborn: Sequence[PageId]) -> None:
        """Let newborn pages give all their cash to the virtual page, at the same moment.

        They had no turn, but count as read.
        """
        flags, key, virtual_page = self.flags, self.key, self.virtual_page
        if any(map(flags.__getitem__, newborn)):
            raise ValueError("only newborn pages can be refused: one was read, or is foreign")
        share = virtual_page.pot // self.unread
        keys = [*map(key.__getitem__, newborn)]
        amounts = [own + share if own > -share else 0 for own in keys]  # a third of `max`
        total = sum(amounts)
        virtual_page.pot -= total - sum(keys)
        self.unread -= len(newborn)
        self.recorded += total
        for window in self.windows:
            window.record_first(newborn, amounts, self.now, self.circulation)
        nothing = -virtual_page.dividend
        for page in newborn:
            flags[page], key[page] = READ, nothing
        virtual_page.pay(total, self.own, self.unread)

    def is_read(self, page: PageId) -> bool:
        """Return True if the page had its turn and is not waiting for another one."""
        return self.flags[page] == READ

    def cash(self, page: PageId) -> int:
        """Return the cash that the page would spend now."""
        if flag := self.flags[page]:
            if flag == FOREIGN:
                raise ValueError(f"page {page} belongs to another shard: it has no turn here")
            return self.key[page] + self.virtual_page.dividend
        return max(0, self.key[page] + self.virtual_page.pot // self.unread)

    def post(self, plan: Plan) -> None:
        """Carry the plan out, in time proportional to its links."""
        page = plan.page
        # Plans are plain values and could be kept. If another step came in between, this one would
        # mint or destroy the difference, and `missing` would only tell that some step was wrong,
        # not which.
        if plan.cash != self.cash(page):
            raise ValueError(
                f"the plan for page {page} is out of date: it spends {plan.cash} atoms "
                f"of {self.cash(page)}; post each plan before the next one is made"
            )
        key, virtual_page = self.key, self.virtual_page
        if not self.flags[page]:
            # The page leaves the pool of unread pages with its share of the pot. In debt, where it
            # spends nothing, its key goes to the pot instead.
            virtual_page.pot -= plan.cash - key[page]
            self.unread -= 1
            self.flags[page] = READ
        # Emptied before its links are paid, since a page may be among its own links.
        key[page] = -virtual_page.dividend
        self.recorded += plan.cash
        now, circulation = self.recorded >> TICK_BITS, self.minted >> TICK_BITS
        for window in self.windows:
            window.record(page, plan.cash, now, circulation)
        share = plan.share
        for link in plan.links:
            key[link] += share
        for link, atoms in plan.extras:
            key[link] += atoms
        # Last, when the page is in its new pool: it gets its part of this payment like any other
        # page.
        virtual_page.pay(plan.virtual, self.own, self.unread)

    def hand_over(self, plan: Plan) -> None:
        """Move the page's cash to its only link without recording it in a history.

        For cash that the page received in place of the link's target.
        """
        # Neither in a history nor in G: this cash was meant for the target, which will spend and
        # record it. Recorded here as well, it would count twice.
        (target,) = plan.links
        if not self.is_read(plan.page):
            raise ValueError(f"page {plan.page} was never read: it holds no cash for another page")
        self.key[plan.page] = -self.virtual_page.dividend
        self.key[target] += plan.cash

    def cash_of(self, pages: NDArray[np.integer] | slice) -> NDArray[np.float64]:
        """Return the cash of these pages, in units."""
        atoms = np.frombuffer(self.key, dtype=np.int64)[pages].astype(np.float64)
        flags = np.frombuffer(self.flags, dtype=np.uint8)[pages]
        atoms[flags == READ] += self.virtual_page.dividend
        if self.unread:
            atoms[flags == UNREAD] += self.virtual_page.pot / self.unread
            if self.virtual_page.pot < 0:
                np.maximum(atoms, 0, out=atoms)
        return atoms / UNIT

    def cash_of_all(self, first: int = 0, end: int | None = None) -> NDArray[np.float64]:
        """Return the cash of every page, or of a range of pages, in units."""
        return self.cash_of(slice(first, end))

    def missing(self) -> int:
        """Return the atoms that were minted but are on no page; 0 unless the ledger is corrupt."""
        read, virtual_page = self.own - self.unread, self.virtual_page
        paid = virtual_page.dividend * read + virtual_page.pot + virtual_page.remainder
        # High and low halves apart: a sum may exceed 64 bits.
        keys, total = np.frombuffer(self.key, dtype=np.int64), 0
        for start in range(0, len(keys), _BLOCK):
            block = keys[start : start + _BLOCK]
            total += (int((block >> 32).sum()) << 32) + int((block & 0xFFFFFFFF).sum())
        return self.minted - self.abroad - total - paid


def restate(ledger: Ledger, importance: NDArray[np.float64]) -> None:
    """Redistribute all cash: each page gets its share of `importance`, which sums to 1.

    Windows are rewritten to match. Endless replays would lead to the same state.
    """
    atoms = np.floor(importance * (ledger.minted * (1 - _FLOAT_ERROR))).astype(np.int64)
    ledger.key[:] = array("q", atoms.tobytes())
    ledger.virtual_page = VirtualPage(ledger.virtual_page.discovery, ledger.virtual_page.focus)
    # The floors above leave less than one atom a page over, which waits with the virtual page.
    ledger.virtual_page.remainder = ledger.missing()
    ledger.is_dealt_anew = True
    cash = ledger.cash_of_all()
    for window in ledger.windows:
        window.restate(importance, cash, ledger.now, ledger.circulation)
