"""Residual methods: nodes hand on what waits for them, and no more.

    r = G x - x   the residual: what waits at each node.  x' = x + what nodes take of r

gauss-seidel  Block after block; what a block hands to later ones is handed on in the same
              iteration. Where a few nodes hold most of r then, for the links that they take, these
              hand on some times more: circles of pages that nothing leaves but jumps are slow to
              come to rest, and have few links. What jumps is handed out at the end of the
              iteration.
sweeping      The same, but in each iteration only nodes hand on whose |r|, measured by their links,
              is above the average. What these hand on may sum up to anything; so 1 - κ of it, which
              always jumps, is not handed out but taken to be that of a sum of 1, and |r| falls by
              as much in each iteration.

A lazy walk hands on half of what waits. The methods keep r instead of computing it; at the end it
is computed afresh, and they go on if it is not what they took it for. As r then sums to 0, `walk`
gives the bound |r| / ((1 - κ) |x|).
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.adjacency import Adjacency, AdjacencyBlock
from minicrawl.graph.row_products import AnyFloats
from minicrawl.progress import Progress
from minicrawl.ranks.power import PowerMethod
from minicrawl.ranks.scores import share_done
from minicrawl.ranks.walks.walk import Dangling, Walk

_NODES_AT_ONCE = 1 << 15
_MUCH = 2.0  # times what is waiting on average
_MOST_FEW = 8  # one of so many links
_TURNS_OF_FEW = 3

Turns = Callable[[Adjacency, AnyFloats], Iterable[AdjacencyBlock]]
"""The nodes that hand on in an iteration, one block after the other; r changes in between."""


def in_order(links: Adjacency, r: AnyFloats) -> Iterator[AdjacencyBlock]:
    """All nodes, and then the few at which much waits some times more."""
    yield from links.blocks()
    waiting = _waiting(r)
    few = _holding(links, r, _MUCH * waiting)
    counts = links.graph.starts[few + 1] - links.graph.starts[few]
    is_little = counts.sum() * _MOST_FEW <= links.graph.edges
    if is_little and 2 * _waiting(r[few]) >= waiting:
        yield from _TURNS_OF_FEW * list(links.blocks_of(few))


def above_average(links: Adjacency, r: AnyFloats) -> Iterator[AdjacencyBlock]:
    """The nodes at which more waits than on average; one node at least."""
    return links.blocks_of(_holding(links, r, 0.999 * _waiting(r)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResidualMethod:
    """How to come to the limit of a walk whose jumps lead to `teleport`."""

    walk: Walk
    teleport: AnyFloats
    turns: Turns
    lazy: bool
    stop: PowerMethod

    def run(self, x: AnyFloats, tell: Progress) -> tuple[int, float]:
        """Bring x to the limit, in place: the number of iterations, and the bound of the error."""
        iterations, stop = 0, self.stop
        goal = max(stop.tolerance - stop.floor, 0.5 * stop.floor)
        while True:
            x /= x.sum(dtype=np.float64)
            r = self.walk.step(x[np.newaxis], self.teleport[np.newaxis])[0] - x
            bound = self._bound(x, r) + stop.floor
            tell(share_done(bound, stop.tolerance))
            if iterations >= stop.most_iterations or stop.is_enough(bound):
                return iterations, bound
            while iterations < stop.most_iterations and (left := self._bound(x, r)) > goal:
                self._iterate(x, r)
                iterations += 1
                tell(share_done(left, stop.tolerance))

    def _iterate(self, x: AnyFloats, r: AnyFloats) -> None:
        jumping, to_all, held = self._hand_on(x, r)
        if self.turns is above_average:
            jumping, to_all = self._without_usual_jumps(jumping, to_all, held)
        r += self.teleport * r.dtype.type(jumping) + r.dtype.type(to_all / len(r))

    def _hand_on(self, x: AnyFloats, r: AnyFloats) -> tuple[float, float, float]:
        """Nodes take in a part of what waits for them and hand it on.

        The result is what of it jumps, what goes to all alike, and how much it was.
        """
        walk, part = self.walk, r.dtype.type(0.5 if self.lazy else 1.0)
        jumping = to_all = held = 0.0
        for block in self.turns(walk.links, r):
            taken = r[block.nodes] * part
            x[block.nodes] += taken
            r[block.nodes] -= taken
            given = taken * walk.per_weight[block.nodes]
            walk.links.push(block, given[np.newaxis], r[np.newaxis])
            jumps, spread = walk.jumps(taken, block.nodes)
            jumping, to_all = jumping + jumps, to_all + spread
            held += float(taken.sum(dtype=np.float64))
        return jumping, to_all, held

    def _without_usual_jumps(
        self, jumping: float, to_all: float, held: float
    ) -> tuple[float, float]:
        """What jumps and goes to all, but for the 1 - κ of what was held that always does."""
        usual = (1 - self.walk.contraction) * held
        if self.walk.dangling is Dangling.VIRTUAL:
            return jumping, to_all - usual
        return jumping - usual, to_all

    def _bound(self, x: AnyFloats, r: AnyFloats) -> float:
        """|r| / ((1 - κ) |x|)."""
        return _waiting(r) / ((1 - self.walk.contraction) * float(x.sum(dtype=np.float64)))


def _holding(links: Adjacency, r: AnyFloats, waiting: float) -> NDArray[np.intp]:
    """Nodes for which more waits, by each of their links, than if so much waited for all."""
    graph = links.graph
    bar = waiting / (graph.edges + graph.nodes)
    is_holding = np.empty(graph.nodes, dtype=np.bool_)
    for nodes, _, starts in links.blocks():
        is_holding[nodes] = np.abs(r[nodes]) >= bar * (np.diff(starts) + 1)
    return np.flatnonzero(is_holding)


def _waiting(r: AnyFloats) -> float:
    # Some at a time: no vector as large as r is made, nor given back.
    some = (r[first : first + _NODES_AT_ONCE] for first in range(0, len(r), _NODES_AT_ONCE))
    return sum(float(np.abs(each).sum(dtype=np.float64)) for each in some)
