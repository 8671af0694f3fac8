"""The pages of a budget are granted to shards that need them, and never more than there are."""

from hypothesis import given
from hypothesis import strategies as st

from minicrawl.cluster.assignment import (
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


def test_a_shard_with_waiting_pages_gets_a_grant() -> None:
    assert new_grants(1000, {}, {0: ShardNeed(0, 500, 0)}, 4) == {0: LEAST_AHEAD}


def test_a_fast_shard_gets_as_many_pages_as_it_reads_in_the_time_ahead() -> None:
    assert new_grants(9000, {0: 10}, {0: ShardNeed(10, 5000, 50)}, 4) == {0: 610}


def test_a_grant_lasts_longer_than_an_election_of_the_servers() -> None:
    pace, election_s = 5, 9
    granted = new_grants(9000, {}, {0: ShardNeed(0, 500, pace)}, 4)
    assert granted[0] > pace * election_s


def test_a_shard_gets_no_more_pages_than_wait_there() -> None:
    assert new_grants(1000, {}, {0: ShardNeed(0, 2, 50)}, 4) == {0: 2}


def test_a_shard_without_waiting_pages_gives_back_its_unspent_grant() -> None:
    assert new_grants(20, {0: 12}, {0: ShardNeed(4, 0, 0)}, 4) == {0: 4}


def test_the_last_pages_are_given_out_one_by_one() -> None:
    needs = {0: ShardNeed(9, 50, 9), 1: ShardNeed(8, 70, 9)}
    assert new_grants(20, {0: 9, 1: 8}, needs, 4) == {0: 10, 1: 9}


def test_grants_are_for_less_time_ahead_towards_the_end_of_the_budget() -> None:
    assert ahead_s(10_000, 100) == AHEAD_S
    assert ahead_s(400, 100) == 400 / 100 / AHEAD_PARTS
    assert ahead_s(0, 100) == SHORTEST_S
    assert ahead_s(0, 0) == AHEAD_S
    need = {0: ShardNeed(40, 500, 40)}
    assert new_grants(10_000, {0: 40}, need, 8, pace=160) == {0: 520}
    assert new_grants(680, {0: 40}, need, 8, pace=160) == {0: 80}


def test_a_budget_that_is_granted_completely_gives_no_new_grants() -> None:
    assert new_grants(17, {0: 9, 1: 8}, {0: ShardNeed(9, 50, 9)}, 2) == {}


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
