"""The page that a queue gives is the one that a search through all pages finds."""

from array import array
from collections.abc import Sequence
from itertools import accumulate, repeat
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.typing import NDArray

from minicrawl.opic.ledger.ledger import READ, UNREAD
from minicrawl.opic.queues.by_host import ByHost
from minicrawl.opic.queues.by_site import BySite
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.opic.queues.host_queue import FEWEST, LARGE, EligiblePages

Floats = NDArray[np.float64]


def all_taken(richest: CandidateHeap) -> list[int]:
    taken = []
    while (page := richest.take()) is not None:
        taken.append(page)
    return taken


def by_a_plain_sort(keys: list[int]) -> list[int]:
    return sorted(range(len(keys)), key=lambda page: (-keys[page], page))


@settings(max_examples=50)
@given(st.lists(st.integers(-(1 << 62), 1 << 62), max_size=300), st.integers(1, 8))
def test_the_order_is_that_of_a_plain_sort_however_small_the_heap(
    keys: list[int], fewest: int
) -> None:
    richest = CandidateHeap(array("q", keys), bytearray(len(keys)), UNREAD, fewest)
    assert all_taken(richest) == by_a_plain_sort(keys)


def test_the_heap_stays_small_while_all_pages_grow() -> None:
    keys = array("q", [0]) * 20_000
    richest = CandidateHeap(keys, bytearray(20_000), UNREAD, fewest=64)
    richest.take()
    for page in range(20_000):
        keys[page] = page
        richest.offer([page])
        assert len(richest) <= 1000
    assert richest.take() == 19_999


class Queue(RuleBasedStateMachine):
    """Any sequence of births, growth, leases and settlements, against a plain maximum."""

    @initialize(fewest=st.integers(1, 5), keys=st.lists(st.integers(-9, 9), max_size=30))
    def open(self, fewest: int, keys: list[int]) -> None:
        self.keys = array("q", keys)
        self.flags = bytearray(len(keys))
        self.leased: set[int] = set()
        self.richest = CandidateHeap(self.keys, self.flags, UNREAD, fewest)

    @rule(keys=st.lists(st.integers(-9, 9), min_size=1, max_size=20))
    def born(self, keys: list[int]) -> None:
        self.keys.extend(keys)
        self.flags.extend(bytes(len(keys)))
        self.richest.offer(range(len(self.keys) - len(keys), len(self.keys)))

    @rule(drawn=st.lists(st.integers(0, 999), max_size=8), more=st.integers(0, 9))
    def grow(self, drawn: list[int], more: int) -> None:
        pages = [page % len(self.keys) for page in drawn if self.keys]
        for page in pages:
            self.keys[page] += more
        self.richest.offer(pages)

    @rule()
    def take(self) -> None:
        waiting = [
            page
            for page, flag in enumerate(self.flags)
            if flag == UNREAD and page not in self.leased
        ]
        expected = min(waiting, key=lambda page: (-self.keys[page], page), default=None)
        assert self.richest.take() == expected
        if expected is not None:
            self.leased.add(expected)

    @rule(fetched=st.booleans(), fallen=st.integers(0, 20))
    def end_a_lease(self, fetched: bool, fallen: int) -> None:
        if self.leased:
            page = self.leased.pop()
            if fetched:
                self.flags[page] = READ
                self.keys[page] -= fallen
            self.richest.release(page)

    @invariant()
    def heap_is_bounded(self) -> None:
        if hasattr(self, "richest"):
            assert len(self.richest) <= 2 * len(self.keys) + 100


TestQueue = Queue.TestCase
TestQueue.settings = settings(stateful_step_count=50, max_examples=40)


class World:
    """Keys, flags and hosts, a schedule over them, and a plain search as the oracle.

    With the importance of each host, the schedule is by site.
    """

    def __init__(self, large: int = LARGE, importance: Sequence[float] | None = None) -> None:
        self.keys, self.flags, self.host_of = array("q"), bytearray(), array("I")
        eligible = EligiblePages(self.keys, self.flags, self.host_of, large=large)
        self.importance = np.array([0.0] * 4 if importance is None else importance)
        self.asked = 0
        self.schedule = (
            ByHost(eligible) if importance is None else BySite(eligible, self.importance_now)
        )
        self.leased: set[int] = set()
        self.busy: set[int] = set()
        self.full: set[int] = set()
        self.schedule.limit(self.has_room)

    def has_room(self, host: int) -> bool:
        if host in self.full:
            self.busy.add(host)
        return host not in self.full

    def importance_now(self) -> Floats:
        self.asked += 1
        return self.importance.copy()

    def birth(self, host: int, keys: Sequence[int]) -> list[int]:
        pages = list(range(len(self.keys), len(self.keys) + len(keys)))
        self.keys.extend(keys)
        self.flags.extend(bytes(len(keys)))
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
            for page, host in enumerate(self.host_of)
            if not self.flags[page]
            and page not in self.leased
            and host not in self.busy | self.full
        ]
        return max(
            eligible,
            key=lambda page: (self.importance[self.host_of[page]], self.keys[page], -page),
            default=None,
        )


