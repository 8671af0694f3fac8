"""A link matrix does to a vector what the matrix that is written out does."""

import numpy as np
import pytest
from hypothesis import given

from minicrawl.graph import csr as module
from minicrawl.graph.csr import Adjacency
from tests.ranks.graphs import NODES, Pairs, dense, graph_of, random_graph, some_links, some_weights

VECTOR = np.arange(1.0, NODES + 1)


def test_a_node_sums_up_what_it_links_to_and_hands_on_what_it_has() -> None:
    links = Adjacency(graph_of(4, [(0, 1), (0, 3), (2, 3)]))
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    assert links.pulled(x).tolist() == [1010, 0, 1000, 0]
    assert links.pushed(x).tolist() == [0, 1, 0, 101]
    assert links.through(x).tolist() == [0, 1010, 0, 2010]


def test_a_link_counts_by_its_weight() -> None:
    links = Adjacency(graph_of(2, [(0, 0), (0, 1)]), np.array([2, 3], dtype=np.float32))
    assert links.pulled(np.array([1.0, 1.0])).tolist() == [5, 0]
    assert links.pushed(np.array([1.0, 1.0])).tolist() == [2, 3]


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_without_links_nothing_moves(nodes: int) -> None:
    links = Adjacency(graph_of(nodes, []))
    assert links.pulled(np.ones(nodes)).tolist() == [0] * nodes
    assert links.pushed(np.ones(nodes)).tolist() == [0] * nodes


@given(some_links, some_weights)
def test_it_is_the_matrix(pairs: Pairs, weights: list[int]) -> None:
    graph = graph_of(NODES, pairs)
    weighed = np.array(weights[: graph.edges], dtype=np.float32)
    for chosen in (None, weighed):
        links, matrix = Adjacency(graph, chosen), dense(graph, chosen)
        assert links.pulled(VECTOR) == pytest.approx(matrix @ VECTOR)
        assert links.pushed(VECTOR) == pytest.approx(matrix.T @ VECTOR)
        assert links.through(VECTOR) == pytest.approx(matrix.T @ matrix @ VECTOR)


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    graph = random_graph(200, 600)
    weights = np.random.default_rng(2).random(graph.edges, dtype=np.float32)
    x = np.random.default_rng(3).random(graph.nodes)
    whole = Adjacency(graph, weights)
    monkeypatch.setattr(module, "_LINKS_AT_ONCE", at_once)
    parted = Adjacency(graph, weights)
    assert parted.pulled(x) == pytest.approx(whole.pulled(x))
    assert parted.pushed(x) == pytest.approx(whole.pushed(x))


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_some_of_the_nodes_hand_on_what_these_have(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    graph = random_graph(200, 600)
    weights = np.random.default_rng(2).random(graph.edges, dtype=np.float32)
    links, some = Adjacency(graph, weights), np.arange(0, 200, 3)
    x, sums = np.zeros((1, 200)), np.zeros((1, 200))
    x[0, some] = some + 1.0
    monkeypatch.setattr(module, "_LINKS_AT_ONCE", at_once)
    for block in links.blocks_of(some):
        links.push(block, x[:, block.nodes], sums)
    assert sums == pytest.approx(links.pushed_all(x))
