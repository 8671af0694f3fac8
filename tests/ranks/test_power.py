"""The power method stops when its error bound is low enough, and returns the bound."""

import numpy as np
import pytest

from minicrawl.ports import unreported
from minicrawl.ranks.scores import PowerMethod, rounding_floor


class Halving:
    """x' = x / 2: the limit is 0, and each step brings x nearer to it by a half."""

    def __init__(self, *numbers: float) -> None:
        self.x = np.array(numbers)

    def step(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        self.x /= 2
        return self.x.copy()


def halving(tolerance: float, most_iterations: int = 100, floor: float = 0.0) -> PowerMethod:
    return PowerMethod(
        contraction=0.5, tolerance=tolerance, most_iterations=most_iterations, floor=floor
    )


def test_it_stops_at_the_first_bound_that_is_low_enough() -> None:
    vectors = Halving(1.0)
    iterations, (bound,) = halving(0.1).run(vectors.step, unreported)
    assert (iterations, bound) == (4, 1 / 16)
    assert vectors.x[0] <= bound


def test_it_stops_after_the_most_iterations_and_returns_its_bound() -> None:
    assert halving(1e-9, most_iterations=3).run(Halving(1.0).step, unreported) == (3, [1 / 8])


def test_several_vectors_wait_for_the_slowest() -> None:
    assert halving(0.1).run(Halving(1.0, 2.0).step, unreported) == (5, [1 / 32, 1 / 16])


def test_it_does_not_wait_for_an_error_below_rounding() -> None:
    iterations, (bound,) = halving(1e-12, floor=0.1).run(Halving(1.0).step, unreported)
    assert iterations == 5
    assert bound == pytest.approx(0.1 + 1 / 32)


def test_no_bound_is_above_2_the_largest_distance_of_two_ranks() -> None:
    assert halving(0.1, most_iterations=1).run(Halving(100.0).step, unreported) == (1, [2.0])


def test_single_precision_rounds_more() -> None:
    single, double = (rounding_floor(0.5, np.dtype(kind)) for kind in (np.float32, np.float64))
    assert single > 1e5 * double > 0


def test_progress_rises_to_1() -> None:
    told: list[float] = []
    halving(0.1).run(Halving(1.0).step, told.append)
    assert told == sorted(told)
    assert told[-1] == 1
