"""The base set of a question: its root set, what that links to, and some of what links to it.

Kleinberg (1998) begins from the 200 best answers of a search and takes at most 50 pages that link
to each of them, so that a page which half the web links to does not bring half the web along. Which
of them says nothing in the paper: here they are those that come first in the graph.

Law: the base set is a part of the graph with all links between its nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.named import NamedGraph, Names, NodeHosts
from minicrawl.graph.parts import with_pages
from minicrawl.ranks.hits.guards import first_of_each
from minicrawl.ranks.scores import Scores

ROOTS = 200
"""How many pages a search gives, unless asked for otherwise."""
LINKING = 50
"""How many pages that link to a root are taken, unless asked for otherwise."""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """The names of some nodes of a graph: node i is called as `nodes[i]` there."""

    whole: Names
    nodes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nodes)

    def of(self, nodes: Sequence[int]) -> list[str]:
        return self.whole.of(self.nodes[np.asarray(nodes, dtype=np.int64)].tolist())

    def find(self, names: Sequence[str]) -> list[int | None]:
        return [None if node is None else self._place(node) for node in self.whole.find(names)]

    def hosts(self) -> NodeHosts:
        hosts = self.whole.hosts()
        return hosts._replace(of_node=hosts.of_node[self.nodes])

    def _place(self, node: int) -> int | None:
        place = int(np.searchsorted(self.nodes, node))
        return place if place < len(self) and self.nodes[place] == node else None


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
    graph = named.graph
    is_between = np.repeat(is_chosen, graph.out_degrees()) & is_chosen[graph.targets]
    nodes = np.flatnonzero(is_chosen)
    weights = None if named.weights is None else named.weights[is_between]
    return BaseSet(
        NamedGraph(with_pages(graph, is_chosen), Chosen(named.names, nodes), weights), nodes
    )


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
