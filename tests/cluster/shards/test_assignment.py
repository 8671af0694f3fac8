"""Shards and parts of addresses are assigned evenly, with as few moves as that takes."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, strategies as st

from minicrawl.cluster.node.assignment import assignment
from minicrawl.cluster.records import (
    MOST_BYTES,
    WHOLE,
    AddressPart,
    AddressRecord,
    KeyEntry,
    RecordError,
)
from minicrawl.cluster.traffic.address_parts import shards_to_notify, with_own_part

NAMES = st.sampled_from([f"node-{number}" for number in range(9)])
ROOMS = st.dictionaries(NAMES, st.integers(0, 30), max_size=6)
HOLDERS = st.dictionaries(st.integers(0, 39), NAMES)
SHARDS = st.integers(1, 40)


def loads(wanted: dict[int, str]) -> list[int]:
    return sorted(Counter(wanted.values()).values())


def kept(wanted: dict[int, str], holders: dict[int, str]) -> int:
    return sum(holders.get(shard) == node for shard, node in wanted.items())


def test_only_the_shards_that_a_new_node_gets_move() -> None:
    before = assignment(16, dict.fromkeys("abc", 16), {})
    after = assignment(16, dict.fromkeys("abcd", 16), before)
    assert loads(after) == [4, 4, 4, 4]
    moved = [shard for shard in before if before[shard] != after[shard]]
    assert len(moved) == 4
    assert {after[shard] for shard in moved} == {"d"}


@given(SHARDS, ROOMS, HOLDERS)
def test_shards_are_shared_evenly_as_far_as_there_is_room(
    shards: int, rooms: dict[str, int], holders: dict[int, str]
) -> None:
    wanted = assignment(shards, rooms, holders)
    held = Counter(wanted.values())
    assert len(wanted) == min(shards, sum(rooms.values()))
    assert wanted.keys() <= set(range(shards))
    for node, room in rooms.items():
        assert held[node] <= room
        for other in rooms:
            assert held[other] <= held[node] + 1 or held[node] == room


@given(SHARDS, ROOMS, HOLDERS)
def test_every_node_keeps_as_many_of_its_shards_as_an_even_assignment_allows(
    shards: int, rooms: dict[str, int], holders: dict[int, str]
) -> None:
    before = {shard: node for shard, node in holders.items() if shard < shards and node in rooms}
    held = Counter(before.values())
    target = Counter(assignment(shards, rooms, holders).values())
    stay = kept(assignment(shards, rooms, holders), before)
    assert stay == sum(min(held[node], target[node]) for node in rooms)
    level = max(target.values(), default=0)
    for node, room in rooms.items():
        if held[node] > target[node] < room:
            given_more = [one for one in rooms if target[one] == level > target[node]]
            assert all(held[one] >= held[node] for one in given_more)


@given(SHARDS, ROOMS, HOLDERS)
def test_an_assignment_made_again_is_the_same_in_any_order_of_nodes(
    shards: int, rooms: dict[str, int], holders: dict[int, str]
) -> None:
    wanted = assignment(shards, rooms, holders)
    assert assignment(shards, rooms, wanted) == wanted
    assert assignment(shards, dict(reversed(rooms.items())), holders) == wanted


PARTS = st.dictionaries(
    st.integers(0, 15), st.builds(AddressPart, st.integers(0, WHOLE // 16), st.integers(0, 9))
)


@given(PARTS, st.integers(0, 15), st.booleans())
def test_a_change_by_one_shard_never_exceeds_the_whole_and_changes_no_other_part(
    parts: dict[int, AddressPart], shard: int, is_used: bool
) -> None:
    after = with_own_part(parts, shard, 1, is_used=is_used)
    assert sum(one.part for one in after.values()) <= WHOLE
    assert {one: after.get(one) for one in parts if one != shard} == {
        one: part for one, part in parts.items() if one != shard
    }


@given(st.sets(st.integers(0, 40), min_size=1), st.randoms(use_true_random=False))
def test_shards_that_look_when_they_are_notified_end_with_even_parts(
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
def test_a_packed_record_is_read_back_unchanged(parts: dict[int, AddressPart]) -> None:
    record = AddressRecord(parts=parts)
    assert AddressRecord.of(KeyEntry("address.a", record.pack(), 1)) == record


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[1]",
        b"\xff",
        b"[" * 5000,
        b'{"parts": []}',
        b'{"parts": {"a": [1, 2]}}',
        b'{"parts": {"1": 2}}',
        b'{"parts": {"1": [1]}}',
        b'{"parts": {"1": [1.5, 2]}}',
        b'{"parts": {"1": [true, 2]}}',
        b'{"parts": {"1": [-1, 2]}}',
        b'{"parts": {"99999": [1, 2]}}',
        b'{"parts": {"-1": [1, 2]}}',
        b'{"parts": {"1": [1048576, 1], "2": [1, 1]}}',
        b" " * (MOST_BYTES + 1),
    ],
)
def test_invalid_records_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        AddressRecord.unpack("address.a", data)
