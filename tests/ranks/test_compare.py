"""How far two ranks agree."""

from collections.abc import Callable
from dataclasses import asdict
from math import isfinite
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from minicrawl.graphfiles import read
from minicrawl.ranks.centrality import Direction, degree
from minicrawl.ranks.compare import Floats, compare, kendall, places, spearman

NAN = float("nan")

a_score = st.integers(0, 7)
two_ranks = st.lists(st.tuples(a_score, a_score), min_size=2, max_size=40)
any_score = st.one_of(st.just(NAN), st.floats(0, 1), st.integers(0, 2).map(float))


def array(*scores: float) -> Floats:
    return np.array(scores, dtype=np.float64)


class TestCorrelations:
    def test_a_rank_agrees_with_itself_and_disagrees_with_its_reverse(self) -> None:
        scores = array(4, 1, 3, 2, 2)
        assert kendall(scores, scores) == spearman(scores, scores) == 1
        assert kendall(scores, -scores) == spearman(scores, -scores) == -1

    def test_kendall_by_hand(self) -> None:
        """Of six pairs two are the wrong way round; then a tie in the one, and one in the other."""
        assert kendall(array(1, 2, 3, 4), array(2, 1, 4, 3)) == pytest.approx((4 - 2) / 6)
        assert kendall(array(1, 1, 2), array(1, 2, 2)) == pytest.approx(1 / 2)

    def test_spearman_by_hand(self) -> None:
        assert spearman(array(1, 2, 3), array(1, 3, 2)) == pytest.approx(1 - 6 * 2 / (3 * 8))

    @pytest.mark.parametrize("scores", [array(), array(1), array(1, 1, 1)])
    def test_a_rank_without_order_agrees_with_nothing(self, scores: Floats) -> None:
        others = np.arange(len(scores), dtype=np.float64)
        for measure in (kendall, spearman):
            assert measure(scores, others) is None
            assert measure(others, scores) is None

    @given(two_ranks)
    def test_they_are_those_of_scipy(self, pairs: list[tuple[int, int]]) -> None:
        one, other = np.array(pairs, dtype=np.float64).T
        if len(set(one)) > 1 and len(set(other)) > 1:
            assert kendall(one, other) == pytest.approx(kendalltau(one, other).statistic)
            assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)

    @given(two_ranks)
    def test_they_stay_within_their_bounds(self, pairs: list[tuple[int, int]]) -> None:
        one, other = np.array(pairs, dtype=np.float64).T
        for measure in (kendall, spearman):
            assert -1 <= (measure(one, other) or 0) <= 1

    @pytest.mark.parametrize("nodes", [2, 3, 64, 65, 10_000])
    def test_many_nodes_are_as_exact_as_few(self, nodes: int) -> None:
        dice = np.random.default_rng(nodes)
        one, other = dice.random((2, nodes))
        assert kendall(one, other) == pytest.approx(kendalltau(one, other).statistic, abs=1e-12)

    def test_so_they_are_on_a_real_graph(self, shared_graph: Callable[[str], Path]) -> None:
        graph = read(shared_graph("wiki-Vote.txt.gz")).graph
        one, other = (degree(graph, direction=way).values.astype(float) for way in Direction)
        assert kendall(one, other) == pytest.approx(kendalltau(one, other).statistic)
        assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)

    def test_it_is_told_how_far_it_has_come(self) -> None:
        told: list[float] = []
        kendall(np.arange(5.0), np.arange(5.0), tell=told.append)
        assert told == pytest.approx([1 / 3, 2 / 3, 1])


def test_equals_share_the_mean_of_their_places() -> None:
    assert places(array(7, 5, 7, 9)).tolist() == [2.5, 1, 2.5, 4]


class TestOverlap:
    def test_it_is_the_share_of_the_best_that_both_have(self) -> None:
        found = compare(array(5, 4, 3, 2, 1), array(5, 1, 4, 3, 2), [1, 2, 4, 5])
        assert found.overlap == {1: 1.0, 2: 0.5, 4: 3 / 4, 5: 1.0}

    def test_of_equals_the_first_is_the_best(self) -> None:
        assert compare(array(1, 1, 1), array(1, 2, 3), [1, 2]).overlap == {1: 0.0, 2: 0.5}

    def test_there_is_none_of_more_nodes_than_there_are(self) -> None:
        found = compare(array(1, 2), array(1, 2), [1, 2, 3])
        assert found.overlap == {1: 1.0, 2: 1.0, 3: None}
        assert found.remarks == ("there is no overlap of more than 2 nodes",)


class TestErrors:
    def test_they_are_relative_to_the_reference_whatever_the_factors(self) -> None:
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

    def test_where_the_reference_is_0_there_is_none(self) -> None:
        found = compare(array(1, 3), array(0, 1), [])
        assert found.errors == found.errors_top10 == (0.25, 0.25)
        assert found.remarks == ("nodes with a score of 0 in the second, and so in no error: 1",)

    def test_what_came_of_rounding_counts_as_0(self) -> None:
        found = compare(array(0.5, 0.5), array(5e-324, 1), [])
        assert found.errors == pytest.approx((0.5, 0.5))

    def test_a_reference_of_zeros_says_that_all_are_alike(self) -> None:
        assert compare(array(1, 3), array(0, 0), []).errors == pytest.approx((0.5, 0.5))

    def test_next_to_nothing_in_the_reference_leaves_the_median_alone(self) -> None:
        found = compare(array(1, 1, 1, 1, 1), array(1e-30, 1, 1, 1, 1), [])
        assert found.errors is not None
        assert found.errors.mean > 1e28
        assert found.errors.median == pytest.approx(0.2)


class TestWhatIsMissing:
    def test_nodes_without_a_score_in_both_are_left_out_and_counted(self) -> None:
        found = compare(array(1, NAN, 2, 3), array(1, 7, 2, NAN), [1])
        assert (found.nodes, found.left_out, found.kendall, found.errors) == (2, 2, 1, (0, 0))

    def test_what_has_no_number_has_a_word(self) -> None:
        found = compare(array(1, 1, 1), array(2, 2, 2), [])
        assert found.kendall is found.spearman is None
        assert found.remarks == (
            "all scores of the first are equal: it has no order",
            "all scores of the second are equal: it has no order",
        )

    @pytest.mark.parametrize("nodes", [0, 1])
    def test_so_it_is_with_too_few_nodes(self, nodes: int) -> None:
        found = compare(np.ones(nodes), np.ones(nodes), [])
        assert found.kendall is found.spearman is None
        assert found.errors == ((0, 0) if nodes else None)
        assert found.remarks == (f"nodes with a score in both: {nodes}, too few for an order",)

    @given(st.lists(st.tuples(any_score, any_score), max_size=12))
    def test_there_is_never_a_nan(self, pairs: list[tuple[float, float]]) -> None:
        one, other = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
        found = asdict(compare(one, other, [1, 10]))
        numbers = [*found.pop("overlap").values(), *found.values()]
        assert all(isfinite(number) for number in numbers if isinstance(number, float))

    def test_single_precision_will_do(self) -> None:
        scores = array(0.5, 0.3, 0.2)
        assert compare(scores.astype(np.float32), scores, [2]).kendall == 1
