"""Degrees, eigenvector centrality and harmonic centrality."""

from collections.abc import Callable
from math import inf
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from minicrawl.ranks.centrality import Direction, degree, exact, hyperball, standard_error
from minicrawl.ranks.eigenvector import (
    EigenvectorOptions,
    LinkMatrix,
    eigenvector,
    reached_from_cycle,
)
from minicrawl.ranks.scores import FURTHEST
from tests.graph.graphs import graph_of, networkx_of, random_graph
from tests.ranks.graphs import (
    DEGENERATE,
    NODES,
    Matrix,
    Pairs,
    dense,
    some_links,
    some_weights,
    with_virtual_page,
)


def test_a_link_counts_by_its_weight() -> None:
    graph, weights = graph_of(3, [(0, 1), (0, 2)]), np.array([3, 1], dtype=np.float32)
    assert degree(graph, weights).values.tolist() == [0, 0.75, 0.25]
    assert degree(graph, weights, direction=Direction.OUT).values.tolist() == [1, 0, 0]


def test_a_small_part_with_the_largest_eigenvalue_gets_everything() -> None:
    """The changes grow at first, as its share does."""
    ring = [(node, (node + 1) % 100) for node in range(100)]
    triangle = [(100 + one, 100 + other) for one in range(3) for other in range(3) if one != other]
    found = eigenvector(graph_of(103, ring + triangle))
    assert found.converged
    assert found.values[100:].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("kind", "scores"), [(LinkMatrix.LINKS, [2**0.5, 1, 1]), (LinkMatrix.WALK, [2, 1, 1])]
)
def test_an_index_and_pages_that_link_to_each_other_alone_have_scores(
    kind: LinkMatrix, scores: list[float]
) -> None:
    star = graph_of(3, [(0, 1), (0, 2), (1, 0), (2, 0)])
    found = eigenvector(star, options=EigenvectorOptions(kind))
    assert found.converged
    assert found.values == pytest.approx(np.array(scores) / sum(scores))


@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-6, 1e-8])
def test_the_tolerance_holds_once_the_virtual_page_is_left_out(tolerance: float) -> None:
    options = EigenvectorOptions(LinkMatrix.EITHER, virtual_page=True, tolerance=tolerance)
    found = eigenvector(random_graph(60, 300), options=options)
    assert found.converged
    assert found.error_bound <= tolerance


def test_no_bound_is_above_the_largest_distance_of_two_ranks() -> None:
    options = EigenvectorOptions(LinkMatrix.EITHER, virtual_page=True, most_steps=1)
    assert eigenvector(random_graph(60, 300), options=options).error_bound <= FURTHEST


@given(some_links)
def test_degrees_agree_with_networkx(pairs: Pairs) -> None:
    oracle, graph = networkx_of(NODES, pairs), graph_of(NODES, pairs)
    both = ((Direction.IN, oracle.in_degree), (Direction.OUT, oracle.out_degree))
    for direction, degrees in both:
        wanted = [degrees(node) / len(pairs) if pairs else 1 / NODES for node in range(NODES)]
        found = degree(graph, direction=direction)
        assert found.values.tolist() == pytest.approx(wanted)
        assert (found.iterations, found.error_bound, found.converged) == (0, 0.0, True)


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


@pytest.mark.parametrize(
    "digits",
    [*(pytest.param(digits, marks=pytest.mark.slow) for digits in (2, 3)), *range(4, 9)],
)
def test_the_bound_holds_where_few_of_many_pages_have_all_the_score(digits: int) -> None:
    """The distance of shares is then many times that of the unit vectors of the method."""
    dense_part = [(one, other) for one in range(12) for other in range(one) if (one + other) % 3]
    chain = [(node, node + 1) for node in range(11, 400)]
    graph = graph_of(401, dense_part + chain)
    wanted = of_largest_eigenvalue(matrix_of(graph, LinkMatrix.EITHER, virtual_page=False))
    options = EigenvectorOptions(LinkMatrix.EITHER, tolerance=10.0**-digits)
    found = eigenvector(graph, options=options)
    assert found.converged
    assert np.abs(found.values - wanted).sum() <= found.error_bound <= options.tolerance


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


@pytest.mark.parametrize("options", [EigenvectorOptions(), WITH_PAGE])
def test_a_graph_without_nodes_has_no_scores(options: EigenvectorOptions) -> None:
    assert eigenvector(graph_of(0, []), options=options).values.size == 0


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


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


@given(some_links)
def test_exact_centrality_agrees_with_networkx(pairs: Pairs) -> None:
    oracle = networkx.harmonic_centrality(networkx_of(NODES, pairs))
    wanted = np.array([oracle[node] for node in range(NODES)])
    total = wanted.sum()
    expected = wanted / total if total else [1 / NODES] * NODES
    assert exact(graph_of(NODES, pairs)).values == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("precision", [4, 6, 10])
def test_hyperball_stays_within_its_standard_error(precision: int) -> None:
    graph = random_graph(2000, 8000)
    wanted = exact(graph).values
    found = hyperball(graph, rng=rng(), precision=precision)
    assert found.standard_error == standard_error(precision)
    assert np.abs(found.values - wanted).sum() < standard_error(precision)
    assert found.error_bound == inf


@pytest.mark.parametrize("name", DEGENERATE)
def test_scores_sum_to_one_whatever_the_graph(name: str) -> None:
    graph = graph_of(*DEGENERATE[name])
    for found in (exact(graph), hyperball(graph, rng=rng())):
        assert np.isfinite(found.values).all()
        assert found.values.sum() == pytest.approx(1 if graph.nodes else 0)
        assert found.converged


def test_too_little_memory_is_refused() -> None:
    graph = random_graph(1000, 10)
    with pytest.raises(UsageError, match=r"7 MiB .* 1 MiB .*precision"):
        hyperball(graph, rng=rng(), precision=12, memory_bytes=1 << 20)


def test_on_a_real_graph_the_best_are_found(shared_graph: Callable[[str], Path]) -> None:
    graph = read(shared_graph("california.txt.gz")).graph
    wanted, found = exact(graph), hyperball(graph, rng=rng(), precision=10)
    assert {*np.argsort(-wanted.values)[:5]} <= {*np.argsort(-found.values)[:15]}
    assert np.abs(wanted.values - found.values).sum() < standard_error(10)


def test_hyperball_stops_after_its_most_rounds() -> None:
    path = graph_of(500, [(page, page + 1) for page in range(499)])
    found = hyperball(path, rng=rng(), most_visits=300 * (499 + 500))
    assert (found.iterations, found.converged) == (300, False)
