"""Links by what the crawl saw around them.

The words of a link and those near it are not kept. What is kept is what they were worth to the
crawl that read them: the share of its page's cash that a link gets by --focus-words, --focus and
the weights of links. A link counts as many times what the links of its page get on average.
"""

from dataclasses import replace

import numpy as np

from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.named import NamedGraph
from minicrawl.ranks.hits.adjacency import Vector
from minicrawl.ranks.hits.guards import kept
from minicrawl.report.flows import Flows, flows
from minicrawl.report.snapshot import Snapshot

_ALIKE = 1e-5  # what two links get differs by more, or by rounding only


def worded(source: Source, named: NamedGraph) -> NamedGraph:
    """The graph with links weighed by what they get; those that get nothing are left out."""
    if source.snapshot is None:
        raise UsageError("--words needs a store: a graph file tells nothing of words")
    worth = _worth(source.snapshot, named.graph)
    if np.ptp(worth) <= _ALIKE:
        raise UsageError(
            "the crawl gave all links of a page alike: --words needs one with --focus-words"
        )
    weights = worth.astype(np.float32)
    if named.weights is not None:
        weights *= named.weights
    return kept(replace(named, weights=weights), weights > 0)


def _worth(seen: Snapshot, graph: Csr) -> Vector:
    """What each link gets, by the average of its page."""
    keys = graph.sources().astype(np.int64) * graph.nodes + graph.targets
    worth = np.zeros(graph.edges)
    for found in flows(seen):
        wanted = found.givers * graph.nodes + found.ends
        places = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
        # Guards may have left some out.
        is_there = keys[places] == wanted if len(keys) else np.zeros(len(wanted), dtype=np.bool_)
        np.add.at(worth, places[is_there], _by_average(found)[is_there])
    return worth


def _by_average(found: Flows) -> Vector:
    _, page, counts = np.unique(found.givers, return_inverse=True, return_counts=True)
    totals = np.bincount(page, found.parts)
    averages = np.where(totals > 0, totals / counts, 1.0)
    by_average: Vector = found.parts / averages[page]
    return by_average
