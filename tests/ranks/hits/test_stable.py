"""Randomised and subspace HITS: a limit with an error bound that a few links do not overturn."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from minicrawl.opic.estimate import shares
from minicrawl.ranks.hits import MOST_DIMENSIONS, Hits, hits, randomised, subspace
from minicrawl.ranks.scores import FURTHEST
from tests.graph.graphs import graph_of, random_graph
from tests.ranks.graphs import (
    DEGENERATE,
    NODES,
    Matrix,
    Pairs,
    dense,
    fixpoint,
    some_links,
    some_weights,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def one_way(matrix: Matrix, restart: float) -> Matrix:
    """Transition matrix of the surfer along the links of `matrix`."""
    out = matrix.sum(axis=1, keepdims=True)
    moves = np.where(out > 0, matrix / np.where(out > 0, out, 1), 1 / len(matrix))
    return (1 - restart) * moves + restart / len(matrix)


class TestRandomised:
    def test_a_star_by_hand(self) -> None:
        """Two pages link to 0. Forward from h: a0 = ε/3 + (1 − ε)(h1 + h2 + h0/3)."""
        found = randomised(graph_of(3, [(1, 0), (2, 0)]), restart=0.5, tolerance=1e-12)
        a, h = found.authorities.values, found.hubs.values
        assert a[0] == pytest.approx(0.5 / 3 + 0.5 * (h[1] + h[2] + h[0] / 3))
        assert a[1] == pytest.approx(0.5 / 3 + 0.5 * h[0] / 3)
        assert h[1] == pytest.approx(0.5 / 3 + 0.5 * (a[0] / 2 + (a[1] + a[2]) / 3))

    @given(some_links, some_weights, st.sampled_from([0.05, 0.3, 1.0]))
    def test_authorities_are_the_stationary_distribution_of_the_surfer(
        self, pairs: Pairs, weights: list[int], restart: float
    ) -> None:
        graph = graph_of(NODES, pairs)
        weighed = np.array(weights[: graph.edges], dtype=np.float32)
        matrix = dense(graph, weighed)
        there, back = one_way(matrix, restart), one_way(matrix.T, restart)
        wanted = fixpoint(back @ there)
        found = randomised(graph, weighed, restart=restart)
        assert found.converged
        assert found.authorities.values == pytest.approx(wanted, abs=1e-7)
        assert found.hubs.values == pytest.approx(wanted @ back, abs=1e-7)

    @given(st.integers(0, 50), st.sampled_from([1e-1, 1e-3]))
    def test_the_error_bound_holds(self, seed: int, tolerance: float) -> None:
        graph = random_graph(30, 60, seed)
        rough = randomised(graph, restart=0.1, tolerance=tolerance)
        fine = randomised(graph, restart=0.1, tolerance=1e-13)
        for one, other in ((rough.authorities, fine.authorities), (rough.hubs, fine.hubs)):
            assert np.abs(one.values - other.values).sum() <= one.error_bound <= tolerance

    def test_few_iterations_claim_no_convergence(self) -> None:
        found = randomised(random_graph(30, 60), most_iterations=2)
        assert found.authorities.iterations == 2
        assert not found.converged

    @pytest.mark.parametrize("restart", [0.0, -0.1, 1.1, float("nan")])
    def test_a_probability_out_of_range_is_refused(self, restart: float) -> None:
        with pytest.raises(UsageError, match=f"above 0 and at most 1, not {restart}"):
            randomised(random_graph(5, 5), restart=restart)


class TestSubspace:
    def test_one_dimension_is_hits_squared(self) -> None:
        graph = random_graph(100, 500)
        found = subspace(graph, rng=rng(), size=1)
        wanted = shares(np.asarray(hits(graph).authorities.values, dtype=np.float64) ** 2)
        assert found.converged
        assert found.authorities.values == pytest.approx(wanted, abs=1e-9)

    def test_stars_share_by_the_squares_of_their_eigenvalues(self) -> None:
        """Stars of 3 and of 2 pages have σ² = 3 and 2, so they share as 9 to 4."""
        graph = graph_of(7, [(0, 1), (0, 2), (0, 3), (4, 5), (4, 6)])
        found = subspace(graph, rng=rng(), size=2)
        assert found.authorities.values == pytest.approx([0, *[3 / 13] * 3, 0, 2 / 13, 2 / 13])
        assert found.hubs.values == pytest.approx([9 / 13, 0, 0, 0, 4 / 13, 0, 0])

    @given(some_links, some_weights, st.integers(1, NODES))
    def test_scores_agree_with_the_singular_vectors(
        self, pairs: Pairs, weights: list[int], size: int
    ) -> None:
        graph = graph_of(NODES, pairs)
        weighed = np.array(weights[: graph.edges], dtype=np.float32)
        found = subspace(graph, weighed, rng=rng(), size=size)
        assert found.authorities.values.sum() == pytest.approx(1)
        _, values, rows = np.linalg.svd(dense(graph, weighed))
        if pairs and found.converged:
            wanted = (values[:size, None] ** 4 * rows[:size] ** 2).sum(axis=0)
            assert found.authorities.values == pytest.approx(shares(wanted), abs=1e-6)

    def test_an_ambiguous_subspace_claims_no_convergence(self) -> None:
        twins = graph_of(4, [(0, 1), (2, 3)])
        found = subspace(twins, rng=rng(), size=1)
        assert found.authorities.error_bound == FURTHEST
        assert not found.converged
        assert subspace(twins, rng=rng(), size=2).converged

    def test_more_dimensions_than_the_rank_give_the_whole_space(self) -> None:
        """In the whole space authorities are the diagonal of (AᵀA)²."""
        graph = graph_of(7, [(0, 1), (0, 2), (0, 3), (4, 5), (4, 6)])
        found = subspace(graph, rng=rng(), size=MOST_DIMENSIONS)
        links = dense(graph, np.ones(graph.edges, dtype=np.float32))
        wanted = np.diag(np.linalg.matrix_power(links.T @ links, 2))
        assert found.converged
        assert found.authorities.values == pytest.approx(shares(wanted))

    @pytest.mark.parametrize("size", [0, 101, 999_999])
    def test_a_number_of_dimensions_out_of_range_is_refused(self, size: int) -> None:
        with pytest.raises(UsageError, match=f"1 to 100 dimensions, not {size}"):
            subspace(random_graph(5, 5), rng=rng(), size=size)


def by_subspace(graph: Csr) -> Hits:
    return subspace(graph, rng=rng())


@pytest.mark.parametrize("form", [randomised, by_subspace])
@pytest.mark.parametrize("name", DEGENERATE)
def test_scores_sum_to_one_in_any_graph(form: Callable[[Csr], Hits], name: str) -> None:
    graph = graph_of(*DEGENERATE[name])
    for scores in (form(graph).authorities, form(graph).hubs):
        assert np.isfinite(scores.values).all()
        assert scores.values.sum() == pytest.approx(1 if graph.nodes else 0)


def distance(form: Callable[[Csr], Hits], graph: Csr, other: Csr) -> float:
    one: Matrix = form(graph).authorities.values.astype(np.float64)
    return float(np.abs(one - form(other).authorities.values).sum())


def test_a_link_that_overturns_hits_does_not_overturn_the_stable_forms() -> None:
    """One link decides which of two communities is the larger."""
    small = [(hub, 10 + page) for hub in range(5) for page in range(5)]
    large = [(20 + hub, 30 + page) for hub in range(5) for page in range(5)]
    one = graph_of(40, [*small[:-1], *large])
    other = graph_of(40, [*small, *large[:-1]])
    assert distance(hits, one, other) == pytest.approx(FURTHEST)
    assert distance(randomised, one, other) < 0.2
    assert distance(by_subspace, one, other) < 0.4


def test_on_a_real_graph_all_forms_converge(shared_graph: Callable[[str], Path]) -> None:
    graph = read(shared_graph("california.txt.gz")).graph
    for form in (hits, randomised, by_subspace):
        assert form(graph).authorities.values.sum() == pytest.approx(1)
        assert form(graph).converged
