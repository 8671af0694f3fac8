"""OPIC converges to the fixpoint of other link matrices than that of a walk."""

from itertools import islice

import numpy as np
import pytest

from minicrawl.graph.csr import Csr
from minicrawl.lab.known_webs import (
    KNOWN_WEB_ORDERS,
    LAZY,
    OFF_LINE,
    MatrixCash,
    matrix_convergence,
)
from minicrawl.lab.known_webs import MATRIX_ORDERS as ORDERS
from minicrawl.lab.webs import Model, synthetic_web
from minicrawl.ranks.centrality import LinkMatrix
from tests.graph.graphs import random_graph
from tests.ranks.graphs import Matrix, dense, with_virtual_page


def largest_of(links: Matrix) -> float:
    return float(np.abs(np.linalg.eigvals(links)).max())


def test_a_page_gives_each_link_its_cash_divided_by_the_eigenvalue() -> None:
    # Page 0 links to 1 and 2. The virtual page gets as much as each of them, and pays all three.
    cash = MatrixCash(Csr.from_edges(3, np.array([0, 0]), np.array([1, 2])), largest=2)
    cash.read(0)
    assert cash.cash.tolist() == [0.25, 1.75, 1.75]
    assert cash.histories == [1, 0, 0]
    cash.read(1)
    assert cash.cash == pytest.approx([0.25 + 1.75 / 4, 1.75 / 4, 1.75 + 1.75 / 4])


@pytest.mark.parametrize("name", ORDERS)
def test_history_and_cash_are_the_matrix_times_the_history(name: str) -> None:
    graph = random_graph(30, 90)
    links = with_virtual_page(dense(graph))
    largest = largest_of(links)
    cash = MatrixCash(graph, largest)
    for page in islice(ORDERS[name](cash, 1), 200):
        cash.read(page)
    history = np.array(cash.histories)
    of_virtual_page = history.sum() / largest
    given = links.T @ np.append(history, of_virtual_page) / largest
    assert history + cash.cash == pytest.approx(1 + given[:-1])


def test_greedy_reads_the_richest_page() -> None:
    cash = MatrixCash(random_graph(20, 60), largest=5)
    for page in islice(ORDERS["greedy"](cash, 1), 100):
        assert cash.cash[page] == pytest.approx(cash.cash.max())
        cash.read(page)


def test_matrices_have_the_orders_of_a_known_web() -> None:
    assert list(ORDERS) == list(KNOWN_WEB_ORDERS)


@pytest.mark.parametrize("matrix", [LinkMatrix.LINKS, LinkMatrix.EITHER])
def test_all_estimates_converge_to_the_eigenvector_and_greedy_beats_random(
    matrix: LinkMatrix,
) -> None:
    graph = synthetic_web(Model.POWER_LAW, 2000, 1).graph
    told: list[float] = []
    found = matrix_convergence(
        graph, matrix, strategies=list(ORDERS), laps=10, seed=1, progress=told.append
    )
    series = {(one.strategy, one.estimator): one.errors for one in found}
    for name, laps in series.items():
        assert laps[-1].all < laps[0].all / 3, name
    for estimator in ("paper", "minus-c0"):
        assert series["greedy", estimator][-1].all < series["random", estimator][-1].all
    (off_line,) = (one for one in found if one.strategy == OFF_LINE)
    errors = [lap.all for lap in off_line.errors]
    assert errors == sorted(errors, reverse=True)
    assert told[-1] == 1


def test_off_line_is_lazy_only_where_the_power_method_oscillates() -> None:
    """In a star with a virtual page, hub and other pages alternate; in a random graph not."""
    others = np.arange(1, 200)
    hub = np.zeros(199, dtype=np.int64)
    star = Csr.from_edges(200, np.append(hub, others), np.append(others, hub))
    for graph, estimator in ((star, LAZY), (random_graph(30, 300), OFF_LINE)):
        (found,) = matrix_convergence(
            graph, LinkMatrix.LINKS, strategies=[], laps=8, seed=1, progress=lambda _share: None
        )
        assert found.estimator == estimator
        errors = [lap.all for lap in found.errors]
        assert errors == sorted(errors, reverse=True)


def test_the_truth_agrees_with_numpy() -> None:
    graph = random_graph(40, 160)
    links = dense(graph)
    values, vectors = np.linalg.eigh(with_virtual_page(np.maximum(links, links.T)))
    found = matrix_convergence(
        graph,
        LinkMatrix.EITHER,
        strategies=["cycle"],
        laps=200,
        seed=1,
        progress=lambda _share: None,
    )
    assert found[0].errors[-1].all < 1e-6
    cash = MatrixCash(Csr.from_edges(40, *np.nonzero(np.maximum(links, links.T))), values[-1])
    for page in islice(ORDERS["cycle"](cash, 1), 40 * 400):
        cash.read(page)
    wanted = np.abs(vectors[:-1, -1]) / np.abs(vectors[:-1, -1]).sum()
    history = np.array(cash.histories)
    assert history / history.sum() == pytest.approx(wanted, abs=1e-3)
