"""Distances between cores, and the pages at each depth of crawls from seeds."""

from collections import Counter
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.ranks.seeds import (
    Core,
    CoreDistances,
    Depth,
    DepthCoverage,
    between_cores,
    compared,
    distribution,
    summary_of,
)
from tests.graph.graphs import Link, graph_of, networkx_of, nodes_and_links


def core(hub: int, authority: int) -> Core:
    return Core(hubs=(hub,), authorities=(authority,), links=1, links_left=1, best_hub=hub)


# 0 -> 1 -> 2 -> 3 -> 4 -> 5, and 6 -> 7 apart
CHAIN = [(page, page + 1) for page in range(5)]
APART = [*CHAIN, (6, 7)]


# ---------------------------------------------------------------- between cores


def test_the_distance_of_cores_is_that_of_their_nearest_pages() -> None:
    cores = [core(0, 1), core(4, 5), core(6, 7)]
    assert between_cores(graph_of(8, APART), cores).tolist() == [
        [0, 3, -1],
        [-1, 0, -1],
        [-1, -1, 0],
    ]


def test_the_summary_counts_only_cores_with_a_path() -> None:
    distances = between_cores(graph_of(8, APART), [core(0, 1), core(2, 3), core(5, 4), core(6, 7)])
    assert summary_of(distances) == CoreDistances(1, (1 + 3 + 1) / 3, 3)


@pytest.mark.parametrize("cores", [[], [core(0, 1)], [core(0, 1), core(6, 7)]])
def test_without_a_path_there_is_no_summary(cores: list[Core]) -> None:
    assert summary_of(between_cores(graph_of(8, APART), cores)) is None


def test_progress_counts_cores() -> None:
    told: list[float] = []
    between_cores(graph_of(8, APART), [core(0, 1), core(6, 7)], told.append)
    assert told == [0.5, 1.0]


@given(nodes_and_links(least=1), st.data())
def test_distances_agree_with_networkx(case: tuple[int, list[Link]], data: st.DataObject) -> None:
    nodes, links = case
    page = st.integers(0, nodes - 1)
    cores = data.draw(st.lists(st.builds(core, page, page), max_size=4))
    lengths = dict(networkx.all_pairs_shortest_path_length(networkx_of(nodes, links)))
    found = between_cores(graph_of(nodes, links), cores)
    for i, one in enumerate(cores):
        for j, other in enumerate(cores):
            paths = [
                lengths[source][target]
                for source in one.hubs + one.authorities
                for target in other.hubs + other.authorities
                if target in lengths[source]
            ]
            assert found[i, j] == min(paths, default=-1)


@given(st.lists(st.integers(0, 9)))
def test_a_distribution_has_each_degree_above_0_and_how_many_pages_have_it(
    degrees: list[int],
) -> None:
    found = distribution(np.array(degrees, dtype=np.int64))
    counts = sorted((degree, pages) for degree, pages in Counter(degrees).items() if degree)
    assert list(zip(found.degrees.tolist(), found.pages.tolist(), strict=True)) == counts


# ---------------------------------------------------------------- crawls

STAR = [(0, 1), (0, 2), (1, 3), (2, 3)]
WORTH = np.array([0.1, 0.2, 0.3, 0.4])


def depths_of(*arguments: Any, **options: Any) -> list[Depth]:
    return compared(*arguments, **options).depths


def dice() -> np.random.Generator:
    return np.random.default_rng(7)


def test_a_crawl_reads_a_page_on_the_depth_of_its_distance() -> None:
    depths = depths_of(graph_of(4, STAR), WORTH, [0], dice(), draws=1)
    assert [depth.seeds for depth in depths] == [
        DepthCoverage(1, 0.1),
        (2, pytest.approx(0.25)),
        (1, pytest.approx(0.4)),
    ]


def test_random_crawls_count_as_their_mean() -> None:
    # Without links a crawl reads nothing but its seeds.
    (depth,) = depths_of(graph_of(4, []), WORTH, [0, 3], dice(), draws=500)
    assert depth.seeds == pytest.approx((2, 0.25))
    assert depth.random.pages == 2
    assert depth.random.importance == pytest.approx(WORTH.mean(), abs=0.01)


def test_as_many_pages_are_drawn_as_there_are_seeds_and_none_twice() -> None:
    (depth,) = depths_of(graph_of(4, []), WORTH, [0, 1, 2, 3], dice(), draws=3)
    assert depth.random == pytest.approx((4, 0.25))


