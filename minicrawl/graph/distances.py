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

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.ports import Progress, unreported

UNREACHED = -1

FAR = 0x7FFF
"""Distance in a matrix between nodes that no path joins; twice this value still fits in a cell."""

Distances = NDArray[np.uint16]
"""Matrix of all distances of a graph."""
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
        found = near[place[near] == order]
        yield found
        # Along a chain of single nodes, each level would cost several calls of numpy for one node.
        while 0 < len(found) <= _NARROW and _few_links(graph, found):
            found = _next_of_few(graph, found, is_met)
            if found.size:
                yield found
        near = linked_from(graph, found)
        near = near[~is_met[near]]


def _few_links(graph: Csr, nodes: NDArray[np.integer]) -> bool:
    return all(graph.starts[node + 1] - graph.starts[node] <= _NARROW for node in nodes.tolist())


def _next_of_few(
    graph: Csr, nodes: NDArray[np.integer], is_met: NDArray[np.bool_]
) -> NDArray[np.integer]:
    """Return the nodes on the next level, and mark them, in a loop over their links.

    Where paths are long, this takes a tenth of the time.
    """
    near = []
    for node in nodes.tolist():
        for target in graph.targets[graph.starts[node] : graph.starts[node + 1]].tolist():
            if not is_met[target]:
                is_met[target] = True
                near.append(target)
    return np.array(near, dtype=np.int64)


def levels(graph: Csr, sources: Nodes) -> NDArray[np.int32]:
    """Return the level of every node."""
    level = np.full(graph.nodes, UNREACHED, dtype=np.int32)
    for depth, found in enumerate(fronts(graph, sources)):
        level[found] = depth
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
        found = _search(back, sources, _WORDS, min(most, left))
        longest = max(longest, found.depth)
        left -= found.depth
        if found.is_cut:
            return Extent(longest, None, 0, is_exact=False)
        total += int(found.totals.sum())
        pairs += int(found.pairs.sum())
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
    error = _ratio_error(totals, pairs) * left**0.5
    return Extent(longest, mean, int(pairs.sum()), is_exact=False, error=error)


