"""Variants of PageRank: reversed, by topic, with jumps to recent pages, without dangling pages.

Inverse PageRank is PageRank of the reversed links: a node ranks high if it leads to many nodes.

Topic-specific PageRank has a rank for each topic, mixed for each query (Haveliwala, 2002). A
query weights topics by the likelihood of its words in each (`parts_by_words`), with 1 added to
every count, so that no word excludes a topic:

    part(T) ~ Π over the query's words w of (count of w in T + 1) / (words in T + distinct words)

If dangling mass is spread uniformly, PageRank is linear in the targets of jumps: the mixture of
the topics' ranks is the rank of the mixture of their jumps. The error of a mixture is at most the
same mixture of their errors.

Jumps can favour recently changed nodes (`favouring_recent`): the weight of a node halves for each
half-life since its last change. Nodes of unknown age get the mean of the others.

Dangling pages may be removed and put back at the end (Page, Brin et al., 1998). Their removal
takes links from other pages, which may dangle then, so it goes in rounds. PageRank is computed
for the nodes that stay. The nodes removed last come back first, and each gets its score once:

    y(t) = (1 - d) / m + d * sum of w(s, t) y(s) / w(s)   over all links s -> t

d       damping; the nodes that stay sum to 1 before, and everything is scaled to 1 at the end
m       number of nodes that stay; number of all nodes if none does
w(s)    weight of all links of s, including those to removed nodes

Nodes that stay keep their proportions. All links to a node come from nodes of later rounds, so
its inflow is known when it comes back.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graph.csr import Csr
from minicrawl.graph.distances import linked_from
from minicrawl.graph.link_builder import Weights
from minicrawl.graph.products import Vector
from minicrawl.graph.subgraphs import links_between, with_pages
from minicrawl.opic.importance.estimate import shares
from minicrawl.ports import Progress, unreported
from minicrawl.ranks.pagerank import USUAL, Dangling, PageRankOptions, pagerank, pageranks
from minicrawl.ranks.scores import Scores
from minicrawl.web.words import parts_by_counts

_WORD = re.compile(r"[^\W_]+")


def inverse_pagerank(
    graph: Csr,
    weights: Weights | None = None,
    *,
    options: PageRankOptions = USUAL,
    tell: Progress = unreported,
) -> Scores:
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
    backwards, left = graph.reversed(), graph.out_degrees()
    stays = np.ones(graph.nodes, dtype=np.bool_)
    removed, dangling = list[NDArray[np.intp]](), np.flatnonzero(left == 0)
    while len(dangling) and len(removed) < rounds:
        removed.append(dangling)
        stays[dangling] = False
        givers, links = np.unique(linked_from(backwards, dangling), return_counts=True)
        left[givers] -= links
        dangling = givers[left[givers] == 0]
    part = with_pages(graph, stays)
    part_weights = None if weights is None else weights[links_between(graph, stays)]
    # The returning nodes multiply an error of this part, and the final scaling doubles it.
    passed_on = 2 / (1 - options.damping)
    finer = replace(options, tolerance=options.tolerance / passed_on)
    scores = pagerank(part, part_weights, options=finer, tell=tell)
    values = np.zeros(graph.nodes)
    values[stays] = scores.values
    jump = (1 - options.damping) / (part.nodes or max(graph.nodes, 1))
    totals = np.bincount(graph.sources(), weights, minlength=graph.nodes)
    per_weight = np.divide(1.0, totals, out=np.zeros(graph.nodes), where=totals > 0)
    shares_of_links = per_weight[backwards.targets]
    if weights is not None:
        shares_of_links *= graph.turned(weights)
    for nodes in reversed(removed):
        inflow = _inflow(backwards, shares_of_links, nodes, values)
        values[nodes] = jump + options.damping * inflow
    return Scores.within(
        shares(values), scores.iterations, scores.error_bound * passed_on, options.tolerance
    )


def _inflow(backwards: Csr, shares_of_links: Vector, nodes: NDArray[np.intp], x: Vector) -> Vector:
    """Return the inflow of these nodes along all links to them, which pass on shares of x."""
    starts = backwards.starts[nodes]
    counts = backwards.starts[nodes + 1] - starts
    links = np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    given = x[backwards.targets[links]] * shares_of_links[links]
    getters = np.repeat(np.arange(len(nodes)), counts)
    return np.bincount(getters, given, minlength=len(nodes)).astype(np.float64, copy=False)


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
    ranks = pageranks(graph, weights, options=options, teleports=teleports, tell=tell)
    return dict(zip(topics, ranks, strict=True))


def teleport(count: int, nodes: Iterable[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return uniform jumps to these nodes, as a vector of length `count`."""
    jumps = np.zeros(count)
    jumps[list(nodes)] = 1.0
    return jumps


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
    counts = {topic: Counter(casefolded_words(" ".join(lines))) for topic, lines in texts.items()}
    query_words = casefolded_words(query)
    if not any(word in count for count in counts.values() for word in query_words):
        raise UsageError(f"no topic has a word of {query!r}: use other words, or --mix")
    return parts_by_counts(counts, query_words)


def casefolded_words(text: str) -> list[str]:
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
