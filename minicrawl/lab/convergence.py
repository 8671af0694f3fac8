"""Convergence of estimates to the true importance, lap by lap (figures 2 and 3 of the paper).

The whole graph is known from the start and does not change; its pages are read again and again. A
lap is as many reads as there are pages. Every page has one more link, to the virtual page; or it
hands the virtual page a fixed share of its cash, its small edge.

OPIC on matrices of the paper that are not those of a random walk:

    read(i):  H_i += C_i,  C_j += C_i L[i, j] / λ for every j,  and the old C_i is gone

L    the matrix: 1 for a link (`links`), or for a link in either direction (`either`); and 1 to and
     from the virtual page, as the paper needs it
λ    the largest eigenvalue of L. On-line it is unknown; here it is computed beforehand.
D    what the virtual page gave to every page. It is read as soon as it has cash, so D is one
number,
     as in the ledger.

Law: H + C = C0 + Lᵀ H / λ after every read. So H, normalised, converges to the fixpoint of L, as
long as all pages are read again and again. The invariant is not the sum of the cash but Σ v_i C_i,
where v is the right eigenvector. Whole numbers could not keep it, so this is no `Ledger`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import count, islice, pairwise
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.adjacency import Adjacency
from minicrawl.graph.csr import Csr
from minicrawl.lab.webs import OF_A_KNOWN_WEB, EstimateErrors, Strategy, errors
from minicrawl.opic import estimate
from minicrawl.opic.ledger import READ, Ledger, replay
from minicrawl.opic.money import UNIT, SmallEdge, fixed_edge, one_more_link
from minicrawl.opic.windows import Static
from minicrawl.progress import Progress, part
from minicrawl.ranks.centrality import EigenvectorOptions, LinkMatrix, eigenvector, either_way
from minicrawl.ranks.pagerank import Dangling, Method, PageRankOptions, pagerank

Floats = NDArray[np.float64]

OFF_LINE = "off-line"
LAZY = "lazy"

ONE_MORE_LINK = PageRankOptions(damping=None, dangling=Dangling.VIRTUAL, tolerance=1e-12)
"""Options of the paper: each page has one more link, to the virtual page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A curve: the errors of an estimator after each lap.

    `g` is how often all the cash had gone round. `cash_when_read` is the mean cash of a page at its
    reads, as a multiple of the mean cash of a page.
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

    def as_json(self) -> dict[str, object]:
        """Return the curve with one list for each kind of error."""
        return {
            "strategy": self.strategy,
            "estimator": self.estimator,
            "laps": list(range(1, len(self.errors) + 1)),
            "error_all": [lap.all for lap in self.errors],
            "error_top10": [lap.top10 for lap in self.errors],
            "error_weighted": [lap.weighted for lap in self.errors],
            "rank_error": [lap.rank for lap in self.errors],
            "deviation": [lap.deviation for lap in self.errors],
            "above_twice": [lap.above_twice for lap in self.errors],
            "g": self.g,
            "cash_when_read": self.cash_when_read,
        }


class _KnownWeb(NamedTuple):
    """A web that is read again and again."""

    links: list[list[int]]
    truth: Floats
    small_edge: SmallEdge


def convergence(
    graph: Csr,
    *,
    strategies: Sequence[str],
    laps: int,
    seed: int,
    small_edge: float | None = None,
    progress: Progress,
) -> list[Series]:
    """Return the curves of these strategies and of the off-line algorithm."""
    web = _KnownWeb(graph.adjacency(), true_importance(graph, small_edge), edge_of(small_edge))
    series = [_off_line(graph, laps, web.truth, small_edge)]
    for done, name in enumerate(strategies):
        tell = part(progress, done / len(strategies), (done + 1) / len(strategies))
        series += _reading(name, web, laps, seed, tell)
    return series


def edge_of(share: float | None) -> SmallEdge:
    """Return a small edge of this share; by default, one more link of the page."""
    return one_more_link if share is None else fixed_edge(share)


