"""Importance by the three link matrices of the paper."""

from math import inf

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr
from minicrawl.ranks.centrality import EigenvectorOptions, LinkMatrix, eigenvector, has_cycle_before
from tests.ranks.graphs import (
    Matrix,
    Pairs,
    dense,
    fixpoint,
    graph_of,
    random_graph,
    some_links,
    some_weights,
    through_virtual_page,
)

# A triangle 0, 1, 2 with a tail 0 - 3 - 4, each link one way or the other.
TRIANGLE_AND_TAIL: Pairs = [(0, 1), (1, 2), (2, 0), (0, 3), (3, 4)]


EITHER = EigenvectorOptions(LinkMatrix.EITHER)
WITH_PAGE = EigenvectorOptions(virtual_page=True)


def matrix_of(graph: Csr, kind: LinkMatrix, *, virtual_page: bool) -> Matrix:
    links = dense(graph)
    if kind is LinkMatrix.EITHER:
        links = np.maximum(links, links.T)
    if virtual_page:
        links = np.block([[links, np.ones((len(links), 1))], [np.ones((1, len(links))), 0]])
    if kind is LinkMatrix.WALK:
        links /= np.maximum(links.sum(axis=1, keepdims=True), 1)
    return links


def of_largest_eigenvalue(links: Matrix) -> Matrix:
    """The left eigenvector, as shares."""
    values, vectors = np.linalg.eig(links.T)
    found: Matrix = np.abs(np.real(vectors[:, np.real(values).argmax()]))
    found /= found.sum()
    return found


def test_a_link_either_way_gives_the_five_nodes_of_the_example() -> None:
    found = eigenvector(graph_of(5, TRIANGLE_AND_TAIL), options=EITHER)
    assert found.values == pytest.approx([0.288, 0.237, 0.237, 0.164, 0.074], abs=6e-4)
    exact = [0.28814134, 0.23728622, 0.23728622, 0.16346462, 0.0738216]
    assert found.values == pytest.approx(exact, abs=1e-8)
    assert found.error_bound <= 1e-8
    # A walk along them would be where there are most links.
    assert found.values != pytest.approx([0.3, 0.2, 0.2, 0.2, 0.1], abs=0.01)


def test_a_link_both_ways_counts_once() -> None:
    twice: Pairs = [*TRIANGLE_AND_TAIL, *((target, source) for source, target in TRIANGLE_AND_TAIL)]
    one = eigenvector(graph_of(5, TRIANGLE_AND_TAIL), options=EITHER)
    assert eigenvector(graph_of(5, twice), options=EITHER).values == pytest.approx(one.values)


def test_a_circle_gives_its_pages_alike_and_what_hangs_on_it_a_share() -> None:
    # λ = 1: each of the circle and each of the tail has what its one link brings.
    found = eigenvector(graph_of(5, TRIANGLE_AND_TAIL), options=EigenvectorOptions())
    assert found.values == pytest.approx(np.full(5, 1 / 5), abs=1e-6)
    # 0 has two links, so a walk gives 1 and 3 half of it: λ³ = 1/2.
    value = 0.5 ** (1 / 3)
    wanted = np.array([1, 0.5 / value, 0.5 / value**2, 0.5 / value, 0.5 / value**2])
    walk = eigenvector(graph_of(5, TRIANGLE_AND_TAIL), options=EigenvectorOptions(LinkMatrix.WALK))
    assert walk.values == pytest.approx(wanted / wanted.sum(), abs=1e-6)


@pytest.mark.parametrize("virtual_page", [False, True])
@pytest.mark.parametrize("kind", list(LinkMatrix))
def test_it_is_the_eigenvector_of_the_largest_eigenvalue(
    kind: LinkMatrix, virtual_page: bool
) -> None:
    graph = random_graph(60, 300)
    wanted = of_largest_eigenvalue(matrix_of(graph, kind, virtual_page=virtual_page))
    if virtual_page:
        wanted = wanted[:-1] / wanted[:-1].sum()
    told: list[float] = []
    found = eigenvector(graph, options=EigenvectorOptions(kind, virtual_page), tell=told.append)
    assert np.abs(found.values - wanted).sum() <= 1e-7
    assert found.converged
    assert told[-1] == 1
    is_bounded = kind is LinkMatrix.EITHER or (kind is LinkMatrix.WALK and virtual_page)
    assert found.error_bound <= 1e-8 if is_bounded else found.error_bound == inf


