"""Graphs with named nodes: URLs, hosts, titles, or the ids of an edge list.

Invariant: node i of `graph` is the i-th of `names`. Where links have weights, `weights[k]` > 0 is
that of the link to `graph.targets[k]`; without weights all links are equal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr


class NodeHosts(NamedTuple):
    """The host of each node; a node that is not a URL is its own host."""

    of_node: NDArray[np.int32]
    names: Sequence[str]


class Names(Protocol):
    """Names of the nodes of a graph; look-ups may be slow, so they take many at once."""

    def __len__(self) -> int:
        """Return the number of nodes."""

    def of(self, nodes: Sequence[int]) -> list[str]:
        """Return the names of these nodes, in this order."""

    def find(self, names: Sequence[str]) -> list[int | None]:
        """Return the node of each name; None for unknown names."""

    def hosts(self) -> NodeHosts:
        """Return the hosts of all nodes."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedGraph:
    """A graph with named nodes, the input of every link analysis."""

    graph: Csr
    names: Names
    weights: NDArray[np.float32] | None = None
