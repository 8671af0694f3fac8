"""A graph whose nodes are known by name: URLs, hosts, titles, or the numbers of an edge list.

Law: node i of `graph` is the i-th of `names`. Where links have weights, `weights[k]` is that of the
link to `graph.targets[k]`, above 0; without them all links are alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr


class NodeHosts(NamedTuple):
    """On which host each node is; a node that is no URL is a host of its own."""

    of_node: NDArray[np.int32]
    names: Sequence[str]


class Names(Protocol):
    """What the nodes of a graph are called. It may have to look it up: ask for many at once."""

    def __len__(self) -> int:
        """How many nodes there are."""

    def of(self, nodes: Sequence[int]) -> list[str]:
        """The names of these nodes, in this order."""

    def find(self, names: Sequence[str]) -> list[int | None]:
        """The node of each name; None where the graph has none of this name."""

    def hosts(self) -> NodeHosts:
        """The hosts of all nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedGraph:
    """What every link analysis begins from."""

    graph: Csr
    names: Names
    weights: NDArray[np.float32] | None = None
