"""What seeds are worth: the distances between cores, and crawls beside random ones."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.graphfiles import read
from minicrawl.ranks.seeds.comparison import Depth, between_cores, compared, summary_of
from minicrawl.ranks.seeds.cores import (
    Core,
    CoreRule,
)
from tests.graph.graphs import (
    Link,
    graph_of,
    networkx_of,
    nodes_and_links,
)
from tests.ranks.graphs import cores_of


def core(hub: int, authority: int) -> Core:
    return Core(hubs=(hub,), authorities=(authority,), links=1, links_left=1, best_hub=hub)


# 0 -> 1 -> 2 -> 3 -> 4 -> 5, and 6 -> 7 apart
CHAIN = [(page, page + 1) for page in range(5)]
APART = [*CHAIN, (6, 7)]


def test_the_summary_counts_only_cores_with_a_path() -> None:
    distances = between_cores(graph_of(8, APART), [core(0, 1), core(2, 3), core(5, 4), core(6, 7)])
    assert summary_of(distances) == (1, (1 + 3 + 1) / 3, 3)


@pytest.mark.parametrize("cores", [[], [core(0, 1)], [core(0, 1), core(6, 7)]])
def test_without_a_path_there_is_no_summary(cores: list[Core]) -> None:
    assert summary_of(between_cores(graph_of(8, APART), cores)) == (None, None, None)


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


WORTH = np.array([0.1, 0.2, 0.3, 0.4])


def depths_of(*arguments: Any, **options: Any) -> list[Depth]:
    return compared(*arguments, **options)[0]


def dice() -> np.random.Generator:
    return np.random.default_rng(7)


def test_random_crawls_count_as_their_mean() -> None:
    # Without links a crawl reads nothing but its seeds.
    (depth,) = depths_of(graph_of(4, []), WORTH, [0, 3], dice(), draws=500)
    assert depth[:2] == pytest.approx((2, 0.25))
    assert depth.random_pages == 2
    assert depth.random_mean_pagerank == pytest.approx(WORTH.mean(), abs=0.01)


def test_depths_go_on_to_the_end_of_the_deeper_crawl() -> None:
    chain = graph_of(6, CHAIN)
    depths = depths_of(chain, np.full(6, 1 / 6), [5], dice(), draws=20)
    assert depths[0][:2] == pytest.approx((1, 1 / 6))
    assert [depth[:2] for depth in depths[1:]] == [(0, None)] * 5
    depths = depths_of(chain, np.full(6, 1 / 6), [0], dice(), draws=1)
    assert len(depths) == 6
    assert depths[5][2:] == (0, None)


@given(nodes_and_links(least=1), st.data())
def test_no_crawl_reads_a_page_twice(case: tuple[int, list[Link]], data: st.DataObject) -> None:
    nodes, links = case
    seeds = data.draw(st.sets(st.integers(0, nodes - 1), min_size=1, max_size=3))
    worth = np.full(nodes, 1 / nodes)
    depths: list[Depth] = depths_of(graph_of(nodes, links), worth, sorted(seeds), dice(), draws=3)
    for crawl in ([depth[:2] for depth in depths], [depth[2:] for depth in depths]):
        assert crawl[0][0] == len(seeds)
        assert sum(pages for pages, _ in crawl) <= nodes + 1e-9
        means = [mean for _, mean in crawl if mean is not None]
        assert means == pytest.approx([1 / nodes] * len(means))


def test_a_crawl_keeps_its_importance_after_its_end() -> None:
    found = compared(graph_of(6, CHAIN), np.arange(6) / 15, [5], dice(), draws=40)[1]
    assert [one.pages for one in found] == [2, 5, 6]
    assert [one.pagerank for one in found] == pytest.approx([5 / 15] * 3)
    # A crawl from page k reads all later pages; the mean is over all k.
    gathered = [[sum(range(k, min(k + n, 6))) / 15 for k in range(6)] for n in (2, 5, 6)]
    for one, each in zip(found, gathered, strict=True):
        assert one.random_error is not None
        assert abs(one.random_pagerank - np.mean(each)) < 4 * one.random_error


@given(nodes_and_links(least=1), st.data())
def test_gathered_importance_agrees_with_the_layers_of_networkx(
    case: tuple[int, list[Link]], data: st.DataObject
) -> None:
    nodes, links = case
    seed = data.draw(st.integers(0, nodes - 1))
    worth = np.array(data.draw(st.lists(st.floats(0, 1), min_size=nodes, max_size=nodes)))
    layers = list(networkx.bfs_layers(networkx_of(nodes, links), [seed]))
    found = compared(graph_of(nodes, links), worth, [seed], dice(), draws=1)[1]
    for one in found:
        # A crawl may read a layer in any order, so its importance lies between two sums.
        full, left = 0.0, one.pages
        for layer in layers:
            ordered = sorted(worth[layer])
            if len(layer) > left:
                assert full + sum(ordered[:left]) <= one.pagerank + 1e-9
                assert one.pagerank <= full + sum(ordered[len(layer) - left :]) + 1e-9
                break
            full, left = full + sum(ordered), left - len(layer)
        else:
            assert one.pagerank == pytest.approx(full)


def test_one_draw_has_no_standard_error() -> None:
    found = compared(graph_of(6, CHAIN), np.arange(6) / 15, [0], dice(), draws=1)[1]
    assert [one.random_error for one in found] == [None] * len(found)
    assert found[-1].pages == 6
    assert found[-1].pagerank == pytest.approx(1)


@pytest.mark.parametrize("name", ["hollins.dat.gz", "california.txt.gz"])
def test_seeds_read_more_of_a_web_than_random_pages_do(
    name: str, shared_graph: Callable[[str], Path]
) -> None:
    web = read(shared_graph(name))
    cores = cores_of(web, 10, CoreRule())
    seeds, rng = [core.best_hub for core in cores], np.random.default_rng(1)
    even = np.full(web.graph.nodes, 1 / web.graph.nodes)
    near = compared(web.graph, even, seeds, rng, draws=20)[0][:4]
    assert sum(one.pages for one in near) > sum(one.random_pages for one in near)
    distances = between_cores(web.graph, cores)
    assert (distances.diagonal() == 0).all()
    assert (distances[~np.eye(len(cores), dtype=bool)] != 0).all()
