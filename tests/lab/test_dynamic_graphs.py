"""Every dynamic algorithm agrees with networkx after every edge."""

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.graph.distances import FAR
from minicrawl.graph.growing import Levels, UnionFind
from minicrawl.graph.synthetic import SUITE, Edge, random_edges, staged
from minicrawl.lab.dynamic_graphs import (
    ALGORITHMS,
    AlgorithmKind,
    DynamicAlgorithm,
    Tarjan,
    algorithm,
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


def check_edge_by_edge(found: DynamicAlgorithm, nodes: int, edges: Sequence[Edge]) -> None:
    state = found.make(nodes)
    for number, edge in enumerate(edges, 1):
        found.insert(state, [edge])
        expected = oracle(nodes, edges[:number], found.kind)
        assert np.array_equal(found.answer(state), expected), (found.name, edges[:number])


every = pytest.mark.parametrize("found", ALGORITHMS.values(), ids=list(ALGORITHMS))


@every
@pytest.mark.parametrize("edges", SMALL)
def test_small_graphs_edge_by_edge(found: DynamicAlgorithm, edges: Sequence[Edge]) -> None:
    check_edge_by_edge(found, 8, edges)


@every
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_graph_edge_by_edge(found: DynamicAlgorithm, data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 9))
    page = st.integers(0, nodes - 1)
    edges = data.draw(st.lists(st.tuples(page, page), max_size=25))
    check_edge_by_edge(found, nodes, edges)


@every
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_graph_batch_by_batch(found: DynamicAlgorithm, data: st.DataObject) -> None:
    page = st.integers(0, 7)
    batches = data.draw(st.lists(st.lists(st.tuples(page, page), max_size=12), max_size=4))
    state = found.make(8)
    so_far: list[Edge] = []
    for batch in batches:
        found.insert(state, batch)
        so_far += batch
        assert np.array_equal(found.answer(state), oracle(8, so_far, found.kind))


@every
def test_a_graph_that_forces_many_changes(found: DynamicAlgorithm) -> None:
    graph = staged(6)
    state = found.make(graph.nodes)
    for edge in graph.edges:
        found.insert(state, [edge])
    expected = oracle(graph.nodes, graph.edges, found.kind)
    assert np.array_equal(found.answer(state), expected)


def test_components_of_a_larger_graph_edge_by_edge() -> None:
    """A level has so many edges that a search backwards gives up and raises its target."""
    graph = random_edges(400, 1200, seed=2)
    levels, tarjan = Levels(graph.nodes), Tarjan(graph.nodes)
    for edge in graph.edges:
        levels.add(*edge)
        tarjan.add(*edge)
        assert np.array_equal(levels.components, tarjan.components)
    assert max(levels._level) > 2


def test_an_edge_between_far_pages_by_hand() -> None:
    found = algorithm("a2")
    state = found.make(4)
    found.insert(state, [(0, 1), (1, 2), (2, 3)])
    assert state.distances.tolist()[0] == [0, 1, 2, 3]
    found.insert(state, [(0, 3)])
    assert state.distances.tolist() == [
        [0, 1, 2, 1],
        [FAR, 0, 1, 2],
        [FAR, FAR, 0, 1],
        [FAR] * 3 + [0],
    ]


def test_algorithms_have_names_and_numbers() -> None:
    assert algorithm("1") is algorithm("floyd-warshall")
    assert algorithm(str(len(ALGORITHMS))) is list(ALGORITHMS.values())[-1]
    for name in ("0", str(len(ALGORITHMS) + 1), "a5", "-1", "9" * 5000):
        with pytest.raises(KeyError):
            algorithm(name)


def test_merging_counts_components() -> None:
    merged = UnionFind(4)
    assert merged.merge(3, 1) == 1
    assert merged.merge(1, 3) == 1
    assert merged.count == 3
    assert merged.labels().tolist() == [0, 1, 2, 1]