def true_importance(graph: Csr, small_edge: float | None = None) -> Floats:
    """Return the fixpoint; by default, every page has one more link, to the virtual page."""
    return pagerank(graph, options=_options(small_edge)).values.astype(np.float64)


def _options(small_edge: float | None) -> PageRankOptions:
    return replace(ONE_MORE_LINK, damping=None if small_edge is None else 1 - small_edge)


def _off_line(graph: Csr, laps: int, truth: Floats, small_edge: float | None) -> Series:
    """Run the power method: an iteration moves all importance once, roughly like a lap."""
    options = replace(_options(small_edge), method=Method.POWER, most_iterations=1)
    x, found = np.full(graph.nodes, 1 / graph.nodes), []
    for _ in range(laps):
        x = pagerank(graph, options=options, start=x).values.astype(np.float64)
        found.append(errors(x, truth))
    return Series(
        strategy=OFF_LINE,
        estimator=OFF_LINE,
        errors=found,
        g=[float(lap) for lap in range(1, laps + 1)],
        cash_when_read=None,
    )


def _reading(name: str, web: _KnownWeb, laps: int, seed: int, progress: Progress) -> list[Series]:
    links, truth, small_edge = web
    pages, window = len(links), Static()
    ledger = Ledger(windows=[window], small_edge=small_edge)
    strategy = OF_A_KNOWN_WEB[name](ledger, seed)
    strategy.born(ledger.mint(pages, pool=READ))
    paper, minus_birth, g = [], [], []
    for lap in range(laps):
        read(ledger, strategy, links, pages)
        history, cash, recorded = window.history, ledger.cash_of_all(), ledger.recorded / UNIT
        paper.append(errors(estimate.growing(history, cash, recorded, pages), truth))
        minus_birth.append(errors(estimate.minus_birth(history, cash, recorded), truth))
        g.append(recorded / pages)
        progress((lap + 1) / laps)
    return [
        Series(strategy=name, estimator=label, errors=found, g=g, cash_when_read=g[-1] / laps)
        for label, found in (("paper", paper), ("minus-c0", minus_birth))
    ]


def read(ledger: Ledger, strategy: Strategy, links: list[list[int]], count: int) -> None:
    """Read `count` pages of a known web."""
    for _ in range(count):
        page = strategy.take()
        assert page is not None, "in a web that is known as a whole some page can always be read"
        plan = replay(ledger, page, links[page])
        ledger.post(plan)
        strategy.settled(plan)


# ---------------------------------------------------------------- other matrices


class MatrixCash:
    """History and cash of all pages, each born with a cash of 1."""

    def __init__(self, graph: Csr, largest: float) -> None:
        """`largest` is λ."""
        self.links = graph.adjacency()
        self.histories = [0.0] * graph.nodes
        self.keys = [1.0] * graph.nodes
        """Cash minus D."""
        self._largest, self._dividend = largest, 0.0

    @property
    def cash(self) -> Floats:
        """Cash of each page."""
        return np.array(self.keys) + self._dividend

    def read(self, page: int) -> None:
        """Pass on the cash of the page, and the virtual page's share of it at once."""
        cash = self.keys[page] + self._dividend
        share = cash / self._largest
        self.histories[page] += cash
        self.keys[page] = -self._dividend
        for link in self.links[page]:
            self.keys[link] += share
        self._dividend += share / self._largest


def _at_random(cash: MatrixCash, seed: int) -> Iterator[int]:
    rng, pages = np.random.default_rng(seed), len(cash.keys)
    while True:
        yield from rng.integers(0, pages, pages).tolist()


def _greedy(cash: MatrixCash, _seed: int) -> Iterator[int]:
    heap = [(-key, page) for page, key in enumerate(cash.keys)]
    heapify(heap)
    while True:
        key, page = heappop(heap)
        if -key == cash.keys[page]:
            yield page
            for changed in (page, *cash.links[page]):
                heappush(heap, (-cash.keys[changed], changed))


