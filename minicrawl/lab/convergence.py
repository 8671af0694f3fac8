"""Experiment: the speed at which estimates approach the true importance; figures 2 and 3."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from minicrawl.graph.csr import Csr
from minicrawl.graph.link_builder import Weights
from minicrawl.lab.known_webs import (
    KNOWN_WEB_ORDERS,
    EstimateErrors,
    edge_of,
    errors,
    read,
    true_importance,
    truth_options,
)
from minicrawl.opic.importance import estimate
from minicrawl.opic.importance.estimate import Floats
from minicrawl.opic.ledger.ledger import READ, Ledger
from minicrawl.opic.ledger.money import UNIT, SmallEdge
from minicrawl.opic.windows.window import Static
from minicrawl.ports import Progress, part
from minicrawl.ranks.pagerank import Method, pagerank

OFF_LINE = "off-line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A curve: the errors of an estimator after each lap.

    `g` is the number of circulations of all cash. `cash_when_read` is the mean cash of a page at
    its reads, as a multiple of the mean cash of a page.
    """

    strategy: str
    estimator: str
    errors: list[EstimateErrors]
    g: list[float]
    cash_when_read: float | None

    @property
    def label(self) -> str:
        same = self.strategy == self.estimator
        return self.strategy if same else f"{self.strategy}, {self.estimator}"

    def to_json(self) -> dict[str, object]:
        """Return the curve with one list for each kind of error."""
        return {
            "strategy": self.strategy,
            "estimator": self.estimator,
            "laps": list(range(1, len(self.errors) + 1)),
            **dict(zip(EstimateErrors._fields, zip(*self.errors, strict=True), strict=True)),
            "g": self.g,
            "cash_when_read": self.cash_when_read,
        }


_KnownWeb = tuple[list[list[int]], list[list[int]] | None, Floats, SmallEdge]
"""Links of a web that is read again and again, their weights, the truth, and the small edge."""


def convergence(
    graph: Csr,
    weights: Weights | None = None,
    *,
    strategies: Sequence[str],
    laps: int,
    seed: int,
    small_edge: float | None = None,
    progress: Progress,
) -> list[Series]:
    """Return the curves of these strategies and of the off-line algorithm.

    With weights, a page gives each link its part of a row of any link matrix. The virtual page gets
    as much as the mean link of the page, whatever the row adds up to.
    """
    rows = None
    if weights is not None:
        # Scaled so that those of each page are 1 on average, as without weights.
        counts = graph.out_degrees()
        sources = np.repeat(np.arange(graph.nodes), counts)
        sums = np.bincount(sources, weights, graph.nodes)
        weights = (weights * (counts[sources] / sums[sources])).astype(np.float32)
        # In 2^32ths, as money is exact.
        whole = np.rint(weights.astype(np.float64) * UNIT).astype(np.int64).tolist()
        rows = [whole[start:end] for start, end in pairwise(graph.starts.tolist())]
    truth = true_importance(graph, small_edge, weights)
    web = graph.adjacency(), rows, truth, edge_of(small_edge)
    series = [_off_line(graph, weights, laps, truth, small_edge)]
    for done, name in enumerate(strategies):
        tell = part(progress, done / len(strategies), (done + 1) / len(strategies))
        series += _reading(name, web, laps, seed, tell)
    return series


def _off_line(
    graph: Csr, weights: Weights | None, laps: int, truth: Floats, small_edge: float | None
) -> Series:
    """Run the power method: an iteration moves all importance once, roughly like a lap."""
    options = replace(truth_options(small_edge), method=Method.POWER, most_iterations=1)
    x, errors_by_lap = np.full(graph.nodes, 1 / graph.nodes), []
    for _ in range(laps):
        x = pagerank(graph, weights, options=options, start=x).values.astype(np.float64)
        errors_by_lap.append(errors(x, truth))
    g = [float(lap) for lap in range(1, laps + 1)]
    return Series(
        strategy=OFF_LINE, estimator=OFF_LINE, errors=errors_by_lap, g=g, cash_when_read=None
    )


def _reading(name: str, web: _KnownWeb, laps: int, seed: int, progress: Progress) -> list[Series]:
    """Return the errors of two estimators lap by lap: the paper's, and less the cash of birth."""
    links, weights, truth, small_edge = web
    pages, window = len(links), Static()
    ledger = Ledger(windows=[window], small_edge=small_edge)
    ledger.mint(pages, pool=READ)
    order = KNOWN_WEB_ORDERS[name](ledger, seed)
    paper, minus_birth, g = [], [], []
    for lap in range(laps):
        read(ledger, order, links, pages, weights)
        history, cash, recorded = window.history, ledger.cash_of_all(), ledger.recorded / UNIT
        paper.append(errors(estimate.growing(history, cash, recorded, pages), truth))
        minus_birth.append(errors(estimate.minus_birth(history, cash, recorded), truth))
        g.append(recorded / pages)
        progress((lap + 1) / laps)
    return [
        Series(strategy=name, estimator=label, errors=by_lap, g=g, cash_when_read=g[-1] / laps)
        for label, by_lap in (("paper", paper), ("minus-c0", minus_birth))
    ]
