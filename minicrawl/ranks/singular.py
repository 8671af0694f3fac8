"""Pairs of authorities and hubs: the singular vectors of a link matrix A, the largest first.

    A x = σ y,  Aᵀ y = σ x,  AᵀA x = σ² x,  ‖x‖ = ‖y‖ = 1

The first pair has no negative entries. Every other has entries of either sign, and which sign is
which means nothing: here the largest entry of x is positive. Pairs with the same σ are some of the
many that span the same space.

They are found by Lanczos' method, from what AᵀA does to a vector: after k products it knows the
best approximation among the starting vector and its k - 1 images. That takes a half to a tenth of
the products of the power method, which knows the last image only. When there is no more room for
images, the best few approximations stand for all before.

value     θ, the largest eigenvalue as far as it is known; never above the true one
residual  ‖M x − θ x‖ of the unit vector x that belongs to θ, M being AᵀA
sine      of the angle φ between x and the eigenvector, at most residual / (θ − λ)

What is proven: an eigenvalue is within `residual` of θ, and the bound of the sine, if λ is the next
eigenvalue that the starting vector has a part of (Davis and Kahan). What is not: λ itself is known
by an approximation, which cannot be above it. So that the bound is rather too large than too small,
λ is taken as high as its own residual allows, and while it is not below θ the sine is 1. Of a pair
that is not the first, the bound takes those before it for exact.

Scores are the entries of x as shares. Their error, where x is at an angle φ from its limit v:

    ‖x/‖x‖₁ − v/‖v‖₁‖₁ ≤ 2 √n ‖x − v‖₂ / ‖x‖₁,   ‖x − v‖₂ = 2 sin(φ/2)

y is never further from its limit than x is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import asin, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.adjacency import Adjacency, Vector
from minicrawl.opic.estimate import shares
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.scores import FURTHEST, Floats, Scores, share_done

Matrix = NDArray[np.float64]

ROOM = 1 << 28
"""Bytes that the search may take, but for so few that nothing is gained by them."""

_NOTHING = 1e-12  # an eigenvalue that is less than this share of the first is 0
_FEWEST_IMAGES, _MOST_IMAGES = 4, 16  # of fewer no good ones could be kept
_KEPT = 2  # approximations that stand for all images when there is no more room
_ROUNDING = 1e-14  # what is left by rounding, as a share of the largest eigenvalue
_CANCELLED = 1e-2  # where so little is left of a vector, rounding has tilted it
_NODES_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Approximation:
    """What is known after so many products."""

    products: int
    value: float
    residual: float
    sine: float
    is_all: bool
    """Nothing is left to find out of the starting vector."""
    vector: Callable[[], Vector]
    """The unit vector, until the next product is made."""


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
    tell: Progress = unreported,
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


def scores(x: Vector, sine: float, steps: int, tolerance: float) -> Scores:
    """The entries of a vector, or those of one sign, as shares."""
    bound = min(_spread(x) * chord(sine), FURTHEST)
    return Scores(
        values=shares(x), iterations=steps, error_bound=bound, converged=bound <= tolerance
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


# ---------------------------------------------------------------- Lanczos' method


def leading(
    product: Callable[[Vector], Vector],
    start: Vector,
    beside: Matrix | None = None,
    room: int = _MOST_IMAGES,
) -> Iterator[Approximation]:
    """Better and better approximations of the first eigenvector that `start` has a part of.

    It is sought among the vectors at right angles to the rows of `beside`, of unit length; `room`
    is for so many images. It ends where nothing is left to find out.
    """
    images = np.empty((room + 1, len(start)))
    np.divide(start, length(start) or 1.0, out=images[0])
    del start
    seen = np.zeros((room, room))  # M, as far as it goes on among the images
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
        del rest  # With millions of nodes each vector that nobody needs is missed.
        found = _approximation(images[:size], seen[:size, :size], left, products)
        yield found
        if found.is_all:
            return
        if size == room:
            size = _condense(images, seen)


def length(x: Vector) -> float:
    """The Euclidean length, without the threads of BLAS: they take more time than they save."""
    return sqrt(np.einsum("i,i->", x, x))


def upright(x: Vector, rows: Matrix) -> Vector:
    """What of `x` is at right angles to the rows, which are so to each other and of length 1."""
    rest = x.copy()
    _without(rest, rows)
    return rest


def room_in(size: int, nodes: int) -> int:
    """How many images so many bytes have room for; some there have to be."""
    return min(max(size // (8 * max(nodes, 1)) - 1, _FEWEST_IMAGES), _MOST_IMAGES)


def _without(rest: Vector, rows: Matrix) -> tuple[Vector, float]:
    """Take from `rest` its parts along the rows; what these were, and how long the rest is."""
    before = length(rest)
    parts = _taken(rest, rows)
    left = length(rest)
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
    """Let the best approximations take the place of all images; the last image is to go on from."""
    values, mixtures = np.linalg.eigh(seen)
    best = mixtures[:, : -_KEPT - 1 : -1].T
    for some in stretches(images.shape[1]):
        images[:_KEPT, some] = np.einsum("ki,ij->kj", best, images[:-1, some])
    images[_KEPT] = images[-1]
    seen[:] = 0.0
    seen[range(_KEPT), range(_KEPT)] = values[: -_KEPT - 1 : -1]
    return _KEPT


def stretches(nodes: int) -> Iterator[slice]:
    """Nodes side by side whose parts of all vectors stay in the cache."""
    return (slice(first, first + _NODES_AT_ONCE) for first in range(0, nodes, _NODES_AT_ONCE))
