"""Budgets of families, computed by hand."""

import numpy as np
import pytest

from minicrawl.opic.families.families import (
    FREE_AT_FIRST,
    HOLD_BACK,
    MANY_GIFTS,
    NOBODY,
    PASSED_ON,
    READS_A_UNIT,
    SEEDED,
    FamilyBudgets,
    FamilyIncomes,
)
from minicrawl.opic.families.rounds import (
    AT_ONCE,
    FEWEST_TURNS,
    MOST_AT_ONCE,
    PART_AT_ONCE,
    Means,
    at_once,
)
from tests.opic.sibling_worlds import SitesByHost

SEED, FARM, SUBDOMAIN, MADE, OTHER = range(5)
SITES = [SEED, FARM, FARM, MADE, OTHER]


@pytest.fixture
def budgets() -> FamilyBudgets:
    """Make budgets of a seed that leads to a farm and another site; the farm made a third site."""
    made = FamilyBudgets(SitesByHost(SITES))
    introduce(made, {SEED: NOBODY})
    assert made.vouch([SEED]) == [SEED]
    introduce(made, {FARM: SEED, MADE: FARM, OTHER: SEED})
    introduce(made, {SUBDOMAIN: SEED, MADE: OTHER})
    return made


def introduce(budgets: FamilyBudgets, by: dict[int, int]) -> None:
    for host, giver in by.items():
        budgets.introduce([host], giver)


def earn(budgets: FamilyBudgets, taker: int, giver: int, *units: float) -> list[int]:
    takers, givers = (np.full(len(units), host, dtype=np.uint32) for host in (taker, giver))
    budgets.incomes.earn(takers, givers, np.array(units))
    return list(budgets.look())


def read(budgets: FamilyBudgets, host: int) -> list[int]:
    """Count a turn at the end of a round."""
    return list(budgets.look()) if budgets.read(host, AT_ONCE) else []


def spend(budgets: FamilyBudgets, host: int) -> list[int]:
    """Take all free turns of a host, and one more."""
    return [ended for _ in range(FREE_AT_FIRST + 1) for ended in read(budgets, host)]


def test_a_family_is_a_site_and_the_sites_it_led_to(budgets: FamilyBudgets) -> None:
    assert list(budgets.family_of[1:]) == [FARM, FARM, FARM, OTHER]
    assert budgets.hosts([FARM]) == [FARM, SUBDOMAIN, MADE]


def test_a_later_host_of_a_site_with_a_seed_has_no_family() -> None:
    made = FamilyBudgets(SitesByHost(SITES))
    introduce(made, {FARM: NOBODY})
    assert made.vouch([FARM]) == [FARM]
    introduce(made, {SUBDOMAIN: FARM, OTHER: FARM})
    assert (made.hosts([SUBDOMAIN]), made.hosts([OTHER])) == ([], [OTHER])


def test_hosts_known_before_any_seed_have_no_family() -> None:
    made = FamilyBudgets(SitesByHost(SITES))
    introduce(made, {FARM: NOBODY, OTHER: FARM})
    assert (made.has_families, made.hosts([FARM, OTHER])) == (False, [])
    assert made.vouch([SEED]) == []
    introduce(made, {SEED: NOBODY, MADE: OTHER})
    assert (made.has_families, made.hosts([FARM, OTHER, MADE])) == (True, [MADE])
    assert made.vouch([MADE]) == [SEED, MADE]
    assert not made.has_families


def test_all_hosts_that_a_seed_led_to_are_known_by_that_seed(budgets: FamilyBudgets) -> None:
    assert budgets.families_of(SEED) == (SEED, SEED)
    assert budgets.families_of(MADE) == budgets.families_of(FARM) == (SEED, FARM)
    assert budgets.families_of(OTHER) == (SEED, OTHER)
    strays = [5, 6, 7]  # of sitemaps, for example; nothing is known of the last one
    budgets = FamilyBudgets(SitesByHost(strays * 3))
    budgets.introduce([SEED, FARM], NOBODY)
    budgets.vouch([SEED, MADE])
    assert [budgets.families_of(host) for host in (SEED, FARM, MADE)] == [
        (SEED, SEED),
        (NOBODY, FARM),
        (NOBODY, MADE),
    ]


def test_the_hosts_of_an_older_state_share_no_seed_but_their_family(budgets: FamilyBudgets) -> None:
    state = budgets.state()
    del state["seed_of"]
    older = FamilyBudgets(SitesByHost(SITES))
    older.restore(state)
    assert [older.families_of(host) for host in range(5)] == [
        (SEED, SEED),
        *[(FARM, FARM)] * 3,
        (OTHER, OTHER),
    ]


def test_a_host_without_a_page_is_not_known() -> None:
    known = FamilyBudgets(SitesByHost(SITES))
    introduce(known, {MADE: NOBODY})
    assert [known.knows(host) for host in range(5)] == [False, False, False, True, False]


