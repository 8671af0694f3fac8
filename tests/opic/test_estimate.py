"""Estimates of the importance of pages, from their cash and history."""

from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.lab.exploration import Exploration, fetched
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.webs import Model, Web, synthetic_web
from minicrawl.opic.importance import estimate
from minicrawl.opic.importance.cash_flow import FlowBuilder, Refinement
from minicrawl.opic.importance.estimate import Importance, Level, Sums, shares
from minicrawl.opic.ledger.books import Spending
from minicrawl.opic.ledger.ledger import READ, Ledger
from minicrawl.opic.ledger.money import SMALL_EDGE, UNIT, fixed_edge
from minicrawl.opic.ledger.plans import replay, visit
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.opic.windows.interpolation import Interpolation, interpolated
from minicrawl.opic.windows.window import Static
from tests.graph.graphs import graph_of
from tests.opic.cash_flows import EDGE, Floats
from tests.ranks.graphs import Matrix, fixpoint, through_virtual_page

Links = list[list[int]]


def links_of(pages: int) -> st.SearchStrategy[Links]:
    return st.lists(
        st.lists(st.integers(0, pages - 1), max_size=4, unique=True), min_size=pages, max_size=pages
    )


def read_round_and_round(links: Links, laps: int) -> tuple[Ledger, Static]:
    window = Static()
    ledger = Ledger(windows=[window], small_edge=fixed_edge(EDGE))
    for page in [*ledger.mint(len(links), pool=READ)] * laps:
        ledger.post(replay(ledger, page, links[page]))
    return ledger, window


def matrix(links: Links) -> Matrix:
    graph = graph_of(len(links), [(page, link) for page, row in enumerate(links) for link in row])
    return through_virtual_page(graph, EDGE)


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


@pytest.mark.parametrize(
    ("away", "rising"),
    [([2, 4, 7], [(5 + 1) / (3 + 1), (1 + 1) / (3 + 1), np.nan]), ([0, 0, 0], [np.nan] * 3)],
)
def test_a_page_rises_if_it_gets_more_than_its_past_promised(
    away: list[int], rising: list[float]
) -> None:
    """Each was promised 2 units, and pages got 1.5 times that: 5 and 1 units instead of 3."""
    cash, flow = np.array([5.0, 1, 2]), np.array([1.0, 0.5, np.nan])
    assert estimate.rising(cash, flow, np.array(away)) == pytest.approx(rising, nan_ok=True)


@pytest.mark.parametrize(
    ("converged", "completed"),
    [([0.375, 0.125, np.nan], [0.6, 0.2, 0.2]), ([0.5, 0.25, 0.25], [0.5, 0.25, 0.25])],
)
def test_later_pages_keep_their_estimate_and_converged_ones_share_the_rest(
    converged: list[float], completed: list[float]
) -> None:
    found = estimate.completed(np.array(converged), np.array([0.1, 0.7, 0.2]))
    assert found == pytest.approx(completed)


def a_ledger(width: float = 8.0) -> Ledger:
    return Ledger(windows=[Interpolation(width)], small_edge=fixed_edge(0.125))


def read(ledger: Ledger, page: int, *links: int) -> None:
    ledger.post(visit(ledger, page, links))


def test_before_any_page_is_read_importance_is_equal_despite_endowments() -> None:
    ledger = a_ledger()
    ledger.endow(ledger.mint(3)[:1], 9)
    assert shares(Importance(ledger).of_all()) == pytest.approx([1 / 3] * 3)


def test_a_page_is_worth_the_base_and_what_links_gave_it() -> None:
    """Page 0 gives 7/16 of its unit to each of 1 and 2, and an eighth to the virtual page.

    c = mean(h - r) = 1 and x = c + r. The one page read now holds only a dividend, of which its
    links get next to nothing.
    """
    ledger = a_ledger()
    ledger.mint(4)
    read(ledger, 0, 1, 2)
    found = Importance(ledger).of_all()
    assert found / found[3] == pytest.approx([1, 1 + 7 / 16, 1 + 7 / 16, 1], abs=0.02)


def test_the_endowment_of_seeds_is_no_importance_and_moves_with_its_seed() -> None:
    ledger = a_ledger()
    ledger.mint(4)
    ledger.endow([3], 50)
    read(ledger, 3, 0)
    read(ledger, 0, 1, 2)
    found = Importance(ledger).of_all()
    assert found[3] < found[1] < found[0]
    moved = Importance(ledger, stands_for=lambda page: 0 if page == 3 else page)
    assert moved.of_all()[0] < found[0]


def test_with_all_pages_read_the_unit_of_birth_is_left_out() -> None:
    """The estimate is (H + C - C0) / G, as for a set of pages that does not change."""
    window = Static()
    ledger = Ledger(windows=[window], small_edge=fixed_edge(0.125))
    ledger.mint(3, pool=READ)
    for page in (0, 1, 2) * 4:
        read(ledger, page, (page + 1) % 3, (page + 2) % 3 if page else 1)
    expected = window.history + ledger.cash_of_all() - 1
    assert shares(Importance(ledger).of_all()) == pytest.approx(expected / expected.sum())


def test_where_no_page_has_links_links_gave_nothing() -> None:
    """What the virtual page gave within a narrow window may exceed what flowed."""
    ledger = Ledger(windows=[Interpolation(1.0)], small_edge=fixed_edge(0.3))
    ledger.mint(5)
    for page in (2, 4, 4, 3, 1, 4):
        read(ledger, page)
    estimate = Importance(ledger)
    level = estimate.level(estimate.sums())
    assert level.least == 5 / 4  # the cash of the window, over the pages read
    assert shares(estimate.of(level)) == pytest.approx([0.2] * 5, abs=0.02)


