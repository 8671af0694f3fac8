"""Seed sets: cores, their extraction and evaluation, and their seeds in a newer graph."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import networkx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.graph.csr import Csr
from minicrawl.graph.lists.edge_lists import NumericNames
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graphfiles import read
from minicrawl.ranks.scores import Floats
from minicrawl.ranks.seeds.comparison import Depth, between_cores, compared, summary_of
from minicrawl.ranks.seeds.cores import (
    Core,
    CoreKind,
    CoreRule,
    between_hosts,
    extracted,
    grown,
)
from minicrawl.ranks.seeds.seed_set import SeedChoice, seed_set, transferred
from minicrawl.ranks.seeds.successors import SeedReplacement, most_similar, still_there
from tests.graph.graphs import (
    Link,
    graph_of,
    links_of,
    networkx_of,
    nodes_and_links,
    random_graph,
)
from tests.ranks.graphs import named


def ranked(
    links: Sequence[Link], hubs: Sequence[float], authorities: Sequence[float]
) -> tuple[Csr, Csr, Floats, Floats]:
    graph = graph_of(len(hubs), list(links))
    backwards = graph.reversed()
    return graph, backwards, np.array(hubs, dtype=float), np.array(authorities, dtype=float)


def members(core: Core) -> tuple[list[int], list[int]]:
    return list(core.hubs), list(core.authorities)


# Hubs 0 to 3, authorities 4 to 7. Hub 3 is the best, but does not link to the best authority. Of
# the two links to a core of 1 × 2, hub 3 has one, and so has hub 0.
LINKS = [(0, 4), (0, 5), (1, 4), (1, 5), (1, 6), (2, 4), (2, 7), (3, 6), (3, 7)]


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ({"kind": CoreKind.SIZE, "size": 5}, ([1, 3], [4, 6, 7])),
        ({"kind": CoreKind.SIZE, "size": 5, "at_once": 2}, ([1, 0], [4, 6, 5])),
        ({"kind": CoreKind.PAPER, "size": 4, "at_once": 2}, ([1, 0], [4, 6, 5])),
        ({"kind": CoreKind.DENSITY}, ([1], [4, 6])),
        ({"kind": CoreKind.MAXIMAL}, ([1], [4, 6, 5])),
    ],
)
def test_cores_by_hand(rule: dict[str, Any], wanted: tuple[list[int], list[int]]) -> None:
    web = ranked(LINKS, hubs=[5, 6, 4, 9, 0, 0, 0, 0], authorities=[0, 0, 0, 0, 9, 3, 5, 7])
    core = grown(*web, CoreRule(**rule))
    assert members(core) == wanted
    assert core.authorities[0] == 4
    assert core.best_hub == wanted[0][-1 if rule.get("size") and "at_once" not in rule else 0]


# ---------------------------------------------------------------- the same by sets


class Case(NamedTuple):
    links: list[Link]
    hubs: list[float]
    authorities: list[float]

    def ranked(self) -> tuple[Csr, Csr, Floats, Floats]:
        return ranked(*self)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a graph with links, and scores of few values, so that many are equal."""
    nodes = draw(st.integers(1, 9))
    page, score = st.integers(0, nodes - 1), st.sampled_from([0.0, 0.25, 0.5, 1.0])
    links = draw(st.lists(st.tuples(page, page), min_size=1, max_size=40))
    scores = st.lists(score, min_size=nodes, max_size=nodes)
    authorities = draw(scores)
    authorities[draw(st.sampled_from(links))[1]] = (
        2.0  # HITS gives the best score to a page with links
    )
    return Case(links, draw(scores), authorities)


rules = st.builds(
    CoreRule,
    kind=st.sampled_from(CoreKind),
    size=st.integers(2, 20),
    at_once=st.integers(1, 3),
    density=st.sampled_from([20.0, 50.0, 66.7, 75.0, 100.0]),
    most_hubs=st.integers(1, 6),
)


