"""Centrality: importance from the number of links, or from the distance to other nodes.

Degree, a node's share of all links:

    in    score(i) = weight of the links to i   / weight of all links
    out   score(i) = weight of the links from i / weight of all links

Harmonic centrality:

    H(v) = Σ 1 / d(u, v) over all u ≠ v that reach v, with d(u, v) as the least number of steps

`exact` searches backwards from every node. `hyperball` estimates the size of each node's ball (the
nodes that reach it in at most t steps) and grows all balls by one step at a time: see
`graph.hyperball`, here against the links.

memory    2 × nodes × 2^b bytes, plus the reversed links; b is the `precision`.
error     The standard error of a ball is 1.04 / √2^b of its size. Errors of the balls of one node
          have the same sign, so the error of H is about as large. It is not a bound: a third of the
          nodes are off by more.

All scores are shares that sum to 1. Without links, all nodes are equal.
"""

from enum import StrEnum
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import MOST_LINK_VISITS, fronts, most_rounds
from minicrawl.graph.hyperball import HyperLogLogCounters
from minicrawl.opic.importance.estimate import shares
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.scores import Scores


class Direction(StrEnum):
    IN = "in"
    OUT = "out"


def degree(
    graph: Csr,
    weights: NDArray[np.float32] | None = None,
    *,
    direction: Direction = Direction.IN,
) -> Scores:
    """Return each node's share of all links."""
    ends = graph.targets if direction is Direction.IN else graph.sources()
    counts = np.bincount(ends, weights, minlength=graph.nodes).astype(np.float64, copy=False)
    return Scores.exact(shares(counts))


FEWEST_BITS, MOST_BITS = 4, 16
PRECISION = 6
"""Default precision: 64 registers, for a standard error of 13 %."""
MEMORY_BYTES = 2 << 30
"""Default memory limit for registers."""

_EXPECTED_STEPS = 30  # for the progress bar: most web graphs take fewer


def exact(graph: Csr, *, tell: Progress = unreported) -> Scores:
    """Compute harmonic centrality by a search from each node; time grows with nodes × links."""
    backwards = graph.reversed()
    sums = np.zeros(graph.nodes)
    for node in range(graph.nodes):
        _, *further = fronts(backwards, [node])
        sums[node] = sum(len(front) / steps for steps, front in enumerate(further, start=1))
        tell((node + 1) / graph.nodes)
    return Scores.exact(shares(sums))


def hyperball(
    graph: Csr,
    *,
    rng: np.random.Generator,
    precision: int = PRECISION,
    memory_bytes: int = MEMORY_BYTES,
    most_visits: int = MOST_LINK_VISITS,
    tell: Progress = unreported,
) -> Scores:
    """Estimate harmonic centrality with HyperLogLog counters, in at most `most_rounds` steps."""
    if (needed := 2 * graph.nodes << precision) > memory_bytes:
        raise UsageError(
            f"a precision of {precision} bits takes {needed >> 20:,} MiB for {graph.nodes:,} "
            f"nodes, but {memory_bytes >> 20:,} MiB are allowed: lower the precision or allow more "
            "memory"
        )
    balls = HyperLogLogCounters(graph.reversed(), precision, rng)
    sums, sizes, steps = np.zeros(graph.nodes), np.ones(graph.nodes), 0
    most, is_done = most_rounds(graph, most_visits), False
    while steps < most:
        if is_done := not (grown := balls.grow()).size:
            break
        steps += 1
        # An estimate may fall slightly when a counter leaves the range of counting empty registers.
        larger = np.maximum(balls.sizes(grown), sizes[grown])
        sums[grown] += (larger - sizes[grown]) / steps
        sizes[grown] = larger
        tell(steps / (steps + _EXPECTED_STEPS))
    return Scores(
        values=shares(sums),
        iterations=steps,
        error_bound=inf if steps else 0.0,
        converged=is_done,
        standard_error=standard_error(precision) if steps else None,
    )


def standard_error(precision: int) -> float:
    """Return the standard error of a ball, relative to its size."""
    return float(1.04 / np.sqrt(2.0**precision))
