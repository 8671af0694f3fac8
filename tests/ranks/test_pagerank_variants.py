"""Variants of PageRank: backwards, by topics, with recent jumps, without dangling pages."""

from collections import Counter

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.errors import UsageError
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank
from minicrawl.ranks.pagerank_variants import (
    favouring_recent,
    inverse_pagerank,
    mixture,
    parts_by_words,
    teleport,
    topic_ranks,
    without_dangling,
)
from minicrawl.web.words import parts_by_counts
from tests.graph.graphs import graph_of, links_of
from tests.ranks.graphs import (
    NODES,
    Pairs,
    a_node,
    some_links,
)

TIGHT = 1e-12
TIGHTLY = PageRankOptions(tolerance=TIGHT)
some_nodes = st.lists(a_node, min_size=1, max_size=4)


def test_links_followed_backwards_keep_their_weights() -> None:
    graph, weights = graph_of(3, [(0, 2), (1, 2)]), np.array([3, 1], dtype=np.float32)
    found = inverse_pagerank(graph, weights, options=PageRankOptions(tolerance=TIGHT))
    assert found.values == pytest.approx(np.array([1 + 0.85 * 0.75, 1 + 0.85 * 0.25, 1]) / 3.85)


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
