"""A graph that changes has the outline of the graph that it has become, after every change."""

import sys
from collections.abc import Iterable, Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from minicrawl.graph import dynamic
from minicrawl.graph.all_distances import CountedA2
from minicrawl.graph.csr import Edge
from minicrawl.graph.distances import matrix_rows
from minicrawl.graph.dynamic import DynamicGraph, Mask
from minicrawl.graph.outline import Outline, extent, outline
from tests.graph.graphs import graph_of, networkx_of, nodes_and_links

MOST = 12
a_node = st.integers(0, MOST - 1)
some_edges = st.sets(st.tuples(a_node, a_node), max_size=40)


def ends_of(edges: Iterable[Edge]) -> tuple[np.ndarray, np.ndarray]:
    sources, targets = np.array([*edges], dtype=np.int64).reshape(-1, 2).T
    return sources, targets


def whole(nodes: int, edges: Iterable[Edge]) -> Outline:
    return outline(graph_of(nodes, list(edges)), np.random.default_rng(1))


def rest(is_node: Mask, edges: Iterable[Edge]) -> tuple[int, list[Edge]]:
    """Return the graph of the nodes that are left, numbered from 0."""
    number = np.cumsum(is_node) - 1
    return int(is_node.sum()), [(int(number[s]), int(number[t])) for s, t in edges]


def outlines(graphs: Sequence[DynamicGraph]) -> list[Outline]:
    return [graph.outline(extent(graph.graph, np.random.default_rng(1))) for graph in graphs]


def agrees_with_networkx(found: Outline, nodes: int, edges: Sequence[Edge]) -> None:
    graph = networkx_of(nodes, edges)
    lengths = [
        length
        for _, ends in nx.all_pairs_shortest_path_length(graph)
        for length in ends.values()
        if length
    ]
    strong = [len(part) for part in nx.strongly_connected_components(graph)]
    weak = [len(part) for part in nx.weakly_connected_components(graph)]
    assert (found.nodes, found.edges) == (nodes, graph.number_of_edges())
    assert (found.strong_components, found.largest_strong) == (len(strong), max(strong, default=0))
    assert (found.weak_components, found.largest_weak) == (len(weak), max(weak, default=0))
    assert found.dangling == sum(not degree for _, degree in graph.out_degree())
    assert found.diameter == max(lengths, default=0)
    assert found.mean_distance == (pytest.approx(np.mean(lengths)) if lengths else None)
    assert found.reciprocity == (
        pytest.approx(nx.overall_reciprocity(graph)) if graph.number_of_edges() else None
    )
    undirected = nx.Graph((one, other) for one, other in graph.edges if one != other)
    cores = nx.core_number(undirected).values()
    near = found.cohesion
    assert near is not None
    assert near.triangles == sum(nx.triangles(undirected).values()) // 3
    assert near.core == max(cores, default=0)
    assert near.core_nodes == sum(core == near.core for core in cores)
    both = ((graph.out_degree(), found.out_degrees), (graph.in_degree(), found.in_degrees))
    for degrees, counted in both:
        low = sum(degree < 20 for _, degree in degrees)
        assert next(counted.ranges())[1] == low
        assert counted.most == max((degree for _, degree in degrees), default=0)


@pytest.mark.slow
@pytest.mark.parametrize("has_scipy", [True, False])
@given(data=st.data())
def test_any_sequence_of_changes(has_scipy: bool, data: st.DataObject) -> None:
    """Links and nodes come and go, many at once or few; some nodes come back."""
    with pytest.MonkeyPatch.context() as patched:
        if not has_scipy:
            patched.setitem(sys.modules, "scipy.sparse", None)
        change_at_random(data)


def change_at_random(data: st.DataObject) -> None:
    graphs, edges = (DynamicGraph(MOST), DynamicGraph()), set[Edge]()
    is_node = np.zeros(0, dtype=np.bool_)
    for _ in range(data.draw(st.integers(1, 6))):
        is_node = np.pad(is_node, (0, data.draw(st.integers(0, MOST - len(is_node)))))
        is_node = np.array([data.draw(st.integers(0, 5)) > 0 for _ in is_node], dtype=np.bool_)
        if data.draw(st.booleans()):  # all anew
            edges = data.draw(some_edges)
        else:
            edges = edges ^ data.draw(st.sets(st.tuples(a_node, a_node), max_size=4))
        edges = {edge for edge in edges if max(edge) < len(is_node) and is_node[[*edge]].all()}
        for graph in graphs:
            graph.become(is_node, *ends_of(edges))
        nodes, left = rest(is_node, edges)
        for found in outlines(graphs):
            agrees_with_networkx(found, nodes, left)
            assert found == whole(nodes, left)


MERGING = [
    [(int(edge[0]), int(edge[1])) for edge in edges.split()]
    for edges in (
        "01 12 20 23 34 45 53 56 67 76 61",
        "01 12 23 34 45 56 67 10 32 54 76 21 43 65",
        "01 12 20 13 30 32",
    )
]
"""Links of graphs with at most 8 nodes, whose components merge in several steps."""


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(nodes_and_links())
@example((8, MERGING[0]))
@example((8, MERGING[1]))
@example((4, MERGING[2]))
def test_any_graph_after_every_edge_and_back(case: tuple[int, list[Edge]]) -> None:
    nodes, edges = case
    graphs, is_node = (DynamicGraph(nodes + 1), DynamicGraph()), np.ones(nodes, dtype=np.bool_)
    for number in range(len(edges)):
        for graph in graphs:
            graph.add(is_node, *ends_of(edges[number : number + 1]))
        assert outlines(graphs) == [whole(nodes, edges[: number + 1])] * 2
    for number in reversed(range(len(edges))):
        for graph in graphs:
            graph.become(is_node, *ends_of(edges[:number]))
        assert outlines(graphs) == [whole(nodes, edges[:number])] * 2


def test_an_empty_graph_has_an_outline() -> None:
    assert outlines([DynamicGraph(MOST), DynamicGraph()]) == [whole(0, [])] * 2


def test_distances_that_are_forgotten_are_measured_by_the_caller() -> None:
    graph = DynamicGraph(MOST)
    graph.add(np.ones(3, dtype=np.bool_), *ends_of([(0, 1)]))
    assert graph.distances is not None
    graph.distances = None
    assert graph.distances is None
    graph.add(np.ones(3, dtype=np.bool_), *ends_of([(1, 2)]))
    assert outlines([graph]) == [whole(3, [(0, 1), (1, 2)])]


def test_cohesion_of_too_many_links_is_measured_by_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dynamic, "MOST_FOLLOWED", 1)
    graph, edges = DynamicGraph(MOST), [(0, 1), (1, 2)]
    graph.add(np.ones(3, dtype=np.bool_), *ends_of(edges[:1]))
    assert graph.cohesion is not None
    graph.add(np.ones(3, dtype=np.bool_), *ends_of(edges[1:]))
    assert graph.cohesion is None
    measured = whole(3, edges).cohesion
    assert graph.outline(extent(graph.graph, np.random.default_rng(1)), measured) == whole(3, edges)


@given(nodes_and_links(), st.data())
def test_rows_of_distances_are_those_after_every_edge(
    case: tuple[int, list[Edge]], data: st.DataObject
) -> None:
    nodes, edges = case
    matrix = CountedA2(nodes)
    for edge in edges:
        matrix.add(*edge)
    sources = data.draw(st.lists(st.integers(0, max(0, nodes - 1)), unique=True, max_size=nodes))
    rows = matrix_rows(graph_of(nodes, edges), sources)
    assert rows.tolist() == matrix.distances[sources].tolist()
