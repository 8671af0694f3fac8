"""Sites are linked as their pages are."""

import networkx
import numpy as np
import pytest

from minicrawl.errors import UsageError
from minicrawl.ranks.sites import SiteNames, importance, site_graph, sites_of
from tests.ranks.graphs import links_of, named

PAGES = [
    "http://www.a.org/",
    "http://a.org/1",
    "http://b.org/",
    "http://x.c.co.uk/",
    "http://y.c.co.uk/",
]


def test_a_site_is_a_registrable_domain() -> None:
    found = sites_of(named(PAGES, []).names)
    assert found.names == ["a.org", "b.org", "c.co.uk"]
    assert found.of_node.tolist() == [0, 0, 1, 2, 2]


def test_links_between_two_sites_weigh_together_and_those_inside_not_at_all() -> None:
    sites = site_graph(named(PAGES, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]))
    assert sites.names.of([0, 1, 2]) == ["a.org", "b.org", "c.co.uk"]
    assert links_of(sites.graph) == [(0, 1), (1, 2)]
    assert sites.weights is not None
    assert sites.weights.tolist() == [2, 2]


def test_a_page_that_repeats_itself_counts_once_if_asked() -> None:
    sites = site_graph(named(PAGES, [(0, 2), (1, 2), (2, 3), (2, 4)]), by_page=True)
    assert sites.weights is not None
    assert sites.weights.tolist() == [2, 1]


def test_weights_of_links_are_summed() -> None:
    sites = site_graph(named(PAGES, [(0, 2), (1, 2)], [0.5, 3.0]))
    assert sites.weights is not None
    assert sites.weights.tolist() == [3.5]


@pytest.mark.parametrize("by_page", [True, False])
@pytest.mark.parametrize("pages", [[], PAGES])
def test_sites_may_have_no_links(pages: list[str], by_page: bool) -> None:
    sites = site_graph(named(pages, []), by_page=by_page)
    assert sites.graph.edges == 0
    assert len(sites.names) == sites.graph.nodes == len({*"abc"} if pages else "")


def test_importance_is_weighted_pagerank() -> None:
    sites = site_graph(named(PAGES, [(0, 2), (1, 2), (0, 3), (2, 3), (3, 0)]))
    assert sites.weights is not None
    oracle = networkx.DiGraph()
    for (source, target), weight in zip(links_of(sites.graph), sites.weights, strict=True):
        oracle.add_edge(source, target, weight=float(weight))
    wanted = networkx.pagerank(oracle, alpha=0.85, tol=1e-12, max_iter=1000)
    found = importance(sites)
    assert found.values == pytest.approx([wanted[site] for site in range(3)], abs=1e-8)
    assert found.error_bound <= 1e-8
    assert found.converged


@pytest.mark.parametrize("pages", [[], PAGES[:1], PAGES])
def test_importance_sums_to_one_without_links_too(pages: list[str]) -> None:
    found = importance(site_graph(named(pages, [])))
    assert found.values.sum() == pytest.approx(1 if pages else 0)


def test_importance_that_is_cut_short_claims_nothing() -> None:
    sites = site_graph(named(PAGES, [(0, 2), (2, 3), (0, 3)]))
    found = importance(sites, anew=1e-12, most_moves=5)
    assert found.iterations == 5
    assert not found.converged


def test_a_surfer_that_never_starts_anew_is_refused() -> None:
    with pytest.raises(UsageError, match="above 0, up to 1, not 0"):
        importance(site_graph(named(PAGES, [])), anew=0)


def test_sites_are_found_by_their_names() -> None:
    names = SiteNames(["a.org", "b.org"])
    assert names.find(["b.org", "z.org"]) == [1, None]
    assert names.hosts().of_node.tolist() == [0, 1]
    assert names.hosts().names == ["a.org", "b.org"]
    assert names.hosts().of_node.dtype == np.int32
