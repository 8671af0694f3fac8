"""The ranks of topics are those of their jumps, and mix as the jumps do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import UsageError
from minicrawl.ranks.walks.pagerank import PageRankOptions, pagerank
from minicrawl.ranks.walks.variants import (
    favouring_recent,
    mixture,
    parts_by_words,
    teleport,
    topic_ranks,
)
from minicrawl.ranks.walks.walk import Dangling
from tests.ranks.graphs import NODES, Pairs, a_node, graph_of, some_links

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


def test_the_virtual_page_knows_no_topics() -> None:
    with pytest.raises(UsageError, match="knows no topics"):
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
def test_a_mixture_of_nothing_is_refused(parts: dict[str, float], message: str) -> None:
    ranks = topic_ranks(graph_of(2, [(0, 1)]), {"a": [0], "b": [1]})
    with pytest.raises(UsageError, match=message):
        mixture(ranks, parts)


def test_the_words_of_a_query_mix_the_topics_by_how_likely_they_are_there() -> None:
    texts = {"sea": ["The Harbour", "harbour-museum"], "land": ["the garden", "a MUSEUM garden"]}
    # sea: the harbour harbour museum; land: the garden a museum garden. 5 different words.
    sea, land = (2 + 1) / (4 + 5) * (1 + 1) / (4 + 5), (0 + 1) / (5 + 5) * (1 + 1) / (5 + 5)
    found = parts_by_words(texts, "Harbour museum")
    assert found == pytest.approx({"sea": sea / (sea + land), "land": land / (sea + land)})


def test_a_query_as_long_as_you_like_has_parts_that_sum_to_1() -> None:
    found = parts_by_words({"a": ["x y"], "b": ["x"]}, "x " * 5000)
    assert sum(found.values()) == pytest.approx(1)
    assert found["a"] == pytest.approx(0, abs=1e-12) or found["b"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("query", ["", "nowhere", "..."])
def test_a_query_without_a_word_of_any_topic_is_refused(query: str) -> None:
    with pytest.raises(UsageError, match="no topic has a word of"):
        parts_by_words({"a": ["x"]}, query)


def test_jumps_halve_with_each_half_life_and_the_unknown_is_the_mean() -> None:
    ages = np.array([0.0, 7.0, 14.0, np.nan])
    assert favouring_recent(ages, 7).tolist() == [1, 1 / 2, 1 / 4, 1.75 / 3]


def test_what_changed_recently_ranks_higher() -> None:
    graph = graph_of(4, [(0, 1), (1, 0), (2, 3), (3, 2)])
    jumps = favouring_recent(np.array([0.0, 0, 30, 30]), 30)
    found = pagerank(graph, teleport=jumps, options=TIGHT)
    assert found.values == pytest.approx([1 / 3, 1 / 3, 1 / 6, 1 / 6])
