"""A node's share of all links."""

import numpy as np
import pytest
from hypothesis import given

from minicrawl.ranks.centrality import Direction, degree
from tests.graph.graphs import graph_of, networkx_of
from tests.ranks.graphs import NODES, Pairs, some_links


def test_a_nodes_score_is_its_share_of_all_links() -> None:
    graph = graph_of(3, [(0, 1), (2, 1), (0, 2), (1, 1)])
    assert degree(graph).values.tolist() == [0, 0.75, 0.25]
    assert degree(graph, direction=Direction.OUT).values.tolist() == [0.5, 0.25, 0.25]


def test_a_link_counts_by_its_weight() -> None:
    graph, weights = graph_of(3, [(0, 1), (0, 2)]), np.array([3, 1], dtype=np.float32)
    assert degree(graph, weights).values.tolist() == [0, 0.75, 0.25]
    assert degree(graph, weights, direction=Direction.OUT).values.tolist() == [1, 0, 0]


def test_without_links_all_scores_are_equal() -> None:
    assert degree(graph_of(4, [])).values.tolist() == [0.25] * 4


def test_without_nodes_there_are_no_scores() -> None:
    assert degree(graph_of(0, [])).values.tolist() == []


def test_a_degree_is_exact_without_iterations() -> None:
    found = degree(graph_of(2, [(0, 1)]))
    assert (found.iterations, found.error_bound, found.converged) == (0, 0.0, True)


@given(some_links.filter(bool))
def test_degrees_agree_with_networkx(pairs: Pairs) -> None:
    oracle, graph = networkx_of(NODES, pairs), graph_of(NODES, pairs)
    both = ((Direction.IN, oracle.in_degree), (Direction.OUT, oracle.out_degree))
    for direction, degrees in both:
        wanted = [degrees(node) / len(pairs) for node in range(NODES)]
        assert degree(graph, direction=direction).values.tolist() == pytest.approx(wanted)
