"""HITS: good hubs link to good authorities, good authorities are linked to by good hubs.

    a = Aᵀ h    the authority of a page is what the hubs that link to it have (Kleinberg, 1998)
    h = A a     a page is as good a hub as the authorities that it links to

Each iteration computes first a, then h of the new a, both brought to length 1. Begun with all hubs
alike, the iterations come to the part of that beginning in the leading eigenvectors of AᵀA and AAᵀ;
the error falls by the ratio of the two largest eigenvalues. Scores are shares that sum to 1.
Brought to length 1 they are the values of the literature. Where there is no link, all nodes are
alike.

hits        The limit, in fewer steps and with the bound that `singular` derives.
textbook    Just so many iterations. How far they are from the limit is not known: that they change
            little proves nothing.

HITS hands everything to the first eigenvector. Where the second eigenvalue is nearly as large, a
few links decide which of two communities gets all. Two forms are stable (Ng, Zheng, Jordan, 2001):

randomised  A surfer goes forward along a link, then back along one, and so on. Before each move it
            starts anew anywhere with probability ε, and where there is no link to go along as well.
            Authorities are where it is after moves forward, hubs after moves back.
    a = ε/n + (1 − ε) (what hubs share among their links, and 1/n of what those without links have)
    h = the same of a, along the links backwards
            Two moves contract by (1 − ε)², which gives the bound of the power method; hubs are
            nearer by 1 − ε still.
subspace    The first K eigenvectors count, by the squares of their eigenvalues λ.
    a_j = Σ λ_i² x_ij²,  h_j = Σ λ_i² y_ij²
            The sine of the angle between the space found and that of the first K is at most that of
            residuals and gap (Davis and Kahan), up to the deflation of `singular`; shares are 16 √K
            of it away, over Σ λ_i² / λ_1². If the K-th eigenvalue is as large as the next one, the
            K-th vector is one of many, and no bound is claimed. Where K is more than the rank of A,
            all eigenvectors count. Further down eigenvalues lie ever closer together: each vector
            takes more steps, and adds less. So K is at most 100.

HITS is asked about a base set: a root set, what that links to, and some of what links to it.
Kleinberg (1998) begins with the 200 best results of a search and takes at most 50 pages that link
to each of them, so that a page which half the web links to does not bring half the web along. The
paper does not say which 50: here they are those that come first in the graph.

Law: a base set is a part of the graph with all links between its nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Adjacency, Vector, Weights
from minicrawl.graph.csr import Csr
from minicrawl.graph.named import NamedGraph
from minicrawl.graph.parts import with_nodes
from minicrawl.opic.estimate import shares
from minicrawl.progress import Progress, unreported
from minicrawl.ranks.hits.guards import first_of_each
from minicrawl.ranks.hits.singular import Pair, pair, pairs, scores, unit
from minicrawl.ranks.power import PowerMethod
from minicrawl.ranks.scores import FURTHEST, Floats, Scores

TOLERANCE = 1e-8
"""The error that will do, summed over all nodes."""

MOST_DIMENSIONS = 100
"""Of a subspace."""

_ROOM = 1 << 23  # bytes: less than a large graph takes, as more room saves few steps
_MOST_STEPS = 1000
_FINER = 1e-2  # so much better than their space are the vectors to be known
_ROUNDING = 1e-14  # as a share of the first eigenvalue


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
    tell: Progress = unreported,
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
        authorities=scores(authorities, found.sine, found.steps, tolerance),
        hubs=scores(hubs, found.sine, found.steps, tolerance),
    )


def textbook(
    graph: Csr,
    weights: Weights | None = None,
    *,
    rounds: int,
    start: Floats | None = None,
    tell: Progress = unreported,
) -> Hits:
    """What just so many iterations come to; 1 at least."""
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


def randomised(
    graph: Csr,
    weights: Weights | None = None,
    *,
    anew: float = 0.15,
    tolerance: float = TOLERANCE,
    most_iterations: int = 10_000,
    tell: Progress = unreported,
) -> Hits:
    """Where the surfer is in the long run; `anew` is ε."""
    if not 0 < anew <= 1:
        raise UsageError(f"the surfer starts anew with a probability above 0, up to 1, not {anew}")
    if not graph.nodes:
        return all_alike(0)
    links = Adjacency(graph, weights)
    forward = _move(links.pushed, links.pulled(np.ones(graph.nodes)), anew)
    back = _move(links.pulled, links.pushed(np.ones(graph.nodes)), anew)
    authorities = hubs = np.full(graph.nodes, 1 / graph.nodes)

    def step() -> float:
        nonlocal authorities, hubs
        before, authorities = authorities, forward(hubs)
        hubs = back(authorities)
        return float(np.abs(authorities - before).sum())

    method = PowerMethod(
        contraction=(1 - anew) ** 2, tolerance=tolerance, most_iterations=most_iterations
    )
    iterations, (bound,) = method.run(step, tell)
    return Hits(
        authorities=_reached(authorities, iterations, bound, tolerance),
        hubs=_reached(hubs, iterations, bound * (1 - anew), tolerance),
    )


def _move(
    along: Callable[[Vector], Vector], weight: Vector, anew: float
) -> Callable[[Vector], Vector]:
    """One move; `weight` is that of all links by which the surfer can leave each node."""
    share = 1 / np.where(weight == 0, np.inf, weight)

    def move(x: Vector) -> Vector:
        moved = along((1 - anew) * share * x)
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
    """Authorities and hubs by the first `size` eigenvectors together."""
    if not 1 <= size <= MOST_DIMENSIONS:
        raise UsageError(f"a subspace has 1 to {MOST_DIMENSIONS} dimensions, not {size}")
    # One more: how far its eigenvalue is from those before says how well the space is known.
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
        authorities=_reached(shares(authorities), steps, bound, tolerance),
        hubs=_reached(shares(hubs), steps, bound, tolerance),
    )


def _subspace_bound(found: list[Pair], size: int) -> float:
    """Of shares; `found` are the pairs, one more than the subspace has if there is one more."""
    values = np.array([each.value for each in found])
    gap = values[:size][-1] - values[size] if len(values) > size else values[-1]
    residual = sqrt(sum(each.residual**2 for each in found[:size])) + _ROUNDING * values[0]
    if gap <= 0:
        return FURTHEST
    parts = (values[:size] / values[0]) ** 2
    return min(float(16 * sqrt(size) * residual / gap / parts.sum()), FURTHEST)


def _reached(x: Vector, steps: int, bound: float, tolerance: float) -> Scores:
    return Scores(values=x, iterations=steps, error_bound=bound, converged=bound <= tolerance)


# ---------------------------------------------------------------- base sets


ROOTS = 200
"""How many pages a search gives, by default."""
LINKING = 50
"""How many pages that link to a root are taken, by default."""


@dataclass(frozen=True, slots=True, eq=False)
class BaseSet:
    """A graph of its own, and the nodes that it is made of."""

    named: NamedGraph
    nodes: NDArray[np.int64]

    def over_all(self, scores: Scores, nodes: int) -> Scores:
        """Its scores for a graph of so many nodes: those outside have none."""
        values = np.zeros(nodes)
        values[self.nodes] = scores.values
        return replace(scores, values=values)


def base_set(named: NamedGraph, roots: Sequence[int], linking: int = LINKING) -> BaseSet:
    """What is grown from `roots`, with at most so many pages that link to each."""
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
