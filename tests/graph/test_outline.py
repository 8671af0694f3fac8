"""Outlines of graphs: components, degrees, and whether distances are exact."""

import re
import time
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.graph import outline as outline_module
from minicrawl.graph.cohesion import Cohesion
from minicrawl.graph.degrees import FEWEST_PAGES, TAIL, DegreeDistribution, distribution
from minicrawl.graph.distances import SAMPLE, exact, sampled
from minicrawl.graph.hyperball import estimated
from minicrawl.graph.outline import (
    BowTie,
    Components,
    Outline,
    bow_tie,
    estimate,
    outline,
    reciprocity,
    strong,
    weak,
)
from tests.graph.graphs import Link, graph_of, networkx_of, nodes_and_links, random_graph

# Cycles 0 1 2 and 3 4, a link from the first to the second, and 5, which links to itself.
LINKS = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 5)]


def groups(found: Components) -> set[frozenset[int]]:
    return {
        frozenset(np.flatnonzero(found.of_node == number).tolist()) for number in range(found.count)
    }


def test_a_long_chain_has_no_strong_component_and_a_long_cycle_is_one() -> None:
    chain = [(page, page + 1) for page in range(5000)]
    assert strong(graph_of(5001, chain)).count == 5001
    assert strong(graph_of(5001, [*chain, (5000, 0)])).count == 1
    assert weak(graph_of(5001, chain)).count == 1
    assert strong(graph_of(10001, [*chain, (5001, 5002), *_cycle(5002, 10001)])).count == 5003


def _cycle(first: int, end: int) -> list[Link]:
    return [(page, page + 1) for page in range(first, end - 1)] + [(end - 1, first)]


@given(nodes_and_links())
def test_components_and_reciprocity_agree_with_networkx(case: tuple[int, list[Link]]) -> None:
    graph, other = graph_of(*case), networkx_of(*case)
    assert groups(strong(graph)) == set(
        map(frozenset, networkx.strongly_connected_components(other))
    )
    assert groups(weak(graph)) == set(map(frozenset, networkx.weakly_connected_components(other)))
    assert reciprocity(graph) == (
        pytest.approx(networkx.overall_reciprocity(other)) if graph.edges else None
    )


