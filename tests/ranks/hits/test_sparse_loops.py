"""The private loops of scipy and its public products do the same."""

import sys

import numpy as np
import pytest

from minicrawl.ranks.hits import sparse_loops
from minicrawl.ranks.hits.adjacency import Adjacency
from minicrawl.ranks.hits.sparse_loops import PUBLIC_PRODUCTS, Floats, Product
from tests.ranks.graphs import dense, random_graph

STARTS, TARGETS = np.array([0, 2, 2, 3], dtype=np.int32), np.array([0, 3, 1], dtype=np.int32)
PRIVATE_OR_PUBLIC = (sparse_loops.multiply, sparse_loops.multiply_transposed), PUBLIC_PRODUCTS


@pytest.mark.parametrize(("multiply", "multiply_transposed"), PRIVATE_OR_PUBLIC)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_products_are_added_to_what_is_there(
    multiply: Product, multiply_transposed: Product, kind: str
) -> None:
    weights: Floats = np.array([1, 2, 3], dtype=kind)
    sums: Floats = np.array([100, 100, 100], dtype=kind)
    multiply(STARTS, TARGETS, weights, np.array([1, 10, 100, 1000], dtype=kind), sums)
    assert sums.tolist() == [2101, 100, 130]
    given: Floats = np.array([100, 100, 100, 100], dtype=kind)
    multiply_transposed(STARTS, TARGETS, weights, np.array([1, 10, 100], dtype=kind), given)
    assert given.tolist() == [101, 400, 100, 102]
    assert (sums.dtype.name, given.dtype.name) == (kind, kind)


def test_a_graph_is_its_matrix_with_the_public_products_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sparse_loops, "multiply", PUBLIC_PRODUCTS[0])
    monkeypatch.setattr(sparse_loops, "multiply_transposed", PUBLIC_PRODUCTS[1])
    graph = random_graph(200, 600)
    links, matrix = Adjacency(graph), dense(graph, None)
    x = np.random.default_rng(3).random(graph.nodes)
    assert links.pulled(x) == pytest.approx(matrix @ x)
    assert links.pushed(x) == pytest.approx(matrix.T @ x)
    assert links.through(x) == pytest.approx(matrix.T @ matrix @ x)


def test_the_public_products_serve_where_scipy_has_no_such_loops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert sparse_loops._private_products() is not None
    monkeypatch.setitem(sys.modules, "scipy.sparse._sparsetools", None)
    assert sparse_loops._private_products() is None
