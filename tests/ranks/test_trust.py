"""Trust that passes from seeds, and distrust that passes backwards from bad pages."""

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.errors import UsageError
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank
from minicrawl.ranks.pagerank_variants import (
    teleport,
)
from minicrawl.ranks.trust import (
    SEEDS_BY,
    Passing,
    TrustOptions,
    chosen_seeds,
    less_distrust,
    trust,
)
from tests.graph.graphs import graph_of, networkx_of
from tests.ranks.graphs import (
    DEGENERATE,
    NODES,
    Pairs,
    a_node,
    some_links,
)

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
