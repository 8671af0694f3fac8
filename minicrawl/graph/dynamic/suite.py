"""The graphs on which the dynamic algorithms are compared, each with its edges in a fixed order.

a*      forces O(n^3) changes of the distances: thirds s, z and t; a path through z, all of s lead
        to its begin and its end leads to all of t; then edges from the begin of z shorten the path
        one page at a time.
c*      every page to every other.
roads   grids of about the size of the road maps of two states, both ways, with some roads missing.
sc*     small graphs whose components merge in several steps.
random  links drawn at random; `pages`, a growing web whose pages copy links.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import permutations
from random import Random

from minicrawl.graph.dynamic.matrices import Edge


@dataclass(frozen=True, slots=True)
class EdgeSequence:
    """A graph whose edges come one after the other."""

    name: str
    nodes: int
    edges: tuple[Edge, ...]

    @property
    def density(self) -> float:
        """The part of all possible edges that are there."""
        return len(self.edges) / max(1, self.nodes * (self.nodes - 1))


def staged(third: int) -> EdgeSequence:
    """a*: three times `third` pages."""

    def edges() -> Iterator[Edge]:
        first, last = third, 2 * third - 1
        yield from ((page, first) for page in range(third))
        yield from ((page, page + 1) for page in range(first + 1, last))
        yield from ((last, page) for page in range(2 * third, 3 * third))
        yield from ((first, page) for page in range(first + 1, last + 1))

    return EdgeSequence(f"a{3 * third}", 3 * third, tuple(edges()))


def complete(nodes: int) -> EdgeSequence:
    """c*: every page to every other."""
    return EdgeSequence(f"c{nodes}", nodes, tuple(permutations(range(nodes), 2)))


def roads(name: str, width: int, height: int, edges: int) -> EdgeSequence:
    """A grid of streets, both ways, of which as many as fit are drawn at random."""
    rng = Random(name)
    places = range(width * height)
    streets = [(place, place + 1) for place in places if (place + 1) % width]
    streets += [(place, place + width) for place in places[:-width]]
    rng.shuffle(streets)
    both = [edge for one, other in streets[: edges // 2] for edge in ((one, other), (other, one))]
    return EdgeSequence(name, width * height, tuple(both))


def random_edges(nodes: int, edges: int, seed: int = 1) -> EdgeSequence:
    """Different edges drawn at random."""
    rng, found = Random(seed), dict[Edge, None]()
    while len(found) < min(edges, nodes * (nodes - 1)):
        source, target = rng.randrange(nodes), rng.randrange(nodes)
        if source != target:
            found[source, target] = None
    return EdgeSequence(f"random-{nodes}-{edges}", nodes, tuple(found))


SC = {
    "sc1": (8, "01 12 20 23 34 45 53 56 67 76 61"),
    "sc2": (8, "01 12 23 34 45 56 67 10 32 54 76 21 43 65"),
    "sc3": (4, "01 12 20 13 30 32"),
}
"""Small graphs: pages, and edges as two digits."""


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
"""By name."""
