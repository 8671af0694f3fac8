"""Pairs of authorities and hubs: the singular vectors of a link matrix, the largest first.

    A x = σ y,  Aᵀ y = σ x,  AᵀA x = σ² x,  ‖x‖ = ‖y‖ = 1

The first pair has no negative entries. Every other has entries of either sign, and which sign is
which means nothing: here the largest entry of x is positive. Pairs with the same σ are some of the
many that span the same space.

Error of scores, where x is at an angle φ from its limit v
    ‖x/‖x‖₁ − v/‖v‖₁‖₁ ≤ 2 √n ‖x − v‖₂ / ‖x‖₁,   ‖x − v‖₂ = 2 sin(φ/2)

`eigen` says what of the bound of φ is proven; y is never further from its limit than x is. Of a
pair that is not the first, the bound takes those before it for exact.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import asin, sin, sqrt

import numpy as np

from minicrawl.ranks.hits.adjacency import Adjacency, Vector
from minicrawl.ranks.hits.eigen import (
    Approximation,
    Matrix,
    leading,
    length,
    room_in,
    stretches,
    upright,
)
from minicrawl.ranks.scores import Floats, Scores, share_done

FURTHEST = 2.0
"""Two ranks whose scores sum to 1 cannot be further apart."""

ROOM = 1 << 28
"""Bytes that the search may take, but for so few that nothing is gained by them."""

_NOTHING = 1e-12  # an eigenvalue that is less than this share of the first is 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Authorities x and hubs y of length 1, and how far they are known."""

    authorities: Vector
    hubs: Vector
    value: float
    """σ²"""
    steps: int
    residual: float
    sine: float


def pair(  # noqa: PLR0913 (each is an option of its own)
    links: Adjacency,
    start: Vector,
    beside: Matrix | None = None,
    *,
    tolerance: float,
    most_steps: int,
    room: int = ROOM,
    tell: Callable[[float], None] = lambda _share: None,
) -> Pair:
    """The first pair that `start` has a part of, at right angles to the authorities `beside`.

    It is sought until the shares of both are known to `tolerance`, or for `most_steps`. Of nothing
    comes a pair of nothing.
    """
    spread = FURTHEST
    approximations = leading(links.through, start, beside, room_in(room, len(start)))
    del start
    for found in approximations:
        tell(share_done(found.sine, tolerance))
        is_last = found.products >= most_steps
        far = chord(found.sine)
        if is_last or (spread * far <= tolerance and _spread(found.vector()) * far <= tolerance):
            candidate = _pair(links, found)
            spread = max(_spread(candidate.authorities), _spread(candidate.hubs))
            if is_last or spread * far <= tolerance:
                return candidate
            del candidate
    return _pair(links, found)


def pairs(
    links: Adjacency,
    count: int,
    rng: np.random.Generator,
    *,
    tolerance: float,
    most_steps: int,
    tell: Callable[[float], None] = lambda _share: None,
) -> Iterator[Pair]:
    """The first `count` pairs one by one, by deflation; fewer where there are no more."""
    nodes = links.graph.nodes
    known, first, start = np.empty((0, nodes)), 0.0, links.pushed(np.ones(nodes))
    while len(known) < min(count, nodes) and start.any():
        found = pair(links, start, known, tolerance=tolerance, most_steps=most_steps)
        first = first or found.value
        if found.value <= _NOTHING * first:
            return
        yield found
        known = np.vstack([known, found.authorities])
        tell(len(known) / count)
        start = upright(rng.standard_normal(nodes), known)


def unit(x: Floats) -> Vector:
    """The vector brought to length 1, if it has any."""
    x = x.astype(np.float64, copy=False)
    return x / (length(x) or 1.0)


def shares(x: Vector) -> Vector:
    """What of all each node has; without anything all are alike."""
    total = x.sum()
    return x / total if total else np.full(len(x), 1 / max(len(x), 1))


def scores(x: Vector, found: Pair, tolerance: float) -> Scores:
    """The entries of a pair, or those of one sign, as shares."""
    bound = min(_spread(x) * chord(found.sine), FURTHEST)
    return Scores(
        values=shares(x), iterations=found.steps, error_bound=bound, converged=bound <= tolerance
    )


def chord(sine: float) -> float:
    """How far apart two unit vectors are, by the sine of the acute angle between them."""
    return 2 * sin(asin(sine) / 2)


def _spread(x: Vector) -> float:
    """How much further apart than unit vectors their shares may be; of nothing, not at all."""
    total = sum(float(np.abs(x[some]).sum()) for some in stretches(len(x)))
    return 2 * sqrt(len(x)) / total if total else 0.0


def _pair(links: Adjacency, found: Approximation) -> Pair:
    authorities = found.vector()
    if -authorities.min(initial=0.0) > authorities.max(initial=0.0):
        authorities *= -1
    hubs = links.pulled(authorities)
    hubs /= length(hubs) or 1.0
    return Pair(
        authorities=authorities,
        hubs=hubs,
        value=found.value,
        steps=found.products,
        residual=found.residual,
        sine=found.sine,
    )
