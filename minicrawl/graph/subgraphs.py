"""Subgraphs: some of the links of a graph, or some of its nodes and the links between them.

The order of nodes and links is kept, so nothing is sorted again; a named graph keeps its names and
weights. In a subgraph of some nodes, node i is the i-th node that was kept.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.named_graph import NamedGraph, Names, NodeHosts

Mask = NDArray[np.bool_]


def with_links(graph: Csr, is_kept: Mask) -> Csr:
    """Return the graph with all nodes and the links marked in `is_kept`."""
    kept_before = np.zeros(graph.edges + 1, dtype=np.int64)
    np.cumsum(is_kept, out=kept_before[1:])
    return Csr(starts=kept_before[graph.starts], targets=graph.targets[is_kept])


def links_between(graph: Csr, is_kept: Mask) -> Mask:
    """Return a mask of the links whose two ends are kept."""
    return np.repeat(is_kept, graph.out_degrees()) & is_kept[graph.targets]


def with_pages(graph: Csr, is_kept: Mask) -> Csr:
    """Return the graph of the nodes marked in `is_kept`, renumbered, and the links between them."""
    between = with_links(graph, links_between(graph, is_kept))
    number = np.cumsum(is_kept, dtype=np.int32) - np.int32(1)
    starts = np.append(between.starts[:-1][is_kept], between.edges)
    return Csr(starts=starts, targets=number[between.targets])


class _SomeNames:
    def __init__(self, names: Names, nodes: NDArray[np.int64]) -> None:
        """Restrict `names` to these nodes, which ascend."""
        self._names = names
        self._nodes = nodes

    def __len__(self) -> int:
        return len(self._nodes)

    def of(self, nodes: Sequence[int]) -> list[str]:
        return self._names.of(self._nodes[np.asarray(nodes, dtype=np.int64)].tolist())

    def find(self, names: Sequence[str]) -> list[int | None]:
        return [None if node is None else self._place(node) for node in self._names.find(names)]

    def hosts(self) -> NodeHosts:
        of_node, names = self._names.hosts()
        return NodeHosts(of_node[self._nodes], names)

    def _place(self, node: int) -> int | None:
        place = int(np.searchsorted(self._nodes, node))
        return place if place < len(self) and self._nodes[place] == node else None


def with_nodes(named: NamedGraph, is_kept: Mask) -> NamedGraph:
    """Return the named graph of the nodes marked in `is_kept` and the links between them."""
    weights = named.weights
    return NamedGraph(
        graph=with_pages(named.graph, is_kept),
        names=_SomeNames(named.names, np.flatnonzero(is_kept)),
        weights=None if weights is None else weights[links_between(named.graph, is_kept)],
    )
