"""A graph keeps exactly the links that it was given, and follows them both ways."""

import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from minicrawl.graph.csr import MOST_NODES, Csr
from minicrawl.graph.link_builder import LinkArrays, LinkBuilder, RowBuilder
from minicrawl.graph.lists.edge_lists import NumericNames
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graph.products import (
    Adjacency,
    AnyFloats,
    RowProducts,
    WeightedRows,
    by_counting,
    row_products,
)
from minicrawl.graph.subgraphs import with_links, with_nodes, with_pages
from tests.graph.graphs import Link, graph_of, links_of, nodes_and_links
from tests.ranks.graphs import NODES, Pairs, a_node, dense, some_links, some_weights

Ids = NDArray[np.int32]

# A triangle with a tail, not in order.
LINKS = [(2, 0), (0, 2), (0, 1), (1, 2), (2, 3)]


def test_a_page_knows_its_own_targets() -> None:
    graph = graph_of(4, LINKS)
    assert [graph.targets_of(page).tolist() for page in range(4)] == [[1, 2], [2], [0, 3], []]
    assert repr(graph) == "<Csr of 4 nodes, 5 links>"


@pytest.mark.parametrize("stranger", [-1, 4])
def test_a_page_outside_the_graph_is_refused(stranger: int) -> None:
    with pytest.raises(IndexError, match=f"node {stranger} .* 4 nodes"):
        graph_of(4, LINKS).targets_of(stranger)


def agree_with_scipy(nodes: int, rows: Ids, columns: Ids) -> None:
    oracle = csr_array((np.ones(len(rows)), (rows, columns)), shape=(nodes, nodes))
    oracle.sum_duplicates()
    graph, backwards = Csr.from_edges(nodes, rows, columns), oracle.T.tocsr()
    back = graph.reversed()
    assert np.array_equal(graph.starts, oracle.indptr)
    assert np.array_equal(graph.targets, oracle.indices)
    assert np.array_equal(back.starts, backwards.indptr)
    assert np.array_equal(back.targets, backwards.indices)
    assert np.array_equal(graph.turned(oracle.data), backwards.data)
    assert np.array_equal(graph.in_degrees(), back.out_degrees())
    assert np.array_equal(graph.out_degrees(), np.bincount(graph.sources(), minlength=nodes))


@pytest.mark.parametrize("nodes", [3, 500, 200_000])
def test_many_links_agree_with_scipy(nodes: int) -> None:
    rng = np.random.default_rng(nodes)
    agree_with_scipy(nodes, *rng.integers(0, nodes, (2, 400_000), dtype=np.int32))


@given(nodes_and_links(least=1))
def test_few_links_agree_with_scipy(case: tuple[int, list[Link]]) -> None:
    nodes, links = case
    agree_with_scipy(nodes, *np.array(links, dtype=np.int32).reshape(-1, 2).T)


def test_arrays_have_their_types() -> None:
    graph = graph_of(4, LINKS)
    assert graph.in_degrees().dtype == graph.out_degrees().dtype == np.int64
    assert graph.sources().dtype == np.int32
    assert type(graph.adjacency()[0][0]) is int


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int32, np.uint32])
def test_narrow_page_numbers_do_not_overflow(kind: type[np.integer]) -> None:
    ends = np.array([126, 0], dtype=kind)
    assert links_of(Csr.from_edges(127, ends, ends[::-1])) == [(0, 126), (126, 0)]


def test_the_largest_page_numbers_make_distinct_keys() -> None:
    nodes = 3_000_000
    last = nodes - 1
    graph = graph_of(nodes, [(last, last), (last, 0), (0, last)])
    assert links_of(graph) == [(0, last), (last, 0), (last, last)]