@pytest.mark.parametrize("pages", [5, 100, 3 * LARGE])
def test_equal_pages_are_taken_by_their_ids_and_not_by_their_arrival(pages: int) -> None:
    world, arrived = World(), list(range(pages))
    world.keys.extend(repeat(7, pages))
    world.flags.extend(bytes(pages))
    world.host_of.extend(repeat(0, pages))
    Random(3).shuffle(arrived)
    world.schedule.enqueue(arrived)
    for page in range(min(pages, 100)):
        assert world.take() == page
        world.settle(page)
        world.resume(0)


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


@pytest.mark.parametrize("large", [4, LARGE])
def test_hosts_look_again_for_their_best_pages_once_keys_have_fallen(large: int) -> None:
    world, taken = World(large=large), []
    for number in range(40):
        world.birth(number % 3, [number * 7 % 5])
    world.keys[:] = array("q", [-key for key in world.keys])
    world.schedule.look_again()
    while (page := world.take()) is not None:
        taken.append(page)
        world.resume(world.host_of[page])
    assert taken == by_a_plain_sort(list(world.keys))


def test_a_page_settled_without_a_lease_is_passed_over() -> None:
    world = World()
    world.birth(0, [4, 9, 6])
    world.settle(1)
    assert world.take() == 2


@pytest.mark.parametrize("keys", [[7] * 2000, list(range(2000)), list(range(2000, 0, -1))])
def test_a_large_host_keeps_few_candidates_and_the_exact_order(keys: list[int]) -> None:
    world, taken = World(), []
    world.birth(0, keys)
    assert len(world.schedule) < len(keys) / 4
    while (page := world.take()) is not None:
        taken.append(page)
        world.settle(page)
        world.resume(0)
    assert taken == by_a_plain_sort(keys)


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

    @initialize(importance=st.none() | st.lists(st.floats(0, 3), min_size=4, max_size=4))
    def open(self, importance: list[float] | None) -> None:
        self.world = World(40, importance)

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
    def fill(self, host: int) -> None:
        self.world.full.add(host)

    @rule(host=st.integers(0, 3))
    def resume(self, host: int) -> None:
        self.world.full.discard(host)
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


@pytest.mark.parametrize("large", [4, 1000])
def test_pages_of_a_host_that_grow_are_taken_in_their_turn(large: int) -> None:
    world, rng = World(large=large), Random(1)
    pages = world.birth(0, [rng.randrange(9) for _ in range(200)])
    for _ in pages:
        for page in rng.choices(pages, k=3):
            world.grow(page, rng.randrange(5))
        expected = world.truth()
        assert world.take() == expected
        world.resume(0)


def test_new_hosts_come_last_until_importance_is_looked_up_again() -> None:
    sites = World(importance=[1.0])
    sites.birth(0, [1, 2, 3])
    assert sites.take() == 2
    sites.resume(0)
    assert sites.take() == 1  # importance was just looked up, and is again two pages later
    sites.importance = np.array([1.0, 9.0])
    sites.birth(1, [50, 60])
    sites.resume(0)
    assert [sites.take(), sites.take()] == [0, 4]


def test_importance_is_looked_up_after_1_2_4_and_at_most_64_pages() -> None:
    sites = World(importance=[2.0, 1.0])
    sites.birth(0, range(300))
    sites.birth(1, range(300))
    hosts = []
    for _ in range(300):
        page = sites.take()
        assert page is not None
        hosts.append(sites.host_of[page])
        sites.settle(page)
        sites.resume(sites.host_of[page])
        if len(hosts) == 130:
            sites.importance[1] = 3.0
    looks = [*accumulate((1, 2, 4, 8, 16, 32, 64, 64, 64, 64), initial=0)]
    after = min(look for look in looks if look >= 130)
    assert hosts == [0] * after + [1] * (300 - after)
    assert sites.asked == sum(look < 300 for look in looks)


def test_hosts_have_the_precedence_of_their_sites() -> None:
    sites = World(importance=[1.0, 3.0, 2.0])
    for host in range(3):
        sites.birth(host, [10])
    sites.take()
    sites.birth(3, [99])  # the importance of its site is not known yet
    assert isinstance(sites.schedule, BySite)
    assert sorted(range(4), key=sites.schedule.precedence) == [1, 2, 0, 3]


def test_pages_whose_keys_have_fallen_since_they_were_offered_are_taken_all_the_same() -> None:
    keys, flags = array("q", range(100, 110)), bytearray(10)
    queue = ByHost(EligiblePages(keys, flags, array("I", [0] * 10), large=4))
    queue.enqueue(range(10))
    order = [queue.take()]
    queue.resume(0)
    keys[:] = array("q", range(50, 40, -1))
    while (best := queue.take()) is not None:
        order.append(best)
        queue.resume(0)
    assert order == [9, *range(9)]
