"""Shards share the pace of an address: never more than the whole, and evenly in the end."""

import json
from random import Random

import pytest
from hypothesis import given, strategies as st

from minicrawl.cluster.assignment import shards_to_notify, with_own_part
from minicrawl.cluster.records import (
    MOST_BYTES,
    WHOLE,
    AddressList,
    AddressPart,
    AddressRecord,
    KeyEntry,
    RecordError,
)

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


@pytest.mark.parametrize("addresses", ["1", [1], ["a\n"], ["x" * 2000]])
def test_a_list_has_addresses_of_one_line_only(addresses: object) -> None:
    with pytest.raises(RecordError):
        AddressList.unpack("look.1.at", json.dumps({"addresses": addresses}).encode())
