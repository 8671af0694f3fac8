"""Inverse PageRank: PageRank of the links followed backwards. High is what leads to much."""

from minicrawl.graph.csr import Csr
from minicrawl.ranks.hits.adjacency import Weights
from minicrawl.ranks.scores import Scores
from minicrawl.ranks.walks.pagerank import USUAL, PageRankOptions, Tell, pagerank


def inverse_pagerank(
    graph: Csr,
    weights: Weights | None = None,
    *,
    terms: PageRankOptions = USUAL,
    tell: Tell = lambda _share: None,
) -> Scores:
    """The PageRank of the reversed graph."""
    turned = None if weights is None else graph.turned(weights)
    return pagerank(graph.reversed(), turned, terms=terms, tell=tell)
