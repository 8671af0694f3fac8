"""Parts of a graph whose nodes are known by name.

Law: what is kept keeps its name, its order, and the weights of its links.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.named import NamedGraph, Names, NodeHosts
from minicrawl.graph.parts import Mask, links_between, with_pages


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
        place = {node: place for place, node in enumerate(self._nodes.tolist())}
        found = self._names.find(names)
        return [None if node is None else place.get(node) for node in found]

    def hosts(self) -> NodeHosts:
        of_node, names = self._names.hosts()
        return NodeHosts(of_node[self._nodes], names)


def with_nodes(named: NamedGraph, is_kept: Mask) -> NamedGraph:
    """The nodes that `is_kept` tells, and the links between them."""
    weights = named.weights
    return NamedGraph(
        graph=with_pages(named.graph, is_kept),
        names=SomeNames(named.names, np.flatnonzero(is_kept)),
        weights=None if weights is None else weights[links_between(named.graph, is_kept)],
    )