MATRIX_ORDERS: dict[str, Callable[[MatrixCash, int], Iterator[int]]] = {
    "random": _at_random,
    "cycle": lambda cash, _seed: (page % len(cash.keys) for page in count()),
    "greedy": _greedy,
}
"""Orders of reading a known web, by name."""


def matrix_convergence(
    graph: Csr,
    matrix: LinkMatrix,
    *,
    strategies: Sequence[str],
    laps: int,
    seed: int,
    progress: Progress,
) -> list[Series]:
    """Return the curves for this matrix; strategies are names of `MATRIX_ORDERS`."""
    if matrix is LinkMatrix.EITHER:
        graph, _ = either_way(graph, None)
    options = EigenvectorOptions(LinkMatrix.LINKS, virtual_page=True, tolerance=1e-12)
    truth = eigenvector(graph, options=options).values.astype(np.float64)
    largest = _largest_eigenvalue(graph, truth)
    series = [_matrix_off_line(graph, laps, truth, largest)]
    for done, name in enumerate(strategies):
        tell = part(progress, done / len(strategies), (done + 1) / len(strategies))
        series += _matrix_reading(name, MatrixCash(graph, largest), laps, seed, truth, tell)
    return series


def _largest_eigenvalue(graph: Csr, truth: Floats) -> float:
    """Return λ of a vector x that sums to 1 without the virtual page: λ = Σ x_i out(i) + n / λ."""
    flowing = float(truth @ graph.out_degrees())
    return (flowing + sqrt(flowing**2 + 4 * graph.nodes)) / 2


def _matrix_off_line(graph: Csr, laps: int, truth: Floats, largest: float) -> Series:
    """Run the power method on the matrix with the virtual page, or its lazy form.

    The plain form oscillates where a second eigenvalue is nearly -λ, as in a star: hubs and their
    targets take turns. The lazy form keeps half of each score, which turns -λ into 0.
    """
    estimator, found = OFF_LINE, _power_method(graph, laps, truth, kept=0)
    if any(later.all > lap.all for lap, later in pairwise(found)):
        estimator, found = LAZY, _power_method(graph, laps, truth, kept=largest)
    rounds = [float(lap) for lap in range(1, laps + 1)]
    return Series(
        strategy=OFF_LINE, estimator=estimator, errors=found, g=rounds, cash_when_read=None
    )


def _power_method(graph: Csr, laps: int, truth: Floats, kept: float) -> list[EstimateErrors]:
    """Run the power method on the matrix with `kept` on its diagonal."""
    links, x, of_virtual_page, found = Adjacency(graph), np.ones(graph.nodes), 1.0, []
    for _ in range(laps):
        given, to_virtual_page = links.pushed(x) + of_virtual_page, float(x.sum())
        x, of_virtual_page = given + kept * x, to_virtual_page + kept * of_virtual_page
        total = x.sum() + of_virtual_page
        x, of_virtual_page = x / total, of_virtual_page / total
        found.append(errors(x, truth))
    return found


def _matrix_reading(
    name: str, cash: MatrixCash, laps: int, seed: int, truth: Floats, progress: Progress
) -> list[Series]:
    pages, order = len(truth), MATRIX_ORDERS[name](cash, seed)
    paper, minus_birth, g = [], [], []
    for lap in range(laps):
        for page in islice(order, pages):
            cash.read(page)
        history = np.array(cash.histories)
        recorded = float(history.sum())
        paper.append(errors(estimate.growing(history, cash.cash, recorded, pages), truth))
        minus_birth.append(errors(estimate.minus_birth(history, cash.cash, recorded), truth))
        g.append(recorded / pages)
        progress((lap + 1) / laps)
    return [
        Series(strategy=name, estimator=label, errors=found, g=g, cash_when_read=g[-1] / laps)
        for label, found in (("paper", paper), ("minus-c0", minus_birth))
    ]
