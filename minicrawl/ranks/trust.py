"""TrustRank: trust flows along links from seeds that people have checked (Gyöngyi et al., 2004).

d        initial trust: equal for all seeds, 0 for other pages.
split    a page splits c of its trust among its links: PageRank with jumps to the seeds.
maximum  each link passes c of the page's trust in full, and a page takes the maximum:
         t_j = max(d_j, c max t_i), which is c^k at k links from the nearest seed.
sum      each link passes c of the page's trust in full, and a page takes the sum, up to the trust
         of a seed: t_j = min(1, d_j + c Σ t_i).

Passes: without a number they go on until nothing changes; with 1, seeds pass trust to the pages
they link to. After a fixed number of passes, and for `sum`, the bound is 2: nothing is proven.
Trust of `maximum` and `sum` only grows and is bounded; the fixpoint of `maximum` is the limit
itself.

Distrust: from pages named as bad, distrust flows in the same way, but back along the links, to the
pages that link to them (Krishnan and Raj, 2006). The result is a page's share of all trust less its
share of all distrust, and at least 0. If no trust is left at all, all pages are equal.

Seeds can be chosen by a rank: the best by inverse PageRank, by PageRank or as hubs.
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
# Inverse PageRank is PageRank of the reversed links: a node ranks high if it leads to much.
#
# Topic-specific PageRank has a rank for each topic, mixed for each query (Haveliwala, 2002). A
# query weights topics by the likelihood of its words in each (`parts_by_words`), with 1 added to
# every count, so that no word excludes a topic:
#
#     part(T) ~ Π over the query's words w of (count of w in T + 1) / (words in T + different words)
#
# If nodes without links spread evenly over all nodes, PageRank is linear in the targets of jumps:
# the mixture of the topics' ranks is the rank of the mixture of their jumps. The error of a mixture
# is at most the same mixture of their errors.
#
# Jumps that favour recently changed nodes lead to a node half as often for each half-life since its
# last change (`favouring_recent`). Nodes of unknown age get the mean of the others.
#
# Dangling pages may be removed and put back at the end (Page, Brin et al., 1998). Their removal
# takes links from others, which may dangle then, so it goes in rounds. PageRank is computed for the
# nodes that stay. Those of the last round come back first, and each node gets its share once:
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
    """Return PageRank with dangling pages removed for `rounds` rounds, then put back."""
    if options.damping is None:
        raise UsageError("one more link replaces the damping: leave out one of the two")
    backwards = graph.reversed()
    removed = _removed_in_rounds(graph, backwards, rounds)
    stays = np.ones(graph.nodes, dtype=np.bool_)
    for nodes in removed:
        stays[nodes] = False
    part = with_pages(graph, stays)
    kept = None if weights is None else weights[links_between(graph, stays)]
    # Errors of this part are passed on, and count twice in the final scaling.
    passed_on = 2 / (1 - options.damping)
    finer = replace(options, tolerance=options.tolerance / passed_on)
    found = pagerank(part, kept, options=finer, tell=tell)
    values = np.zeros(graph.nodes)
    values[stays] = found.values
    jump = (1 - options.damping) / (part.nodes or max(graph.nodes, 1))
    given = _Given(graph, backwards, weights)
    for nodes in reversed(removed):
        values[nodes] = jump + options.damping * given.to(nodes, values)
    bound = min(found.error_bound * passed_on, FURTHEST)
    return replace(
        found, values=shares(values), error_bound=bound, converged=bound <= options.tolerance
    )


def _removed_in_rounds(graph: Csr, backwards: Csr, rounds: int) -> list[Nodes]:
    """Return the nodes that dangle, then those that dangle without these, and so on."""
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
        """Return the inflow of each of these nodes over all its links."""
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
        raise UsageError("the virtual page links to all alike: it has no topics")
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
    """Return the weight of each topic for this query; they sum to 1."""
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
    """Return the targets of jumps; `age` is the time since a node's last change, NaN if unknown.

    The newest node has weight 1, so at least one weight is above 0, however short the half-life.
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
_FINER = 1e-3  # the difference may be small, and its relative error large
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
    """Parameters of trust; with `passes` of None it is passed on until nothing changes."""

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
    """Return the trust of each page from `seeds`, minus its distrust from `bad`."""
    if not {*seeds}.isdisjoint(bad):
        raise UsageError("a seed of trust is also named as bad: name it once")
    finer = replace(options, tolerance=options.tolerance * _FINER)
    good = trust(graph, seeds, weights, options=finer, tell=part(tell, 0, _HALF))
    turned = None if weights is None else graph.turned(weights)
    # Against the links: a page answers for the pages that it links to, not for those that link
    # to it.
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
    """Return the function from the trust of all pages to that after one more pass."""
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
    """Return trust after `passes` or at a fixpoint, the passes, and True at a fixpoint."""
    trust = beginning
    for done in range(1, passes + 1):
        before, trust = trust, passed_on(trust)
        tell(done / passes)
        if np.array_equal(trust, before):
            return trust, done, True
    return trust, passes, False
