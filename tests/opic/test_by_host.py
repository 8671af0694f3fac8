"""The schedule by host takes the page that a search through all pages finds."""

from array import array
from collections.abc import Sequence
from itertools import repeat
from random import Random

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from minicrawl.opic.queues import FEWEST, LARGE, ByHost, EligiblePages


class World:
    """Keys, flags and hosts, a schedule over them, and a plain search as the oracle."""

    def __init__(self, pool: int = 0, large: int = LARGE) -> None:
        self.keys, self.flags, self.host_of = array("q"), bytearray(), array("I")
        self.schedule = ByHost(EligiblePages(self.keys, self.flags, self.host_of, pool, large))
        self.pool = pool
        self.leased: set[int] = set()
        self.busy: set[int] = set()

    def birth(self, host: int, keys: list[int]) -> list[int]:
        pages = list(range(len(self.keys), len(self.keys) + len(keys)))
        self.keys.extend(keys)
        self.flags.extend(repeat(self.pool, len(keys)))
        self.host_of.extend(repeat(host, len(keys)))
        self.schedule.enqueue(pages)
        return pages

    def grow(self, page: int, by: int) -> None:
        self.keys[page] += by
        self.schedule.offer((page,))

    def take(self) -> int | None:
        page = self.schedule.take()
        if page is not None:
            self.leased.add(page)
            self.busy.add(self.host_of[page])
        return page

    def settle(self, page: int) -> None:
        self.flags[page] ^= 1
        self.keys[page] = -1
        self.leased.discard(page)
        self.schedule.release(page)

    def resume(self, host: int) -> None:
        self.busy.discard(host)
        self.schedule.resume(host)

    def truth(self) -> int | None:
        eligible = [
            page
            for page in range(len(self.keys))
            if self.flags[page] & 1 == self.pool
            and page not in self.leased
            and self.host_of[page] not in self.busy
        ]
        return min(eligible, key=lambda page: (-self.keys[page], page), default=None)


def test_the_richest_page_of_a_ready_host_comes_first() -> None:
    world = World()
    world.birth(0, [5, 9])
    world.birth(1, [7])
    assert [world.take(), world.take(), world.take()] == [1, 2, None]


def test_many_pages_may_be_enqueued_at_once() -> None:
    world = World()
    world.keys.extend([5, 9, 7])
    world.flags.extend([0, 0, 0])
    world.host_of.extend([0, 0, 0])
    world.schedule.enqueue_many(np.array([0, 1, 2], np.uint32))
    taken = []
    while (page := world.take()) is not None:
        taken.append(page)
        world.resume(0)
    assert taken == [1, 2, 0]


