"""Eigenvector centrality by each of three link matrices."""

from math import inf

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.ranks.centrality import (
    EigenvectorOptions,
    LinkMatrix,
    eigenvector,
    reached_from_cycle,
)
from tests.graph.graphs import graph_of, random_graph
from tests.ranks.graphs import (
    Matrix,
    Pairs,
    dense,
    fixpoint,
    some_links,
    some_weights,
    through_virtual_page,
    with_virtual_page,
)

# A triangle 0, 1, 2 with a tail 0, 3, 4.
TRIANGLE_AND_TAIL: Pairs = [(0, 1), (1, 2), (2, 0), (0, 3), (3, 4)]

EITHER = EigenvectorOptions(LinkMatrix.EITHER)
WITH_PAGE = EigenvectorOptions(virtual_page=True)


def matrix_of(
    graph: Csr, kind: LinkMatrix, weights: NDArray[np.float32] | None = None, *, virtual_page: bool
) -> Matrix:
    links = dense(graph, weights)
    if kind is LinkMatrix.EITHER:
        links = np.maximum(links, links.T)
    if virtual_page:
        links = with_virtual_page(links)
    if kind is LinkMatrix.WALK:
        links /= np.maximum(links.sum(axis=1, keepdims=True), 1)
    return links


def of_largest_eigenvalue(links: Matrix) -> Matrix:
    """Left eigenvector of the largest eigenvalue, as shares."""
    values, vectors = np.linalg.eig(links.T)
    found: Matrix = np.abs(np.real(vectors[:, np.real(values).argmax()]))
    found /= found.sum()
    return found


def test_links_in_either_direction_give_the_numbers_of_the_example() -> None:
    found = eigenvector(graph_of(5, TRIANGLE_AND_TAIL), options=EITHER)
    assert found.values == pytest.approx([0.288, 0.237, 0.237, 0.164, 0.074], abs=6e-4)
    exact = [0.28814134, 0.23728622, 0.23728622, 0.16346462, 0.0738216]
    assert found.values == pytest.approx(exact, abs=1e-8)
    assert found.error_bound <= 1e-8
    # A random walk along the links would give the shares of the degrees instead.
    assert found.values != pytest.approx([0.3, 0.2, 0.2, 0.2, 0.1], abs=0.01)


def test_a_link_both_ways_counts_once() -> None:
    twice: Pairs = [*TRIANGLE_AND_TAIL, *((target, source) for source, target in TRIANGLE_AND_TAIL)]
    one = eigenvector(graph_of(5, TRIANGLE_AND_TAIL), options=EITHER)
    assert eigenvector(graph_of(5, twice), options=EITHER).values == pytest.approx(one.values)


def test_a_cycle_gives_its_pages_equal_scores_and_its_tail_a_share() -> None:
    # λ = 1: each page gets the score of the one page that links to it.
    found = eigenvector(graph_of(5, TRIANGLE_AND_TAIL), options=EigenvectorOptions())
    assert found.values == pytest.approx(np.full(5, 1 / 5), abs=1e-6)
    # Page 0 has two links, so a walk gives half of its score to 1 and half to 3: λ³ = 1/2.
    value = 0.5 ** (1 / 3)
    wanted = np.array([1, 0.5 / value, 0.5 / value**2, 0.5 / value, 0.5 / value**2])
    walk = eigenvector(graph_of(5, TRIANGLE_AND_TAIL), options=EigenvectorOptions(LinkMatrix.WALK))
    assert walk.values == pytest.approx(wanted / wanted.sum(), abs=1e-6)


@pytest.mark.parametrize("virtual_page", [False, True])
@pytest.mark.parametrize("kind", list(LinkMatrix))
def test_scores_are_the_eigenvector_of_the_largest_eigenvalue(
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


def test_a_walk_by_way_of_the_virtual_page_has_the_fixpoint_of_opic() -> None:
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
def test_weights_replace_the_ones_of_the_matrix(
    pairs: Pairs, numbers: list[int], virtual_page: bool
) -> None:
    if not pairs and not virtual_page:
        return
    graph = graph_of(7, pairs)
    weights = np.array(numbers[: graph.edges], dtype=np.float32)
    links = matrix_of(graph, LinkMatrix.EITHER, weights, virtual_page=virtual_page)
    largest = np.linalg.eigvalsh(links)[-1]
    options = EigenvectorOptions(LinkMatrix.EITHER, virtual_page, 1e-10)
    x = eigenvector(graph, weights, options=options).values
    if virtual_page:
        x = np.append(x, x.sum() / largest)
    # If several components have the largest eigenvalue, any mixture of theirs is right.
    assert links @ x == pytest.approx(largest * x, abs=1e-5)


def test_weights_of_links_count_along_the_virtual_page_too() -> None:
    graph, weights = graph_of(3, [(0, 1), (1, 2)]), np.array([5, 2], dtype=np.float32)
    links = np.array([[0, 5, 0, 1], [0, 0, 2, 1], [0, 0, 0, 1], [1, 1, 1, 0]], dtype=np.float64)
    wanted = of_largest_eigenvalue(links)[:-1]
    found = eigenvector(graph, weights, options=WITH_PAGE)
    assert found.values == pytest.approx(wanted / wanted.sum(), abs=1e-7)


@pytest.mark.parametrize("kind", list(LinkMatrix))
def test_few_steps_claim_no_convergence(kind: LinkMatrix) -> None:
    found = eigenvector(random_graph(50, 150), options=EigenvectorOptions(kind, most_steps=2))
    assert (found.iterations, found.converged) == (2, False)
    assert found.values.sum() == pytest.approx(1)


@pytest.mark.parametrize("pairs", [[], [(0, 1), (1, 2), (0, 2)]])
def test_without_an_eigenvalue_above_0_only_the_virtual_page_tells_pages_apart(
    pairs: Pairs,
) -> None:
    assert eigenvector(graph_of(3, pairs)).values == pytest.approx(np.full(3, 1 / 3))
    by_page = eigenvector(graph_of(3, pairs), options=WITH_PAGE).values
    assert (by_page[2] > by_page[0]) == bool(pairs)


def test_a_graph_without_nodes_has_no_scores() -> None:
    assert eigenvector(graph_of(0, [])).values.size == 0
    assert eigenvector(graph_of(0, []), options=WITH_PAGE).values.size == 0


@given(some_links)
def test_pages_on_cycles_and_behind_them_are_those_that_powers_of_the_matrix_reach(
    pairs: Pairs,
) -> None:
    graph = graph_of(7, pairs)
    reached = np.linalg.matrix_power(dense(graph), 7).sum(axis=0) > 0
    assert reached_from_cycle(graph).tolist() == reached.tolist()


def test_an_error_below_rounding_is_not_claimed() -> None:
    circle = graph_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    found = eigenvector(circle, options=EITHER._replace(tolerance=1e-20))
    assert found.values == pytest.approx(np.full(4, 1 / 4))
    assert (found.converged, found.error_bound < 1e-10) == (False, True)
