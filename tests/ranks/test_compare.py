"""Agreement of two ranks."""

from collections.abc import Callable
from dataclasses import asdict
from math import isfinite
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from minicrawl.graph.csr import Vector
from minicrawl.graphfiles import read
from minicrawl.ranks.centrality import Direction, degree
from minicrawl.ranks.scores import compare, kendall, places, spearman

NAN = float("nan")

a_score = st.integers(0, 7)
two_ranks = st.lists(st.tuples(a_score, a_score), min_size=2, max_size=40)
any_score = st.one_of(st.just(NAN), st.floats(0, 1), st.integers(0, 2).map(float))


def array(*scores: float) -> Vector:
    return np.array(scores, dtype=np.float64)


class TestCorrelations:
    def test_a_rank_agrees_with_itself_and_disagrees_with_its_reverse(self) -> None:
        scores = array(4, 1, 3, 2, 2)
        assert kendall(scores, scores) == spearman(scores, scores) == 1
        assert kendall(scores, -scores) == spearman(scores, -scores) == -1

    def test_kendall_by_hand(self) -> None:
        """Two of six pairs are discordant; then each rank has a tie."""
        assert kendall(array(1, 2, 3, 4), array(2, 1, 4, 3)) == pytest.approx((4 - 2) / 6)
        assert kendall(array(1, 1, 2), array(1, 2, 2)) == pytest.approx(1 / 2)

    def test_spearman_by_hand(self) -> None:
        assert spearman(array(1, 2, 3), array(1, 3, 2)) == pytest.approx(1 - 6 * 2 / (3 * 8))

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

    def test_they_agree_with_scipy_on_a_real_graph(
        self, shared_graph: Callable[[str], Path]
    ) -> None:
        graph = read(shared_graph("wiki-Vote.txt.gz")).graph
        one, other = (degree(graph, direction=way).values.astype(float) for way in Direction)
        assert kendall(one, other) == pytest.approx(kendalltau(one, other).statistic)
        assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)

    def test_progress_is_reported(self) -> None:
        told: list[float] = []
        kendall(np.arange(5.0), np.arange(5.0), tell=told.append)
        assert told == pytest.approx([1 / 3, 2 / 3, 1])


def test_equal_scores_share_the_mean_of_their_places() -> None:
    assert places(array(7, 5, 7, 9)).tolist() == [2.5, 1, 2.5, 4]


class TestOverlap:
    def test_overlap_is_the_share_of_the_best_that_both_have(self) -> None:
        found = compare(array(5, 4, 3, 2, 1), array(5, 1, 4, 3, 2), [1, 2, 4, 5])
        assert found.overlap == {1: 1.0, 2: 0.5, 4: 3 / 4, 5: 1.0}

    def test_of_equal_scores_the_first_is_the_best(self) -> None:
        assert compare(array(1, 1, 1), array(1, 2, 3), [1, 2]).overlap == {1: 0.0, 2: 0.5}

    def test_more_nodes_than_there_are_have_no_overlap(self) -> None:
        found = compare(array(1, 2), array(1, 2), [1, 2, 3])
        assert found.overlap == {1: 1.0, 2: 1.0, 3: None}
        assert "2 nodes" in found.remarks[0]


class TestErrors:
    def test_errors_are_relative_and_ignore_the_sums_of_scores(self) -> None:
        found = compare(array(2, 3, 2, 3), array(8, 6, 4, 2), [])
        assert found.errors == pytest.approx(((0.5 + 0 + 0 + 2) / 4, 0.25))
        assert found.errors_top10 == pytest.approx((0.5, 0.5))
        assert found.nodes == 4

    def test_the_best_tenth_is_that_of_the_reference(self) -> None:
        reference = np.arange(1.0, 21)
        wrong = reference.copy()
        wrong[[18, 19]] = 20, 19
        found = compare(wrong, reference, [])
        assert found.errors_top10 == pytest.approx(((1 / 19 + 1 / 20) / 2,) * 2)
        assert found.errors == pytest.approx(((1 / 19 + 1 / 20) / 20, 0))

    def test_a_reference_of_0_has_no_error(self) -> None:
        found = compare(array(1, 3), array(0, 1), [])
        assert found.errors == found.errors_top10 == (0.25, 0.25)
        assert found.remarks[0].endswith(" 1")

    def test_a_reference_of_the_size_of_rounding_counts_as_0(self) -> None:
        found = compare(array(0.5, 0.5), array(5e-324, 1), [])
        assert found.errors == pytest.approx((0.5, 0.5))

    def test_a_reference_of_zeros_counts_as_equal_scores(self) -> None:
        assert compare(array(1, 3), array(0, 0), []).errors == pytest.approx((0.5, 0.5))

    def test_a_tiny_reference_does_not_move_the_median(self) -> None:
        found = compare(array(1, 1, 1, 1, 1), array(1e-30, 1, 1, 1, 1), [])
        assert found.errors is not None
        assert found.errors.mean > 1e28
        assert found.errors.median == pytest.approx(0.2)


class TestMissingNumbers:
    def test_nodes_without_a_score_in_both_are_left_out_and_counted(self) -> None:
        found = compare(array(1, NAN, 2, 3), array(1, 7, 2, NAN), [1])
        assert (found.nodes, found.left_out, found.kendall, found.errors) == (2, 2, 1, (0, 0))

    def test_each_rank_without_order_gets_a_remark(self) -> None:
        found = compare(array(1, 1, 1), array(2, 2, 2), [])
        assert found.kendall is found.spearman is None
        one, other = found.remarks
        assert "first" in one
        assert "second" in other

    @pytest.mark.parametrize("nodes", [0, 1])
    def test_too_few_nodes_have_no_correlation(self, nodes: int) -> None:
        found = compare(np.ones(nodes), np.ones(nodes), [])
        assert found.kendall is found.spearman is None
        assert found.errors == ((0, 0) if nodes else None)
        assert str(nodes) in found.remarks[0]

    @given(st.lists(st.tuples(any_score, any_score), max_size=12))
    def test_no_measure_is_nan(self, pairs: list[tuple[float, float]]) -> None:
        one, other = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        found = asdict(compare(one, other, [1, 10]))
        numbers = [*found.pop("overlap").values(), *found.values()]
        assert all(isfinite(number) for number in numbers if isinstance(number, float))

    def test_single_precision_is_enough(self) -> None:
        scores = array(0.5, 0.3, 0.2)
        assert compare(scores.astype(np.float32), scores, [2]).kendall == 1
