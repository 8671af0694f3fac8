"""PageRank of a graph that exceeds the memory (Haveliwala, 1999).

Only the scores of one block of destinations are in memory. Everything else is streamed from a
`GraphOnDisk`, links ordered by destination block and within it by source. It is the power method
(`power`) with uniformly spread dangling mass; each iteration computes

    y(t) = (1 - d + d * dangling) / n + sum of g(s) over the links s -> t,  g(s) = d * x(s) / out(s)

d         damping, which is the contraction
dangling  the sum of x over nodes without links
stretch   consecutive nodes whose g is in memory together
"""

from collections.abc import Iterable, Iterator
from math import inf
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.progress import Progress, unreported
from minicrawl.ranks.power import PowerMethod, rounding_floor

Floats = NDArray[np.float64]
Places = NDArray[np.int32]


class Column(Protocol):
    """A number for each node, read and written in parts."""

    def read(self, first: int, count: int) -> Floats:
        """Return the numbers of `count` nodes, or fewer at the end."""

    def write(self, first: int, numbers: Floats) -> None:
        """Write the numbers of the nodes from `first` on."""


class Piece(NamedTuple):
    """Links from one stretch to one block, as offsets within these."""

    stretch: int
    sources: Places
    targets: Places


class BlockSizes(NamedTuple):
    """Number of nodes, and the sizes of the parts that are processed together."""

    nodes: int
    block: int
    stretch: int
    at_once: int  # nodes whose scores are updated together

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return -(-self.nodes // self.block)


class GraphOnDisk(Protocol):
    """Links of a graph by destination block, and columns for computing the scores."""

    sizes: BlockSizes

    @property
    def degrees(self) -> Column:
        """Number of links of each node."""

    @property
    def scores(self) -> Column:
        """The scores x."""

    @property
    def given(self) -> Column:
        """g of this iteration."""

    @property
    def given_next(self) -> Column:
        """g of the next iteration."""

    def pieces(self, block: int) -> Iterable[Piece]:
        """Yield the links to this block, stretch after stretch."""

    def turn(self) -> None:
        """Make `given_next` the current `given`."""


class Outcome(NamedTuple):
    """Number of iterations, and the precision they reached."""

    iterations: int
    error_bound: float
    converged: bool


def pagerank(
    files: GraphOnDisk,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-8,
    most_iterations: int = 1000,
    tell: Progress = unreported,
) -> Outcome:
    """Compute the scores of all nodes in `files.scores`."""
    dangling = _begin(files, damping)

    def step() -> float:
        nonlocal dangling
        base = (1 - damping + damping * dangling) / files.sizes.nodes
        change = dangling = 0.0
        for block in range(files.sizes.blocks):
            settled = _settle(
                files, block * files.sizes.block, _inflow(files, block, base), damping
            )
            change, dangling = change + settled.change, dangling + settled.dangling
        files.turn()
        return change

    method = PowerMethod(
        contraction=damping,
        tolerance=tolerance,
        most_iterations=most_iterations,
        floor=rounding_floor(damping, np.dtype(np.float64)),
    )
    iterations, (bound,) = method.run(step, tell)
    return Outcome(iterations, bound, bound <= tolerance)


class Best(NamedTuple):
    """Nodes with the largest scores in descending order; ties go to the first."""

    nodes: NDArray[np.int64]
    scores: Floats


def best(files: GraphOnDisk, count: int) -> Iterator[Best]:
    """Yield the `count` best nodes in batches. Each batch reads all scores but holds few."""
    left, last_node, last_score = min(count, files.sizes.nodes), -1, inf
    while left:
        some = _best_behind(files, min(left, files.sizes.at_once), last_node, last_score)
        left, last_node, last_score = left - len(some.nodes), some.nodes[-1], some.scores[-1]
        yield some


def _best_behind(files: GraphOnDisk, count: int, last_node: int, last_score: float) -> Best:
    """Return the next batch after the last node and score of the batch before."""
    nodes, scores = np.empty(0, dtype=np.int64), np.empty(0)
    for first in range(0, files.sizes.nodes, files.sizes.at_once):
        some = files.scores.read(first, files.sizes.at_once)
        is_equal_behind = (some == last_score) & (np.arange(len(some)) > last_node - first)
        is_next = (some < last_score) | is_equal_behind
        nodes = np.concatenate((nodes, first + np.flatnonzero(is_next)))
        scores = np.concatenate((scores, some[is_next]))
        order = np.argsort(-scores, kind="stable")[:count]
        nodes, scores = nodes[order], scores[order]
    return Best(nodes, scores)


class _Settled(NamedTuple):
    change: float
    dangling: float


def _begin(files: GraphOnDisk, damping: float) -> float:
    """Set all nodes equal; return the sum over dangling nodes."""
    dangling = 0.0
    for first in range(0, files.sizes.nodes, files.sizes.at_once):
        count = min(files.sizes.at_once, files.sizes.nodes - first)
        alike = np.full(count, 1 / files.sizes.nodes)
        files.scores.write(first, alike)
        dangling += _hand_on(files, first, alike, damping)
    files.turn()
    return dangling


def _inflow(files: GraphOnDisk, block: int, base: float) -> Floats:
    """Return the inflow of the nodes of a block."""
    got = np.full(min(files.sizes.block, files.sizes.nodes - block * files.sizes.block), base)
    stretch, given = -1, np.empty(0)
    for piece in files.pieces(block):
        if piece.stretch != stretch:
            stretch = piece.stretch
            given = files.given.read(stretch * files.sizes.stretch, files.sizes.stretch)
        np.add.at(got, piece.targets, given[piece.sources])
    return got


def _settle(files: GraphOnDisk, start: int, got: Floats, damping: float) -> _Settled:
    """Write the new scores of a block, and what it passes on in the next iteration."""
    change = dangling = 0.0
    for place in range(0, len(got), files.sizes.at_once):
        first, new = start + place, got[place : place + files.sizes.at_once]
        change += float(np.abs(new - files.scores.read(first, len(new))).sum())
        files.scores.write(first, new)
        dangling += _hand_on(files, first, new, damping)
    return _Settled(change, dangling)


def _hand_on(files: GraphOnDisk, first: int, scores: Floats, damping: float) -> float:
    """Write what nodes pass on along each link; return the sum over dangling nodes."""
    degrees = files.degrees.read(first, len(scores))
    files.given_next.write(first, damping * scores / np.maximum(degrees, 1))
    return float(scores[degrees == 0].sum())
