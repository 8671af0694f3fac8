"""Centrality: importance by counting links, and by how near a node is to many.

Degree: a node's share of all links.

    in    score(i) = weight of the links to i   / weight of all links
    out   score(i) = weight of the links from i / weight of all links

Harmonic centrality:

    H(v) = Σ 1 / d(u, v) over all u ≠ v from which links lead to v, in d(u, v) steps at least

`exact` searches backwards from every node. `hyperball` (Boldi and Vigna, 2013) estimates for every
node how many nodes are in its ball, those that reach it in t steps or fewer, and lets all balls
grow by a step at a time: the ball of v becomes the union of its own and of those of all nodes that
link to v.

ball      counted by 2^b registers of a byte (HyperLogLog: Flajolet et al., 2007). A node is in one
          register by b bits of its hash; its value is the place of the first 1 in the others. The
          registers of a union are the larger of each; b is the `precision`.
memory    two times nodes × 2^b bytes, and links backwards.
error     Of each ball the standard error is 1.04 / √2^b of its size, with almost no bias: for small
          balls empty registers are counted instead. Errors of the balls of one node go the same
          way, so that of H is about as large. It is no bound: a third of the nodes are further off.

All scores are shares that sum to 1. Where there is no link all nodes are alike.
"""

from collections.abc import Iterator
from enum import StrEnum
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Vector
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import fronts
from minicrawl.opic.estimate import shares
from minicrawl.progress import Progress, unreported
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
    return Scores(values=shares(counts), iterations=0, error_bound=0.0, converged=True)


Registers = NDArray[np.uint8]
Ids = NDArray[np.int64]

FEWEST_BITS, MOST_BITS = 4, 16
PRECISION = 6
"""64 registers: a standard error of 13 %."""
MEMORY_BYTES = 2 << 30
"""What registers may take, unless allowed more."""

_HASH_BITS = 64
_HALVES = np.float32(0.5) ** np.arange(_HASH_BITS, dtype=np.float32)
_ALPHA = {16: 0.673, 32: 0.697, 64: 0.709}  # by the number of registers; of more by a formula
_BYTES_AT_ONCE = 1 << 22
_EXPECTED_STEPS = 30  # for progress alone: most graphs of the web are done by then


def exact(graph: Csr, *, tell: Progress = unreported) -> Scores:
    """By a walk back from each node: time grows with nodes × links."""
    backwards = graph.reversed()
    sums = np.zeros(graph.nodes)
    for node in range(graph.nodes):
        _, *further = fronts(backwards, [node])
        sums[node] = sum(len(front) / steps for steps, front in enumerate(further, start=1))
        tell((node + 1) / graph.nodes)
    return Scores(values=shares(sums), iterations=0, error_bound=0.0, converged=True)


def hyperball(
    graph: Csr,
    *,
    rng: np.random.Generator,
    precision: int = PRECISION,
    memory_bytes: int = MEMORY_BYTES,
    tell: Progress = unreported,
) -> Scores:
    """By balls that are counted with registers, until no ball grows any more."""
    check(graph.nodes, precision, memory_bytes)
    balls = _Balls(graph, precision, rng)
    sums, sizes, steps = np.zeros(graph.nodes), np.ones(graph.nodes), 0
    while (grown := balls.grow()).size:
        steps += 1
        # An estimate may fall by a hair where it turns from one way of counting to the other.
        larger = np.maximum(_sizes(balls.registers, grown), sizes[grown])
        sums[grown] += (larger - sizes[grown]) / steps
        sizes[grown] = larger
        tell(steps / (steps + _EXPECTED_STEPS))
    return Scores(
        values=shares(sums),
        iterations=steps,
        error_bound=inf if steps else 0.0,
        converged=True,
        standard_error=standard_error(precision) if steps else None,
    )


def standard_error(precision: int) -> float:
    """Of the size of a ball, as a share of it."""
    return float(1.04 / np.sqrt(2.0**precision))