class BySets:
    """Core that grows by the rules on plain sets, without regard to speed."""

    def __init__(self, case: Case, rule: CoreRule) -> None:
        self.links = set(case.links)
        self.scores = {"hub": case.hubs, "authority": case.authorities}
        best = max(range(len(case.hubs)), key=lambda page: (case.authorities[page], -page))
        self.members: dict[str, list[int]] = {"hub": [], "authority": [best]}
        self.refused: dict[str, set[int]] = {"hub": set(), "authority": set()}
        self.rule = rule

    def candidates(self, side: str) -> set[int]:
        if side == "hub":
            linked = {v for v, w in self.links if w in self.members["authority"]}
        else:
            linked = {w for v, w in self.links if v in self.members["hub"]}
        return linked - set(self.members[side]) - self.refused[side]

    def violates(self) -> bool:
        hubs, authorities = self.members["hub"], self.members["authority"]
        links = sum((v, w) in self.links for v in hubs for w in authorities)
        return 100 * links / (len(hubs) * len(authorities)) < self.rule.density

    def try_one(self, side: str) -> str:
        candidates = self.candidates(side)
        if not candidates:
            return "nobody"
        page = max(candidates, key=lambda page: (self.scores[side][page], -page))
        self.members[side].append(page)
        if self.rule.kind.is_by_size or not self.violates():
            return "joined"
        self.members[side].remove(page)
        self.refused[side].add(page)
        return "refused"

    def turn(self, side: str) -> str:
        match self.rule.kind:
            case CoreKind.SIZE:
                room = self.rule.size - sum(map(len, self.members.values()))
                answers = [self.try_one(side) for _ in range(min(self.rule.at_once, room))]
                return answers[0] if answers else "refused"
            case CoreKind.PAPER:
                answers = [self.try_one(side) for _ in range(self.rule.at_once)]
                return answers[0]
            case CoreKind.DENSITY:
                return self.try_one(side)
            case CoreKind.MAXIMAL:
                while (answer := self.try_one(side)) == "refused":
                    pass
                return answer

    def grow(self) -> tuple[list[int], list[int]]:
        hubs, authorities = self.members["hub"], self.members["authority"]
        while True:
            is_of_size = self.rule.kind.is_by_size
            if is_of_size and len(hubs) + len(authorities) >= self.rule.size:
                return hubs, authorities
            if not is_of_size and len(hubs) >= self.rule.most_hubs:
                return hubs, authorities
            answers = []
            for side in ("hub", "authority"):
                answers.append(self.turn(side))
                if answers[-1] == "refused":
                    return hubs, authorities
            if answers == ["nobody", "nobody"]:
                return hubs, authorities


@given(cases(), rules)
def test_cores_agree_with_the_rules_on_plain_sets(case: Case, rule: CoreRule) -> None:
    core = grown(*case.ranked(), rule)
    assert members(core) == BySets(case, rule).grow()
    found = {(v, w) for v, w in case.links if v in core.hubs and w in core.authorities}
    assert core.links == len(found)
    assert core.density == pytest.approx(100 * len(found) / len(core.hubs) / len(core.authorities))
    assert core.best_hub == max(core.hubs, key=case.hubs.__getitem__)  # the first of equal ones


MAXIMAL = CoreRule(kind=CoreKind.MAXIMAL)


def pruned(graph: Csr) -> Csr:
    """Drop links inside hosts, where every page is a host of its own."""
    return between_hosts(graph, np.arange(graph.nodes))


def community(hubs: range, authorities: range) -> list[Link]:
    return [(hub, authority) for hub in hubs for authority in authorities]


# Three communities, the largest in the middle: 3 × 3, 5 × 4, 2 × 2.
PLANTED = [
    *community(range(3), range(3, 6)),
    *community(range(6, 11), range(11, 15)),
    *community(range(15, 17), range(17, 19)),
]


Shapes = list[tuple[int, int]]


def shapes(cores: list[Core]) -> Shapes:
    return [(len(core.hubs), len(core.authorities)) for core in cores]


def test_planted_communities_are_cores_the_strongest_first() -> None:
    cores = extracted(pruned(graph_of(19, PLANTED)), 3, MAXIMAL)
    assert [(sorted(core.hubs), sorted(core.authorities)) for core in cores] == [
        ([6, 7, 8, 9, 10], [11, 12, 13, 14]),
        ([0, 1, 2], [3, 4, 5]),
        ([15, 16], [17, 18]),
    ]


