"""PageRank reaches its limit by every method, and its error bound holds."""

import gzip
from collections.abc import Callable
from itertools import product
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.ranks.pagerank import Dangling, Method, PageRankOptions, inverse_pagerank, pagerank
from minicrawl.report.store_graph import opened
from tests.graph.graphs import graph_of, networkx_of, random_graph
from tests.ranks.graphs import (
    DEGENERATE,
    NODES,
    Pairs,
    dense,
    fixpoint,
    some_links,
    some_weights,
    through_virtual_page,
)

TIGHT = 1e-12
WAYS = [(method, lazy) for method in Method for lazy in (False, True)]
some_jumps = st.lists(st.integers(0, 5), min_size=NODES, max_size=NODES).filter(any)
A_TO_D = [(0, 2), (1, 2), (2, 3), (3, 0), (3, 1)]


def limit(
    graph: Csr,
    teleport: NDArray[np.float64],
    dangling: Dangling,
    weights: NDArray[np.float32] | None = None,
    damping: float = 0.85,
) -> NDArray[np.float64]:
    """Solve x = G x by elimination."""
    n = graph.nodes
    matrix, jumps = dense(graph, weights), teleport / teleport.sum()
    out = matrix.sum(axis=1, keepdims=True)
    to_all = np.full(n, 1 / n)
    lost = jumps if dangling is Dangling.TELEPORT else to_all
    kept = np.where(out > 0, matrix / np.where(out > 0, out, 1), lost)
    found: NDArray[np.float64] = np.linalg.solve(
        np.eye(n) - damping * kept.T,
        (1 - damping) * (to_all if dangling is Dangling.VIRTUAL else jumps),
    )
    return found


def scaled_to_length_1(values: NDArray[np.floating]) -> list[float]:
    found: list[float] = (values / np.linalg.norm(values)).round(4).tolist()
    return found


# ---------------------------------------------------------------- by hand


@pytest.mark.parametrize(("method", "lazy"), WAYS)
def test_the_example_of_four_pages_has_all_its_digits(method: Method, lazy: bool) -> None:
    options = PageRankOptions(damping=0.8, method=method, lazy=lazy, tolerance=TIGHT)
    found = pagerank(graph_of(4, A_TO_D), options=options)
    assert found.values.round(6).tolist() == [0.176230, 0.176230, 0.331967, 0.315574]
    by_length = found.values / np.linalg.norm(found.values)
    assert by_length.round(6).tolist() == [0.337965, 0.337965, 0.636632, 0.605193]


def test_pages_of_a_cycle_are_equal_and_collusion_pays() -> None:
    options = PageRankOptions(damping=0.8, tolerance=TIGHT)
    circle = [(0, 1), (1, 2), (2, 0)]
    assert scaled_to_length_1(pagerank(graph_of(3, circle), options=options).values) == [0.5774] * 3
    colluding = pagerank(graph_of(3, [*circle, (2, 1)]), options=options)
    assert scaled_to_length_1(colluding.values) == [0.3707, 0.6672, 0.6461]


def test_inverse_pagerank_follows_links_backwards() -> None:
    """Backwards, 0 -> 1 and 0 -> 2 are 1 -> 0 and 2 -> 0."""
    found = inverse_pagerank(
        graph_of(3, [(0, 1), (0, 2)]), options=PageRankOptions(tolerance=TIGHT)
    )
    assert found.values == pytest.approx(np.array([2.7, 1, 1]) / 4.7)


def test_links_followed_backwards_keep_their_weights() -> None:
    graph, weights = graph_of(3, [(0, 2), (1, 2)]), np.array([3, 1], dtype=np.float32)
    found = inverse_pagerank(graph, weights, options=PageRankOptions(tolerance=TIGHT))
    assert found.values == pytest.approx(np.array([1 + 0.85 * 0.75, 1 + 0.85 * 0.25, 1]) / 3.85)


# ---------------------------------------------------------------- oracles


@given(some_links, some_jumps, st.sampled_from(Dangling), st.sampled_from(WAYS))
def test_scores_solve_the_equation_within_their_bound(
    pairs: Pairs, jumps: list[int], dangling: Dangling, way: tuple[Method, bool]
) -> None:
    graph, teleport = graph_of(NODES, pairs), np.array(jumps, dtype=np.float64)
    given_jumps = None if dangling is Dangling.VIRTUAL else teleport
    for tolerance in (1e-2, 1e-5, TIGHT):
        options = PageRankOptions(
            dangling=dangling, method=way[0], lazy=way[1], tolerance=tolerance
        )
        found = pagerank(graph, options=options, teleport=given_jumps)
        off = np.abs(found.values - limit(graph, teleport, dangling)).sum()
        assert off <= found.error_bound <= tolerance
        assert found.converged
        assert found.values.sum() == pytest.approx(1)