def check(nodes: int, precision: int, memory_bytes: int) -> None:
    """Refuse what there is no room for."""
    if not FEWEST_BITS <= precision <= MOST_BITS:
        raise UsageError(
            f"the precision is {FEWEST_BITS} to {MOST_BITS} bits of registers, not {precision}"
        )
    if (needed := 2 * nodes << precision) > memory_bytes:
        raise UsageError(
            f"registers of {precision} bits for {nodes:,} nodes take {needed >> 20:,} MiB, "
            f"{memory_bytes >> 20:,} are allowed: lower the precision or allow more memory"
        )


class _Balls:
    """The ball of every node; each begins with the node alone."""

    def __init__(self, graph: Csr, precision: int, rng: np.random.Generator) -> None:
        self._graph, self._backwards = graph, graph.reversed()
        self._grew = np.ones(graph.nodes, dtype=np.bool_)
        self._links_at_once = max(_BYTES_AT_ONCE >> precision, 1)
        self.registers = np.zeros((graph.nodes, 1 << precision), dtype=np.uint8)
        # The first 1 of random bits is at place k with probability 2^-k.
        values = np.minimum(rng.geometric(0.5, size=graph.nodes), _HASH_BITS - precision)
        places = rng.integers(0, 1 << precision, size=graph.nodes)
        self.registers[np.arange(graph.nodes), places] = values

    def grow(self) -> Ids:
        """Let all balls become a step larger; answers with the nodes whose did."""
        before = self.registers.copy()
        grown = [self._grow(rows, before) for rows in self._blocks(self._concerned())]
        rows = np.concatenate([np.empty(0, dtype=np.int64), *grown])
        self._grew[:] = False
        self._grew[rows] = True
        return rows

    def _concerned(self) -> Ids:
        """The nodes that those link to whose balls grew in the last step."""
        is_concerned = np.zeros(self._graph.nodes, dtype=np.bool_)
        is_concerned[self._graph.targets[np.repeat(self._grew, self._graph.out_degrees())]] = True
        return np.flatnonzero(is_concerned)

    def _blocks(self, rows: Ids) -> Iterator[Ids]:
        """The nodes in parts of few links."""
        starts = self._backwards.starts
        links = np.cumsum(starts[rows + 1] - starts[rows])
        cuts = np.searchsorted(links, np.arange(0, links[-1:].sum(), self._links_at_once))
        yield from (part for part in np.split(rows, np.unique(cuts)) if part.size)

    def _grow(self, rows: Ids, before: Registers) -> Ids:
        starts = self._backwards.starts
        degrees = starts[rows + 1] - starts[rows]
        begins = np.cumsum(degrees) - degrees
        links = np.repeat(starts[rows] - begins, degrees) + np.arange(degrees.sum())
        linking = before[self._backwards.targets[links]]
        larger = np.maximum(before[rows], np.maximum.reduceat(linking, begins, axis=0))
        self.registers[rows] = larger
        grew: NDArray[np.bool_] = (larger != before[rows]).any(axis=1)
        return rows[grew]


def _sizes(registers: Registers, rows: Ids) -> Vector:
    """How many nodes are in the balls of these, as estimated."""
    at_once = max(_BYTES_AT_ONCE // registers.shape[1], 1)
    parts = np.split(rows, range(at_once, len(rows), at_once))
    return np.concatenate([_estimates(registers[part]) for part in parts])


def _estimates(registers: Registers) -> Vector:
    width = registers.shape[1]
    # The correction of the bias.
    alpha = _ALPHA.get(width, 0.7213 / (1 + 1.079 / width))
    raw = alpha * width**2 / _HALVES[registers].sum(axis=1, dtype=np.float64)
    empty = np.count_nonzero(registers == 0, axis=1)
    by_empty = width * np.log(width / np.maximum(empty, 1))
    found: Vector = np.where((raw <= 2.5 * width) & (empty > 0), by_empty, raw)
    return found