def test_sums_and_estimates_of_slices_are_those_of_the_whole() -> None:
    ledger = a_ledger()
    ledger.mint(9)
    ledger.endow([4], 3)
    for page, *links in ((4, 1, 2), (2, 3), (1, 5, 6, 7), (7, 8)):
        read(ledger, page, *links)
    whole, estimate = Importance(ledger).sums(), Importance(ledger)
    for cut in range(1, 8):
        assert estimate.sums(0, cut).plus(estimate.sums(cut, 9)) == pytest.approx(whole)
    level = estimate.level(whole)
    parts = [estimate.of(level, page, page + 1)[0] for page in range(9)]
    assert parts == pytest.approx(estimate.of_all().tolist())


def test_a_window_of_several_measures_estimates_by_itself() -> None:
    window = WINDOWS["variable"](8.0, None)
    ledger = Ledger(windows=[window])
    ledger.mint(2)
    read(ledger, 0, 1)
    assert Importance(ledger).sums() == Sums()
    expected = window.importance(ledger.cash_of_all(), ledger.now, ledger.circulation)
    assert Importance(ledger).of_all().tolist() == expected.tolist()


@pytest.mark.parametrize(("change", "flow"), [(0, 16), (1, 16 * (1 - 2 / 8) + 1), (0.5, 14.5)])
def test_the_flow_is_interpolated_between_history_and_cash(change: float, flow: float) -> None:
    one = np.array([16.0]), np.array([1.0]), np.array([2.0])
    assert interpolated(*one, 8, change) == pytest.approx([flow])


def test_cash_as_promised_means_no_change() -> None:
    ledger = a_ledger()
    ledger.recorded = UNIT  # a moment that no few steps lead to
    estimate = Importance(ledger)
    sums = Sums(read=1, held=1, age=0, chance=0.5, deviation=0.25)
    assert estimate.level(sums).change == 0
    assert estimate.level(sums._replace(deviation=2.0)).change == 0.75
    assert Level().change == 1


def test_pages_deviate_by_the_cash_that_their_histories_do_not_promise() -> None:
    """A history promises its part of the time since the last reading; births fade with age."""
    ledger = a_ledger()
    ledger.mint(3)
    for page, *links in ((0, 1, 2), (1, 0), (0, 2), (2, 0, 1), (1, 2)):
        read(ledger, page, *links)
    window, width = ledger.windows[0], 8 * ledger.minted / UNIT
    pasts = [window.past(page)[:2] for page in range(3)]
    promised = [history / UNIT * (ledger.now - time) / 65_536 / width for history, time in pasts]
    sums, level = (estimate := Importance(ledger)).sums(), estimate.level(estimate.sums())
    assert sums.deviation == pytest.approx(((ledger.cash_of_all() - promised) ** 2).sum())
    assert level.birth == pytest.approx(1 - sums.age / 3 / width)
    assert 0 < level.birth < 1


class Crawled(NamedTuple):
    """Result of a crawl that ended early, with PageRank of its known pages."""

    estimated: Floats
    by_cash: Floats
    truth: Floats
    is_unread: NDArray[np.bool_]

    def median_error(self, found: Floats) -> float:
        """Return the median relative error of the unread pages."""
        return float(np.median((np.abs(found - self.truth) / self.truth)[self.is_unread]))


def crawled(web: Web, share: float, seed: int, endowment: int) -> Crawled:
    """Crawl by cash until this share of the pages is read."""
    links = web.graph.adjacency()
    crawl = Exploration(web, links, true_importance(web.graph, SMALL_EDGE))
    ledger, window = crawl.ledger, Interpolation(8.0)
    ledger.windows = [window]
    well_linked = [page for page, row in enumerate(links) if len(row) >= 5]
    crawl.start(Random(seed).sample(well_linked, 10), endowment)
    read_pages = fetched(crawl, ORDERS["greedy"](crawl), int(share * web.graph.nodes))
    flow = FlowBuilder(ledger.small_edge)
    ids = {page: known for known, page in enumerate(crawl.pages)}
    for page in map(ids.__getitem__, read_pages):
        flow.spend(page, Spending(crawl.links_of(page)[0]))
    converged = Refinement(flow.flow(len(ledger)))
    list(converged.until(1e-8))
    cash = ledger.cash_of_all()
    is_unread = np.frombuffer(ledger.flags, dtype=np.uint8) != READ
    by_cash = shares(window.importance(cash, ledger.now, ledger.circulation))
    estimated = shares(Importance(ledger).of_all())
    return Crawled(estimated, by_cash, converged.importance, is_unread)


@pytest.mark.slow
@pytest.mark.large
def test_an_unfinished_crawl_knows_the_importance_of_unread_pages() -> None:
    """They have a quarter of the error of their cash, all pages two thirds, and order is kept."""
    crawls = [
        crawled(synthetic_web(Model.COPYING, 3000, seed), share, seed, endowment)
        for share in (0.1, 0.3, 0.6)
        for endowment in (100, 1000)
        for seed in (1, 2)
    ]
    found = [crawl.median_error(crawl.estimated) for crawl in crawls]
    assert max(found) < 0.15
    assert np.mean(found) < 0.075
    assert np.mean(found) < 0.25 * np.mean([crawl.median_error(crawl.by_cash) for crawl in crawls])
    off = np.mean([np.abs(crawl.estimated - crawl.truth).sum() for crawl in crawls])
    assert off < 0.27
    assert off < 0.65 * np.mean([np.abs(crawl.by_cash - crawl.truth).sum() for crawl in crawls])
    orders = [
        float(spearmanr(crawl.estimated[crawl.is_unread], crawl.truth[crawl.is_unread])[0])
        for crawl in crawls
    ]
    assert min(orders) > 0.75
    assert np.mean(orders) > 0.86
