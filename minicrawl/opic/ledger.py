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
           stays on it until it is sent to that shard (see `transfers` below).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from hashlib import blake2b
from itertools import repeat
from operator import add
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.money import PARTS, UNIT, SmallEdge, edge_of, fixed_edge, in_parts
from minicrawl.opic.windows import TICK_BITS, Window

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

    __slots__ = ("discovery", "dividend", "focus", "pot", "remainder")

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
        share, rest = divmod(units * UNIT, len(seeds))
        for seed in seeds:
            self.key[seed] += share
            self.endowed[seed] = self.endowed.get(seed, 0) + share
        self.minted += units * UNIT
        # The rest of the division goes to all pages: if the first seeds got it, the order in which
        # a user names seeds would matter.
        self.virtual_page.pay(rest, self.own, self.unread)

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
        return self.minted - self.abroad - sum(_block_sums(self.key)) - paid


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


def _block_sums(key: array[int]) -> Iterator[int]:
    """Yield exact partial sums of the keys, high and low halves apart: a sum may exceed 64 bits."""
    keys = np.frombuffer(key, dtype=np.int64)
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        yield (int((block >> 32).sum()) << 32) + int((block & 0xFFFFFFFF).sum())


# ================================================================ plans
#
# Pure functions that plan a page's turn; `Ledger.post` carries a plan out.
#
# Invariants: a page spends all of its cash; every atom goes to a link or to the virtual page; dead
# ends lose nothing.

_LOAN_BITS = 4
"""A visit may borrow a 16th of the remaining credit line, so that something is left for the next
visit. Logs in stores depend on this value."""


def visit(ledger: Ledger, page: PageId, links: Sequence[int]) -> Plan:
    """Plan a visit: the links share the page's cash equally, after its small edge."""
    cash = ledger.cash(page)
    if not links:
        return Plan(page, cash, (), 0, (), cash)
    share = ledger.small_edge(cash, len(links)) // len(links)
    return Plan(page, cash, links, share, (), cash - share * len(links))


