"""Agreement of a rank with the grades that people gave."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from minicrawl.graph.csr import Vector
from minicrawl.ranks.scores import (
    GRADES,
    Ints,
    agreement,
    beside_mean,
    graded,
    mean_grades,
)

judgements = st.lists(st.tuples(st.integers(0, 9), st.integers(1, GRADES)), min_size=1)


def scored(*scores: float) -> Vector:
    return np.array(scores, dtype=np.float64)


def judged(*grades: int) -> Ints:
    return np.array(grades)


def test_a_rank_gives_each_grade_as_often_as_people_did() -> None:
    assert graded(scored(0.1, 0.5, 0.2, 0.4), judged(4, 1, 1, 2)).tolist() == [1, 4, 1, 2]


def test_of_equal_scores_the_first_gets_the_better_grade() -> None:
    for grades in (judged(1, 2, 3, 4), judged(4, 3, 2, 1)):
        assert graded(scored(5, 5, 5, 5), grades).tolist() == [4, 3, 2, 1]


def test_a_rank_in_the_order_of_the_grades_agrees_fully() -> None:
    grades = judged(1, 2, 3, 4, 4)
    found = agreement(scored(0.1, 0.2, 0.3, 0.4, 0.5), grades)
    assert (found.judged, found.equal, found.within_one, found.remarks) == (5, 1, 1, ())
    assert found.by_chance == pytest.approx((1 + 1 + 1 + 4) / 25)
    assert found.spearman == pytest.approx(spearmanr([1, 2, 3, 4, 5], grades).statistic)


def test_a_reversed_rank_disagrees() -> None:
    found = agreement(scored(4, 3, 2, 1), judged(1, 2, 3, 4))
    assert (found.equal, found.within_one, found.spearman) == (0, 0.5, -1)


def test_the_table_has_a_row_for_each_grade_of_people() -> None:
    found = agreement(scored(9, 8, 7, 6, 5), judged(4, 1, 3, 3, 1))
    assert found.table == ((1, 0, 1, 0), (0, 0, 0, 0), (1, 0, 1, 0), (0, 0, 0, 1))
    assert found.equal == 3 / 5


def test_grade_1_may_be_the_best() -> None:
    found = agreement(scored(9, 8, 7), judged(1, 1, 4), best=1)
    assert (found.equal, found.table[0][0], found.table[3][3]) == (1, 2, 1)
    assert found.spearman == pytest.approx(spearmanr([9, 8, 7], [4, 4, 1]).statistic)


def test_nodes_with_equal_scores_and_different_grades_are_counted() -> None:
    found = agreement(scored(3, 2, 2, 2, 1, 1), judged(4, 4, 3, 3, 1, 1))
    (remark,) = found.remarks
    assert remark.endswith(" 3")


@pytest.mark.parametrize("nodes", [1, 3])
def test_equal_scores_have_no_order(nodes: int) -> None:
    found = agreement(np.ones(nodes), np.full(nodes, 2))
    assert (found.spearman, len(found.remarks)) == (None, 1)


@given(judgements)
def test_a_better_score_never_gets_a_worse_grade(rows: list[tuple[int, int]]) -> None:
    scores, grades = np.array(rows).T
    cut = graded(scores.astype(np.float64), grades)
    assert sorted(cut) == sorted(grades)
    for one in range(len(rows)):
        assert all(cut[scores < scores[one]] <= cut[one])


@given(judgements, st.sampled_from([1, GRADES]))
def test_the_table_agrees_with_the_shares(rows: list[tuple[int, int]], best: int) -> None:
    scores, grades = np.array(rows).T
    found = agreement(scores.astype(np.float64), grades, best=best)
    table = np.array(found.table)
    assert table.sum(axis=0).tolist() == table.sum(axis=1).tolist()
    assert table.sum() == found.judged == len(rows)
    assert np.trace(table) / len(rows) == pytest.approx(found.equal)
    near = sum(np.trace(table, offset) for offset in (-1, 0, 1))
    assert near / len(rows) == pytest.approx(found.within_one)


NONE = float("nan")


def test_the_grade_of_several_judges_is_their_mean_and_a_half_is_rounded_up() -> None:
    grades = np.array([[4, 3, 3], [1, 2, NONE], [NONE, NONE, 2], [1, 1, 2]])
    assert mean_grades(grades).tolist() == [3, 2, 2, 1]


def test_each_judge_is_compared_with_the_mean_of_all() -> None:
    # The means 2, 7/3, 11/3 and 1.5 become the grades 2, 2, 4 and 2.
    grades = np.array([[1, 2, 3], [2, 2, 3], [4, 4, 3], [1, 2, NONE]])
    strict, middle, kind = beside_mean(grades)
    assert strict is not None
    assert middle is not None
    assert kind is not None
    assert (strict.judged, strict.equal, strict.within_one) == (4, 2 / 4, 1)
    assert (middle.judged, middle.equal, middle.spearman) == (4, 1, 1)
    assert (kind.judged, kind.equal, kind.within_one, kind.spearman) == (3, 0, 1, None)


def test_a_judge_without_grades_is_not_compared() -> None:
    assert beside_mean(np.array([[1.0, NONE], [2.0, NONE]]))[1] is None


@given(
    st.integers(1, 4).flatmap(
        lambda judges: st.lists(
            st.lists(st.integers(1, GRADES), min_size=judges, max_size=judges), min_size=2
        )
    )
)
def test_the_agreement_of_judges_with_the_mean_is_counted(rows: list[list[int]]) -> None:
    means = [int(sum(row) / len(row) + 0.5) for row in rows]
    for judge, found in enumerate(beside_mean(np.array(rows, dtype=np.float64))):
        assert found is not None
        own = [row[judge] for row in rows]
        apart = [abs(one - other) for one, other in zip(own, means, strict=True)]
        assert found.equal == pytest.approx(apart.count(0) / len(rows))
        assert found.within_one == pytest.approx(sum(each <= 1 for each in apart) / len(rows))
        if len({*own}) > 1 and len({*means}) > 1:
            assert found.spearman == pytest.approx(spearmanr(own, means).statistic)
        else:
            assert found.spearman is None
