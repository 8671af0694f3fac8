"""A known web, whose pages are read again and again: orders of reading, and its true importance.

A lap is as many reads as there are pages. Every page has one more link, to the virtual page; or it
gives the virtual page a fixed share of its cash, the small edge. `greedy` chooses the read page
with the most cash, as replays of a crawl do. The other orders ignore cash.

Errors are in percent; estimate and truth are normalised. The relative error of a page is |estimate
- truth| / truth.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle, repeat
from random import Random
from typing import NamedTuple

import numpy as np

from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.opic.importance.estimate import Floats, shares
from minicrawl.opic.ledger.ledger import READ, Ledger, Plan
from minicrawl.opic.ledger.money import SmallEdge, fixed_edge, one_more_link
from minicrawl.opic.ledger.plans import replay, weighted_visit
from minicrawl.opic.queues.candidate_heap import CandidateHeap
from minicrawl.ranks.agreement import places
from minicrawl.ranks.pagerank import Dangling, PageRankOptions, pagerank


class EstimateErrors(NamedTuple):
    """Errors of an estimate, in percent. `error_all` is the mean relative error of all pages."""

    error_all: float
    error_top10: float
    """Of the most important tenth of the pages."""
    error_weighted: float
    """Mean weighted by importance, which is twice the mass on wrong pages."""
    rank_error: float
    """Mean distance of a page from its true place, in percent of the pages."""
    deviation: float
    """Standard deviation of the relative errors."""
    above_twice: float
    """Share of the pages with an error above twice the mean."""


def errors(estimate: Floats, truth: Floats) -> EstimateErrors:
    """Return the errors of an estimate; neither argument need be normalised."""
    estimate, truth = shares(estimate), shares(truth)
    relative = np.abs(estimate - truth) / truth
    top = np.argsort(-truth, kind="stable")[: max(1, len(truth) // 10)]
    return EstimateErrors(
        error_all=100 * float(relative.mean()),
        error_top10=100 * float(relative[top].mean()),
        error_weighted=100 * float((relative * truth).sum()),
        rank_error=100 * float(np.abs(places(estimate) - places(truth)).mean()) / len(truth),
        deviation=100 * float(relative.std()),
        above_twice=100 * float((relative > 2 * relative.mean()).mean()),
    )


def mean(draws: Sequence[EstimateErrors]) -> EstimateErrors:
    """Return the mean of errors measured at several moments, or in several draws."""
    return EstimateErrors(*np.mean(draws, axis=0).tolist())


def standard_error(draws: Sequence[EstimateErrors]) -> EstimateErrors:
    """Return the standard errors of the mean over two draws or more."""
    deviations = np.std(draws, axis=0, ddof=1)
    return EstimateErrors(*(deviations / len(draws) ** 0.5).tolist())


class RichestRead:
    """Order that takes the read page with the most cash first.

    `add` takes pages that are new in the web, `posted` the plan of the page that was read.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._richest = CandidateHeap(ledger.key, ledger.flags, READ)
        self._richest.offer(range(len(ledger)))

    def add(self, pages: Sequence[int]) -> None:
        self._richest.offer(pages)

    def take(self) -> int:
        page = self._richest.take()
        assert page is not None, "each page was released when it was read"
        return page

    def posted(self, plan: Plan) -> None:
        self._richest.offer([*plan.links, *(link for link, _ in plan.extras)])
        self._richest.release(plan.page)


class Scheduled:
    """Order that does not depend on cash."""

    def __init__(self, pages: Iterator[int]) -> None:
        self._pages = pages

    def take(self) -> int:
        return next(self._pages)

    def posted(self, plan: Plan) -> None:
        """Do nothing: cash is ignored."""


KnownOrder = RichestRead | Scheduled
"""Order in which the pages of a known web are read again and again."""


KNOWN_WEB_ORDERS: dict[str, Callable[[Ledger, int], KnownOrder]] = {
    "random": lambda ledger, seed: Scheduled(map(Random(seed).randrange, repeat(len(ledger)))),
    "cycle": lambda ledger, _seed: Scheduled(cycle(range(len(ledger)))),
    "greedy": lambda ledger, _seed: RichestRead(ledger),
}


def read(
    ledger: Ledger,
    order: KnownOrder,
    links: list[list[int]],
    count: int,
    weights: list[list[int]] | None = None,
) -> None:
    """Read `count` pages of a known web, whose links share cash alike or by their weights."""
    for _ in range(count):
        page = order.take()
        if weights is None:
            plan = replay(ledger, page, links[page])
        else:
            plan = weighted_visit(ledger, page, links[page], weights[page])
        ledger.post(plan)
        order.posted(plan)


ONE_MORE_LINK = PageRankOptions(damping=None, dangling=Dangling.VIRTUAL, tolerance=1e-12)
"""Options of the paper: each page has one more link, to the virtual page."""


def edge_of(share: float | None) -> SmallEdge:
    """Return a small edge of this share; by default, one more link of the page."""
    return one_more_link if share is None else fixed_edge(share)


def true_importance(
    graph: Csr, small_edge: float | None = None, weights: Weights | None = None
) -> Floats:
    """Return the fixpoint; by default, every page has one more link, to the virtual page.

    That link has weight 1.
    """
    return pagerank(graph, weights, options=truth_options(small_edge)).values.astype(np.float64)


def truth_options(small_edge: float | None) -> PageRankOptions:
    return replace(ONE_MORE_LINK, damping=None if small_edge is None else 1 - small_edge)
