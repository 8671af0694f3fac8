"""TrustRank: trust flows along links from seeds that people have checked (Gyöngyi et al., 2004).

d        initial trust: equal for all seeds, 0 for other pages.
split    a page splits c times its trust among its links: PageRank with jumps to the seeds.
maximum  each link passes on c times the page's trust, and the target takes the maximum:
         t_j = max(d_j, c max t_i), which is c^k at k links from the nearest seed.
sum      each link passes on c times the page's trust, and the target takes the sum, up to the trust
         of a seed: t_j = min(1, d_j + c Σ t_i).

In one pass, each page passes on trust along its links. Without a number of passes, `split` stops at
the tolerance, and the others when nothing changes, or after 1,000 passes. With `maximum` and `sum`,
trust only grows and is bounded. Only the fixpoint of `maximum` is known to be the limit itself: for
`sum`, and for scores that passes may still change, the bound is 2, as nothing is proven.

Distrust flows from bad pages in the same way, but against the links, to the pages that link to them
(Krishnan and Raj, 2006). The score of a page is its share of all trust minus its share of all
distrust, but at least 0. If no trust is left at all, all pages are equal.

Seeds can be chosen by a rank: inverse PageRank, PageRank or hubs.

Variants of PageRank are in this module too.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Adjacency, Csr, Vector, Weights, links_between, with_pages
from minicrawl.graph.distances import linked_from
from minicrawl.opic.estimate import shares
from minicrawl.progress import Progress, part, unreported
from minicrawl.ranks.hits import hits
from minicrawl.ranks.pagerank import (
    DAMPING,
    TOLERANCE,
    USUAL,
    Dangling,
    PageRankOptions,
    pagerank,
    pageranks,
    walk_of,
)
from minicrawl.ranks.scores import FURTHEST, Scores
from minicrawl.web.words import parts_by_counts

# ================================================================ variants
#
# Variants of PageRank: reversed, by topic, with jumps to recent pages, without dangling pages.
#
# Inverse PageRank is PageRank of the reversed links: a node ranks high if it leads to many nodes.
#
# Topic-specific PageRank has a rank for each topic, mixed for each query (Haveliwala, 2002). A
# query weights topics by the likelihood of its words in each (`parts_by_words`), with 1 added to
# every count, so that no word excludes a topic:
#
#     part(T) ~ Π over the query's words w of (count of w in T + 1) / (words in T + distinct words)
#
# If dangling mass is spread uniformly, PageRank is linear in the targets of jumps: the mixture of
# the topics' ranks is the rank of the mixture of their jumps. The error of a mixture is at most the
# same mixture of their errors.
#
# Jumps can favour recently changed nodes (`favouring_recent`): the weight of a node halves for each
# half-life since its last change. Nodes of unknown age get the mean of the others.
#
# Dangling pages may be removed and put back at the end (Page, Brin et al., 1998). Their removal
# takes links from other pages, which may dangle then, so it goes in rounds. PageRank is computed
# for the nodes that stay. The nodes removed last come back first, and each gets its score once:
#
#     y(t) = (1 - d) / m + d * sum of w(s, t) y(s) / w(s)   over all links s -> t
#
# d       damping; the nodes that stay sum to 1 before, and everything is scaled to 1 at the end
# m       number of nodes that stay; number of all nodes if none does
# w(s)    weight of all links of s, including those to removed nodes
#
# Nodes that stay keep their proportions. All links to a node come from nodes of later rounds, so
# its inflow is known when it comes back.

_WORD = re.compile(r"[^\W_]+")
Nodes = NDArray[np.intp]


def inverse_pagerank(
    graph: Csr,
    weights: Weights | None = None,
    *,
    options: PageRankOptions = USUAL,
    tell: Progress = unreported,
) -> Scores:
    """Return the PageRank of the reversed graph."""
    turned = None if weights is None else graph.turned(weights)
    return pagerank(graph.reversed(), turned, options=options, tell=tell)


def without_dangling(
    graph: Csr,
    weights: Weights | None = None,
    *,
    rounds: int,
    options: PageRankOptions = USUAL,
    tell: Progress = unreported,
) -> Scores:
    """Return PageRank with dangling pages removed for up to `rounds` rounds, then put back."""
    if options.damping is None:
        raise UsageError("--remove-dangling needs --damping, which --one-more-link replaces")
    backwards = graph.reversed()
    removed = _removed_in_rounds(graph, backwards, rounds)
    stays = np.ones(graph.nodes, dtype=np.bool_)
    for nodes in removed:
        stays[nodes] = False
    part = with_pages(graph, stays)
    kept = None if weights is None else weights[links_between(graph, stays)]
    # The returning nodes multiply an error of this part, and the final scaling doubles it.
    passed_on = 2 / (1 - options.damping)
    finer = replace(options, tolerance=options.tolerance / passed_on)
    found = pagerank(part, kept, options=finer, tell=tell)
    values = np.zeros(graph.nodes)
    values[stays] = found.values
    jump = (1 - options.damping) / (part.nodes or max(graph.nodes, 1))
    given = _Given(graph, backwards, weights)
    for nodes in reversed(removed):
        values[nodes] = jump + options.damping * given.to(nodes, values)
    return Scores.within(
        shares(values), found.iterations, found.error_bound * passed_on, options.tolerance
    )


def _removed_in_rounds(graph: Csr, backwards: Csr, rounds: int) -> list[Nodes]:
    """Return the dangling nodes, then the nodes that dangle after their removal, and so on."""
    left = graph.out_degrees()
    removed, dangling = list[Nodes](), np.flatnonzero(left == 0)
    while len(dangling) and len(removed) < rounds:
        removed.append(dangling)
        givers, links = np.unique(linked_from(backwards, dangling), return_counts=True)
        left[givers] -= links
        dangling = givers[left[givers] == 0]
    return removed


class _Given:
    """Distributes the scores of nodes along their links, by weight."""

    def __init__(self, graph: Csr, backwards: Csr, weights: Weights | None) -> None:
        self._backwards = backwards
        totals = np.bincount(graph.sources(), weights, minlength=graph.nodes)
        per_weight = np.divide(1.0, totals, out=np.zeros(graph.nodes), where=totals > 0)
        self._shares = per_weight[backwards.targets]
        if weights is not None:
            self._shares *= graph.turned(weights)

    def to(self, nodes: Nodes, values: Vector) -> Vector:
        """Return the inflow of each of these nodes along all links to it."""
        starts = self._backwards.starts[nodes]
        counts = self._backwards.starts[nodes + 1] - starts
        links = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        given = values[self._backwards.targets[links]] * self._shares[links]
        getters = np.repeat(np.arange(len(nodes)), counts)
        gotten = np.bincount(getters, given, minlength=len(nodes))
        return gotten.astype(np.float64, copy=False)


def topic_ranks(
    graph: Csr,
    topics: Mapping[str, Sequence[int]],
    weights: Weights | None = None,
    *,
    options: PageRankOptions = USUAL,
    tell: Progress = unreported,
) -> dict[str, Scores]:
    """Return a rank for each topic, with uniform jumps to its nodes."""
    if options.dangling is Dangling.VIRTUAL:
        raise UsageError("the virtual page links to all pages: it has no topics")
    teleports = np.stack([teleport(graph.nodes, nodes) for nodes in topics.values()])
    found = pageranks(graph, weights, options=options, teleports=teleports, tell=tell)
    return dict(zip(topics, found, strict=True))


def teleport(count: int, nodes: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return uniform jumps to these nodes, as a vector of length `count`."""
    found = np.zeros(count)
    found[list(nodes)] = 1.0
    return found


