"""Pairs of authorities and hubs: the singular vectors of a link matrix A, largest first.

    A x = σ y,  Aᵀ y = σ x,  AᵀA x = σ² x,  ‖x‖ = ‖y‖ = 1

The first pair has no negative entries. Every other pair has entries of both signs, and the sign is
arbitrary: here the largest entry of x is positive. Pairs with the same σ are one of many bases of
the same space.

They are computed by Lanczos' method from products with AᵀA: after k products, it has the best
approximation in the span of the starting vector and its k - 1 images. That takes a half to a tenth
of the products of the power method, which uses the last image only. When the memory for images is
full, the best few approximations replace them all.

value     θ, the approximation of the largest eigenvalue; never above the true one
residual  ‖M x − θ x‖ for the unit vector x that belongs to θ, with M = AᵀA
sine      of the angle φ between x and the eigenvector, at most residual / (θ − λ)

Proven: an eigenvalue is within `residual` of θ, and the bound of the sine holds if λ is the next
eigenvalue that the starting vector has a component of (Davis and Kahan). Not proven: λ is known
only by an approximation, which is never above it. To keep the bound on the safe side, λ is raised
by its own residual, and if it is not below θ the sine is 1. For later pairs, the bound assumes that
the pairs before them are exact.

Scores are the entries of x as shares. Their error, with x at an angle φ from its limit v:

    ‖x/‖x‖₁ − v/‖v‖₁‖₁ ≤ 2 √n ‖x − v‖₂ / ‖x‖₁,   ‖x − v‖₂ = 2 sin(φ/2)

y is never further from its limit than x is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import asin, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Adjacency, Vector
from minicrawl.opic.estimate import shares
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.scores import FURTHEST, Floats, Scores, share_done

Matrix = NDArray[np.float64]

ROOM = 1 << 28
"""Default memory of a search in bytes, except that a minimum of images is always kept."""

_NOTHING = 1e-12  # eigenvalues below this share of the first count as 0
_FEWEST_IMAGES, _MOST_IMAGES = 4, 16  # fewer images leave no room to keep good ones
_KEPT = 2  # approximations that replace all images when memory is full
_ROUNDING = 1e-14  # rounding error, relative to the largest eigenvalue
_CANCELLED = 1e-2  # if less than this is left of a vector, rounding has tilted it
_NODES_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Approximation:
    """Approximation of the first eigenvector after some products."""

    products: int
    value: float
    residual: float
    sine: float
    is_all: bool
    """True if the starting vector has no further component."""
    vector: Callable[[], Vector]
    """Returns the unit vector; valid until the next product."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Authorities x and hubs y of length 1, with their precision."""

    authorities: Vector
    hubs: Vector
    value: float
    """σ²"""
    steps: int
    residual: float
    sine: float


