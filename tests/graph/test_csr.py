"""A graph keeps exactly the links that it was given, each once, and follows them both ways."""

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from scipy.sparse import csr_array

from minicrawl.graph.csr import MOST_NODES, Csr
from tests.graph.graphs import Link, graph_of, links_of, networkx_of, nodes_and_links

# A triangle with a tail, not in order.
LINKS = [(2, 0), (0, 2), (0, 1), (1, 2), (2, 3)]


def test_rows_are_sorted_by_target() -> None:
    graph = graph_of(4, LINKS)
    assert graph.starts.tolist() == [0, 2, 3, 5, 5]
    assert graph.targets.tolist() == [1, 2, 2, 0, 3]


def test_degrees_count_links_out_and_in() -> None:
    graph = graph_of(4, LINKS)
    assert graph.out_degrees().tolist() == [2, 1, 2, 0]
    assert graph.in_degrees().tolist() == [1, 1, 2, 1]


def test_a_page_knows_its_own_targets() -> None:
    graph = graph_of(4, LINKS)
    assert [graph.targets_of(page).tolist() for page in range(4)] == [[1, 2], [2], [0, 3], []]


def test_its_representation_counts_nodes_and_links() -> None:
    assert repr(graph_of(4, LINKS)) == "<Csr of 4 nodes, 5 links>"


@pytest.mark.parametrize("stranger", [-1, 4])
def test_a_page_outside_the_graph_is_refused(stranger: int) -> None:
    with pytest.raises(IndexError, match=f"node {stranger} .* 4 nodes"):
        graph_of(4, LINKS).targets_of(stranger)


def test_adjacency_is_plain_lists_of_plain_numbers() -> None:
    adjacency = graph_of(4, LINKS).adjacency()
    assert adjacency == [[1, 2], [2], [0, 3], []]
    assert type(adjacency[0][0]) is int


def test_a_reversed_graph_is_followed_backwards() -> None:
    assert graph_of(4, LINKS).reversed().adjacency() == [[2], [0], [0, 1], [2]]


def test_weights_are_turned_with_their_links() -> None:
    """In the order of targets the links are 2 -> 0, 0 -> 1, 0 -> 2, 1 -> 2, 2 -> 3."""
    weights = np.array([1, 2, 12, 20, 23], dtype=np.float32)
    assert graph_of(4, LINKS).turned(weights).tolist() == [20, 1, 2, 12, 23]


@pytest.mark.parametrize("nodes", [3, 500, 200_000])
def test_many_links_are_sorted_in_pieces(nodes: int) -> None:
    rng = np.random.default_rng(nodes)
    rows, columns = rng.integers(0, nodes, (2, 400_000), dtype=np.int32)
    oracle = csr_array((np.ones(len(rows)), (rows, columns)), shape=(nodes, nodes))
    oracle.sum_duplicates()
    graph, backwards = Csr.from_edges(nodes, rows, columns), oracle.T.tocsr()
    assert np.array_equal(graph.starts, oracle.indptr)
    assert np.array_equal(graph.targets, oracle.indices)
    assert np.array_equal(graph.reversed().starts, backwards.indptr)
    assert np.array_equal(graph.reversed().targets, backwards.indices)
    assert np.array_equal(graph.turned(oracle.data), backwards.data)
    assert np.array_equal(graph.in_degrees(), np.bincount(oracle.indices, minlength=nodes))


@pytest.mark.parametrize("nodes", [0, 1, 5])
def test_a_graph_may_have_no_links(nodes: int) -> None:
    graph = graph_of(nodes, [])
    assert (graph.nodes, graph.edges) == (nodes, 0)
    assert graph.adjacency() == [[]] * nodes
    assert graph.in_degrees().tolist() == graph.out_degrees().tolist() == [0] * nodes
    assert graph.reversed().adjacency() == [[]] * nodes


def test_arrays_have_their_types() -> None:
    graph = graph_of(4, LINKS)
    assert graph.starts.dtype == graph.in_degrees().dtype == graph.out_degrees().dtype == np.int64
    assert graph.targets.dtype == graph.sources().dtype == np.int32


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32])
def test_narrow_page_numbers_do_not_overflow(kind: type[np.integer]) -> None:
    ends = np.array([126, 0], dtype=kind)
    assert links_of(Csr.from_edges(127, ends, ends[::-1])) == [(0, 126), (126, 0)]


def test_the_largest_page_numbers_make_distinct_keys() -> None:
    nodes = 3_000_000
    last = nodes - 1
    graph = graph_of(nodes, [(last, last), (last, 0), (0, last)])
    assert links_of(graph) == [(0, last), (last, 0), (last, last)]


def test_the_given_arrays_are_left_alone() -> None:
    ends = np.array([2, 0, 1])
    Csr.from_edges(3, ends, ends)
    assert ends.tolist() == [2, 0, 1]


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ((3, 0), "source 3 out of range: the graph has 3"),
        ((-1, 0), "source -1 out of range: the graph has 3"),
        ((0, 3), "target 3 out of range: the graph has 3"),
        ((0, -1), "target -1 out of range: the graph has 3"),
    ],
)
def test_a_link_that_leaves_the_graph_is_refused(link: Link, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph_of(3, [(0, 1), link])


def test_a_link_in_a_graph_without_pages_is_refused() -> None:
    with pytest.raises(ValueError, match=r"source 0 .* 0 nodes"):
        graph_of(0, [(0, 0)])


@pytest.mark.parametrize("nodes", [-1, MOST_NODES + 1])
def test_a_number_of_pages_out_of_range_is_refused(nodes: int) -> None:
    with pytest.raises(ValueError, match=rf"0 to {MOST_NODES} nodes, not {nodes}"):
        graph_of(nodes, [])


@pytest.mark.parametrize(
    ("sources", "targets"),
    [(np.array([0, 1]), np.array([0])), (np.array([[0, 1]]), np.array([[1, 0]]))],
)
def test_sources_and_targets_of_other_shapes_are_refused(
    sources: NDArray[np.int64], targets: NDArray[np.int64]
) -> None:
    with pytest.raises(ValueError, match="differ in shape"):
        Csr.from_edges(2, sources, targets)


@given(nodes_and_links())
def test_links_and_degrees_agree_with_networkx(case: tuple[int, list[Link]]) -> None:
    nodes, links = case
    oracle, graph = networkx_of(nodes, links), graph_of(nodes, links)
    assert sorted(oracle.edges) == links_of(graph)
    assert [degree for _, degree in oracle.in_degree] == graph.in_degrees().tolist()
    assert [degree for _, degree in oracle.out_degree] == graph.out_degrees().tolist()
    assert sorted(oracle.reverse().edges) == links_of(graph.reversed())