def mixture(ranks: Mapping[str, Scores], parts: Mapping[str, float]) -> Scores:
    """Return the weighted mean of the ranks of some topics."""
    if missing := [name for name in parts if name not in ranks]:
        raise UsageError(f"no topic {missing[0]!r}; there are {', '.join(ranks)}")
    total = sum(parts.values())
    if min(parts.values(), default=0) < 0 or not 0 < total < np.inf:
        raise UsageError("the parts of a mixture must be 0 or more, and at least one above 0")
    mixed = [(ranks[name], part / total) for name, part in parts.items()]
    return Scores(
        values=np.sum([scores.values * part for scores, part in mixed], axis=0),
        iterations=max(scores.iterations for scores, _ in mixed),
        error_bound=sum(scores.error_bound * part for scores, part in mixed),
        converged=all(scores.converged for scores, _ in mixed),
    )


def parts_by_words(texts: Mapping[str, Sequence[str]], query: str) -> dict[str, float]:
    """Return the weights of the topics for this query, which sum to 1."""
    counts = {topic: Counter(words_of(" ".join(lines))) for topic, lines in texts.items()}
    wanted = words_of(query)
    if not any(word in count for count in counts.values() for word in wanted):
        raise UsageError(f"no topic has a word of {query!r}: use other words, or --mix")
    return parts_by_counts(counts, wanted)


def words_of(text: str) -> list[str]:
    """Return the case-folded words of a text."""
    return _WORD.findall(text.casefold())


def favouring_recent(
    age: NDArray[np.float64], half_life: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return jump weights; `age` is the time since a node's last change, NaN if unknown.

    The newest node has weight 1, so not all weights are 0, however short the half-life.
    """
    if np.isnan(age).all():
        raise UsageError(
            "none of these pages was read yet, so the times of their changes are unknown"
        )
    with np.errstate(over="ignore"):
        weights = np.exp2(-(age - np.nanmin(age)) / half_life)
    return np.where(np.isnan(weights), np.nanmean(weights), weights)


# ================================================================ trust

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

    def __post_init__(self) -> None:
        if not 0 <= self.damping < 1:
            raise UsageError(f"damping must be 0 or more and below 1, not {self.damping}")


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
    found, done, is_still = _passed(initial, passed_on, passes, tell)
    bound = _ROUNDING if is_still and options.passing is Passing.MAXIMUM else FURTHEST
    return Scores.within(found / found.sum(), done, bound, options.tolerance)


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
            return lambda t: np.maximum(initial, _largest_given(graph, damping * t))
        case Passing.SUM:
            links = Adjacency(graph)
            return lambda t: np.minimum(1.0, initial + damping * links.pushed(t))
        case other:
            assert_never(other)


def _largest_given(graph: Csr, trust: Trust) -> Trust:
    best = np.zeros(graph.nodes)
    np.maximum.at(best, graph.targets, trust[graph.sources()])
    return best


def _passed(
    initial: Trust, passed_on: Callable[[Trust], Trust], passes: int, tell: Progress
) -> tuple[Trust, int, bool]:
    """Pass on trust; return it, the number of passes, and True if it is a fixpoint."""
    trust = initial
    for done in range(1, passes + 1):
        before, trust = trust, passed_on(trust)
        tell(done / passes)
        if np.array_equal(trust, before):
            return trust, done, True
    return trust, passes, False
