"""Seed sets: their seeds in a newer graph, and cores drawn at random."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from minicrawl.graph.lists.edge_lists import NumericNames
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.ranks.seeds.cores import (
    CoreKind,
    CoreRule,
)
from minicrawl.ranks.seeds.seed_set import SeedChoice, seed_set, transferred
from minicrawl.ranks.seeds.successors import SeedReplacement, most_similar, still_there
from tests.graph.graphs import (
    graph_of,
    random_graph,
)
from tests.ranks.graphs import cores_of, named

A, B, C, TWO = "http://a.org/", "http://a.org/b", "http://a.org/c", "http://a.org/2"
FAR, X, Y, Z = "http://far.org/", "http://x.org/", "http://y.org/", "http://z.org/"
Names = Sequence[str]
Links = Sequence[tuple[str, str]]


def linked(names: Names, *links: tuple[str, str]) -> NamedGraph:
    return named(names, [(names.index(source), names.index(target)) for source, target in links])


OLD = linked([A, X, Y, Z], (A, X), (A, Y), (Z, A))


def test_seeds_are_found_by_their_names_and_ids() -> None:
    assert still_there(OLD, linked([Z, Y, A]), [0, 3, 1]) == [
        SeedReplacement(seed=A, node=2),
        SeedReplacement(seed=Z, node=0),
        SeedReplacement(seed=X, node=None),
    ]
    old, new = (
        NamedGraph(graph_of(2, []), NumericNames(np.array(ids))) for ids in ([1, 2], [2, 3])
    )
    assert [found.node for found in still_there(old, new, [0, 1])] == [None, 0]


@pytest.mark.parametrize(
    ("names", "links", "node", "shared"),
    [
        pytest.param([A, B, X], [(B, X)], 0, None, id="it is still there"),
        pytest.param([B, C, X, Y], [(B, X), (C, X), (C, Y)], 1, 2, id="the most shared links"),
        pytest.param([B, C, X, Z], [(B, X), (C, X), (Z, C)], 1, 2, id="links in count, too"),
        pytest.param([B, X, Z], [(X, B), (B, Z)], None, None, id="the other way round"),
        pytest.param([FAR, B, X, Y], [(FAR, X), (FAR, Y), (B, X)], 1, 1, id="on its host only"),
        pytest.param([FAR, X], [(FAR, X)], None, None, id="no page of its host"),
        pytest.param([B, X], [], None, None, id="no shared link"),
        pytest.param([], [], None, None, id="no page"),
        pytest.param([B, C, X, FAR], [(B, X), (B, FAR), (C, X)], 1, 1, id="the fewest others"),
        pytest.param([C, B, X], [(B, X), (C, X)], 0, 1, id="the first of equal ones"),
    ],
)
def test_the_most_similar_page_replaces_a_seed(
    names: Names, links: Links, node: int | None, shared: int | None
) -> None:
    wanted = SeedReplacement(seed=A, node=node, shared_links=shared)
    assert most_similar(OLD, linked(names, *links), [0]) == [wanted]


def test_no_page_replaces_two_seeds_or_is_already_a_seed() -> None:
    old = linked([A, B, C, X], (A, X), (B, X), (C, X))
    assert most_similar(old, linked([C, TWO, X], (C, X), (TWO, X)), [0, 1, 2]) == [
        SeedReplacement(seed=A, node=1, shared_links=1),
        SeedReplacement(seed=B, node=None),
        SeedReplacement(seed=C, node=0),
    ]


def test_two_seeds_of_one_name_are_one_in_the_newer_graph() -> None:
    found = seed_set(linked([X, Y], (X, Y)), 5, CoreRule(), SeedChoice.HUB)
    twice = replace(found, cores=[*found.cores, *found.cores], seeds=[*found.seeds, *found.seeds])
    crawled = transferred(twice, found.named, similar=True)
    assert list(crawled.seeds) == list(found.seeds) == [0]
    assert len(crawled.replacements) == 2


@pytest.mark.slow
def test_random_cores_are_some_of_the_strongest_in_their_order() -> None:
    graph, rule = random_graph(200, 600), CoreRule(kind=CoreKind.SIZE, size=2)
    web = NamedGraph(graph, NumericNames(np.arange(200)))
    strongest = cores_of(web, 30, rule)
    draws = [
        list(seed_set(web, 3, rule, SeedChoice.HUB, rng=np.random.default_rng(seed)).cores)
        for seed in (1, 1, 2, 3)
    ]
    for drawn in draws:
        places = [strongest.index(core) for core in drawn]
        assert len(places) == 3
        assert places == sorted(set(places))
    assert draws[0] == draws[1]
    assert draws[2] != draws[0] != draws[3]
    assert seed_set(web, 500, rule, SeedChoice.HUB, rng=np.random.default_rng(7)).cores == cores_of(
        web, 500, rule
    )
