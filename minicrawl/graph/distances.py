"""Distances in a graph: breadth-first levels, diameter and mean distance.

The *level* of a node is the length of the shortest directed path to it from the nearest source.
Sources are on level 0; a node without a path from a source is UNREACHED. A search visits each link
of a reached node once, however many levels there are.

The *extent* of a graph is its diameter, the longest of all shortest paths, and their mean length.
Only pairs of different nodes count, and only if the first reaches the second.

exact    Measures all pairs, by breadth-first searches from 512 nodes at a time: a node keeps a bit
         for each source, and each round passes its bits along all links. A round moves 64 bytes a
         link.
sampled  Measures the paths from randomly drawn nodes, by searches from 64 at a time. For the
         diameter it uses double sweeps: against the links from a node reached last to a farthest
         node, then along the links from there, and so on while the path grows. The diameter is a
         lower bound. The mean is a ratio of sums over the sources, with a standard error from the
         differences between groups of eight sources.

A round visits all links, so a graph that is one long path would take a round for each node. No
search goes deeper than `most_rounds`. In a deeper graph the mean is unknown, and the diameter is a
lower bound.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.ports import Progress, unreported

UNREACHED = -1

FAR = 0x7FFF
"""Distance in a matrix between nodes that no path joins; twice this value still fits in a cell."""

Distances = NDArray[np.uint16]
Nodes = Sequence[int] | NDArray[np.integer]
Bits = NDArray[np.uint64]

Counts = NDArray[np.int64]

SAMPLE = 256
"""Number of sources of a sample. More than a few hundred hardly change the mean."""
_WORDS = 8
_WORD = 64
_SOURCES = _WORD * _WORDS
_LINKS_AT_ONCE = 1 << 18
MOST_LINK_VISITS = 200_000_000
"""Most links that a search, or all rounds of HyperBall, may visit: some fifteen seconds."""
_SURE_ROUNDS = 200
"""Rounds that are allowed for any number of links: the web is less deep."""
_ROUNDS_OF_ALL = 30
"""Largest mean depth of the searches of `exact`."""
_MOST_SWEEPS = 10
"""Sweeps of a double sweep; each takes a search."""
_NARROW = 8
"""Most nodes of a level, and links of each, for which a loop is faster than arrays."""
_POPCOUNTS = np.array([number.bit_count() for number in range(256)], dtype=np.uint8)


def fronts(graph: Csr, sources: Nodes) -> Iterator[NDArray[np.integer]]:
    """Yield the nodes on each level, from the sources on, each node once."""
    is_met = np.zeros(graph.nodes, dtype=np.bool_)
    # Last position of a node in a list of finds: removes duplicates without sorting.
    place = np.empty(graph.nodes, dtype=np.int64)
    near: NDArray[np.integer] = np.asarray(sources, dtype=np.int64)
    while near.size:
        is_met[near] = True
        order = np.arange(len(near))
        place[near] = order
        front = near[place[near] == order]
        yield front
        # Along a chain of single nodes, each level would cost several calls of numpy for one node.
        while 0 < len(front) <= _NARROW and all(
            graph.starts[node + 1] - graph.starts[node] <= _NARROW for node in front.tolist()
        ):
            # A loop takes a tenth of the time where paths are long.
            near_few = []
            for node in front.tolist():
                for target in graph.targets[graph.starts[node] : graph.starts[node + 1]].tolist():
                    if not is_met[target]:
                        is_met[target] = True
                        near_few.append(target)
            front = np.array(near_few, dtype=np.int64)
            if front.size:
                yield front
        near = linked_from(graph, front)
        near = near[~is_met[near]]


def levels(graph: Csr, sources: Nodes) -> NDArray[np.int32]:
    level = np.full(graph.nodes, UNREACHED, dtype=np.int32)
    for depth, front in enumerate(fronts(graph, sources)):
        level[front] = depth
    return level


def linked_from(graph: Csr, nodes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return the targets of all links of these nodes, node after node."""
    starts = graph.starts[nodes]
    counts = graph.starts[nodes + 1] - starts
    ends = np.cumsum(counts)
    positions = np.repeat(starts - ends + counts, counts)
    positions += np.arange(len(positions))
    targets: NDArray[np.int32] = graph.targets[positions]
    return targets


class Extent(NamedTuple):
    """Diameter and mean distance, over the pairs whose first node reaches the second."""

    diameter: int
    mean_distance: float | None
    """None if there is no such pair."""
    pairs: int
    is_exact: bool
    error: float = 0.0
    """Standard error of the mean distance."""
    by_hyperball: bool = False
    """True for a HyperBall estimate over all pairs, False for measured paths."""


