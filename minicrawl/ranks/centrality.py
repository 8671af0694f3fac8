"""Centrality: importance by counting links, and by how near a node is to many.

Degree: a node's share of all links.

    in    score(i) = weight of the links to i   / weight of all links
    out   score(i) = weight of the links from i / weight of all links

Harmonic centrality:

    H(v) = Σ 1 / d(u, v) over all u ≠ v from which links lead to v, in d(u, v) steps at least

`exact` searches backwards from every node. `hyperball` estimates for every node how many nodes are
in its ball, those that reach it in t steps or fewer, and lets all balls grow by a step at a time
(`graph.hyperball`, against the links).

memory    two times nodes × 2^b bytes, and links backwards; b is the `precision`.
error     Of each ball the standard error is 1.04 / √2^b of its size. Errors of the balls of one
          node go the same way, so that of H is about as large. It is no bound: a third of the nodes
          are further off.

All scores are shares that sum to 1. Where there is no link all nodes are alike.
"""

from enum import StrEnum
from math import inf

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import fronts
from minicrawl.graph.hyperball import Balls
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


FEWEST_BITS, MOST_BITS = 4, 16
PRECISION = 6
"""64 registers: a standard error of 13 %."""
MEMORY_BYTES = 2 << 30
"""What registers may take, unless allowed more."""

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
    balls = Balls(graph.reversed(), precision, rng)
    sums, sizes, steps = np.zeros(graph.nodes), np.ones(graph.nodes), 0
    while (grown := balls.grow()).size:
        steps += 1
        # An estimate may fall by a hair where it turns from one way of counting to the other.
        larger = np.maximum(balls.sizes(grown), sizes[grown])
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
