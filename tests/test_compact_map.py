"""CompactHashMap finds what a dictionary of lists finds."""

import pickle

import numpy as np
from hypothesis import given, strategies as st

from minicrawl.compact_map import CompactHashMap

LAST = (1 << 64) - 1
CODES = st.one_of(st.integers(0, 40), st.integers(LAST - 40, LAST), st.integers(0, LAST))
NUMBERS = st.integers(0, (1 << 32) - 2)


def numbers(*values: int) -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
    return np.array(values, dtype=np.uint32)


def looks_like(one: int, other: int) -> bool:
    """Return whether the map cannot tell two codes apart: it ignores their middle bits."""
    return one >> 56 == other >> 56 and one & 0xFFFFFFFF == other & 0xFFFFFFFF


@given(st.lists(st.tuples(CODES, NUMBERS), max_size=300), st.lists(CODES), st.booleans())
def test_it_answers_as_a_dictionary_of_lists_does(
    entries: list[tuple[int, int]], others: list[int], at_once: bool
) -> None:
    slots, truth = CompactHashMap(), dict[int, list[int]]()
    for code, number in entries:
        truth.setdefault(code, []).append(number)
        if not at_once:
            slots.put([code], number)
    if at_once:
        codes = np.array([code for code, _ in entries], dtype=np.uint64)
        slots.put_all(codes, numbers(*(number for _, number in entries)))
    assert len(slots) == len(entries)
    for code in [*truth, *others]:
        alike = [n for c, found in truth.items() if looks_like(c, code) for n in found]
        assert sorted(slots.matches([code])[0]) == sorted(alike)
        assert set(truth.get(code, ())) <= set(slots.matches([code])[0])


CLUSTERS = st.builds(lambda home, near: (home << 27) + near, st.integers(0, 30), st.integers(0, 9))


@given(st.lists(st.tuples(st.booleans(), CLUSTERS, st.integers(0, 3)), max_size=400))
def test_neighbours_that_come_and_go_lose_no_entry(turns: list[tuple[bool, int, int]]) -> None:
    slots, truth = CompactHashMap(), set[tuple[int, int]]()
    for comes, code, number in turns:
        if (code, number) not in truth and comes:
            slots.put([code], number)
            truth.add((code, number))
        elif not comes:
            slots.drop(code, number)
            truth.discard((code, number))
    assert len(slots) == len(truth)
    for _, code, _ in turns:
        assert slots.matches([code])[0] == sorted(n for other, n in truth if other == code)


def test_numbers_that_come_and_go_take_no_more_room() -> None:
    slots = CompactHashMap()
    before = len(pickle.dumps(slots))
    for number in range(10_000):
        slots.put([number], number)
        slots.drop(number, number)
    assert len(pickle.dumps(slots)) == before
    slots.put([7], 7)
    assert (slots.matches([7])[0], len(slots)) == ([7], 1)


def test_it_grows_and_forgets_nothing() -> None:
    codes = np.random.default_rng(0).integers(0, LAST, 60_000, dtype=np.uint64)
    slots = CompactHashMap()
    slots.put_all(codes[:20_000], np.arange(20_000, dtype=np.uint32))
    slots.put_all(codes[20_000:40_000], np.arange(20_000, 40_000, dtype=np.uint32))
    for number, code in enumerate(codes[40_000:].tolist(), 40_000):
        slots.put([code], number)
    slots.put_all(codes[:0], numbers())
    slots.put([7], 60_000)
    assert len(slots) == 60_001
    assert all(number in slots.matches([code])[0] for number, code in enumerate(codes.tolist()))
