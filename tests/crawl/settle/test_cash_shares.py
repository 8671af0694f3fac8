"""A page splits its cash among its links equally, or by the weights of a weigher."""

from collections.abc import Sequence
from typing import Any

import pytest

from minicrawl import ext
from minicrawl.config import Order
from minicrawl.crawl.settle.cash_shares import CashShares
from minicrawl.errors import MinicrawlError, UsageError
from minicrawl.model import ParsedPage
from minicrawl.opic.ledger.books import Spending
from minicrawl.opic.ledger.ledger import Ledger
from minicrawl.opic.ledger.money import PARTS, UNIT, fixed_edge
from minicrawl.opic.ledger.plans import weighted_visit

PAGE = "http://www.a.example/page"
INSIDE, OUTSIDE = "http://blog.a.example/", "http://b.example/"


def spending(ids: Sequence[int], links: Sequence[str], **order: Any) -> Spending:
    return CashShares(Order(**order)).spending(PAGE, ids, ParsedPage(links=tuple(links)))


def test_links_have_the_same_weight_by_default_and_come_out_in_ascending_order() -> None:
    links = [OUTSIDE, INSIDE, "http://c.example/"]
    assert spending([9, 2, 5], links) == Spending([2, 5, 9])
    weighted = Spending([2, 5, 9], [PARTS // 2, PARTS, PARTS])
    assert spending([9, 2, 5], links, weight_internal=0.5) == weighted
    assert spending([], [], weight_internal=0.5) == Spending([])


@pytest.mark.parametrize(
    ("links", "weight", "shares"),
    [
        ([INSIDE, OUTSIDE], 0.25, [0.2, 0.8]),
        ([INSIDE, OUTSIDE], 0, [0, 1]),
        ([INSIDE, PAGE], 0, [0.5, 0.5]),
        ([INSIDE, PAGE], 0.2, [0.5, 0.5]),
    ],
)
def test_a_link_inside_the_site_weighs_less_unless_all_are_inside(
    links: list[str], weight: float, shares: list[float]
) -> None:
    found = spending([1, 2], links, weight_internal=weight)
    ledger = Ledger(small_edge=fixed_edge(0.0))
    ledger.mint(3)
    weights = found.weights or [1] * len(found.links)
    plan = weighted_visit(ledger, 0, found.links, weights, found.focus, found.idle)
    atoms = dict(plan.extras)
    assert [round(atoms.get(link, 0) / UNIT, 3) for link in found.links] == shares


def by(weigher: object, monkeypatch: pytest.MonkeyPatch) -> CashShares:
    """Return the shares of a crawl whose --weight-internal names this weigher."""
    monkeypatch.setattr(ext, "required", lambda _group, _name, _what: weigher)
    return CashShares(Order(weight_internal="mine"))


def test_a_weigher_of_a_package_gets_links_in_page_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_place(url: str, links: Sequence[str]) -> list[float]:
        assert url == PAGE
        return [1 / (1 + links.index(link)) for link in links]

    links = (OUTSIDE, INSIDE, "http://c.example/")
    shares = by(by_place, monkeypatch).spending(PAGE, [9, 2, 5], ParsedPage(links=links))
    assert shares == Spending([2, 5, 9], [PARTS // 2, round(PARTS / 3), PARTS])


def test_links_that_all_weigh_nothing_share_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = by(lambda _url, links: [0] * len(links), monkeypatch)
    links = ParsedPage(links=(INSIDE, OUTSIDE))
    assert nothing.spending(PAGE, [1, 2], links) == Spending([1, 2], [PARTS, PARTS])


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ([1.0], "returned 1 weights for 2 links"),
        ([1.0, -1.0], "the weight -1.0"),
        ([1.0, float("nan")], "the weight nan"),
        ([1.0, 1e7], "the weight 10000000.0"),
        (["heavy", 1.0], "raised ValueError"),
    ],
)
def test_a_weigher_without_a_row_ends_the_crawl(
    weights: list[Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = by(lambda _url, _links: weights, monkeypatch)
    with pytest.raises(MinicrawlError, match=reason):
        shares.spending(PAGE, [1, 2], ParsedPage(links=(INSIDE, OUTSIDE)))


def test_an_unknown_weigher_is_refused() -> None:
    with pytest.raises(UsageError, match="weigher 'mine' is unknown"):
        CashShares(Order(weight_internal="mine"))
