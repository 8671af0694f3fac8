"""The base set of a question: its root set, what that links to, and some of what links to it.

Kleinberg (1998) begins with the 200 best results of a search and takes at most 50 pages that link
to each of them, so that a page which half the web links to does not bring half the web along. The
paper does not say which 50: here they are those that come first in the graph.

Law: the base set is a part of the graph with all links between its nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.named import NamedGraph
from minicrawl.graph.parts import with_nodes
from minicrawl.ranks.hits.guards import first_of_each
from minicrawl.ranks.scores import Scores

ROOTS = 200
"""How many pages a search gives, by default."""
LINKING = 50
"""How many pages that link to a root are taken, by default."""


@dataclass(frozen=True, slots=True, eq=False)
class BaseSet:
    """A graph of its own, and the nodes that it is made of."""

    named: NamedGraph
    nodes: NDArray[np.int64]

    def over_all(self, scores: Scores, nodes: int) -> Scores:
        """Its scores for a graph of so many nodes: those outside have none."""
        values = np.zeros(nodes)
        values[self.nodes] = scores.values
        return replace(scores, values=values)


def base_set(named: NamedGraph, roots: Sequence[int], linking: int = LINKING) -> BaseSet:
    """What is grown from `roots`, with at most so many pages that link to each."""
    is_chosen = _grown(named.graph, np.asarray(roots, dtype=np.int64), linking)
    return BaseSet(with_nodes(named, is_chosen), np.flatnonzero(is_chosen))


def _grown(graph: Csr, roots: NDArray[np.int64], linking: int) -> NDArray[np.bool_]:
    is_root = np.zeros(graph.nodes, dtype=np.bool_)
    is_root[roots] = True
    is_chosen = is_root.copy()
    is_chosen[graph.targets[np.repeat(is_root, graph.out_degrees())]] = True
    leads_to_root = np.flatnonzero(is_root[graph.targets])
    ends = graph.targets[leads_to_root].astype(np.int64)
    sources = graph.sources()[leads_to_root]
    is_chosen[sources[first_of_each(ends, linking)]] = True
    return is_chosen
