"""What happens to a page, decided but not yet done: pure functions from the ledger to a plan.

Laws: a page hands on all of its cash; every atom of it goes to a link or to the virtual page;
nothing is lost at a dead end. `Ledger.post` carries a plan out.
"""

from collections.abc import Sequence
from itertools import repeat
from operator import add

from minicrawl.model import PageId
from minicrawl.opic.ledger import Ledger, Plan
from minicrawl.opic.money import PARTS, UNIT

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
