"""Batches that their receiver does not post are sent again."""

from minicrawl.cluster.channels.unposted import UnpostedBatches

AGAIN_S = 10.0


def test_posted_batches_are_never_sent_again() -> None:
    unposted = UnpostedBatches(AGAIN_S)
    for now in range(100):
        assert not list(unposted.overdue({1: now}, {1: now - 1}, 8.0 * now))
    assert not list(unposted.overdue({1: 99}, {1: 99}, 10_000.0))


def test_a_batch_that_is_not_posted_is_sent_again_at_doubling_intervals() -> None:
    unposted = UnpostedBatches(AGAIN_S)
    times = [
        now
        for now in range(100)
        if list(unposted.overdue({1: 7, 2: 3}, {1: 0, 2: 3}, float(now))) == [(1, 0)]
    ]
    assert times == [10, 30, 70]


def test_progress_of_the_receiver_starts_the_wait_anew() -> None:
    unposted = UnpostedBatches(AGAIN_S)
    found = [list(unposted.overdue({1: 7}, {1: 5}, now)) for now in (0.0, 10.0, 29.0)]
    assert found == [[], [(1, 5)], []]
    found = [list(unposted.overdue({1: 7}, {1: 6}, now)) for now in (30.0, 39.0, 40.0)]
    assert found == [[], [], [(1, 6)]]


def test_a_shard_that_tells_no_facts_is_sent_nothing_again() -> None:
    unposted = UnpostedBatches(AGAIN_S)
    assert not any(list(unposted.overdue({1: 7}, {}, float(now))) for now in range(0, 1000, 10))
