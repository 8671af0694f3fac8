"""Every rank with its usual options, by the name under which it is kept."""

from collections.abc import Callable

from numpy.random import default_rng

from minicrawl.analysis.source import Tell
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.degree import degree
from minicrawl.ranks.harmonic import hyperball
from minicrawl.ranks.hits import hits
from minicrawl.ranks.scores import Scores

_SEED = 1

RANKS: dict[str, Callable[[NamedGraph, Tell], Scores]] = {
    "degree": lambda named, _tell: degree(named.graph, named.weights),
    "hits-authorities": lambda named, tell: hits(named.graph, named.weights, tell=tell).authorities,
    "hits-hubs": lambda named, tell: hits(named.graph, named.weights, tell=tell).hubs,
    "harmonic": lambda named, tell: hyperball(named.graph, rng=default_rng(_SEED), tell=tell),
}
"""What `compare` and `stability` compute where nothing is kept."""
