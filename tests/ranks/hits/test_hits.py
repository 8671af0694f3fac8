"""HITS gives the numbers of the literature, and its error bounds hold."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from minicrawl.opic.estimate import shares
from minicrawl.ranks.hits import Hits, hits, textbook, unit
from tests.graph.graphs import graph_of, random_graph
from tests.ranks.graphs import DEGENERATE, NODES, Pairs, dense, some_links, some_weights

# q1, q2, q3, p1, p2: edges q1→p1, q1→p2, q2→p1, q3→p1, q3→p2, p1→q1
KLEINBERGS = graph_of(5, [(0, 3), (0, 4), (1, 3), (2, 3), (2, 4), (3, 0)])
TYRANNY: Pairs = [(1, 4), (2, 4), (3, 4), (2, 5), (6, 8), (7, 8)]


def unit_vectors(found: Hits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return unit(found.authorities.values), unit(found.hubs.values)


def truth(graph: Csr, weights: NDArray[np.float32] | None = None) -> NDArray[np.float64]:
    """Limit of HITS: the projection of the in-degrees onto the leading eigenvectors."""
    matrix = dense(graph, weights)
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    best = vectors[:, values > values[-1] * (1 - 1e-9)]
    limit: NDArray[np.float64] = np.abs(best @ (best.T @ matrix.sum(axis=0)))
    return limit


class TestWorkedNumbers:
    @pytest.mark.parametrize(
        ("rounds", "authorities", "hubs"),
        [
            (1, [0.801784, 0.534522, 0.267261], [0.645497, 0.387298, 0.129099]),
            (2, [0.791155, 0.608581, 0.060858], [0.656340, 0.370975, 0.028537]),
            (5, [0.788209, 0.615407, 0.000642], [0.657192, 0.369050, 0.000301]),
        ],
    )
    def test_after_some_rounds(
        self, rounds: int, authorities: list[float], hubs: list[float]
    ) -> None:
        a, h = unit_vectors(textbook(KLEINBERGS, rounds=rounds))
        assert a[[3, 4, 0]] == pytest.approx(authorities, abs=5e-7)
        assert h[[0, 1, 3]] == pytest.approx(hubs, abs=5e-7)
        assert h[0] == pytest.approx(h[2])

    def test_the_tyranny_of_the_majority(self) -> None:
        a, h = unit_vectors(hits(graph_of(9, TYRANNY)))
        assert a == pytest.approx([0, 0, 0, 0, 0.9239, 0.3827, 0, 0, 0], abs=5e-5)
        assert h == pytest.approx([0, 0.5, 0.7071, 0.5, 0, 0, 0, 0, 0], abs=5e-5)

    def test_a_bridge_ends_the_tyranny(self) -> None:
        a, h = unit_vectors(hits(graph_of(10, [*TYRANNY, (9, 4), (9, 8)])))
        assert a[[4, 5, 8]] == pytest.approx([0.8535, 0.2238, 0.4706], abs=5e-5)
        assert h[[1, 2, 3, 6, 7, 9]] == pytest.approx(
            [0.3890, 0.4910, 0.3890, 0.2145, 0.2145, 0.6035], abs=5e-5
        )


class TestLimit:
    @given(some_links, some_weights)
    def test_authorities_are_the_leading_eigenvector(
        self, pairs: Pairs, weights: list[int]
    ) -> None:
        graph = graph_of(NODES, pairs)
        weighed = np.array(weights[: graph.edges], dtype=np.float32)
        for chosen in (None, weighed):
            found = hits(graph, chosen)
            wanted = shares(truth(graph, chosen)) if pairs else np.full(NODES, 1 / NODES)
            assert found.authorities.values == pytest.approx(wanted, abs=1e-7)

    @pytest.mark.parametrize("name", DEGENERATE)
    def test_scores_sum_to_one_in_any_graph(self, name: str) -> None:
        graph = graph_of(*DEGENERATE[name])
        for found in (hits(graph), textbook(graph, rounds=60)):
            for scores in (found.authorities, found.hubs):
                assert np.isfinite(scores.values).all()
                assert (scores.values >= 0).all()
                assert scores.values.sum() == pytest.approx(1 if graph.nodes else 0)
        assert hits(graph).converged

    def test_without_links_all_scores_are_equal(self) -> None:
        assert hits(graph_of(4, [])).hubs.values.tolist() == [0.25] * 4
        assert textbook(graph_of(4, []), rounds=1).authorities.values.tolist() == [0.25] * 4

    def test_many_rounds_reach_the_limit(self) -> None:
        graph = random_graph(300, 1500)
        limit, rounds = hits(graph), textbook(graph, rounds=300)
        assert limit.converged
        assert rounds.authorities.values == pytest.approx(limit.authorities.values, abs=1e-9)
        assert rounds.hubs.values == pytest.approx(limit.hubs.values, abs=1e-9)


class TestErrors:
    @given(st.integers(0, 200), st.sampled_from([1e-2, 1e-5, 1e-9]))
    def test_the_error_is_below_its_bound_and_what_was_asked_for(
        self, seed: int, tolerance: float
    ) -> None:
        graph = random_graph(60, 240, seed)
        found = hits(graph, tolerance=tolerance)
        error = np.abs(found.authorities.values - shares(truth(graph))).sum()
        assert error <= found.authorities.error_bound + 1e-12
        assert found.authorities.error_bound <= tolerance
        assert found.converged

    def test_few_steps_claim_no_convergence(self) -> None:
        found = hits(random_graph(300, 1500), most_steps=2)
        assert found.authorities.iterations == 2
        assert found.authorities.error_bound > 1e-3
        assert not found.converged

    def test_an_error_of_0_is_never_claimed(self) -> None:
        found = hits(KLEINBERGS, tolerance=0.0)
        assert 0 < found.hubs.error_bound < 1e-12
        assert not found.converged

    def test_rounds_claim_no_error_bound(self) -> None:
        found = textbook(KLEINBERGS, rounds=60)
        assert found.authorities.error_bound == found.hubs.error_bound == np.inf
        assert not found.converged

    @pytest.mark.parametrize("rounds", [0, -1])
    def test_no_rounds_are_refused(self, rounds: int) -> None:
        with pytest.raises(UsageError, match=f"at least 1 round, not {rounds}"):
            textbook(KLEINBERGS, rounds=rounds)


class TestProgress:
    def test_progress_begins_at_0_and_ends_near_1(self) -> None:
        told: list[float] = []
        hits(random_graph(300, 1500), tell=told.append)
        assert told[0] == 0.0
        assert told[-1] > 0.8

    def test_progress_of_rounds_is_their_share(self) -> None:
        told: list[float] = []
        textbook(KLEINBERGS, rounds=4, tell=told.append)
        assert told == [0.25, 0.5, 0.75, 1.0]


class TestRealGraphs:
    def test_both_methods_agree(self, shared_graph: Callable[[str], Path]) -> None:
        graph = read(shared_graph("wiki-Vote.txt.gz")).graph
        limit, rounds = hits(graph), textbook(graph, rounds=60)
        assert limit.converged
        for one, other in ((limit.authorities, rounds.authorities), (limit.hubs, rounds.hubs)):
            assert np.abs(one.values - other.values).sum() < one.error_bound + 1e-9
