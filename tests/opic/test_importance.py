"""The importance that a crawl estimates, by hand and against PageRank of its known pages."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.reading_orders import Exploration, fetched
from minicrawl.lab.webs import Model, Web, synthetic_web
from minicrawl.opic.estimate import FlowBuilder, Importance, Level, Refinement, Sums, shares
from minicrawl.opic.ledger import READ, Ledger, Spending, visit
from minicrawl.opic.money import SMALL_EDGE, UNIT, fixed_edge
from minicrawl.opic.windows import WINDOWS, Interpolation, Static, interpolated

Floats = NDArray[np.float64]


def a_ledger(width: float = 8.0) -> Ledger:
    return Ledger(windows=[Interpolation(width)], small_edge=fixed_edge(0.125))


def read(ledger: Ledger, page: int, *links: int) -> None:
    ledger.post(visit(ledger, page, links))


# ---------------------------------------------------------------- by hand


def test_before_any_page_is_read_importance_is_equal_despite_endowments() -> None:
    ledger = a_ledger()
    ledger.endow(ledger.mint(3)[:1], 9)
    assert shares(Importance(ledger).of_all()).tolist() == pytest.approx([1 / 3] * 3)


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


def test_the_endowment_of_seeds_is_no_importance() -> None:
    ledger = a_ledger()
    ledger.mint(4)
    ledger.endow([3], 50)
    read(ledger, 3, 0)
    read(ledger, 0, 1, 2)
    found = shares(Importance(ledger).of_all())
    assert found[3] < found[1] < found[0]


def test_an_endowment_moves_with_its_seed() -> None:
    ledger = a_ledger()
    ledger.mint(4)
    ledger.endow([3], 50)
    read(ledger, 3, 0)
    read(ledger, 0, 1, 2)
    moved = Importance(ledger, stands_for=lambda page: 0 if page == 3 else page)
    assert moved.of_all()[0] < Importance(ledger).of_all()[0]


def test_with_all_pages_read_the_unit_of_birth_is_left_out() -> None:
    """The estimate is (H + C - C0) / G, as for a set of pages that does not change."""
    window = Static()
    ledger = Ledger(windows=[window], small_edge=fixed_edge(0.125))
    ledger.mint(3, pool=READ)
    for page in (0, 1, 2) * 4:
        read(ledger, page, (page + 1) % 3, (page + 2) % 3 if page else 1)
    expected = window.history + ledger.cash_of_all() - 1
    assert shares(Importance(ledger).of_all()) == pytest.approx(expected / expected.sum())


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
    estimate = Importance(a_ledger())
    estimate._ledger.recorded = UNIT
    sums = Sums(read=1, held=1, age=0, chance=0.5, deviation=0.25)
    assert estimate.level(sums).change == 0
    assert estimate.level(sums._replace(deviation=2.0)).change == 0.75
    assert Level().change == 1


# ---------------------------------------------------------------- against PageRank


class Crawled(NamedTuple):
    """Result of a crawl that ended early, with PageRank of its known pages."""

    estimated: Floats
    by_cash: Floats
    truth: Floats
    is_unread: NDArray[np.bool_]


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


CRAWLS = [(share, endowment, seed) for share in (0.1, 0.3, 0.6) for endowment in (100, 1000)
          for seed in (1, 2)]  # fmt: skip


@pytest.fixture(scope="module")
def crawls() -> list[Crawled]:
    return [
        crawled(synthetic_web(Model.COPYING, 3000, seed), share, seed, endowment)
        for share, endowment, seed in CRAWLS
    ]


def median_errors(crawls: list[Crawled], name: str) -> Iterator[float]:
    """Yield the median relative error of the unread pages of each crawl."""
    for crawl in crawls:
        found, unread = getattr(crawl, name), crawl.is_unread
        yield float(np.median(np.abs(found - crawl.truth)[unread] / crawl.truth[unread]))


def test_unread_pages_have_a_quarter_of_the_error_of_their_cash(crawls: list[Crawled]) -> None:
    found, by_cash = ([*median_errors(crawls, name)] for name in ("estimated", "by_cash"))
    assert np.mean(found) < 0.075
    assert np.mean(found) < 0.25 * np.mean(by_cash)
    assert max(found) < 0.15


def test_all_pages_have_two_thirds_of_the_error_of_their_cash(crawls: list[Crawled]) -> None:
    off = [
        np.mean([np.abs(getattr(crawl, name) - crawl.truth).sum() for crawl in crawls])
        for name in ("estimated", "by_cash")
    ]
    assert off[0] < 0.65 * off[1]
    assert off[0] < 0.27


def test_unread_pages_are_in_the_order_of_pagerank(crawls: list[Crawled]) -> None:
    found = [
        float(spearmanr(crawl.estimated[crawl.is_unread], crawl.truth[crawl.is_unread])[0])
        for crawl in crawls
    ]
    assert min(found) > 0.75
    assert np.mean(found) > 0.86
