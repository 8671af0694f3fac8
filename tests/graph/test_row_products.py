"""Private loops of scipy, and their replacement, agree with numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import AnyFloats, RowProducts, WeightedRows, by_counting, row_products
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
