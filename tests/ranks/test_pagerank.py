"""PageRank: its limit, its error bound, every graph, and real graphs with known numbers."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from minicrawl.ranks.pagerank import Dangling, Method, PageRankOptions, pagerank
from minicrawl.ranks.pagerank_variants import (
    topic_ranks,
)
from tests.graph.graphs import graph_of, random_graph
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


@pytest.mark.parametrize(("method", "lazy"), WAYS)
def test_the_example_of_four_pages_has_all_its_digits(method: Method, lazy: bool) -> None:
    options = PageRankOptions(damping=0.8, method=method, lazy=lazy, tolerance=TIGHT)
    found = pagerank(graph_of(4, A_TO_D), options=options)
    assert found.values.round(6).tolist() == [0.176230, 0.176230, 0.331967, 0.315574]


def test_pages_of_a_cycle_are_equal_and_collusion_pays() -> None:
    options = PageRankOptions(damping=0.8, tolerance=TIGHT)
    circle = [(0, 1), (1, 2), (2, 0)]
    for links, wanted in ((circle, [0.5774] * 3), ([*circle, (2, 1)], [0.3707, 0.6672, 0.6461])):
        found = pagerank(graph_of(3, links), options=options).values
        assert found / np.linalg.norm(found) == pytest.approx(wanted, abs=5e-5)


@pytest.mark.slow
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


@pytest.mark.parametrize("jumps", [[0, 0], [1, -1], [np.nan, 1], [np.inf, 1]])
def test_jumps_without_a_positive_sum_are_refused(jumps: list[float]) -> None:
    with pytest.raises(UsageError, match="at least one above 0"):
        pagerank(graph_of(2, [(0, 1)]), teleport=np.array(jumps))


def test_the_virtual_page_takes_no_teleport_and_no_topics() -> None:
    graph, options = graph_of(2, [(0, 1)]), PageRankOptions(dangling=Dangling.VIRTUAL)
    with pytest.raises(UsageError, match="links to all pages"):
        pagerank(graph, options=options, teleport=np.array([1.0, 0.0]))
    with pytest.raises(UsageError, match="no topics"):
        topic_ranks(graph, {"a": [0]}, options=options)


HOLLINS = {
    "http://www.hollins.edu/": 0.0198788,
    "http://www.hollins.edu/admissions/visit/visit.htm": 0.00928762,
    "http://www.hollins.edu/about/about_tour.htm": 0.00861039,
}
CNR = {"60595": 0.0177719, "60597": 0.0177719, "285152": 0.00750487}


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "silent", "best"),
    [
        ("hollins.dat.gz", 6012, 23_875, 0, HOLLINS),
        ("california.txt.gz", 9664, 16_150, 0, {"http://www.ucdavis.edu/": 0.00623135}),
        ("wikispeedia-links.tsv.gz", 4592, 119_882, 12, {"United_States": 0.00956108}),
        pytest.param("cnr-2000.edges.txt.gz", 325_557, 3_216_152, 0, CNR, marks=pytest.mark.proof),
    ],
)
def test_a_real_graph_has_its_known_numbers(
    name: str,
    nodes: int,
    edges: int,
    silent: int,
    best: dict[str, float],
    shared_graph: Callable[[str], Path],
) -> None:
    """Published numbers; silent nodes are in no link, so not in the file."""
    named = read(shared_graph(name))
    assert (named.graph.nodes, named.graph.edges, named.weights) == (nodes, edges, None)
    graph = Csr.from_edges(nodes + silent, named.graph.sources(), named.graph.targets)
    scores = pagerank(graph, options=PageRankOptions(tolerance=1e-10)).values
    found = [node for node in named.names.find(list(best)) if node is not None]
    assert sorted(np.argsort(-scores)[: len(best)].tolist()) == sorted(found)
    assert scores[found] == pytest.approx(list(best.values()), rel=1e-5)
