"""TrustRank: trust flows along links from seeds that people have checked (Gyöngyi et al., 2004).

d        what pages begin with: each seed the same, and the others nothing.
split    a page shares c of its trust among its links: PageRank whose jumps lead to the seeds.
maximum  each link gets c of the page's trust in full, and a page has the best that it gets:
         t_j = max(d_j, c max t_i), which is c^k at k links from the nearest seed.
sum      each link gets c of it in full, and a page has the sum, but no more than a seed:
         t_j = min(1, d_j + c Σ t_i).

Passes: without a number, until nothing changes; 1 is what seeds give to the pages they link to.
After a number of passes, and of trust that is summed, the bound is 2: nothing is proven. Trust of
`maximum` and `sum` only grows and is bounded; what `maximum` stays at is the limit itself.

Distrust: where bad pages are named, distrust flows from these in the same way, but back along the
links, to the pages that link to them (Krishnan and Raj, 2006). What a page has in the end is its
share of all trust less its share of all distrust, or nothing. Where nothing is left of all trust,
all pages are alike.

Seeds are chosen by their rank: the best by inverse PageRank, by PageRank or as hubs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.adjacency import Adjacency, Weights
from minicrawl.graph.csr import Csr
from minicrawl.opic.estimate import shares
from minicrawl.progress import Progress, part, unreported
from minicrawl.ranks.hits.hits import hits
from minicrawl.ranks.scores import FURTHEST, Scores
from minicrawl.ranks.walks.pagerank import DAMPING, TOLERANCE, PageRankOptions, pagerank
from minicrawl.ranks.walks.variants import inverse_pagerank, teleport
from minicrawl.ranks.walks.walk import Dangling, walk_of

Trust = NDArray[np.float64]

_MOST_PASSES = 1000
_ROUNDING = 1e-12
_FINER = 1e-3  # of trust and distrust little may be left, whose error is a larger part of it
_HALF = 0.5


class Passing(StrEnum):
    """How a page passes on trust."""

    SPLIT = "split"
    MAXIMUM = "maximum"
    SUM = "sum"


SEEDS_BY: dict[str, Callable[[Csr, Weights | None], Scores]] = {
    "inverse": inverse_pagerank,
    "pagerank": pagerank,
    "hubs": lambda graph, weights: hits(graph, weights).hubs,
}


def chosen_seeds(graph: Csr, weights: Weights | None, by: str, count: int) -> list[int]:
    """The best nodes of a rank; of equal ones the first."""
    scores = SEEDS_BY[by](graph, weights).values
    best: list[int] = np.argsort(-scores, kind="stable")[:count].tolist()
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustOptions:
    """How trust is passed on, and how often: until it stays the same, or so many `passes`."""

    passing: Passing = Passing.SPLIT
    damping: float = DAMPING
    passes: int | None = None
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        if not 0 <= self.damping < 1:
            raise UsageError(f"damping is 0 or more and below 1, not {self.damping}")


def trust(
    graph: Csr,
    seeds: Sequence[int],
    weights: Weights | None = None,
    *,
    options: TrustOptions = TrustOptions(),
    tell: Progress = unreported,
) -> Scores:
    """How much trust each page has of all trust."""
    if not seeds:
        raise UsageError("trust begins at seeds: name at least one")
    beginning = teleport(graph.nodes, seeds)
    if options.passing is Passing.SPLIT and options.passes is None:
        usual = PageRankOptions(
            damping=options.damping, dangling=Dangling.TELEPORT, tolerance=options.tolerance
        )
        return pagerank(graph, weights, options=usual, teleport=beginning, tell=tell)
    passed_on = _passing_on(graph, weights, options, beginning)
    passes = _MOST_PASSES if options.passes is None else options.passes
    found, done, is_still = _after(beginning, passed_on, passes, tell)
    bound = _ROUNDING if is_still and options.passing is Passing.MAXIMUM else FURTHEST
    return Scores(
        values=found / found.sum(),
        iterations=done,
        error_bound=bound,
        converged=bound <= options.tolerance,
    )


def less_distrust(
    graph: Csr,
    seeds: Sequence[int],
    bad: Sequence[int],
    weights: Weights | None = None,
    *,
    options: TrustOptions = TrustOptions(),
    tell: Progress = unreported,
) -> Scores:
    """The trust of each page from `seeds`, less its distrust from `bad`."""
    if not {*seeds}.isdisjoint(bad):
        raise UsageError("a seed of trust is also named as bad: name it once")
    finer = replace(options, tolerance=options.tolerance * _FINER)
    good = trust(graph, seeds, weights, options=finer, tell=part(tell, 0, _HALF))
    turned = None if weights is None else graph.turned(weights)
    ill = trust(graph.reversed(), bad, turned, options=finer, tell=part(tell, _HALF, 1))
    left = np.maximum(good.values - ill.values, 0)
    error = 2 * (good.error_bound + ill.error_bound)
    bound = min(error / float(left.sum()), FURTHEST) if left.any() else FURTHEST
    return Scores(
        values=shares(left),
        iterations=good.iterations + ill.iterations,
        error_bound=bound,
        converged=bound <= options.tolerance,
    )


def _passing_on(
    graph: Csr, weights: Weights | None, options: TrustOptions, beginning: Trust
) -> Callable[[Trust], Trust]:
    """From the trust of all pages to that after one more pass."""
    damping = options.damping
    match options.passing:
        case Passing.SPLIT:
            walk = walk_of(graph, weights, damping, Dangling.TELEPORT, np.float64)
            return lambda t: beginning + walk.links.pushed(t * walk.per_weight)
        case Passing.MAXIMUM:
            return lambda t: np.maximum(beginning, _best_given(graph, damping * t))
        case Passing.SUM:
            links = Adjacency(graph)
            return lambda t: np.minimum(1.0, beginning + damping * links.pushed(t))
        case other:
            assert_never(other)


def _best_given(graph: Csr, trust: Trust) -> Trust:
    best = np.zeros(graph.nodes)
    np.maximum.at(best, graph.targets, trust[graph.sources()])
    return best


def _after(
    beginning: Trust, passed_on: Callable[[Trust], Trust], passes: int, tell: Progress
) -> tuple[Trust, int, bool]:
    """Trust after so many passes, or when it stays as it is; the passes; whether it stays."""
    trust = beginning
    for done in range(1, passes + 1):
        before, trust = trust, passed_on(trust)
        tell(done / passes)
        if np.array_equal(trust, before):
            return trust, done, True
    return trust, passes, False
