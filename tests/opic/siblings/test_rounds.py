"""Sums as of the last round, computed by hand."""

from array import array

import numpy as np
import pytest

from minicrawl.opic.siblings.rounds import (
    FREE_READS,
    GIFTS_AT_ONCE,
    PATIENCE,
    READS_A_UNIT,
    Means,
    SiteBudgets,
)

FARM, OTHER, SUBDOMAIN = 0, 1, 2


@pytest.fixture
def budgets() -> SiteBudgets:
    return SiteBudgets(array("I", [FARM, OTHER, FARM]))


def earn(budgets: SiteBudgets, taker: int, giver: int, *units: float) -> list[int]:
    takers = np.full(len(units), taker, dtype=np.uint32)
    return budgets.earn(takers, giver, np.array(units))


def test_means_are_renewed_when_they_have_moved_by_a_thirty_second() -> None:
    means = Means()
    assert [turn for turn in range(1, 100) if means.count(2.0, 3)] == [1]
    assert means.count(2.0, 13)
    assert (means.mean_revealed, means.mean_linked) == (2.0, 3.1)
    assert [turn for turn in range(101, 110) if means.count(0.0, 3)] == [104, 108]
    assert means.mean_revealed == 2.0 * 100 / 108


def test_links_are_counted_in_steps_of_a_quarter_of_the_mean() -> None:
    means = Means()
    means.count(0.0, 33)
    assert means.step_bits == 3


def test_a_site_is_held_back_when_its_budget_is_spent(budgets: SiteBudgets) -> None:
    for _ in range(FREE_READS):
        assert budgets.read(FARM) == []
    assert budgets.hold_back(FARM, 2.0) == 2.0
    assert budgets.read(SUBDOMAIN) == [FARM]
    assert budgets.hold_back(SUBDOMAIN, 2.0) == pytest.approx(FREE_READS / (FREE_READS + 1))
    assert budgets.hold_back(OTHER, 2.0) == 2.0
    assert budgets.hosts(FARM) == [FARM, SUBDOMAIN]
    assert [budgets.read(FARM) for _ in range(7)] == [*[[]] * 6, [FARM]]


def test_a_site_earns_from_other_sites_only(budgets: SiteBudgets) -> None:
    assert earn(budgets, FARM, SUBDOMAIN, 5.0) == []
    assert earn(budgets, FARM, OTHER, 0.01) == []
    for _ in range(FREE_READS + 1):
        budgets.read(FARM)
    assert budgets.income[FARM] == 0.01
    assert budgets.rounds[FARM].budget == pytest.approx(FREE_READS + 0.01 * READS_A_UNIT)


def test_gifts_are_counted_when_they_are_many(budgets: SiteBudgets) -> None:
    for _ in range(FREE_READS + 1):
        budgets.read(FARM)
    assert earn(budgets, SUBDOMAIN, OTHER, *[0.01] * (GIFTS_AT_ONCE - 1)) == []
    assert budgets.hold_back(FARM, 2.0) < 1
    assert earn(budgets, FARM, OTHER, 0.01) == [FARM]
    income = GIFTS_AT_ONCE * 0.01
    assert budgets.rounds[FARM].budget == pytest.approx(FREE_READS + income * READS_A_UNIT)
    assert budgets.hold_back(FARM, 2.0) == 2.0


def test_a_host_of_a_site_with_a_seed_has_no_budget_either(budgets: SiteBudgets) -> None:
    budgets.vouch(SUBDOMAIN)
    assert not any(budgets.read(FARM) for _ in range(2 * FREE_READS))
    assert budgets.hold_back(FARM, 2.0) == 2.0


def test_gifts_wait_longer_where_no_site_has_had_its_free_turns(budgets: SiteBudgets) -> None:
    earn(budgets, FARM, OTHER, *[0.01] * (PATIENCE * GIFTS_AT_ONCE - 1))
    assert not budgets.income
    earn(budgets, FARM, OTHER, 0.01)
    assert budgets.income[FARM] == pytest.approx(0.01 * PATIENCE * GIFTS_AT_ONCE)


def test_sites_of_new_hosts_are_asked_for_when_they_matter() -> None:
    asked, site_of = list[int](), array("I")

    def find() -> None:
        asked.append(len(site_of))
        site_of.append(len(site_of))

    budgets = SiteBudgets(site_of, find)
    assert earn(budgets, 1, 0, 1.0) == []
    assert not asked
    budgets.read(0)
    assert asked == [0]


def test_a_site_that_the_user_named_has_no_budget(budgets: SiteBudgets) -> None:
    assert budgets.vouch(OTHER) == []
    assert not any(budgets.read(OTHER) for _ in range(2 * FREE_READS))
    for _ in range(FREE_READS + 1):
        budgets.read(FARM)
    assert budgets.vouch(SUBDOMAIN) == [FARM]
    assert budgets.vouch(SUBDOMAIN) == []
    assert budgets.hold_back(FARM, 2.0) == 2.0
