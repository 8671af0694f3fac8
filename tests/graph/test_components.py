"""Strong and weak components of a graph."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph.csr import Csr
from minicrawl.graph.outline import Components, edges_within, strong, weak
from tests.graph.graphs import Link, graph_of, networkx_of, nodes_and_links
from tests.real_graphs import graph_in

# Cycles 0 1 2 and 3 4, a link from the first to the second, and 5, which links to itself.
LINKS = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 5)]


def groups(found: Components) -> set[frozenset[int]]:
    return {
        frozenset(np.flatnonzero(found.of_node == number).tolist()) for number in range(found.count)
    }


def test_pages_that_reach_each_other_are_one_strong_component() -> None:
    found = strong(graph_of(6, LINKS))
    assert groups(found) == {frozenset({0, 1, 2}), frozenset({3, 4}), frozenset({5})}
    assert sorted(found.sizes.tolist()) == [1, 2, 3]


def test_pages_joined_by_links_are_one_weak_component() -> None:
    found = weak(graph_of(6, LINKS))
    assert groups(found) == {frozenset({0, 1, 2, 3, 4}), frozenset({5})}


def test_links_within_the_largest_component_are_counted() -> None:
    graph = graph_of(6, LINKS)
    largest = strong(graph).largest()
    assert largest.tolist() == [True, True, True, False, False, False]
    assert edges_within(graph, largest) == 3


@pytest.mark.parametrize("find", [strong, weak])
def test_without_links_every_page_is_alone(find: Callable[[Csr], Components]) -> None:
    assert find(graph_of(3, [])).sizes.tolist() == [1, 1, 1]
    empty = find(graph_of(0, []))
    assert (empty.count, empty.largest().tolist()) == (0, [])


def test_a_long_chain_has_no_strong_component_and_a_long_cycle_is_one() -> None:
    chain = [(page, page + 1) for page in range(5000)]
    assert strong(graph_of(5001, chain)).count == 5001
    assert strong(graph_of(5001, [*chain, (5000, 0)])).count == 1
    assert weak(graph_of(5001, chain)).count == 1
    assert strong(graph_of(10001, [*chain, (5001, 5002), *_cycle(5002, 10001)])).count == 5003


def _cycle(first: int, end: int) -> list[Link]:
    return [(page, page + 1) for page in range(first, end - 1)] + [(end - 1, first)]


@given(nodes_and_links())
def test_components_agree_with_networkx(case: tuple[int, list[Link]]) -> None:
    nodes, links = case
    graph, other = graph_of(nodes, links), networkx_of(nodes, links)
    assert groups(strong(graph)) == set(
        map(frozenset, networkx.strongly_connected_components(other))
    )
    assert groups(weak(graph)) == set(map(frozenset, networkx.weakly_connected_components(other)))


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_components_of_sparse_graphs_agree_with_networkx(nodes: int, dice: Random) -> None:
    links = [(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(nodes + nodes // 4)]
    found = strong(graph_of(nodes, links))
    wanted = networkx.strongly_connected_components(networkx_of(nodes, links))
    assert groups(found) == set(map(frozenset, wanted))


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "count", "largest"),
    [
        ("hollins.dat.gz", 3634, 1426),
        ("california.txt.gz", 9450, 31),
        ("wikispeedia-links.tsv.gz", 531, 4051),
        ("wiki-Vote.txt.gz", 5816, 1300),
        ("toronto-Movies.tar.gz", 7657, 47),
        ("ukwa-1996-hosts.tsv.gz", 58048, 714),
        ("cnr-2000.edges.txt.gz", 100977, 112023),
    ],
)
def test_the_strong_components_of_real_graphs(
    shared_graph: Callable[[str], Path], name: str, count: int, largest: int
) -> None:
    found = strong(graph_in(shared_graph(name)))
    assert (found.count, found.sizes.max()) == (count, largest)


@pytest.mark.proof
def test_the_largest_strong_component_of_a_real_web_has_its_links(
    shared_graph: Callable[[str], Path],
) -> None:
    graph = graph_in(shared_graph("cnr-2000.edges.txt.gz"))
    assert edges_within(graph, strong(graph).largest()) == 1646332
    assert weak(graph).count == 1
