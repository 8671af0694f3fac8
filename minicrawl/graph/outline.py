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

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph import distances as hyperball
from minicrawl.graph.csr import Csr, Edge, with_pages
from minicrawl.graph.distances import (
    FAR,
    SAMPLE,
    UNREACHED,
    Distances,
    Extent,
    exact,
    exact_work,
    levels,
    sampled,
)
from minicrawl.ports import Progress, unreported

# ================================================================ degrees
#
# Degree distributions in logarithmic bins, and the power law that fits them.
#
# Every node is in one bin, so the bins sum to the number of nodes. Bins are one number wide up to
# 19 links and twenty up to 139; from 140 on each bin begins at twice the start of the one before.
# So the number of bins hardly grows with the graph.
#
# The exponent is fitted to nodes with at least `TAIL` links, by maximum likelihood. For n nodes
# with degrees k it is 1 + n / sum(ln(k / (TAIL - 1/2))), and its standard error is
# (exponent - 1) / sqrt(n): Clauset, Shalizi and Newman, "Power-law distributions in empirical
# data", 2009, equations 3.7 and 3.2. The approximation is good from six links on.
#
# The fit is judged as in that paper: by the distance D between tail and law (Kolmogorov-Smirnov),
# and the share p of samples of the law that are as far from the law fitted to them. Degrees with
# p < .1 follow no power law. In large graphs small deviations count, so p is 0 for most webs. The
# samples are counts at fixed degrees, so that they cost the same in a graph of any size.

