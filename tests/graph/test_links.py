"""`LinkBuilder` makes the graph that `Csr.from_edges` makes of the links, and sums weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr, LinkArrays, LinkBuilder

NODES = 5
PAIRS = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=30)


def links(pairs: list[tuple[int, int]], weights: list[float] | None = None) -> LinkArrays:
    sources, targets = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return LinkArrays(sources, targets, None if weights is None else np.array(weights))


@given(PAIRS, PAIRS)
def test_links_of_several_portions_make_one_graph(
    some: list[tuple[int, int]], others: list[tuple[int, int]]
) -> None:
    gathering = LinkBuilder()
    gathering.add(links(some))
    gathering.add(links(others))
    assert len(gathering) == len(some) + len(others)
    found, weights = gathering.graph_of(NODES)
    both = links(some + others)
    wanted = Csr.from_edges(NODES, both.sources, both.targets)
    assert weights is None
    assert found.starts.tolist() == wanted.starts.tolist()
    assert found.targets.tolist() == wanted.targets.tolist()
    assert [column.dtype.name for column in (found.starts, found.targets)] == ["int64", "int32"]


def test_a_graph_may_be_empty() -> None:
    (graph, weights), ids = LinkBuilder().of_ids()
    assert (graph.nodes, graph.edges, weights, len(ids)) == (0, 0, None, 0)


def test_weights_of_equal_links_are_summed() -> None:
    gathering = LinkBuilder()
    gathering.add(links([(2, 0), (0, 1)], [1.5, 4]))
    gathering.add(links([(2, 0)], [1]))
    (graph, weights) = gathering.graph_of(3)
    assert graph.adjacency() == [[1], [], [0]]
    assert weights is not None
    assert weights.tolist() == [4, 2.5]


LARGE = 2**40


@pytest.mark.parametrize(
    "ids",
    [[0, 1, 2], [1, 2, 3], [5, 70, 900], [5, 70, 2**31 - 1], [5, 2**31, LARGE], [1, 2, LARGE]],
)
@pytest.mark.parametrize("at_once", [1, 2, 3, 6])
def test_ids_are_numbered_in_their_order_dense_sparse_or_large(
    ids: list[int], at_once: int
) -> None:
    low, middle, high = ids
    pairs = [(low, high), (high, low), (middle, low), (high, high), (low, high), (low, middle)]
    gathering = LinkBuilder()
    for first in range(0, len(pairs), at_once):
        some = pairs[first : first + at_once]
        gathering.add(links(some, [1.0] * len(some)))
    assert len(gathering) == 6
    (graph, weights), found = gathering.of_ids()
    assert found.tolist() == ids
    assert graph.adjacency() == [[1, 2], [0], [0, 2]]
    assert weights is not None
    assert weights.tolist() == [1, 2, 1, 1, 1]


def test_many_links_are_sorted_in_pieces() -> None:
    rng = np.random.default_rng(1)
    sources, targets = rng.integers(0, 700, size=(2, 600_000))
    gathering = LinkBuilder()
    gathering.add(LinkArrays(sources, targets))
    (found, _), ids = gathering.of_ids()
    wanted = Csr.from_edges(700, sources, targets)
    assert ids.tolist() == list(range(700))
    assert np.array_equal(found.starts, wanted.starts)
    assert np.array_equal(found.targets, wanted.targets)
