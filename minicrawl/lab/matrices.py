"""OPIC on the link matrices of the paper that are not those of a walk.

    read(i):  H_i += C_i,  C_j += C_i L[i, j] / λ for every j,  and what was there of C_i is gone

L    the matrix: 1 for a link (`links`), or for a link either way (`either`); and 1 to and from the
     virtual page, as the paper needs it
λ    the largest eigenvalue of L. On-line nobody knows it; here it is computed beforehand.
D    what the virtual page gave to every page. It is read as soon as it has cash, so that D is one
     number, as in the ledger.

Law: H + C = C0 + Lᵀ H / λ after every read. So H, as shares, comes to the fixpoint of L as long as
all pages are read again and again. It is not the sum of the cash that stays the same but Σ v_i C_i,
v being the right eigenvector; whole numbers could not keep that, so this is no `Ledger`.
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import count, islice
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from minicrawl.graph.adjacency import Adjacency
from minicrawl.graph.csr import Csr
from minicrawl.lab.convergence import OFF_LINE, Series
from minicrawl.lab.measure import errors
from minicrawl.opic import estimate
from minicrawl.progress import Progress, part
from minicrawl.ranks.eigenvector import EigenvectorOptions, LinkMatrix, eigenvector, either_way

Floats = NDArray[np.float64]


class MatrixCash:
    """History and cash of all pages, each born with a cash of 1."""

    def __init__(self, graph: Csr, largest: float) -> None:
        """`largest` is λ."""
        self.links = graph.adjacency()
        self.histories = [0.0] * graph.nodes
        self.keys = [1.0] * graph.nodes
        """Cash less D."""
        self._largest, self._dividend = largest, 0.0

    @property
    def cash(self) -> Floats:
        """What each page has."""
        return np.array(self.keys) + self._dividend

    def read(self, page: int) -> None:
        """The page hands on what it has, and the virtual page what it gets of it."""
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


ORDERS: dict[str, Callable[[MatrixCash, int], Iterator[int]]] = {
    "random": _at_random,
    "cycle": lambda cash, _seed: (page % len(cash.keys) for page in count()),
    "greedy": _greedy,
}
"""Of all orders of a known web, by their names."""


def convergence(
    graph: Csr,
    matrix: LinkMatrix,
    *,
    strategies: Sequence[str],
    laps: int,
    seed: int,
    progress: Progress,
) -> list[Series]:
    """The curves of these strategies, and of the off-line algorithm."""
    if matrix is LinkMatrix.EITHER:
        graph, _ = either_way(graph, None)
    options = EigenvectorOptions(LinkMatrix.LINKS, virtual_page=True, tolerance=1e-12)
    truth = eigenvector(graph, options=options).values.astype(np.float64)
    largest = _largest_eigenvalue(graph, truth)
    series = [_off_line(graph, laps, truth)]
    for done, name in enumerate(strategies):
        tell = part(progress, done / len(strategies), (done + 1) / len(strategies))
        series += _reading(name, MatrixCash(graph, largest), laps, seed, truth, tell)
    return series


def _largest_eigenvalue(graph: Csr, truth: Floats) -> float:
    """λ, of x which sums to 1 without the virtual page: λ = Σ x_i out(i) + n / λ."""
    flowing = float(truth @ graph.out_degrees())
    return (flowing + sqrt(flowing**2 + 4 * graph.nodes)) / 2


def _off_line(graph: Csr, laps: int, truth: Floats) -> Series:
    """The power method, of the matrix with the virtual page."""
    links, x, of_virtual_page, found = Adjacency(graph), np.ones(graph.nodes), 1.0, []
    for _ in range(laps):
        x, of_virtual_page = links.pushed(x) + of_virtual_page, x.sum()
        total = x.sum() + of_virtual_page
        x, of_virtual_page = x / total, of_virtual_page / total
        found.append(errors(x, truth))
    rounds = [float(lap) for lap in range(1, laps + 1)]
    return Series(
        strategy=OFF_LINE, estimator=OFF_LINE, errors=found, g=rounds, cash_when_read=None
    )


def _reading(
    name: str, cash: MatrixCash, laps: int, seed: int, truth: Floats, progress: Progress
) -> list[Series]:
    pages, order = len(truth), ORDERS[name](cash, seed)
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
