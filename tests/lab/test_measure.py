import numpy as np
import pytest

from minicrawl.lab.webs import errors, mean

TRUTH = np.array([0.4, 0.3, 0.2, 0.1])


def test_a_multiple_of_the_truth_has_no_error() -> None:
    found = errors(3 * TRUTH, TRUTH)
    assert (found.all, found.top10, found.weighted, found.rank) == pytest.approx((0, 0, 0, 0))


def test_errors_by_hand() -> None:
    """Relative errors are 0.2/0.4, 0, 0, 0.2/0.1. Pages 1 and 3 are equal, then 0 and 2."""
    found = errors(np.array([0.2, 0.3, 0.2, 0.3]), TRUTH)
    assert found.all == pytest.approx(100 * (0.5 + 2) / 4)
    assert found.top10 == pytest.approx(50)
    assert found.weighted == pytest.approx(100 * (0.2 + 0.2))
    assert found.rank == pytest.approx(100 * (2.5 + 0.5 + 0.5 + 2.5) / 4 / 4)
    assert found.deviation == pytest.approx(100 * np.std([0.5, 0, 0, 2]))
    assert found.above_twice == 25


def test_the_mean_of_moments_is_that_of_each_error() -> None:
    wrong = errors(np.array([0.2, 0.3, 0.2, 0.3]), TRUTH)
    found = mean([wrong, errors(TRUTH, TRUTH), wrong, wrong])
    assert found.all == pytest.approx(0.75 * wrong.all)
    assert found.above_twice == pytest.approx(0.75 * wrong.above_twice)


def test_the_top_tenth_is_that_of_the_truth() -> None:
    truth = np.arange(1, 21, dtype=float)
    wrong_at_the_top = truth.copy()
    wrong_at_the_top[[18, 19]] = wrong_at_the_top[[19, 18]]
    found = errors(wrong_at_the_top, truth)
    assert found.top10 == pytest.approx(100 * (1 / 19 + 1 / 20) / 2)
    assert found.all == pytest.approx(found.top10 / 10)


def test_pages_in_reverse_order_are_off_by_half_of_all_places() -> None:
    truth = np.arange(1, 1001, dtype=float)
    assert errors(truth[::-1], truth).rank == pytest.approx(50)
