"""Cores of real webs: their shapes and density, and the distances of their seeds."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minicrawl.graph.csr import NamedGraph
from minicrawl.graphfiles import read
from minicrawl.ranks.seeds import (
    Core,
    CoreKind,
    CoreRule,
    between_cores,
    between_hosts,
    compared,
    extracted,
)
from tests.graph.graphs import links_of

HOLLINS, CALIFORNIA = "hollins.dat.gz", "california.txt.gz"


@pytest.fixture(params=[HOLLINS, CALIFORNIA])
def web(request: pytest.FixtureRequest, shared_graph: Callable[[str], Path]) -> NamedGraph:
    return read(shared_graph(request.param))


def cores_of(web: NamedGraph, count: int, rule: CoreRule) -> list[Core]:
    return extracted(between_hosts(web.graph, web.names.hosts().of_node), count, rule)


# Computed with sets and scipy, without the code under test.
SHAPES = {
    (HOLLINS, CoreKind.DENSITY): [(15, 10), (1, 2), (28, 1), (6, 4), (3, 4)],
    (HOLLINS, CoreKind.MAXIMAL): [(15, 10), (1, 3), (28, 1), (6, 4), (3, 6)],
    (CALIFORNIA, CoreKind.DENSITY): [(2, 2), (10, 10), (1, 2), (1, 2), (1, 2)],
    (CALIFORNIA, CoreKind.MAXIMAL): [(7, 4), (11, 13), (11, 3), (6, 2), (4, 4)],
}


@pytest.mark.parametrize(("name", "kind"), SHAPES)
def test_the_first_cores_agree_with_another_computation(
    name: str, kind: CoreKind, shared_graph: Callable[[str], Path]
) -> None:
    cores = cores_of(read(shared_graph(name)), 5, CoreRule(kind=kind))
    assert [(len(core.hubs), len(core.authorities)) for core in cores] == SHAPES[name, kind]


@pytest.mark.parametrize("kind", [CoreKind.DENSITY, CoreKind.MAXIMAL])
@pytest.mark.parametrize("density", [60.0, 100.0])
def test_every_core_counts_its_links_and_is_as_dense_as_asked(
    web: NamedGraph, kind: CoreKind, density: float
) -> None:
    graph = between_hosts(web.graph, web.names.hosts().of_node)
    links = set(links_of(graph))
    for core in cores_of(web, 20, CoreRule(kind=kind, density=density)):
        found = {(hub, page) for hub in core.hubs for page in core.authorities} & links
        assert core.links == len(found)
        assert core.density >= density


@pytest.mark.parametrize(("size", "at_once"), [(5, 1), (20, 1), (20, 3), (50, 1), (51, 7)])
def test_a_core_has_its_size_or_no_page_is_left_to_join(
    web: NamedGraph, size: int, at_once: int
) -> None:
    graph = between_hosts(web.graph, web.names.hosts().of_node)
    first, *_ = cores_of(web, 10, CoreRule(kind=CoreKind.SIZE, size=size, at_once=at_once))
    links = links_of(graph)
    hubs = {hub for hub, page in links if page in first.authorities}
    authorities = {page for hub, page in links if hub in first.hubs}
    is_closed = hubs == set(first.hubs) and authorities == set(first.authorities)
    assert first.size == size or (first.size < size and is_closed)


def test_seeds_read_more_of_a_web_than_random_pages_do(web: NamedGraph) -> None:
    cores = cores_of(web, 10, CoreRule())
    seeds, rng = [core.best_hub for core in cores], np.random.default_rng(1)
    even = np.full(web.graph.nodes, 1 / web.graph.nodes)
    near = compared(web.graph, even, seeds, rng, draws=20).depths[:4]
    assert sum(one.seeds.pages for one in near) > sum(one.random.pages for one in near)
    distances = between_cores(web.graph, cores)
    assert (distances.diagonal() == 0).all()
    assert (distances[~np.eye(len(cores), dtype=bool)] != 0).all()
