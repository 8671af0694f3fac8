"""OPIC with a weight for each link converges to the fixpoint of any link matrix."""

import numpy as np
import pytest
from numpy.typing import NDArray

from minicrawl.graph.csr import Csr
from minicrawl.lab.convergence import convergence
from minicrawl.lab.known_webs import KNOWN_WEB_ORDERS, read
from minicrawl.opic.ledger.ledger import READ, Ledger
from minicrawl.opic.ledger.money import UNIT, one_more_link
from minicrawl.opic.windows.window import Static
from minicrawl.ports import unreported

Matrix = NDArray[np.float64]


def random_matrix(pages: int, links: int, seed: int) -> Matrix:
    rng, matrix = np.random.default_rng(seed), np.zeros((pages, pages))
    matrix[rng.integers(pages, size=links), rng.integers(pages, size=links)] = rng.random(links)
    return matrix


def ring(pages: int) -> Matrix:
    """A matrix with a period: without the virtual page, the power method would never end."""
    matrix = np.roll(np.eye(pages), 1, axis=1)
    matrix[0, 2] = 3
    return matrix


def two_halves(pages: int) -> Matrix:
    """A reducible matrix: of two blocks, one is not left any more, and one page has no links."""
    matrix = random_matrix(pages, pages * 4, 7)
    matrix[pages // 2 :, : pages // 2] = 0
    matrix[-1] = 0
    return matrix


MATRICES = {
    "random": random_matrix(40, 160, 1),
    "dense, weights of six magnitudes": 10 ** (6 * np.random.default_rng(2).random((20, 20))),
    "periodic": ring(12),
    "reducible": two_halves(30),
}


def graph_of(matrix: Matrix) -> tuple[Csr, NDArray[np.float32]]:
    rows, columns = np.nonzero(matrix)
    graph = Csr.from_edges(len(matrix), rows, columns)
    return graph, matrix[rows, columns].astype(np.float32)


def fixpoint(matrix: Matrix) -> Matrix:
    """Return the left eigenvector of the walk with the virtual page, by numpy."""
    pages, links = len(matrix), np.count_nonzero(matrix, axis=1)
    walk = np.zeros((pages + 1, pages + 1))
    for page, row in enumerate(matrix):
        part = links[page] / (links[page] + 1)
        walk[page, :pages] = part * row / row.sum() if links[page] else 0
        walk[page, pages] = 1 - part
    walk[pages, :pages] = 1 / pages
    values, vectors = np.linalg.eig(walk.T)
    vector = np.abs(vectors[:pages, np.argmin(np.abs(values - 1))])
    shares: Matrix = vector / vector.sum()
    return shares


@pytest.mark.parametrize("name", MATRICES)
def test_every_order_converges_to_the_fixpoint_of_any_matrix(name: str) -> None:
    graph, _ = graph_of(MATRICES[name])
    truth = fixpoint(MATRICES[name])
    rows = [(row[row > 0] / row.sum() * UNIT).astype(int).tolist() for row in MATRICES[name]]
    for order in KNOWN_WEB_ORDERS:
        window = Static()
        ledger = Ledger(windows=[window], small_edge=one_more_link)
        ledger.mint(graph.nodes, pool=READ)
        reading = KNOWN_WEB_ORDERS[order](ledger, 1)
        read(ledger, reading, graph.adjacency(), graph.nodes * 500, rows)
        assert ledger.missing() == 0
        assert window.history / window.history.sum() == pytest.approx(truth, rel=0.05), order


@pytest.mark.parametrize("name", MATRICES)
def test_the_curves_are_measured_against_the_eigenvector_of_numpy(name: str) -> None:
    graph, weights = graph_of(MATRICES[name])
    found = convergence(
        graph, weights, strategies=list(KNOWN_WEB_ORDERS), laps=100, seed=1, progress=unreported
    )
    assert found[0].errors[-1].error_all < 1e-3  # off-line
    for series in found:
        assert series.errors[-1].error_all < series.errors[0].error_all / 10


def test_a_link_gets_its_part_of_the_row_to_the_atom() -> None:
    ledger = Ledger(windows=[Static()], small_edge=one_more_link)
    ledger.mint(3, pool=READ)
    order = KNOWN_WEB_ORDERS["cycle"](ledger, 1)
    read(ledger, order, [[1, 2], [], []], 1, [[1, 3], [], []])
    for_links = UNIT - UNIT // 3
    assert ledger.cash(1) - ledger.cash(0) == UNIT + for_links // 4
    assert ledger.cash(2) - ledger.cash(0) == UNIT + for_links * 3 // 4
    read(ledger, order, [[1, 2], [], []], 1000, [[1, 3], [], []])
    assert ledger.missing() == 0


def test_equal_weights_are_a_graph_without_weights() -> None:
    graph, weights = graph_of(MATRICES["random"])
    equal = np.full_like(weights, 3)
    curves = [
        convergence(graph, given, strategies=["greedy"], laps=9, seed=1, progress=unreported)
        for given in (equal, None)
    ]
    for one, other in zip(*curves, strict=True):
        assert [lap.error_all for lap in one.errors] == pytest.approx(
            [lap.error_all for lap in other.errors], rel=1e-4
        )
