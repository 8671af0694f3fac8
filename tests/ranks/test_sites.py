"""The graph of sites, and guards against colluding pages."""

import numpy as np
import pytest

from minicrawl.errors import UsageError
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graph.subgraphs import with_nodes
from minicrawl.ranks.guards import Guards
from minicrawl.ranks.hits import hits
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import SiteNames, of_pages, site_graph, sites_of
from tests.graph.graphs import links_of
from tests.ranks.graphs import Pairs, named

PAGES = [
    "http://www.a.org/",
    "http://a.org/1",
    "http://b.org/",
    "http://x.c.co.uk/",
    "http://y.c.co.uk/",
]


def test_a_site_is_a_registrable_domain_with_nodes() -> None:
    pages = named(PAGES, [])
    found = sites_of(pages.names)
    assert found.names == ["a.org", "b.org", "c.co.uk"]
    assert found.of_node.tolist() == [0, 0, 1, 2, 2]
    found = sites_of(with_nodes(pages, np.array([True, True, False, True, False])).names)
    assert found.names == ["a.org", "c.co.uk"]
    assert found.of_node.tolist() == [0, 0, 1]


BETWEEN = [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]


@pytest.mark.parametrize(
    ("weights", "by_page", "wanted"),
    [(None, False, [2, 2]), (None, True, [2, 1]), ([9, 0.5, 3, 1, 2, 9], False, [3.5, 3])],
)
def test_links_between_two_sites_are_summed_and_links_inside_dropped(
    weights: list[float] | None, by_page: bool, wanted: list[float]
) -> None:
    """If asked, links of a page to one site count once."""
    sites = site_graph(named(PAGES, BETWEEN, weights), by_page=by_page)
    assert sites.names.of([0, 1, 2]) == ["a.org", "b.org", "c.co.uk"]
    assert links_of(sites.graph) == [(0, 1), (1, 2)]
    assert sites.weights is not None
    assert sites.weights.tolist() == wanted


@pytest.mark.parametrize("by_page", [True, False])
@pytest.mark.parametrize("pages", [[], PAGES])
def test_sites_may_have_no_links(pages: list[str], by_page: bool) -> None:
    sites = site_graph(named(pages, []), by_page=by_page)
    assert sites.graph.edges == 0
    assert len(sites.names) == sites.graph.nodes == (3 if pages else 0)


def test_pages_share_the_score_of_their_site() -> None:
    pages = named(PAGES, [])
    of_sites = np.array([0.2, 0.3, 0.5])
    found = of_pages(
        Scores(values=of_sites, iterations=7, error_bound=1e-8, converged=True),
        sites_of(pages.names),
    )
    assert found.values.tolist() == [0.1, 0.1, 0.3, 0.25, 0.25]
    assert (found.iterations, found.error_bound, found.converged) == (7, 1e-8, True)


def test_sites_are_found_by_their_names() -> None:
    names = SiteNames(["a.org", "b.org"])
    assert names.find(["b.org", "z.org"]) == [1, None]
    assert names.hosts().of_node.tolist() == [0, 1]
    assert names.hosts().names == ["a.org", "b.org"]
    assert names.hosts().of_node.dtype == np.int32


# a.org has three pages, b.org and c.org one each.
FARM_PAGES = [
    "http://a.org/1",
    "http://www.a.org/2",
    "http://a.org/3",
    "http://b.org/",
    "http://c.org/",
]
FARM: Pairs = [(0, 3), (1, 3), (2, 3), (4, 3), (0, 1), (3, 4)]


def weights_of(graph: NamedGraph) -> list[float]:
    assert graph.weights is not None
    assert graph.weights.dtype == np.float32
    return [float(weight) for weight in graph.weights]


def test_without_guards_a_graph_is_left_alone() -> None:
    graph = named(FARM_PAGES, FARM)
    assert Guards().guarded(graph) is graph


def test_a_cap_of_0_for_all_links_is_refused() -> None:
    with pytest.raises(UsageError, match=f"--domain-cap 0 .*{len(FARM)}"):
        Guards(most_of_site=0).guarded(named(FARM_PAGES, FARM))


def test_links_inside_sites_and_between_sites_have_their_weights() -> None:
    """Links of weight 0 are dropped."""
    graph = named(FARM_PAGES, [(0, 1), (0, 3), (3, 4)])
    assert weights_of(Guards(internal=0.5).guarded(graph)) == [0.5, 1, 1]
    assert weights_of(Guards(transverse=2).guarded(graph)) == [1, 2, 2]
    outside = Guards(internal=0).guarded(graph)
    assert (links_of(outside.graph), weights_of(outside)) == ([(0, 3), (3, 4)], [1, 1])
    assert links_of(Guards(transverse=0).guarded(graph).graph) == [(0, 1)]


def test_weights_of_the_graph_are_multiplied() -> None:
    graph = named(FARM_PAGES, [(0, 1), (0, 3), (1, 3)], [4, 6, 8])
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
    for guards, best in ((Guards(), spam), (Guards(most_of_site=1), good)):
        assert np.argmax(hits(guards.guarded(graph).graph).authorities.values) == best


@pytest.mark.parametrize(
    ("pairs", "guards", "reason"),
    [
        ([(0, 3), (3, 4)], Guards(most_internal=1), "inside a registrable domain"),
        ([(0, 3), (3, 4)], Guards(internal=0.5), "inside a registrable domain"),
        ([(0, 3), (3, 4)], Guards(transverse=2), "same weight"),
        ([(0, 3), (3, 4)], Guards(transverse=0), "drops all 2 links"),
        ([(0, 1), (1, 2)], Guards(transverse=0), "leads from one"),
        ([(0, 1), (1, 2)], Guards(internal=3), "same weight"),
        ([(0, 1), (1, 2)], Guards(internal=0), "drops all 2 links"),
        ([(0, 1), (0, 3)], Guards(internal=2, transverse=2), "same weight"),
        ([(0, 1), (0, 3)], Guards(internal=0, transverse=0), "drops all 2 links"),
    ],
)
def test_guards_that_change_nothing_or_leave_nothing_are_refused(
    pairs: Pairs, guards: Guards, reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        guards.guarded(named(FARM_PAGES, pairs))


@pytest.mark.parametrize(
    "options",
    [
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
    with pytest.raises(UsageError, match=f"{cap} .*no two nodes"):
        guards.guarded(named(FARM_PAGES[2:], [(0, 1), (1, 2), (2, 2)]))


def test_a_cap_of_0_drops_the_links_of_nodes_to_themselves() -> None:
    found = Guards(most_internal=0).guarded(named(FARM_PAGES[2:], [(0, 1), (1, 2), (2, 2)]))
    assert found.graph.edges == 2
