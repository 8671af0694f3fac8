"""Levels of pages, the diameter, and the mean of all shortest paths over pairs with a path."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import (
    UNREACHED,
    Extent,
    exact,
    exact_work,
    levels,
    linked_from,
    sampled,
)
from minicrawl.graph.hyperball import HyperLogLogCounters, estimated
from minicrawl.graph.outline import extent
from tests.graph.graphs import Link, graph_of, networkx_of, nodes_and_links, random_graph
from tests.real_graphs import graph_in

# 0 -> 1 -> 2 -> 3, a short cut 0 -> 2, and 4 -> 0.
LINKS = [(0, 1), (1, 2), (2, 3), (0, 2), (4, 0)]
ERRORS = 4
"""Allowed error in standard errors of eight groups of registers; 1 estimate in 200 exceeds it."""


def dice(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_links_of_several_pages_come_in_the_order_of_the_pages() -> None:
    graph = graph_of(5, LINKS)
    assert linked_from(graph, np.array([2, 3, 0])).tolist() == [3, 1, 2]
    assert linked_from(graph, np.array([], dtype=np.int64)).tolist() == []


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


@pytest.mark.parametrize(("nodes", "links"), [(0, []), (1, []), (3, []), (2, [(0, 0), (1, 1)])])
def test_where_no_page_reaches_another_there_is_no_mean(nodes: int, links: list[Link]) -> None:
    graph = graph_of(nodes, links)
    assert exact(graph) == Extent(0, None, 0, is_exact=True)
    assert sampled(graph, dice()) == Extent(0, None, 0, is_exact=False)
    assert estimated(graph, dice()) == Extent(0, None, 0, is_exact=False, by_hyperball=True)


@given(nodes_and_links())
def test_exact_distances_agree_with_networkx(case: tuple[int, list[Link]]) -> None:
    nodes, links = case
    paths = networkx.all_pairs_shortest_path_length(networkx_of(nodes, links))
    lengths = [length for _, ends in paths for length in ends.values() if length]
    found = exact(graph_of(nodes, links))
    assert (found.diameter, found.pairs) == (max(lengths, default=0), len(lengths))
    assert found.mean_distance == (pytest.approx(np.mean(lengths)) if lengths else None)


@given(nodes_and_links(), st.integers(1, 3))
def test_a_sample_is_never_above_the_diameter_and_exact_from_all_pages(
    case: tuple[int, list[Link]], sources: int
) -> None:
    graph = graph_of(*case)
    whole = exact(graph)
    assert sampled(graph, dice(), sources).diameter <= whole.diameter
    assert sampled(graph, dice(), graph.nodes + 1)[:3] == whole[:3]


def test_sweeps_find_the_ends_of_a_path_from_one_source() -> None:
    # Wherever the source lies on the path, it is nearer than 200 links to both ends.
    path = [(page, page + 1) for page in range(200)] + [(page + 1, page) for page in range(200)]
    assert sampled(graph_of(201, path), dice(), 1).diameter == 200


def test_searches_from_more_pages_than_fit_at_once_are_complete() -> None:
    chain = graph_of(1200, [(page, page + 1) for page in range(1199)])
    found = exact(chain)
    assert (found.diameter, found.pairs) == (1199, 1200 * 1199 // 2)
    assert found.mean_distance == pytest.approx(1201 / 3)
    assert exact_work(chain) == 3 * (1199 + 1200)


def test_searches_in_pieces_of_links_are_complete() -> None:
    """Each page links to all that follow it, by more links than a piece has."""
    pages = 800
    links = np.stack(np.triu_indices(pages, 1))
    pairs = pages * (pages - 1) // 2
    assert exact(Csr.from_edges(pages, *links)) == Extent(1, 1.0, pairs, is_exact=True)


@pytest.mark.parametrize(
    ("find", "least"),
    [
        (exact, 200),
        (partial(sampled, rng=dice()), 200),
        (partial(estimated, rng=dice()), 200),
        (partial(extent, rng=dice()), 5000),
    ],
)
def test_paths_that_are_too_long_to_follow_have_no_mean(
    find: Callable[..., Extent], least: int
) -> None:
    """A small packed file can hold such a path: no search takes a round for each of its pages."""
    pages = np.arange(5000)
    found = find(Csr.from_edges(5001, pages, pages + 1), most_visits=2_000_000)
    assert (found.mean_distance, found.is_exact) == (None, False)
    assert least <= found.diameter <= 5000


def test_progress_rises_and_ends_at_1() -> None:
    told: list[float] = []
    exact(graph_of(5, LINKS), told.append)
    sampled(graph_of(5, LINKS), dice(), 2, told.append)
    assert told == [1, 1]
    told.clear()
    estimated(graph_of(4, [(0, 1), (1, 2), (2, 3)]), dice(), told.append)
    assert len(set(told)) == 4
    assert told == sorted(told)


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("hollins.dat.gz", 23),
        ("california.txt.gz", 15),
        ("wikispeedia-links.tsv.gz", 9),
        ("wiki-Vote.txt.gz", 10),
        ("toronto-Movies.tar.gz", None),
    ],
)
def test_the_diameters_of_real_graphs(
    shared_graph: Callable[[str], Path], name: str, longest: int | None
) -> None:
    graph = graph_in(shared_graph(name))
    if longest is not None:
        assert exact(graph).diameter == sampled(graph, dice()).diameter == longest
    for seed in range(2):
        agree(graph, seed)


@given(nodes_and_links(), st.integers(0, 9))
def test_the_diameter_is_never_above_the_exact_one(case: tuple[int, list[Link]], seed: int) -> None:
    graph = graph_of(*case)
    assert estimated(graph, dice(seed)).diameter <= exact(graph).diameter


@pytest.mark.large
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("nodes", "links"), [(2000, 3000), (2000, 20_000), (3000, 3000)])
def test_random_graphs_are_within_the_stated_error(nodes: int, links: int, seed: int) -> None:
    agree(random_graph(nodes, links), seed)


def agree(graph: Csr, seed: int) -> None:
    right, found = exact(graph), estimated(graph, dice(seed))
    assert found.mean_distance is not None
    assert right.mean_distance is not None
    assert 0 < found.error < 0.15 * right.mean_distance
    assert abs(found.mean_distance - right.mean_distance) < ERRORS * found.error
    assert found.pairs == pytest.approx(right.pairs, rel=0.5)
    assert found.diameter <= right.diameter


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("at_once", [1, 7 * 64, 5000])
def test_the_size_of_pieces_does_not_change_how_balls_grow(at_once: int) -> None:
    graph = random_graph(300, 500)
    whole = HyperLogLogCounters(graph, 6, dice())
    pieces = HyperLogLogCounters(graph, 6, dice(), at_once)
    grown = np.arange(300)
    while grown.size:
        assert pieces.sizes(grown) == pytest.approx(whole.sizes(grown))
        assert pieces.sizes_without(grown) == pytest.approx(whole.sizes_without(grown))
        grown = np.sort(whole.grow())
        assert np.sort(pieces.grow()).tolist() == grown.tolist()
    assert (pieces.registers == whole.registers).all()
