"""HyperBall: a mean distance within its error, and a diameter that is never too large."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.graph import distances as hyperball
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Extent, estimated, exact
from tests.graph.graphs import Link, graph_of, nodes_and_links, random_graph
from tests.real_graphs import graph_in

ERRORS = 4
"""Allowed error in standard errors of eight groups of registers; 1 estimate in 200 exceeds it."""


def dice(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("nodes", "links"), [(0, []), (1, []), (3, []), (2, [(0, 0), (1, 1)])])
def test_where_no_page_reaches_another_there_is_no_mean(nodes: int, links: list[Link]) -> None:
    found = estimated(graph_of(nodes, links), dice())
    assert found == Extent(0, None, 0, is_exact=False, by_hyperball=True)


def test_on_a_path_each_round_goes_one_link_further() -> None:
    path = graph_of(30, [(page, page + 1) for page in range(29)])
    found = estimated(path, dice())
    assert found.diameter == 29
    assert found.mean_distance == pytest.approx(31 / 3, rel=0.15)
    assert found.pairs == pytest.approx(30 * 29 / 2, rel=0.15)


@given(nodes_and_links(), st.integers(0, 9))
def test_the_diameter_is_never_above_the_exact_one(case: tuple[int, list[Link]], seed: int) -> None:
    graph = graph_of(*case)
    assert estimated(graph, dice(seed)).diameter <= exact(graph).diameter


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("nodes", "links"), [(2000, 3000), (2000, 20_000), (3000, 3000)])
def test_random_graphs_are_within_the_stated_error(nodes: int, links: int, seed: int) -> None:
    agree(random_graph(nodes, links), seed)


@pytest.mark.proof
@pytest.mark.parametrize(
    "name",
    [
        "hollins.dat.gz",
        "california.txt.gz",
        "wikispeedia-links.tsv.gz",
        "wiki-Vote.txt.gz",
        "toronto-Movies.tar.gz",
    ],
)
def test_real_graphs_are_within_the_stated_error(
    shared_graph: Callable[[str], Path], name: str
) -> None:
    graph = graph_in(shared_graph(name))
    for seed in range(2):
        agree(graph, seed)


def agree(graph: Csr, seed: int) -> None:
    right, found = exact(graph), estimated(graph, dice(seed))
    assert found.mean_distance is not None
    assert right.mean_distance is not None
    assert 0 < found.error < 0.15 * right.mean_distance
    assert abs(found.mean_distance - right.mean_distance) < ERRORS * found.error
    assert found.pairs == pytest.approx(right.pairs, rel=0.5)
    assert found.diameter <= right.diameter


def test_the_size_of_pieces_does_not_change_the_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph(300, 500)
    whole = estimated(graph, dice())
    monkeypatch.setattr(hyperball, "_BYTES_AT_ONCE", 7 * 64)
    pieces = estimated(graph, dice())
    assert (pieces.diameter, pieces.pairs) == (whole.diameter, whole.pairs)
    assert pieces.mean_distance == pytest.approx(whole.mean_distance)


def test_progress_rises_with_each_round() -> None:
    told: list[float] = []
    estimated(graph_of(4, [(0, 1), (1, 2), (2, 3)]), dice(), told.append)
    assert told == sorted(told)
    assert len(told) == 4