@given(some_links, some_weights, st.sampled_from(Method))
def test_links_count_by_their_weight(pairs: Pairs, numbers: list[int], method: Method) -> None:
    graph = graph_of(NODES, pairs)
    weights = np.array(numbers[: graph.edges], dtype=np.float32)
    found = pagerank(graph, weights, options=PageRankOptions(method=method, tolerance=TIGHT))
    wanted = limit(graph, np.ones(NODES), Dangling.UNIFORM, weights)
    assert found.values == pytest.approx(wanted, abs=1e-9)


@given(some_links)
def test_scores_agree_with_networkx(pairs: Pairs) -> None:
    wanted = networkx.pagerank(networkx_of(NODES, pairs), tol=1e-13, max_iter=1000)
    found = pagerank(graph_of(NODES, pairs), options=PageRankOptions(tolerance=TIGHT))
    assert found.values == pytest.approx([wanted[node] for node in range(NODES)], abs=1e-10)


@given(some_links, st.sampled_from([None, 0.3, 0.85]), st.sampled_from(Method))
def test_the_virtual_page_is_that_of_opic(
    pairs: Pairs, damping: float | None, method: Method
) -> None:
    graph = graph_of(NODES, pairs)
    options = PageRankOptions(
        damping=damping, dangling=Dangling.VIRTUAL, method=method, tolerance=TIGHT
    )
    step = through_virtual_page(graph, None if damping is None else 1 - damping)
    assert pagerank(graph, options=options).values == pytest.approx(fixpoint(step), abs=1e-9)


@given(some_links, st.sampled_from(Method))
def test_a_start_at_the_limit_takes_one_iteration_at_most(pairs: Pairs, method: Method) -> None:
    graph = graph_of(NODES, pairs)
    options = PageRankOptions(method=method)
    found = pagerank(graph, options=options)
    again = pagerank(graph, options=options, start=found.values)
    assert again.iterations <= 1
    assert again.values == pytest.approx(found.values, abs=1e-8)


@given(some_links)
def test_weights_of_1_change_nothing_with_the_virtual_page(pairs: Pairs) -> None:
    graph = graph_of(NODES, pairs)
    options = PageRankOptions(damping=None, dangling=Dangling.VIRTUAL)
    weighted = pagerank(graph, np.ones(graph.edges, dtype=np.float32), options=options)
    assert weighted.values == pytest.approx(pagerank(graph, options=options).values)


# ---------------------------------------------------------------- what is promised


@pytest.mark.parametrize(("name", "way", "dangling"), list(product(DEGENERATE, WAYS, Dangling)))
def test_scores_sum_to_1_in_any_graph(
    name: str, way: tuple[Method, bool], dangling: Dangling
) -> None:
    nodes, pairs = DEGENERATE[name]
    options = PageRankOptions(dangling=dangling, method=way[0], lazy=way[1])
    found = pagerank(graph_of(nodes, pairs), options=options)
    assert len(found.values) == nodes
    assert found.converged
    assert found.values.sum() == pytest.approx(1 if nodes else 0)


@pytest.mark.parametrize("method", Method)
def test_few_iterations_claim_no_convergence(method: Method) -> None:
    graph = random_graph(300, 1200)
    short = pagerank(graph, options=PageRankOptions(method=method, most_iterations=2))
    assert (short.iterations, short.converged) == (2, False)
    off = np.abs(short.values - limit(graph, np.ones(300), Dangling.UNIFORM)).sum()
    assert 0 < off <= short.error_bound


@pytest.mark.parametrize("method", Method)
@pytest.mark.parametrize(("precision", "within"), [("single", 1e-4), ("double", 1e-12)])
def test_no_error_below_rounding_is_claimed(method: Method, precision: str, within: float) -> None:
    graph = random_graph(300, 1200)
    options = PageRankOptions(method=method, precision=precision, tolerance=1e-15)
    found = pagerank(graph, options=options)
    assert found.values.itemsize == {"single": 4, "double": 8}[precision]
    assert not found.converged
    assert found.iterations < options.most_iterations
    off = np.abs(found.values - limit(graph, np.ones(300), Dangling.UNIFORM)).sum()
    assert off <= found.error_bound <= within


@pytest.mark.parametrize("method", Method)
def test_links_of_several_blocks_give_the_limit(method: Method) -> None:
    graph = random_graph(1000, 300_000)
    found = pagerank(graph, options=PageRankOptions(method=method, tolerance=TIGHT))
    assert found.values == pytest.approx(limit(graph, np.ones(1000), Dangling.UNIFORM), abs=1e-12)


@pytest.mark.parametrize("method", Method)
def test_without_links_only_jumps_count(method: Method) -> None:
    found = pagerank(
        graph_of(4, []), options=PageRankOptions(method=method), teleport=np.array([1.0, 0, 0, 1])
    )
    assert found.converged
    assert found.values == pytest.approx([0.2875, 0.2125, 0.2125, 0.2875])


