"""A graph in a few numbers: how large it is, how it is connected, how far apart its nodes are.

Law: where distances were measured from some nodes only, the outline says so, and its diameter is a
lower bound.
"""

from dataclasses import asdict, dataclass

import numpy as np
from numpy.random import Generator

from minicrawl.graph.components import edges_within, strong, weak
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import exact, exact_work, sampled
from minicrawl.progress import Progress, unreported

MOST_WORK = 10_000_000
"""Links that a round of all searches may look at; more would take minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """Distances are those of pairs of nodes of which the first reaches the second."""

    nodes: int
    edges: int
    dangling: int
    """Nodes without links."""
    self_links: int
    strong_components: int
    largest_strong: int
    """The nodes in the largest of them, and the edges within it."""
    largest_strong_edges: int
    weak_components: int
    largest_weak: int
    mean_distance: float | None
    diameter: int
    is_exact: bool

    def as_json(self) -> dict[str, object]:
        """Its numbers by their names."""
        return asdict(self)


def outline(
    graph: Csr,
    rng: Generator,
    tell: Progress = unreported,
    most_work: int = MOST_WORK,
) -> Outline:
    """The generator draws the nodes from which a large graph is measured."""
    strongly, weakly = strong(graph), weak(graph)
    core = strongly.largest()
    is_small = exact_work(graph) <= most_work
    extent = exact(graph, tell) if is_small else sampled(graph, rng, tell=tell)
    return Outline(
        nodes=graph.nodes,
        edges=graph.edges,
        dangling=int(np.count_nonzero(graph.out_degrees() == 0)),
        self_links=int(np.count_nonzero(graph.sources() == graph.targets)),
        strong_components=strongly.count,
        largest_strong=int(np.count_nonzero(core)),
        largest_strong_edges=edges_within(graph, core),
        weak_components=weakly.count,
        largest_weak=int(np.count_nonzero(weakly.largest())),
        mean_distance=extent.mean_distance,
        diameter=extent.diameter,
        is_exact=extent.is_exact,
    )
