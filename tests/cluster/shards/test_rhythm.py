"""Shards exchange messages at intervals that grow with the age of the crawl, up to a limit."""

from hypothesis import given, strategies as st

from minicrawl.cluster.channels.outbox import (
    AGE_PART,
    QUICK_SHARDS,
    QUICKEST_S,
    exchange_interval_s,
)

AGES = st.floats(0, 1e6)
SHARDS = st.integers(1, 10_000)


def test_the_interval_is_a_small_part_of_the_age_of_the_crawl() -> None:
    assert exchange_interval_s(0, 8, 1.0) == QUICKEST_S
    assert exchange_interval_s(20, 8, 1.0) == 20 * AGE_PART
    assert exchange_interval_s(1000, 8, 1.0) == 1.0
    assert exchange_interval_s(0, 8, 0.05) == 0.05


@given(AGES, AGES, SHARDS)
def test_the_interval_grows_with_age_up_to_the_usual_one(
    age_s: float, another_s: float, shards: int
) -> None:
    younger, older = sorted((age_s, another_s))
    assert (
        exchange_interval_s(younger, shards, 1.0) <= exchange_interval_s(older, shards, 1.0) <= 1.0
    )


@given(AGES, SHARDS)
def test_all_shards_together_never_exceed_the_limit_of_messages_or_the_usual_number(
    age_s: float, shards: int
) -> None:
    most = QUICK_SHARDS**2 / QUICKEST_S
    messages = shards**2 / exchange_interval_s(age_s, shards, 1.0)
    assert messages <= max(most * (1 + 1e-9), shards**2)
