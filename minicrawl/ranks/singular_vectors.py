"""Pairs of authorities and hubs: the singular vectors of a link matrix A, largest first.

    A x = σ y,  Aᵀ y = σ x,  AᵀA x = σ² x,  ‖x‖ = ‖y‖ = 1

The first pair has no negative entries. Every other pair has entries of both signs, and the sign
of the pair is arbitrary: here the largest entry of x is positive. Pairs with the same σ are one
of many bases of the same space.

Lanczos' method finds the pairs by products with AᵀA: after k products, it has the best
approximation in the span of the starting vector and its k - 1 images. That takes a half to a
tenth of the products of the power method, which uses the last image only. When the memory for
images is full, the best two approximations and the last image replace them all.

value     θ, the approximation of the largest eigenvalue; never above the true one
residual  ‖M x − θ x‖ for the unit vector x that belongs to θ, with M = AᵀA
sine      of the angle φ between x and the eigenvector, at most residual / (θ − λ)

Proven: an eigenvalue is within `residual` of θ, and the bound of the sine holds if λ is the next
eigenvalue that the starting vector has a component of (Davis and Kahan). Not proven: λ is known
only by an approximation, which is never above it. To be safe, the approximation is raised by its
own residual; if it is then not below θ, the sine is 1. For later pairs, the bound assumes that
the pairs before them are exact.

Scores are the entries of x as shares. Their error, with x at an angle φ from its limit v:

    ‖x/‖x‖₁ − v/‖v‖₁‖₁ ≤ 2 √n ‖x − v‖₂ / ‖x‖₁,   ‖x − v‖₂ = 2 sin(φ/2)

y is never further from its limit than x is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import asin, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.products import Adjacency, Vector
from minicrawl.opic.importance.estimate import shares
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.scores import FURTHEST, Floats, Scores, share_done

Matrix = NDArray[np.float64]

MEMORY_BYTES = 1 << 28
"""Default memory for the images of a search. A minimum of images is always kept."""

_NOTHING = 1e-12  # eigenvalues below this share of the first count as 0
_FEWEST_IMAGES, _MOST_IMAGES = 4, 16  # with fewer, the search would keep none of what it learned
_KEPT = 2  # approximations that replace all images when memory is full
ROUNDING = 1e-14  # rounding error, relative to the largest eigenvalue
_CANCELLED = 1e-2  # share of a vector below which the rest is tilted by rounding
_NODES_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Approximation:
    """Approximation of the first eigenvector after `products` products."""

    products: int
    value: float
    residual: float
    sine: float
    is_all: bool
    """True if the images span all that the starting vector leads to: the value is exact."""
    vector: Callable[[], Vector]
    """Return the unit vector; valid until the next product."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pair:
    """Authorities x and hubs y, both of length 1, with their precision."""

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
    known: Matrix | None = None,
    *,
    tolerance: float,
    most_steps: int,
    memory_bytes: int = MEMORY_BYTES,
    tell: Progress = unreported,
) -> Pair:
    """Return the first pair orthogonal to the rows of `known` that `start` has a component of.

    The search ends when the shares of both are known to `tolerance`, or after `most_steps`. A zero
    vector gives a pair of zeros.
    """
    spread = FURTHEST
    approximations = leading(links.through, start, known, images_within(memory_bytes, len(start)))
    del start
    for approximation in approximations:
        tell(share_done(approximation.sine, tolerance))
        is_last = approximation.products >= most_steps
        apart = chord(approximation.sine)
        if is_last or (
            spread * apart <= tolerance and _spread(approximation.vector()) * apart <= tolerance
        ):
            candidate = _pair(links, approximation)
            spread = max(_spread(candidate.authorities), _spread(candidate.hubs))
            if is_last or spread * apart <= tolerance:
                return candidate
            del candidate
    return _pair(links, approximation)


def pairs(
    links: Adjacency,
    count: int,
    rng: np.random.Generator,
    *,
    tolerance: float,
    most_steps: int,
    tell: Progress = unreported,
) -> Iterator[Pair]:
    """Yield the first `count` pairs by deflation, or all if there are fewer."""
    nodes = links.graph.nodes
    known, first, start = np.empty((0, nodes)), 0.0, links.pushed(np.ones(nodes))
    while len(known) < min(count, nodes) and start.any():
        next_pair = pair(links, start, known, tolerance=tolerance, most_steps=most_steps)
        first = first or next_pair.value
        if next_pair.value <= _NOTHING * first:
            return
        yield next_pair
        known = np.vstack([known, next_pair.authorities])
        tell(len(known) / count)
        start = rng.standard_normal(nodes)
        _without(start, known)


def unit(x: Floats) -> Vector:
    """Return the vector scaled to length 1; a zero vector stays 0."""
    x = x.astype(np.float64, copy=False)
    return x / (length(x) or 1.0)