def weighted_visit(
    ledger: Ledger,
    page: PageId,
    links: Sequence[int],
    weights: Sequence[int],
    focus: Sequence[int] = (),
    idle: int = 0,
) -> Plan:
    """Plan a visit with unequal links: each link gets its part by weight.

    `idle` is a weight without a link: its part goes to the virtual page.

    `focus` is a strength in 65,536ths for each link: the link gets that multiple of its part on
    top, out of the virtual page's part. If the virtual page's part is too small, it is shared pro
    rata, and the pot lends unread pages what is missing, within its credit line and pro rata too.
    """
    cash = ledger.cash(page)
    total = sum(weights) + idle
    if not total:
        return Plan(page, cash, (), 0, (), cash)
    for_links = ledger.small_edge(cash, len(links))
    parts = [for_links * weight // total for weight in weights]
    edge = cash - sum(parts)
    gifts = _gifts(ledger, page, links, parts, focus, edge) if focus else repeat(0)
    credits = [part + gift for part, gift in zip(parts, gifts, strict=False)]
    extras = [(link, atoms) for link, atoms in zip(links, credits, strict=True) if atoms]
    return Plan(page, cash, (), 0, extras, cash - sum(credits))


def _gifts(
    ledger: Ledger,
    page: PageId,
    links: Sequence[int],
    parts: Sequence[int],
    focus: Sequence[int],
    edge: int,
) -> list[int]:
    """Return the amounts that focused links get on top of their parts."""
    wanted = [part * strength // PARTS for part, strength in zip(parts, focus, strict=True)]
    gifts = _pro_rata(wanted, edge)
    most = loan(ledger, page)
    if not most or gifts == wanted:
        return gifts
    # The pot is the unread pages' own cash, so it lends to unread pages only. `page` itself is read
    # once the plan is posted.
    lacking = [
        0 if link == page or ledger.is_read(link) else wish - gift
        for link, wish, gift in zip(links, wanted, gifts, strict=True)
    ]
    return list(map(add, gifts, _pro_rata(lacking, most)))


def loan(ledger: Ledger, page: PageId) -> int:
    """Return the most that the pot may lend when this page spends its cash on focused links."""
    virtual_page, unread, pot = ledger.virtual_page, ledger.unread, ledger.virtual_page.pot
    if not virtual_page.focus:
        return 0
    if not ledger.is_read(page):
        # As of the moment after the visit: by then the page has taken its share out of the pot.
        pot -= ledger.cash(page) - ledger.key[page]
        unread -= 1
    return max(0, pot + unread * (UNIT * virtual_page.focus // PARTS)) >> _LOAN_BITS


def _pro_rata(wanted: Sequence[int], purse: int) -> list[int]:
    """Return `wanted`, scaled down to `purse` if the purse cannot pay it all."""
    total = max(sum(wanted), purse)
    return [wish * purse // total for wish in wanted] if total else list(wanted)


def dead_end(ledger: Ledger, page: PageId) -> Plan:
    """Plan the turn of a failed or forbidden page: the virtual page gets all its cash."""
    return visit(ledger, page, ())


def forward(ledger: Ledger, page: PageId, target: int) -> Plan:
    """Plan a redirect or rel=canonical: the target gets all the cash.

    A page that points to itself is a dead end. If it paid itself, it would stay the richest page
    for ever.
    """
    if target == page:
        return dead_end(ledger, page)
    cash = ledger.cash(page)
    return Plan(page, cash, (target,), cash, (), 0)


def replay(ledger: Ledger, page: PageId, links: Sequence[int]) -> Plan:
    """Plan a replay: a read page spends its cash again along its stored links, without a fetch."""
    if not ledger.is_read(page):
        raise ValueError(f"page {page} was never read: only a read page has links to replay")
    return visit(ledger, page, links)


# ================================================================ transfers
#
# Cash that moves from the ledger of one shard to that of another.
#
# Invariants: cash for a page of another shard is booked on the *foreign* page in the step that
# settles the giver, so no atom is ever between two places. It leaves when it is sent. A ledger
# holds what was minted here, minus what was sent, plus what was received.
#
# foreign   see the module docstring: the foreign pages together are the shard's outbox
# sending   the cash of the foreign pages of one shard, and a part of the pot, leaves for that shard
# receipt   cash from another shard is credited to the pages, or to the pages that they redirect to


def disown(ledger: Ledger, newborn: Sequence[int]) -> None:
    """Mark newborn pages as pages of other shards, which mint their units."""
    if any(ledger.flags[page] != UNREAD or ledger.key[page] != UNIT for page in newborn):
        raise ValueError(
            "only newborn pages can be marked as foreign: one has spent or received cash"
        )
    for page in newborn:
        ledger.flags[page], ledger.key[page] = FOREIGN, 0
    ledger.own -= len(newborn)
    ledger.unread -= len(newborn)
    ledger.minted -= len(newborn) * UNIT


def send(ledger: Ledger, pages: Sequence[int], atoms: Sequence[int], of_pot: int) -> None:
    """Remove the cash of these foreign pages, and `of_pot` atoms of the pot: it was sent."""
    if any(ledger.flags[page] != FOREIGN for page in pages):
        raise ValueError("cannot send cash of own pages to another shard")
    if [ledger.key[page] for page in pages] != list(atoms):
        raise ValueError("batch out of date: its amounts differ from the cash of its pages")
    if of_pot < 0 or of_pot > max(0, ledger.virtual_page.pot):
        raise ValueError(f"the pot holds {ledger.virtual_page.pot} atoms, not {of_pot}")
    for page in pages:
        ledger.key[page] = 0
    ledger.virtual_page.pot -= of_pot
    ledger.abroad += sum(atoms) + of_pot


def receive(
    ledger: Ledger,
    stands_for: Callable[[int], int],
    pages: Sequence[int],
    atoms: Sequence[int],
    to_pot: int,
) -> None:
    """Credit cash received from another shard to these pages, and `to_pot` to the pot."""
    if min(atoms, default=0) < 0 or to_pot < 0:
        raise ValueError("negative amount in a received batch")
    for page, cash in zip(pages, atoms, strict=True):
        ledger.key[stands_for(page)] += cash
    ledger.virtual_page.pot += to_pot
    ledger.abroad -= sum(atoms) + to_pot


# ================================================================ log
#
# The log of all steps that move cash, and the fold that rebuilds the books from it.
#
# The books are a fold over the steps. The same steps in the same order give the same books to the
# atom, so only the log must survive a crash; a checkpoint of the books only saves time.
#
# step      an event; it names pages by id and counts the pages that it introduces
# spending  how a page spends its cash: its links, and their weights if they differ
# forward   page that stands for another one: a redirect, a rel=canonical, a duplicate. Cash for it
#           goes to its target at once, so that no cash waits behind a redirect.


class StepKind(IntEnum):
    """Kind of a step. Stores contain these numbers: they never change."""

    TERMS = 0  # new terms of payment between pages and the virtual page
    BORN = 1  # pages became known without a link
    ENDOWED = 2  # seeds share an endowment
    VISIT = 3  # a page was read
    FORWARD = 4  # a page turned out to stand for another one
    DEAD_END = 5  # a page gives its cash to the virtual page
    REPLAY = 6  # read pages spend their cash again
    REOPEN = 7  # read pages wait for another turn
    GRANT = 8  # newborn pages get more than a unit, or less
    PRESUME = 9  # newborn pages are credited with a history
    FOREIGN = 10  # newborn pages belong to other shards
    SEND = 11  # cash of foreign pages leaves for their shard
    RECEIVE = 12  # cash from another shard is credited to pages


class Spending(NamedTuple):
    """Destination of a page's cash. Weights and focus are empty if all links are equal."""

    links: Sequence[int]
    weights: Sequence[int] = ()
    focus: Sequence[int] = ()
    idle: int = 0
    """A weight without a link; 0 unless there are weights. For SEND and RECEIVE, whose weights are
    atoms, it is the amount that leaves or enters the pot."""
    self_link: bool = False
    """True if the page links to itself, which moves no cash."""
    unpaid: Sequence[int] = ()
    """Links of a page that stands for another one; they get none of its cash."""


class Step(NamedTuple):
    """An event; `spending.links` are the targets of a visit or forward, else its pages."""

    kind: StepKind
    page: PageId = 0
    born: int = 0
    spending: Spending = Spending(())
    amount: int = 0
    """Depends on the kind. BORN: number of links of the page that were looked at, or 0 for pages
    without a link; ENDOWED: units; GRANT: atoms for each page; PRESUME: atoms per circulation for
    each page; TERMS: see `terms`; FORWARD: 1 if the page only hands over what it received in the
    target's place; SEND and RECEIVE: number of the batch, where `page` is the other shard.
    """


_FOCUS_UNIT = 1 << 20
_EDGE_UNIT = 1 << 40


def terms(discovery: int, focus: int = 0, edge: int = 0) -> Step:
    """Return a step that sets the terms of payment; all arguments are in 65,536ths.

    `discovery` is the unread pages' share of the dividends (-1: the same for every page), `focus`
    the credit line for focused links in units for each unread page, and `edge` the small edge
    (0: unchanged).
    """
    return Step(StepKind.TERMS, amount=discovery + focus * _FOCUS_UNIT + edge * _EDGE_UNIT)


class Books:
    """A ledger, and the pages that stand for others. `apply` is the fold."""

    def __init__(self, ledger: Ledger, spending_of: Callable[[int], Spending]) -> None:
        """Create books; `spending_of` returns the last spending of a page, for replays."""
        self.ledger = ledger
        self.forwards: dict[int, int] = {}
        self._spending_of = spending_of

    def apply(self, step: Step) -> list[Plan]:
        """Carry the step out and return the plans that were posted."""
        # New pages first: the spending of the same step may lead to them.
        if step.born:
            self.ledger.mint(step.born)
        match step.kind:
            case StepKind.VISIT | StepKind.DEAD_END:
                self.forwards.pop(step.page, None)
                plan = self._spend(step.page, step.spending)
            case StepKind.FORWARD:
                target = self._set_forward(step.page, step.spending.links[0])
                plan = forward(self.ledger, step.page, target)
                if step.amount:
                    self.ledger.hand_over(plan)
                    return [plan]
            case StepKind.REPLAY:
                return [self._replay(page) for page in step.spending.links]
            case StepKind.FOREIGN | StepKind.SEND | StepKind.RECEIVE:
                self._trade(step)
                return []
            case _:
                self._arrange(step)
                return []
        self.ledger.post(plan)
        return [plan]

    def _arrange(self, step: Step) -> None:
        """Carry out a step that moves no cash between pages."""
        match step.kind:
            case StepKind.REOPEN:
                for page in step.spending.links:
                    self.forwards.pop(page, None)
                    self.ledger.reopen(page)
            case StepKind.ENDOWED:
                self.ledger.endow(step.spending.links, step.amount)
            case StepKind.GRANT:
                self.ledger.grant(step.spending.links, step.amount)
            case StepKind.PRESUME:
                self.ledger.presume(step.spending.links, step.amount)
            case StepKind.TERMS:
                virtual_page = self.ledger.virtual_page
                # `discovery` is -1 or more: with 1 added, all three numbers are digits of one
                # number.
                edge, others = divmod(step.amount + 1, _EDGE_UNIT)
                focus, shifted = divmod(others, _FOCUS_UNIT)
                self.ledger.change_edge(edge)
                virtual_page.focus = focus
                virtual_page.discovery = shifted - 1 if shifted else None

    def _trade(self, step: Step) -> None:
        """Carry out a step of a sharded crawl."""
        pages, atoms, _, by_pot = step.spending[:4]
        match step.kind:
            case StepKind.SEND:
                send(self.ledger, pages, atoms, by_pot)
            case StepKind.RECEIVE:
                receive(self.ledger, self.stands_for, pages, atoms, by_pot)
            case _:
                disown(self.ledger, pages)

    def stands_for(self, page: PageId) -> int:
        """Return the page at the end of the chain of forwards; most pages stand for themselves."""
        while page in self.forwards:
            page = self.forwards[page]
        return page

    def leads_to(self, page: PageId, target: int) -> bool:
        """Return True if the chain of forwards from the page reaches the target."""
        while page != target and page in self.forwards:
            page = self.forwards[page]
        return page == target

    def without_detours(self, page: PageId, spending: Spending) -> Spending:
        """Return the spending with links to the ends of forwards, duplicates removed."""
        if self.forwards.keys().isdisjoint(spending.links):
            return spending
        ends = self._ends(spending.links)
        # Backwards, so that of several links to one end the first stays. A detour back to the page
        # itself moves no cash, like any link of a page to itself.
        first = {end: i for i, end in reversed(list(enumerate(ends))) if end != page}
        keep = sorted(first.values())
        return Spending(
            [ends[i] for i in keep],
            [spending.weights[i] for i in keep] if spending.weights else (),
            [spending.focus[i] for i in keep] if spending.focus else (),
            spending.idle,
            spending.self_link,
        )

    def _ends(self, links: Iterable[int]) -> list[int]:
        """Return the end of each link's chain of forwards. Each page of a chain is visited once."""
        known: dict[int, int] = {}
        return [self._end(link, known) if link in self.forwards else link for link in links]

    def _end(self, page: int, known: dict[int, int]) -> int:
        """Return the end of the page's chain, and record it for all pages of the chain."""
        chain = []
        while page not in known and page in self.forwards:
            chain.append(page)
            page = self.forwards[page]
        end = known.get(page, page)
        known.update(dict.fromkeys(chain, end))
        return end

    def _set_forward(self, page: PageId, target: int) -> int:
        """Make the page stand for the target; return the end of the chain of forwards."""
        self.forwards.pop(page, None)
        end = self.stands_for(target)
        if end == page:
            raise ValueError(f"page {page} stands for itself: settle a cycle as a dead end")
        self.forwards[page] = target
        return end

    def _replay(self, page: PageId) -> Plan:
        if not self.ledger.is_read(page):
            raise ValueError(f"page {page} was never read: only a read page has links to replay")
        if page in self.forwards:
            plan = forward(self.ledger, page, self.stands_for(page))
        else:
            plan = self._spend(page, self._spending_of(page))
        self.ledger.post(plan)
        return plan

    def _spend(self, page: PageId, spending: Spending) -> Plan:
        links, weights, focus, idle = self.without_detours(page, spending)[:4]
        if not weights and not focus:
            return visit(self.ledger, page, links)
        weights = weights or [1] * len(links)
        return weighted_visit(self.ledger, page, links, weights, focus, idle)


# ================================================================ channels
#
# Channels of a shard: the cash it has sent to each other shard and received from it.
#
# Most crawls have one shard and no channels. Law: the ends of the channels are a fold over the log
# of the shard, like its ledger. So is the set of unsent foreign pages, which their own shards may
# not know yet.
#
# A shard owns whole sites, not hosts: quotas, traps and budgets apply to sites, and since most
# links stay within a site, most cash stays in its shard. The shard of a site depends only on its
# name and the number of shards; it is the same on every machine and in every version.

MOST_SHARDS = 1 << 16
_BYTES = 8


def shard_of(site: str, shards: int) -> int:
    """Return the number of the site's shard, from 0."""
    digest = blake2b(site.encode(errors="surrogatepass"), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big") * shards >> 8 * _BYTES


class ShardPlace(NamedTuple):
    """Shard of a crawl: its number, and the number of shards."""

    number: int
    of: int

    def owner(self, site: str) -> int:
        """Return the shard that owns the site."""
        return shard_of(site, self.of)


ChannelRows = Mapping[str, Sequence[Sequence[int]]]


_SENT, _RECEIVED, _UNSENT = "sent", "received", "unsent"


class ChannelEnd(NamedTuple):
    """Number of the last batch, and atoms of all batches so far."""

    number: int = 0
    atoms: int = 0


class Channels:
    """A shard's ends of its channels to other shards."""

    def __init__(self) -> None:
        self._sent: dict[int, ChannelEnd] = {}
        self._received: dict[int, ChannelEnd] = {}
        self.unsent: set[int] = set()
        """Foreign pages that were never sent."""

    @classmethod
    def from_rows(cls, rows: ChannelRows) -> Self:
        """Return the channels from the result of `as_rows`."""
        channels = cls()
        for ends, name in ((channels._sent, _SENT), (channels._received, _RECEIVED)):
            ends.update((other, ChannelEnd(number, atoms)) for other, number, atoms in rows[name])
        channels.unsent.update(page for (page,) in rows[_UNSENT])
        return channels

    def as_rows(self) -> ChannelRows:
        """Return all ends, for the checkpoint of a store."""
        ends = {
            name: [(other, *end) for other, end in sorted(ends.items())]
            for name, ends in ((_SENT, self._sent), (_RECEIVED, self._received))
        }
        return {**ends, _UNSENT: [(page,) for page in sorted(self.unsent)]}

    @property
    def sent(self) -> Mapping[int, ChannelEnd]:
        """Sent channel ends, keyed by receiving shard."""
        return self._sent

    @property
    def received(self) -> Mapping[int, ChannelEnd]:
        """Received channel ends, keyed by sending shard."""
        return self._received

    def apply(self, step: Step) -> None:
        """Apply one more step."""
        if step.kind is StepKind.FOREIGN:
            self.unsent.update(step.spending.links)
        elif step.kind is StepKind.SEND:
            _count(self._sent, step)
            self.unsent.difference_update(step.spending.links)
        elif step.kind is StepKind.RECEIVE:
            _count(self._received, step)

    def next_number(self, receiver: int) -> int:
        """Return the number of the next batch to this shard."""
        return self._sent.get(receiver, ChannelEnd()).number + 1


def _count(ends: dict[int, ChannelEnd], step: Step) -> None:
    number, atoms = ends.get(step.page, ChannelEnd())
    if step.amount != number + 1:
        raise ValueError(f"batch {step.amount} follows batch {number}: the log has a gap")
    ends[step.page] = ChannelEnd(
        step.amount, atoms + sum(step.spending.weights) + step.spending.idle
    )
