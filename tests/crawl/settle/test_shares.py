from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from minicrawl.config import Focus, Order
from minicrawl.crawl.settle.posting import CashShares
from minicrawl.model import ParsedPage
from minicrawl.opic.ledger import Ledger, Spending, weighted_visit
from minicrawl.opic.money import PARTS, UNIT, fixed_edge

PAGE = "http://www.a.example/page"
INSIDE, OUTSIDE = "http://blog.a.example/", "http://b.example/"


def spending(
    url: str,
    *links: str,
    words: Sequence[str] = (),
    **order: Any,
) -> Spending:
    """Pages 1, 2, ... are the links'; page 0 is the page's."""
    parsed = ParsedPage(links=links, words=tuple(words))
    return CashShares(Order(**order)).spending(url, range(1, len(links) + 1), parsed)


def paid(found: Spending, small_edge: float = 0.0) -> list[float]:
    """What each link gets of a page that holds one unit; the rest stays with the virtual page."""
    ledger = Ledger(small_edge=fixed_edge(small_edge))
    ledger.mint(1 + max(found.links))
    weights = found.weights or [1] * len(found.links)
    plan = weighted_visit(ledger, 0, found.links, weights, found.focus, found.idle)
    atoms = dict(plan.extras)
    return [round(atoms.get(link, 0) / UNIT, 3) for link in found.links]


def test_by_default_all_links_are_alike() -> None:
    assert spending(PAGE, INSIDE, OUTSIDE) == Spending([1, 2])


def test_a_page_without_links_spends_on_nobody() -> None:
    assert spending(PAGE, weight_internal=0.5, focus=(Focus(pattern="."),)) == Spending([])


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


def test_where_all_links_are_inside_they_share_all_the_same() -> None:
    for weight in (0, 0.2):
        assert paid(spending(PAGE, INSIDE, PAGE, weight_internal=weight)) == [0.5, 0.5]


# ---------------------------------------------------------------- focus


def test_a_link_whose_url_is_in_focus_gets_its_part_once_more() -> None:
    found = spending(PAGE, INSIDE, OUTSIDE, focus=(Focus(pattern=r"b\.ex"),))
    assert found.focus == [0, PARTS]
    assert paid(found, small_edge=0.4) == [0.3, 0.6]


def test_strengths_of_several_rules_add_up() -> None:
    rules = (Focus(pattern="b", strength=0.5), Focus(pattern="example", strength=2))
    assert spending(PAGE, INSIDE, OUTSIDE, focus=rules).focus == [
        round(2.5 * PARTS),
        round(2.5 * PARTS),
    ]
    assert spending(PAGE, "http://c.org/", OUTSIDE, focus=rules).focus == [0, round(2.5 * PARTS)]


def test_where_no_link_is_in_focus_nothing_is_kept_of_it() -> None:
    assert spending(PAGE, INSIDE, focus=(Focus(pattern="nowhere"),)) == Spending([1])


@pytest.mark.parametrize(
    ("url", "media_type"),
    [
        ("http://a.example/feed.xml", "text/xml"),
        ("http://a.example/feed.xml?page=2", "text/xml"),
        ("http://a.example/paper.PDF", "application/pdf"),
        ("http://a.example/a.html", "text/html"),
    ],
)
def test_a_type_in_focus_is_what_the_name_promises(url: str, media_type: str) -> None:
    for wanted in (media_type, media_type.upper()):
        assert spending(PAGE, url, focus_type=(Focus(pattern=wanted),)).focus == [PARTS]
    assert not spending(PAGE, url, focus_type=(Focus(pattern="image/png"),)).focus


def test_a_link_gets_more_for_each_word_in_and_around_it_that_is_looked_for() -> None:
    rule = (Focus(pattern="Web Archive"),)
    words = ["the archives of the WEB, a web", "a web", ""]
    found = spending(PAGE, OUTSIDE, INSIDE, PAGE, words=words, focus_words=rule)
    assert found.focus == [3 * PARTS, PARTS, 0]
    strong = (Focus(pattern="web", strength=0.5), Focus(pattern="archive", strength=2))
    found = spending(PAGE, OUTSIDE, INSIDE, PAGE, words=words, focus_words=strong)
    assert found.focus == [3 * PARTS, PARTS // 2, 0]


def test_a_link_gets_more_by_how_similar_its_words_are_to_those_looked_for() -> None:
    rule = (Focus(pattern="sea harbour", strength=2),)
    words = ["The Sea, the sea: a harbour", "harbour sea", "inland"]
    found = spending(PAGE, OUTSIDE, INSIDE, PAGE, words=words, focus_similar=rule)
    # (1, 1) beside (2, 1) and two times the, once a: 3 / (√2 √10).
    one = np.array([1, 1, 0, 0]) / np.sqrt(2)
    other = np.array([2, 1, 2, 1]) / np.linalg.norm([2, 1, 2, 1])
    assert found.focus == [round(2 * PARTS * float(one @ other)), 2 * PARTS, 0]
