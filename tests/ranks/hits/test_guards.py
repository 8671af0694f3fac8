"""Guards against colluding pages: caps and weights for the links of a site."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.errors import UsageError
from minicrawl.graph.csr import NamedGraph
from minicrawl.ranks.hits import hits
from minicrawl.ranks.sites import Guards, first_of_each
from tests.graph.graphs import links_of
from tests.ranks.graphs import Pairs, named, some_links

# a.org has three pages, b.org and c.org one each.
PAGES = ["http://a.org/1", "http://www.a.org/2", "http://a.org/3", "http://b.org/", "http://c.org/"]
FARM: Pairs = [(0, 3), (1, 3), (2, 3), (4, 3), (0, 1), (3, 4)]
MORE_PAGES = [*PAGES, "http://d.org/", "http://d.org/x"]
SITES = "aaabcdd"


def weights_of(graph: NamedGraph) -> list[float]:
    assert graph.weights is not None
    assert graph.weights.dtype == np.float32
    return [float(weight) for weight in graph.weights]


def test_without_guards_a_graph_is_left_alone() -> None:
    graph = named(PAGES, FARM)
    assert Guards().guarded(graph) is graph


def test_asked_for_has_the_guards_that_are_set() -> None:
    assert Guards().asked_for() == {}
    assert Guards(most_of_site=2, internal=0.5).asked_for() == {"most_of_site": 2, "internal": 0.5}


def test_the_first_links_of_a_site_to_a_page_count() -> None:
    one = Guards(most_of_site=1).guarded(named(PAGES, FARM))
    assert links_of(one.graph) == [(0, 1), (0, 3), (3, 4), (4, 3)]
    two = Guards(most_of_site=2).guarded(named(PAGES, FARM))
    assert links_of(two.graph) == [(0, 1), (0, 3), (1, 3), (3, 4), (4, 3)]
    assert two.weights is None


def test_the_first_links_inside_a_site_to_a_page_count() -> None:
    inside: Pairs = [(0, 1), (2, 1), (3, 1), (4, 1), (0, 2), (0, 3), (1, 3), (2, 3)]
    one = Guards(most_internal=1).guarded(named(PAGES, inside))
    assert links_of(one.graph) == [link for link in sorted(inside) if link != (2, 1)]
    none = Guards(most_internal=0).guarded(named(PAGES, inside))
    assert links_of(none.graph) == [(0, 3), (1, 3), (2, 3), (3, 1), (4, 1)]


def test_a_cap_of_0_for_all_links_is_refused() -> None:
    with pytest.raises(UsageError, match=f"--domain-cap 0 .*{len(FARM)}"):
        Guards(most_of_site=0).guarded(named(PAGES, FARM))


def test_links_inside_sites_and_between_sites_have_their_weights() -> None:
    graph = named(PAGES, [(0, 1), (0, 3), (3, 4)])
    assert weights_of(Guards(internal=0.5).guarded(graph)) == [0.5, 1, 1]
    assert weights_of(Guards(transverse=2).guarded(graph)) == [1, 2, 2]


def test_links_of_weight_0_are_dropped() -> None:
    graph = named(PAGES, [(0, 1), (0, 3), (3, 4)])
    outside = Guards(internal=0).guarded(graph)
    assert links_of(outside.graph) == [(0, 3), (3, 4)]
    assert weights_of(outside) == [1, 1]
    assert links_of(Guards(transverse=0).guarded(graph).graph) == [(0, 1)]


def test_weights_of_the_graph_are_multiplied() -> None:
    graph = named(PAGES, [(0, 1), (0, 3), (1, 3)], [4, 6, 8])
    assert weights_of(Guards(internal=0.5).guarded(graph)) == [2, 6, 8]
    assert weights_of(Guards(internal=0.5, most_of_site=1).guarded(graph)) == [2, 6]


def test_a_farm_gains_nothing_by_its_size() -> None:
    farm = [f"http://farm.org/{page}" for page in range(20)]
    others = [f"http://site{page}.org/" for page in range(6)]
    spam, good = 26, 27
    graph = named(
        [*farm, *others, "http://spam.org/", "http://good.org/"],
        [*((page, spam) for page in range(20)), *((20 + page, good) for page in range(6))],
    )
    plain, guarded = graph, Guards(most_of_site=1).guarded(graph)
    assert np.argmax(hits(plain.graph).authorities.values) == spam
    assert np.argmax(hits(guarded.graph).authorities.values) == good


@given(some_links, st.integers(1, 3))
def test_no_page_keeps_more_links_of_a_site_than_the_cap(pairs: Pairs, most: int) -> None:
    before = Counter((SITES[source], target) for source, target in pairs)
    kept = links_of(Guards(most_of_site=most).guarded(named(MORE_PAGES, pairs)).graph)
    after = Counter((SITES[source], target) for source, target in kept)
    assert {*kept} <= {*pairs}
    assert after == {key: min(count, most) for key, count in before.items()}


@given(some_links, st.integers(0, 3))
def test_a_cap_inside_sites_leaves_all_links_between_sites(pairs: Pairs, most: int) -> None:
    seen, wanted = Counter[int](), []
    for source, target in pairs:
        is_inside = SITES[source] == SITES[target]
        if not is_inside or seen[target] < most:
            wanted.append((source, target))
        seen[target] += is_inside
    graph, guards = named(MORE_PAGES, pairs), Guards(most_internal=most)
    if pairs and (not wanted or not seen.total()):
        with pytest.raises(UsageError, match=f"--intra-cap {most}"):
            guards.guarded(graph)
    else:
        assert links_of(guards.guarded(graph).graph) == wanted


@pytest.mark.parametrize(
    ("pairs", "guards", "reason"),
    [
        ([(0, 3), (3, 4)], Guards(most_internal=1), "no link is inside a registrable domain"),
        ([(0, 3), (3, 4)], Guards(internal=0.5), "no link is inside a registrable domain"),
        ([(0, 3), (3, 4)], Guards(transverse=2), "all links get the same weight"),
        ([(0, 3), (3, 4)], Guards(transverse=0), "drops all 2 links"),
        ([(0, 1), (1, 2)], Guards(transverse=0), "no link leads from one"),
        ([(0, 1), (1, 2)], Guards(internal=3), "all links get the same weight"),
        ([(0, 1), (1, 2)], Guards(internal=0), "drops all 2 links"),
        ([(0, 1), (0, 3)], Guards(internal=2, transverse=2), "all links get the same weight"),
        ([(0, 1), (0, 3)], Guards(internal=0, transverse=0), "drops all 2 links"),
    ],
)
def test_guards_that_change_nothing_or_leave_nothing_are_refused(
    pairs: Pairs, guards: Guards, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        guards.guarded(named(PAGES, pairs))


@given(st.lists(st.integers(0, 4)), st.integers(0, 3))
def test_first_of_each_agrees_with_counting_one_by_one(keys: list[int], most: int) -> None:
    seen, wanted = Counter[int](), []
    for key in keys:
        wanted.append(seen[key] < most)
        seen[key] += 1
    assert first_of_each(np.array(keys, dtype=np.int64), most).tolist() == wanted


@pytest.mark.parametrize(
    "options",
    [
        {"most_of_site": -1},
        {"most_internal": -2},
        {"internal": -0.5},
        {"transverse": float("inf")},
        {"internal": float("nan")},
    ],
)
def test_a_guard_out_of_range_is_refused_with_its_value(options: dict[str, float]) -> None:
    (value,) = options.values()
    with pytest.raises(UsageError, match=str(value)):
        Guards(**options)  # type: ignore[arg-type]  # options are fields


@pytest.mark.parametrize(
    ("cap", "guards"),
    [("--domain-cap 1", Guards(most_of_site=1)), ("--intra-cap 1", Guards(most_internal=1))],
)
def test_a_cap_is_refused_where_each_node_is_a_domain_of_its_own(cap: str, guards: Guards) -> None:
    """No node has two links to one page, so a cap of 1 drops none."""
    with pytest.raises(UsageError, match=f"{cap} changes nothing: no two nodes"):
        guards.guarded(named(PAGES[2:], [(0, 1), (1, 2), (2, 2)]))


def test_a_cap_of_0_drops_the_links_of_nodes_to_themselves() -> None:
    found = Guards(most_internal=0).guarded(named(PAGES[2:], [(0, 1), (1, 2), (2, 2)]))
    assert found.graph.edges == 2
