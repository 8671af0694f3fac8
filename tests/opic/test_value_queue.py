"""The order by value takes the page with the largest key, and without weight equals siblings."""

from array import array
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from minicrawl.model import FULL_VALUE
from minicrawl.opic.importance.expected_value import Levels, ValueEstimate
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.ledger.plans import visit
from minicrawl.opic.queues.by_value import ByValue
from minicrawl.opic.siblings.groups import Pages
from minicrawl.opic.siblings.values import page_key
from tests.opic.sibling_worlds import SiblingWorld
from tests.opic.test_sibling_queue import HOSTS, SITES, go_on, small_rankings


class ValuedWorld(SiblingWorld):
    """World in which pages of host 1 have value; `noise` is the share of exceptions."""

    def __init__(self, weight: float, noise: float = 0.1) -> None:
        super().__init__(SITES)
        self.estimate = ValueEstimate(self.siblings, array("I", bytes(4 << 16)))
        self.queue = ByValue(self.siblings, self.estimate, weight)
        self._rng, self._noise, self._weight = Random(7), noise, weight
        self.is_read = set[int]()

    def _post(self, plan: Plan, new: range, *, leads: bool = False, is_dead: bool = False) -> None:
        if leads and plan.page not in self.is_read:
            self.is_read.add(plan.page)
            value = (self.host_of[plan.page] == 1) != (self._rng.random() < self._noise)
            self.estimate.learn(round(value * FULL_VALUE), (plan,))
        super()._post(plan, new, leads=leads, is_dead=is_dead)

    def levels(self, pages: Sequence[int]) -> list[int]:
        return list(map(int, self.estimate.levels(np.array(pages, dtype=np.uint32), self._weight)))


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("few_members", [0, 16])
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_the_page_that_is_taken_has_the_largest_key(few_members: int, seed: int) -> None:
    rng = Random(seed)
    with small_rankings(few_members, PART_AT_FIRST=1000, _PARTS=1 << 20):  # all levels at each look
        world = ValuedWorld(2.0)
        world.begin(range(HOSTS), 20)
        for _ in range(60):
            world.queue.look()
            free = world.candidates()
            keys = {page: page_key(world.siblings, page) for page in free}
            page = world.take()
            if page is None:
                assert not free
            else:
                assert keys[page] == max(keys.values())
                assert world.siblings.levels is not None
                assert [world.siblings.levels[page]] == world.levels([page])
            go_on(world, rng)
        assert world.ledger.missing() == 0


def taken(world: SiblingWorld, seed: int) -> list[int]:
    rng, found = Random(seed), list[int]()
    world.begin(range(HOSTS), 20)
    for _ in range(80):
        page = world.take()
        if page is None:
            break
        found.append(page)
        known = len(world.ledger)
        new = [rng.randrange(HOSTS) for _ in range(rng.randrange(8))]
        world.visit(page, rng.sample(range(known), min(known, 5)), new)
        world.resume(world.host_of[page])
    return found


@pytest.mark.parametrize("seed", range(3))
def test_without_weight_the_order_is_that_of_siblings(seed: int) -> None:
    assert taken(ValuedWorld(0.0), seed) == taken(SiblingWorld(SITES), seed)


def test_without_pages_none_is_taken() -> None:
    assert ValuedWorld(2.0).take() is None


def test_pages_of_value_come_first_once_their_host_is_known() -> None:
    by_value, by_siblings = ValuedWorld(2.0, noise=0.0), SiblingWorld(SITES)
    found = [
        sum(world.host_of[page] == 1 for page in taken(world, 1)[40:])
        for world in (by_value, by_siblings)
    ]
    assert found[0] > 2 * found[1]


def test_a_page_that_sank_since_its_level_was_computed_is_not_taken_at_once() -> None:
    world = ValuedWorld(2.0, noise=0.0)
    world.begin([0] * 8 + [1] * 8)
    # Siblings of these pages keep their levels until the next look.
    for page in [1, 9, 2, 10, 3, 11, 4, 12] * 4:
        world.estimate.learn(
            FULL_VALUE * (world.host_of[page] == 1), (visit(world.ledger, page, []),)
        )
    assert world.siblings.levels is not None
    before = bytes(world.siblings.levels)
    best = world.take()
    assert best is not None
    assert world.host_of[best] == 1
    assert bytes(world.siblings.levels) != before


class Sinking(ValueEstimate):
    """Levels that are given, and of which the queue hears only when it takes a page."""

    def __init__(self, pages: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.of_pages = np.zeros(pages, dtype=np.uint8)

    def levels(self, pages: Pages, weight: float) -> Levels:
        return self.of_pages[pages]


def test_pages_of_a_large_group_that_sink_are_taken_by_their_new_key() -> None:
    """A page waits again at its new place among the ranked members, neither first nor last."""
    world, rng, group = SiblingWorld((0,)), Random(1), range(60)
    estimate = Sinking(len(group), world.siblings, world.host_of)
    world.queue = ByValue(world.siblings, estimate, 1.0)
    world.birth([0] * len(group))
    for _ in group:
        estimate.of_pages[rng.choices(group, k=20)] += 1
        free = world.candidates()
        page = world.take()
        assert page is not None
        keys = {page: page_key(world.siblings, page) for page in free}
        assert keys[page] == max(keys.values())
        world.resume(0)


def test_a_loaded_queue_has_levels_for_all_pages() -> None:
    world = ValuedWorld(2.0, noise=0.0)
    taken(world, 2)
    again = ByValue(world.siblings, world.estimate, 2.0)
    again.load()
    levels = world.siblings.levels
    assert levels is not None
    assert list(levels) == world.levels(range(len(world.ledger)))
