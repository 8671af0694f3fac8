from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from minicrawl.opic.ledger import READ, UNREAD
from minicrawl.opic.queues import CandidateHeap


def all_taken(richest: CandidateHeap) -> list[int]:
    taken = []
    while (page := richest.take()) is not None:
        taken.append(page)
    return taken


def all_read(richest: CandidateHeap, flags: bytearray) -> list[int]:
    """Take all pages, each of which leaves the pool before the next is taken."""
    taken = []
    while (page := richest.take()) is not None:
        taken.append(page)
        flags[page] |= READ
        richest.release(page)
    return taken


def by_a_plain_sort(keys: list[int]) -> list[int]:
    return sorted(range(len(keys)), key=lambda page: (-keys[page], page))


def test_the_richest_page_comes_first_and_of_equal_ones_the_first() -> None:
    richest = CandidateHeap(array("q", [5, 9, -3, 9]), bytearray(4), UNREAD)
    assert all_taken(richest) == [1, 3, 0, 2]


def test_a_page_of_the_other_pool_is_never_taken() -> None:
    flags = bytearray([UNREAD, READ, UNREAD, READ])
    assert all_taken(CandidateHeap(array("q", [1, 2, 3, 4]), flags, UNREAD)) == [2, 0]
    assert all_taken(CandidateHeap(array("q", [1, 2, 3, 4]), flags, READ)) == [3, 1]


def test_a_page_on_lease_is_not_taken_again_until_it_is_released() -> None:
    keys = array("q", [3, 2, 1])
    richest = CandidateHeap(keys, bytearray(3), UNREAD)
    assert richest.take() == 0
    keys[0] = 10
    richest.offer([0])
    assert richest.take() == 1
    richest.release(0)
    assert richest.take() == 0


@pytest.mark.parametrize("pages", [1, 7, 1000, 50_000])
def test_equal_pages_come_in_the_order_of_discovery(pages: int) -> None:
    flags = bytearray(pages)
    richest = CandidateHeap(array("q", [7]) * pages, flags, UNREAD, fewest=max(16, pages // 20))
    assert all_read(richest, flags) == list(range(pages))


def test_pages_on_lease_do_not_hide_those_below_them() -> None:
    pages = 1000
    richest = CandidateHeap(array("q", [7]) * pages, bytearray(pages), UNREAD, fewest=4)
    assert all_taken(richest) == list(range(pages))


@settings(max_examples=50)
@given(st.lists(st.integers(-(1 << 62), 1 << 62), max_size=300), st.integers(1, 8))
def test_the_order_is_that_of_a_plain_sort_however_small_the_heap(
    keys: list[int], fewest: int
) -> None:
    richest = CandidateHeap(array("q", keys), bytearray(len(keys)), UNREAD, fewest)
    assert all_taken(richest) == by_a_plain_sort(keys)


def test_the_order_of_a_large_web_is_that_of_a_plain_sort() -> None:
    keys = [(page * 2654435761) % 1_000_003 for page in range(100_000)]
    flags = bytearray(len(keys))
    richest = CandidateHeap(array("q", keys), flags, UNREAD, fewest=2000)
    assert all_read(richest, flags) == by_a_plain_sort(keys)


def test_the_last_pages_of_a_large_web_are_found() -> None:
    flags = bytearray([READ]) * 100_000
    for page in (3, 50_001, 99_999):
        flags[page] = UNREAD
    richest = CandidateHeap(array("q", range(100_000)), flags, UNREAD)
    assert all_taken(richest) == [99_999, 50_001, 3]


def test_garbage_is_bounded() -> None:
    keys = array("q", range(1000))
    richest = CandidateHeap(keys, bytearray(1000), UNREAD, fewest=100)
    richest.take()
    for _ in range(10_000):
        keys[500] += 1
        richest.offer([500])
        assert len(richest) <= 4 * 1000
    assert richest.take() == 500


def test_the_heap_stays_small_while_all_pages_grow() -> None:
    keys = array("q", [0]) * 50_000
    richest = CandidateHeap(keys, bytearray(50_000), UNREAD, fewest=64)
    richest.take()
    for page in range(50_000):
        keys[page] = page
        richest.offer([page])
        assert len(richest) <= 1000
    assert richest.take() == 49_999


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