def test_a_family_that_spent_its_budget_is_held_back(budgets: FamilyBudgets) -> None:
    assert budgets.hold_back(FARM, 2.0) == 2.0
    assert spend(budgets, MADE) == [FARM]
    held = (FREE_AT_FIRST / (FREE_AT_FIRST + 1)) ** HOLD_BACK
    assert budgets.hold_back(SUBDOMAIN, 2.0) == pytest.approx(held)
    assert budgets.hold_back(SUBDOMAIN, 0.5) == pytest.approx(held / 2)
    assert budgets.hold_back(OTHER, 2.0) == budgets.hold_back(SEED, 2.0) == 2.0
    every, factors = np.arange(5, dtype=np.uint32), np.array([2.0, 0.5, 2.0, 2.0, 2.0])
    one_by_one = [budgets.hold_back(*one) for one in zip(range(5), factors.tolist(), strict=True)]
    assert budgets.hold_back_many(every, factors).tolist() == one_by_one


def test_a_family_earns_from_others_only(budgets: FamilyBudgets) -> None:
    assert spend(budgets, FARM) == [FARM]
    assert earn(budgets, SUBDOMAIN, MADE, 5.0) == []
    assert budgets.held(FARM) < 1
    assert earn(budgets, MADE, SEED, 0.25, 0.75) == [FARM]
    assert budgets.held(FARM) == 1
    assert budgets.rounds[FARM].budget == FREE_AT_FIRST + READS_A_UNIT
    assert budgets.hold_back(FARM, 2.0) == 2.0


def test_the_gifts_of_a_family_count_up_to_half_of_its_income(budgets: FamilyBudgets) -> None:
    assert earn(budgets, OTHER, FARM, 5.0) == []
    assert budgets.incomes.of[OTHER] == 0
    earn(budgets, FARM, SEED, 4.0)
    earn(budgets, OTHER, MADE, 0.5, 0.5)
    assert budgets.incomes.of[OTHER] == 1.0
    earn(budgets, OTHER, MADE, 2.0, 6.0)
    assert budgets.incomes.of[OTHER] == 4.0 * PASSED_ON


def test_a_site_that_the_user_named_has_no_budget(budgets: FamilyBudgets) -> None:
    spend(budgets, FARM)
    assert budgets.vouch([SUBDOMAIN]) == [SEED, FARM, SUBDOMAIN]
    assert budgets.vouch([FARM]) == []
    assert budgets.hold_back(FARM, 2.0) == 2.0
    assert budgets.hold_back(MADE, 2.0) < 1
    assert not any(read(budgets, FARM) for _ in range(2 * FREE_AT_FIRST))
    introduce(budgets, {FARM: OTHER})
    assert budgets.hosts([OTHER]) == [OTHER]


def test_restored_budgets_continue_like_the_original(budgets: FamilyBudgets) -> None:
    """A round has not ended yet, and gifts wait."""
    spend(budgets, FARM)
    earn(budgets, FARM, SEED, 4.0)
    earn(budgets, OTHER, FARM, 1.0)
    taker, giver = np.array([[OTHER], [SEED]], dtype=np.uint32)
    budgets.incomes.earn(taker, giver, np.array([3.0]))
    assert not budgets.read(FARM, AT_ONCE + 1)
    again = FamilyBudgets(SitesByHost(SITES))
    again.restore(budgets.state())
    assert again.state() == budgets.state()
    assert again.hold_back(MADE, 2.0) == budgets.hold_back(MADE, 2.0)
    assert again.look() == budgets.look() == {FARM: False}
    assert again.state() == budgets.state()


def test_many_waiting_gifts_are_merged() -> None:
    """A crawl that only reads known pages again never ends a round."""
    rng, number = np.random.default_rng(1), 3 * MANY_GIFTS
    takers, givers = rng.integers(0, 4, (2, number), dtype=np.uint32)
    units, sums = rng.random(number), []
    for pieces in (1, 500):
        incomes = FamilyIncomes()
        incomes.grow(4)
        for piece in np.array_split(np.arange(number), pieces):
            incomes.earn(takers[piece], givers[piece], units[piece])
            assert len(incomes.columns()["takers"]) <= MANY_GIFTS + 2 * 16
        family_of = np.array([0, 1, SEEDED, SEEDED], dtype=np.uint32)
        sums.append((incomes.add_up(family_of), incomes.of.tolist()))
    assert sums[0] == sums[1]


def test_a_larger_crawl_looks_at_more_turns_together() -> None:
    turns = [0, (AT_ONCE + 1) * PART_AT_ONCE - 1, (AT_ONCE + 1) * PART_AT_ONCE, 1 << 30]
    assert list(map(at_once, turns)) == [AT_ONCE, AT_ONCE, AT_ONCE + 1, MOST_AT_ONCE]


def test_what_recent_turns_revealed_counts_most() -> None:
    means = Means()
    for _ in range(1000):
        means.count(3.0)
    assert means.late == pytest.approx(3)
    assert means.relevance == 1
    for _ in range(100):
        means.count(0.0)
    assert means.late == pytest.approx(0.39 * 3, rel=0.02)
    for _ in range(1000):
        means.count(0.0)
    assert means.relevance == pytest.approx(0.25, abs=1 / 16)


def test_an_older_state_restores_late_as_the_overall_mean() -> None:
    means, again, of_before = Means(), Means(), Means()
    for turn in range(2 * FEWEST_TURNS):
        means.count(float(turn < FEWEST_TURNS))
    assert means.relevance < 1
    again.restore(means.state())
    assert again.state() == means.state()
    of_before.restore({"means": means.state()["means"]})
    assert (of_before.late, of_before.relevance) == (of_before.mean_revealed, 1)
