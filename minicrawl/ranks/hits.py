"""HITS: hubs, and the authorities they link to (Kleinberg, 1998).

Good hubs link to good authorities, good authorities are linked to by good hubs.

    a = Aᵀ h    the authority of a page is the sum of the hub values of the pages that link to it
    h = A a     the hub value of a page is the sum of the authorities of the pages it links to

Each iteration computes a, then h from the new a, both normalised to length 1. If all hubs are
equal at first, the iterations converge to the projection of this start on the leading
eigenvectors of AᵀA and AAᵀ. Each one multiplies the error by the ratio of the two largest
eigenvalues. Scores are shares that sum to 1; normalised to length 1, they are the values of the
literature. Without links, all nodes are equal.

hits        The limit, in fewer steps and with the bound derived above.
textbook    A fixed number of iterations. The distance from the limit is unknown: small changes of
            the scores prove nothing.

HITS gives everything to the first eigenvector. If the second eigenvalue is nearly as large, a few
links decide which of two communities gets it all. Two variants are stable (Ng, Zheng, Jordan,
2001):

randomised  A surfer goes forward along a link, then back along one, and so on. Before each move
            it restarts anywhere with probability ε, and also if there is no link to follow.
            The authority of a page is the probability that the surfer is there after a move
            forward, the hub value after a move back:

    a = ε/n + (1 − ε) (h, split among the links of each hub; evenly over all nodes without links)
    h = the same from a, against the links

            The contraction of two moves is (1 − ε)², which gives the bound of the power method.
            The bound of hubs is smaller by another factor 1 − ε.
subspace    The first K eigenvectors count, each weighted by the square of its eigenvalue λ:

    a_j = Σ λ_i² x_ij²,  h_j = Σ λ_i² y_ij²

            The sine of the angle between the computed space and that of the first K eigenvectors
            is at most residual / gap (Davis and Kahan), if the deflation is exact.
            Shares differ by at most 16 √K times this sine, over Σ λ_i² / λ_1². If the K-th
            eigenvalue equals the next one, the K-th vector is not unique, and no bound is given.
            If K exceeds the rank of A, all eigenvectors count. Later eigenvalues are closer
            together, so each vector takes more steps and adds less: K is at most 100.

Base set: a root set, the pages it links to, and some pages that link to it. Kleinberg (1998)
takes the 200 best results of a search and at most 50 pages that link to each, so that a page with
half the web linking to it does not add half the web. The paper leaves open which 50: here they
are the first ones of the graph. A base set has all links between its nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.graph.named_graph import NamedGraph
from minicrawl.graph.products import Adjacency, Vector
from minicrawl.graph.subgraphs import with_nodes
from minicrawl.opic.importance.estimate import shares
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.guards import first_of_each
from minicrawl.ranks.scores import FURTHEST, PowerMethod, Scores
from minicrawl.ranks.singular_vectors import ROUNDING, Pair, pair, pairs, scores, unit

TOLERANCE = 1e-8
"""Default tolerance of the error, summed over all nodes."""

MOST_DIMENSIONS = 100

_MEMORY_BYTES = 1 << 23  # for vectors: more memory saves few steps
MOST_STEPS = 1000
_FINER = 1e-2  # tolerance of each vector, relative to that of the space


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hits:
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
    singular = pair(
        links,
        links.pushed(np.ones(graph.nodes)),
        tolerance=tolerance,
        most_steps=most_steps,
        memory_bytes=_MEMORY_BYTES,
        tell=tell,
    )
    if not singular.value:
        return all_alike(graph.nodes)
    # The limit has no negative entries: negative entries of the approximation are rounding.
    authorities, hubs = (np.abs(x, out=x) for x in (singular.authorities, singular.hubs))
    return Hits(
        authorities=scores(authorities, singular.sine, singular.steps, tolerance),
        hubs=scores(hubs, singular.sine, singular.steps, tolerance),
    )


def textbook(
    graph: Csr,
    weights: Weights | None = None,
    *,
    rounds: int,
    tell: Progress = unreported,
) -> Hits:
    """Return the scores after a fixed number of iterations, at least 1."""
    links, hubs = Adjacency(graph, weights), np.ones(graph.nodes)
    for done in range(rounds):
        authorities = unit(links.pushed(hubs))
        hubs = unit(links.pulled(authorities))
        if not hubs.any():
            return all_alike(graph.nodes)
        tell((done + 1) / rounds)
    sides = (
        Scores(values=shares(x), iterations=rounds, error_bound=inf, converged=False)
        for x in (authorities, hubs)
    )
    return Hits(authorities=next(sides), hubs=next(sides))


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
    # One more pair, because the gap to its eigenvalue bounds the error of the space.
    sought = pairs(
        Adjacency(graph, weights),
        size + 1,
        rng,
        tolerance=tolerance * _FINER,
        most_steps=MOST_STEPS,
        tell=tell,
    )
    authorities, hubs, members = np.zeros(graph.nodes), np.zeros(graph.nodes), list[Pair]()
    for each in sought:
        if len(members) < size:
            part = (each.value / (members or [each])[0].value) ** 2
            authorities += part * each.authorities**2
            hubs += part * each.hubs**2
        members.append(each)
    if not members:
        return all_alike(graph.nodes)
    steps, bound = sum(each.steps for each in members), FURTHEST
    # The members have one pair beyond the subspace, if it exists.
    values = np.array([each.value for each in members])
    gap = values[:size][-1] - values[size] if len(values) > size else values[-1]
    residual = sqrt(sum(each.residual**2 for each in members[:size])) + ROUNDING * values[0]
    if gap > 0:
        parts = (values[:size] / values[0]) ** 2
        bound = float(16 * sqrt(size) * residual / gap / parts.sum())
    return Hits(
        authorities=Scores.within(shares(authorities), steps, bound, tolerance),
        hubs=Scores.within(shares(hubs), steps, bound, tolerance),
    )


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
        if len(self.nodes) == nodes:
            return scores
        values = np.zeros(nodes)
        values[self.nodes] = scores.values
        return replace(scores, values=values)


def base_set(named: NamedGraph, roots: Sequence[int], linking: int = LINKING) -> BaseSet:
    """Return the base set of `roots`, with at most `linking` pages that link to each."""
    graph = named.graph
    is_root = np.zeros(graph.nodes, dtype=np.bool_)
    is_root[np.asarray(roots, dtype=np.int64)] = True
    is_chosen = is_root.copy()
    is_chosen[graph.targets[np.repeat(is_root, graph.out_degrees())]] = True
    leads_to_root = np.flatnonzero(is_root[graph.targets])
    ends = graph.targets[leads_to_root].astype(np.int64)
    sources = graph.sources()[leads_to_root]
    is_chosen[sources[first_of_each(ends, linking)]] = True
    return BaseSet(with_nodes(named, is_chosen), np.flatnonzero(is_chosen))
