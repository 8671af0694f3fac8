"""The outline of a growing graph equals the outline of the whole graph so far, after every edge."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from minicrawl.graph.csr import Edge
from minicrawl.graph.growing import GrowingGraph, GrowingInBatches
from minicrawl.graph.outline import Outline, extent, outline
from tests.graph.graphs import SMALL, graph_of, networkx_of, nodes_and_links
from tests.real_graphs import graph_in

MOST = 64


def whole(nodes: int, edges: Iterable[Edge]) -> Outline:
    return outline(graph_of(nodes, edges), np.random.default_rng(1))


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
    both = ((graph.out_degree(), found.out_degrees), (graph.in_degree(), found.in_degrees))
    for degrees, counted in both:
        low = sum(degree < 20 for _, degree in degrees)
        assert next(counted.ranges())[1] == low
        assert counted.most == max((degree for _, degree in degrees), default=0)


@settings(max_examples=30, deadline=None)
@given(nodes_and_links())
@example((8, [*SMALL["sc1"].edges]))
@example((8, [*SMALL["sc2"].edges]))
@example((4, [*SMALL["sc3"].edges]))
def test_any_graph_after_every_edge(case: tuple[int, list[Edge]]) -> None:
    edges = case[1]
    growing, batches = GrowingGraph(MOST), GrowingInBatches()
    for number, edge in enumerate(edges, 1):
        growing.nodes = max(growing.nodes, *(end + 1 for end in edge))
        growing.add(*edge)
        source, target = np.array([edge], dtype=np.int64).T
        batches.grow(growing.nodes, source, target)
        found = growing.outline()
        agrees_with_networkx(found, growing.nodes, edges[:number])
        far = extent(batches.graph, np.random.default_rng(1))
        assert batches.outline(far) == found


@pytest.mark.parametrize("has_scipy", [True, False])
@given(data=st.data())
def test_any_graph_batch_by_batch(has_scipy: bool, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patched:
        if not has_scipy:
            patched.setitem(sys.modules, "scipy.sparse", None)
        grow_by_batches(data)


def grow_by_batches(data: st.DataObject) -> None:
    growing, edges = GrowingInBatches(), list[Edge]()
    node = st.integers(0, 11)
    for batch in data.draw(st.lists(st.lists(st.tuples(node, node), max_size=15), max_size=5)):
        edges += batch
        sources, targets = np.array(batch, dtype=np.int64).reshape(-1, 2).T
        growing.grow(12, sources, targets)
        expected = whole(12, edges)
        far = extent(growing.graph, np.random.default_rng(1))
        assert growing.outline(far) == expected


def test_an_empty_graph_has_an_outline() -> None:
    assert GrowingGraph(MOST).outline() == whole(0, [])
    batches = GrowingInBatches()
    assert batches.outline(extent(batches.graph, np.random.default_rng(1))) == whole(0, [])


@pytest.mark.proof
def test_a_real_graph_in_random_order(shared_graph: Callable[[str], Path]) -> None:
    graph = graph_in(shared_graph("hollins.dat.gz"))
    order = np.random.default_rng(3).permutation(graph.edges)
    sources, targets = graph.sources()[order].astype(np.int64), graph.targets[order]
    growing = GrowingInBatches()
    for first in range(0, graph.edges, 5000):
        some = slice(first, first + 5000)
        growing.grow(graph.nodes, sources[some], targets[some].astype(np.int64))
    expected = outline(graph, np.random.default_rng(1))
    assert growing.outline(extent(graph, np.random.default_rng(1))) == expected