@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_components_of_sparse_graphs_agree_with_networkx(nodes: int, dice: Random) -> None:
    links = [(dice.randrange(nodes), dice.randrange(nodes)) for _ in range(nodes + nodes // 4)]
    found = strong(graph_of(nodes, links))
    wanted = networkx.strongly_connected_components(networkx_of(nodes, links))
    assert groups(found) == set(map(frozenset, wanted))


def test_small_degrees_have_a_bin_each_and_large_ones_share_one() -> None:
    found = distribution(np.array([0, 0, 1, 19, 20, 39, 139, 140, 279, 280]))
    assert found.bins == ((0, 2), (1, 1), (19, 1), (20, 2), (120, 1), (140, 2), (280, 1))
    assert found.most == 280
    ranges = ("0-19", "20-39", "40-59", "60-79", "80-99", "100-119", "120-139", "140+")
    assert list(found.ranges()) == list(zip(ranges, (4, 2, 0, 0, 0, 0, 1, 3), strict=True))


def test_a_point_counts_the_pages_with_as_many_links_or_more() -> None:
    found = distribution(np.array([0, 3, 3, 20, 21, 280]))
    assert list(found.at_least()) == [(3, 5), (20, 3), (280, 1)]


@given(st.lists(st.integers(0, 10**7)))
def test_bins_and_ranges_add_up_to_all_pages(degrees: list[int]) -> None:
    found = distribution(np.array(degrees, dtype=np.int64))
    assert sum(pages for _, pages in found.bins) == len(degrees)
    assert sum(pages for _, pages in found.ranges()) == len(degrees)
    assert found.most == max(degrees, default=0)


@pytest.mark.parametrize("exponent", [2.1, 2.7, 3.5])
def test_the_exponent_of_drawn_degrees_is_found(exponent: float) -> None:
    drawn = np.random.default_rng(1).zipf(exponent, 1_000_000)
    found = distribution(drawn[drawn < 2**40])
    assert found.exponent == pytest.approx(exponent, rel=0.03)
    assert found.exponent_error is not None
    assert found.exponent_error < 0.05


def test_a_power_law_is_told_from_other_tails() -> None:
    rng = np.random.default_rng(1)
    law = np.floor((TAIL - 0.5) * rng.random(20_000) ** (-1 / 1.3) + 0.5).astype(np.int64)
    assert distribution(law).is_power_law
    for other in (rng.poisson(9, 20_000), rng.geometric(0.1, 20_000)):
        found = distribution(other)
        assert not found.is_power_law
        assert found.exponent is not None
        assert found.ks_distance is not None
        assert found.ks_distance > 0.1


def test_few_pages_have_no_exponent() -> None:
    few = np.full(FEWEST_PAGES - 1, TAIL)
    assert distribution(few).exponent is None
    assert distribution(np.append(few, TAIL)).exponent is not None
    assert distribution(np.full(1000, TAIL - 1)).exponent is None


def degrees(*bins: tuple[int, int]) -> DegreeDistribution:
    return DegreeDistribution(bins=bins, most=bins[-1][0], exponent=None, exponent_error=None)


WHOLE = Outline(
    nodes=7,
    edges=7,
    dangling=1,
    self_links=1,
    strong_components=4,
    largest_strong=3,
    largest_strong_edges=3,
    weak_components=3,
    largest_weak=5,
    reciprocity=2 / 7,
    out_degrees=degrees((0, 1), (1, 5), (2, 1)),
    in_degrees=degrees((0, 1), (1, 5), (2, 1)),
    mean_distance_error=0.0,
    mean_distance=26 / 14,
    diameter=4,
    is_exact=True,
    bow_tie=BowTie(core=3, leading_in=0, leading_out=2, tendrils=0, apart=2),
    cohesion=Cohesion(triangles=1, core=2, core_nodes=3, half_of_rank=2),
)


def test_the_outline_of_a_small_graph_is_exact() -> None:
    # Page 6 is alone. From 0: 1 2 3 4; from 1: 1 2 2 3; from 2: 1 1 2 2; from 3 and from 4: 1.
    assert outline(graph_of(7, LINKS), np.random.default_rng(1)) == WHOLE


@given(nodes_and_links())
def test_the_parts_of_a_bow_tie_are_those_of_networkx(drawn: tuple[int, list[Link]]) -> None:
    nodes, links = drawn
    graph, csr = networkx_of(nodes, links), graph_of(nodes, links)
    found = bow_tie(csr, strong(csr), weak(csr))
    cores = list(networkx.strongly_connected_components(graph))
    core: set[int] = max(cores, key=len, default=set())
    assert found.core == len(core)
    if [len(one) for one in cores].count(found.core) == 1:
        (node, *_) = core
        leads_in = networkx.ancestors(graph, node) - core
        leads_out = networkx.descendants(graph, node) - core
        around = networkx.node_connected_component(graph.to_undirected(), node)
        assert (found.leading_in, found.leading_out) == (len(leads_in), len(leads_out))
        assert found.tendrils == len(around - core - leads_in - leads_out)
        assert found.apart == nodes - len(around)


def test_distances_of_a_large_graph_come_from_a_sample() -> None:
    found = outline(graph_of(7, LINKS), np.random.default_rng(1), most_work=6)
    assert not found.is_exact
    assert found.diameter <= WHOLE.diameter
    assert asdict(found) | {"is_exact": True} == asdict(WHOLE)  # all pages fit a sample


def test_where_a_sample_tells_little_hyperball_estimates() -> None:
    """Some pages reach many others and some reach hardly any."""
    graph = random_graph(3000, 3000)
    whole, dice = exact(graph), partial(np.random.default_rng, 1)
    by_paths, by_hyperball = sampled(graph, dice()), estimated(graph, dice())
    found = estimate(graph, dice())
    assert found.by_hyperball
    assert found.error < by_paths.error
    assert found.diameter == max(by_paths.diameter, by_hyperball.diameter) <= whole.diameter
    assert found.mean_distance == pytest.approx(whole.mean_distance, abs=4 * found.error)
    outlined = outline(graph, dice(), most_work=0)
    assert (outlined.by_hyperball, outlined.is_exact) == (True, False)


def test_hyperball_does_not_run_on_a_deep_graph() -> None:
    graph, dice = random_graph(3000, 3000), partial(np.random.default_rng, 1)
    by_paths = sampled(graph, dice())
    most = by_paths.diameter * graph.edges - 1
    assert estimate(graph, dice(), most_visits=most) == by_paths
    assert estimate(graph, dice(), most_visits=most + 1).by_hyperball


def test_more_than_a_million_pages_are_searched_from_fewer() -> None:
    pairs = [(page, page ^ 1) for page in range(600)]
    for nodes, sources in ((1_000_000, SAMPLE), (1_000_001, outline_module.FEW_SOURCES)):
        assert estimate(graph_of(nodes, pairs), np.random.default_rng(1)).pairs == sources


def test_nodes_without_links_cost_no_search() -> None:
    began = time.thread_time()
    found = outline(graph_of(200_000, [(0, 1)]), np.random.default_rng(1))
    assert (found.diameter, found.mean_distance) == (1, 1)
    assert time.thread_time() - began < 10


def test_the_guide_has_the_numbers_of_sampled_nodes() -> None:
    guide = Path("docs/how-to/work-with-a-graph-file.md").read_text(encoding="utf-8")
    few = outline_module.FEW_SOURCES
    assert re.search(rf"distances from {SAMPLE} .* {few} ", " ".join(guide.split()))
    assert f"above {100 * outline_module.COARSE:g} %" in guide
