"""Means as of the last round, computed by hand."""

from minicrawl.opic.siblings.rounds import Means


def test_means_are_renewed_when_they_have_moved_by_a_thirty_second() -> None:
    means = Means()
    assert [turn for turn in range(1, 100) if means.count(2.0, 3)] == [1]
    assert means.count(2.0, 13)
    assert (means.mean_revealed, means.mean_linked) == (2.0, 3.1)
    assert [turn for turn in range(101, 110) if means.count(0.0, 3)] == [104, 108]
    assert means.mean_revealed == 2.0 * 100 / 108
