"""Outline of a graph whose links and nodes come and go: updated by the changes, not recomputed.

A node keeps its number when it goes, and has it again when it comes back; meanwhile it is left out
of the outline. Links change in batches. What follows a batch:

reciprocity  by the changed links alone, looked up backwards among the others
components   Links that come merge components: only links between components are looked at. Links
             that go split the component that both their ends are in, if anything: that component
             is taken apart and merged again, and all others stay.
distances    With `most_exact`, for graphs small enough for a matrix of all distances. Links that
             come shorten by A2 (`graph.all_distances`). For links that go, the affected sources are
             found as by Ramalingam and Reps ("An incremental algorithm for a generalization of the
             shortest-path problem", 1996): a source keeps its distances if the head of each lost
             link still has a link from a node that is one step nearer to the source. The distances
             of the others are searched again. The same holds backwards for targets, and the fewer
             of both are searched: for a page that only lost its in-links, that is one.

cohesion     Triangles and core numbers (`graph.neighbours`) and PageRank (`graph.cohesion`),
             of graphs with at most `MOST_FOLLOWED` links, by the changed links too.

Degrees are read off the links. What is not maintained of larger graphs is the caller's to measure.

key     an edge as one integer: its source in the upper bits, its target in the lowest 31
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.all_distances import CountedA2
from minicrawl.graph.cohesion import Cohesion, DynamicCohesion
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import FAR, Extent, matrix_rows
from minicrawl.graph.neighbours import BITS, Keys, are_among
from minicrawl.graph.outline import Connections, Outline, numbered, outline_of, strong, weak
from minicrawl.graph.subgraphs import with_pages

_TARGET = (1 << BITS) - 1
MOST_FOLLOWED = 1 << 20
"""Most links of a graph whose cohesion is maintained: a change then takes some .02 s."""
Mask = NDArray[np.bool_]
Labels = NDArray[np.int32]


class DynamicGraph:
    """Graph whose links and nodes come and go."""

    def __init__(self, most_exact: int = 0) -> None:
        """Maintain all distances of up to `most_exact` nodes."""
        self._is_node = np.zeros(0, dtype=np.bool_)
        self._keys = np.empty(0, dtype=np.int64)
        self._between = self._keys  # edges between different strong components
        self._strong = self._weak = np.empty(0, dtype=np.int32)
        self._mutual = 0
        self.distances = DynamicDistances(most_exact) if most_exact else None
        """All distances, or None if they are not maintained: it may be set to None."""
        self.cohesion: DynamicCohesion | None = DynamicCohesion()
        """Triangles, cores and PageRank, or None if they are not maintained."""

    def add(self, is_node: Mask, sources: Keys, targets: Keys) -> None:
        """Add links; `is_node` has the nodes from now on, by number."""
        keys = np.unique(sources << BITS | targets)
        self._change(is_node, keys[~are_among(keys, self._keys)], keys[:0])

    def become(self, is_node: Mask, sources: Keys, targets: Keys) -> None:
        """Add and remove links so that the graph has these alone."""
        keys = np.unique(sources << BITS | targets)
        added, removed = ~are_among(keys, self._keys), ~are_among(self._keys, keys)
        self._change(is_node, keys[added], self._keys[removed])

    @property
    def graph(self) -> Csr:
        whole = self._by_number()
        return whole if self._is_node.all() else with_pages(whole, self._is_node)

    def outline(self, measured: Extent, cohesion: Cohesion | None = None) -> Outline:
        """Return the outline; `measured` and `cohesion` stand in for what is not maintained."""
        if self.cohesion is not None:
            cohesion = self.cohesion.figures()
        if self.distances is not None:
            measured = self.distances.extent()
        edges = len(self._keys)
        connections = Connections(
            numbered(self._strong[self._is_node]),
            numbered(self._weak[self._is_node]),
            self._mutual / edges if edges else None,
            cohesion,
        )
        return outline_of(self.graph, connections, measured)

    def _by_number(self) -> Csr:
        ends = np.arange(len(self._is_node) + 1, dtype=np.int64) << BITS
        starts = np.searchsorted(self._keys, ends).astype(np.int64, copy=False)
        return Csr(starts=starts, targets=(self._keys & _TARGET).astype(np.int32))

    def _change(self, is_node: Mask, added: Keys, removed: Keys) -> None:
        self._is_node = is_node
        self._strong = _with_singles(self._strong, len(is_node))
        self._weak = _with_singles(self._weak, len(is_node))
        if len(removed):
            self._keys = np.delete(self._keys, np.searchsorted(self._keys, removed))
            self._mutual -= _newly_mutual(removed, self._keys)
            # The components that lost a link are taken apart, and what is left of them is merged.
            self._weak, inside = _taken_apart(self._weak, removed, self._keys)
            self._weak = _merged(self._weak, inside, "weak")
            self._strong, inside = _taken_apart(self._strong, removed, self._keys)
            left = self._between[are_among(self._between, self._keys)]
            self._between = np.concatenate((left, inside))
            if self.distances is not None:
                self.distances.remove_all(*_ends(removed), self._by_number())
        self._mutual += _newly_mutual(added, self._keys)
        self._keys = np.insert(self._keys, np.searchsorted(self._keys, added), added)
        self._weak = _merged(self._weak, added, "weak")
        between = np.concatenate((self._between, added))
        self._strong = labels = _merged(self._strong, between, "strong")
        # Until links go, edges within a component change nothing: components only merge.
        sources, targets = _ends(between)
        self._between = between[labels[sources] != labels[targets]]
        if self.distances is not None:
            for source, target in zip(*(ends.tolist() for ends in _ends(added)), strict=True):
                self.distances.add(source, target)
        if len(self._keys) > MOST_FOLLOWED:
            self.cohesion = None
        if self.cohesion is not None:
            self.cohesion.change(is_node, added, removed, self._keys, self._by_number())


class DynamicDistances(CountedA2):
    """Matrix of all distances, and the pairs at each, while links come and go."""

    def remove_all(self, sources: Keys, targets: Keys, graph: Csr) -> None:
        """Lengthen the distances after links were removed, of which `graph` has the rest."""
        back, distances = graph.reversed(), self.distances[: graph.nodes, : graph.nodes]
        begins = _affected(distances, targets, back)
        ends = _affected(distances.T, sources, graph)
        if len(begins) > len(ends):
            distances, begins, graph = distances.T, ends, back
        now = matrix_rows(graph, begins)
        self.count(distances[begins], now)
        distances[begins] = now


def _affected(distances: NDArray[np.uint16], heads: Keys, back: Csr) -> NDArray[np.intp]:
    """Return the nodes whose shortest path to a head led over a lost link, and over no other."""
    is_affected = np.zeros(len(distances), dtype=np.bool_)
    for head in np.unique(heads).tolist():
        nearer = distances[:, back.targets_of(head)].min(axis=1, initial=FAR)
        lost = nearer + 1 > distances[:, head]
        lost &= distances[:, head] < FAR
        lost[head] = False
        is_affected |= lost
    return np.flatnonzero(is_affected)


def _ends(keys: Keys) -> tuple[Keys, Keys]:
    return keys >> BITS, keys & _TARGET


def _newly_mutual(new: Keys, known: Keys) -> int:
    """Return how many edges become mutual when these new edges join the others."""
    sources, targets = _ends(new)
    back = np.sort((targets << BITS | sources)[sources != targets])
    return 2 * int(np.count_nonzero(are_among(back, known))) + int(
        np.count_nonzero(are_among(back, new))
    )


def _with_singles(labels: Labels, nodes: int) -> Labels:
    """Give each new node a component of its own."""
    first = int(labels.max(initial=-1)) + 1
    singles = np.arange(first, first + nodes - len(labels), dtype=np.int32)
    return np.concatenate((labels, singles))


def _taken_apart(labels: Labels, removed: Keys, keys: Keys) -> tuple[Labels, Keys]:
    """Return labels in which each node of a component that lost a link is single.

    The second value has the edges that were within these components.
    """
    sources, targets = _ends(removed)
    is_hit = np.zeros(int(labels.max()) + 1, dtype=np.bool_)
    is_hit[labels[sources[labels[sources] == labels[targets]]]] = True
    sources, targets = _ends(keys)
    inside = keys[is_hit[labels[sources]] & (labels[sources] == labels[targets])]
    apart = labels.copy()
    nodes = np.flatnonzero(is_hit[labels])
    apart[nodes] = np.arange(len(is_hit), len(is_hit) + len(nodes), dtype=np.int32)
    return numbered(apart).of_node, inside


def _merged(labels: Labels, keys: Keys, connection: Literal["strong", "weak"]) -> Labels:
    """Return the components after adding these edges: quickly by scipy, if it is installed."""
    count = int(labels.max(initial=-1)) + 1
    sources, targets = labels[keys >> BITS], labels[keys & _TARGET]
    try:  # late: most outlines are of graphs that do not change
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components
    except ImportError:
        graph = Csr.from_edges(count, sources, targets)
        merged = (strong if connection == "strong" else weak)(graph).of_node
    else:
        ones = np.ones(len(keys), dtype=np.bool_)  # booleans: parallel edges merge
        between = csr_array((ones, (sources, targets)), shape=(count, count))
        _, merged = connected_components(between, connection=connection)
    return merged[labels]
