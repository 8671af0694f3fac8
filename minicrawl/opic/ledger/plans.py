"""Pure functions that plan a page's turn; `Ledger.post` carries a plan out.

Invariants: a page spends all of its cash; every atom goes to a link or to the virtual page; dead
ends lose nothing.
"""

from collections.abc import Sequence
from itertools import repeat
from operator import add

from minicrawl.model import PageId
from minicrawl.opic.ledger.ledger import Ledger, Plan
from minicrawl.opic.ledger.money import PARTS, UNIT

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
    wishes = [part * strength // PARTS for part, strength in zip(parts, focus, strict=True)]
    gifts = _pro_rata(wishes, edge)
    most = loan(ledger, page)
    if not most or gifts == wishes:
        return gifts
    # The pot is the unread pages' own cash, so it lends to unread pages only. `page` itself is read
    # once the plan is posted.
    lacking = [
        0 if link == page or ledger.is_read(link) else wish - gift
        for link, wish, gift in zip(links, wishes, gifts, strict=True)
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


def _pro_rata(wishes: Sequence[int], purse: int) -> list[int]:
    """Return the wishes, scaled down to `purse` if the purse cannot pay it all."""
    total = max(sum(wishes), purse)
    return [wish * purse // total for wish in wishes] if total else list(wishes)


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
