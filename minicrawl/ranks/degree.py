"""Importance by counting links.

    in    score(i) = weight of the links to i   / weight of all links
    out   score(i) = weight of the links from i / weight of all links

Where there is no link at all, all nodes are alike.
"""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.ranks.scores import Scores


class Direction(StrEnum):
    """Which links of a node count."""

    IN = "in"
    OUT = "out"


def degree(
    graph: Csr,
    weights: NDArray[np.float32] | None = None,
    *,
    direction: Direction = Direction.IN,
) -> Scores:
    """Each node's share of all links."""
    ends = graph.targets if direction is Direction.IN else graph.sources()
    counts = np.bincount(ends, weights, minlength=graph.nodes).astype(np.float64, copy=False)
    total = counts.sum()
    values = counts / total if total else np.full(graph.nodes, 1 / max(graph.nodes, 1))
    return Scores(values=values, iterations=0, error_bound=0.0, converged=True)