def pair(
    links: Adjacency,
    start: Vector,
    beside: Matrix | None = None,
    *,
    tolerance: float,
    most_steps: int,
    room: int = ROOM,
    tell: Progress = unreported,
) -> Pair:
    """Return the first pair that `start` has a component of, orthogonal to `beside`.

    The search ends when the shares of both are known to `tolerance`, or after `most_steps`. A zero
    vector gives a pair of zeros.
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
    tell: Progress = unreported,
) -> Iterator[Pair]:
    """Yield the first `count` pairs by deflation; fewer if there are no more."""
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
    """Return the vector scaled to length 1; a zero vector stays 0."""
    x = x.astype(np.float64, copy=False)
    return x / (length(x) or 1.0)


def scores(x: Vector, sine: float, steps: int, tolerance: float) -> Scores:
    """Return the entries of a vector, or those of one sign, as shares."""
    bound = min(_spread(x) * chord(sine), FURTHEST)
    return Scores(
        values=shares(x), iterations=steps, error_bound=bound, converged=bound <= tolerance
    )


def chord(sine: float) -> float:
    """Return the distance of two unit vectors from the sine of the acute angle between them."""
    return 2 * sin(asin(sine) / 2)


def _spread(x: Vector) -> float:
    """Return the factor from the distance of unit vectors to that of their shares; 0 for 0."""
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


# ---------------------------------------------------------------- Lanczos' method


def leading(
    product: Callable[[Vector], Vector],
    start: Vector,
    beside: Matrix | None = None,
    room: int = _MOST_IMAGES,
) -> Iterator[Approximation]:
    """Yield improving approximations of the first eigenvector that `start` has a component of.

    They are unit vectors orthogonal to the rows of `beside`; `room` is the number of images to
    keep. The iteration ends when the starting vector is exhausted.
    """
    images = np.empty((room + 1, len(start)))
    np.divide(start, length(start) or 1.0, out=images[0])
    del start
    seen = np.zeros((room, room))  # M restricted to the images
    size = products = 0
    while True:
        products += 1
        rest = product(images[size])
        parts, left = _without(rest, images[: size + 1])
        if beside is not None:
            left = _without(rest, beside)[1]
        seen[size, : size + 1] = seen[: size + 1, size] = parts
        size += 1
        np.divide(rest, left or 1.0, out=images[size])
        del rest  # with millions of nodes, each unused vector matters
        found = _approximation(images[:size], seen[:size, :size], left, products)
        yield found
        if found.is_all:
            return
        if size == room:
            size = _condense(images, seen)


def length(x: Vector) -> float:
    """Return the Euclidean length, without BLAS threads: they cost more time than they save."""
    return sqrt(np.einsum("i,i->", x, x))


def upright(x: Vector, rows: Matrix) -> Vector:
    """Return the component of `x` that is orthogonal to the rows, which are orthonormal."""
    rest = x.copy()
    _without(rest, rows)
    return rest


def room_in(size: int, nodes: int) -> int:
    """Return how many images fit into `size` bytes, with a minimum."""
    return min(max(size // (8 * max(nodes, 1)) - 1, _FEWEST_IMAGES), _MOST_IMAGES)


def _without(rest: Vector, rows: Matrix) -> tuple[Vector, float]:
    """Remove from `rest` its components along the rows; return these and the remaining length."""
    before = length(rest)
    parts = _taken(rest, rows)
    left = length(rest)
    # Twice is enough: after one subtraction, rounding may leave parts along the rows that are large
    # compared with what is left; after two it cannot.
    if left < _CANCELLED * before:
        parts += _taken(rest, rows)
        left = length(rest)
    return parts, left


def _taken(rest: Vector, rows: Matrix) -> Vector:
    parts: Vector = np.einsum("ij,j->i", rows, rest)
    for some in stretches(len(rest)):
        rest[some] -= np.einsum("i,ij->j", parts, rows[:, some])
    return parts


def _approximation(images: Matrix, seen: Matrix, left: float, products: int) -> Approximation:
    values, mixtures = np.linalg.eigh(seen)
    residuals = left * np.abs(mixtures[-1])
    value, residual = float(values[-1]), float(residuals[-1])
    is_all = left <= _ROUNDING * value or value <= 0
    return Approximation(
        products=products,
        value=value,
        residual=residual,
        sine=_ROUNDING if is_all else _sine(values, residuals),
        is_all=is_all,
        vector=lambda: np.einsum("i,ij->j", mixtures[:, -1], images),
    )


def _sine(values: Vector, residuals: Vector) -> float:
    if len(values) == 1:
        return 1.0
    gap = values[-1] - (values[-2] + residuals[-2])
    return min(float(residuals[-1] / gap), 1.0) if gap > 0 else 1.0


def _condense(images: Matrix, seen: Matrix) -> int:
    """Replace all images by the best approximations and the last image; return their number."""
    values, mixtures = np.linalg.eigh(seen)
    # Starting over from the best approximation alone would lose what the images know of the second
    # one, and it is the second one that slows the search down.
    best = mixtures[:, : -_KEPT - 1 : -1].T
    for some in stretches(images.shape[1]):
        images[:_KEPT, some] = np.einsum("ki,ij->kj", best, images[:-1, some])
    images[_KEPT] = images[-1]
    seen[:] = 0.0
    seen[range(_KEPT), range(_KEPT)] = values[: -_KEPT - 1 : -1]
    return _KEPT


def stretches(nodes: int) -> Iterator[slice]:
    """Yield slices of nodes small enough that their parts of all vectors fit into the cache."""
    return (slice(first, first + _NODES_AT_ONCE) for first in range(0, nodes, _NODES_AT_ONCE))
