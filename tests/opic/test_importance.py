"""The estimate of a crawl, by hand, and against PageRank of what the crawl knows."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import spearmanr

from minicrawl.lab.convergence import true_importance
from minicrawl.lab.webs import Exploration, Greedy, Model, Web, synthetic_web
from minicrawl.opic.convergence import FlowBuilder, Refinement
from minicrawl.opic.estimate import Importance, Level, Sums, shares
from minicrawl.opic.ledger import READ, Ledger, Spending, visit
from minicrawl.opic.money import SMALL_EDGE, UNIT, fixed_edge
from minicrawl.opic.windows import WINDOWS, Interpolation, Static, interpolated

Floats = NDArray[np.float64]


def a_ledger(width: float = 8.0) -> Ledger:
    return Ledger(windows=[Interpolation(width)], small_edge=fixed_edge(0.125))


def read(ledger: Ledger, page: int, *links: int) -> None:
    ledger.post(visit(ledger, page, links))


# ---------------------------------------------------------------- by hand


def test_before_any_page_was_read_all_are_alike_whoever_was_endowed() -> None:
    ledger = a_ledger()
    ledger.endow(ledger.mint(3)[:1], 9)
    assert shares(Importance(ledger).of_all()).tolist() == pytest.approx([1 / 3] * 3)


def test_a_page_is_worth_the_base_and_what_links_gave_it() -> None:
    """Page 0 hands on its unit, an eighth of it to the virtual page: 7/16 to each of 1 and 2.

    c = mean(h - r) = 1 and x = c + r. The one page read holds only what the virtual page gave, and
    that is next to nothing to its links.
    """
    ledger = a_ledger()
    ledger.mint(4)
    read(ledger, 0, 1, 2)
    found = Importance(ledger).of_all()
    assert found / found[3] == pytest.approx([1, 1 + 7 / 16, 1 + 7 / 16, 1], abs=0.02)


def test_what_seeds_were_endowed_with_is_no_importance_of_theirs() -> None:
    ledger = a_ledger()
    ledger.mint(4)
    ledger.endow([3], 50)
    read(ledger, 3, 0)
    read(ledger, 0, 1, 2)
    found = shares(Importance(ledger).of_all())
    assert found[3] < found[1] < found[0]


def test_an_endowment_goes_with_a_seed_that_moved() -> None:
    ledger = a_ledger()
    ledger.mint(4)
    ledger.endow([3], 50)
    read(ledger, 3, 0)
    read(ledger, 0, 1, 2)
    moved = Importance(ledger, stands_for=lambda page: 0 if page == 3 else page)
    assert moved.of_all()[0] < Importance(ledger).of_all()[0]


def test_when_all_cash_has_gone_round_the_whole_unit_is_left_out() -> None:
    """As (H + C - C0) / G, the law of a set of pages that does not change."""
    window = Static()
    ledger = Ledger(windows=[window], small_edge=fixed_edge(0.125))
    ledger.mint(3, pool=READ)
    for page in (0, 1, 2) * 4:
        read(ledger, page, (page + 1) % 3, (page + 2) % 3 if page else 1)
    expected = window.history + ledger.cash_of_all() - 1
    assert Importance(ledger).of_all() == pytest.approx(expected * (
        Importance(ledger).of_all().sum() / expected.sum()
    ))  # fmt: skip


def test_sums_of_slices_are_those_of_the_whole() -> None:
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


def test_a_window_that_is_not_one_history_judges_by_itself() -> None:
    window = WINDOWS["variable"](8.0, None)
    ledger = Ledger(windows=[window])
    ledger.mint(2)
    read(ledger, 0, 1)
    assert Importance(ledger).sums() == Sums()
    expected = window.importance(ledger.cash_of_all(), ledger.now, ledger.circulation)
    assert Importance(ledger).of_all().tolist() == expected.tolist()


@pytest.mark.parametrize(("change", "flow"), [(0, 16), (1, 16 * (1 - 2 / 8) + 1), (0.5, 14.5)])
def test_the_flow_is_between_the_history_and_what_is_left_of_it_with_the_cash(
    change: float, flow: float
) -> None:
    one = np.array([16.0]), np.array([1.0]), np.array([2.0])
    assert interpolated(*one, 8, change) == pytest.approx([flow])


def test_where_cash_is_what_was_promised_nothing_changes() -> None:
    estimate = Importance(a_ledger())
    estimate._ledger.recorded = UNIT
    sums = Sums(read=1, held=1, age=0, chance=0.5, deviation=0.25)
    assert estimate.level(sums).change == 0
    assert estimate.level(sums._replace(deviation=2.0)).change == 0.75
    assert Level().change == 1


# ---------------------------------------------------------------- against PageRank


class Crawled(NamedTuple):
    """A crawl that was broken off, with PageRank of the pages that it knows."""

    estimated: Floats
    by_cash: Floats
    truth: Floats
    is_unread: NDArray[np.bool_]


def crawled(web: Web, share: float, seed: int, endowment: int) -> Crawled:
    """By cash, until this share of the pages was read."""
    links = web.graph.adjacency()
    crawl = Exploration(web, links, true_importance(web.graph, SMALL_EDGE))
    ledger, window = crawl.ledger, Interpolation(8.0)
    ledger.windows = [window]
    well_linked = [page for page, row in enumerate(links) if len(row) >= 5]
    crawl.start(Random(seed).sample(well_linked, 10), endowment)
    order, flow = Greedy(ledger), FlowBuilder(ledger.small_edge)
    order.born(range(len(ledger)))
    for _ in range(int(share * web.graph.nodes)):
        page = order.take()
        assert page is not None
        targets, born = crawl.links_of(page)
        flow.spend(page, Spending(targets))
        order.born(born)
        plan = visit(ledger, page, targets)
        ledger.post(plan)
        order.settled(plan)
    converged = Refinement(flow.flow(len(ledger)))
    for _ in converged.until(1e-8):
        """Another round."""
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
    """The median relative error of the unread pages of each crawl."""
    for crawl in crawls:
        found, unread = getattr(crawl, name), crawl.is_unread
        yield float(np.median(np.abs(found - crawl.truth)[unread] / crawl.truth[unread]))


def test_unread_pages_have_a_quarter_of_the_error_of_their_cash(crawls: list[Crawled]) -> None:
    found, by_cash = ([*median_errors(crawls, name)] for name in ("estimated", "by_cash"))
    assert np.mean(found) < 0.075
    assert np.mean(found) < 0.25 * np.mean(by_cash)
    assert max(found) < 0.15


def test_all_pages_together_are_less_far_off(crawls: list[Crawled]) -> None:
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
