"""How closely a graph is knit: its triangles, its innermost core, and how few nodes have its rank.

A `DynamicCohesion` follows a graph whose links and nodes come and go, by what changed.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.dynamic_ranks import DynamicRanks
from minicrawl.graph.neighbours import BITS, Keys, Neighbours

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
