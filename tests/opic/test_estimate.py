import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.opic import estimate
from minicrawl.opic.ledger import READ, Ledger, replay
from minicrawl.opic.money import UNIT, fixed_edge
from minicrawl.opic.windows import Static
from tests.graph.graphs import graph_of
from tests.ranks.graphs import Matrix, fixpoint, through_virtual_page

Links = list[list[int]]

SMALL_EDGE = 0.125
"""Small edge that is exact in whole parts, so that ledger and matrix agree."""


def links_of(pages: int) -> st.SearchStrategy[Links]:
    return st.lists(
        st.lists(st.integers(0, pages - 1), max_size=4, unique=True), min_size=pages, max_size=pages
    )


def read_round_and_round(links: Links, laps: int) -> tuple[Ledger, Static]:
    window = Static()
    ledger = Ledger(windows=[window], small_edge=fixed_edge(SMALL_EDGE))
    for page in [*ledger.mint(len(links), pool=READ)] * laps:
        ledger.post(replay(ledger, page, links[page]))
    return ledger, window


def matrix(links: Links) -> Matrix:
    graph = graph_of(len(links), [(page, link) for page, row in enumerate(links) for link in row])
    return through_virtual_page(graph, SMALL_EDGE)


def test_the_growing_estimate_is_the_share_of_history_and_cash() -> None:
    found = estimate.growing(np.array([3.0, 1.0]), np.array([1.0, 1.0]), recorded=4, minted=2)
    assert list(found) == [4 / 6, 2 / 6]


def test_minus_birth_takes_out_the_unit_of_birth() -> None:
    found = estimate.minus_birth(np.array([3.0, 1.0]), np.array([1.0, 0.5]), recorded=4)
    assert list(found) == [3 / 4, 0.5 / 4]


def test_shares_sum_to_one_and_are_equal_where_all_is_0() -> None:
    assert list(estimate.shares(np.array([1.0, 3.0]))) == [0.25, 0.75]
    assert list(estimate.shares(np.zeros(4))) == [0.25] * 4
    assert len(estimate.shares(np.zeros(0))) == 0


@given(links_of(5), st.integers(0, 20))
def test_the_growing_estimate_sums_to_one_minus_the_remainder(links: Links, laps: int) -> None:
    ledger, window = read_round_and_round(links, laps)
    total = estimate.growing(
        window.history, ledger.cash_of_all(), ledger.recorded / UNIT, ledger.minted / UNIT
    ).sum()
    held = ledger.virtual_page.remainder / (ledger.recorded + ledger.minted)
    assert total == pytest.approx(1 - held, abs=1e-12)


@given(links_of(6), st.integers(1, 8))
def test_minus_birth_is_one_power_step_on_the_history(links: Links, laps: int) -> None:
    """Lemma 2.3: a page has received what the histories of all pages sent along links."""
    ledger, window = read_round_and_round(links, laps)
    share = ledger.recorded / UNIT
    estimated = estimate.minus_birth(window.history, ledger.cash_of_all(), share)
    stepped = (window.history / share) @ matrix(links)
    assert estimated == pytest.approx(stepped, abs=1e-9)


@given(links_of(6))
def test_estimates_converge_to_the_fixpoint(links: Links) -> None:
    ledger, window = read_round_and_round(links, 400)
    truth = fixpoint(matrix(links))
    recorded, cash = ledger.recorded / UNIT, ledger.cash_of_all()
    growing = estimate.growing(window.history, cash, recorded, ledger.minted / UNIT)
    minus = estimate.minus_birth(window.history, cash, recorded)
    assert growing == pytest.approx(truth, abs=0.01)
    assert minus == pytest.approx(truth, abs=0.005)


def test_a_page_rises_if_it_gets_more_than_its_past_promised() -> None:
    """Each was promised 2 units, and pages got 1.5 times that: 5 and 1 units instead of 3."""
    cash, flow, away = np.array([5.0, 1, 2]), np.array([1.0, 0.5, np.nan]), np.array([2, 4, 7])
    found = estimate.rising(cash, flow, away)
    assert found[:2] == pytest.approx([(5 + 1) / (3 + 1), (1 + 1) / (3 + 1)])
    assert np.isnan(found[2])


def test_without_a_promise_no_page_rises() -> None:
    found = estimate.rising(np.array([0.0, 3]), np.array([1.0, 1]), np.array([0, 0]))
    assert np.isnan(found).all()


def test_later_pages_keep_their_estimate_and_converged_ones_share_the_rest() -> None:
    converged = np.array([0.75, 0.25, np.nan])
    estimated = np.array([0.1, 0.7, 0.2])
    assert estimate.completed(converged, estimated) == pytest.approx([0.6, 0.2, 0.2])


def test_if_all_pages_converged_estimates_do_not_count() -> None:
    converged = np.array([0.75, 0.25])
    assert estimate.completed(converged, np.array([0.5, 0.5])) == pytest.approx(converged)
