"""Products of a link matrix and a vector are those of the dense matrix."""

import numpy as np
import pytest
from hypothesis import given

from minicrawl.graph import csr as module
from minicrawl.graph.csr import Adjacency
from tests.graph.graphs import graph_of, random_graph
from tests.ranks.graphs import NODES, Pairs, dense, some_links, some_weights

VECTOR = np.arange(1.0, NODES + 1)


def test_pulling_sums_over_targets_and_pushing_over_sources() -> None:
    links = Adjacency(graph_of(4, [(0, 1), (0, 3), (2, 3)]))
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    assert links.pulled(x).tolist() == [1010, 0, 1000, 0]
    assert links.pushed(x).tolist() == [0, 1, 0, 101]
    assert links.through(x).tolist() == [0, 1010, 0, 2010]


@pytest.mark.parametrize("nodes", [0, 1, 3])
def test_without_links_products_are_0(nodes: int) -> None:
    links = Adjacency(graph_of(nodes, []))
    assert links.pulled(np.ones(nodes)).tolist() == [0] * nodes
    assert links.pushed(np.ones(nodes)).tolist() == [0] * nodes


@given(some_links, some_weights)
def test_products_agree_with_the_dense_matrix(pairs: Pairs, weights: list[int]) -> None:
    graph = graph_of(NODES, pairs)
    weighed = np.array(weights[: graph.edges], dtype=np.float32)
    for chosen in (None, weighed):
        links, matrix = Adjacency(graph, chosen), dense(graph, chosen)
        assert links.pulled(VECTOR) == pytest.approx(matrix @ VECTOR)
        assert links.pushed(VECTOR) == pytest.approx(matrix.T @ VECTOR)
        assert links.through(VECTOR) == pytest.approx(matrix.T @ matrix @ VECTOR)


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_the_size_of_blocks_does_not_change_products(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    graph = random_graph(200, 600)
    weights = np.random.default_rng(2).random(graph.edges, dtype=np.float32)
    x = np.random.default_rng(3).random(graph.nodes)
    whole = Adjacency(graph, weights)
    monkeypatch.setattr(module, "_LINKS_AT_ONCE", at_once)
    parted = Adjacency(graph, weights)
    assert parted.pulled(x) == pytest.approx(whole.pulled(x))
    assert parted.pushed(x) == pytest.approx(whole.pushed(x))


@pytest.mark.parametrize("at_once", [1, 7, 100])
def test_blocks_of_some_nodes_push_their_values(
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
