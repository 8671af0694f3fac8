"""Values of groups of siblings, computed by hand."""

from array import array

import numpy as np
import pytest

from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import Ledger
from minicrawl.opic.ledger.plans import visit
from minicrawl.opic.siblings import values
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.siblings.values import urgency, worths_of
from tests.opic.sibling_worlds import SiblingWorld, SitesByHost


def world(*hosts: int) -> SiblingWorld:
    made = SiblingWorld(range(3))
    made.birth(hosts)
    return made


def test_the_value_of_a_lone_page_is_its_cash() -> None:
    made = world(0, 1, 0)
    made.visit(0, [1], [0, 0])
    assert made.siblings.groups.is_lone(1)
    alone = np.array([1], dtype=np.uint32)
    assert urgency(made.siblings, alone)[0] == worths_of(made.siblings, alone)[0]
    assert values.page_key(made.siblings, 1) == values.lone_keys(made.siblings, alone)[0]


def test_an_older_state_without_lone_pages_is_restored() -> None:
    made, again = world(0, 0, 1), Siblings(Ledger(), array("I", [0, 0, 1]), SitesByHost(range(3)))
    state = made.siblings.state()
    del state["lone"]
    again.restore(state, 3)
    assert not any(map(again.groups.is_lone, range(3)))


def test_a_group_has_a_thousand_members_at_most() -> None:
    groups = world(*[0] * 2002).siblings.groups
    assert [groups.span(group, 2002)[0] for group in range(3)] == [0, 1000, 2000]


@pytest.mark.parametrize(("pages", "starts"), [(1, 5), (1000, 5), (2500, 2), (9000, 1)])
def test_blocks_of_groups_span_a_number_of_pages(pages: int, starts: int) -> None:
    blocks = list(world(*[0] * 5000).siblings.groups.blocks(pages))
    assert [group for block in blocks for group in block] == [0, 1, 2, 3, 4]
    assert len(blocks) == starts


def test_seeds_are_known_without_a_queue() -> None:
    ledger = Ledger()
    siblings = Siblings(ledger, array("I", [0, 0]), SitesByHost([0]))
    ledger.mint(2)
    siblings.introduce(range(2))
    siblings.vouch([1])
    assert siblings.seeds == {1}
    assert siblings.budgets.vouch([0]) == []  # its site already has a seed


def test_values_of_one_page_and_of_many_agree() -> None:
    made = world(*[0] * 300)
    pages = np.arange(300, dtype=np.uint32)
    assert worths_of(made.siblings, pages).tolist() == [
        values.worth_of(made.siblings, page) for page in range(300)
    ]
    assert urgency(made.siblings, pages).tolist() == worths_of(made.siblings, pages).tolist()


def test_an_older_state_of_means_is_restored() -> None:
    """The older state has two sums of links before those of revealed pages."""
    made, again = world(0, 0), Siblings(Ledger(), array("I", [0, 0]), SitesByHost(range(3)))
    made.visit(0, [], [0, 0])
    state = made.siblings.state()
    again.restore({**state, "means": array("d", [7, 3.5]).tobytes() + state["means"]}, 4)
    assert again.state() == state


def two_families() -> Siblings:
    """Make siblings of a host with a seed, 0, and two hosts without one."""
    siblings = Siblings(Ledger(), array("I", [0, 1, 2]), SitesByHost(range(3)))
    siblings.ledger.mint(3)
    siblings.vouch([0])
    siblings.introduce(range(3))
    return siblings


def test_gifts_are_counted_before_they_take_much_memory() -> None:
    siblings, counted = two_families(), list[int]()
    for _ in range(3000):
        siblings.spend_again(visit(siblings.ledger, 1, [0]))
        counted.append(len(siblings.budgets.incomes.columns()["units"]))
    assert counted[100] == 0
    assert counted[-1] > 3000 - 1100


def test_gifts_are_not_kept_where_all_sites_have_a_seed() -> None:
    made = world(0, 1)
    made.vouch(0)
    made.vouch(1)
    made.visit(0, [1])
    assert not array("d", made.siblings.state()["units"])


def test_pages_of_and_from_other_shards_are_in_no_group() -> None:
    ledger, hosts = Ledger(), array("I", [0, 0, 1, 1, 1, 0, 0])
    books = Books(ledger, lambda _page: Spending(()))
    of = Siblings(ledger, hosts, SitesByHost(range(3)))
    for step in (
        Step(StepKind.BORN, born=2),
        Step(StepKind.BORN, born=3),
        Step(StepKind.FOREIGN, spending=Spending([2, 3, 4])),
        Step(StepKind.RECEIVE, 1, 2, Spending([0, 5, 6], [9, 9, 9], (), 0), 1),
        Step(StepKind.RECEIVE, 1, 0, Spending([0], [9], (), 0), 2),
    ):
        of.apply(step, 0, books.apply(step), waited=False)
    assert list(of.groups.host) == [0]
    assert list(map(of.groups.is_lone, range(7))) == [False, False, *[True] * 5]
    assert of.known == 7
