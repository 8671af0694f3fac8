"""Private loops of scipy, and their replacement, agree with numpy."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import (
    Adjacency,
    AnyFloats,
    RowProducts,
    WeightedRows,
    by_counting,
    row_products,
)
from tests.graph.graphs import graph_of
from tests.ranks.graphs import NODES, Pairs, dense, some_links

WAYS = [row_products(), by_counting()]


@given(some_links, st.sampled_from(WAYS), st.sampled_from([np.float32, np.float64]))
def test_products_with_the_matrix_are_added(
    pairs: Pairs, products: RowProducts, precision: type[np.float32 | np.float64]
) -> None:
    graph = graph_of(NODES, pairs)
    weights: AnyFloats = np.arange(1, graph.edges + 1).astype(precision)
    rows = WeightedRows(graph.starts.astype(np.int32), graph.targets, weights)
    matrix = dense(graph, weights.astype(np.float32))
    x: AnyFloats = np.arange(NODES).astype(precision)
    before: AnyFloats = np.full(NODES, 3).astype(precision)
    gathered, scattered = before.copy(), before.copy()
    products.gather(rows, x, gathered)
    products.scatter(rows, x, scattered)
    assert gathered == pytest.approx(before + matrix @ x)
    assert scattered == pytest.approx(before + matrix.T @ x)


def test_without_scipy_numpy_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, x = graph_of(3, [(0, 1), (0, 2), (2, 0)]), np.array([1.0, 2.0, 4.0])
    by_scipy = Adjacency(graph)
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    row_products.cache_clear()
    by_numpy = Adjacency(graph)
    row_products.cache_clear()
    assert by_numpy.pulled(x).tolist() == by_scipy.pulled(x).tolist() == [6, 0, 1]
    assert by_numpy.pushed(x).tolist() == by_scipy.pushed(x).tolist() == [4, 1, 1]
