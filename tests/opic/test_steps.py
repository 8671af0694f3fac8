"""Plans of single steps, computed by hand."""

from itertools import pairwise

import pytest

from minicrawl.opic.ledger.ledger import READ, Ledger, Plan
from minicrawl.opic.ledger.money import PARTS, UNIT, fixed_edge, one_more_link
from minicrawl.opic.ledger.plans import dead_end, forward, loan, replay, visit, weighted_visit


def four_pages(small_edge: float = 0.5) -> Ledger:
    ledger = Ledger(small_edge=fixed_edge(small_edge))
    ledger.mint(4)
    return ledger


@pytest.mark.parametrize(
    ("edge", "weights", "focus", "idle", "gifts", "virtual"),
    [
        pytest.param(0.5, [3, 1], (), 0, {1: 3 / 8, 2: 1 / 8}, 1 / 2, id="by weight"),
        pytest.param(0.5, [0, 1], (), 0, {2: 1 / 2}, 1 / 2, id="nothing for weight 0"),
        pytest.param(0.5, [0, 0], (), 0, {}, 1, id="only weights of 0"),
        pytest.param(0.5, [1, 2], (), 1, {1: 1 / 8, 2: 1 / 4}, 5 / 8, id="an idle weight"),
        pytest.param(0.5, [0, 0], (), 3, {}, 1, id="all weight is idle"),
        pytest.param(0, [1, 0], [1, 0], 3, {1: 1 / 2}, 1 / 2, id="focus out of the idle part"),
        pytest.param(0.5, [1, 1], [1, 0], 0, {1: 1 / 2, 2: 1 / 4}, 1 / 4, id="focus doubles"),
        pytest.param(0.25, [1, 1], [9, 3], 0, {1: 9 / 16, 2: 7 / 16}, 0, id="too much focus"),
    ],
)
def test_weights_and_focus_split_the_cash(
    edge: float,
    weights: list[int],
    focus: list[int],
    idle: int,
    gifts: dict[int, float],
    virtual: float,
) -> None:
    """All in units; page 0 links to 1 and 2."""
    strengths = [one * PARTS for one in focus]
    plan = weighted_visit(four_pages(edge), 0, [1, 2], weights, strengths, idle)
    assert {page: atoms / UNIT for page, atoms in plan.extras} == gifts
    assert plan.virtual / UNIT == virtual
    assert (plan.share, len(plan.links)) == (0, 0)


def test_plans_without_weights() -> None:
    """The remainder of a split goes to the virtual page; a redirect to itself is a dead end."""
    assert visit(four_pages(), 0, [1, 2]) == Plan(0, UNIT, [1, 2], UNIT // 4, (), UNIT // 2)
    assert visit(four_pages(0), 0, [1, 2, 3]) == Plan(0, UNIT, [1, 2, 3], UNIT // 3, (), 1)
    assert forward(four_pages(), 0, 3) == Plan(0, UNIT, (3,), UNIT, (), 0)
    nothing = Plan(0, UNIT, (), 0, (), UNIT)
    assert visit(four_pages(), 0, []) == dead_end(four_pages(), 0) == nothing
    assert forward(four_pages(), 0, 0) == nothing


def test_unread_pages_lend_what_focus_lacks() -> None:
    """Three pages lend up to half a unit each, and one visit gets a sixteenth of that."""
    ledger = four_pages(0.25)
    ledger.virtual_page.focus = PARTS // 2
    plan = weighted_visit(ledger, 0, [1, 2], [1, 1], focus=[9 * PARTS, 3 * PARTS])
    part, edge, loan = UNIT * 3 // 8, UNIT // 4, 3 * UNIT // 2 // 16
    assert dict(plan.extras) == {1: part + (edge + loan) * 3 // 4, 2: part + (edge + loan) // 4}
    assert plan.virtual == -loan
    ledger.post(plan)
    assert ledger.missing() == 0
    assert [ledger.cash(page) for page in (0, 3)] == [0, UNIT - loan // 3]


def test_without_terms_for_focus_nothing_is_lent() -> None:
    """Stores from before there were loans have no such terms in their logs."""
    ledger = four_pages(0.25)
    ledger.post(dead_end(ledger, 3))
    assert ledger.virtual_page.pot > UNIT // 2
    plan = weighted_visit(ledger, 0, [1], [1], focus=[9 * PARTS])
    assert plan.extras == [(1, plan.cash)]
    assert plan.virtual == loan(ledger, 0) == 0


def test_no_more_is_lent_than_focus_lacks() -> None:
    ledger = four_pages(0.25)
    ledger.virtual_page.focus = PARTS // 2
    plan = weighted_visit(ledger, 0, [1], [1], focus=[PARTS * 11 // 30])
    assert dict(plan.extras) == {1: UNIT * 3 // 4 + UNIT * 3 // 4 * (PARTS * 11 // 30) // PARTS}
    assert plan.virtual == -(dict(plan.extras)[1] - UNIT)


def test_nothing_is_lent_to_pages_that_were_read() -> None:
    ledger = four_pages(0.25)
    ledger.virtual_page.focus = PARTS // 2
    ledger.post(visit(ledger, 1, [0]))
    plan = weighted_visit(ledger, 0, [0, 1, 2], [1, 1, 1], focus=[9 * PARTS] * 3)
    gifts = dict(plan.extras)
    assert gifts[0] == gifts[1]
    assert gifts[2] - gifts[1] == loan(ledger, 0)
    assert plan.virtual == plan.cash - sum(gifts.values()) < 0


def test_each_visit_leaves_something_to_lend() -> None:
    ledger = four_pages(0.25)
    ledger.mint(100)
    ledger.virtual_page.focus = PARTS // 2
    lent = []
    for page in range(0, 40, 2):
        lent.append(loan(ledger, page))
        ledger.post(weighted_visit(ledger, page, [page + 1], [1], focus=[1000 * PARTS]))
    assert all(later < sooner for sooner, later in pairwise(lent))
    assert lent[-1] > 0


def test_the_pot_lends_to_a_page_what_it_may_lend_once_that_page_is_read() -> None:
    ledger = four_pages(0.25)
    ledger.virtual_page.focus = PARTS // 2
    ledger.post(dead_end(ledger, 3))
    before = loan(ledger, 0)
    ledger.post(forward(ledger, 0, 1))
    assert loan(ledger, 0) == before > 0


def test_replay_is_a_visit_of_a_page_that_was_read_before() -> None:
    ledger = four_pages()
    ledger.post(visit(ledger, 0, [1]))
    ledger.post(visit(ledger, 1, [0]))
    assert replay(ledger, 0, [1]) == visit(ledger, 0, [1])
    with pytest.raises(ValueError, match="page 2"):
        replay(ledger, 2, [1])


def test_with_one_more_link_the_virtual_page_gets_the_share_of_a_link() -> None:
    ledger = Ledger(small_edge=one_more_link)
    ledger.mint(4, pool=READ)
    plan = visit(ledger, 0, [1, 2, 3])
    assert plan.share == plan.virtual == UNIT // 4
