"""HITS: hubs, and the authorities they link to (Kleinberg, 1998).

singular vectors  pairs of hubs and authorities, of which HITS is the first
hits              the rank, two variants that are stable under small changes of the graph, and the
                  base set of a query
communities       further groups of hubs and authorities, which the largest group hides in HITS
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import asin, inf, sin, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Adjacency, Csr, NamedGraph, Vector, Weights, with_links, with_nodes
from minicrawl.opic.estimate import shares
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.scores import FURTHEST, Floats, PowerMethod, Scores, share_done
from minicrawl.ranks.sites import first_of_each

# ================================================================ singular vectors
#
# Pairs of authorities and hubs: the singular vectors of a link matrix A, largest first.
#
#     A x = σ y,  Aᵀ y = σ x,  AᵀA x = σ² x,  ‖x‖ = ‖y‖ = 1
#
# The first pair has no negative entries. Every other pair has entries of both signs, and the sign
# of the pair is arbitrary: here the largest entry of x is positive. Pairs with the same σ are one
# of many bases of the same space.
#
# Lanczos' method finds the pairs by products with AᵀA: after k products, it has the best
# approximation in the span of the starting vector and its k - 1 images. That takes a half to a
# tenth of the products of the power method, which uses the last image only. When the memory for
# images is full, the best two approximations and the last image replace them all.
#
# value     θ, the approximation of the largest eigenvalue; never above the true one
# residual  ‖M x − θ x‖ for the unit vector x that belongs to θ, with M = AᵀA
# sine      of the angle φ between x and the eigenvector, at most residual / (θ − λ)
#
# Proven: an eigenvalue is within `residual` of θ, and the bound of the sine holds if λ is the next
# eigenvalue that the starting vector has a component of (Davis and Kahan). Not proven: λ is known
# only by an approximation, which is never above it. To be safe, the approximation is raised by its
# own residual; if it is then not below θ, the sine is 1. For later pairs, the bound assumes that
# the pairs before them are exact.
#
# Scores are the entries of x as shares. Their error, with x at an angle φ from its limit v:
#
#     ‖x/‖x‖₁ − v/‖v‖₁‖₁ ≤ 2 √n ‖x − v‖₂ / ‖x‖₁,   ‖x − v‖₂ = 2 sin(φ/2)
#
# y is never further from its limit than x is.

Matrix = NDArray[np.float64]

MEMORY_BYTES = 1 << 28
"""Default memory for the images of a search. A minimum of images is always kept."""

_NOTHING = 1e-12  # eigenvalues below this share of the first count as 0
_FEWEST_IMAGES, _MOST_IMAGES = 4, 16  # with fewer, the search would keep none of what it learned
_KEPT = 2  # approximations that replace all images when memory is full
_ROUNDING = 1e-14  # rounding error, relative to the largest eigenvalue
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
    for found in approximations:
        tell(share_done(found.sine, tolerance))
        is_last = found.products >= most_steps
        apart = chord(found.sine)
        if is_last or (
            spread * apart <= tolerance and _spread(found.vector()) * apart <= tolerance
        ):
            candidate = _pair(links, found)
            spread = max(_spread(candidate.authorities), _spread(candidate.hubs))
            if is_last or spread * apart <= tolerance:
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
    """Yield the first `count` pairs by deflation, or all if there are fewer."""
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
        start = orthogonal_part(rng.standard_normal(nodes), known)


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
        rest = product(images[size])
        parts, left = _without(rest, images[: size + 1])
        if known is not None:
            left = _without(rest, known)[1]
        projected[size, : size + 1] = projected[: size + 1, size] = parts
        size += 1
        np.divide(rest, left or 1.0, out=images[size])
        del rest  # with millions of nodes, each unused vector matters
        found = _approximation(images[:size], projected[:size, :size], left, products)
        yield found
        if found.is_all:
            return
        if size == most_images:
            size = _condense(images, projected)


def length(x: Vector) -> float:
    """Return the Euclidean length, without BLAS threads: they cost more time than they save."""
    return sqrt(np.einsum("i,i->", x, x))


def orthogonal_part(x: Vector, rows: Matrix) -> Vector:
    """Return the component of `x` that is orthogonal to the orthonormal rows."""
    rest = x.copy()
    _without(rest, rows)
    return rest


def images_within(memory_bytes: int, nodes: int) -> int:
    """Return how many images fit into the memory, within limits."""
    return min(max(memory_bytes // (8 * max(nodes, 1)) - 1, _FEWEST_IMAGES), _MOST_IMAGES)


def _without(rest: Vector, rows: Matrix) -> tuple[Vector, float]:
    """Remove the components of `rest` along the rows; return them and the remaining length."""
    before = length(rest)
    parts = _taken(rest, rows)
    left = length(rest)
    # After one subtraction, rounding may leave components along the rows that are large compared
    # with the rest. A second one removes these, unless only rounding is left.
    if left < _CANCELLED * before:
        parts += _taken(rest, rows)
        left = length(rest)
    return parts, left


def _taken(rest: Vector, rows: Matrix) -> Vector:
    parts: Vector = np.einsum("ij,j->i", rows, rest)
    for some in stretches(len(rest)):
        rest[some] -= np.einsum("i,ij->j", parts, rows[:, some])
    return parts


def _approximation(images: Matrix, projected: Matrix, left: float, products: int) -> Approximation:
    values, eigenvectors = np.linalg.eigh(projected)
    residuals = left * np.abs(eigenvectors[-1])
    value, residual = float(values[-1]), float(residuals[-1])
    is_all = left <= _ROUNDING * value or value <= 0
    return Approximation(
        products=products,
        value=value,
        residual=residual,
        sine=_ROUNDING if is_all else _sine(values, residuals),
        is_all=is_all,
        vector=lambda: np.einsum("i,ij->j", eigenvectors[:, -1], images),
    )


def _sine(values: Vector, residuals: Vector) -> float:
    if len(values) == 1:
        return 1.0
    gap = values[-1] - (values[-2] + residuals[-2])
    return min(float(residuals[-1] / gap), 1.0) if gap > 0 else 1.0


def _condense(images: Matrix, projected: Matrix) -> int:
    """Replace all images by the best approximations and the last image; return their number."""
    values, eigenvectors = np.linalg.eigh(projected)
    # The second eigenvector slows the search down, so its approximation is kept too.
    best = eigenvectors[:, : -_KEPT - 1 : -1].T
    for some in stretches(images.shape[1]):
        images[:_KEPT, some] = np.einsum("ki,ij->kj", best, images[:-1, some])
    images[_KEPT] = images[-1]
    projected[:] = 0.0
    projected[range(_KEPT), range(_KEPT)] = values[: -_KEPT - 1 : -1]
    return _KEPT


def stretches(nodes: int) -> Iterator[slice]:
    """Yield slices of nodes, so short that their entries of all vectors fit into the cache."""
    return (slice(first, first + _NODES_AT_ONCE) for first in range(0, nodes, _NODES_AT_ONCE))


# ================================================================ hits
#
# HITS: good hubs link to good authorities, good authorities are linked to by good hubs.
#
#     a = Aᵀ h    the authority of a page is the sum of the hub values of the pages that link to it
#     h = A a     the hub value of a page is the sum of the authorities of the pages it links to
#
# Each iteration computes a, then h from the new a, both normalised to length 1. If all hubs are
# equal at first, the iterations converge to the projection of this start on the leading
# eigenvectors of AᵀA and AAᵀ. Each one multiplies the error by the ratio of the two largest
# eigenvalues. Scores are shares that sum to 1; normalised to length 1, they are the values of the
# literature. Without links, all nodes are equal.
#
# hits        The limit, in fewer steps and with the bound derived above.
# textbook    A fixed number of iterations. The distance from the limit is unknown: small changes of
#             the scores prove nothing.
#
# HITS gives everything to the first eigenvector. If the second eigenvalue is nearly as large, a few
# links decide which of two communities gets it all. Two variants are stable (Ng, Zheng, Jordan,
# 2001):
#
# randomised  A surfer goes forward along a link, then back along one, and so on. Before each move
#             it restarts anywhere with probability ε, and also if there is no link to follow.
#             The authority of a page is the probability that the surfer is there after a move
#             forward, the hub value after a move back:
#
#     a = ε/n + (1 − ε) (h, split among the links of each hub; evenly over all nodes without links)
#     h = the same from a, against the links
#
#             The contraction of two moves is (1 − ε)², which gives the bound of the power method.
#             The bound of hubs is smaller by another factor 1 − ε.
# subspace    The first K eigenvectors count, each weighted by the square of its eigenvalue λ:
#
#     a_j = Σ λ_i² x_ij²,  h_j = Σ λ_i² y_ij²
#
#             The sine of the angle between the computed space and that of the first K eigenvectors
#             is at most residual / gap (Davis and Kahan), if the deflation is exact.
#             Shares differ by at most 16 √K times this sine, over Σ λ_i² / λ_1². If the K-th
#             eigenvalue equals the next one, the K-th vector is not unique, and no bound is given.
#             If K exceeds the rank of A, all eigenvectors count. Later eigenvalues are closer
#             together, so each vector takes more steps and adds less: K is at most 100.
#
# Base set: a root set, the pages it links to, and some pages that link to it. Kleinberg (1998)
# takes the 200 best results of a search and at most 50 pages that link to each, so that a page with
# half the web linking to it does not add half the web. The paper leaves open which 50: here they
# are the first ones of the graph. A base set has all links between its nodes.

TOLERANCE = 1e-8
"""Default tolerance of the error, summed over all nodes."""

MOST_DIMENSIONS = 100
"""Most dimensions of a subspace."""

_MEMORY_BYTES = 1 << 23  # for vectors: more memory saves few steps
_MOST_STEPS = 1000
_FINER = 1e-2  # tolerance of each vector, relative to that of the space


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hits:
    """Authorities and hubs of a graph."""

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
    tell: Progress = unreported,
) -> Hits:
    """Return the limit, or the approximation after `most_steps`."""
    links = Adjacency(graph, weights)
    found = pair(
        links,
        links.pushed(np.ones(graph.nodes)),
        tolerance=tolerance,
        most_steps=most_steps,
        memory_bytes=_MEMORY_BYTES,
        tell=tell,
    )
    if not found.value:
        return all_alike(graph.nodes)
    # The limit has no negative entries: negative entries of the approximation are rounding.
    authorities, hubs = (np.abs(x, out=x) for x in (found.authorities, found.hubs))
    return Hits(
        authorities=scores(authorities, found.sine, found.steps, tolerance),
        hubs=scores(hubs, found.sine, found.steps, tolerance),
    )


def textbook(
    graph: Csr,
    weights: Weights | None = None,
    *,
    rounds: int,
    tell: Progress = unreported,
) -> Hits:
    """Return the scores after a fixed number of iterations, at least 1."""
    if rounds < 1:
        raise UsageError(f"HITS needs at least 1 round, not {rounds}")
    links, hubs = Adjacency(graph, weights), np.ones(graph.nodes)
    for done in range(rounds):
        authorities = unit(links.pushed(hubs))
        hubs = unit(links.pulled(authorities))
        if not hubs.any():
            return all_alike(graph.nodes)
        tell((done + 1) / rounds)
    return Hits(authorities=_without_bound(authorities, rounds), hubs=_without_bound(hubs, rounds))


def _without_bound(x: Vector, rounds: int) -> Scores:
    return Scores(values=shares(x), iterations=rounds, error_bound=inf, converged=False)


def all_alike(nodes: int) -> Hits:
    """Return equal scores, for a graph without links."""
    alike = Scores.exact(shares(np.zeros(nodes)))
    return Hits(authorities=alike, hubs=alike)


def randomised(
    graph: Csr,
    weights: Weights | None = None,
    *,
    restart: float = 0.15,
    tolerance: float = TOLERANCE,
    most_iterations: int = 10_000,
    tell: Progress = unreported,
) -> Hits:
    """Return the limit of randomised HITS; `restart` is ε."""
    if not 0 < restart <= 1:
        raise UsageError(f"a restart probability must be above 0 and at most 1, not {restart}")
    if not graph.nodes:
        return all_alike(0)
    links = Adjacency(graph, weights)
    forward = _move(links.pushed, links.pulled(np.ones(graph.nodes)), restart)
    back = _move(links.pulled, links.pushed(np.ones(graph.nodes)), restart)
    authorities = hubs = np.full(graph.nodes, 1 / graph.nodes)

    def step() -> float:
        nonlocal authorities, hubs
        before, authorities = authorities, forward(hubs)
        hubs = back(authorities)
        return float(np.abs(authorities - before).sum())

    method = PowerMethod(
        contraction=(1 - restart) ** 2, tolerance=tolerance, most_iterations=most_iterations
    )
    iterations, (bound,) = method.run(step, tell)
    return Hits(
        authorities=Scores.within(authorities, iterations, bound, tolerance),
        hubs=Scores.within(hubs, iterations, bound * (1 - restart), tolerance),
    )


def _move(
    along: Callable[[Vector], Vector], weight: Vector, restart: float
) -> Callable[[Vector], Vector]:
    """Return the function that makes one move; `weight` is the sum over the links of each node."""
    share = 1 / np.where(weight == 0, np.inf, weight)

    def move(x: Vector) -> Vector:
        moved = along((1 - restart) * share * x)
        moved += (1 - moved.sum()) / len(x)
        return moved

    return move


def subspace(
    graph: Csr,
    weights: Weights | None = None,
    *,
    rng: np.random.Generator,
    size: int = 10,
    tolerance: float = TOLERANCE,
    tell: Progress = unreported,
) -> Hits:
    """Return the scores of subspace HITS with the first `size` eigenvectors."""
    if not 1 <= size <= MOST_DIMENSIONS:
        raise UsageError(f"a subspace must have 1 to {MOST_DIMENSIONS} dimensions, not {size}")
    # One more pair, because the gap to its eigenvalue bounds the error of the space.
    sought = pairs(
        Adjacency(graph, weights),
        size + 1,
        rng,
        tolerance=tolerance * _FINER,
        most_steps=_MOST_STEPS,
        tell=tell,
    )
    authorities, hubs, found = np.zeros(graph.nodes), np.zeros(graph.nodes), list[Pair]()
    for each in sought:
        if len(found) < size:
            part = (each.value / (found or [each])[0].value) ** 2
            authorities += part * each.authorities**2
            hubs += part * each.hubs**2
        found.append(each)
    if not found:
        return all_alike(graph.nodes)
    steps, bound = sum(each.steps for each in found), _subspace_bound(found, size)
    return Hits(
        authorities=Scores.within(shares(authorities), steps, bound, tolerance),
        hubs=Scores.within(shares(hubs), steps, bound, tolerance),
    )


def _subspace_bound(found: list[Pair], size: int) -> float:
    """Return the error bound; `found` has one pair beyond the subspace, if it exists."""
    values = np.array([each.value for each in found])
    gap = values[:size][-1] - values[size] if len(values) > size else values[-1]
    residual = sqrt(sum(each.residual**2 for each in found[:size])) + _ROUNDING * values[0]
    if gap <= 0:
        return FURTHEST
    parts = (values[:size] / values[0]) ** 2
    return float(16 * sqrt(size) * residual / gap / parts.sum())


# ---------------------------------------------------------------- base sets


ROOTS = 200
"""Default number of pages taken from a search."""
LINKING = 50
"""Default number of linking pages taken for each root."""


@dataclass(frozen=True, slots=True, eq=False)
class BaseSet:
    """A base set as a graph, and its nodes in the whole graph."""

    named: NamedGraph
    nodes: NDArray[np.int64]

    def over_all(self, scores: Scores, nodes: int) -> Scores:
        """Return the scores for the whole graph of `nodes` nodes, with 0 outside the base set."""
        values = np.zeros(nodes)
        values[self.nodes] = scores.values
        return replace(scores, values=values)


def base_set(named: NamedGraph, roots: Sequence[int], linking: int = LINKING) -> BaseSet:
    """Return the base set of `roots`, with at most `linking` pages that link to each."""
    is_chosen = _grown(named.graph, np.asarray(roots, dtype=np.int64), linking)
    return BaseSet(with_nodes(named, is_chosen), np.flatnonzero(is_chosen))


def _grown(graph: Csr, roots: NDArray[np.int64], linking: int) -> NDArray[np.bool_]:
    is_root = np.zeros(graph.nodes, dtype=np.bool_)
    is_root[roots] = True
    is_chosen = is_root.copy()
    is_chosen[graph.targets[np.repeat(is_root, graph.out_degrees())]] = True
    leads_to_root = np.flatnonzero(is_root[graph.targets])
    ends = graph.targets[leads_to_root].astype(np.int64)
    sources = graph.sources()[leads_to_root]
    is_chosen[sources[first_of_each(ends, linking)]] = True
    return is_chosen


# ================================================================ communities
#
# Communities: the group of hubs and authorities that HITS finds, and further ones.
#
# deflation    The n-th community comes from the n-th eigenvectors of AᵀA and AAᵀ, orthogonal to all
#              before. From the second on, they have entries of both signs: two communities with
#              few links between them (Kleinberg, 1998).
# destroying   The n-th community is what HITS finds without the links to the largest authorities
#              of the communities before.
#
# The scores of a community sum to 1, with the bound of singular vectors.

Sign = Literal["+", "-"]

TOLERANCE_COMMUNITIES = 1e-6
"""Tolerance. Later eigenvalues are close together, so a smaller error would take long."""

_FINER_COMMUNITIES = 0.1  # the entries of one sign are less precise than the whole vector
_ROUNDING_COMMUNITIES = 1e-9  # smaller entries of a unit vector have no reliable sign
_LEAST_AUTHORITY = 1e-6  # relative to the best: other pages keep the links to them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Community:
    """The n-th community and the sign of its entries, always + with `destroying`."""

    number: int
    sign: Sign
    hits: Hits


def by_deflation(
    graph: Csr,
    weights: Weights | None = None,
    *,
    count: int,
    rng: np.random.Generator,
    tell: Progress = unreported,
) -> Iterator[Community]:
    """Yield the communities of the first `count` eigenvectors; fewer if there are no more."""
    found = pairs(
        Adjacency(graph, weights),
        count,
        rng,
        tolerance=TOLERANCE_COMMUNITIES * _FINER_COMMUNITIES,
        most_steps=_MOST_STEPS,
        tell=tell,
    )
    for number, each in enumerate(found, start=1):
        yield from _by_sign(number, each)


def by_destroying(
    graph: Csr,
    weights: Weights | None = None,
    *,
    count: int,
    largest: int = 10,
    tell: Progress = unreported,
) -> Iterator[Community]:
    """Yield up to `count` communities; after each, drop links to its `largest` authorities."""
    for number in range(1, count + 1):
        if not graph.edges:
            return
        found = hits(graph, weights, tolerance=TOLERANCE_COMMUNITIES, most_steps=_MOST_STEPS)
        yield Community(number=number, sign="+", hits=found)
        values = found.authorities.values
        # The pages themselves stay: they may be hubs of the next community.
        best = np.argsort(-values, kind="stable")[:largest]
        is_left = ~np.isin(graph.targets, best[values[best] > _LEAST_AUTHORITY * values.max()])
        graph = with_links(graph, is_left)
        weights = None if weights is None else weights[is_left]
        tell(number / count)


def _by_sign(number: int, found: Pair) -> Iterator[Community]:
    signs: tuple[tuple[Sign, int], ...] = (("+", 1), ("-", -1))
    for sign, factor in signs:
        authorities = np.maximum(factor * found.authorities, 0)
        hubs = np.maximum(factor * found.hubs, 0)
        if authorities.max() > _ROUNDING_COMMUNITIES and (number > 1 or factor > 0):
            both = (
                scores(x, found.sine, found.steps, TOLERANCE_COMMUNITIES)
                for x in (authorities, hubs)
            )
            yield Community(
                number=number, sign=sign, hits=Hits(authorities=next(both), hubs=next(both))
            )
