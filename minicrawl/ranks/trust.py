"""TrustRank: trust flows along links from seeds that people have checked (Gyöngyi et al., 2004).

d        initial trust: equal for all seeds, 0 for other pages.
split    a page splits c times its trust among its links: PageRank with jumps to the seeds.
maximum  each link passes on c times the page's trust, and the target takes the maximum: t_j =
         max(d_j, c max t_i), which is c^k at k links from the nearest seed.
sum      each link passes on c times the page's trust, and the target takes the sum, up to the
         trust of a seed: t_j = min(1, d_j + c Σ t_i).

In one pass, each page passes on trust along its links. Without a number of passes, `split` stops
at the tolerance, and the others when nothing changes, or after 1,000 passes. With `maximum` and
`sum`, trust only grows and is bounded. Only the fixpoint of `maximum` is known to be the limit
itself: for `sum`, and for scores that passes may still change, the bound is 2, as nothing is
proven.

Distrust flows from bad pages in the same way, but against the links, to the pages that link to
them (Krishnan and Raj, 2006). The score of a page is its share of all trust minus its share of
all distrust, but at least 0. If no trust is left at all, all pages are equal.

Seeds can be chosen by a rank: inverse PageRank, PageRank or hubs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.graph.products import Adjacency
from minicrawl.opic.importance.estimate import shares
from minicrawl.ports import Progress, part, unreported
from minicrawl.ranks.hits import hits
from minicrawl.ranks.pagerank import (
    DAMPING,
    TOLERANCE,
    Dangling,
    PageRankOptions,
    pagerank,
    walk_of,
)
from minicrawl.ranks.pagerank_variants import inverse_pagerank, teleport
from minicrawl.ranks.scores import FURTHEST, Scores

Trust = NDArray[np.float64]

_MOST_PASSES = 1000
_ROUNDING = 1e-12
_FINER = 1e-3  # a small difference of trust and distrust has a large relative error
_HALF = 0.5


class Passing(StrEnum):
    """Rule by which a page passes on trust."""

    SPLIT = "split"
    MAXIMUM = "maximum"
    SUM = "sum"


SEEDS_BY: dict[str, Callable[[Csr, Weights | None], Scores]] = {
    "inverse": inverse_pagerank,
    "pagerank": pagerank,
    "hubs": lambda graph, weights: hits(graph, weights).hubs,
}


def chosen_seeds(graph: Csr, weights: Weights | None, by: str, count: int) -> list[int]:
    """Return the best nodes of a rank; ties go to the first."""
    scores = SEEDS_BY[by](graph, weights).values
    best: list[int] = np.argsort(-scores, kind="stable")[:count].tolist()
    return best


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustOptions:
    """Parameters of trust; without `passes`, trust is passed on until it converges."""

    passing: Passing = Passing.SPLIT
    damping: float = DAMPING
    passes: int | None = None
    tolerance: float = TOLERANCE


def trust(
    graph: Csr,
    seeds: Sequence[int],
    weights: Weights | None = None,
    *,
    options: TrustOptions = TrustOptions(),
    tell: Progress = unreported,
) -> Scores:
    """Return each page's share of all trust."""
    if not seeds:
        raise UsageError("TrustRank needs at least one trusted page")
    initial = teleport(graph.nodes, seeds)
    if options.passing is Passing.SPLIT and options.passes is None:
        usual = PageRankOptions(
            damping=options.damping, dangling=Dangling.TELEPORT, tolerance=options.tolerance
        )
        return pagerank(graph, weights, options=usual, teleport=initial, tell=tell)
    passed_on = _passing_on(graph, weights, options, initial)
    passes = _MOST_PASSES if options.passes is None else options.passes
    amounts, done, is_still = initial, 0, False
    while done < passes and not is_still:
        before, amounts = amounts, passed_on(amounts)
        done += 1
        tell(done / passes)
        is_still = np.array_equal(amounts, before)
    bound = _ROUNDING if is_still and options.passing is Passing.MAXIMUM else FURTHEST
    return Scores.within(amounts / amounts.sum(), done, bound, options.tolerance)


def less_distrust(
    graph: Csr,
    seeds: Sequence[int],
    bad: Sequence[int],
    weights: Weights | None = None,
    *,
    options: TrustOptions = TrustOptions(),
    tell: Progress = unreported,
) -> Scores:
    """Return the trust of each page from `seeds`, minus its distrust from `bad`."""
    if not {*seeds}.isdisjoint(bad):
        raise UsageError("a trusted page is also named as bad: remove it from one of the lists")
    finer = replace(options, tolerance=options.tolerance * _FINER)
    good = trust(graph, seeds, weights, options=finer, tell=part(tell, 0, _HALF))
    turned = None if weights is None else graph.turned(weights)
    # Against the links: a page answers for the pages that it links to, not for those that link
    # to it.
    distrust = trust(graph.reversed(), bad, turned, options=finer, tell=part(tell, _HALF, 1))
    left = np.maximum(good.values - distrust.values, 0)
    error = 2 * (good.error_bound + distrust.error_bound)
    bound = error / float(left.sum()) if left.any() else FURTHEST
    iterations = good.iterations + distrust.iterations
    return Scores.within(shares(left), iterations, bound, options.tolerance)


def _passing_on(
    graph: Csr, weights: Weights | None, options: TrustOptions, initial: Trust
) -> Callable[[Trust], Trust]:
    """Return the function that makes one pass: trust before -> trust after."""
    damping = options.damping
    match options.passing:
        case Passing.SPLIT:
            walk = walk_of(graph, weights, damping, Dangling.TELEPORT, np.float64)
            return lambda t: initial + walk.links.pushed(t * walk.per_weight)
        case Passing.MAXIMUM:

            def with_largest_given(t: Trust) -> Trust:
                best = initial.copy()
                np.maximum.at(best, graph.targets, damping * t[graph.sources()])
                return best

            return with_largest_given
        case Passing.SUM:
            links = Adjacency(graph)
            return lambda t: np.minimum(1.0, initial + damping * links.pushed(t))
        case other:
            assert_never(other)
