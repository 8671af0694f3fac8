"""Every dynamic algorithm agrees with networkx after every edge."""

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from minicrawl.graph.csr import Edge
from minicrawl.graph.distances import FAR
from minicrawl.graph.growing_components import Levels
from minicrawl.lab.dynamic_graphs.by_name import (
    ALGORITHMS,
    AlgorithmKind,
    DynamicAlgorithm,
    algorithm,
)
from minicrawl.lab.dynamic_graphs.recomputed import Tarjan
from minicrawl.lab.dynamic_graphs.suite import (
    SUITE,
    complete,
    random_edges,
    roads,
    solved,
    staged,
)
from tests.graph.graphs import networkx_of

SMALL = [*SUITE["sc1"]().edges], [*SUITE["sc2"]().edges], [*SUITE["sc3"]().edges]


def oracle(nodes: int, edges: Sequence[Edge], kind: AlgorithmKind) -> NDArray[np.integer]:
    graph = networkx_of(nodes, edges)
    if kind is AlgorithmKind.COMPONENTS:
        first = {
            page: min(part) for part in nx.strongly_connected_components(graph) for page in part
        }
        return np.array([first[page] for page in range(nodes)])
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    return np.array([[lengths[a].get(b, FAR) for b in range(nodes)] for a in range(nodes)])


def check_batches(found: DynamicAlgorithm, nodes: int, edges: Sequence[Edge], size: int) -> None:
    """Compare the answer with the oracle after each batch of `size` edges."""
    state = found.make(nodes)
    for first in range(0, len(edges), size):
        so_far = edges[: first + size]
        found.insert(state, so_far[first:])
        expected = oracle(nodes, so_far, found.kind)
        assert np.array_equal(found.answer(state), expected), (found.name, so_far)


every = pytest.mark.parametrize("found", ALGORITHMS.values(), ids=list(ALGORITHMS))


@every
@pytest.mark.parametrize("edges", SMALL)
def test_small_graphs_edge_by_edge(found: DynamicAlgorithm, edges: Sequence[Edge]) -> None:
    check_batches(found, 8, edges, 1)


@every
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_graph_batch_by_batch(found: DynamicAlgorithm, data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 9))
    page = st.integers(0, nodes - 1)
    edges = data.draw(st.lists(st.tuples(page, page), max_size=25))
    check_batches(found, nodes, edges, data.draw(st.integers(1, 12)))


@every
def test_a_graph_that_forces_many_changes(found: DynamicAlgorithm) -> None:
    graph = staged(6)
    check_batches(found, graph.nodes, graph.edges, 1)


def test_components_of_a_larger_graph_edge_by_edge() -> None:
    """A level has so many edges that a search backwards gives up and raises its target."""
    graph = random_edges(400, 1200, seed=2)
    levels, tarjan = Levels(graph.nodes), Tarjan(graph.nodes)
    for edge in graph.edges:
        levels.add(*edge)
        tarjan.add(*edge)
        assert np.array_equal(levels.components, tarjan.components)
    # Otherwise the edges would have tested nothing.
    assert max(levels._level) > 2


def test_a_solved_graph_has_its_distances_and_components() -> None:
    graph = SUITE["sc2"]()
    found = solved(graph)
    assert found.graph == graph
    for answer, kind in (
        (found.distances, AlgorithmKind.DISTANCES),
        (found.components, AlgorithmKind.COMPONENTS),
    ):
        assert np.array_equal(answer, oracle(graph.nodes, graph.edges, kind))


def test_algorithms_have_names_and_numbers() -> None:
    assert algorithm("1") is algorithm("floyd-warshall")
    assert algorithm(str(len(ALGORITHMS))) is list(ALGORITHMS.values())[-1]
    for name in ("0", str(len(ALGORITHMS) + 1), "a5", "-1", "9" * 5000):
        with pytest.raises(KeyError):
            algorithm(name)


def test_generated_graphs_are_reproducible() -> None:
    assert random_edges(9, 20).edges == random_edges(9, 20).edges
    assert len(random_edges(3, 100).edges) == 6
    assert roads("x", 2, 2, 4) == roads("x", 2, 2, 4)


def test_streets_of_a_grid_join_neighbours_both_ways() -> None:
    streets = roads("town", width=4, height=3, edges=20)
    assert streets.nodes == 12
    assert len(set(streets.edges)) == 20
    assert {(end, start) for start, end in streets.edges} == set(streets.edges)
    assert {abs(start - end) for start, end in streets.edges} == {1, 4}
    assert all(abs(start - end) == 4 or start // 4 == end // 4 for start, end in streets.edges)
    assert streets.density == 20 / (12 * 11)
    assert complete(5).density == 1
