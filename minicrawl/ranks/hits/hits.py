"""HITS: good hubs link to good authorities, good authorities are linked to by good hubs.

    a = Aᵀ h    the authority of a page is what the hubs that link to it have (Kleinberg, 1998)
    h = A a     a page is as good a hub as the authorities that it links to

In each round a first, then h of the new a, both brought to length 1. Begun with all hubs alike, the
rounds come to the part of that beginning in the leading eigenvectors of AᵀA and AAᵀ, by the ratio
of the two largest eigenvalues a round. `hits` finds the same limit in fewer steps (`eigen`).

Scores are shares that sum to 1; brought to length 1 they are the values of the literature. Where
there is no link, all nodes are alike.

The limit comes with the bound that `singular` derives. How far from it just so many rounds are,
`textbook` does not know: that they change little proves nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.ranks.hits.adjacency import Adjacency, Vector, Weights
from minicrawl.ranks.hits.singular import pair, scores, shares, unit
from minicrawl.ranks.scores import Floats, Scores

TOLERANCE = 1e-8
"""The error that will do, summed over all nodes."""

_ROOM = 1 << 23  # bytes: less than a large graph takes, as more room saves few steps


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hits:
    """Both ranks of one graph."""

    authorities: Scores
    hubs: Scores

    @property
    def converged(self) -> bool:
        return self.authorities.converged and self.hubs.converged


def hits(
    graph: Csr,
    weights: Weights | None = None,
    *,
    tolerance: float = TOLERANCE,
    most_steps: int = 1000,
    start: Floats | None = None,
    tell: Callable[[float], None] = lambda _share: None,
) -> Hits:
    """The limit of the rounds, or how near so many steps come; `start` are the hubs at first."""
    links = Adjacency(graph, weights)
    found = pair(
        links,
        links.pushed(_hubs_at_first(graph, start)),
        tolerance=tolerance,
        most_steps=most_steps,
        room=_ROOM,
        tell=tell,
    )
    if not found.value:
        return all_alike(graph.nodes)
    # The limit has no negative entries: those of its approximation are rounding.
    authorities, hubs = (np.abs(x, out=x) for x in (found.authorities, found.hubs))
    return Hits(
        authorities=scores(authorities, found, tolerance), hubs=scores(hubs, found, tolerance)
    )


def textbook(
    graph: Csr,
    weights: Weights | None = None,
    *,
    rounds: int,
    start: Floats | None = None,
    tell: Callable[[float], None] = lambda _share: None,
) -> Hits:
    """What just so many rounds come to, 1 at least."""
    if rounds < 1:
        raise UsageError(f"HITS takes 1 round or more, not {rounds}")
    links, hubs = Adjacency(graph, weights), _hubs_at_first(graph, start)
    for done in range(rounds):
        authorities = unit(links.pushed(hubs))
        hubs = unit(links.pulled(authorities))
        if not hubs.any():
            return all_alike(graph.nodes)
        tell((done + 1) / rounds)
    return Hits(authorities=_as_they_are(authorities, rounds), hubs=_as_they_are(hubs, rounds))


def _hubs_at_first(graph: Csr, start: Floats | None) -> Vector:
    return np.ones(graph.nodes) if start is None else np.asarray(start, dtype=np.float64)


def _as_they_are(x: Vector, rounds: int) -> Scores:
    return Scores(values=shares(x), iterations=rounds, error_bound=inf, converged=False)


def all_alike(nodes: int) -> Hits:
    """The ranks of nodes that no link tells apart."""
    alike = Scores(values=shares(np.zeros(nodes)), iterations=0, error_bound=0.0, converged=True)
    return Hits(authorities=alike, hubs=alike)
