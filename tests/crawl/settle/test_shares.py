from typing import Any

from minicrawl.config import Order
from minicrawl.crawl.settle.settler import CashShares
from minicrawl.model import ParsedPage
from minicrawl.opic.ledger import Ledger, Spending, weighted_visit
from minicrawl.opic.money import PARTS, UNIT, fixed_edge

PAGE = "http://www.a.example/page"
INSIDE, OUTSIDE = "http://blog.a.example/", "http://b.example/"


def spending(url: str, *links: str, **order: Any) -> Spending:
    """Return the spending of page 0 on its links, which are pages 1, 2 and so on."""
    parsed = ParsedPage(links=links)
    return CashShares(Order(**order)).spending(url, range(1, len(links) + 1), parsed)


def paid(found: Spending, small_edge: float = 0.0) -> list[float]:
    """Return what each link gets from a page with one unit; the virtual page gets the rest."""
    ledger = Ledger(small_edge=fixed_edge(small_edge))
    ledger.mint(1 + max(found.links))
    weights = found.weights or [1] * len(found.links)
    plan = weighted_visit(ledger, 0, found.links, weights, found.focus, found.idle)
    atoms = dict(plan.extras)
    return [round(atoms.get(link, 0) / UNIT, 3) for link in found.links]


def test_by_default_all_links_have_the_same_weight() -> None:
    assert spending(PAGE, INSIDE, OUTSIDE) == Spending([1, 2])


def test_a_page_without_links_spends_on_no_page() -> None:
    assert spending(PAGE, weight_internal=0.5) == Spending([])


def test_links_come_out_in_ascending_order_each_with_its_weight() -> None:
    links = [OUTSIDE, INSIDE, "http://c.example/"]
    found = CashShares(Order(weight_internal=0.5)).spending(
        PAGE, [9, 2, 5], ParsedPage(links=tuple(links))
    )
    assert found == Spending([2, 5, 9], [PARTS // 2, PARTS, PARTS])


# ---------------------------------------------------------------- weights


def test_a_link_inside_the_site_weighs_less() -> None:
    assert paid(spending(PAGE, INSIDE, OUTSIDE, weight_internal=0.25)) == [0.2, 0.8]


def test_links_inside_may_weigh_nothing() -> None:
    assert paid(spending(PAGE, INSIDE, OUTSIDE, weight_internal=0)) == [0, 1]


def test_where_all_links_are_inside_they_share_the_cash_equally() -> None:
    for weight in (0, 0.2):
        assert paid(spending(PAGE, INSIDE, PAGE, weight_internal=weight)) == [0.5, 0.5]
