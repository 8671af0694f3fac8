"""An outline of a graph: its counts, and whether they are exact."""

import re
import time
from functools import partial
from pathlib import Path

import networkx
import numpy as np
import pytest
from hypothesis import given

from minicrawl.graph import outline as outline_module
from minicrawl.graph.distances import SAMPLE, estimated, exact, sampled
from minicrawl.graph.outline import (
    BowTie,
    DegreeDistribution,
    Outline,
    bow_tie,
    estimate,
    outline,
    reciprocity,
    strong,
    weak,
)
from tests.graph.graphs import Link, graph_of, networkx_of, nodes_and_links, random_graph

# Cycles 0 1 2 and 3 4, a link from the first to the second; 5 links to itself, 6 is alone.
LINKS = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 3), (5, 5)]


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
)


def test_the_outline_of_a_small_graph_is_exact() -> None:
    # From 0: 1 2 3 4; from 1: 1 2 2 3; from 2: 1 1 2 2; from 3 and from 4: 1.
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
    assert found.as_json() | {"is_exact": True} == WHOLE.as_json()  # all pages fit a sample


def test_where_a_sample_tells_little_hyperball_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some pages reach many others and some reach hardly any."""
    graph = random_graph(3000, 3000)
    whole, dice = exact(graph), partial(np.random.default_rng, 1)
    monkeypatch.setattr("minicrawl.graph.outline.SAMPLE", 32)
    by_paths, by_hyperball = sampled(graph, dice(), 32), estimated(graph, dice())
    assert by_hyperball.error < by_paths.error
    found = estimate(graph, dice())
    assert found.by_hyperball
    assert found.mean_distance == pytest.approx(by_hyperball.mean_distance, rel=0.2)
    assert found.diameter == max(by_paths.diameter, by_hyperball.diameter) <= whole.diameter
    assert found.mean_distance is not None
    assert whole.mean_distance is not None
    assert abs(found.mean_distance - whole.mean_distance) < 4 * found.error
    outlined = outline(graph, dice(), most_work=0)
    assert outlined.by_hyperball
    assert not outlined.is_exact


def test_where_a_sample_tells_enough_hyperball_does_not_run() -> None:
    circle = graph_of(400, [(page, (page + 1) % 400) for page in range(400)])
    found = estimate(circle, np.random.default_rng(1))
    assert found.mean_distance == 200
    assert not found.by_hyperball


def test_hyperball_does_not_run_on_a_deep_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minicrawl.graph.outline.SAMPLE", 32)
    graph, dice = random_graph(3000, 3000), partial(np.random.default_rng, 1)
    by_paths = sampled(graph, dice(), 32)
    monkeypatch.setattr(
        "minicrawl.graph.distances.MOST_LINK_VISITS", by_paths.diameter * graph.edges - 1
    )
    assert estimate(graph, dice()) == by_paths


def test_more_than_a_million_pages_are_searched_from_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("minicrawl.graph.outline._MANY_NODES", 300)
    monkeypatch.setattr("minicrawl.graph.outline._FEW_SOURCES", 3)
    circle = graph_of(400, [(page, (page + 1) % 400) for page in range(400)])
    assert estimate(circle, np.random.default_rng(1)).pairs == 3 * 399


def test_nodes_without_links_cost_no_search() -> None:
    began = time.thread_time()
    found = outline(graph_of(200_000, [(0, 1)]), np.random.default_rng(1))
    assert (found.diameter, found.mean_distance) == (1, 1)
    assert time.thread_time() - began < 10


def test_an_empty_graph_has_an_outline() -> None:
    found = outline(graph_of(0, []), np.random.default_rng(1))
    assert (found.nodes, found.strong_components, found.mean_distance) == (0, 0, None)


@given(nodes_and_links())
def test_reciprocity_agrees_with_networkx(case: tuple[int, list[Link]]) -> None:
    nodes, links = case
    found = reciprocity(graph_of(nodes, links))
    if links:
        assert found == pytest.approx(networkx.overall_reciprocity(networkx_of(nodes, links)))
    else:
        assert found is None


def test_the_guide_has_the_numbers_of_sampled_nodes() -> None:
    guide = Path("docs/how-to/work-with-a-graph-file.md").read_text(encoding="utf-8")
    few = outline_module._FEW_SOURCES
    assert re.search(rf"distances from {SAMPLE} .* {few} ", " ".join(guide.split()))
    assert f"above {100 * outline_module.COARSE:g} %" in guide
