"""PageRank by topics, by recency, and without dangling pages."""

from collections import Counter

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import UsageError
from minicrawl.ranks.pagerank import (
    Dangling,
    PageRankOptions,
    favouring_recent,
    mixture,
    pagerank,
    parts_by_words,
    teleport,
    topic_ranks,
    without_dangling,
)
from minicrawl.web.words import parts_by_counts
from tests.graph.graphs import graph_of, links_of
from tests.ranks.graphs import NODES, Pairs, a_node, some_links

TIGHT = PageRankOptions(tolerance=1e-12)
some_nodes = st.lists(a_node, min_size=1, max_size=4)


@given(some_links, some_nodes, some_nodes, st.integers(0, 9))
def test_the_mixture_of_ranks_is_the_rank_of_the_mixture(
    pairs: Pairs, first: list[int], second: list[int], tenths: int
) -> None:
    graph = graph_of(NODES, pairs)
    ranks = topic_ranks(graph, {"a": first, "b": second}, options=TIGHT)
    mixed = mixture(ranks, {"a": tenths, "b": 10 - tenths})
    jumps = [teleport(NODES, nodes) / len(set(nodes)) for nodes in (first, second)]
    wanted = pagerank(
        graph, options=TIGHT, teleport=tenths / 10 * jumps[0] + (1 - tenths / 10) * jumps[1]
    )
    assert np.abs(mixed.values - wanted.values).sum() <= mixed.error_bound + wanted.error_bound
    assert mixed.converged


def test_each_topic_is_a_rank_of_its_own() -> None:
    graph = graph_of(3, [(0, 1), (1, 0), (2, 0)])
    ranks = topic_ranks(graph, {"left": [0], "right": [2, 2]}, options=TIGHT)
    assert list(ranks) == ["left", "right"]
    for name, nodes in (("left", [0]), ("right", [2])):
        wanted = pagerank(graph, options=TIGHT, teleport=teleport(3, nodes))
        assert ranks[name].values == pytest.approx(wanted.values)


def test_the_virtual_page_has_no_topics() -> None:
    with pytest.raises(UsageError, match="has no topics"):
        topic_ranks(graph_of(1, []), {"a": [0]}, options=PageRankOptions(dangling=Dangling.VIRTUAL))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"c": 1.0}, "no topic 'c'; there are a, b"),
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


def test_topics_mix_by_the_likelihood_of_the_query() -> None:
    texts = {"sea": ["The Harbour", "harbour-museum"], "land": ["the garden", "a MUSEUM garden"]}
    # The sea has the harbour harbour museum, land the garden a museum garden: 5 different words.
    sea, land = (2 + 1) / (4 + 5) * (1 + 1) / (4 + 5), (0 + 1) / (5 + 5) * (1 + 1) / (5 + 5)
    found = parts_by_words(texts, "Harbour museum")
    assert found == pytest.approx({"sea": sea / (sea + land), "land": land / (sea + land)})


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
    with pytest.raises(UsageError, match="the times of their changes are unknown"):
        favouring_recent(np.array([np.nan, np.nan]), 7)


def test_recently_changed_pages_rank_higher() -> None:
    graph = graph_of(4, [(0, 1), (1, 0), (2, 3), (3, 2)])
    jumps = favouring_recent(np.array([0.0, 0, 30, 30]), 30)
    found = pagerank(graph, teleport=jumps, options=TIGHT)
    assert found.values == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 6])


# ---------------------------------------------------------------- pages that dangle, left out


def test_a_dangling_chain_comes_back_page_by_page() -> None:
    # 0 <-> 1, 1 -> 2 -> 3: page 3 dangles, and without it page 2.
    found = without_dangling(graph_of(4, [(0, 1), (1, 0), (1, 2), (2, 3)]), rounds=9, options=TIGHT)
    second = 0.15 / 2 + 0.85 * 0.5 / 2
    third = 0.15 / 2 + 0.85 * second
    values = np.array([0.5, 0.5, second, third])
    assert found.values == pytest.approx(values / values.sum())


def test_one_round_leaves_out_only_pages_that_dangle_at_first() -> None:
    links = [(0, 1), (1, 0), (1, 2), (2, 3)]
    found = without_dangling(graph_of(4, links), rounds=1, options=TIGHT)
    rest = pagerank(graph_of(3, links[:3]), options=TIGHT).values
    values = np.append(rest, 0.15 / 3 + 0.85 * rest[2])
    assert found.values == pytest.approx(values / values.sum())


def test_without_dangling_pages_scores_are_pagerank() -> None:
    graph = graph_of(3, [(0, 1), (1, 2), (2, 0), (0, 2)])
    found = without_dangling(graph, rounds=9, options=TIGHT)
    assert found.values == pytest.approx(pagerank(graph, options=TIGHT).values)


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
