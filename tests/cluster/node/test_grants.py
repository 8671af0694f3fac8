"""The pages of a budget are granted to shards that need them, and never more than there are."""

import pytest
from hypothesis import given, strategies as st

from minicrawl.cluster.page_budget import (
    AHEAD_PARTS,
    AHEAD_S,
    LEAST_AHEAD,
    SHORTEST_S,
    ShardNeed,
    ahead_s,
    new_grants,
)

NEEDS = st.dictionaries(
    st.integers(0, 7),
    st.builds(ShardNeed, st.integers(0, 50), st.integers(0, 300), st.integers(0, 90)),
)
GRANTED = st.dictionaries(st.integers(0, 7), st.integers(0, 60))


@pytest.mark.parametrize(
    ("budget", "granted", "needs", "new"),
    [
        pytest.param(1000, {}, {0: ShardNeed(0, 500, 0)}, {0: LEAST_AHEAD}, id="slow"),
        pytest.param(9000, {0: 10}, {0: ShardNeed(10, 5000, 50)}, {0: 610}, id="time ahead"),
        pytest.param(1000, {}, {0: ShardNeed(0, 2, 50)}, {0: 2}, id="no more than wait"),
        pytest.param(20, {0: 12}, {0: ShardNeed(4, 0, 0)}, {0: 4}, id="unspent pages back"),
        pytest.param(
            *(20, {0: 9, 1: 8}, {0: ShardNeed(9, 50, 9), 1: ShardNeed(8, 70, 9)}, {0: 10, 1: 9}),
            id="last pages one by one",
        ),
    ],
)
def test_a_shard_is_granted_the_pages_that_it_reads_soon(
    budget: int, granted: dict[int, int], needs: dict[int, ShardNeed], new: dict[int, int]
) -> None:
    assert new_grants(budget, granted, needs, 4) == new


def test_grants_are_for_less_time_ahead_towards_the_end_of_the_budget() -> None:
    assert ahead_s(10_000, 100) == AHEAD_S
    assert ahead_s(400, 100) == 400 / 100 / AHEAD_PARTS
    assert ahead_s(0, 100) == SHORTEST_S
    assert ahead_s(0, 0) == AHEAD_S
    need = {0: ShardNeed(40, 500, 40)}
    assert new_grants(10_000, {0: 40}, need, 8, pace=160) == {0: 520}
    assert new_grants(680, {0: 40}, need, 8, pace=160) == {0: 80}


def test_a_slow_shard_gives_back_unspent_pages_that_others_want() -> None:
    reads_nothing, reads_slowly = ShardNeed(4, 50, 0), ShardNeed(4, 50, 1)
    wants = ShardNeed(8, 70, 9)
    for slow in (reads_nothing, reads_slowly):
        granted = {0: 9, 1: 8}
        assert new_grants(17, granted, {0: slow, 1: wants}, 2, is_wanted=True) == {0: 4}
        assert new_grants(17, granted, {0: slow, 1: wants}, 2) == {}
    assert new_grants(15, {0: 7, 1: 8}, {0: reads_slowly, 1: wants}, 2, is_wanted=True) == {}


@given(st.integers(0, 200), GRANTED, NEEDS, st.booleans())
def test_grants_never_exceed_the_budget_and_are_never_below_the_pages_spent(
    budget: int, granted: dict[int, int], needs: dict[int, ShardNeed], is_wanted: bool
) -> None:
    after = granted | new_grants(budget, granted, needs, 8, is_wanted=is_wanted)
    assert sum(after.values()) <= max(budget, sum(granted.values()))
    for shard, need in needs.items():
        assert after.get(shard, 0) >= min(granted.get(shard, 0), need.spent)
