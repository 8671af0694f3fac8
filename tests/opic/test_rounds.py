"""Means as of the last round, computed by hand."""

import pytest

from minicrawl.opic.families import FEWEST_TURNS, Means


def test_means_are_renewed_after_a_change_of_a_thirty_second() -> None:
    means = Means()
    assert [turn for turn in range(1, 100) if means.count(2.0)] == [1]
    assert [turn for turn in range(100, 110) if means.count(0.0)] == [103, 107]
    assert means.mean_revealed == 2.0 * 99 / 107


def test_siblings_matter_less_when_no_more_is_revealed() -> None:
    means = Means()
    for _ in range(FEWEST_TURNS // 2):
        means.count(1.0)
    late = 1.0
    for turns in range(FEWEST_TURNS // 2 + 1, FEWEST_TURNS + 1):
        means.count(0.0)
        late -= late * 10 / (turns + 9)
    assert means.late == pytest.approx(late)
    assert late < 0.002  # in the middle of the turns it was 1
    assert means.relevance == 1  # too few turns to know it
    assert means.count(0.0)
    assert means.relevance == pytest.approx(
        0.25, abs=2e-3
    )  # never 0, since pages may still be hidden
    for _ in range(FEWEST_TURNS // 10):
        means.count(2.0)
    assert means.relevance == 1


def test_an_older_state_restores_late_as_the_overall_mean() -> None:
    means, again, of_before = Means(), Means(), Means()
    for turn in range(2 * FEWEST_TURNS):
        means.count(float(turn < FEWEST_TURNS))
    assert means.relevance < 1
    again.restore(means.state())
    assert again.state() == means.state()
    of_before.restore({"means": means.state()["means"]})
    assert (of_before.late, of_before.relevance) == (of_before.mean_revealed, 1)