def test_depths_go_on_to_the_end_of_the_deeper_crawl() -> None:
    chain = graph_of(6, CHAIN)
    depths = depths_of(chain, np.full(6, 1 / 6), [5], dice(), draws=20)
    assert depths[0].seeds == pytest.approx((1, 1 / 6))
    assert [depth.seeds for depth in depths[1:]] == [DepthCoverage()] * (len(depths) - 1)
    assert len(depths) == 6
    depths = depths_of(chain, np.full(6, 1 / 6), [0], dice(), draws=1)
    assert len(depths) == 6
    assert depths[5].random == DepthCoverage()


def test_random_crawls_without_a_page_at_a_depth_count_as_0_pages() -> None:
    depths = depths_of(graph_of(2, [(0, 1)]), np.array([0.25, 0.75]), [0], dice(), draws=400)
    assert depths[1].random.pages == pytest.approx(0.5, abs=0.06)
    assert depths[1].random.importance == pytest.approx(0.75)


def test_nothing_is_read_where_there_is_no_seed() -> None:
    assert depths_of(graph_of(3, []), np.full(3, 1 / 3), [], dice(), draws=2) == []


def test_progress_counts_crawls() -> None:
    told: list[float] = []
    depths_of(graph_of(4, STAR), WORTH, [0], dice(), draws=3, tell=told.append)
    assert told == [0.25, 0.5, 0.75, 1.0]


@given(nodes_and_links(least=1), st.data())
def test_no_crawl_reads_a_page_twice(case: tuple[int, list[Link]], data: st.DataObject) -> None:
    nodes, links = case
    seeds = data.draw(st.sets(st.integers(0, nodes - 1), min_size=1, max_size=3))
    worth = np.full(nodes, 1 / nodes)
    depths: list[Depth] = depths_of(graph_of(nodes, links), worth, sorted(seeds), dice(), draws=3)
    for crawl in ([depth.seeds for depth in depths], [depth.random for depth in depths]):
        assert crawl[0].pages == len(seeds)
        assert sum(read.pages for read in crawl) <= nodes + 1e-9
        assert all(
            read.importance is None or read.importance == pytest.approx(1 / nodes) for read in crawl
        )


# ---------------------------------------------------------------- after as many pages


def test_a_crawl_keeps_its_importance_after_its_end() -> None:
    found = compared(graph_of(6, CHAIN), np.arange(6) / 15, [5], dice(), draws=40).after
    assert [one.pages for one in found] == [2, 5, 6]
    assert [one.seeds for one in found] == pytest.approx([5 / 15] * 3)
    # A crawl from page k reads all later pages; the mean is over all k.
    gathered = [[sum(range(k, min(k + n, 6))) / 15 for k in range(6)] for n in (2, 5, 6)]
    for one, each in zip(found, gathered, strict=True):
        assert one.random_error is not None
        assert abs(one.random - np.mean(each)) < 4 * one.random_error


@given(nodes_and_links(least=1), st.data())
def test_gathered_importance_agrees_with_the_layers_of_networkx(
    case: tuple[int, list[Link]], data: st.DataObject
) -> None:
    nodes, links = case
    seed = data.draw(st.integers(0, nodes - 1))
    worth = np.array(data.draw(st.lists(st.floats(0, 1), min_size=nodes, max_size=nodes)))
    layers = list(networkx.bfs_layers(networkx_of(nodes, links), [seed]))
    found = compared(graph_of(nodes, links), worth, [seed], dice(), draws=1).after
    for one in found:
        # A crawl may read a layer in any order, so its importance lies between two sums.
        full, left = 0.0, one.pages
        for layer in layers:
            ordered = sorted(worth[layer])
            if len(layer) > left:
                assert full + sum(ordered[:left]) <= one.seeds + 1e-9
                assert one.seeds <= full + sum(ordered[len(layer) - left :]) + 1e-9
                break
            full, left = full + sum(ordered), left - len(layer)
        else:
            assert one.seeds == pytest.approx(full)


def test_one_draw_has_no_standard_error() -> None:
    found = compared(graph_of(6, CHAIN), np.arange(6) / 15, [0], dice(), draws=1).after
    assert [one.random_error for one in found] == [None] * len(found)
    assert found[-1].pages == 6
    assert found[-1].seeds == pytest.approx(1)
