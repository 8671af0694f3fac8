"""Cohesion of a graph: its triangles, its innermost core, and how few nodes have its rank.

A `DynamicCohesion` follows a graph whose links and nodes come and go, by what changed.

PageRank follows by what the changes leave to pass on. Unnormalised, each node gets 1 from jumps,
and a share c / d of the rank of each of the nodes with d links that link to it. A node without
links passes nothing on, which scales all ranks alike if jumps go to all nodes. With the ranks x
before a change,

    r = 1 + c Pᵀ x - x

is the residual, which changes at the targets of the changed nodes alone. Nodes that hold much of it
add it to their rank, and pass c of it on, until little is left: as shares of their
sum, ranks are at most 2 |r| / ((1 - c) |x|) off, summed over all nodes.

Source: N. Ohsaka, T. Maehara, K. Kawarabayashi, *Efficient PageRank tracking in evolving networks*,
KDD 2015.

Example: two nodes without links have ranks of 1. A link from the first to the second changes only
the residual of the second, by c, which it has no link to pass on. So the ranks are 1 and 1.85.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.neighbours import BITS, Keys, Neighbours

DAMPING = 0.85
TOLERANCE = 1e-6
"""Largest error of the ranks, as shares of their sum, summed over all nodes."""
_SLACK = 10 * TOLERANCE

Floats = NDArray[np.float64]
Nodes = NDArray[np.int64]


class DynamicRanks:
    """PageRank of a changing graph."""

    def __init__(self) -> None:
        self.ranks = np.zeros(0)
        """Unnormalised rank of each node; 0 for numbers that are no node now."""
        self._residual = np.zeros(0)
        self._graph = Csr.from_edges(0, np.empty(0, np.int64), np.empty(0, np.int64))

    def change(self, is_node: NDArray[np.bool_], changed: Nodes, graph: Csr) -> None:
        """Follow a change: the links of the `changed` nodes are now those of `graph`."""
        known, nodes = len(self.ranks), len(is_node)
        self.ranks = np.pad(self.ranks, (0, nodes - known))
        before = changed[changed < known]
        residual = np.pad(self._residual, (0, nodes - known))
        residual += is_node & (self.ranks == 0)
        residual -= _passed(self._graph, before, self.ranks[before], nodes)
        residual += _passed(graph, changed, self.ranks[changed], nodes)
        # A node that goes has lost all its links: nobody else's rank depends on its own.
        self.ranks[~is_node] = residual[~is_node] = 0.0
        most = TOLERANCE * (1 - DAMPING) / 2
        while (left := float(np.abs(residual).sum())) > most * float(self.ranks.sum()):
            holders = np.flatnonzero(np.abs(residual) >= 0.5 * left / nodes)
            taken = residual[holders].copy()
            self.ranks[holders] += taken
            residual[holders] = 0.0
            residual += _passed(graph, holders, taken, nodes)
        self._graph, self._residual = graph, residual

    def nodes_with(self, share: float) -> int:
        """Return the least number of nodes with this share of all PageRank, up to its error."""
        ranks = np.sort(self.ranks)[::-1]
        enough = (share - _SLACK) * ranks.sum()
        return int(np.searchsorted(np.cumsum(ranks), enough)) + 1 if len(ranks) and enough else 0


def _passed(graph: Csr, nodes: Nodes, amounts: Floats, size: int) -> Floats:
    """Return what each of `size` nodes gets if these nodes pass on their amounts."""
    counts = graph.starts[nodes + 1] - graph.starts[nodes]
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    targets = graph.targets[np.repeat(graph.starts[nodes], counts) + places]
    shares = np.repeat(DAMPING * amounts / np.maximum(counts, 1), counts)
    return np.bincount(targets, shares, size).astype(np.float64, copy=False)


MOST_MEASURED = 1 << 22
"""Most links of a graph whose figures are computed: beyond it they would take half a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohesion:
    """Figures of a graph; triangles and cores disregard the direction of links."""

    triangles: int
    core: int
    """Largest k of a k-core: a subgraph in which every node has k neighbours or more."""
    core_nodes: int
    half_of_rank: int
    """Least number of nodes with half of all PageRank."""


class DynamicCohesion:
    """Figures of a graph whose links and nodes come and go."""

    def __init__(self) -> None:
        self._neighbours, self._ranks = Neighbours(), DynamicRanks()

    def change(
        self, is_node: NDArray[np.bool_], added: Keys, removed: Keys, keys: Keys, graph: Csr
    ) -> None:
        """Follow a change. `keys` are all links from now on, and `graph` is made of them."""
        self._neighbours.change(len(is_node), added, removed, keys)
        changed = np.unique(np.concatenate((added, removed)) >> BITS)
        self._ranks.change(is_node, changed, graph)

    def figures(self) -> Cohesion:
        """Return the figures of the graph so far."""
        core, core_nodes = self._neighbours.innermost()
        return Cohesion(
            triangles=self._neighbours.triangles,
            core=core,
            core_nodes=core_nodes,
            half_of_rank=self._ranks.nodes_with(0.5),
        )


def cohesion(graph: Csr) -> Cohesion | None:
    """Return the figures of a graph, or None if it has too many links."""
    if graph.edges > MOST_MEASURED:
        return None
    keys = np.sort(graph.sources().astype(np.int64) << BITS | graph.targets)
    whole = DynamicCohesion()
    whole.change(np.ones(graph.nodes, dtype=np.bool_), keys, keys[:0], keys, graph)
    return whole.figures()