def exact_work(graph: Csr) -> int:
    """Return the work of `exact` in one round, as a number of visited links and nodes."""
    return -(-graph.nodes // _SOURCES) * (graph.edges + graph.nodes)


def most_rounds(graph: Csr, most_visits: int = MOST_LINK_VISITS) -> int:
    """Return the largest depth of a search that may visit so many links."""
    return max(_SURE_ROUNDS, most_visits // max(graph.edges + graph.nodes, 1))


def exact(
    graph: Csr, tell: Progress = unreported, *, most_visits: int = MOST_LINK_VISITS
) -> Extent:
    """Measure the paths from all nodes; give up, with an inexact result, if they are very long."""
    back = graph.reversed()
    longest = total = pairs = 0
    # Eight words take four times as long as one.
    most = max(_SURE_ROUNDS, most_rounds(graph, most_visits) // 4)
    left = max(most, _ROUNDS_OF_ALL * -(-graph.nodes // _SOURCES))
    for first in range(0, graph.nodes, _SOURCES):
        sources = np.arange(first, min(first + _SOURCES, graph.nodes))
        search = _search(back, sources, _WORDS, min(most, left))
        longest = max(longest, search.depth)
        left -= search.depth
        if search.is_cut:
            return Extent(longest, None, 0, is_exact=False)
        total += int(search.totals.sum())
        pairs += int(search.pairs.sum())
        tell(float(sources[-1] + 1) / graph.nodes)
    return Extent(longest, total / pairs if pairs else None, pairs, is_exact=True)


def sampled(
    graph: Csr,
    rng: np.random.Generator,
    sources: int = SAMPLE,
    tell: Progress = unreported,
    *,
    most_visits: int = MOST_LINK_VISITS,
) -> Extent:
    """Measure the paths from randomly drawn nodes that have links."""
    starting = np.flatnonzero(graph.out_degrees())
    chosen = rng.choice(starting, size=min(sources, len(starting)), replace=False)
    back, searches, most = graph.reversed(), list[_Search](), most_rounds(graph, most_visits)
    for first in range(0, len(chosen), _WORD):
        searches.append(_search(back, np.sort(chosen[first : first + _WORD]), 1, most))
        tell(min(1.0, (first + _WORD) / len(chosen)))
        if searches[-1].is_cut:
            longest = max(most, _double_sweep(back, graph, searches[-1].last))
            return Extent(longest, None, 0, is_exact=False)
    if not any(search.depth for search in searches):
        return Extent(0, None, 0, is_exact=False)
    longest = max(_double_sweep(back, graph, search.last) for search in searches)
    totals = np.concatenate([search.totals for search in searches])
    pairs = np.concatenate([search.pairs for search in searches])
    mean = float(totals.sum() / pairs.sum())
    # Drawn without replacement: with all nodes drawn, nothing is left to chance (the correction for
    # finite populations).
    left = 1 - len(chosen) / len(starting)
    # The standard error of a ratio of two sums over randomly drawn groups.
    drawn = np.flatnonzero(pairs)
    apart = ((totals[drawn] - mean * pairs[drawn]) ** 2).sum()
    error = np.sqrt(apart * len(drawn) / max(1, len(drawn) - 1)) / pairs.sum()
    reached = int(pairs.sum())
    return Extent(longest, mean, reached, is_exact=False, error=float(error) * left**0.5)


def _double_sweep(graph: Csr, back: Csr, node: int) -> int:
    """Return the length of the longest shortest path that a double sweep from this node finds."""
    forth, longest = graph, 0
    for _ in range(_MOST_SWEEPS):  # pragma: no branch  # only hostile graphs need more
        level = levels(forth, [node])
        if level.max() <= longest:
            break
        longest, node = int(level.max()), int(level.argmax())
        forth, back = back, forth
    return longest


class _Search(NamedTuple):
    """Result of a search from many sources, summed over groups of eight: one byte of the bits."""

    depth: int
    pairs: Counts
    """Pairs of a source and another node that it reaches, by group."""
    totals: Counts
    """Sum of the distances of these pairs, by group."""
    last: int
    """A node that was reached last."""
    is_cut: bool
    """True if there are longer distances."""


def _search(back: Csr, sources: NDArray[np.int64], words: int, most: int) -> _Search:
    """Search from up to 64 sources a word at once; `back` has the in-links."""
    # `reached` has the bits of the sources that reach a node, `fresh` those of the last round.
    reached = np.zeros((back.nodes, words), dtype=np.uint64)
    places = np.arange(len(sources), dtype=np.uint64)
    reached[sources, places // _WORD] = np.uint64(1) << places % _WORD
    pairs, totals = np.zeros((2, 8 * words), dtype=np.int64)
    fresh, depth, last = reached.copy(), 0, 0
    while True:
        fresh = _union_of_inlinks(back, fresh)
        fresh &= ~reached
        gained = fresh.any(axis=1)
        counts = _POPCOUNTS[fresh[gained].view(np.uint8)].sum(axis=0, dtype=np.int64)
        if not counts.any() or depth == most:
            return _Search(depth, pairs, totals, last, is_cut=bool(counts.any()))
        depth += 1
        pairs += counts
        totals += depth * counts
        last = int(gained.argmax())
        reached |= fresh


def matrix_rows(graph: Csr, sources: Nodes) -> Distances:
    """Return the distances from each of these nodes to all; `FAR` where no path leads."""
    back, count = graph.reversed(), len(sources)
    rows = np.full((count, graph.nodes), FAR, dtype=np.uint16)
    reaching = np.zeros((graph.nodes, -(-count // _WORD)), dtype=np.uint64)
    places = np.arange(count, dtype=np.uint64)
    reaching[sources, places // _WORD] = np.uint64(1) << places % _WORD
    fresh, depth = reaching.copy(), 0
    while len(nodes := np.flatnonzero(fresh.any(axis=1))):
        bits = np.unpackbits(fresh[nodes].view(np.uint8), axis=1, count=count, bitorder="little")
        reached, by = np.nonzero(bits)
        rows[by, nodes[reached]] = depth
        fresh = _union_of_inlinks(back, fresh) & ~reaching
        reaching |= fresh
        depth += 1
    return rows


def _union_of_inlinks(back: Csr, fresh: Bits) -> Bits:
    union, linked = np.zeros_like(fresh), np.flatnonzero(np.diff(back.starts))
    firsts = np.arange(_LINKS_AT_ONCE, back.edges, _LINKS_AT_ONCE)
    blocks = np.split(linked, np.searchsorted(back.starts[linked], firsts))
    for nodes in filter(len, blocks):  # blocks bound the memory
        start, stop = back.starts[nodes[0]], back.starts[nodes[-1] + 1]
        bits_of_targets = fresh[back.targets[start:stop]]
        union[nodes] = np.bitwise_or.reduceat(bits_of_targets, back.starts[nodes] - start, axis=0)
    return union
