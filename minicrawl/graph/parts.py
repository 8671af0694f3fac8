"""Parts of a graph: some of its links, or some of its nodes and the links between them.

Law: what is kept keeps its order, so that nothing is sorted again, and in a graph whose nodes have
names also its name and the weights of its links. In a part of the nodes, node i is the i-th of
those that were kept.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.named import NamedGraph, Names, NodeHosts

Mask = NDArray[np.bool_]


def with_links(graph: Csr, is_kept: Mask) -> Csr:
    """All nodes, and of the links those for which `is_kept` is true, in the order of `targets`."""
    kept_before = np.zeros(graph.edges + 1, dtype=np.int64)
    np.cumsum(is_kept, out=kept_before[1:])
    return Csr(starts=kept_before[graph.starts], targets=graph.targets[is_kept])


def links_between(graph: Csr, is_kept: Mask) -> Mask:
    """Of each link, whether both its ends are kept."""
    return np.repeat(is_kept, graph.out_degrees()) & is_kept[graph.targets]


def with_pages(graph: Csr, is_kept: Mask) -> Csr:
    """The nodes for which `is_kept` is true, renumbered, and the links between them."""
    between = with_links(graph, links_between(graph, is_kept))
    number = np.cumsum(is_kept, dtype=np.int32) - np.int32(1)
    starts = np.append(between.starts[:-1][is_kept], between.edges)
    return Csr(starts=starts, targets=number[between.targets])


class SomeNames:
    """The names of some nodes of a graph."""

    def __init__(self, names: Names, nodes: NDArray[np.int64]) -> None:
        """The nodes ascend."""
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
    """The nodes for which `is_kept` is true, and the links between them."""
    weights = named.weights
    return NamedGraph(
        graph=with_pages(named.graph, is_kept),
        names=SomeNames(named.names, np.flatnonzero(is_kept)),
        weights=None if weights is None else weights[links_between(named.graph, is_kept)],
    )