def with_closed_pairs(nodes: int, links: int, circles: int) -> Csr:
    """Build a random graph whose last nodes link to each other in pairs, and to no other node."""
    rng, first = np.random.default_rng(nodes), nodes - 2 * circles
    pairs = np.arange(first, nodes).reshape(-1, 2)
    return Csr.from_edges(
        nodes,
        np.concatenate((rng.integers(0, first, links), pairs[:, 0], pairs[:, 1])),
        np.concatenate((rng.integers(0, nodes, links), pairs[:, 1], pairs[:, 0])),
    )


@pytest.mark.parametrize("lazy", [False, True])
def test_closed_pairs_take_gauss_seidel_less_than_half_the_rounds(lazy: bool) -> None:
    graph, jumps = with_closed_pairs(500, 4000, 10), np.arange(500.0)
    wanted = limit(graph, jumps, Dangling.UNIFORM)
    rounds = {}
    for method in (Method.POWER, Method.GAUSS_SEIDEL):
        options = PageRankOptions(method=method, lazy=lazy)
        found = pagerank(graph, options=options, teleport=jumps)
        assert np.abs(found.values - wanted).sum() <= found.error_bound <= options.tolerance
        rounds[method] = found.iterations
    assert rounds[Method.GAUSS_SEIDEL] < rounds[Method.POWER] / 2


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("dangling", [Dangling.UNIFORM, Dangling.TELEPORT])
def test_the_bound_holds_with_few_links_and_one_target_of_jumps(
    dangling: Dangling, lazy: bool
) -> None:
    graph, jumps = with_closed_pairs(136, 14, 5), np.eye(136)[0]
    for method in Method:
        options = PageRankOptions(method=method, dangling=dangling, lazy=lazy, tolerance=1e-6)
        found = pagerank(graph, options=options, teleport=jumps)
        off = np.abs(found.values - limit(graph, jumps, dangling)).sum()
        assert off <= found.error_bound <= options.tolerance


def test_progress_rises_to_1() -> None:
    told: list[float] = []
    pagerank(random_graph(300, 1200), tell=told.append)
    assert told == sorted(told)
    assert told[-1] == 1


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"damping": 1.0}, "damping must be 0 or more and below 1, not 1.0"),
        ({"damping": -0.1}, "damping must be 0 or more"),
        ({"damping": None}, "needs the virtual page"),
        ({"tolerance": 0.0}, "the tolerance must be above 0"),
        ({"most_iterations": 0}, "at least 1 round"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pagerank(graph_of(2, [(0, 1)]), options=PageRankOptions(**options))  # type: ignore[arg-type]  # they are its fields


@pytest.mark.parametrize("jumps", [[0, 0], [1, -1], [np.nan, 1], [np.inf, 1]])
def test_jumps_without_a_positive_sum_are_refused(jumps: list[float]) -> None:
    with pytest.raises(UsageError, match="at least one above 0"):
        pagerank(graph_of(2, [(0, 1)]), teleport=np.array(jumps))


def test_the_virtual_page_takes_no_teleport() -> None:
    with pytest.raises(UsageError, match="links to all pages"):
        pagerank(
            graph_of(2, [(0, 1)]),
            options=PageRankOptions(dangling=Dangling.VIRTUAL),
            teleport=np.array([1.0, 0.0]),
        )


# ---------------------------------------------------------------- real graphs


@pytest.mark.parametrize("method", Method)
def test_hollins_has_its_known_ranks(shared_graph: Callable[[str], Path], method: Method) -> None:
    with gzip.open(shared_graph("hollins.dat.gz"), "rt", errors="replace") as lines:
        nodes, links, _ = map(int, next(lines).split())
        ends = [line.split() for line in lines][nodes:]
    assert len(ends) == links
    graph = graph_of(nodes, [(int(a) - 1, int(b) - 1) for a, b in ends])
    values = pagerank(graph, options=PageRankOptions(method=method, tolerance=1e-10)).values
    assert (np.argsort(-values)[:3] + 1).tolist() == [2, 37, 38]
    assert values[[1, 36, 37]] == pytest.approx([0.0198788, 0.00928762, 0.00861039], rel=1e-5)


def test_cnr_2000_has_its_known_ranks(shared_graph: Callable[[str], Path]) -> None:
    with opened(Path("unused"), shared_graph("cnr-2000.edges.txt.gz")) as source:
        named = source.graph
    values = pagerank(named.graph).values
    best = np.argsort(-values)[:3]
    assert set(named.names.of(best.tolist())[:2]) == {"60595", "60597"}
    assert values[best] == pytest.approx([0.0177719, 0.0177719, 0.00750487], rel=1e-5)