def test_of_equal_pages_the_first_one_is_taken() -> None:
    world = World()
    for host in (2, 1, 0):
        world.birth(host, [4])
    assert [world.take() for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("pages", [5, 100, 3 * LARGE])
def test_equal_pages_are_taken_by_their_ids_and_not_by_their_arrival(pages: int) -> None:
    world, arrived = World(), list(range(pages))
    world.keys.extend(repeat(7, pages))
    world.flags.extend(repeat(0, pages))
    world.host_of.extend(repeat(0, pages))
    Random(3).shuffle(arrived)
    world.schedule.enqueue(arrived)
    for page in range(min(pages, 100)):
        assert world.take() == page
        world.settle(page)
        world.resume(0)


def test_no_page_of_a_paused_host_is_taken() -> None:
    world = World()
    world.birth(0, [4, 6])
    world.schedule.pause(0)
    assert world.take() is None
    assert not world.schedule.is_ready(0)
    world.resume(0)
    world.resume(0)
    assert (world.take(), world.take()) == (1, None)


def test_a_page_that_was_not_enqueued_is_not_taken_for_its_cash() -> None:
    keys, flags, host_of = array("q", [5, 7]), bytearray([1, 0]), array("I", [1, 0])
    schedule = ByHost(EligiblePages(keys, flags, host_of))
    schedule.enqueue([1])
    keys[0] += 1
    schedule.offer([0, 1])
    assert (schedule.take(), schedule.take()) == (1, None)


@pytest.mark.parametrize("large", [4, LARGE])
def test_pages_enqueued_in_blocks_come_in_the_same_order(large: int) -> None:
    one, other = World(large=large), World(large=large)
    for number in range(40):
        one.birth(number % 3, [number * 7 % 5])
    other.keys.extend(one.keys)
    other.flags.extend(one.flags)
    other.host_of.extend(one.host_of)
    other.schedule.enqueue_blocks(np.split(np.arange(40, dtype=np.uint32), (7, 30)))
    for _ in one.keys:
        page = one.take()
        assert page is not None
        assert other.take() == page
        one.resume(one.host_of[page])
        other.resume(one.host_of[page])


def test_a_page_settled_without_a_lease_is_passed_over() -> None:
    world = World()
    world.birth(0, [4, 9, 6])
    world.settle(1)
    assert world.take() == 2


def test_a_host_with_its_best_pages_on_lease_gives_the_next_ones() -> None:
    world = World()
    pages = world.birth(0, list(range(40 * FEWEST)))
    for expected in reversed(pages):
        assert world.take() == expected
        world.resume(0)


@pytest.mark.parametrize("keys", [[7] * 2000, list(range(2000)), list(range(2000, 0, -1))])
def test_a_large_host_keeps_few_candidates_and_the_exact_order(keys: list[int]) -> None:
    world = World()
    pages = world.birth(0, keys)
    assert len(world.schedule) < len(pages) / 4
    taken = []
    while (page := world.take()) is not None:
        taken.append(page)
        world.settle(page)
        world.resume(0)
    assert taken == sorted(pages, key=lambda page: (-keys[page], page))


@pytest.mark.parametrize("growing", [[3], range(LARGE + 1)])
def test_pages_that_keep_growing_do_not_fill_the_heap(growing: Sequence[int]) -> None:
    world, rng = World(), Random(1)
    pages = world.birth(0, [0] * (LARGE + 1))
    world.schedule.pause(0)
    world.resume(0)
    for _ in range(20_000):
        world.grow(rng.choice(growing), 1)
    assert len(world.schedule) < 40 * FEWEST
    assert world.take() == max(pages, key=lambda page: (world.keys[page], -page))


def test_a_front_full_of_stale_entries_is_rebuilt() -> None:
    world = World()
    for host in range(3):
        world.birth(host, [0])
    for _ in range(1000):
        world.grow(1, 1)
    assert len(world.schedule) < 300
    assert (world.take(), world.take(), world.take()) == (1, 0, 2)


class AnyHistory(RuleBasedStateMachine):
    """Any sequence of events, after which the next page is the one that a search finds."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(large=40)

    @rule(host=st.integers(0, 3), keys=st.lists(st.integers(0, 9), min_size=1, max_size=90))
    def birth(self, host: int, keys: list[int]) -> None:
        self.world.birth(host, keys)

    @precondition(lambda self: bool(self.world.keys))
    @rule(data=st.data(), by=st.integers(1, 9))
    def grow(self, data: st.DataObject, by: int) -> None:
        self.world.grow(data.draw(st.integers(0, len(self.world.keys) - 1)), by)

    @rule(times=st.integers(1, 40))
    def take(self, times: int) -> None:
        for _ in range(times):
            expected = self.world.truth()
            assert self.world.take() == expected
            if expected is not None:
                self.world.resume(self.world.host_of[expected])

    @rule(host=st.integers(0, 3))
    def pause(self, host: int) -> None:
        if host in self.world.host_of:
            self.world.busy.add(host)
            self.world.schedule.pause(host)

    @rule(host=st.integers(0, 3))
    def resume(self, host: int) -> None:
        if host in self.world.busy:
            self.world.resume(host)

    @precondition(lambda self: self.world.leased)
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        self.world.settle(data.draw(st.sampled_from(sorted(self.world.leased))))

    @precondition(lambda self: self.world.leased)
    @rule(data=st.data())
    def put_back(self, data: st.DataObject) -> None:
        page = data.draw(st.sampled_from(sorted(self.world.leased)))
        self.world.leased.discard(page)
        self.world.schedule.release(page)

    @invariant()
    def heaps_are_bounded(self) -> None:
        assert len(self.world.schedule) < 3 * len(self.world.keys) + 40 * FEWEST


TestAnyHistory = AnyHistory.TestCase
TestAnyHistory.settings = settings(max_examples=60, stateful_step_count=40)


def test_a_candidate_whose_key_falls_below_the_floor_is_dropped() -> None:
    keys, flags = array("q", range(1000, 1200)), bytearray(200)
    queue = ByHost(EligiblePages(keys, flags, array("I", [0] * 200), large=64))
    queue.enqueue(range(200))
    assert queue.take() == 199
    queue.resume(0)
    keys[198] = 1
    for _ in range(200):
        keys[197] += 1
        queue.offer([197])
    taken = []
    for _ in range(199):
        taken.append(queue.take())
        queue.resume(0)
    assert taken == [*range(197, -1, -1), 198]
