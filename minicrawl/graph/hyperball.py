"""HyperBall: how many nodes each node reaches in t steps, estimated for all nodes at once.

The *ball* of a node starts as the node alone. Each round replaces it by its union with the
previous balls of the nodes it links to: after t rounds it covers all nodes within t links. A
round visits each link of the nodes whose balls may grow. (Boldi and Vigna, "In-core computation
of geometric centralities with HyperBall", 2013)

ball    HyperLogLog counter with 2^b registers of a byte (Flajolet et al., 2007). b bits of a
        node's hash choose its register; its value is the position of the first 1 in the other
        bits. The union of two balls has the larger value in each register.
size    standard error 1.04 / √2^b, with almost no bias: small balls are counted by their empty
        registers instead.
memory  two times nodes × 2^b bytes

The mean distance follows from the growth of the balls. With N(t) as the sum of their sizes after
round t, it is the sum of N(end) - N(t) over all rounds, divided by N(end) - N(0). The last round
in which a ball grew is a lower bound of the diameter. As registers see different nodes, a
jackknife gives the standard error: the mean is computed again without each of the `_GROUPS`
groups of registers.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import MOST_LINK_VISITS, Extent, most_rounds
from minicrawl.ports import Progress, unreported

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
        before, grown = self.registers.copy(), [np.empty(0, dtype=np.int64)]
        for first in range(0, self._graph.nodes, self._at_once):
            starts = self._graph.starts[first : first + self._at_once + 1]
            linking = np.flatnonzero(np.diff(starts))
            if linking.size:  # nodes that link to a node whose ball grew, those of most links first
                near = self._grew[self._graph.targets[starts[0] : starts[-1]]]
                linking = linking[np.logical_or.reduceat(near, starts[linking] - starts[0])]
                counts = starts[linking + 1] - starts[linking]
                order = np.argsort(-counts, kind="stable")
                grown.append(self._grow(first + linking[order], before))
        changed = np.concatenate(grown)
        self._grew[:] = False
        self._grew[changed] = True
        return changed

    def sizes(self, nodes: Ids) -> Sizes:
        return np.concatenate([_sizes(self.registers[part]) for part in self._parts(nodes)])

    def sizes_without(self, nodes: Ids) -> Sizes:
        """Return one estimate of the sizes without each group of registers, then one with all."""
        width = self.registers.shape[1]
        evaluated = np.array([width - width // _GROUPS] * _GROUPS + [width])
        all_sizes = []
        for part in self._parts(nodes):
            registers = self.registers[part]
            sums = _without_each(_pair_sums()[registers.view(np.uint16)])
            sizes = _estimated_sizes(sums, np.zeros(1, dtype=np.int64), evaluated, width)
            small = np.flatnonzero((sizes <= _SMALL * width).any(axis=1))
            empty = _without_each((registers[small] == 0).astype(np.int64))
            sizes[small] = _estimated_sizes(sums[small], empty, evaluated, width)
            all_sizes.append(sizes)
        return np.concatenate(all_sizes)

    def _parts(self, nodes: Ids) -> list[Ids]:
        return np.split(nodes, range(self._at_once, len(nodes), self._at_once))

    def _grow(self, nodes: Ids, before: Registers) -> Ids:
        """Merge the balls of all first links, then all second links, and so on.

        `np.maximum.reduceat` over the links of each node takes twice as long.
        """
        graph, larger = self._graph, before[nodes]
        starts = graph.starts[nodes]
        counts = graph.starts[nodes + 1] - starts
        for place in range(int(counts.max(initial=0))):
            having = int(np.searchsorted(-counts, -place))
            having_more = larger[:having]
            np.maximum(having_more, before[graph.targets[starts[:having] + place]], out=having_more)
        self.registers[nodes] = larger
        grew: NDArray[np.bool_] = (larger != before[nodes]).any(axis=1)
        return nodes[grew]


def _sizes(registers: Registers) -> Sizes:
    width = registers.shape[1]
    sums = _HALVES[registers].sum(axis=1, dtype=np.float64)
    return _estimated_sizes(sums, np.count_nonzero(registers == 0, axis=1), width, width)


def _estimated_sizes(
    sums: NDArray[np.floating], empty: NDArray[np.integer], evaluated: int | Ids, width: int
) -> Sizes:
    """Return the sizes of balls of `width` registers, of which `kept` are evaluated.

    `sums` are over 2^-value of the evaluated registers, `empty` counts the empty ones among them.
    """
    # The factor alpha corrects the bias of the raw estimate.
    alpha = _ALPHA.get(width, 0.7213 / (1 + 1.079 / width))
    raw = alpha * width * evaluated / sums
    by_empty = width * np.log(evaluated / np.maximum(empty, 1))
    return np.where((raw <= _SMALL * width) & (empty > 0), by_empty, raw)


def estimated(
    graph: Csr,
    rng: np.random.Generator,
    tell: Progress = unreported,
    *,
    most_visits: int = MOST_LINK_VISITS,
) -> Extent:
    """Estimate diameter and mean distance, unless paths are too long for `most_visits`."""
    balls = HyperLogLogCounters(graph, _BITS, rng)
    sizes = np.empty((graph.nodes, _GROUPS + 1), dtype=np.float32)
    grown, reached = np.arange(graph.nodes), list[Sizes]()
    most = most_rounds(graph, most_visits)
    while grown.size:
        sizes[grown] = balls.sizes_without(grown)
        reached.append(sizes.sum(axis=0, dtype=np.float64))
        tell(1 - 1 / (1 + len(reached)))
        if len(reached) > most:
            return Extent(most, None, 0, is_exact=False, by_hyperball=True)
        grown = balls.grow()
    sums = np.array(reached).reshape(-1, _GROUPS + 1)  # without each group, and with all
    depth = max(len(sums) - 1, 0)
    pairs = (sums[-1:] - sums[:1]).sum(axis=0)
    if pairs[-1] <= 0:  # no links, or so few that all nodes fell on registers of others
        return Extent(depth, None, 0, is_exact=False, by_hyperball=True)
    pairs[pairs <= 0] = np.inf  # only this group saw balls grow: a mean of 0 makes the error large
    means = (sums[-1] - sums).sum(axis=0) / pairs
    apart = means[:-1] - means[:-1].mean()
    return Extent(
        diameter=depth,
        mean_distance=float(means[-1]),
        pairs=round(pairs[-1]),
        is_exact=False,
        error=float(np.sqrt((_GROUPS - 1) / _GROUPS * (apart**2).sum())),
        by_hyperball=True,
    )


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
