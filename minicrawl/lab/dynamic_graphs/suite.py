"""Graphs with a fixed order of edges, on which the algorithms are compared.

a*      forces O(n^3) changes of distances. Thirds s, z and t: z is a path without its first edge,
        all of s link to its first page, and its last page links to all of t. Then edges from the
        first page of z complete the path, and shorten it by one page at a time.
c*      complete graphs.
roads   grids of about the size of the road maps of two states, in both directions, with some
        roads missing.
sc*     small graphs whose components merge in several steps.
random  edges drawn at random.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from random import Random

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Edge
from minicrawl.graph.distances import Distances
from minicrawl.lab.dynamic_graphs.one_matrix import A4
from minicrawl.lab.dynamic_graphs.recomputed import Tarjan


@dataclass(frozen=True, slots=True)
class EdgeSequence:
    """A graph with a fixed order of edges."""

    name: str
    nodes: int
    edges: tuple[Edge, ...]

    @property
    def density(self) -> float:
        """Share of all possible edges that exist."""
        return len(self.edges) / max(1, self.nodes * (self.nodes - 1))


@dataclass(frozen=True, slots=True, eq=False)
class SolvedGraph:
    """A graph with the distances and components that algorithms are validated against."""

    graph: EdgeSequence
    distances: Distances
    components: NDArray[np.int64]


def staged(third: int) -> EdgeSequence:
    """Return the graph a* with three times `third` pages."""

    def edges() -> Iterator[Edge]:
        first, last = third, 2 * third - 1
        yield from ((page, first) for page in range(third))
        yield from ((page, page + 1) for page in range(first + 1, last))
        yield from ((last, page) for page in range(2 * third, 3 * third))
        yield from ((first, page) for page in range(first + 1, last + 1))

    return EdgeSequence(f"a{3 * third}", 3 * third, tuple(edges()))


def complete(nodes: int) -> EdgeSequence:
    """Return the graph c*, with an edge from every page to every other."""
    return EdgeSequence(f"c{nodes}", nodes, tuple(permutations(range(nodes), 2)))


def roads(name: str, width: int, height: int, edges: int) -> EdgeSequence:
    """Return a grid of two-way streets with at most `edges` random directed edges."""
    rng = Random(name)
    places = range(width * height)
    streets = [(place, place + 1) for place in places if (place + 1) % width]
    streets += [(place, place + width) for place in places[:-width]]
    rng.shuffle(streets)
    both = [edge for a, b in streets[: edges // 2] for edge in ((a, b), (b, a))]
    return EdgeSequence(name, width * height, tuple(both))


def random_edges(nodes: int, edges: int, seed: int = 1) -> EdgeSequence:
    rng, drawn = Random(seed), dict[Edge, None]()
    while len(drawn) < min(edges, nodes * (nodes - 1)):
        source, target = rng.randrange(nodes), rng.randrange(nodes)
        if source != target:
            drawn[source, target] = None
    return EdgeSequence(f"random-{nodes}-{edges}", nodes, tuple(drawn))


SC = {
    "sc1": (8, "01 12 20 23 34 45 53 56 67 76 61"),
    "sc2": (8, "01 12 23 34 45 56 67 10 32 54 76 21 43 65"),
    "sc3": (4, "01 12 20 13 30 32"),
}
"""Small graphs: number of pages, and edges as pairs of digits."""


def _small(name: str) -> EdgeSequence:
    nodes, edges = SC[name]
    return EdgeSequence(name, nodes, tuple((int(edge[0]), int(edge[1])) for edge in edges.split()))


SUITE: dict[str, Callable[[], EdgeSequence]] = {
    **{f"a{nodes}": partial(staged, nodes // 3) for nodes in (300, 900, 1500)},
    **{f"c{nodes}": partial(complete, nodes) for nodes in (100, 200, 400, 800)},
    "roads-georgia": partial(roads, "roads-georgia", 173, 9, 5016),
    "roads-idaho": partial(roads, "roads-idaho", 16, 16, 672),
    **{name: partial(_small, name) for name in SC},
    "random-1000": partial(random_edges, 1000, 3000),
}


def solved(graph: EdgeSequence) -> SolvedGraph:
    distances, components = A4(graph.nodes), Tarjan(graph.nodes)
    distances.add_all(graph.edges)
    for source, target in graph.edges:
        components.add(source, target)
    return SolvedGraph(graph, distances.distances, components.components)
