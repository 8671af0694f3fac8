"""PageRank and its kin: limits, error bounds, topics, trust, and pages that dangle."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from minicrawl.ranks.pagerank import Dangling, Method, PageRankOptions, pagerank
from minicrawl.ranks.pagerank_variants import (
    favouring_recent,
    inverse_pagerank,
    mixture,
    parts_by_words,
    teleport,
    topic_ranks,
    without_dangling,
)
from minicrawl.ranks.trust import (
    SEEDS_BY,
    Passing,
    TrustOptions,
    chosen_seeds,
    less_distrust,
    trust,
)
from minicrawl.web.words import parts_by_counts
from tests.graph.graphs import graph_of, links_of, networkx_of, random_graph
from tests.ranks.graphs import (
    DEGENERATE,
    NODES,
    Pairs,
    a_node,
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


# ---------------------------------------------------------------- by hand


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


def test_links_followed_backwards_keep_their_weights() -> None:
    graph, weights = graph_of(3, [(0, 2), (1, 2)]), np.array([3, 1], dtype=np.float32)
    found = inverse_pagerank(graph, weights, options=PageRankOptions(tolerance=TIGHT))
    assert found.values == pytest.approx(np.array([1 + 0.85 * 0.75, 1 + 0.85 * 0.25, 1]) / 3.85)


# ---------------------------------------------------------------- oracles


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


# ---------------------------------------------------------------- what is refused


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


# ---------------------------------------------------------------- real graphs


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


TIGHTLY = PageRankOptions(tolerance=TIGHT)
some_nodes = st.lists(a_node, min_size=1, max_size=4)


@given(some_links, some_nodes, some_nodes, st.integers(0, 9))
def test_the_mixture_of_ranks_is_the_rank_of_the_mixture(
    pairs: Pairs, first: list[int], second: list[int], tenths: int
) -> None:
    graph = graph_of(NODES, pairs)
    ranks = topic_ranks(graph, {"a": first, "b": second}, options=TIGHTLY)
    mixed = mixture(ranks, {"a": tenths, "b": 10 - tenths})
    jumps = [teleport(NODES, nodes) / len(set(nodes)) for nodes in (first, second)]
    wanted = pagerank(
        graph, options=TIGHTLY, teleport=tenths / 10 * jumps[0] + (1 - tenths / 10) * jumps[1]
    )
    assert np.abs(mixed.values - wanted.values).sum() <= mixed.error_bound + wanted.error_bound
    assert mixed.converged


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"c": 1.0}, "'c'.*a, b"),
        ({"a": -1.0, "b": 2.0}, "0 or more"),
        ({"a": 0.0}, "above 0"),
        ({}, "above 0"),
    ],
)
def test_a_mixture_without_positive_parts_of_known_topics_is_refused(
    parts: dict[str, float], message: str
) -> None:
    ranks = topic_ranks(graph_of(2, [(0, 1)]), {"a": [0], "b": [1]})
    with pytest.raises(UsageError, match=message):
        mixture(ranks, parts)


def test_the_likelihood_of_a_long_query_does_not_underflow() -> None:
    found = parts_by_words({"a": ["x y"], "b": ["x"]}, "x " * 5000)
    assert found == pytest.approx({"a": 0, "b": 1})


@pytest.mark.parametrize("query", ["", "nowhere", "..."])
def test_a_query_without_a_word_of_any_topic_is_refused(query: str) -> None:
    with pytest.raises(UsageError, match="no topic has a word of"):
        parts_by_words({"a": ["x"]}, query)


def test_jumps_halve_with_each_half_life_and_unknown_ages_get_the_mean() -> None:
    ages = np.array([0.0, 7.0, 14.0, np.nan])
    assert favouring_recent(ages, 7).tolist() == [1, 1 / 2, 1 / 4, 1.75 / 3]


@pytest.mark.parametrize("half_life", [7, 1e-300])
def test_the_newest_weighs_1_however_old_it_is(half_life: float) -> None:
    assert favouring_recent(np.array([1000.0, 2000, np.nan]), half_life)[0] == 1


def test_ages_that_are_all_unknown_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown"):
        favouring_recent(np.array([np.nan, np.nan]), 7)


# ---------------------------------------------------------------- pages that dangle, left out


@pytest.mark.parametrize("nodes", [0, 1])
def test_graphs_that_dangle_whole_keep_their_scores(nodes: int) -> None:
    found = without_dangling(graph_of(nodes, []), rounds=9)
    assert found.values.tolist() == [1.0] * nodes
    assert found.converged


def test_one_more_link_leaves_no_dangling_page() -> None:
    with pytest.raises(UsageError, match="--one-more-link"):
        without_dangling(
            graph_of(2, [(0, 1)]),
            rounds=9,
            options=PageRankOptions(damping=None, dangling=Dangling.VIRTUAL),
        )


@given(some_links, st.data(), st.integers(1, 4))
def test_scores_agree_with_networkx_and_a_loop_over_the_links(
    pairs: Pairs, data: st.DataObject, rounds: int
) -> None:
    graph = graph_of(NODES, pairs)
    links = links_of(graph)
    drawn = data.draw(st.lists(st.integers(1, 3), min_size=len(links), max_size=len(links)))
    weight = dict(zip(links, drawn, strict=True))
    left, removed = set(range(NODES)), list[set[int]]()
    while len(removed) < rounds:
        dangling = {one for one in left if not any(a == one and b in left for a, b in links)}
        removed.append(dangling)
        left -= dangling
    oracle = networkx.DiGraph()
    oracle.add_nodes_from(sorted(left))
    oracle.add_weighted_edges_from((a, b, weight[a, b]) for a, b in links if {a, b} <= left)
    scores = networkx.pagerank(oracle, tol=1e-14, max_iter=2000)
    for nodes in reversed(removed):
        for node in nodes:
            scores[node] = 0.15 / (len(left) or NODES) + 0.85 * sum(
                scores[a] * weight[a, b] / sum(weight[x] for x in links if x[0] == a)
                for a, b in links
                if b == node
            )
    values = np.array([scores[node] for node in range(NODES)])
    weights = np.array(drawn, dtype=np.float32)
    found = without_dangling(graph, weights, rounds=rounds)
    assert found.values == pytest.approx(values / values.sum(), abs=1e-7)
    assert np.abs(found.values - values / values.sum()).sum() <= found.error_bound + 1e-10


def test_a_word_of_no_topic_counts_alike_for_all() -> None:
    counts = {"a": Counter("x"), "b": Counter("yyyy")}
    assert parts_by_counts(counts, ["z"]) == {"a": 0.5, "b": 0.5}
    found = parts_by_counts(counts, ["y", "z"])
    assert found["b"] > found["a"]


DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]


def shares(*numbers: float) -> list[float]:
    return [number / sum(numbers) for number in numbers]


@pytest.mark.parametrize(
    ("passing", "damping", "passes", "wanted", "converged"),
    [
        (Passing.SPLIT, 0.8, None, [1, 0.4, 0.4, 0.64, 0], True),
        (Passing.MAXIMUM, 0.5, None, [1, 0.5, 0.5, 0.25, 0], True),
        (Passing.SUM, 0.8, None, [1, 0.8, 0.8, 1, 0], False),  # no more than the trust of a seed
        (Passing.SPLIT, 0.5, 1, [1, 0.25, 0.25, 0, 0], False),
        (Passing.MAXIMUM, 0.5, 1, [1, 0.5, 0.5, 0, 0], False),
        (Passing.SUM, 0.5, 1, [1, 0.5, 0.5, 0, 0], False),
    ],
)
def test_trust_of_a_diamond_by_hand(
    passing: Passing, damping: float, passes: int | None, wanted: list[float], converged: bool
) -> None:
    options = TrustOptions(passing=passing, damping=damping, passes=passes)
    found = trust(graph_of(5, DIAMOND), [0], options=options)
    assert found.values == pytest.approx(shares(*wanted))
    assert found.converged is converged
    assert found.iterations == passes or passes is None


@given(some_links, st.lists(a_node, min_size=1, max_size=3))
def test_split_trust_is_pagerank_whose_jumps_lead_to_the_seeds(
    pairs: Pairs, seeds: list[int]
) -> None:
    graph = graph_of(NODES, pairs)
    options = PageRankOptions(dangling=Dangling.TELEPORT, tolerance=1e-12)
    wanted = pagerank(graph, options=options, teleport=teleport(NODES, seeds))
    assert trust(graph, seeds).values == pytest.approx(wanted.values, abs=1e-7)
    slowly = trust(graph, seeds, options=TrustOptions(passes=300))
    assert slowly.values == pytest.approx(wanted.values, abs=1e-9)


@pytest.mark.parametrize("name", sorted(set(DEGENERATE) - {"empty"}))
@pytest.mark.parametrize("passing", Passing)
def test_trust_sums_to_1_in_any_graph(name: str, passing: Passing) -> None:
    nodes, pairs = DEGENERATE[name]
    found = trust(graph_of(nodes, pairs), [0], options=TrustOptions(passing=passing))
    assert found.values.sum() == pytest.approx(1)
    assert (found.values >= 0).all()


@pytest.mark.parametrize(("by", "wanted"), [("inverse", 0), ("hubs", 0), ("pagerank", 3)])
def test_seeds_are_the_best_of_a_rank(by: str, wanted: int) -> None:
    assert by in SEEDS_BY
    graph = graph_of(4, [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)])
    assert chosen_seeds(graph, None, by, 1) == [wanted]


def test_trust_without_seeds_is_refused() -> None:
    with pytest.raises(UsageError, match="one trusted page"):
        trust(graph_of(2, [(0, 1)]), [])


def test_distrust_passes_backwards_from_bad_pages() -> None:
    found = less_distrust(graph_of(2, [(0, 1)]), [0], [1], options=TrustOptions(damping=0.0))
    assert found.values.tolist() == [1, 0]
    # 0 is trusted and links to 1 and 2; 2 links to 3, which is bad.
    graph = graph_of(4, [(0, 1), (0, 2), (2, 3)])
    terms = TrustOptions(passing=Passing.MAXIMUM, damping=0.5)
    trusted = np.array(shares(1, 0.5, 0.5, 0.25))
    distrusted = np.array(shares(0.25, 0, 0.5, 1))
    wanted = np.maximum(trusted - distrusted, 0)
    found = less_distrust(graph, [0], [3], options=terms)
    assert found.values == pytest.approx(wanted / wanted.sum())
    assert found.converged


@given(some_links, a_node, a_node)
def test_split_trust_less_distrust_is_what_two_walks_leave(
    pairs: Pairs, good: int, bad: int
) -> None:
    if good == bad:
        return
    graph = graph_of(NODES, pairs)
    oracle = networkx_of(NODES, pairs)

    def walked(links: networkx.DiGraph, seed: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        jumps = {seed: 1.0}
        found = networkx.pagerank(links, personalization=jumps, tol=1e-13, max_iter=1000)
        return np.array([found[node] for node in range(NODES)])

    wanted = np.maximum(walked(oracle, good) - walked(oracle.reverse(), bad), 0)
    found = less_distrust(graph, [good], [bad])
    if wanted.sum() > 1e-6:
        assert np.abs(found.values - wanted / wanted.sum()).sum() <= found.error_bound + 1e-5


def test_distrust_that_takes_all_trust_leaves_equal_scores() -> None:
    # Summed trust is 1 everywhere, and so is distrust.
    all_linked = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]
    terms = TrustOptions(passing=Passing.SUM, damping=0.99)
    both = less_distrust(graph_of(3, all_linked), [0], [1], options=terms)
    assert both.values.tolist() == [1 / 3, 1 / 3, 1 / 3]
    assert not both.converged


def test_a_page_that_is_trusted_and_bad_is_refused() -> None:
    with pytest.raises(UsageError, match=r"trusted .*bad"):
        less_distrust(graph_of(2, []), [0, 1], [1])
