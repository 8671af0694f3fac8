"""What the words of a question say of the links of a store, and of topics.

Links     A link weighs 1 + n, n being how many words of the question are in it and in the 50
          characters on either side (Chakrabarti et al., 1998). The words of a link are not kept in
          a store. What is kept is how often the crawl looked for it: n is the number of words of
          --focus-words, times the strength of their rule, with what --focus and --focus-type add.
"""

from dataclasses import replace

import numpy as np

from minicrawl.analysis.source import Source
from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Vector
from minicrawl.graph.csr import Csr
from minicrawl.graph.links import Ids
from minicrawl.graph.named import NamedGraph
from minicrawl.report.links.flows import links_in_focus
from minicrawl.report.snapshot import Snapshot


def worded(source: Source, named: NamedGraph) -> NamedGraph:
    """The graph with links weighed by what the crawl looked for in and around them."""
    if source.snapshot is None:
        raise UsageError("--words needs a store: a graph file tells nothing of words")
    weights = np.ones(named.graph.edges, dtype=np.float32)
    np.add.at(weights, *_looked_for(source.snapshot, named.graph))
    if (weights == 1).all():
        raise UsageError("no link has a word in focus: --words needs a crawl with --focus-words")
    if named.weights is not None:
        weights *= named.weights
    return replace(named, weights=weights)


def _looked_for(seen: Snapshot, graph: Csr) -> tuple[Ids, Vector]:
    """Links of the graph, and how often each was looked for; guards may have left out others."""
    keys = graph.sources().astype(np.int64) * graph.nodes + graph.targets
    found = [(some.givers * graph.nodes + some.ends, some.parts) for some in links_in_focus(seen)]
    wanted = np.concatenate([np.empty(0, dtype=np.int64), *(links for links, _ in found)])
    parts = np.concatenate([np.empty(0), *(parts for _, parts in found)])
    is_there = np.isin(wanted, keys)
    return np.searchsorted(keys, wanted[is_there]), parts[is_there]
