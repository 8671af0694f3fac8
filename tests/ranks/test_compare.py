"""How far two ranks agree."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from minicrawl.graphfiles.reading import read
from minicrawl.ranks.compare import (
    Floats,
    agreement,
    compare,
    graded,
    kendall,
    mean_of,
    places,
    spearman,
)
from minicrawl.ranks.degree import Direction, degree

SCORES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=40)


def array(*scores: float) -> Floats:
    return np.array(scores, dtype=np.float64)


class TestCorrelations:
    def test_a_rank_agrees_with_itself_and_disagrees_with_its_reverse(self) -> None:
        scores = array(4, 1, 3, 2)
        assert kendall(scores, scores) == spearman(scores, scores) == 1
        assert kendall(scores, -scores) == spearman(scores, -scores) == -1

    def test_kendall_by_hand(self) -> None:
        """Of six pairs two are in another order; with a tie of one and a tie of the other."""
        assert kendall(array(1, 2, 3, 4), array(2, 1, 4, 3)) == pytest.approx((4 - 2) / 6)
        assert kendall(array(1, 1, 2), array(1, 2, 2)) == pytest.approx(1 / 2)

    def test_spearman_by_hand(self) -> None:
        assert spearman(array(1, 2, 3), array(1, 3, 2)) == pytest.approx(1 - 6 * 2 / (3 * 8))

    def test_a_rank_without_order_agrees_with_nothing(self) -> None:
        for measure in (kendall, spearman):
            assert math.isnan(measure(array(1, 1, 1), array(1, 2, 3)))
            assert math.isnan(measure(array(1), array(1)))

    @given(SCORES)
    def test_they_are_those_of_scipy(self, pairs: list[tuple[int, int]]) -> None:
        one, other = np.array(pairs, dtype=np.float64).T
        if len(set(one)) > 1 and len(set(other)) > 1:
            assert kendall(one, other) == pytest.approx(kendalltau(one, other).statistic)
            assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)

    def test_so_they_are_on_a_real_graph(self, shared_graph: Callable[[str], Path]) -> None:
        graph = read(shared_graph("wiki-Vote.txt.gz")).graph
        one, other = (degree(graph, direction=way).values.astype(float) for way in Direction)
        assert kendall(one, other) == pytest.approx(kendalltau(one, other).statistic)
        assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)


def test_equals_share_the_mean_of_their_places() -> None:
    assert places(array(7, 5, 7, 9)).tolist() == [2.5, 1, 2.5, 4]


class TestCompare:
    def test_overlap_is_the_share_of_the_best_that_are_the_same(self) -> None:
        found = compare(array(5, 4, 3, 2, 1), array(5, 1, 4, 3, 2), [1, 2, 4, 5, 9])
        assert found.overlap == {1: 1.0, 2: 0.5, 4: 3 / 4}

    def test_of_equals_the_first_is_the_best(self) -> None:
        assert compare(array(1, 1, 1), array(1, 2, 3), [1, 2]).overlap == {1: 0.0, 2: 0.5}

    def test_errors_are_relative_to_the_truth_whatever_the_factors(self) -> None:
        found = compare(array(2, 3, 2, 3), array(8, 6, 4, 2), [])
        assert found.error_all == pytest.approx((0.5 + 0 + 0 + 2) / 4)
        assert found.error_top10 == pytest.approx(0.5)
        assert found.nodes == 4

    def test_the_top_tenth_is_that_of_the_truth(self) -> None:
        truth = np.arange(1.0, 21)
        wrong = truth.copy()
        wrong[[18, 19]] = 20, 19
        found = compare(wrong, truth, [])
        assert found.error_top10 == pytest.approx((1 / 19 + 1 / 20) / 2)
        assert found.error_all == pytest.approx(found.error_top10 / 10)

    def test_where_the_truth_is_nothing_there_is_no_error(self) -> None:
        assert compare(array(1, 3), array(0, 1), []).error_all == pytest.approx(0.25)
        all_alike_for_lack_of_any = compare(array(1, 1), array(0, 0), [])
        assert all_alike_for_lack_of_any.error_all == 0

    def test_the_mean_is_that_of_each_measure(self) -> None:
        one = compare(array(1, 2, 3), array(1, 2, 3), [1])
        other = compare(array(3, 2, 1), array(1, 2, 3), [1])
        mean = mean_of([one, other])
        assert (mean.nodes, mean.kendall, mean.spearman, mean.overlap) == (3, 0, 0, {1: 0.5})
        assert mean.error_all == pytest.approx(other.error_all / 2)
        assert mean.error_top10 == pytest.approx(other.error_top10 / 2)


class TestGrades:
    def test_scores_get_as_many_of_each_grade_as_people_gave(self) -> None:
        grades = np.array([4, 1, 1, 2])
        assert graded(array(0.1, 0.5, 0.2, 0.4), grades).tolist() == [1, 4, 1, 2]

    def test_equals_get_the_same_grade(self) -> None:
        assert graded(array(5, 5, 5, 5), np.array([1, 2, 3, 4])).tolist() == [2, 2, 2, 2]

    def test_what_agrees_agrees_in_all(self) -> None:
        grades = np.array([1, 2, 3, 4, 4])
        found = agreement(array(0.1, 0.2, 0.3, 0.4, 0.5), grades)
        assert (found.judged, found.equal, found.within_one) == (5, 1, 1)
        assert found.by_chance == pytest.approx((1 + 1 + 1 + 4) / 25)
        assert found.spearman == pytest.approx(spearmanr([1, 2, 3, 4, 5], grades).statistic)

    def test_what_is_the_other_way_round_does_not(self) -> None:
        found = agreement(array(4, 3, 2, 1), np.array([1, 2, 3, 4]))
        assert (found.equal, found.within_one, found.spearman) == (0, 0.5, -1)

    @given(st.lists(st.tuples(st.floats(0, 1), st.integers(1, 4)), min_size=1))
    def test_shares_are_shares(self, rows: list[tuple[float, int]]) -> None:
        scores, grades = np.array([s for s, _ in rows]), np.array([g for _, g in rows])
        found = agreement(scores, grades)
        assert 0 <= found.equal <= found.within_one <= 1
        if len(set(scores)) == len(scores):
            assert sorted(graded(scores, grades)) == sorted(grades)