def scores(x: Vector, sine: float, steps: int, tolerance: float) -> Scores:
    """Return the entries of a vector as shares; it may have the entries of one sign only."""
    return Scores.within(shares(x), steps, _spread(x) * chord(sine), tolerance)


def chord(sine: float) -> float:
    """Return the distance between two unit vectors, given the sine of their acute angle."""
    return 2 * sin(asin(sine) / 2)


def _spread(x: Vector) -> float:
    """Return the ratio of the bound for shares to the distance of unit vectors; 0 for x = 0."""
    total = sum(float(np.abs(x[stretch]).sum()) for stretch in stretches(len(x)))
    return 2 * sqrt(len(x)) / total if total else 0.0


def _pair(links: Adjacency, approximation: Approximation) -> Pair:
    authorities = approximation.vector()
    if -authorities.min(initial=0.0) > authorities.max(initial=0.0):
        authorities *= -1
    hubs = links.pulled(authorities)
    hubs /= length(hubs) or 1.0
    return Pair(
        authorities=authorities,
        hubs=hubs,
        value=approximation.value,
        steps=approximation.products,
        residual=approximation.residual,
        sine=approximation.sine,
    )


def leading(
    product: Callable[[Vector], Vector],
    start: Vector,
    known: Matrix | None = None,
    most_images: int = _MOST_IMAGES,
) -> Iterator[Approximation]:
    """Yield improving approximations of the first eigenvector that `start` has a component of.

    The approximations are orthogonal to the rows of `known`; at most `most_images` images are kept.
    The iteration ends when the images span all that the starting vector leads to.
    """
    images = np.empty((most_images + 1, len(start)))
    np.divide(start, length(start) or 1.0, out=images[0])
    del start
    projected = np.zeros((most_images, most_images))  # M in the basis of the images
    size = products = 0
    while True:
        products += 1
        residual = product(images[size])
        parts, left = _without(residual, images[: size + 1])
        if known is not None:
            left = _without(residual, known)[1]
        projected[size, : size + 1] = projected[: size + 1, size] = parts
        size += 1
        np.divide(residual, left or 1.0, out=images[size])
        del residual  # with millions of nodes, each unused vector matters
        values, eigenvectors = np.linalg.eigh(projected[:size, :size])
        residuals = left * np.abs(eigenvectors[-1])
        value, last_residual = float(values[-1]), float(residuals[-1])
        is_all, sine = left <= ROUNDING * value or value <= 0, 1.0
        if is_all:
            sine = ROUNDING
        elif size > 1 and (gap := values[-1] - (values[-2] + residuals[-2])) > 0:
            sine = min(float(last_residual / gap), 1.0)
        approximation = Approximation(
            products=products,
            value=value,
            residual=last_residual,
            sine=sine,
            is_all=is_all,
            vector=partial(np.einsum, "i,ij->j", eigenvectors[:, -1], images[:size]),
        )
        yield approximation
        if approximation.is_all:
            return
        if size == most_images:
            # The best approximations and the last image replace all images. The second eigenvector
            # slows the search down, so its approximation is kept too.
            values, eigenvectors = np.linalg.eigh(projected)
            best = eigenvectors[:, : -_KEPT - 1 : -1].T
            for stretch in stretches(images.shape[1]):
                images[:_KEPT, stretch] = np.einsum("ki,ij->kj", best, images[:-1, stretch])
            images[_KEPT] = images[-1]
            projected[:] = 0.0
            projected[range(_KEPT), range(_KEPT)] = values[: -_KEPT - 1 : -1]
            size = _KEPT


def length(x: Vector) -> float:
    """Return the Euclidean length, without BLAS threads: they cost more time than they save."""
    return sqrt(np.einsum("i,i->", x, x))


def images_within(memory_bytes: int, nodes: int) -> int:
    """Return how many images fit into the memory, within limits."""
    return min(max(memory_bytes // (8 * max(nodes, 1)) - 1, _FEWEST_IMAGES), _MOST_IMAGES)


def _without(vector: Vector, rows: Matrix) -> tuple[Vector, float]:
    """Remove the components of `rest` along the rows; return them and the remaining length."""
    before = length(vector)
    parts = _taken(vector, rows)
    left = length(vector)
    # After one subtraction, rounding may leave components along the rows that are large compared
    # with the rest. A second one removes these, unless only rounding is left.
    if left < _CANCELLED * before:
        parts += _taken(vector, rows)
        left = length(vector)
    return parts, left


def _taken(vector: Vector, rows: Matrix) -> Vector:
    parts: Vector = np.einsum("ij,j->i", rows, vector)
    for stretch in stretches(len(vector)):
        vector[stretch] -= np.einsum("i,ij->j", parts, rows[:, stretch])
    return parts


def stretches(nodes: int) -> Iterator[slice]:
    """Yield slices of nodes, so short that their entries of all vectors fit into the cache."""
    return (slice(first, first + _NODES_AT_ONCE) for first in range(0, nodes, _NODES_AT_ONCE))
