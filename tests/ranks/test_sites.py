"""The graph of sites, made from the links of their pages."""

import numpy as np
import pytest

from minicrawl.graph.csr import with_nodes
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import SiteNames, of_pages, site_graph, sites_of
from tests.graph.graphs import links_of
from tests.ranks.graphs import named

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


def test_a_site_without_nodes_is_left_out() -> None:
    pages = named(PAGES, [])
    found = sites_of(with_nodes(pages, np.array([True, True, False, True, False])).names)
    assert found.names == ["a.org", "c.co.uk"]
    assert found.of_node.tolist() == [0, 0, 1]


def test_links_between_two_sites_are_summed_and_links_inside_dropped() -> None:
    sites = site_graph(named(PAGES, [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]))
    assert sites.names.of([0, 1, 2]) == ["a.org", "b.org", "c.co.uk"]
    assert links_of(sites.graph) == [(0, 1), (1, 2)]
    assert sites.weights is not None
    assert sites.weights.tolist() == [2, 2]


def test_links_of_a_page_to_one_site_count_once_if_asked() -> None:
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
