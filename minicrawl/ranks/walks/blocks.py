"""PageRank of a graph that does not fit in memory (Haveliwala, 1999).

Only the scores of one block of destinations are in memory; all else comes as a stream from `Files`,
links by the block that they lead to and within it by their source. The result is that of power
iteration in memory: what dangles is spread evenly, and each round takes

    y(t) = (1 - d + d * dangling) / n + sum of g(s) over the links s -> t,  g(s) = d * x(s) / out(s)

d         damping
dangling  the sum of x over nodes without links
bound     the scores are not further than change * d / (1 - d) from their limit, where change is the
          sum of |y - x|: each round brings all scores nearer to the limit by d, in the sum. For
          what is rounded 64 ε / (1 - d) are added, below which no bound can be
stretch   some nodes in a row, whose g is in memory together
"""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from minicrawl.progress import Progress, unreported
from minicrawl.ranks.scores import share_done

Floats = NDArray[np.float64]
Places = NDArray[np.int32]

_MOST_APART = 2.0
_ROUNDINGS = 64


class Column(Protocol):
    """A number for each node, read and written some at a time."""

    def read(self, first: int, count: int) -> Floats:
        """Those of so many nodes, or as many as there are."""

    def write(self, first: int, numbers: Floats) -> None:
        """Those of the nodes from the first one on."""


class Piece(NamedTuple):
    """Links from one stretch to one block: places within these."""

    stretch: int
    sources: Places
    targets: Places


class Files(Protocol):
    """The links of a graph by blocks of destinations, and columns that the scores are made in."""

    nodes: int
    block: int  # nodes
    stretch: int  # nodes
    at_once: int  # nodes whose scores are settled together

    @property
    def degrees(self) -> Column:
        """How many links each node has."""

    @property
    def scores(self) -> Column:
        """x."""

    @property
    def given(self) -> Column:
        """g, of this round."""

    @property
    def given_next(self) -> Column:
        """g, of the next one."""

    def pieces(self, block: int) -> Iterable[Piece]:
        """The links to this block, stretch after stretch."""

    def turn(self) -> None:
        """What was given next is what is given now."""


class Outcome(NamedTuple):
    """How near the scores have come to their limit."""

    iterations: int
    error_bound: float
    converged: bool


def pagerank(
    files: Files,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-8,
    most_rounds: int = 1000,
    tell: Progress = unreported,
) -> Outcome:
    """Leave the scores of all nodes in `files.scores`."""
    floor = _ROUNDINGS * float(np.finfo(np.float64).eps) / (1 - damping)
    dangling, bound, done = _begin(files, damping), float("inf"), 0
    while bound > max(tolerance, 1.5 * floor) and done < most_rounds:
        base = (1 - damping + damping * dangling) / files.nodes
        change = dangling = 0.0
        for block in range(-(-files.nodes // files.block)):
            settled = _settle(files, block * files.block, _inflow(files, block, base), damping)
            change, dangling = change + settled.change, dangling + settled.dangling
        files.turn()
        bound, done = min(change * damping / (1 - damping) + floor, _MOST_APART), done + 1
        tell(share_done(bound, tolerance))
    return Outcome(done, bound, bound <= tolerance)


class Best(NamedTuple):
    """Nodes with the largest scores, the largest first; of equals that which comes first."""

    nodes: NDArray[np.int64]
    scores: Floats


def best(files: Files, count: int) -> Best:
    """So many, or all; never more than these and a few others are in memory."""
    nodes, scores = np.empty(0, dtype=np.int64), np.empty(0)
    for first in range(0, files.nodes, files.at_once):
        some = files.scores.read(first, files.at_once)
        nodes = np.concatenate((nodes, np.arange(first, first + len(some))))
        scores = np.concatenate((scores, some))
        order = np.argsort(-scores, kind="stable")[:count]
        nodes, scores = nodes[order], scores[order]
    return Best(nodes, scores)


class _Settled(NamedTuple):
    change: float
    dangling: float


def _begin(files: Files, damping: float) -> float:
    """All nodes are alike; say how much of it dangles."""
    dangling = 0.0
    for first in range(0, files.nodes, files.at_once):
        count = min(files.at_once, files.nodes - first)
        alike = np.full(count, 1 / files.nodes)
        files.scores.write(first, alike)
        dangling += _hand_on(files, first, alike, damping)
    files.turn()
    return dangling


def _inflow(files: Files, block: int, base: float) -> Floats:
    """What the nodes of a block get in a round."""
    got = np.full(min(files.block, files.nodes - block * files.block), base)
    stretch, given = -1, np.empty(0)
    for piece in files.pieces(block):
        if piece.stretch != stretch:
            stretch = piece.stretch
            given = files.given.read(stretch * files.stretch, files.stretch)
        np.add.at(got, piece.targets, given[piece.sources])
    return got


def _settle(files: Files, start: int, got: Floats, damping: float) -> _Settled:
    """Put down what a block got, and what it gives in the next round."""
    change = dangling = 0.0
    for place in range(0, len(got), files.at_once):
        first, new = start + place, got[place : place + files.at_once]
        change += float(np.abs(new - files.scores.read(first, len(new))).sum())
        files.scores.write(first, new)
        dangling += _hand_on(files, first, new, damping)
    return _Settled(change, dangling)


def _hand_on(files: Files, first: int, scores: Floats, damping: float) -> float:
    """Note what nodes give along each of their links; answer with what the others hold."""
    degrees = files.degrees.read(first, len(scores))
    files.given_next.write(first, damping * scores / np.maximum(degrees, 1))
    return float(scores[degrees == 0].sum())
