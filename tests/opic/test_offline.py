import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.opic.offline import LinkMatrix, LinkMatrixKind

Edges = list[tuple[int, int]]


def matrix(nodes: int, edges: Edges, **options: object) -> LinkMatrix:
    sources, targets = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return LinkMatrix(nodes=nodes, sources=sources, targets=targets, **options)  # type: ignore[arg-type]  # options are the class's own fields


edges_of_6 = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), unique=True)


def test_two_pages_that_link_to_each_other_share_all() -> None:
    found = matrix(2, [(0, 1), (1, 0)]).fixpoint()
    assert list(found.importance) == [0.5, 0.5]
    assert found.converged


def test_a_page_that_all_link_to_by_hand() -> None:
    """0 and 2 link to 1, which is a dead end: x1 = v + 2 * 0.85 x0 with v = (1 - 1.7 x0) / 3."""
    found = matrix(3, [(0, 1), (2, 1)]).fixpoint().importance
    x0 = 1 / (3 + 1.7)
    assert found == pytest.approx([x0, 1 - 2 * x0, x0])


def test_with_one_more_link_the_virtual_page_weighs_as_much_as_each_link() -> None:
    """0 -> 1, 1 -> 0: each gives half away and gets it back; 2 lives on the virtual page."""
    found = matrix(3, [(0, 1), (1, 0)], small_edge=None).fixpoint().importance
    assert found == pytest.approx([0.4, 0.4, 0.2])


@given(edges_of_6)
def test_the_walk_is_pagerank(edges: Edges) -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(6))
    graph.add_edges_from(edges)
    expected = nx.pagerank(graph, alpha=0.85, tol=1e-13, max_iter=1000)
    found = matrix(6, edges).fixpoint().importance
    assert found == pytest.approx([expected[node] for node in range(6)], abs=1e-10)


@given(edges_of_6, st.sampled_from(LinkMatrixKind))
def test_lazy_comes_to_the_same_fixpoint(edges: Edges, kind: LinkMatrixKind) -> None:
    plain = matrix(6, edges, kind=kind).fixpoint()
    lazy = matrix(6, edges, kind=kind, lazy=True).fixpoint()
    assert plain.converged
    assert lazy.converged
    assert lazy.importance == pytest.approx(plain.importance, abs=1e-9)


def test_a_periodic_graph_needs_lazy_and_plain_does_not_claim_to_converge() -> None:
    ring = [(0, 1), (1, 2), (2, 3), (3, 0)]
    start = np.array([1.0, 0, 0, 0])
    plain = matrix(4, ring, small_edge=0.0).fixpoint(start=start, rounds=50)
    assert not plain.converged
    assert plain.change == 2
    assert plain.rounds == 50
    lazy = matrix(4, ring, small_edge=0.0, lazy=True).fixpoint(start=start)
    assert lazy.converged
    assert lazy.importance == pytest.approx([0.25] * 4)


@given(edges_of_6)
def test_ones_is_the_leading_eigenvector(edges: Edges) -> None:
    links = np.full((6, 6), 0.5 / 6)
    for source, target in edges:
        links[source, target] += 1
    values, vectors = np.linalg.eig(links.T)
    leading = np.abs(vectors[:, np.argmax(values.real)].real)
    found = matrix(6, edges, kind=LinkMatrixKind.ONES, small_edge=0.5).fixpoint().importance
    assert found == pytest.approx(leading / leading.sum(), abs=1e-6)


def test_in_ones_one_more_link_is_a_whole_link_to_the_virtual_page() -> None:
    """x = x (L + 1/2): 0 -> 1 gives x1 / x0 = 1 + x0 / (x0 + x1) * 2."""
    x0, x1 = matrix(2, [(0, 1)], kind=LinkMatrixKind.ONES, small_edge=None).fixpoint().importance
    assert x1 / x0 == pytest.approx(1 + 2 * x0 / (x0 + x1))


@given(edges_of_6)
def test_both_ways_is_pagerank_of_the_undirected_graph(edges: Edges) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(range(6))
    graph.add_edges_from(edges)
    expected = nx.pagerank(graph, alpha=0.85, tol=1e-13, max_iter=1000)
    found = matrix(6, edges, kind=LinkMatrixKind.BOTH).fixpoint().importance
    assert found == pytest.approx([expected[node] for node in range(6)], abs=1e-10)


def test_a_graph_without_links_is_all_alike() -> None:
    assert list(matrix(4, []).fixpoint().importance) == [0.25] * 4
