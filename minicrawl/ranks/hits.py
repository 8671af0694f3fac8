"""HITS: good hubs link to good authorities, good authorities are linked to by good hubs.

    a = Aᵀ h    the authority of a page is what the hubs that link to it have (Kleinberg, 1998)
    h = A a     a page is as good a hub as the authorities that it links to

In each round a first, then h of the new a, both brought to length 1. Begun with all hubs alike, the
rounds come to the part of that beginning in the leading eigenvectors of AᵀA and AAᵀ, by the ratio
of the two largest eigenvalues a round. `hits` finds the same limit in fewer steps (`eigen`).

Scores are shares that sum to 1; brought to length 1 they are the values of the literature. Where
there is no link, all nodes are alike.

Error
    ‖x/‖x‖₁ − v/‖v‖₁‖₁ ≤ 2 √n ‖x − v‖₂ / ‖x‖₁,   ‖x − v‖₂ = 2 sin(φ/2)

for unit vectors x and v ≥ 0 at an angle φ. `eigen` says what of the bound of φ is proven; the hubs
A a are never further from their limit than the authorities are. The bound of `textbook` is no more
than an estimate: it takes for granted that changes go on to shrink as in the last two rounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import asin, sin, sqrt

import numpy as np

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.ranks.eigen import Approximation, leading, length
from minicrawl.ranks.links import Links, Vector, Weights
from minicrawl.ranks.scores import Floats, Scores

FURTHEST = 2.0
"""Two ranks whose scores sum to 1 cannot be further apart."""

TOLERANCE = 1e-8
"""The error that will do, summed over all nodes."""

_ROUNDING = 1e-14  # changes of scores below this say nothing


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
    links = Links(graph, weights)
    beginning = links.pushed(_hubs_at_first(graph, start))
    if not beginning.any():
        return _all_alike(graph)
    spread = FURTHEST
    for found in leading(lambda x: links.pushed(links.pulled(x)), beginning):
        tell(share_done(found.sine, tolerance))
        is_last = found.products >= most_steps
        if spread * chord(found.sine) > tolerance and not is_last:
            continue
        authorities, hubs = _both(links, found)
        spread = max(_spread(authorities), _spread(hubs))
        if spread * chord(found.sine) <= tolerance or is_last:
            break
    else:
        authorities, hubs = _both(links, found)
    return Hits(
        authorities=_limit(authorities, found.products, found.sine, tolerance),
        hubs=_limit(hubs, found.products, found.sine, tolerance),
    )


def textbook(
    graph: Csr,
    weights: Weights | None = None,
    *,
    rounds: int,
    start: Floats | None = None,
    tell: Callable[[float], None] = lambda _share: None,
) -> Hits:
    """What just so many rounds come to, 1 at least; the error of it is estimated."""
    if rounds < 1:
        raise UsageError(f"HITS takes 1 round or more, not {rounds}")
    links, hubs = Links(graph, weights), _hubs_at_first(graph, start)
    ranks, change = np.full((2, graph.nodes), np.nan), np.full(2, np.nan)
    for done in range(rounds):
        authorities = unit(links.pushed(hubs))
        hubs = unit(links.pulled(authorities))
        if not hubs.any():
            return _all_alike(graph)
        earlier, before, ranks = change, ranks, np.stack([shares(authorities), shares(hubs)])
        change = np.abs(ranks - before).sum(axis=1)
        tell((done + 1) / rounds)
    bounds = _estimates(earlier, change)
    both = (
        Scores(values=x, iterations=rounds, error_bound=bound, converged=bound <= TOLERANCE)
        for x, bound in zip(ranks, bounds, strict=True)
    )
    return Hits(authorities=next(both), hubs=next(both))


def unit(x: Floats) -> Vector:
    """The vector brought to length 1, if it has any."""
    x = x.astype(np.float64, copy=False)
    return x / (length(x) or 1.0)


def shares(x: Vector) -> Vector:
    """What of all each node has; without anything all are alike."""
    total = x.sum()
    return x / total if total else np.full(len(x), 1 / max(len(x), 1))


def chord(sine: float) -> float:
    """How far apart two unit vectors are, by the sine of the acute angle between them."""
    return 2 * sin(asin(sine) / 2)


def share_done(error: float, tolerance: float) -> float:
    """How far an error has come down from 1 to what is asked for, in powers of ten."""
    if error <= tolerance:
        return 1.0
    return float(np.log(error) / np.log(tolerance)) if 0 < tolerance < error < 1 else 0.0


def _hubs_at_first(graph: Csr, start: Floats | None) -> Vector:
    return np.ones(graph.nodes) if start is None else np.asarray(start, dtype=np.float64)


def _both(links: Links, found: Approximation) -> tuple[Vector, Vector]:
    """Authorities and hubs of length 1."""
    authorities = np.abs(found.vector())
    return authorities, unit(links.pulled(authorities))


def _spread(x: Vector) -> float:
    """How much further apart than unit vectors their shares may be."""
    return float(2 * sqrt(len(x)) / x.sum())


def _limit(x: Vector, steps: int, sine: float, tolerance: float) -> Scores:
    bound = min(_spread(x) * chord(sine), FURTHEST)
    return Scores(
        values=shares(x), iterations=steps, error_bound=bound, converged=bound <= tolerance
    )


def _estimates(earlier: Vector, change: Vector) -> list[float]:
    """What is still to come if changes go on to shrink as they did."""
    return [_still_to_come(*pair) for pair in zip(earlier.tolist(), change.tolist(), strict=True)]


def _still_to_come(earlier: float, change: float) -> float:
    if change < _ROUNDING:
        return _ROUNDING
    # False as well while there were not two changes.
    if change < earlier:
        return min(change * change / (earlier - change), FURTHEST)
    return FURTHEST


def _all_alike(graph: Csr) -> Hits:
    alike = Scores(
        values=shares(np.zeros(graph.nodes)), iterations=0, error_bound=0.0, converged=True
    )
    return Hits(authorities=alike, hubs=alike)