def test_a_walk_by_way_of_the_virtual_page_is_the_papers_fixpoint() -> None:
    graph = random_graph(40, 100)
    found = eigenvector(graph, options=EigenvectorOptions(LinkMatrix.WALK, True))
    assert found.values == pytest.approx(fixpoint(through_virtual_page(graph, None)), abs=1e-8)


def test_plain_links_are_the_eigenvector_centrality_of_networkx() -> None:
    oracle = networkx.gnp_random_graph(50, 0.1, seed=3, directed=True)
    wanted = networkx.eigenvector_centrality(oracle, max_iter=10_000, tol=1e-12)
    total = sum(wanted.values())
    found = eigenvector(graph_of(50, sorted(oracle.edges())))
    assert found.values == pytest.approx([wanted[node] / total for node in range(50)], abs=1e-7)


@given(some_links, some_weights, st.booleans())
def test_weights_stand_in_place_of_ones(
    pairs: Pairs, burdens: list[int], virtual_page: bool
) -> None:
    graph = graph_of(7, pairs)
    weights = np.array(burdens[: graph.edges], dtype=np.float32)
    links = dense(graph, weights)
    links = np.maximum(links, links.T)
    if virtual_page:
        links = np.block([[links, np.ones((7, 1))], [np.ones((1, 7)), 0]])
    elif not pairs:
        return
    found = eigenvector(
        graph, weights, options=EigenvectorOptions(LinkMatrix.EITHER, virtual_page, 1e-10)
    )
    # Of several parts with one value any mixture is one: only what the value says is compared.
    x = found.values
    if virtual_page:
        values = np.linalg.eigvalsh(links)
        x = np.append(x, x.sum() / values[-1])
    assert links @ x == pytest.approx(np.linalg.eigvalsh(links)[-1] * x, abs=1e-5)


def test_weights_of_links_count_along_the_virtual_page_too() -> None:
    graph, weights = graph_of(3, [(0, 1), (1, 2)]), np.array([5, 2], dtype=np.float32)
    links = np.array([[0, 5, 0, 1], [0, 0, 2, 1], [0, 0, 0, 1], [1, 1, 1, 0]], dtype=np.float64)
    wanted = of_largest_eigenvalue(links)[:-1]
    found = eigenvector(graph, weights, options=WITH_PAGE)
    assert found.values == pytest.approx(wanted / wanted.sum(), abs=1e-7)


@pytest.mark.parametrize("kind", list(LinkMatrix))
def test_few_steps_are_not_said_to_have_converged(kind: LinkMatrix) -> None:
    found = eigenvector(random_graph(50, 150), options=EigenvectorOptions(kind, most_steps=2))
    assert (found.iterations, found.converged) == (2, False)
    assert found.values.sum() == pytest.approx(1)


@pytest.mark.parametrize("pairs", [[], [(0, 1), (1, 2), (0, 2)]])
def test_where_no_eigenvalue_is_above_0_all_are_alike_but_by_the_virtual_page(
    pairs: Pairs,
) -> None:
    assert eigenvector(graph_of(3, pairs)).values == pytest.approx(np.full(3, 1 / 3))
    by_page = eigenvector(graph_of(3, pairs), options=WITH_PAGE).values
    assert (by_page[2] > by_page[0]) == bool(pairs)


def test_a_graph_without_nodes_has_no_scores() -> None:
    assert eigenvector(graph_of(0, [])).values.size == 0
    assert eigenvector(graph_of(0, []), options=WITH_PAGE).values.size == 0


@given(some_links)
def test_circles_and_what_is_behind_them_are_what_powers_of_the_matrix_leave(pairs: Pairs) -> None:
    graph = graph_of(7, pairs)
    reached = np.linalg.matrix_power(dense(graph), 7).sum(axis=0) > 0
    assert has_cycle_before(graph).tolist() == reached.tolist()


def test_an_error_that_rounding_hides_is_not_said_to_be_reached() -> None:
    circle = graph_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    found = eigenvector(circle, options=EITHER._replace(tolerance=1e-20))
    assert found.values == pytest.approx(np.full(4, 1 / 4))
    assert (found.converged, found.error_bound < 1e-10) == (False, True)
