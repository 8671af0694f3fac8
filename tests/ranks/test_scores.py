"""Agreement of ranks with each other, and the power method."""

from dataclasses import asdict
from math import isfinite

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import kendalltau, spearmanr

from minicrawl.graph.products import Vector
from minicrawl.ports import unreported
from minicrawl.ranks.agreement import Comparison, compare, kendall, spearman
from minicrawl.ranks.scores import PowerMethod

NAN = float("nan")

a_score = st.integers(0, 7)
two_ranks = st.lists(st.tuples(a_score, a_score), min_size=2, max_size=40)
any_score = st.one_of(st.just(NAN), st.floats(0, 1), st.integers(0, 2).map(float))


def array(*scores: float) -> Vector:
    return np.array(scores, dtype=np.float64)


class TestCorrelations:
    @pytest.mark.parametrize("scores", [array(), array(1), array(1, 1, 1)])
    def test_a_rank_without_order_agrees_with_nothing(self, scores: Vector) -> None:
        others = np.arange(len(scores), dtype=np.float64)
        for measure in (kendall, spearman):
            assert measure(scores, others) is None
            assert measure(others, scores) is None

    @given(two_ranks)
    def test_they_agree_with_scipy_and_never_leave_their_bounds(
        self, pairs: list[tuple[int, int]]
    ) -> None:
        one, other = np.array(pairs, dtype=np.float64).T
        if len(set(one)) > 1 and len(set(other)) > 1:
            assert kendall(one, other) == pytest.approx(kendalltau(one, other).statistic)
            assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)
        for measure in (kendall, spearman):
            assert -1 <= (measure(one, other) or 0) <= 1

    @pytest.mark.parametrize("nodes", [2, 3, 64, 65, 10_000])
    def test_many_nodes_are_as_exact_as_few(self, nodes: int) -> None:
        dice = np.random.default_rng(nodes)
        one, other = dice.random((2, nodes))
        assert kendall(one, other) == pytest.approx(kendalltau(one, other).statistic, abs=1e-12)


class TestOverlap:
    def test_overlap_is_the_share_of_the_best_that_both_have(self) -> None:
        found = compare(array(5, 4, 3, 2, 1), array(5, 1, 4, 3, 2), [1, 2, 4, 5])
        assert found.overlap == {1: 1.0, 2: 0.5, 4: 3 / 4, 5: 1.0}

    def test_of_equal_scores_the_first_is_the_best(self) -> None:
        assert compare(array(1, 1, 1), array(1, 2, 3), [1, 2]).overlap == {1: 0.0, 2: 0.5}


def errors(comparison: Comparison, group: str = "all") -> tuple[float | None, float | None]:
    return comparison.mean_relative_error[group], comparison.median_relative_error[group]


class TestErrors:
    def test_errors_are_relative_and_ignore_the_sums_of_scores(self) -> None:
        found = compare(array(2, 3, 2, 3), array(8, 6, 4, 2), [])
        assert errors(found) == pytest.approx(((0.5 + 0 + 0 + 2) / 4, 0.25))
        assert errors(found, "top10") == pytest.approx((0.5, 0.5))
        assert found.nodes == 4

    def test_the_best_tenth_is_that_of_the_reference(self) -> None:
        reference = np.arange(1.0, 21)
        wrong = reference.copy()
        wrong[[18, 19]] = 20, 19
        found = compare(wrong, reference, [])
        assert errors(found, "top10") == pytest.approx(((1 / 19 + 1 / 20) / 2,) * 2)
        assert errors(found) == pytest.approx(((1 / 19 + 1 / 20) / 20, 0))

    def test_a_reference_of_0_has_no_error(self) -> None:
        found = compare(array(1, 3), array(0, 1), [])
        assert errors(found) == errors(found, "top10") == (0.25, 0.25)
        assert found.remarks[0].endswith(" 1")

    def test_a_reference_of_the_size_of_rounding_counts_as_0(self) -> None:
        found = compare(array(0.5, 0.5), array(5e-324, 1), [])
        assert errors(found) == pytest.approx((0.5, 0.5))

    def test_a_reference_of_zeros_counts_as_equal_scores(self) -> None:
        assert errors(compare(array(1, 3), array(0, 0), [])) == pytest.approx((0.5, 0.5))

    def test_a_tiny_reference_does_not_move_the_median(self) -> None:
        found = compare(array(1, 1, 1, 1, 1), array(1e-30, 1, 1, 1, 1), [])
        assert found.mean_relative_error["all"] is not None
        assert found.mean_relative_error["all"] > 1e28
        assert found.median_relative_error["all"] == pytest.approx(0.2)


class TestMissingNumbers:
    def test_nodes_without_a_score_in_both_are_left_out_and_counted(self) -> None:
        found = compare(array(1, NAN, 2, 3), array(1, 7, 2, NAN), [1])
        assert (found.nodes, found.left_out, found.kendall_tau, errors(found)) == (2, 2, 1, (0, 0))

    def test_each_rank_without_order_gets_a_remark(self) -> None:
        found = compare(array(1, 1, 1), array(2, 2, 2), [])
        assert found.kendall_tau is found.spearman is None
        one, other = found.remarks
        assert "first" in one
        assert "second" in other

    @pytest.mark.parametrize("nodes", [0, 1])
    def test_too_few_nodes_have_no_correlation(self, nodes: int) -> None:
        found = compare(np.ones(nodes), np.ones(nodes), [])
        assert found.kendall_tau is found.spearman is None
        assert errors(found) == ((0, 0) if nodes else (None, None))
        assert str(nodes) in found.remarks[0]

    @given(st.lists(st.tuples(any_score, any_score), max_size=12))
    def test_no_measure_is_nan(self, pairs: list[tuple[float, float]]) -> None:
        one, other = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        found = asdict(compare(one, other, [1, 10]))
        numbers = [*found.pop("overlap").values(), *found.values()]
        assert all(isfinite(number) for number in numbers if isinstance(number, float))


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


def test_several_vectors_wait_for_the_slowest() -> None:
    assert halving(0.1).run(Halving(1.0, 2.0).step, unreported) == (5, [1 / 32, 1 / 16])


def test_it_does_not_wait_for_an_error_below_rounding() -> None:
    iterations, (bound,) = halving(1e-12, floor=0.1).run(Halving(1.0).step, unreported)
    assert iterations == 5
    assert bound == pytest.approx(0.1 + 1 / 32)


def test_no_bound_is_above_2_the_largest_distance_of_two_ranks() -> None:
    assert halving(0.1, most_iterations=1).run(Halving(100.0).step, unreported) == (1, [2.0])
