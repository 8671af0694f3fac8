"""How far apart all nodes of a large graph are, without a search from each of them.

Laws: after round t the *ball* of a node knows about how many nodes it reaches by at most t links:
it is the union of its ball and those of the nodes that it links to, as they were a round before.
With N(t) the sum of all balls after round t, the mean distance is the sum of N(end) - N(t) over all
rounds, divided by N(end) - N(0). The last round in which a ball grew is a lower bound of the
diameter. A round looks once at each link of the nodes whose balls may grow; `REGISTERS` bytes are
kept of a node, twice.

A ball is a counter of HyperLogLog: a hash gives each node a register and a rank, which is k with
probability 2^-k, and a register keeps the highest rank that it saw. Unions are maxima (Flajolet et
al., "HyperLogLog", 2007; Boldi and Vigna, "In-core computation of geometric centralities with
HyperBall", 2013). Registers see different nodes, so the standard error comes from a jackknife: from
how the mean distance differs when one of `_GROUPS` groups of registers is left out.

sizes   the balls of some nodes, added up: without each group of registers, and last with all
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import Extent
from minicrawl.progress import Progress, unreported

REGISTERS = 64
_ALPHA = 0.709  # of 64 registers (Flajolet et al.)
_GROUPS = 8
_WIDTH = REGISTERS // _GROUPS
_HIGHEST = 58
"""The highest rank of a hash of 64 bits, six of which choose the register."""
_NODES_AT_ONCE = 1 << 14
_SMALL = 2.5
"""Nodes a register, up to which empty registers tell more than the ranks."""

Balls = NDArray[np.uint8]
Sizes = NDArray[np.float64]
Nodes = NDArray[np.int64]


def estimated(graph: Csr, rng: Generator, tell: Progress = unreported) -> Extent:
    """Of all pairs. The generator draws the hash of each node."""
    balls = _first_balls(graph.nodes, rng)
    sizes = [_sizes_of_all(balls)]
    for grown in _rounds(graph, balls):
        sizes.append(sizes[-1] + grown)
        tell(1 - 1 / len(sizes))
    reached, depth = np.array(sizes), len(sizes) - 1
    pairs = reached[-1] - reached[0]
    if pairs[-1] <= 0:  # no links, or so few that all nodes fell on registers of others
        return Extent(depth, None, 0, is_exact=False, by_hyperball=True)
    pairs[pairs <= 0] = np.inf  # this group has seen all of them: a large error tells of that
    means = (reached[-1] - reached).sum(axis=0) / pairs
    apart = means[:-1] - means[:-1].mean()
    error = float(np.sqrt((_GROUPS - 1) / _GROUPS * (apart**2).sum()))
    return Extent(
        diameter=depth,
        mean_distance=float(means[-1]),
        pairs=round(pairs[-1]),
        is_exact=False,
        error=error,
        by_hyperball=True,
    )


def _first_balls(nodes: int, rng: Generator) -> Balls:
    """Each node has itself in its ball."""
    balls = np.zeros((nodes, REGISTERS), dtype=np.uint8)
    ranks = np.minimum(rng.geometric(0.5, nodes), _HIGHEST)
    balls[np.arange(nodes), rng.integers(0, REGISTERS, nodes)] = ranks
    return balls


def _rounds(graph: Csr, balls: Balls) -> Iterator[Sizes]:
    """Let the balls grow until none does; by how much in each round."""
    has_grown = np.ones(graph.nodes, dtype=np.bool_)
    while True:
        grown, news = np.zeros(_GROUPS + 1), list[tuple[Nodes, Balls]]()
        for nodes in _nodes_to_look_at(graph, has_grown):
            united = _united(graph, balls, nodes)
            is_new = (united != balls[nodes]).any(axis=1)
            grown += _sizes(united[is_new]) - _sizes(balls[nodes[is_new]])
            news.append((nodes[is_new], united[is_new]))
        has_grown = np.zeros(graph.nodes, dtype=np.bool_)
        for nodes, united in news:
            balls[nodes], has_grown[nodes] = united, True
        if not has_grown.any():
            return
        yield grown


def _nodes_to_look_at(graph: Csr, has_grown: NDArray[np.bool_]) -> Iterator[Nodes]:
    """Those that link to a node whose ball has grown; some at a time, most links first."""
    for first in range(0, graph.nodes, _NODES_AT_ONCE):
        starts = graph.starts[first : first + _NODES_AT_ONCE + 1]
        linking = np.flatnonzero(np.diff(starts))
        if linking.size:
            near = has_grown[graph.targets[starts[0] : starts[-1]]]
            linking = linking[np.logical_or.reduceat(near, starts[linking] - starts[0])]
            counts = starts[linking + 1] - starts[linking]
            yield first + linking[np.argsort(-counts, kind="stable")]


def _united(graph: Csr, balls: Balls, nodes: Nodes) -> Balls:
    """The balls of these nodes with those they link to.

    First links go with first links, second ones with second ones and so on, each kind at once:
    `np.maximum.reduceat` over the rows of a node takes twice as long.
    """
    united, starts = balls[nodes], graph.starts[nodes]
    counts = graph.starts[nodes + 1] - starts
    for place in range(int(counts.max(initial=0))):
        having = int(np.searchsorted(-counts, -place))
        some = united[:having]
        np.maximum(some, balls[graph.targets[starts[:having] + place]], out=some)
    return united


@cache
def _weights() -> NDArray[np.float32]:
    """Of all pairs of registers that lie side by side, the sum of 2^-rank."""
    high, low = np.divmod(np.arange(1 << 16), 1 << 8)
    sums: NDArray[np.float64] = np.exp2(-high.astype(float)) + np.exp2(-low.astype(float))
    return sums.astype(np.float32)


def _sizes_of_all(balls: Balls) -> Sizes:
    found = np.zeros(_GROUPS + 1)
    for first in range(0, len(balls), _NODES_AT_ONCE):
        found += _sizes(balls[first : first + _NODES_AT_ONCE])
    return found


def _sizes(balls: Balls) -> Sizes:
    """Without each group of registers, and last with all."""
    of_group = (
        _weights()[balls.view(np.uint16)].reshape(len(balls), _GROUPS, _WIDTH // 2).sum(axis=2)
    )
    whole = of_group.sum(axis=1, keepdims=True)
    sums = np.concatenate((whole - of_group, whole), axis=1)
    left = np.array([REGISTERS - _WIDTH] * _GROUPS + [REGISTERS])
    found: NDArray[np.floating] = _ALPHA * REGISTERS * left / sums
    small = np.flatnonzero((found <= _SMALL * REGISTERS).any(axis=1))
    found[small] = _counted(balls[small], left, found[small])
    sizes: Sizes = found.sum(axis=0, dtype=np.float64)
    return sizes


def _counted(balls: Balls, left: Nodes, found: NDArray[np.floating]) -> NDArray[np.floating]:
    """Small balls by how many registers are empty."""
    of_group = (balls == 0).reshape(len(balls), _GROUPS, _WIDTH).sum(axis=2)
    whole = of_group.sum(axis=1, keepdims=True)
    empty = np.concatenate((whole - of_group, whole), axis=1)
    counted = -REGISTERS * np.log(np.maximum(empty, 1) / left)
    by_empty: NDArray[np.floating] = np.where(
        (found <= _SMALL * REGISTERS) & (empty > 0), counted, found
    )
    return by_empty
