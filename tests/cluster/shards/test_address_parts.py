"""Who has which part of an address's pace: never more than the whole, and even in the end."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.cluster.assignment import (
    MOST_RECORD_BYTES,
    WHOLE,
    AddressPart,
    AddressRecordError,
    parts_as_bytes,
    parts_in,
    shards_to_notify,
    with_own_part,
)

PARTS = st.dictionaries(
    st.integers(0, 15), st.builds(AddressPart, st.integers(0, WHOLE // 16), st.integers(0, 9))
)


def test_who_is_alone_has_the_whole() -> None:
    assert with_own_part({}, 3, 1, is_used=True) == {3: AddressPart(WHOLE, 1)}


def test_who_comes_waits_until_others_have_given_up_what_is_his() -> None:
    alone = with_own_part({}, 3, 1, is_used=True)
    came = with_own_part(alone, 5, 1, is_used=True)
    assert came[5].part == 0
    assert shards_to_notify(came, 5) == [3]
    lowered = with_own_part(came, 3, 1, is_used=True)
    assert lowered[3].part == WHOLE // 2
    assert shards_to_notify(lowered, 3) == [5]
    even = with_own_part(lowered, 5, 1, is_used=True)
    assert even[5].part == WHOLE // 2
    assert shards_to_notify(even, 5) == []


def test_what_a_shard_leaves_is_for_the_others() -> None:
    both = {3: AddressPart(WHOLE // 2, 1), 5: AddressPart(WHOLE // 2, 1)}
    left = with_own_part(both, 3, 1, is_used=False)
    assert left == {5: AddressPart(WHOLE // 2, 1)}
    assert shards_to_notify(left, 3) == [5]
    assert with_own_part(left, 5, 1, is_used=True)[5].part == WHOLE


def test_who_has_a_shard_next_notes_that_it_has_changed_hands() -> None:
    assert with_own_part({3: AddressPart(WHOLE, 1)}, 3, 2, is_used=True) == {
        3: AddressPart(WHOLE, 2)
    }


@given(PARTS, st.integers(0, 15), st.booleans())
def test_no_shard_makes_more_than_the_whole_of_it(
    parts: dict[int, AddressPart], shard: int, is_used: bool
) -> None:
    after = with_own_part(parts, shard, 1, is_used=is_used)
    assert sum(one.part for one in after.values()) <= WHOLE
    assert {one: after.get(one) for one in parts if one != shard} == {
        one: part for one, part in parts.items() if one != shard
    }


@given(st.sets(st.integers(0, 40), min_size=1), st.randoms(use_true_random=False))
def test_shards_that_look_when_they_are_told_to_end_with_even_parts(
    shards: set[int], chance: Random
) -> None:
    parts: dict[int, AddressPart] = {}
    to_look = set(shards)
    while to_look:
        shard = chance.choice(sorted(to_look))
        parts = with_own_part(parts, shard, 1, is_used=True)
        to_look = (to_look - {shard}) | set(shards_to_notify(parts, shard))
    assert parts == {shard: AddressPart(WHOLE // len(shards), 1) for shard in shards}


@given(PARTS)
def test_a_record_is_what_its_bytes_say(parts: dict[int, AddressPart]) -> None:
    assert parts_in(parts_as_bytes(parts), 16) == parts


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[1]",
        b"\xff",
        b"[" * 5000,
        b'{"a": [1, 2]}',
        b'{"1": 2}',
        b'{"1": [1]}',
        b'{"1": [1.5, 2]}',
        b'{"1": [true, 2]}',
        b'{"1": [-1, 2]}',
        b'{"16": [1, 2]}',
        b'{"-1": [1, 2]}',
        b'{"1": [1048576, 1], "2": [1, 1]}',
        b" " * (MOST_RECORD_BYTES + 1),
    ],
)
def test_bytes_that_no_shard_has_written_are_refused(data: bytes) -> None:
    with pytest.raises(AddressRecordError):
        parts_in(data, 16)
