"""Growth of a core: each rule by hand, then against the rules on plain sets."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import UsageError
from minicrawl.ranks.seeds import Core, CoreKind, CoreRule, RankedGraph, grown
from tests.graph.graphs import Link, graph_of

DENSE = CoreRule(kind=CoreKind.DENSITY)
MAXIMAL = CoreRule(kind=CoreKind.MAXIMAL)


def of_size(size: int, at_once: int = 1) -> CoreRule:
    return CoreRule(kind=CoreKind.SIZE, size=size, at_once=at_once)


def ranked(
    links: Sequence[Link], hubs: Sequence[float], authorities: Sequence[float]
) -> RankedGraph:
    graph = graph_of(len(hubs), list(links))
    return RankedGraph(
        graph=graph,
        backwards=graph.reversed(),
        hubs=np.array(hubs, dtype=float),
        authorities=np.array(authorities, dtype=float),
    )


# Hubs 0 to 3, authorities 4 to 7. Hub 3 is the best, but does not link to the best authority.
LINKS = [(0, 4), (0, 5), (1, 4), (1, 5), (1, 6), (2, 4), (2, 7), (3, 6), (3, 7)]
WEB = ranked(LINKS, hubs=[5, 6, 4, 9, 0, 0, 0, 0], authorities=[0, 0, 0, 0, 9, 3, 5, 7])


def members(core: Core) -> tuple[list[int], list[int]]:
    return list(core.hubs), list(core.authorities)


# ---------------------------------------------------------------- who joins


def test_a_core_begins_with_the_best_authority() -> None:
    core = grown(WEB, of_size(2))
    assert core.authorities[0] == core.best_authority == 4


def test_the_first_hub_is_the_best_that_links_to_the_authority() -> None:
    assert grown(WEB, of_size(2)).hubs == (1,)  # 3 is better, and links elsewhere


def test_an_authority_joins_by_its_own_score_if_any_hub_links_to_it() -> None:
    assert grown(WEB, of_size(3)).authorities == (4, 6)  # 7 is better, and 1 does not link to it


def test_a_hub_joins_if_it_links_to_any_authority() -> None:
    assert members(grown(WEB, of_size(5))) == ([1, 3], [4, 6, 7])  # 3 links to 6, not to 4


def test_hubs_and_authorities_take_turns_until_all_are_in() -> None:
    assert members(grown(WEB, of_size(99))) == ([1, 3, 0, 2], [4, 6, 7, 5])


def test_of_equal_scores_the_lower_number_joins_first() -> None:
    links = [(hub, page) for hub in (0, 1, 2) for page in (3, 4, 5)]
    web = ranked(links, hubs=[1, 1, 1, 0, 0, 0], authorities=[0, 0, 0, 1, 1, 1])
    assert members(grown(web, of_size(99))) == ([0, 1, 2], [3, 4, 5])


def test_a_page_may_be_hub_and_authority() -> None:
    web = ranked([(0, 0), (0, 1), (1, 0), (1, 1)], hubs=[1, 2], authorities=[2, 1])
    assert members(grown(web, MAXIMAL)) == ([1, 0], [0, 1])


def test_a_page_that_links_to_itself_is_hub_and_authority_of_its_core() -> None:
    web = ranked([(0, 0)], hubs=[1], authorities=[1])
    assert members(grown(web, MAXIMAL)) == ([0], [0])


# ---------------------------------------------------------------- a fixed size


@pytest.mark.parametrize("at_once", [1, 2, 3, 9])
@pytest.mark.parametrize("size", range(2, 10))
def test_a_core_grows_until_it_has_its_size_and_no_further(size: int, at_once: int) -> None:
    assert grown(WEB, of_size(size, at_once)).size == min(size, len(WEB.hubs))


def test_several_may_join_at_once() -> None:
    # Both hubs are chosen before 6 and 7 join, so hub 0 joins for its link to 4, and not hub 3.
    assert members(grown(WEB, of_size(5, at_once=2))) == ([1, 0], [4, 6, 5])


def test_a_community_may_be_smaller_than_the_size() -> None:
    web = ranked([(0, 1), (2, 3)], hubs=[1, 0, 1, 0], authorities=[0, 2, 0, 1])
    assert members(grown(web, of_size(50))) == ([0], [1])


def test_one_side_grows_on_when_nobody_is_left_for_the_other() -> None:
    web = ranked([(0, 1), (0, 2), (0, 3)], hubs=[1, 0, 0, 0], authorities=[0, 3, 2, 1])
    assert members(grown(web, of_size(50))) == ([0], [1, 2, 3])


# ---------------------------------------------------------------- a fixed cover density

# Of the two links to a core of 1 × 2, hub 3 has one, and so has hub 0.


def test_the_page_that_violates_the_density_is_taken_back_and_ends_the_core() -> None:
    assert members(grown(WEB, DENSE)) == ([1], [4, 6])


def test_a_maximal_core_passes_over_the_page_that_violates_the_density() -> None:
    assert members(grown(WEB, MAXIMAL)) == ([1], [4, 6, 5])


def test_a_violator_on_the_side_of_the_authorities_is_taken_back_as_well() -> None:
    # Hubs 0 and 1 link to 4. Authority 6 violates, as only 1 links to it; 5 was in before.
    links = [(0, 4), (0, 5), (1, 4), (1, 5), (1, 6), (2, 4), (2, 5)]
    web = ranked(links, hubs=[9, 8, 7, 0, 0, 0, 0], authorities=[0, 0, 0, 0, 9, 1, 5])
    assert members(grown(web, DENSE)) == ([0, 1], [4, 5])
    assert members(grown(web, MAXIMAL)) == ([0, 1, 2], [4, 5])


def test_a_page_that_was_passed_over_is_not_tried_again() -> None:
    # Hub 1 makes 2 × 2 pages 75 % dense. It would fit after 5 and 6, but is not tried again.
    links = [(0, 3), (0, 4), (0, 5), (0, 6), (1, 3), (1, 5), (1, 6), (2, 3), (2, 4), (2, 5), (2, 6)]
    web = ranked(links, hubs=[9, 8, 7, 0, 0, 0, 0], authorities=[0, 0, 0, 9, 8, 7, 6])
    rule = CoreRule(kind=CoreKind.MAXIMAL, density=80)
    assert members(grown(web, rule)) == ([0, 2], [3, 4, 5, 6])
    assert grown(web, CoreRule(kind=CoreKind.MAXIMAL, density=75)).hubs == (0, 1, 2)


def test_a_density_that_is_just_reached_is_enough() -> None:
    links = [(0, 2), (0, 3), (1, 2)]
    web = ranked(links, hubs=[2, 1, 0, 0], authorities=[0, 0, 2, 1])
    assert members(grown(web, CoreRule(kind=CoreKind.DENSITY, density=75))) == ([0, 1], [2, 3])
    assert members(grown(web, CoreRule(kind=CoreKind.DENSITY, density=75.01))) == ([0], [2, 3])


def test_density_is_the_share_of_the_links_that_could_be() -> None:
    core = grown(WEB, of_size(5))  # hubs 1, 3 and authorities 4, 6, 7
    assert core.links == 4
    assert core.density == pytest.approx(100 * 4 / 6)


@pytest.mark.parametrize("rule", [DENSE, MAXIMAL])
def test_a_core_takes_no_more_hubs_than_it_may(rule: CoreRule) -> None:
    web = ranked([(hub, 5) for hub in range(5)], hubs=[1] * 5 + [0], authorities=[0] * 5 + [1])
    assert grown(web, CoreRule(kind=rule.kind, most_hubs=3)).hubs == (0, 1, 2)
    assert grown(web, rule).hubs == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": 1},
        {"at_once": 0},
        {"density": 0.0},
        {"density": 100.5},
        {"density": float("nan")},
        {"most_hubs": 0},
    ],
)
def test_a_rule_that_no_core_could_keep_is_refused(wrong: dict[str, Any]) -> None:
    (value,) = wrong.values()
    with pytest.raises(UsageError, match=f"not {value}"):
        CoreRule(**wrong)


# ---------------------------------------------------------------- the best of a core


def test_the_best_hub_has_the_highest_score() -> None:
    core = grown(WEB, of_size(5))
    assert core.hubs == (1, 3)
    assert core.best_hub == 3


def test_of_equal_hubs_the_first_that_joined_is_the_best() -> None:
    web = ranked([(0, 2), (1, 2)], hubs=[1, 1, 0], authorities=[0, 0, 1])
    assert grown(web, MAXIMAL).best_hub == 0


# ---------------------------------------------------------------- the same by sets


class Case(NamedTuple):
    links: list[Link]
    hubs: list[float]
    authorities: list[float]

    def ranked(self) -> RankedGraph:
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
        if self.rule.kind is CoreKind.SIZE or not self.violates():
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
            case CoreKind.DENSITY:
                return self.try_one(side)
            case CoreKind.MAXIMAL:
                while (answer := self.try_one(side)) == "refused":
                    pass
                return answer

    def grow(self) -> tuple[list[int], list[int]]:
        hubs, authorities = self.members["hub"], self.members["authority"]
        while True:
            is_of_size = self.rule.kind is CoreKind.SIZE
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
    assert members(grown(case.ranked(), rule)) == BySets(case, rule).grow()


@given(cases(), rules)
def test_links_of_a_core_are_counted(case: Case, rule: CoreRule) -> None:
    core = grown(case.ranked(), rule)
    found = {(v, w) for v, w in case.links if v in core.hubs and w in core.authorities}
    assert core.links == len(found)


@given(cases(), st.floats(1, 100), st.sampled_from([CoreKind.DENSITY, CoreKind.MAXIMAL]))
def test_no_core_is_less_dense_than_asked(case: Case, density: float, kind: CoreKind) -> None:
    assert grown(case.ranked(), CoreRule(kind=kind, density=density)).density >= density - 1e-9


@given(cases(), st.floats(1, 100))
def test_a_maximal_core_begins_with_the_dense_core(case: Case, density: float) -> None:
    dense = grown(case.ranked(), CoreRule(kind=CoreKind.DENSITY, density=density))
    maximal = grown(case.ranked(), CoreRule(kind=CoreKind.MAXIMAL, density=density))
    assert dense.hubs == maximal.hubs[: len(dense.hubs)]
    assert dense.authorities == maximal.authorities[: len(dense.authorities)]


@given(cases())
def test_no_page_could_join_a_maximal_core_of_density_100(case: Case) -> None:
    core, links = grown(case.ranked(), MAXIMAL), set(case.links)
    for page in range(len(case.hubs)):
        links_to_all = all((page, authority) in links for authority in core.authorities)
        is_linked_by_all = all((hub, page) in links for hub in core.hubs)
        assert links_to_all == (page in core.hubs)
        assert is_linked_by_all == (page in core.authorities)
