"""Levels of pages: lengths of the shortest paths from the nearest source."""

from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.distances import UNREACHED, levels, linked_from
from minicrawl.graphfiles import read
from tests.graph.graphs import Link, graph_of, networkx_of, nodes_and_links

# 0 -> 1 -> 2 -> 3, a short cut 0 -> 2, and 4 -> 0.
LINKS = [(0, 1), (1, 2), (2, 3), (0, 2), (4, 0)]


def test_a_level_is_the_number_of_links_of_the_shortest_path() -> None:
    assert levels(graph_of(5, LINKS), [0]).tolist() == [0, 1, 1, 2, UNREACHED]


def test_of_several_sources_the_nearest_counts() -> None:
    assert levels(graph_of(5, LINKS), [4, 2]).tolist() == [1, 2, 0, 1, 0]


def test_links_of_several_pages_come_in_the_order_of_the_pages() -> None:
    graph = graph_of(5, LINKS)
    assert linked_from(graph, np.array([2, 3, 0])).tolist() == [3, 1, 2]
    assert linked_from(graph, np.array([], dtype=np.int64)).tolist() == []


def test_a_chain_as_long_as_the_graph_is_walked_to_its_end() -> None:
    chain = graph_of(1000, [(page, page + 1) for page in range(999)])
    assert levels(chain, [0]).tolist() == list(range(1000))


@given(nodes_and_links(), st.data())
def test_levels_agree_with_networkx(case: tuple[int, list[Link]], data: st.DataObject) -> None:
    nodes, links = case
    page = st.integers(0, nodes - 1) if nodes else st.nothing()
    sources = data.draw(st.lists(page, max_size=4)) if nodes else []
    oracle = networkx_of(nodes, links)
    paths = [networkx.single_source_shortest_path_length(oracle, source) for source in sources]
    expected = [
        min((path[page] for path in paths if page in path), default=UNREACHED)
        for page in range(nodes)
    ]
    assert levels(graph_of(nodes, links), sources).tolist() == expected


@pytest.mark.proof
def test_the_largest_level_of_a_real_graph_is_its_diameter(
    shared_graph: Callable[[str], Path],
) -> None:
    graph = read(shared_graph("wiki-Vote.txt.gz")).graph
    assert max(int(levels(graph, [page]).max()) for page in range(graph.nodes)) == 10