@pytest.mark.parametrize(
    ("nodes", "link", "message"),
    [
        (3, (3, 0), "source 3 out of range: the graph has 3"),
        (3, (-1, 0), "source -1 out of range: the graph has 3"),
        (3, (0, 3), "target 3 out of range: the graph has 3"),
        (3, (0, -1), "target -1 out of range: the graph has 3"),
        (0, (0, 0), "source 0 .* 0 nodes"),
    ],
)
def test_a_link_that_leaves_the_graph_is_refused(nodes: int, link: Link, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        graph_of(nodes, [link])


@pytest.mark.parametrize("nodes", [-1, MOST_NODES + 1])
def test_a_number_of_pages_out_of_range_is_refused(nodes: int) -> None:
    with pytest.raises(ValueError, match=rf"0 to {MOST_NODES} nodes, not {nodes}"):
        graph_of(nodes, [])


@pytest.mark.parametrize(("sources", "targets"), [([0, 1], [0]), ([[0, 1]], [[1, 0]])])
def test_sources_and_targets_of_other_shapes_are_refused(
    sources: list[int], targets: list[int]
) -> None:
    with pytest.raises(ValueError, match="shape"):
        Csr.from_edges(2, np.array(sources), np.array(targets))


PAIRS = st.lists(st.tuples(a_node, a_node), max_size=30)


def is_same(found: Csr, wanted: Csr) -> bool:
    assert [column.dtype.name for column in (found.starts, found.targets)] == ["int64", "int32"]
    return np.array_equal(found.starts, wanted.starts) and np.array_equal(
        found.targets, wanted.targets
    )


def arrays(pairs: list[Link], weights: list[float] | None = None) -> LinkArrays:
    sources, targets = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return LinkArrays(sources, targets, None if weights is None else np.array(weights))


@given(PAIRS, PAIRS)
def test_links_of_several_portions_make_one_graph(some: list[Link], others: list[Link]) -> None:
    gathering = LinkBuilder()
    gathering.add(arrays(some))
    gathering.add(arrays(others))
    assert len(gathering) == len(some) + len(others)
    found, weights = gathering.graph_of(NODES)
    assert weights is None
    assert is_same(found, graph_of(NODES, some + others))


def test_a_graph_may_be_empty() -> None:
    (graph, weights), ids = LinkBuilder().of_ids()
    assert (graph.nodes, graph.edges, weights, len(ids)) == (0, 0, None, 0)
    assert RowBuilder(0).graph().adjacency() == graph_of(0, []).adjacency() == []


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
        gathering.add(arrays(some, [1.5] * len(some)))
    (graph, weights), found = gathering.of_ids()
    assert found.tolist() == ids
    assert graph.adjacency() == [[1, 2], [0], [0, 2]]
    assert weights is not None
    assert weights.tolist() == [1.5, 3, 1.5, 1.5, 1.5]


def test_many_links_are_sorted_in_pieces() -> None:
    sources, targets = np.random.default_rng(1).integers(0, 700, size=(2, 600_000))
    gathering = LinkBuilder()
    gathering.add(LinkArrays(sources, targets))
    (found, _), ids = gathering.of_ids()
    assert ids.tolist() == list(range(700))
    assert is_same(found, Csr.from_edges(700, sources, targets))


@given(
    st.lists(st.lists(a_node, max_size=8), min_size=NODES, max_size=NODES),
    st.permutations(range(NODES)),
    st.integers(1, NODES),
)
def test_rows_in_any_order_make_the_graph_of_all_links(
    links: list[list[int]], order: list[int], at_once: int
) -> None:
    rows, pairs = RowBuilder(NODES), list[Link]()
    for first in range(0, NODES, at_once):
        block = [
            (page, target) for page in order[first : first + at_once] for target in links[page]
        ]
        rows.add(*arrays(block)[:2])
        pairs += block
    assert is_same(rows.graph(), graph_of(NODES, pairs))


def test_dropping_links_keeps_all_pages() -> None:
    graph = graph_of(4, [(0, 1), (0, 2), (1, 2), (2, 0), (2, 3)])
    part = with_links(graph, np.array([False, True, False, True, True]))
    assert (part.nodes, links_of(part)) == (4, [(0, 2), (2, 0), (2, 3)])


@given(nodes_and_links(), st.sets(st.integers(0, 11)))
def test_a_part_is_the_graph_of_the_links_that_are_left(
    case: tuple[int, list[Link]], gone: set[int]
) -> None:
    nodes, links = case
    kept = [page for page in range(nodes) if page not in gone]
    left = [(kept.index(a), kept.index(b)) for a, b in links if a in kept and b in kept]
    part = with_pages(graph_of(nodes, links), ~np.isin(np.arange(nodes), list(gone)))
    assert is_same(part, graph_of(len(kept), left))


def part_of(links: list[Link], weights: list[float] | None, *nodes: int) -> NamedGraph:
    weighed = None if weights is None else np.array(weights, dtype=np.float32)
    whole = NamedGraph(graph_of(NODES, links), NumericNames(np.arange(NODES) * 10), weighed)
    return with_nodes(whole, np.isin(np.arange(NODES), nodes))


def test_nodes_keep_their_names_and_the_weights_of_their_links() -> None:
    part = part_of([(0, 1), (0, 5), (4, 5), (5, 0)], [1, 2, 3, 4], 0, 2, 5)
    assert part.graph.adjacency() == [[2], [], [0]]
    assert part.weights is not None
    assert part.weights.tolist() == [2, 4]
    assert len(part.names) == 3
    assert part.names.of([2, 0]) == ["50", "0"]
    assert part.names.find(["20", "30", "51", "50"]) == [1, None, None, 2]
    of_node, hosts = part.names.hosts()
    assert [hosts[host] for host in of_node] == ["0", "20", "50"]


def test_a_part_may_be_empty() -> None:
    part = part_of([(0, 1)], None)
    assert (part.graph.nodes, part.graph.edges, part.names.of([])) == (0, 0, [])
    assert part.names.find(["0"]) == [None]


VECTOR = np.arange(1.0, NODES + 1)


@given(some_links, some_weights, st.integers(1, 30), st.sets(a_node).map(sorted))
def test_products_agree_with_the_dense_matrix(
    pairs: Pairs, weights: list[int], at_once: int, some: list[int]
) -> None:
    """In blocks of any size; some nodes alone may push their values."""
    graph = graph_of(NODES, pairs)
    for chosen in (None, np.array(weights[: graph.edges], dtype=np.float32)):
        links, matrix = Adjacency(graph, chosen, at_once), dense(graph, chosen)
        assert links.pulled(VECTOR) == pytest.approx(matrix @ VECTOR)
        assert links.pushed(VECTOR) == pytest.approx(matrix.T @ VECTOR)
        assert links.through(VECTOR) == pytest.approx(matrix.T @ matrix @ VECTOR)
        x, sums = np.zeros((1, NODES)), np.zeros((1, NODES))
        x[0, some] = VECTOR[some]
        for block in links.blocks_of(np.array(some, dtype=np.int64)):
            links.push(block, x[:, block.nodes], sums)
        assert sums[0] == pytest.approx(matrix.T @ x[0])
        assert sums == pytest.approx(links.pushed_all(x))


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
