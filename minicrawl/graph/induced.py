"""Part of a graph: some of its nodes, and the links between them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.named import Hosts, NamedGraph, Names


class Some:
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

    def hosts(self) -> Hosts:
        of_node, names = self._names.hosts()
        return Hosts(of_node[self._nodes], names)

    def _place(self, node: int) -> int | None:
        place = int(np.searchsorted(self._nodes, node))
        return place if place < len(self) and self._nodes[place] == node else None


def induced(named: NamedGraph, nodes: NDArray[np.int64]) -> NamedGraph:
    """The graph of these nodes, which ascend: node i of it is `nodes[i]`."""
    number = np.full(named.graph.nodes, -1, dtype=np.int32)
    number[nodes] = np.arange(len(nodes), dtype=np.int32)
    sources, targets = number[named.graph.sources()], number[named.graph.targets]
    stays = (sources >= 0) & (targets >= 0)
    degrees = np.bincount(sources[stays], minlength=len(nodes))
    starts = np.concatenate(([0], np.cumsum(degrees)))
    weights = None if named.weights is None else named.weights[stays]
    return NamedGraph(Csr(starts, targets[stays]), Some(named.names, nodes), weights)
