"""Facts that shards tell each other, and the end of a crawl that follows from them."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from minicrawl.cluster.conclusions import fetched_together, gathered_together, has_ended
from minicrawl.cluster.records import MOST_BYTES, KeyEntry, RecordError, ShardFacts
from minicrawl.opic.ledger.channels import MOST_SHARDS
from minicrawl.opic.ledger.money import UNIT

COUNTS = st.integers(0, 1 << 62)
TABLES = st.dictionaries(st.integers(0, 400), COUNTS, max_size=8)


def packed(changed: dict[str, object]) -> bytes:
    return json.dumps(json.loads(ShardFacts(1).pack()) | changed).encode()


NUMBERS = (st.integers(0, MOST_SHARDS - 1), *[COUNTS] * 13)


@given(st.builds(ShardFacts, *NUMBERS, TABLES, TABLES, TABLES, *[st.booleans()] * 2))
def test_packed_facts_are_read_back_unchanged(facts: ShardFacts) -> None:
    assert ShardFacts.unpack("told", facts.pack()) == facts
    assert ShardFacts.of(KeyEntry("told", facts.pack(), 1)) == facts


def test_a_key_without_a_value_has_no_facts() -> None:
    assert ShardFacts.of(None) is None
    assert ShardFacts.of(KeyEntry("told", None, 1)) is None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[1, 2]",
        b"[" * 5000,
        b"\xff",
        b'{"shard": 1}',
        packed({"fetched": "7"}),
        packed({"fetched": 0.5}),
        packed({"sent": {"1": "2"}}),
        packed({"sent": [1, 2]}),
        packed({"sent": {"a": 2}}),
        packed({"shard": -1}),
        packed({"shard": MOST_SHARDS}),
        packed({"waiting": -1}),
        packed({"wire_bytes": -1}),
        packed({"age_s": -0.5}),
        packed({"gathered": -0.5}),
        packed({"age_s": float("inf")}),
        packed({"pot": 1 << 100}),
        packed({"sent": {1: -2}}),
        packed({"sketch": {10**4: 2}}),
        packed({"received": {10**9: 2}}),
        b" " * (MOST_BYTES + 1),
    ],
)
def test_invalid_facts_are_refused(data: bytes) -> None:
    with pytest.raises(RecordError):
        ShardFacts.unpack("told", data)


def test_facts_of_a_later_version_are_read() -> None:
    assert ShardFacts.unpack("told", packed({"more": 2})) == ShardFacts(1)


def idle(shard: int, sent: dict[int, int], received: dict[int, int]) -> ShardFacts:
    return ShardFacts(shard, fetched=10, sent=sent, received=received, is_idle=True)


def test_a_crawl_has_ended_when_all_shards_are_idle_and_no_batch_is_under_way() -> None:
    both = {0: idle(0, {1: 3}, {1: 2}), 1: idle(1, {0: 2}, {0: 3})}
    assert has_ended(both, 2)
    assert fetched_together(both) == 20


def test_a_crawl_goes_on_while_a_shard_is_unheard_or_busy_or_a_batch_is_under_way() -> None:
    first, second = idle(0, {1: 3}, {}), idle(1, {}, {0: 3})
    assert not has_ended({0: first, 1: second}, 3)
    assert not has_ended({0: first, 1: replace(second, is_idle=False)}, 2)
    assert not has_ended({0: first, 1: replace(second, received={0: 2})}, 2)
    # The facts of the first are from before it sent the batch that the second has received.
    assert not has_ended({0: replace(first, sent={1: 2}), 1: second}, 2)


def test_the_gathered_share_is_that_of_all_shards_and_of_cash_under_way() -> None:
    one = ShardFacts(0, fetched=30, gathered=6, ungathered=1, abroad=2 * UNIT, discovery=2)
    other = ShardFacts(1, fetched=10, gathered=0.5, ungathered=1.5, abroad=-UNIT, discovery=6)
    read, unread, discovery = 6 + 0.5, 1 + 1.5 + 2 - 1, (30 * 2 + 10 * 6) / 40
    share = read / (read + unread)
    expected = share / (1 + discovery * (1 - share))
    assert gathered_together({0: one, 1: other}, 2) == pytest.approx(expected)


def test_the_gathered_share_is_unknown_until_each_shard_has_added_up_its_own() -> None:
    whole, begun = ShardFacts(0, fetched=30, gathered=6), ShardFacts(1, fetched=10)
    assert gathered_together({0: whole}, 2) == 0
    assert gathered_together({0: whole, 1: begun}, 2) == 0
    assert gathered_together({0: whole, 1: ShardFacts(1)}, 2) == 1
    assert gathered_together({0: ShardFacts(0), 1: ShardFacts(1)}, 2) == 0
