"""An outline counts what there is, and says when it has not looked at all of it."""

import networkx
import numpy as np
import pytest
from hypothesis import given

from minicrawl.graph.degrees import DegreeDistribution
from minicrawl.graph.outline import Outline, outline, reciprocity
from tests.graph.graphs import Link, graph_of, nodes_and_links

# two circles, 0 1 2 and 3 4; a link from the first to the second; 5 that links to itself; 6 alone
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
)


def test_all_of_a_small_graph_is_looked_at() -> None:
    # From 0: 1 2 3 4; from 1: 1 2 2 3; from 2: 1 1 2 2; from 3 and from 4: 1.
    assert outline(graph_of(7, LINKS), np.random.default_rng(1)) == WHOLE


def test_of_a_large_one_the_distances_from_some_pages() -> None:
    found = outline(graph_of(7, LINKS), np.random.default_rng(1), most_work=6)
    assert not found.is_exact
    assert found.diameter <= WHOLE.diameter
    assert found.as_json() | {"is_exact": True} == WHOLE.as_json()  # they are fewer than a sample


def test_nothing_is_no_trouble() -> None:
    found = outline(graph_of(0, []), np.random.default_rng(1))
    assert (found.nodes, found.strong_components, found.mean_distance) == (0, 0, None)


@given(nodes_and_links())
def test_reciprocity_agrees_with_networkx(case: tuple[int, list[Link]]) -> None:
    nodes, links = case
    found = reciprocity(graph_of(nodes, links))
    if links:
        assert found == pytest.approx(networkx.overall_reciprocity(networkx.DiGraph(links)))
    else:
        assert found is None
