"""Cores of hubs and authorities: how one grows, and how all are extracted."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read
from minicrawl.ranks.scores import Floats
from minicrawl.ranks.seeds.cores import (
    Core,
    CoreKind,
    CoreRule,
    between_hosts,
    extracted,
    grown,
)
from tests.graph.graphs import (
    Link,
    graph_of,
    links_of,
    nodes_and_links,
    random_graph,
)
from tests.ranks.graphs import cores_of


def ranked(
    links: Sequence[Link], hubs: Sequence[float], authorities: Sequence[float]
) -> tuple[Csr, Csr, Floats, Floats]:
    graph = graph_of(len(hubs), list(links))
    backwards = graph.reversed()
    return graph, backwards, np.array(hubs, dtype=float), np.array(authorities, dtype=float)


def members(core: Core) -> tuple[list[int], list[int]]:
    return list(core.hubs), list(core.authorities)


class Case(NamedTuple):
    links: list[Link]
    hubs: list[float]
    authorities: list[float]

    def ranked(self) -> tuple[Csr, Csr, Floats, Floats]:
        return ranked(*self)


# Hubs 0 to 3, authorities 4 to 7. Hub 3 is the best, but does not link to the best authority. Of
# the two links to a core of 1 × 2, hub 3 has one, and so has hub 0.
BY_HAND = Case(
    links=[(0, 4), (0, 5), (1, 4), (1, 5), (1, 6), (2, 4), (2, 7), (3, 6), (3, 7)],
    hubs=[5, 6, 4, 9, 0, 0, 0, 0],
    authorities=[0, 0, 0, 0, 9, 3, 5, 7],
)


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
    core = grown(*BY_HAND.ranked(), CoreRule(**rule))
    assert members(core) == wanted
    assert core.authorities[0] == 4
    assert core.best_hub == wanted[0][-1 if rule.get("size") and "at_once" not in rule else 0]


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


# In one turn, hubs leave room for no authority, or for fewer than join at once.
@example(BY_HAND, CoreRule(kind=CoreKind.SIZE, size=3, at_once=2))
@example(BY_HAND, CoreRule(kind=CoreKind.SIZE, size=4, at_once=2))
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
