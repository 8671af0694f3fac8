"""Importance off-line: the fixpoint of the link matrix, by power iteration over the whole graph.

What OPIC estimates while it reads, computed from all links at once: the yardstick of the estimate.

x       importance; sums to 1 over the pages.
L       the link matrix. WALK: a page shares its importance among its links, L[i,j] = 1/out(i).
        ONES: each link counts in full, L[i,j] = 1. BOTH: a walk along links in both directions.
dagger  x = x L', L' being L with the virtual page: every page links to it with its small edge,
        and it links to every page. It is not kept as a page of its own: what it receives in a
        round it hands on in the same round, to all alike. Nothing is lost at a dead end.
lazy    dagger prime: x = x (L' + I) / 2. The same fixpoint, reached on periodic graphs as well,
        where without a small edge plain iteration goes round for ever.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ids = NDArray[np.integer]


class LinkMatrixKind(Enum):
    """Which link matrix."""

    WALK = "walk"
    ONES = "ones"
    BOTH = "both"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixpoint:
    """`change` is how much of the importance moved in the last round, of 2 at most."""

    importance: Floats
    rounds: int
    change: float
    converged: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMatrix:
    """L' of a graph with a link from `sources[k]` to `targets[k]` for every k.

    `small_edge` is the share of every page that goes to the virtual page; None stands for one
    more link, as in the paper.
    """

    nodes: int
    sources: Ids
    targets: Ids
    small_edge: float | None = 0.15
    kind: LinkMatrixKind = LinkMatrixKind.WALK
    lazy: bool = False

    def fixpoint(
        self, *, start: Floats | None = None, rounds: int = 1000, tolerance: float = 1e-12
    ) -> Fixpoint:
        """The importance, or how far so many rounds came."""
        step = self._step()
        x = np.full(self.nodes, 1 / self.nodes) if start is None else start
        change, done = 2.0, 0
        while done < rounds and change > tolerance:
            y = (x + step(x)) / 2 if self.lazy else step(x)
            change, x, done = float(np.abs(y - x).sum()), y, done + 1
        return Fixpoint(importance=x, rounds=done, change=change, converged=change <= tolerance)

    def _step(self) -> Callable[[Floats], Floats]:
        """x -> x L', normalised."""
        sources, targets = self._links()
        weights = self._weights(np.bincount(sources, minlength=self.nodes))
        given = self._virtual_inflow()

        def step(x: Floats) -> Floats:
            flow = np.bincount(targets, weights=(x * weights)[sources], minlength=self.nodes)
            inflow = 1 - flow.sum() if given is None else given
            y: Floats = flow + inflow / self.nodes
            y /= y.sum()
            return y

        return step

    def _links(self) -> tuple[Ids, Ids]:
        if self.kind is not LinkMatrixKind.BOTH:
            return self.sources, self.targets
        forth = self.sources.astype(np.int64) * self.nodes + self.targets
        back = self.targets.astype(np.int64) * self.nodes + self.sources
        links = np.unique(np.concatenate((forth, back)))
        return links // self.nodes, links % self.nodes

    def _weights(self, links: Ids) -> Floats:
        """What each page gives along one of its links, of each unit of its importance."""
        if self.kind is LinkMatrixKind.ONES:
            return np.ones(len(links))
        if self.small_edge is None:
            return 1 / (links + 1.0)
        return (1 - self.small_edge) / np.maximum(links, 1)

    def _virtual_inflow(self) -> float | None:
        """What the virtual page gets in a round; None: all that the links did not carry."""
        if self.kind is not LinkMatrixKind.ONES:
            return None
        return 1.0 if self.small_edge is None else self.small_edge
