"""Summary of a graph: its size, its components and its distances.

Estimated distances are marked as such, with the method, and the diameter is then a lower bound.
Distances are sampled from some sources first. If the error of the mean exceeds `COARSE`, HyperBall
estimates it too, and the estimate with the smaller error is used. A few sources suffice if nearly
all nodes reach the same nodes, but not otherwise; HyperBall takes twice the time.

Two nodes are in the same strong component if each reaches the other along links, and in the same
weak component if links connect them in any direction. Every node is in one component of either
kind; components are numbered from 0.

On the web, one strong component holds most of the links. It is found first, by breadth-first search
from a node with many links along links and against them. The rest goes through Tarjan's algorithm,
in the form that needs one number for each node (Pearce, 2016).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph import distances, hyperball
from minicrawl.graph.cohesion import Cohesion, cohesion
from minicrawl.graph.csr import Csr
from minicrawl.graph.degrees import DegreeDistribution, distribution
from minicrawl.graph.distances import SAMPLE, UNREACHED, Extent, exact, exact_work, levels, sampled
from minicrawl.graph.subgraphs import with_pages
from minicrawl.ports import Progress, unreported

Ids = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """The component of every node, and the size of each component."""

    of_node: Ids
    sizes: NDArray[np.int64]

    @property
    def count(self) -> int:
        return len(self.sizes)

    def largest(self) -> NDArray[np.bool_]:
        """Return a mask of the nodes in the largest component; ties go to the lowest node."""
        if not self.count:
            return np.zeros(0, dtype=np.bool_)
        is_largest = (self.sizes == self.sizes.max())[self.of_node]
        mask: NDArray[np.bool_] = self.of_node == self.of_node[is_largest.argmax()]
        return mask


def edges_within(graph: Csr, nodes: NDArray[np.bool_]) -> int:
    """Return the number of links that both start and end at these nodes."""
    return int(np.count_nonzero(nodes[graph.sources()] & nodes[graph.targets]))


def reciprocity(graph: Csr) -> float | None:
    """Return the share of edges with an edge in the opposite direction; self-links do not count."""
    if not graph.edges:
        return None
    back = graph.reversed()
    sources, targets = graph.sources().astype(np.int64), back.sources().astype(np.int64)
    forth_keys = sources * graph.nodes + graph.targets
    back_keys = targets * graph.nodes + back.targets
    both = np.intersect1d(forth_keys, back_keys, assume_unique=True)
    loops = np.count_nonzero(sources == graph.targets)
    return (len(both) - int(loops)) / graph.edges


def strong(graph: Csr) -> Components:
    if not graph.edges:
        return numbered(np.arange(graph.nodes, dtype=np.int32))
    # Two breadth-first searches by numpy find the large component of a web, which has most of the
    # links. Tarjan's walk in Python, which takes a step for each link, then sees only the rest.
    pivot = int((graph.out_degrees() * graph.in_degrees()).argmax())
    forth, back = levels(graph, [pivot]), levels(graph.reversed(), [pivot])
    core = (forth != UNREACHED) & (back != UNREACHED)
    # The core gets mark 0, other components get marks above.
    component = np.zeros(graph.nodes, dtype=np.int64)
    component[~core] = 1 + _Tarjan(with_pages(graph, ~core)).marks()
    return numbered(component)


def weak(graph: Csr) -> Components:
    """Return the weak components: each node takes the least number around it until none changes."""
    least = np.arange(graph.nodes, dtype=np.int32)
    node, other = graph.sources(), graph.targets
    while node.size:
        near = np.minimum(least[node], least[other])
        np.minimum.at(least, least[node], near)
        np.minimum.at(least, least[other], near)
        while (ends := least[least]).tobytes() != least.tobytes():
            least[:] = ends
        apart = least[node] != least[other]
        node, other = node[apart], other[apart]
    return numbered(least)


def numbered(marks: NDArray[np.integer]) -> Components:
    """Return the components in which all nodes have equal marks, numbered from 0."""
    _, of_node, sizes = np.unique(marks, return_inverse=True, return_counts=True)
    return Components(of_node.astype(np.int32), sizes.astype(np.int64, copy=False))


class _Tarjan:
    """Strong components by one depth-first walk along all links.

    low   0 for an unvisited node; for a node on the path its number, or the least number that it
          leads back to; for a node of a complete component its mark, which is above all numbers
    path  nodes from the start of the walk to the current node
    done  nodes whose links were all followed and whose component is not complete
    """

    def __init__(self, graph: Csr) -> None:
        self._starts, self._targets = graph.starts.tolist(), graph.targets.tolist()
        self._low = [0] * graph.nodes
        self._path: list[tuple[int, int, Iterator[int]]] = []
        self._done: list[int] = []
        self._met, self._mark = 0, graph.nodes

    def marks(self) -> NDArray[np.int64]:
        """Return a mark for each node, equal within a component."""
        low, path = self._low, self._path
        for start in range(len(low)):
            if not low[start]:
                self._enter(start)
            while path:
                node, _, targets = path[-1]
                for target in targets:
                    if not low[target]:
                        self._enter(target)
                        break
                    low[node] = min(low[node], low[target])
                else:
                    self._leave()
        return np.array(low, dtype=np.int64)

    def _enter(self, node: int) -> None:
        self._met += 1
        self._low[node] = self._met
        targets = iter(self._targets[self._starts[node] : self._starts[node + 1]])
        self._path.append((node, self._met, targets))

    def _leave(self) -> None:
        low, path, done = self._low, self._path, self._done
        node, number, _ = path.pop()
        done.append(node)
        if low[node] < number:
            before = path[-1][0]
            low[before] = min(low[before], low[node])
            return
        self._mark += 1
        while done and number <= low[done[-1]]:
            low[done.pop()] = self._mark


MOST_WORK = 10_000_000
"""Most visits of links and nodes in a round of all exact searches; more would take minutes."""
COARSE = 0.02
"""Largest acceptable error, as a share of the mean distance."""
FEW_SOURCES = 128
_MANY_NODES = 1_000_000


@dataclass(frozen=True, slots=True)
class BowTie:
    """Parts of a graph around its largest strong component, in nodes (Broder et al., 2000)."""

    core: int
    leading_in: int
    """Nodes outside the core that reach it."""
    leading_out: int
    """Nodes outside the core that are reached from it."""
    tendrils: int
    """Other nodes of the core's weak component."""
    apart: int
    """Nodes in other weak components."""


