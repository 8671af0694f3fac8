"""Shares of all links."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr
from minicrawl.ranks.centrality import Direction, degree

NODES = 5


def graph_of(nodes: int, pairs: list[tuple[int, int]]) -> Csr:
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Csr.from_edges(nodes, ends[:, 0], ends[:, 1])


def test_a_nodes_score_is_its_share_of_all_links() -> None:
    graph = graph_of(3, [(0, 1), (2, 1), (0, 2), (1, 1)])
    assert degree(graph).values.tolist() == [0, 0.75, 0.25]
    assert degree(graph, direction=Direction.OUT).values.tolist() == [0.5, 0.25, 0.25]


def test_a_link_counts_by_its_weight() -> None:
    graph, weights = graph_of(3, [(0, 1), (0, 2)]), np.array([3, 1], dtype=np.float32)
    assert degree(graph, weights).values.tolist() == [0, 0.75, 0.25]
    assert degree(graph, weights, direction=Direction.OUT).values.tolist() == [1, 0, 0]


def test_without_links_all_are_alike() -> None:
    assert degree(graph_of(4, [])).values.tolist() == [0.25] * 4


def test_without_nodes_there_are_no_scores() -> None:
    assert degree(graph_of(0, [])).values.tolist() == []


def test_counting_is_exact() -> None:
    found = degree(graph_of(2, [(0, 1)]))
    assert (found.iterations, found.error_bound, found.converged) == (0, 0.0, True)


@given(st.sets(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), min_size=1))
def test_it_counts_as_networkx_does(pairs: set[tuple[int, int]]) -> None:
    oracle = networkx.DiGraph()
    oracle.add_nodes_from(range(NODES))
    oracle.add_edges_from(pairs)
    graph = graph_of(NODES, sorted(pairs))
    for direction, degrees in (
        (Direction.IN, oracle.in_degree),
        (Direction.OUT, oracle.out_degree),
    ):
        wanted = [degrees(node) / len(pairs) for node in range(NODES)]
        assert degree(graph, direction=direction).values.tolist() == pytest.approx(wanted)
