"""The n-th community, by deflation and by destroying links."""

import numpy as np
import pytest

from minicrawl.graph.csr import Csr
from minicrawl.ranks.hits import Community, by_deflation, by_destroying
from tests.graph.graphs import graph_of, random_graph
from tests.ranks.graphs import DEGENERATE, Pairs, dense

# Hub 0 has three authorities, hub 4 has two, hub 7 one.
STARS: Pairs = [(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8)]


def deflated(graph: Csr, count: int) -> list[Community]:
    return list(by_deflation(graph, count=count, rng=np.random.default_rng(1)))


def members(community: Community) -> list[int]:
    return np.flatnonzero(community.hits.authorities.values > 1e-6).tolist()


def test_deflation_finds_one_star_after_the_other() -> None:
    found = deflated(graph_of(9, STARS), 5)
    assert [(each.number, each.sign, members(each)) for each in found] == [
        (1, "+", [1, 2, 3]),
        (2, "+", [5, 6]),
        (3, "+", [8]),
    ]
    assert found[1].hits.hubs.values == pytest.approx([0, 0, 0, 0, 1, 0, 0, 0, 0])


def test_destroying_finds_one_star_after_the_other() -> None:
    found = list(by_destroying(graph_of(9, STARS), count=5))
    assert [members(each) for each in found] == [[1, 2, 3], [5, 6], [8]]
    assert [each.number for each in found] == [1, 2, 3]


def test_only_the_largest_lose_their_links() -> None:
    graph = graph_of(5, [(0, 2), (1, 2), (0, 3), (4, 3)])
    first, second = by_destroying(graph, count=2, largest=1)
    best = int(np.argmax(first.hits.authorities.values))
    assert second.hits.authorities.values[best] == 0


def test_destroying_heeds_weights() -> None:
    graph, weights = graph_of(4, [(0, 1), (2, 3)]), np.array([1, 5], dtype=np.float32)
    found = list(by_destroying(graph, weights, count=2))
    assert [members(each) for each in found] == [[3], [1]]


def test_either_sign_of_an_eigenvector_is_a_community() -> None:
    """Two communities that share the hub 4: the second vector tells them apart."""
    graph = graph_of(8, [(0, 1), (0, 2), (4, 1), (4, 2), (4, 5), (4, 6), (7, 5), (7, 6)])
    first, plus, minus = deflated(graph, 2)
    assert members(first) == [1, 2, 5, 6]
    assert (plus.number, plus.sign, minus.number, minus.sign) == (2, "+", 2, "-")
    assert sorted([members(plus), members(minus)]) == [[1, 2], [5, 6]]


def test_communities_are_the_eigenvectors_that_numpy_finds() -> None:
    graph = random_graph(60, 240)
    vectors = np.linalg.svd(dense(graph))[2]
    found = deflated(graph, 3)
    assert [each.number for each in found] == [1, 2, 2, 3, 3]
    for each in found:
        vector = vectors[each.number - 1]
        # An eigenvector has no sign of its own: "+" is the sign of its largest entry.
        is_turned = (vector[np.abs(vector).argmax()] < 0) == (each.sign == "+")
        part = np.maximum(-vector if is_turned else vector, 0)
        assert each.hits.authorities.values == pytest.approx(part / part.sum(), abs=1e-5)
        assert each.hits.converged


@pytest.mark.parametrize("name", DEGENERATE)
def test_scores_of_communities_sum_to_1_in_any_graph(name: str) -> None:
    graph = graph_of(*DEGENERATE[name])
    for found in (deflated(graph, 3), list(by_destroying(graph, count=3))):
        assert bool(found) == bool(graph.edges)
        for each in found:
            assert each.hits.authorities.values.sum() == pytest.approx(1)
            assert each.hits.hubs.values.sum() == pytest.approx(1)


def test_progress_is_the_share_of_communities_found() -> None:
    graph, told = random_graph(60, 240), list[float]()
    list(by_destroying(graph, count=2, tell=told.append))
    list(by_deflation(graph, count=2, rng=np.random.default_rng(1), tell=told.append))
    assert told == [0.5, 1.0, 0.5, 1.0]
