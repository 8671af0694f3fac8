"""Every rank with its usual options, by the name under which it is kept."""

from collections.abc import Callable

from numpy.random import default_rng

from minicrawl.analysis.source import Tell
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.degree import degree
from minicrawl.ranks.harmonic import hyperball
from minicrawl.ranks.hits.hits import hits
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.sites import of_pages, site_graph, sites_of
from minicrawl.ranks.walks.inverse import inverse_pagerank
from minicrawl.ranks.walks.pagerank import pagerank
from minicrawl.ranks.walks.trust import chosen_seeds, trust

TRUSTED = 20
"""So many seeds are chosen for trust where none are named."""


def _trust(named: NamedGraph, tell: Tell) -> Scores:
    seeds = chosen_seeds(named.graph, named.weights, "inverse", TRUSTED)
    return trust(named.graph, seeds, named.weights, tell=tell)


def _sites(named: NamedGraph, tell: Tell) -> Scores:
    linked = site_graph(named)
    return of_pages(pagerank(linked.graph, linked.weights, tell=tell), sites_of(named.names))


_SEED = 1

RANKS: dict[str, Callable[[NamedGraph, Tell], Scores]] = {
    "degree": lambda named, _tell: degree(named.graph, named.weights),
    "pagerank": lambda named, tell: pagerank(named.graph, named.weights, tell=tell),
    "inverse-pagerank": lambda named, tell: inverse_pagerank(named.graph, named.weights, tell=tell),
    "trust": _trust,
    "hits-authorities": lambda named, tell: hits(named.graph, named.weights, tell=tell).authorities,
    "hits-hubs": lambda named, tell: hits(named.graph, named.weights, tell=tell).hubs,
    "harmonic": lambda named, tell: hyperball(named.graph, rng=default_rng(_SEED), tell=tell),
    "sites": _sites,
}
"""What `compare` and `stability` compute where nothing is kept."""
