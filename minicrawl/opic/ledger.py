"""The ledger: every atom of cash is on a page or on the virtual page, after every step.

M          all atoms ever minted: one unit for each page, and the endowment of the seeds.
G          all atoms ever recorded in histories. It is the clock.
D          the dividend: what the virtual page has paid each read page so far.
pot        what the virtual page has paid the unread pages together.
key        A read page's cash is key + D, so that raising the one number D pays all read pages.
           An unread page's cash is its key, which is what it was born with and what links gave
           it, plus its part of the pot. The pot may owe: then the part is below 0, and a page that
           was reopened with less holds nothing.
remainder  what the virtual page holds because it does not divide evenly: less than an atom a page.
foreign    A page of another shard, where a crawl has several. It is no page of this ledger: nothing
           is minted for it and no dividend paid to it. It holds what links gave it until that is
           sent to its shard. See `transfers`.

Why unread pages share a pot and have no D of their own: a page has the same claim to the virtual
page's cash whether it was found early or late. With a D that counts from a page's birth, early
pages run ahead and the order drifts to breadth-first (on cnr-2000 that costs .05 to .08 of the
importance gathered after 20 to 50 % of the pages). Minting the dividends that a late page missed
would print money. A shared pot does neither, and both kinds of key shift alike, so a heap over the
keys stays right whatever the virtual page pays.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from operator import add
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import PageId
from minicrawl.opic.money import PARTS, UNIT, SmallEdge, edge_of, fixed_edge, in_parts
from minicrawl.opic.windows.interpolation import TICK_BITS, Window

UNREAD, READ, FOREIGN = 0, 1, 2
"""A page's flag: the pool of pages that wait for their first turn, the pool of the others, or none,
as the page is of another shard."""

_BLOCK = 1 << 20
_FLOAT_ERROR = 2.0**-40
"""More than sums of floats are off by, so that no page is dealt cash that does not exist."""


class Plan(NamedTuple):
    """How a page spends its cash: `share` to each of `links`, `extras`, the rest to `virtual`."""

    page: PageId
    cash: int
    links: Sequence[int]
    share: int
    extras: Sequence[tuple[int, int]]
    """More for some pages: (page, atoms)."""
    virtual: int
    """Less than 0 if focused links get more than the page has: the pot lends the difference."""


class Totals(NamedTuple):
    """What the ledger holds beside the pages, in atoms. The names are those of the store."""

    minted: int
    recorded: int
    dividend: int
    virtual: int
    pot: int
    unread: int
    discovery: int
    """The unread pages' share of the dividends in 65,536ths; -1: as much as any other page's."""
    focus: int = 0
    """What the pot may lend for focused links, in 65,536ths of a unit for each unread page."""
    foreign: int = 0
    """Pages of other shards."""
    abroad: int = 0
    """What was sent to other shards, less what came from them."""
    edge: int = 0
    """The small edge in 65,536ths if it was changed; 0: it is that with which the ledger began."""


class VirtualPage:
    """The page that every page links to. It pays what it gets to all pages at once."""

    __slots__ = ("discovery", "dividend", "focus", "pot", "remainder")

    def __init__(self, discovery: int | None = None, focus: int = 0) -> None:
        """`discovery` is the unread pages' share of what it pays, and `focus` what it may lend for
        focused links, of a unit for each unread page; both in 65,536ths.

        With None every page gets as much as any other.
        """
        self.discovery, self.focus = discovery, focus
        self.dividend = 0
        self.pot = 0
        self.remainder = 0

    def pay(self, inflow: int, pages: int, unread: int) -> None:
        """Pay all that it has to this many pages. The remainder waits for the next time.

        An inflow below 0 is what it lends: a visit gave it to focused links.
        """
        if inflow < 0:
            self.pot += inflow
            return
        purse, read = self.remainder + inflow, pages - unread
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
    """The cash of all pages. The functions in `steps` make plans, `post` carries them out."""

    def __init__(
        self,
        *,
        windows: Sequence[Window] = (),
        small_edge: SmallEdge | None = None,
        discovery: float | None = None,
    ) -> None:
        """`discovery` is the share of the virtual page's cash that unread pages get.

        Without it every page gets as much as any other. `windows` remember the histories.
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
        """All pages but the foreign ones."""
        self.abroad = 0
        self.endowed: dict[PageId, int] = {}
        """What seeds were born with beside their unit, in atoms."""
        self.is_dealt_anew = False
        """Cash and histories were restated: no page holds what it was born with."""

    def restore(self, key: array[int], flags: bytearray, totals: Totals) -> None:
        """Go on from a saved ledger. Windows are restored by themselves."""
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
        """The ledger beside the pages: with the keys and flags, all there is to save."""
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
        """From here on the small edge takes this share in 65,536ths; for 0 it stays as it is."""
        if parts:
            self.edge, self.small_edge = parts, edge_of(parts)

    def __len__(self) -> int:
        return len(self.key)

    @property
    def now(self) -> int:
        """G in ticks, the time that windows know."""
        return self.recorded >> TICK_BITS

    @property
    def circulation(self) -> int:
        """Ticks in which as much cash flows as there is."""
        return self.minted >> TICK_BITS

    def mint(self, count: int, *, pool: int = UNREAD) -> range:
        """`count` pages become known, each with one unit. They get the next ids.

        `pool=READ` is for a graph that is known as a whole, where no page waits to be discovered.
        """
        born = range(len(self.key), len(self.key) + count)
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
        """Mint this many units more and share them among the seeds."""
        share, rest = divmod(units * UNIT, len(seeds))
        for seed in seeds:
            self.key[seed] += share
            self.endowed[seed] = self.endowed.get(seed, 0) + share
        self.minted += units * UNIT
        self.virtual_page.pay(rest, self.own, self.unread)

    def grant(self, newborn: Sequence[int], atoms: int) -> None:
        """Mint so many atoms more for each of these, which were just born; fewer if below 0."""
        if atoms < -UNIT:
            raise ValueError(f"a newborn page holds a unit: {-atoms} atoms cannot be taken from it")
        for page in newborn:
            self.key[page] += atoms
        self.minted += atoms * len(newborn)

    def presume(self, newborn: Sequence[int], flow: int) -> None:
        """These, which were just born, count as if each had handed on `flow` atoms a circulation.

        It is no cash and in no clock: only windows know of it, until what they see replaces it.
        """
        if flow <= 0:
            raise ValueError(f"a history of {flow} atoms a circulation is none: leave it out")
        for window in self.windows:
            window.presume(newborn, flow, self.now, self.circulation)

    def reopen(self, page: PageId) -> None:
        """The page waits for another turn, with the cash that it holds."""
        self.key[page] += self.virtual_page.dividend
        self.flags[page] = UNREAD
        self.unread += 1

    def is_read(self, page: PageId) -> bool:
        """Whether the page has had a turn and does not wait for another one."""
        return self.flags[page] == READ

    def cash(self, page: PageId) -> int:
        """What the page would hand on now."""
        if flag := self.flags[page]:
            if flag == FOREIGN:
                raise ValueError(f"page {page} is of another shard, and has no turn here")
            return self.key[page] + self.virtual_page.dividend
        return max(0, self.key[page] + self.virtual_page.pot // self.unread)

    def post(self, plan: Plan) -> None:
        """Carry the plan out. The work grows with the links, not with the pages."""
        page = plan.page
        if plan.cash != self.cash(page):
            raise ValueError(
                f"the plan for page {page} is out of date: it spends {plan.cash} atoms "
                f"of {self.cash(page)}; post each plan before the next one is made"
            )
        key, virtual_page = self.key, self.virtual_page
        if not self.flags[page]:
            virtual_page.pot -= plan.cash - key[page]
            self.unread -= 1
            self.flags[page] = READ
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
        virtual_page.pay(plan.virtual, self.own, self.unread)

    def hand_over(self, plan: Plan) -> None:
        """Move the page's cash to its one link, without recording it in a history.

        This is for cash that the page was given in the link's stead.
        """
        (target,) = plan.links
        if not self.is_read(plan.page):
            raise ValueError(f"page {plan.page} was never read: it holds no cash for another page")
        self.key[plan.page] = -self.virtual_page.dividend
        self.key[target] += plan.cash

    def cash_of(self, pages: NDArray[np.integer] | slice) -> NDArray[np.float64]:
        """The cash of these pages, in units."""
        atoms = np.frombuffer(self.key, dtype=np.int64)[pages].astype(np.float64)
        flags = np.frombuffer(self.flags, dtype=np.uint8)[pages]
        atoms[flags == READ] += self.virtual_page.dividend
        if self.unread:
            atoms[flags == UNREAD] += self.virtual_page.pot / self.unread
            if self.virtual_page.pot < 0:
                np.maximum(atoms, 0, out=atoms)
        return atoms / UNIT

    def cash_of_all(self, first: int = 0, end: int | None = None) -> NDArray[np.float64]:
        """The cash of every page, or of a range of them, in units."""
        return self.cash_of(slice(first, end))

    def missing(self) -> int:
        """The audit: atoms that were minted and are nowhere, less those that came from nowhere."""
        read, virtual_page = self.own - self.unread, self.virtual_page
        paid = virtual_page.dividend * read + virtual_page.pot + virtual_page.remainder
        return self.minted - self.abroad - sum(_block_sums(self.key)) - paid


def restate(ledger: Ledger, importance: NDArray[np.float64]) -> None:
    """Deal all cash anew: each page gets its share of the importance, which sums to 1.

    Windows are rewritten to match. This is the state that replays without end would lead to.
    """
    atoms = np.floor(importance * (ledger.minted * (1 - _FLOAT_ERROR))).astype(np.int64)
    ledger.key[:] = array("q", atoms.tobytes())
    ledger.virtual_page = VirtualPage(ledger.virtual_page.discovery, ledger.virtual_page.focus)
    ledger.virtual_page.remainder = ledger.missing()
    ledger.is_dealt_anew = True
    cash = ledger.cash_of_all()
    for window in ledger.windows:
        window.restate(importance, cash, ledger.now, ledger.circulation)


def _block_sums(key: array[int]) -> Iterator[int]:
    """Exact sums of keys: high and low halves apart, as a sum of keys may exceed 64 bits."""
    keys = np.frombuffer(key, dtype=np.int64)
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        yield (int((block >> 32).sum()) << 32) + int((block & 0xFFFFFFFF).sum())


# ================================================================ steps
#
# What happens to a page, decided but not yet done: pure functions from the ledger to a plan.
#
# Laws: a page hands on all of its cash; every atom of it goes to a link or to the virtual page;
# nothing is lost at a dead end. `Ledger.post` carries a plan out.

_LOAN_BITS = 4
"""A visit may borrow a 16th of what the pot has left to lend: something is left for the next one.
The logs of stores rely on it."""


def visit(ledger: Ledger, page: PageId, links: Sequence[int]) -> Plan:
    """The page was read: its links share its cash equally, but for its small edge."""
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
    """The page was read, and its links differ: each gets its part by weight.

    `idle` is a weight that no link has: its part stays with the virtual page.

    `focus`, a strength for each link in 65,536ths, gives a link that many times its part once
    more, out of the virtual page's. Where that cannot pay for all, it pays pro rata; what unread
    pages lack then is lent by the pot, as far as it may, and pro rata as well.
    """
    cash = ledger.cash(page)
    total = sum(weights) + idle
    if not total:
        return Plan(page, cash, (), 0, (), cash)
    pot = ledger.small_edge(cash, len(links))
    parts = [pot * weight // total for weight in weights]
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
    """What focused links get beside their parts."""
    wanted = [part * strength // PARTS for part, strength in zip(parts, focus, strict=True)]
    gifts = _pro_rata(wanted, edge)
    most = loan(ledger, page)
    if not most or gifts == wanted:
        return gifts
    lacking = [
        0 if link == page or ledger.is_read(link) else wish - gift
        for link, wish, gift in zip(links, wanted, gifts, strict=True)
    ]
    return list(map(add, gifts, _pro_rata(lacking, most)))


def loan(ledger: Ledger, page: PageId) -> int:
    """What the pot may lend for focused links of this page, which is about to spend."""
    virtual_page, unread, pot = ledger.virtual_page, ledger.unread, ledger.virtual_page.pot
    if not virtual_page.focus:
        return 0
    if not ledger.is_read(page):
        pot -= ledger.cash(page) - ledger.key[page]
        unread -= 1
    return max(0, pot + unread * (UNIT * virtual_page.focus // PARTS)) >> _LOAN_BITS


def _pro_rata(wanted: Sequence[int], purse: int) -> list[int]:
    """What is wanted, or as much of it as the purse can pay."""
    total = max(sum(wanted), purse)
    return [wish * purse // total for wish in wanted] if total else list(wanted)


def dead_end(ledger: Ledger, page: PageId) -> Plan:
    """A page that failed, or may never be fetched: its cash goes to the virtual page."""
    return visit(ledger, page, ())


def forward(ledger: Ledger, page: PageId, target: int) -> Plan:
    """A redirect or a rel=canonical: all the cash goes to the one target.

    A page that points at itself is a dead end: cash that comes back for ever would keep it the
    richest page for ever.
    """
    if target == page:
        return dead_end(ledger, page)
    cash = ledger.cash(page)
    return Plan(page, cash, (target,), cash, (), 0)


def replay(ledger: Ledger, page: PageId, links: Sequence[int]) -> Plan:
    """A page already read spends its cash again along its stored links, without a fetch."""
    if not ledger.is_read(page):
        raise ValueError(f"page {page} was never read: only a read page has links to replay")
    return visit(ledger, page, links)


# ================================================================ transfers
#
# Cash that goes from the ledger of one shard to that of another.
#
# Laws: what a page gives to a page of another shard is on the *foreign* page in the same step that
# settles the giver, so that no atom is between two places. It leaves when it is sent. What a ledger
# holds is what was minted here, less what was sent, plus what was received.
#
# foreign   see `ledger`: all of them together are the shard's outbox
# sending   what foreign pages of one shard hold, and a part of the pot, leaves for that shard
# receipt   what another shard sent is on the pages; one that stands for another page passes it on


def disown(ledger: Ledger, newborn: Sequence[int]) -> None:
    """These, which were just born, are pages of other shards: their units are minted there."""
    if any(ledger.flags[page] != UNREAD or ledger.key[page] != UNIT for page in newborn):
        raise ValueError("only a page that was just born can be found to be of another shard")
    for page in newborn:
        ledger.flags[page], ledger.key[page] = FOREIGN, 0
    ledger.own -= len(newborn)
    ledger.unread -= len(newborn)
    ledger.minted -= len(newborn) * UNIT


def send(ledger: Ledger, pages: Sequence[int], atoms: Sequence[int], of_pot: int) -> None:
    """All that these foreign pages hold, and so much of the pot, leaves."""
    if any(ledger.flags[page] != FOREIGN for page in pages):
        raise ValueError("only cash of foreign pages can be sent to other shards")
    if [ledger.key[page] for page in pages] != list(atoms):
        raise ValueError("the sending is out of date: its pages do not hold what it says")
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
    """So much came for these pages, and for the pot."""
    if min(atoms, default=0) < 0 or to_pot < 0:
        raise ValueError("nobody sends less than nothing")
    for page, cash in zip(pages, atoms, strict=True):
        ledger.key[stands_for(page)] += cash
    ledger.virtual_page.pot += to_pot
    ledger.abroad -= sum(atoms) + to_pot