def bow_tie(graph: Csr, strong: Components, weak: Components) -> BowTie:
    """Count the nodes of each part, seen from the largest strong component."""
    core = strong.largest()
    if not graph.nodes:
        return BowTie(0, 0, 0, 0, 0)
    node = int(core.argmax())
    leads_in = (levels(graph.reversed(), [node]) != UNREACHED) & ~core
    leads_out = (levels(graph, [node]) != UNREACHED) & ~core
    nodes, before, behind = (int(np.count_nonzero(part)) for part in (core, leads_in, leads_out))
    around = int(weak.sizes[weak.of_node[node]])
    return BowTie(nodes, before, behind, around - nodes - before - behind, graph.nodes - around)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """Summary of a graph; distances are over pairs whose first node reaches the second."""

    nodes: int
    edges: int
    dangling: int
    """Number of nodes without links."""
    self_links: int
    strong_components: int
    largest_strong: int
    """Nodes in the largest strong component; the next field has the edges within it."""
    largest_strong_edges: int
    weak_components: int
    largest_weak: int
    reciprocity: float | None
    """Share of edges with an edge in the opposite direction; None without edges."""
    out_degrees: DegreeDistribution
    in_degrees: DegreeDistribution
    mean_distance: float | None
    """None if no node reaches another one, or if paths are too long to measure."""
    mean_distance_error: float
    """Standard error of the mean; 0 if all distances were measured."""
    diameter: int
    is_exact: bool
    by_hyperball: bool = False
    """True if distances are HyperBall estimates instead of a sample."""
    bow_tie: BowTie | None = None
    """None in samples of older versions."""
    cohesion: Cohesion | None = None
    """None in samples of older versions, and if there are too many links."""


@dataclass(frozen=True, slots=True, eq=False)
class Connections:
    """Components, reciprocity and cohesion of a graph."""

    strong: Components
    weak: Components
    reciprocity: float | None
    cohesion: Cohesion | None


def outline(
    graph: Csr,
    rng: np.random.Generator,
    tell: Progress = unreported,
    most_work: int = MOST_WORK,
) -> Outline:
    """Return the outline; `rng` draws the sources from which a large graph is sampled."""
    connections = Connections(strong(graph), weak(graph), reciprocity(graph), cohesion(graph))
    return outline_of(graph, connections, extent(graph, rng, tell, most_work))


def extent(
    graph: Csr,
    rng: np.random.Generator,
    tell: Progress = unreported,
    most_work: int = MOST_WORK,
    *,
    most_visits: int = distances.MOST_LINK_VISITS,
) -> Extent:
    """Return exact distances if they take at most `most_work`, else an estimate."""
    if exact_work(graph) <= most_work:
        measured = exact(graph, tell, most_visits=most_visits)
        if measured.is_exact:
            return measured
    return estimate(graph, rng, tell, most_visits=most_visits)


def estimate(
    graph: Csr,
    rng: np.random.Generator,
    tell: Progress = unreported,
    *,
    most_visits: int = distances.MOST_LINK_VISITS,
) -> Extent:
    """Return the better of two estimates of the mean, and the larger bound of the diameter."""
    sources = FEW_SOURCES if graph.nodes > _MANY_NODES else SAMPLE
    by_paths = sampled(graph, rng, sources, tell, most_visits=most_visits)
    is_fine = by_paths.error <= COARSE * (by_paths.mean_distance or 0)
    # In a deep graph HyperBall takes a round for each link of the diameter, so the sample must do.
    if is_fine or by_paths.diameter * graph.edges > most_visits:
        return by_paths
    by_balls = hyperball.estimated(graph, rng, tell, most_visits=most_visits)
    better = min(by_paths, by_balls, key=lambda row: (row.mean_distance is None, row.error))
    return better._replace(diameter=max(by_paths.diameter, by_balls.diameter))


def outline_of(graph: Csr, connections: Connections, far: Extent) -> Outline:
    strong, weak = connections.strong, connections.weak
    core = strong.largest()
    return Outline(
        nodes=graph.nodes,
        edges=graph.edges,
        dangling=int(np.count_nonzero(graph.out_degrees() == 0)),
        self_links=int(np.count_nonzero(graph.sources() == graph.targets)),
        strong_components=strong.count,
        largest_strong=int(np.count_nonzero(core)),
        largest_strong_edges=edges_within(graph, core),
        weak_components=weak.count,
        largest_weak=int(np.count_nonzero(weak.largest())),
        reciprocity=connections.reciprocity,
        out_degrees=distribution(graph.out_degrees()),
        in_degrees=distribution(graph.in_degrees()),
        mean_distance=far.mean_distance,
        mean_distance_error=far.error,
        diameter=far.diameter,
        is_exact=far.is_exact,
        by_hyperball=far.by_hyperball,
        bow_tie=bow_tie(graph, strong, weak),
        cohesion=connections.cohesion,
    )
