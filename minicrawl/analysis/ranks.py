"""Every rank with its usual options, by the name under which it is kept."""

from collections.abc import Callable

from minicrawl.analysis.source import Tell
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.degree import degree
from minicrawl.ranks.scores import Scores

RANKS: dict[str, Callable[[NamedGraph, Tell], Scores]] = {
    "degree": lambda named, _tell: degree(named.graph, named.weights),
}
"""What `compare` and `stability` compute where nothing is kept."""
