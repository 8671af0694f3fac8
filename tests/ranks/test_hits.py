"""HITS, its stable forms, communities, base sets, and guards."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.products import Adjacency, Vector
from minicrawl.ranks.communities import Community, by_deflation, by_destroying
from minicrawl.ranks.hits import (
    MOST_DIMENSIONS,
    Hits,
    base_set,
    hits,
    randomised,
    subspace,
    textbook,
)
from minicrawl.ranks.scores import FURTHEST, share_done
from minicrawl.ranks.singular_vectors import (
    Approximation,
    Pair,
    chord,
    leading,
    length,
    pairs,
    scores,
    unit,
)
from tests.graph.graphs import graph_of, links_of, random_graph
from tests.ranks.graphs import (
    DEGENERATE,
    NODES,
    Matrix,
    Pairs,
    a_node,
    dense,
    fixpoint,
    named,
    some_links,
    some_weights,
)


def shares(numbers: Matrix) -> Matrix:
    found: Matrix = numbers / numbers.sum() if numbers.any() else np.full(len(numbers), 1 / NODES)
    return found


def all_of(matrix: Matrix, start: Vector, most_images: int = 16) -> list[Approximation]:
    found = []
    for approximation in leading(lambda x: matrix @ x, start, most_images=most_images):
        found.append(approximation)
        if approximation.sine < 1e-12:
            break
    return found


def symmetric(size: int, seed: int) -> Matrix:
    half = np.random.default_rng(seed).random((size, size))
    return half.T @ half


def sine_between(x: Vector, y: Vector) -> float:
    """Sine of the angle between two unit vectors of either sign."""
    return float(length(x - (x @ y) * y))


@given(st.integers(2, 30), st.integers(0, 1000), st.sampled_from([3, 5, 16]))
def test_the_last_bound_holds(size: int, seed: int, room: int) -> None:
    matrix = symmetric(size, seed)
    values, vectors = np.linalg.eigh(matrix)
    last = all_of(matrix, np.ones(size), room)[-1]
    assert last.value == pytest.approx(values[-1])
    assert last.value <= values[-1] * (1 + 1e-12)
    assert sine_between(last.vector(), vectors[:, -1]) <= last.sine + 1e-12


def test_a_vector_takes_fewer_products_than_by_plain_iteration() -> None:
    matrix = np.diag(np.append(np.linspace(0, 0.9, 50), 1.0))
    found = all_of(matrix, np.ones(51))
    assert len(found) < 0.4 * np.log(1e-12) / np.log(0.9)


TWINS: Pairs = [(0, 1), (0, 2), (3, 4), (3, 5)]


def found_of(links: Adjacency, count: int) -> list[Pair]:
    rng = np.random.default_rng(1)
    return list(pairs(links, count, rng, tolerance=1e-9, most_steps=500))


def test_a_double_eigenvalue_is_found_twice() -> None:
    found = found_of(Adjacency(graph_of(6, TWINS)), 5)
    assert [each.value for each in found] == pytest.approx([2, 2])
    assert found[0].authorities @ found[1].authorities == pytest.approx(0)


@pytest.mark.slow
@given(some_links, some_weights)
@example([(0, 5), (1, 0), (1, 2)], [2, 1, 4])  # the first candidate is not precise enough
def test_pairs_are_singular_vectors(links_of: Pairs, weights: list[int]) -> None:
    graph = graph_of(NODES, links_of)
    weighed = np.array(weights[: graph.edges], dtype=np.float32)
    matrix = dense(graph, weighed)
    wanted = [value**2 for value in np.linalg.svd(matrix, compute_uv=False)]
    found = found_of(Adjacency(graph, weighed), NODES)
    values = [each.value for each in found]
    assert values == pytest.approx(wanted[: len(values)], abs=1e-6)
    assert wanted[len(values) :] == pytest.approx([0] * (NODES - len(values)), abs=1e-6)
    for each in found:
        assert matrix.T @ (matrix @ each.authorities) == pytest.approx(
            each.value * each.authorities, abs=1e-5 * wanted[0]
        )
        assert matrix @ each.authorities == pytest.approx(
            each.value**0.5 * each.hubs, abs=1e-5 * wanted[0]
        )
        assert each.authorities.max() >= -each.authorities.min()


def test_entries_of_one_sign_have_a_larger_error_bound() -> None:
    _, second = found_of(Adjacency(random_graph(50, 200)), 2)
    positive = np.maximum(second.authorities, 0)
    one, both = (
        scores(x, second.sine, second.steps, 1e-6) for x in (positive, np.abs(second.authorities))
    )
    assert one.error_bound > both.error_bound


def test_a_chord_is_twice_the_sine_of_half_the_angle() -> None:
    assert chord(1.0) == pytest.approx(2**0.5)
    assert chord(1e-9) == pytest.approx(1e-9)


@pytest.mark.parametrize(
    ("error", "share"), [(2.0, 0.0), (1.0, 0.0), (1e-4, 0.5), (1e-8, 1.0), (0.0, 1.0)]
)
def test_progress_counts_each_power_of_ten_alike(error: float, share: float) -> None:
    assert share_done(error, 1e-8) == pytest.approx(share)


# q1, q2, q3, p1, p2: edges q1→p1, q1→p2, q2→p1, q3→p1, q3→p2, p1→q1
KLEINBERGS = graph_of(5, [(0, 3), (0, 4), (1, 3), (2, 3), (2, 4), (3, 0)])
TYRANNY: Pairs = [(1, 4), (2, 4), (3, 4), (2, 5), (6, 8), (7, 8)]


def unit_vectors(found: Hits) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return unit(found.authorities.values), unit(found.hubs.values)


def truth(graph: Csr, weights: NDArray[np.float32] | None = None) -> NDArray[np.float64]:
    """Limit of HITS: the projection of the in-degrees onto the leading eigenvectors."""
    matrix = dense(graph, weights)
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    best = vectors[:, values > values[-1] * (1 - 1e-9)]
    limit: NDArray[np.float64] = np.abs(best @ (best.T @ matrix.sum(axis=0)))
    return limit


class TestWorkedNumbers:
    def test_the_tyranny_of_the_majority(self) -> None:
        a, h = unit_vectors(hits(graph_of(9, TYRANNY)))
        assert a == pytest.approx([0, 0, 0, 0, 0.9239, 0.3827, 0, 0, 0], abs=5e-5)
        assert h == pytest.approx([0, 0.5, 0.7071, 0.5, 0, 0, 0, 0, 0], abs=5e-5)


class TestLimit:
    @given(some_links, some_weights)
    def test_authorities_are_the_leading_eigenvector(
        self, pairs: Pairs, weights: list[int]
    ) -> None:
        graph = graph_of(NODES, pairs)
        weighed = np.array(weights[: graph.edges], dtype=np.float32)
        for chosen in (None, weighed):
            found = hits(graph, chosen)
            wanted = shares(truth(graph, chosen))
            assert found.authorities.values == pytest.approx(wanted, abs=1e-7)

    def test_many_rounds_reach_the_limit(self) -> None:
        graph = random_graph(300, 1500)
        limit, rounds = hits(graph), textbook(graph, rounds=300)
        assert limit.converged
        assert rounds.authorities.values == pytest.approx(limit.authorities.values, abs=1e-9)
        assert rounds.hubs.values == pytest.approx(limit.hubs.values, abs=1e-9)


class TestErrors:
    @pytest.mark.slow
    @given(st.integers(0, 200), st.sampled_from([1e-2, 1e-5, 1e-9]))
    def test_the_error_is_below_its_bound_and_what_was_asked_for(
        self, seed: int, tolerance: float
    ) -> None:
        graph = random_graph(60, 240, seed)
        found = hits(graph, tolerance=tolerance)
        error = np.abs(found.authorities.values - shares(truth(graph))).sum()
        assert error <= found.authorities.error_bound + 1e-12
        assert found.authorities.error_bound <= tolerance
        assert found.converged

    def test_an_error_of_0_is_never_claimed(self) -> None:
        found = hits(KLEINBERGS, tolerance=0.0)
        assert 0 < found.hubs.error_bound < 1e-12
        assert not found.converged


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def one_way(matrix: Matrix, restart: float) -> Matrix:
    """Transition matrix of the surfer along the links of `matrix`."""
    out = matrix.sum(axis=1, keepdims=True)
    moves = np.where(out > 0, matrix / np.where(out > 0, out, 1), 1 / len(matrix))
    return (1 - restart) * moves + restart / len(matrix)


class TestRandomised:
    @given(some_links, some_weights, st.sampled_from([0.05, 0.3, 1.0]))
    def test_authorities_are_the_stationary_distribution_of_the_surfer(
        self, pairs: Pairs, weights: list[int], restart: float
    ) -> None:
        graph = graph_of(NODES, pairs)
        weighed = np.array(weights[: graph.edges], dtype=np.float32)
        matrix = dense(graph, weighed)
        there, back = one_way(matrix, restart), one_way(matrix.T, restart)
        wanted = fixpoint(back @ there)
        found = randomised(graph, weighed, restart=restart)
        assert found.converged
        assert found.authorities.values == pytest.approx(wanted, abs=1e-7)
        assert found.hubs.values == pytest.approx(wanted @ back, abs=1e-7)

    @given(st.integers(0, 50), st.sampled_from([1e-1, 1e-3]))
    def test_the_error_bound_holds(self, seed: int, tolerance: float) -> None:
        graph = random_graph(30, 60, seed)
        rough = randomised(graph, restart=0.1, tolerance=tolerance)
        fine = randomised(graph, restart=0.1, tolerance=1e-13)
        for one, other in ((rough.authorities, fine.authorities), (rough.hubs, fine.hubs)):
            assert np.abs(one.values - other.values).sum() <= one.error_bound <= tolerance


class TestSubspace:
    def test_one_dimension_is_hits_squared(self) -> None:
        graph = random_graph(100, 500)
        found = subspace(graph, rng=rng(), size=1)
        wanted = shares(hits(graph).authorities.values.astype(np.float64) ** 2)
        assert found.converged
        assert found.authorities.values == pytest.approx(wanted, abs=1e-9)

    @pytest.mark.large
    @given(some_links, some_weights, st.integers(1, NODES))
    def test_scores_agree_with_the_singular_vectors(
        self, pairs: Pairs, weights: list[int], size: int
    ) -> None:
        graph = graph_of(NODES, pairs)
        weighed = np.array(weights[: graph.edges], dtype=np.float32)
        found = subspace(graph, weighed, rng=rng(), size=size)
        assert found.authorities.values.sum() == pytest.approx(1)
        _, values, rows = np.linalg.svd(dense(graph, weighed))
        if pairs and found.converged:
            wanted = (values[:size, None] ** 4 * rows[:size] ** 2).sum(axis=0)
            assert found.authorities.values == pytest.approx(shares(wanted), abs=1e-6)

    def test_an_ambiguous_subspace_claims_no_convergence(self) -> None:
        twins = graph_of(4, [(0, 1), (2, 3)])
        found = subspace(twins, rng=rng(), size=1)
        assert found.authorities.error_bound == FURTHEST
        assert not found.converged
        assert subspace(twins, rng=rng(), size=2).converged

    def test_more_dimensions_than_the_rank_give_the_whole_space(self) -> None:
        """In the whole space authorities are the diagonal of (AᵀA)²."""
        graph = graph_of(7, [(0, 1), (0, 2), (0, 3), (4, 5), (4, 6)])
        found = subspace(graph, rng=rng(), size=MOST_DIMENSIONS)
        links = dense(graph, np.ones(graph.edges, dtype=np.float32))
        wanted = np.diag(np.linalg.matrix_power(links.T @ links, 2))
        assert found.converged
        assert found.authorities.values == pytest.approx(shares(wanted))


def by_subspace(graph: Csr) -> Hits:
    return subspace(graph, rng=rng())


def distance(form: Callable[[Csr], Hits], graph: Csr, other: Csr) -> float:
    one: Matrix = form(graph).authorities.values.astype(np.float64)
    return float(np.abs(one - form(other).authorities.values).sum())


def test_a_link_that_overturns_hits_does_not_overturn_the_stable_forms() -> None:
    """One link decides which of two communities is the larger."""
    small = [(hub, 10 + page) for hub in range(5) for page in range(5)]
    large = [(20 + hub, 30 + page) for hub in range(5) for page in range(5)]
    one = graph_of(40, [*small[:-1], *large])
    other = graph_of(40, [*small, *large[:-1]])
    assert distance(hits, one, other) == pytest.approx(FURTHEST)
    assert distance(randomised, one, other) < 0.2
    assert distance(by_subspace, one, other) < 0.4


# Hub 0 has three authorities, hub 4 has two, hub 7 one.
STARS: Pairs = [(0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (7, 8)]


def deflated(graph: Csr, count: int) -> list[Community]:
    return list(by_deflation(graph, count=count, rng=np.random.default_rng(1)))


def members(community: Community) -> list[int]:
    return np.flatnonzero(community.hits.authorities.values > 1e-6).tolist()


def test_destroying_finds_one_star_after_the_other() -> None:
    found = list(by_destroying(graph_of(9, STARS), count=5))
    assert [members(each) for each in found] == [[1, 2, 3], [5, 6], [8]]
    assert [each.number for each in found] == [1, 2, 3]


def test_only_the_largest_lose_their_links() -> None:
    graph = graph_of(5, [(0, 2), (1, 2), (0, 3), (4, 3)])
    first, second = by_destroying(graph, count=2, largest=1)
    best = int(np.argmax(first.hits.authorities.values))
    assert second.hits.authorities.values[best] == 0


def test_destroying_heeds_weights() -> None:
    graph, weights = graph_of(4, [(0, 1), (2, 3)]), np.array([1, 5], dtype=np.float32)
    found = list(by_destroying(graph, weights, count=2))
    assert [members(each) for each in found] == [[3], [1]]


def test_either_sign_of_an_eigenvector_is_a_community() -> None:
    """Two communities that share the hub 4: the second vector tells them apart."""
    graph = graph_of(8, [(0, 1), (0, 2), (4, 1), (4, 2), (4, 5), (4, 6), (7, 5), (7, 6)])
    first, plus, minus = deflated(graph, 2)
    assert members(first) == [1, 2, 5, 6]
    assert (plus.number, plus.sign, minus.number, minus.sign) == (2, "+", 2, "-")
    assert sorted([members(plus), members(minus)]) == [[1, 2], [5, 6]]


def test_communities_are_the_eigenvectors_that_numpy_finds() -> None:
    graph = random_graph(60, 240)
    vectors = np.linalg.svd(dense(graph))[2]
    found = deflated(graph, 3)
    assert [each.number for each in found] == [1, 2, 2, 3, 3]
    for each in found:
        vector = vectors[each.number - 1]
        # An eigenvector has no sign of its own: "+" is the sign of its largest entry.
        is_turned = (vector[np.abs(vector).argmax()] < 0) == (each.sign == "+")
        part = np.maximum(-vector if is_turned else vector, 0)
        assert each.hits.authorities.values == pytest.approx(part / part.sum(), abs=1e-5)
        assert each.hits.converged


@pytest.mark.parametrize("name", DEGENERATE)
def test_scores_sum_to_one_in_any_graph(name: str) -> None:
    graph = graph_of(*DEGENERATE[name])
    limit, others = hits(graph), [textbook(graph, rounds=60), randomised(graph), by_subspace(graph)]
    assert limit.converged
    for communities in (deflated(graph, 3), list(by_destroying(graph, count=3))):
        assert bool(communities) == bool(graph.edges)
        others += [each.hits for each in communities]
    for found in (limit, *others):
        for one in (found.authorities, found.hubs):
            assert (one.values >= 0).all()
            assert one.values.sum() == pytest.approx(1 if graph.nodes else 0)


def test_few_steps_claim_no_convergence() -> None:
    graph = random_graph(300, 1500)
    for found in (hits(graph, most_steps=2), randomised(graph, most_iterations=2)):
        assert found.authorities.iterations == 2
        assert found.authorities.error_bound > 1e-3
        assert not found.converged


PAGES = [f"http://host{page}.org/" for page in range(NODES)]


@given(some_links, some_weights, st.sets(a_node, min_size=1, max_size=3), st.integers(0, 3))
def test_a_base_set_has_the_targets_of_its_roots_and_the_first_pages_that_link_to_each(
    pairs: Pairs, weights: list[int], roots: set[int], linking: int
) -> None:
    wanted = roots | {target for source, target in pairs if source in roots}
    for root in roots:
        wanted.update([source for source, target in pairs if target == root][:linking])
    found = base_set(named(PAGES, pairs, weights[: len(pairs)]), sorted(roots), linking).named
    pages = [PAGES.index(name) for name in found.names.of(range(len(found.names)))]
    assert pages == sorted(wanted)
    assert found.weights is not None
    ends = [(pages[source], pages[target]) for source, target in links_of(found.graph)]
    weighed = zip(pairs, weights, strict=False)
    inside = {link: weight for link, weight in weighed if {*link} <= wanted}
    assert dict(zip(ends, found.weights.tolist(), strict=True)) == inside


def test_pages_outside_have_no_score() -> None:
    base = base_set(named(PAGES, [(0, 1), (1, 2), (3, 0), (4, 0), (5, 0), (1, 3)]), [0])
    found = base.over_all(hits(base.named.graph).authorities, NODES)
    assert found.values.sum() == pytest.approx(1)
    assert np.flatnonzero(found.values > 1e-9).tolist() == [0]
    assert found.converged