TAIL = 6
"""Smallest degree that the power law is fitted to."""
FEWEST_PAGES = 50
"""Fewest nodes in the tail for which an exponent is fitted."""
LEAST_P = 0.1
"""Share of samples below which the law is rejected."""
_SAMPLES = 200
RANGE = 20
_RANGES = 8
_LAST_RANGE = RANGE * (_RANGES - 1)
_BIN_STARTS = np.array(
    [*range(RANGE), *range(RANGE, _LAST_RANGE, RANGE), *(_LAST_RANGE << n for n in range(25))]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DegreeDistribution:
    """Degree distribution; `bins` has (least degree, number of nodes) of each filled bin."""

    bins: tuple[tuple[int, int], ...]
    most: int
    exponent: float | None
    exponent_error: float | None
    ks_distance: float | None = None
    """Largest difference between the shares of nodes above a degree, in the tail and in the law."""
    p_value: float | None = None
    """Share of samples of the law that are at least as far from it; None without an exponent."""

    @property
    def is_power_law(self) -> bool:
        """True if the tail is as near to the fitted law as samples of it."""
        return self.p_value is not None and self.p_value >= LEAST_P

    def ranges(self) -> Iterator[tuple[str, int]]:
        """Yield the number of nodes with 0-19 links, 20-39 and so on, and 140 or more."""
        counts = [0] * _RANGES
        for least, nodes in self.bins:
            counts[min(least // RANGE, _RANGES - 1)] += nodes
        for number, nodes in enumerate(counts):
            least = number * RANGE
            yield f"{least}+" if least == _LAST_RANGE else f"{least}-{least + RANGE - 1}", nodes

    def density(self) -> Iterator[tuple[float, float]]:
        """Yield (links, nodes with exactly that many), averaged over each bin: points of a plot.

        Nodes without links are left out: they have no place on a logarithmic scale.
        """
        widths = dict(pairwise(_BIN_STARTS.tolist()))
        for least, nodes in self.bins:
            if least:
                end = widths.get(least, 2 * least)
                yield math.sqrt(least * (end - 1)), nodes / (end - least)


def distribution(degrees: NDArray[np.int64]) -> DegreeDistribution:
    """Return the distribution of the degrees of all nodes."""
    places = np.searchsorted(_BIN_STARTS, degrees, side="right") - 1
    counts = np.bincount(places, minlength=len(_BIN_STARTS))
    tail = degrees[degrees >= TAIL]
    exponent, error = _fitted(tail)
    distance, p_value = (None, None) if exponent is None else _goodness(tail, exponent)
    return DegreeDistribution(
        bins=tuple(
            (int(_BIN_STARTS[place]), int(counts[place])) for place in np.flatnonzero(counts)
        ),
        most=int(degrees.max(initial=0)),
        exponent=exponent,
        exponent_error=error,
        ks_distance=distance,
        p_value=p_value,
    )


def _goodness(tail: NDArray[np.int64], exponent: float) -> tuple[float, float]:
    """Return the distance of the tail from its law, and the share of samples at least as far."""
    counts = np.histogram(tail, np.append(_edges(), np.inf))[0][np.newaxis]
    law = -np.diff(_above(exponent), append=0.0)
    samples = np.random.default_rng(0).multinomial(len(tail), law / law.sum(), _SAMPLES)
    distances = _distances(np.concatenate([counts, samples]))
    return float(distances[0]), float((distances[1:] >= distances[0]).mean())


def _distances(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance of each row of counts from the law that is fitted to it."""
    edges = _edges()
    middles = np.sqrt(edges * np.append(edges[1:], 2 * edges[-1]))
    nodes = counts.sum(axis=1)
    exponents = 1 + nodes / np.maximum(counts @ np.log(middles / edges[0]), 1e-9)
    above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1] / nodes[:, np.newaxis]
    found: NDArray[np.float64] = np.abs(above - _above(exponents[:, np.newaxis])).max(axis=1)
    return found


def _above(exponent: Any) -> NDArray[np.float64]:
    """Return the law's share of nodes with a degree above each edge of the bins."""
    found: NDArray[np.float64] = (_edges() / _edges()[0]) ** (1 - exponent)
    return found


@cache
def _edges() -> NDArray[np.float64]:
    """Return the edges of the bins that are compared; small degrees have a bin each."""
    edges = np.unique(np.geomspace(TAIL, 1 << 31, 400).astype(np.int64))
    return edges.astype(np.float64) - 0.5


def _fitted(tail: NDArray[np.int64]) -> tuple[float | None, float | None]:
    """Return the exponent and its standard error, or None for a tail of few nodes."""
    if len(tail) < FEWEST_PAGES:
        return None, None
    exponent = 1 + len(tail) / float(np.log(tail / (TAIL - 0.5)).sum())
    return exponent, (exponent - 1) / math.sqrt(len(tail))


# ================================================================ outline

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
        found: NDArray[np.bool_] = self.of_node == self.of_node[is_largest.argmax()]
        return found


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
    """Return the strong components."""
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
    one, other = graph.sources(), graph.targets
    while one.size:
        near = np.minimum(least[one], least[other])
        np.minimum.at(least, least[one], near)
        np.minimum.at(least, least[other], near)
        _shorten(least)
        apart = least[one] != least[other]
        one, other = one[apart], other[apart]
    return numbered(least)


def numbered(marks: NDArray[np.integer]) -> Components:
    """Return the components in which all nodes have equal marks, numbered from 0."""
    _, of_node, sizes = np.unique(marks, return_inverse=True, return_counts=True)
    return Components(of_node.astype(np.int32), sizes.astype(np.int64, copy=False))


def _shorten(least: Ids) -> None:
    """Make every node point to the end of its chain."""
    while (ends := least[least]).tobytes() != least.tobytes():
        least[:] = ends


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
        low = self._low
        for node in range(len(low)):
            if not low[node]:
                self._enter(node)
                self._walk()
        return np.array(low, dtype=np.int64)

    def _walk(self) -> None:
        low, path = self._low, self._path
        while path:
            node, _, rest = path[-1]
            for target in rest:
                if not low[target]:
                    self._enter(target)
                    break
                low[node] = min(low[node], low[target])
            else:
                self._leave()

    def _enter(self, node: int) -> None:
        self._met += 1
        self._low[node] = self._met
        rest = iter(self._targets[self._starts[node] : self._starts[node + 1]])
        self._path.append((node, self._met, rest))

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
_FEW_SOURCES = 128
_MANY_NODES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Return the sizes of the parts of the graph."""
    core = strong.largest()
    if not graph.nodes:
        return BowTie(core=0, leading_in=0, leading_out=0, tendrils=0, apart=0)
    node = int(core.argmax())
    leads_in = (levels(graph.reversed(), [node]) != UNREACHED) & ~core
    leads_out = (levels(graph, [node]) != UNREACHED) & ~core
    sizes = [int(np.count_nonzero(part)) for part in (core, leads_in, leads_out)]
    around = int(weak.sizes[weak.of_node[node]])
    return BowTie(
        core=sizes[0],
        leading_in=sizes[1],
        leading_out=sizes[2],
        tendrils=around - sum(sizes),
        apart=graph.nodes - around,
    )


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

    def as_json(self) -> dict[str, object]:
        """Return the fields by name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, eq=False)
class Connections:
    """Components and reciprocity of a graph."""

    strong: Components
    weak: Components
    reciprocity: float | None


def outline(
    graph: Csr,
    rng: np.random.Generator,
    tell: Progress = unreported,
    most_work: int = MOST_WORK,
) -> Outline:
    """Return the outline; `rng` draws the sources from which a large graph is sampled."""
    found = Connections(strong(graph), weak(graph), reciprocity(graph))
    return outline_of(graph, found, extent(graph, rng, tell, most_work))


def extent(
    graph: Csr,
    rng: np.random.Generator,
    tell: Progress = unreported,
    most_work: int = MOST_WORK,
    *,
    most_visits: int = hyperball.MOST_LINK_VISITS,
) -> Extent:
    """Return exact distances if they take at most `most_work`, else an estimate."""
    if exact_work(graph) <= most_work:
        found = exact(graph, tell, most_visits=most_visits)
        if found.is_exact:
            return found
    return estimate(graph, rng, tell, most_visits=most_visits)


def estimate(
    graph: Csr,
    rng: np.random.Generator,
    tell: Progress = unreported,
    *,
    most_visits: int = hyperball.MOST_LINK_VISITS,
) -> Extent:
    """Return the better of two estimates of the mean, and the larger bound of the diameter."""
    sources = _FEW_SOURCES if graph.nodes > _MANY_NODES else SAMPLE
    by_paths = sampled(graph, rng, sources, tell, most_visits=most_visits)
    is_fine = by_paths.error <= COARSE * (by_paths.mean_distance or 0)
    # In a deep graph HyperBall takes a round for each link of the diameter, so the sample must do.
    if is_fine or by_paths.diameter * graph.edges > most_visits:
        return by_paths
    by_balls = hyperball.estimated(graph, rng, tell, most_visits=most_visits)
    better = min(by_paths, by_balls, key=lambda found: (found.mean_distance is None, found.error))
    return better._replace(diameter=max(by_paths.diameter, by_balls.diameter))


def outline_of(graph: Csr, found: Connections, far: Extent) -> Outline:
    """Return the outline of a graph with known connections and distances."""
    core = found.strong.largest()
    return Outline(
        nodes=graph.nodes,
        edges=graph.edges,
        dangling=int(np.count_nonzero(graph.out_degrees() == 0)),
        self_links=int(np.count_nonzero(graph.sources() == graph.targets)),
        strong_components=found.strong.count,
        largest_strong=int(np.count_nonzero(core)),
        largest_strong_edges=edges_within(graph, core),
        weak_components=found.weak.count,
        largest_weak=int(np.count_nonzero(found.weak.largest())),
        reciprocity=found.reciprocity,
        out_degrees=distribution(graph.out_degrees()),
        in_degrees=distribution(graph.in_degrees()),
        mean_distance=far.mean_distance,
        mean_distance_error=far.error,
        diameter=far.diameter,
        is_exact=far.is_exact,
        by_hyperball=far.by_hyperball,
        bow_tie=bow_tie(graph, found.strong, found.weak),
    )


# ================================================================ growing
#
# Outline of a growing graph: components and reciprocity are updated, not recomputed.
#
# After each edge, or each batch, the outline is that of the graph so far. Edges are only added, a
# duplicate edge changes nothing, and nodes are numbered in the order of their arrival.
#
# GrowingGraph     edge by edge: distances by A2, which counts the pairs at each distance; strong
#                  components by `Levels`, weak ones by union-find. For graphs small enough for a
#                  matrix of all distances.
# GrowingInBatches graphs of any size, without distances. Components only ever merge, so an edge
#                  within a component is not looked at again: the strong components follow from the
#                  edges between them and the new edges.
#
# `minicrawl lab graphs` compares A2 and `Levels` with other algorithms (`lab.dynamic_graphs`).
#
# key     an edge as one integer: its source in the upper bits, its target in the lowest 31

_BITS = 31
_TARGET = (1 << _BITS) - 1
Keys = NDArray[np.int64]


class GrowingGraph:
    """Graph of up to `capacity` nodes to which edges are added one by one."""

    def __init__(self, capacity: int) -> None:
        self.nodes = 0
        """Number of nodes so far, which the caller sets: nodes may come without edges."""
        self._distances = CountedA2(capacity)
        self._strong = Levels(capacity)
        self._weak = UnionFind(capacity)
        self._edges = dict[Edge, None]()
        self._mutual = 0

    def add(self, source: int, target: int) -> None:
        if (source, target) in self._edges:
            return
        self._edges[source, target] = None
        self._mutual += 2 * (source != target and (target, source) in self._edges)
        self._distances.add(source, target)
        self._strong.add(source, target)
        self._weak.merge(source, target)

    def outline(self) -> Outline:
        """Return the outline of the graph so far."""
        edges = np.array(list(self._edges), dtype=np.int64).reshape(-1, 2)
        graph = Csr.from_edges(self.nodes, edges[:, 0], edges[:, 1])
        found = Connections(
            numbered(self._strong.components[: self.nodes]),
            numbered(self._weak.labels()[: self.nodes]),
            self._mutual / graph.edges if graph.edges else None,
        )
        return outline_of(graph, found, self._distances.extent())


class GrowingInBatches:
    """Graph to which edges are added in batches. The caller measures its distances."""

    def __init__(self) -> None:
        self._keys = np.empty(0, dtype=np.int64)
        self._between = self._keys  # edges between different strong components
        self._strong = self._weak = np.empty(0, dtype=np.int32)
        self._mutual = 0

    def grow(self, nodes: int, sources: Keys, targets: Keys) -> None:
        """Add edges; the graph has `nodes` nodes from now on."""
        keys = np.unique(sources << _BITS | targets)
        new = keys[~_are_among(keys, self._keys)]
        self._strong = _with_singles(self._strong, nodes)
        self._weak = _with_singles(self._weak, nodes)
        self._count_mutual(new)
        self._keys = np.insert(self._keys, np.searchsorted(self._keys, new), new)
        self._weak = _merged(self._weak, new, "weak")
        between = np.concatenate((self._between, new))
        self._strong = labels = _merged(self._strong, between, "strong")
        # Edges within a component are dropped: components only merge, so they change nothing.
        self._between = between[labels[between >> _BITS] != labels[between & _TARGET]]

    @property
    def graph(self) -> Csr:
        """The graph so far."""
        ends = np.arange(len(self._strong) + 1, dtype=np.int64) << _BITS
        starts = np.searchsorted(self._keys, ends).astype(np.int64, copy=False)
        return Csr(starts=starts, targets=(self._keys & _TARGET).astype(np.int32))

    def outline(self, far: Extent) -> Outline:
        """Return the outline of the graph so far, with distances from the last measurement."""
        edges = len(self._keys)
        found = Connections(
            _components(self._strong),
            _components(self._weak),
            self._mutual / edges if edges else None,
        )
        return outline_of(self.graph, found, far)

    def _count_mutual(self, new: Keys) -> None:
        """Count the edges that become mutual. The new edges are not among the keys yet."""
        sources, targets = new >> _BITS, new & _TARGET
        back = np.sort((targets << _BITS | sources)[sources != targets])
        self._mutual += 2 * int(np.count_nonzero(_are_among(back, self._keys)))
        self._mutual += int(np.count_nonzero(_are_among(back, new)))


def _are_among(keys: Keys, known: Keys) -> NDArray[np.bool_]:
    """Return, for each key, whether it is known. Both arrays ascend."""
    if not len(known):
        return np.zeros(len(keys), dtype=np.bool_)
    places = np.searchsorted(known, keys).clip(max=len(known) - 1)
    found: NDArray[np.bool_] = known[places] == keys
    return found


def _components(labels: NDArray[np.int32]) -> Components:
    return Components(labels, np.bincount(labels))


def _with_singles(labels: NDArray[np.int32], nodes: int) -> NDArray[np.int32]:
    """Give each new node a component of its own."""
    first = int(labels.max(initial=-1)) + 1
    singles = np.arange(first, first + nodes - len(labels), dtype=np.int32)
    return np.concatenate((labels, singles))


def _merged(
    labels: NDArray[np.int32], keys: Keys, connection: Literal["strong", "weak"]
) -> NDArray[np.int32]:
    """Return the components after adding these edges: quickly by scipy, if it is installed."""
    count = int(labels.max(initial=-1)) + 1
    sources, targets = labels[keys >> _BITS], labels[keys & _TARGET]
    try:  # late: most outlines are of graphs that do not grow
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components
    except ImportError:
        graph = Csr.from_edges(count, sources, targets)
        merged = (strong if connection == "strong" else weak)(graph).of_node
    else:
        ones = np.ones(len(keys), dtype=np.bool_)  # booleans: parallel edges merge
        between = csr_array((ones, (sources, targets)), shape=(count, count))
        _, merged = connected_components(between, connection=connection)
    found: NDArray[np.int32] = merged[labels]
    return found


# ---------------------------------------------------------------- matrix of distances
#
# All distances in one matrix, repaired after each edge.
#
# A shortest path uses a new edge (s, t) at most once. So any pair (n, m) that gets closer has n
# reaching s and t reaching m, and its new distance is d(n, s) + 1 + d(t, m).
#
# A2 checks only nodes whose distance to t falls, against nodes whose distance from s falls. Every
# pair that gets closer is made of these: a shorter way from n to m through (s, t) is also a shorter
# way from n to t and from s to m. O(n^2) for each edge; an edge that shortens nothing costs O(n).


def no_edges(nodes: int) -> Distances:
    """Return the distances of a graph without edges: 0 from a node to itself, else far."""
    distances = np.full((nodes, nodes), FAR, dtype=np.uint16)
    np.fill_diagonal(distances, 0)
    return distances


class A2:
    """Matrix of all distances, repaired where the new edge can bring pairs closer."""

    def __init__(self, nodes: int) -> None:
        self.distances = no_edges(nodes)

    def add(self, source: int, target: int) -> None:
        distances = self.distances
        if source != target and distances[source, target] != 1:
            shorter = distances[target] + 1
            ends = np.flatnonzero(shorter < distances[source])
            begins = np.flatnonzero(distances[:, source] + 1 < distances[:, target])
            self._shorten(begins, ends, distances[begins, source], shorter[ends])

    def _shorten(
        self,
        begins: NDArray[np.intp],
        ends: NDArray[np.intp],
        to_source: Distances,
        from_source: Distances,
    ) -> None:
        shorten(self.distances, begins, ends, to_source, from_source)


class CountedA2(A2):
    """A2 that also counts the pairs at each distance."""

    def __init__(self, nodes: int) -> None:
        super().__init__(nodes)
        self._pairs = np.zeros(FAR + 1, dtype=np.int64)

    def extent(self) -> Extent:
        """Return the largest distance and the mean distance."""
        pairs = self._pairs[:FAR]
        count, total = int(pairs.sum()), int(pairs @ np.arange(FAR))
        longest = int(np.flatnonzero(pairs).max(initial=0))
        return Extent(longest, total / count if count else None, count, is_exact=True)

    def _shorten(
        self,
        begins: NDArray[np.intp],
        ends: NDArray[np.intp],
        to_source: Distances,
        from_source: Distances,
    ) -> None:
        pairs = np.ix_(begins, ends)
        former = self.distances[pairs]
        super()._shorten(begins, ends, to_source, from_source)
        now = self.distances[pairs]
        fell = now < former
        for sign, distances in ((-1, former[fell]), (1, now[fell])):
            counts = np.bincount(distances)
            self._pairs[: len(counts)] += sign * counts


def shorten(
    distances: Distances,
    begins: NDArray[np.intp],
    ends: NDArray[np.intp],
    to_source: Distances,
    from_source: Distances,
) -> None:
    """Lower the distances from `begins` to `ends` to at most `to_source` + `from_source`."""
    if len(begins) and len(ends):
        pairs = np.ix_(begins, ends)
        distances[pairs] = np.minimum(distances[pairs], to_source[:, None] + from_source)


# ---------------------------------------------------------------- levels
#
# Strong components of a sparse graph, edge by edge: a bidirectional search within levels.
#
# After "A New Approach to Incremental Cycle Detection and Related Problems" by Bender, Fineman,
# Gilbert and Tarjan (ACM Transactions on Algorithms 12, 2016), section 2 with the components of
# section 5.
#
# Each component has a level, and no edge leads to a lower level. The search backwards follows edges
# within one level only, and gives up at the `limit`th. If it ends before that, it has seen
# everything that could close a cycle on that level. If it reaches the limit, the target is lifted
# above the source. So a component is lifted at most n^(2/3) times, and the total time is
#
#     O(m min(m^(1/2), n^(2/3)))
#
# for m edges, plus the merging: the components of a cycle become one, with the edges of all.
#
# inside    for each component, the components of the same level with an edge to it
# outside   for each component, the components it has an edge to


class Levels:
    """Strong components of a sparse graph, each with a level."""

    def __init__(self, nodes: int) -> None:
        self._merged = UnionFind(nodes)
        self._level = [1] * nodes
        self._inside: list[list[int]] = [[] for _ in range(nodes)]
        self._outside: list[list[int]] = [[] for _ in range(nodes)]
        self._most = round(nodes ** (2 / 3))
        self._edges = 0

    @property
    def components(self) -> NDArray[np.int64]:
        return self._merged.labels()

    def add(self, source: int, target: int) -> None:
        source, target = self._merged.root(source), self._merged.root(target)
        if source == target:
            return
        self._edges += 1
        is_cycle = self._level[source] >= self._level[target] and self._order(source, target)
        self._outside[source].append(target)
        if self._level[source] == self._level[target]:
            self._inside[target].append(source)
        if is_cycle:
            self._merge(source, target)

    def _order(self, source: int, target: int) -> bool:
        """Lift the target if the edge requires it; return True if the edge closes a cycle."""
        limit = min(max(1, int(self._edges**0.5)), self._most)
        level = self._level
        before = self._before(source, limit)
        if before is None:
            lifted, before = level[source] + 1, {source}
        elif target in before:
            return True
        elif level[source] == level[target]:
            return False
        else:
            lifted = level[source]
        return self._lift(target, lifted, before)

    def _before(self, source: int, limit: int) -> set[int] | None:
        """Return the components before the source on its level; None at the `limit`th edge."""
        before, waiting = {source}, [source]
        while waiting:
            for earlier in self._parts(self._inside[waiting.pop()]):
                limit -= 1
                if not limit:
                    return None
                if earlier not in before:
                    before.add(earlier)
                    waiting.append(earlier)
        return before

    def _lift(self, target: int, to: int, before: set[int]) -> bool:
        """Lift the target and restore the order; return True if an edge leads to `before`."""
        level, inside = self._level, self._inside
        level[target], inside[target] = to, []
        waiting, is_cycle = [target], False
        while waiting:
            node = waiting.pop()
            for later in self._parts(self._outside[node]):
                is_cycle = is_cycle or later in before
                if level[later] < level[node]:
                    level[later], inside[later] = level[node], []
                    waiting.append(later)
                if level[later] == level[node] and later != node:
                    inside[later].append(node)
        return is_cycle

    def _parts(self, nodes: Iterable[int]) -> Iterable[int]:
        """Return the current components of these nodes."""
        return map(self._merged.root, nodes)

    def _merge(self, source: int, target: int) -> None:
        """Merge the components that lead to the source and are reached from the target."""
        behind = self._found(target, self._outside)
        cycle = behind & self._found(source, self._inside)
        for node in cycle:
            self._merged.merge(target, node)
        root = self._merged.root(target)
        for edges in (self._inside, self._outside):
            all_edges = {end for node in cycle for end in self._parts(edges[node])}
            for node in cycle:
                edges[node] = []
            edges[root] = list(all_edges - {root})

    def _found(self, begin: int, edges: list[list[int]]) -> set[int]:
        """Return the components that `edges` reach from `begin` on its level, `begin` included."""
        level = self._level[begin]
        found, waiting = {begin}, [begin]
        while waiting:
            for node in self._parts(edges[waiting.pop()]):
                if self._level[node] == level and node not in found:
                    found.add(node)
                    waiting.append(node)
        return found


class UnionFind:
    """Union-find: a forest of nodes whose trees are components, named by their least node."""

    def __init__(self, nodes: int) -> None:
        self._parent = list(range(nodes))

    def root(self, node: int) -> int:
        """Return the first node of the component."""
        parent = self._parent
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def merge(self, one: int, other: int) -> int:
        """Merge the components of two nodes, and return the first node of the result."""
        one, other = sorted((self.root(one), self.root(other)))
        self._parent[other] = one
        return one

    def labels(self) -> NDArray[np.int64]:
        """Return the first node of each node's component."""
        return np.array([self.root(node) for node in range(len(self._parent))], dtype=np.int64)