def _ratio_error(totals: Counts, pairs: Counts) -> float:
    """Return the standard error of a ratio of two sums over randomly drawn groups."""
    drawn = np.flatnonzero(pairs)
    ratio = totals.sum() / pairs.sum()
    apart = ((totals[drawn] - ratio * pairs[drawn]) ** 2).sum()
    return float(np.sqrt(apart * len(drawn) / max(1, len(drawn) - 1)) / pairs.sum())


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
    """Longest distance."""
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
    # `seen` has the bits of the sources that reach a node, `fresh` those added in the last round.
    seen = np.zeros((back.nodes, words), dtype=np.uint64)
    places = np.arange(len(sources), dtype=np.uint64)
    seen[sources, places // _WORD] = np.uint64(1) << places % _WORD
    pairs, totals = np.zeros((2, 8 * words), dtype=np.int64)
    fresh, depth, last = seen.copy(), 0, 0
    while True:
        fresh = _union_of_inlinks(back, fresh)
        fresh &= ~seen
        gained = fresh.any(axis=1)
        counts = _POPCOUNTS[fresh[gained].view(np.uint8)].sum(axis=0, dtype=np.int64)
        if not counts.any() or depth == most:
            return _Search(depth, pairs, totals, last, is_cut=bool(counts.any()))
        depth += 1
        pairs += counts
        totals += depth * counts
        last = int(gained.argmax())
        seen |= fresh


def _union_of_inlinks(back: Csr, fresh: Bits) -> Bits:
    """Return the union of the bits of all in-links, for each node."""
    union = np.zeros_like(fresh)
    for nodes in _linked_blocks(back):
        start, stop = back.starts[nodes[0]], back.starts[nodes[-1] + 1]
        bits_of_targets = fresh[back.targets[start:stop]]
        union[nodes] = np.bitwise_or.reduceat(bits_of_targets, back.starts[nodes] - start, axis=0)
    return union


def _linked_blocks(back: Csr) -> Iterator[NDArray[np.int64]]:
    """Yield the nodes with in-links, in blocks that bound the memory."""
    linked = np.flatnonzero(np.diff(back.starts))
    cuts = np.searchsorted(
        back.starts[linked], np.arange(_LINKS_AT_ONCE, back.edges, _LINKS_AT_ONCE)
    )
    return filter(len, np.split(linked, cuts))


# ================================================================ hyperball
#
# HyperBall: the number of nodes that each node reaches in t steps, estimated for all nodes at once.
#
# The *ball* of a node starts as the node alone. Each round replaces it by its union with the
# previous balls of the nodes it links to: after t rounds it covers all nodes within t links. A
# round visits each link of the nodes whose balls may grow. (Boldi and Vigna, "In-core computation
# of geometric centralities with HyperBall", 2013)
#
# ball    HyperLogLog counter with 2^b registers of a byte (Flajolet et al., 2007). b bits of a
#         node's hash choose its register; its value is the position of the first 1 in the other
#         bits. The union of two balls has the larger value in each register.
# size    standard error 1.04 / √2^b, with almost no bias: small balls are counted by their empty
#         registers instead.
# memory  two times nodes × 2^b bytes
#
# The mean distance follows from the growth of the balls. With N(t) as the sum of their sizes after
# round t, it is the sum of N(end) - N(t) over all rounds, divided by N(end) - N(0). The last round
# in which a ball grew is a lower bound of the diameter. As registers see different nodes, a
# jackknife gives the standard error: the mean is computed again without each of the `_GROUPS`
# groups of registers.

_BITS = 6
_GROUPS = 8
_HASH_BITS = 64
_HALVES = np.float32(0.5) ** np.arange(_HASH_BITS, dtype=np.float32)
_ALPHA = {16: 0.673, 32: 0.697, 64: 0.709}  # by register count; a formula beyond
_SMALL = 2.5
"""Nodes for each register up to which counting empty registers is more accurate."""
_BYTES_AT_ONCE = 1 << 20

Registers = NDArray[np.uint8]
Ids = NDArray[np.int64]
Sizes = NDArray[np.float64]


class HyperLogLogCounters:
    """Ball of every node, as a HyperLogLog counter; `rng` draws the hashes."""

    def __init__(
        self, graph: Csr, bits: int, rng: np.random.Generator, bytes_at_once: int = _BYTES_AT_ONCE
    ) -> None:
        self._graph = graph
        self._grew = np.ones(graph.nodes, dtype=np.bool_)
        self._at_once = max(bytes_at_once >> bits, 1)
        self.registers = np.zeros((graph.nodes, 1 << bits), dtype=np.uint8)
        # Random bits have their first 1 at position k with probability 2^-k.
        values = np.minimum(rng.geometric(0.5, size=graph.nodes), _HASH_BITS - bits)
        places = rng.integers(0, 1 << bits, size=graph.nodes)
        self.registers[np.arange(graph.nodes), places] = values

    def grow(self) -> Ids:
        """Grow all balls by one link; return the nodes whose ball changed."""
        before = self.registers.copy()
        grown = [self._grow(nodes, before) for nodes in self._nodes_that_may_grow()]
        found = np.concatenate([np.empty(0, dtype=np.int64), *grown])
        self._grew[:] = False
        self._grew[found] = True
        return found

    def sizes(self, nodes: Ids) -> Sizes:
        """Return the estimated sizes of the balls of these nodes."""
        return np.concatenate([_sizes(self.registers[some]) for some in self._parts(nodes)])

    def sizes_without(self, nodes: Ids) -> Sizes:
        """Return one estimate of the sizes without each group of registers, then one with all."""
        return np.concatenate([_sizes_without(self.registers[some]) for some in self._parts(nodes)])

    def _parts(self, nodes: Ids) -> list[Ids]:
        return np.split(nodes, range(self._at_once, len(nodes), self._at_once))

    def _nodes_that_may_grow(self) -> Iterator[Ids]:
        """Yield the nodes that link to a node whose ball grew, in parts, most links first."""
        for first in range(0, self._graph.nodes, self._at_once):
            starts = self._graph.starts[first : first + self._at_once + 1]
            linking = np.flatnonzero(np.diff(starts))
            if linking.size:
                near = self._grew[self._graph.targets[starts[0] : starts[-1]]]
                linking = linking[np.logical_or.reduceat(near, starts[linking] - starts[0])]
                counts = starts[linking + 1] - starts[linking]
                yield first + linking[np.argsort(-counts, kind="stable")]

    def _grow(self, nodes: Ids, before: Registers) -> Ids:
        """Merge the balls of all first links, then all second links, and so on.

        `np.maximum.reduceat` over the links of each node takes twice as long.
        """
        graph, larger = self._graph, before[nodes]
        starts = graph.starts[nodes]
        counts = graph.starts[nodes + 1] - starts
        for place in range(int(counts.max(initial=0))):
            having = int(np.searchsorted(-counts, -place))
            some = larger[:having]
            np.maximum(some, before[graph.targets[starts[:having] + place]], out=some)
        self.registers[nodes] = larger
        grew: NDArray[np.bool_] = (larger != before[nodes]).any(axis=1)
        return nodes[grew]


def _sizes(registers: Registers) -> Sizes:
    width = registers.shape[1]
    sums = _HALVES[registers].sum(axis=1, dtype=np.float64)
    return _estimated_sizes(sums, np.count_nonzero(registers == 0, axis=1), width, width)


def _estimated_sizes(
    sums: NDArray[np.floating], empty: NDArray[np.integer], kept: int | Ids, width: int
) -> Sizes:
    """Return the sizes of balls of `width` registers, of which `kept` are evaluated.

    `sums` are over 2^-value of the evaluated registers, `empty` counts the empty ones among them.
    """
    # The factor alpha corrects the bias of the raw estimate.
    alpha = _ALPHA.get(width, 0.7213 / (1 + 1.079 / width))
    raw = alpha * width * kept / sums
    by_empty = width * np.log(kept / np.maximum(empty, 1))
    found: Sizes = np.where((raw <= _SMALL * width) & (empty > 0), by_empty, raw)
    return found


# ---------------------------------------------------------------- distances


def estimated(
    graph: Csr,
    rng: np.random.Generator,
    tell: Progress = unreported,
    *,
    most_visits: int = MOST_LINK_VISITS,
) -> Extent:
    """Estimate the distances of all pairs."""
    balls, sizes = (
        HyperLogLogCounters(graph, _BITS, rng),
        np.empty((graph.nodes, _GROUPS + 1), dtype=np.float32),
    )
    grown, reached = np.arange(graph.nodes), list[Sizes]()
    most = most_rounds(graph, most_visits)
    while grown.size:
        sizes[grown] = balls.sizes_without(grown)
        reached.append(sizes.sum(axis=0, dtype=np.float64))
        tell(1 - 1 / (1 + len(reached)))
        if len(reached) > most:
            return Extent(most, None, 0, is_exact=False, by_hyperball=True)
        grown = balls.grow()
    return _extent(np.array(reached).reshape(-1, _GROUPS + 1))


def _extent(reached: Sizes) -> Extent:
    """Return the extent from the sums of sizes per round, without each group and with all."""
    depth = max(len(reached) - 1, 0)
    pairs = (reached[-1:] - reached[:1]).sum(axis=0)
    if pairs[-1] <= 0:  # no links, or so few that all nodes fell on registers of others
        return Extent(depth, None, 0, is_exact=False, by_hyperball=True)
    pairs[pairs <= 0] = np.inf  # only this group saw balls grow: a mean of 0 makes the error large
    means = (reached[-1] - reached).sum(axis=0) / pairs
    apart = means[:-1] - means[:-1].mean()
    return Extent(
        diameter=depth,
        mean_distance=float(means[-1]),
        pairs=round(pairs[-1]),
        is_exact=False,
        error=float(np.sqrt((_GROUPS - 1) / _GROUPS * (apart**2).sum())),
        by_hyperball=True,
    )


def _sizes_without(registers: Registers) -> Sizes:
    width = registers.shape[1]
    kept = np.array([width - width // _GROUPS] * _GROUPS + [width])
    sums = _without_each(_pair_sums()[registers.view(np.uint16)])
    found = _estimated_sizes(sums, np.zeros(1, dtype=np.int64), kept, width)
    small = np.flatnonzero((found <= _SMALL * width).any(axis=1))
    empty = _without_each((registers[small] == 0).astype(np.int64))
    found[small] = _estimated_sizes(sums[small], empty, kept, width)
    return found


def _without_each(values: NDArray[Any]) -> NDArray[Any]:
    """Return the sums over all groups but one, for each group, and last over all."""
    of_group = values.reshape(len(values), _GROUPS, values.shape[1] // _GROUPS).sum(axis=2)
    whole = of_group.sum(axis=1, keepdims=True)
    return np.concatenate((whole - of_group, whole), axis=1)


@cache
def _pair_sums() -> NDArray[np.float32]:
    """Return the sums of 2^-value for all pairs of adjacent registers: half the look-ups."""
    high, low = np.divmod(np.arange(1 << 16), 1 << 8)
    sums: NDArray[np.float64] = np.exp2(-high.astype(float)) + np.exp2(-low.astype(float))
    return sums.astype(np.float32)
