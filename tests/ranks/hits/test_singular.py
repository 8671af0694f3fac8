"""Pairs of authorities and hubs: the singular vectors of the link matrix."""

import numpy as np
import pytest
from hypothesis import example, given

from minicrawl.graph.csr import Adjacency
from minicrawl.opic.estimate import shares
from minicrawl.ranks.hits import Pair, chord, pairs, scores, unit
from minicrawl.ranks.scores import share_done
from tests.graph.graphs import graph_of, random_graph
from tests.ranks.graphs import NODES, Pairs, dense, some_links, some_weights

TWINS: Pairs = [(0, 1), (0, 2), (3, 4), (3, 5)]


def found_of(links: Adjacency, count: int) -> list[Pair]:
    rng = np.random.default_rng(1)
    return list(pairs(links, count, rng, tolerance=1e-9, most_steps=500))


def test_the_pairs_of_two_stars_by_hand() -> None:
    """A hub with three authorities has σ² = 3, one with two has σ² = 2."""
    links = Adjacency(graph_of(7, [(0, 1), (0, 2), (0, 3), (4, 5), (4, 6)]))
    first, second = found_of(links, 5)
    assert [first.value, second.value] == pytest.approx([3, 2])
    assert first.authorities == pytest.approx([0, *[3**-0.5] * 3, 0, 0, 0])
    assert second.authorities == pytest.approx([0, 0, 0, 0, 0, 0.5**0.5, 0.5**0.5])
    assert second.hubs == pytest.approx([0, 0, 0, 0, 1, 0, 0])


def test_a_double_eigenvalue_is_found_twice() -> None:
    found = found_of(Adjacency(graph_of(6, TWINS)), 5)
    assert [each.value for each in found] == pytest.approx([2, 2])
    assert found[0].authorities @ found[1].authorities == pytest.approx(0)


@pytest.mark.parametrize("nodes", [0, 1, 4])
def test_without_links_there_is_no_pair(nodes: int) -> None:
    assert found_of(Adjacency(graph_of(nodes, [])), 3) == []


def test_no_more_pairs_are_found_than_asked_for() -> None:
    assert len(found_of(Adjacency(random_graph(50, 200)), 2)) == 2
    assert found_of(Adjacency(random_graph(50, 200)), 0) == []


@given(some_links, some_weights)
@example([(0, 5), (1, 0), (1, 2)], [2, 1, 4])  # the first candidate is not precise enough
def test_pairs_are_singular_vectors(links_of: Pairs, weights: list[int]) -> None:
    graph = graph_of(NODES, links_of)
    weighed = np.array(weights[: graph.edges], dtype=np.float32)
    matrix = dense(graph, weighed)
    wanted = [value**2 for value in np.linalg.svd(matrix, compute_uv=False)]
    found = found_of(Adjacency(graph, weighed), NODES)
    values = [each.value for each in found]
    assert values == pytest.approx(wanted[: len(values)], abs=1e-6)
    assert wanted[len(values) :] == pytest.approx([0] * (NODES - len(values)), abs=1e-6)
    for each in found:
        assert matrix.T @ (matrix @ each.authorities) == pytest.approx(
            each.value * each.authorities, abs=1e-5 * wanted[0]
        )
        assert matrix @ each.authorities == pytest.approx(
            each.value**0.5 * each.hubs, abs=1e-5 * wanted[0]
        )
        assert each.authorities.max() >= -each.authorities.min()


def test_progress_is_the_share_of_pairs_found() -> None:
    told: list[float] = []
    links, rng = Adjacency(random_graph(50, 200)), np.random.default_rng(1)
    list(pairs(links, 4, rng, tolerance=1e-6, most_steps=100, tell=told.append))
    assert told == [0.25, 0.5, 0.75, 1.0]


def test_entries_of_one_sign_have_a_larger_error_bound() -> None:
    _, second = found_of(Adjacency(random_graph(50, 200)), 2)
    positive = np.maximum(second.authorities, 0)
    one, both = (
        scores(x, second.sine, second.steps, 1e-6) for x in (positive, np.abs(second.authorities))
    )
    assert one.values.sum() == pytest.approx(1)
    assert one.error_bound > both.error_bound


def test_shares_sum_to_one_and_units_have_length_one() -> None:
    assert shares(np.array([1.0, 3.0])).tolist() == [0.25, 0.75]
    assert unit(np.array([3.0, 4.0])).tolist() == [0.6, 0.8]
    assert unit(np.zeros(2)).tolist() == [0, 0]


def test_a_chord_is_twice_the_sine_of_half_the_angle() -> None:
    assert chord(1.0) == pytest.approx(2**0.5)
    assert chord(1e-9) == pytest.approx(1e-9)


@pytest.mark.parametrize(
    ("error", "share"), [(2.0, 0.0), (1.0, 0.0), (1e-4, 0.5), (1e-8, 1.0), (0.0, 1.0)]
)
def test_progress_counts_each_power_of_ten_alike(error: float, share: float) -> None:
    assert share_done(error, 1e-8) == pytest.approx(share)