def test_a_core_removes_its_pages_and_their_links() -> None:
    # The first core takes the best authorities, 2 and 5; the link from 1 to 3 is left.
    graph = graph_of(7, [*community(range(2), range(2, 4)), (0, 5), (4, 2), (4, 5), (4, 6)])
    first, second = extracted(pruned(graph), 2, MAXIMAL)
    assert (first.hubs, first.authorities) == ((0, 4), (2, 5))
    assert (second.hubs, second.authorities) == ((1,), (3,))


@given(nodes_and_links(), st.sampled_from(CoreKind))
def test_no_page_is_in_two_cores_and_no_link_between_hosts_is_left(
    case: tuple[int, list[Link]], kind: CoreKind
) -> None:
    graph = graph_of(*case)
    cores = extracted(pruned(graph), 99, CoreRule(kind=kind))
    taken = [{*core.hubs, *core.authorities} for core in cores]
    assert sum(map(len, taken)) == len(set().union(*taken))
    for source, target in case[1]:
        assert source == target or {source, target} & set().union(*taken)


@given(nodes_and_links(), st.lists(st.integers(0, 2), min_size=12, max_size=12))
def test_the_links_left_are_those_between_hosts_and_between_pages_of_no_earlier_core(
    case: tuple[int, list[Link]], drawn: list[int]
) -> None:
    nodes, links = case
    hosts = [drawn[node % len(drawn)] for node in range(nodes)]
    taken: set[int] = set()
    for core in extracted(between_hosts(graph_of(*case), np.array(hosts, dtype=np.int64)), 99):
        assert core.links_left == sum(
            hosts[source] != hosts[target] and taken.isdisjoint((source, target))
            for source, target in set(links)
        )
        taken.update(core.hubs, core.authorities)


def test_communities_planted_into_a_web_are_found_first() -> None:
    links = links_of(random_graph(2000, 8000))
    for first in (2000, 2060, 2120):
        links += community(range(first, first + 30), range(first + 30, first + 60))
    assert shapes(extracted(pruned(graph_of(2180, links)), 3, MAXIMAL)) == [(30, 30)] * 3


def core(hub: int, authority: int) -> Core:
    return Core(hubs=(hub,), authorities=(authority,), links=1, links_left=1, best_hub=hub)


# 0 -> 1 -> 2 -> 3 -> 4 -> 5, and 6 -> 7 apart
CHAIN = [(page, page + 1) for page in range(5)]
APART = [*CHAIN, (6, 7)]


# ---------------------------------------------------------------- between cores


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


# ---------------------------------------------------------------- crawls


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


# ---------------------------------------------------------------- after as many pages


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


def cores_of(web: NamedGraph, count: int, rule: CoreRule) -> list[Core]:
    return extracted(between_hosts(web.graph, web.names.hosts().of_node), count, rule)


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
    assert seed_set(web, 500, rule, SeedChoice.HUB, rng=dice()).cores == cores_of(web, 500, rule)


# Computed with sets and scipy, without the code under test.
SHAPES = [
    ("hollins.dat.gz", CoreKind.DENSITY, [(15, 10), (1, 2), (28, 1), (6, 4), (3, 4)]),
    ("hollins.dat.gz", CoreKind.MAXIMAL, [(15, 10), (1, 3), (28, 1), (6, 4), (3, 6)]),
    ("california.txt.gz", CoreKind.DENSITY, [(2, 2), (10, 10), (1, 2), (1, 2), (1, 2)]),
    ("california.txt.gz", CoreKind.MAXIMAL, [(7, 4), (11, 13), (11, 3), (6, 2), (4, 4)]),
]


@pytest.mark.large
@pytest.mark.parametrize(("name", "kind", "wanted"), SHAPES)
def test_the_first_cores_agree_with_another_computation(
    name: str, kind: CoreKind, wanted: Shapes, shared_graph: Callable[[str], Path]
) -> None:
    assert shapes(cores_of(read(shared_graph(name)), 5, CoreRule(kind=kind))) == wanted


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
