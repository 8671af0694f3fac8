"""Estimates of importance, refinement, and the proven share of PageRank."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import count, islice
from random import Random
from typing import NamedTuple

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from numpy.typing import NDArray
from scipy.stats import spearmanr

from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.lab.exploration import Exploration, fetched
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.webs import Model, Web, synthetic_web
from minicrawl.opic.importance import estimate
from minicrawl.opic.importance.cash_flow import CashFlow, FlowBuilder, Refinement
from minicrawl.opic.importance.estimate import Importance, Level, Sums, shares
from minicrawl.opic.importance.rank_mass import RankMass
from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import READ, Ledger
from minicrawl.opic.ledger.money import PARTS, SMALL_EDGE, UNIT, fixed_edge
from minicrawl.opic.ledger.plans import replay, visit
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.opic.windows.interpolation import Interpolation, interpolated
from minicrawl.opic.windows.window import Static
from tests.graph.graphs import graph_of, networkx_of
from tests.ranks.graphs import Matrix, fixpoint, through_virtual_page

Links = list[list[int]]
EDGE, MASS_EDGE = 0.125, 0.25
"""Small edges that are exact in whole parts, so that ledger, matrix and oracle agree."""


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


Floats = NDArray[np.float64]


def a_ledger(width: float = 8.0) -> Ledger:
    return Ledger(windows=[Interpolation(width)], small_edge=fixed_edge(0.125))


def read(ledger: Ledger, page: int, *links: int) -> None:
    ledger.post(visit(ledger, page, links))


# ---------------------------------------------------------------- by hand


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


# ---------------------------------------------------------------- against PageRank


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


Spendings = dict[int, Spending]


def flow_of(
    pages: int, spendings: Spendings, forwards: dict[int, int] | None = None, edge: float = EDGE
) -> CashFlow:
    builder = FlowBuilder(fixed_edge(edge))
    for page, target in (forwards or {}).items():
        builder.forward(page, target)
    for page, spending in spendings.items():
        builder.spend(page, spending)
    return builder.flow(pages)


def refined(flow: CashFlow, error: float = 1e-12) -> Floats:
    refinement = Refinement(flow)
    for _ in refinement.until(error):
        pass
    assert refinement.error <= error
    return refinement.importance


def limit(flow: CashFlow) -> Floats:
    """Solve x = u (I - W)^-1 by elimination."""
    shares = np.zeros((flow.pages, flow.pages))
    for row, giver in enumerate(flow.givers):
        for link in range(flow.starts[row], flow.starts[row + 1]):
            part = 1.0 if flow.parts is None else flow.parts[link]
            shares[giver, flow.targets[link]] += flow.shares[row] * part
    flowed = np.linalg.solve(np.eye(flow.pages) - shares.T, np.ones(flow.pages))
    return estimate.shares(flowed.astype(np.float64))


def pagerank(pages: int, links: Spendings) -> list[float]:
    graph = networkx_of(pages, [])
    for page, (targets, weights, *_) in links.items():
        for target, strength in zip(targets, weights or [1] * len(targets), strict=True):
            graph.add_edge(page, target, strength=strength)
    found = nx.pagerank(graph, alpha=1 - EDGE, tol=1e-14, max_iter=10_000, weight="strength")
    return [found[page] for page in range(pages)]


@st.composite
def webs(draw: st.DrawFn) -> tuple[int, Spendings]:
    """Draw pages without self-links; some are unread or have no links."""
    pages = draw(st.integers(2, 12))
    some = st.lists(st.integers(0, pages - 1), max_size=5, unique=True)
    links = {page: [to for to in draw(some) if to != page] for page in range(pages)}
    return pages, {page: Spending(sorted(links[page])) for page in draw(some)}


# ---------------------------------------------------------------- by hand


def test_links_that_all_have_weight_0_are_dropped() -> None:
    assert flow_of(3, {0: Spending([1, 2], [0, 0])}).links == 0


def test_focus_leaves_a_tenth_of_the_edge() -> None:
    """With a tenth of the edge e, x = u + (1 - e / 10) x."""
    focused = Spending([1], focus=[9 * PARTS]), Spending([0], focus=[9 * PARTS])
    flow = flow_of(3, dict(enumerate(focused)))
    assert flow.edge == pytest.approx(EDGE / 10)
    assert refined(flow) == pytest.approx(np.array([80, 80, 1]) / 161)


def test_a_small_edge_of_0_is_refused() -> None:
    with pytest.raises(ValueError, match=r"small edge.* 0"):
        FlowBuilder(fixed_edge(0))


# ---------------------------------------------------------------- oracles


def weighted(data: st.DataObject, links: Spendings) -> Spendings:
    """Draw weights for the links of some pages."""
    weight = st.integers(1, 9)
    return {
        page: Spending(targets, data.draw(st.just(()) | st.tuples(*[weight] * len(targets))))
        for page, (targets, *_) in links.items()
    }


@given(webs(), st.booleans(), st.data())
def test_refinement_agrees_with_pagerank(
    web: tuple[int, Spendings], has_weights: bool, data: st.DataObject
) -> None:
    pages, links = web
    if has_weights:
        links = weighted(data, links)
    assert refined(flow_of(pages, links)) == pytest.approx(pagerank(pages, links), abs=1e-9)


@pytest.mark.large
def test_replays_in_the_ledger_converge_to_the_refinement() -> None:
    """Pages 4 and 5 have no links, and page 3 stands for page 0."""
    spendings = {
        0: Spending([1, 2]),
        1: Spending([0, 3, 5], [2, 1, 1], (), 1),
        2: Spending([0, 4], (), (PARTS // 16, 0)),
        3: Spending([0]),
        4: Spending(()),
        5: Spending(()),
    }
    window = Static()
    ledger = Ledger(windows=[window], small_edge=fixed_edge(EDGE))
    books = Books(ledger, spendings.__getitem__)
    books.apply(Step(StepKind.BORN, born=6))
    books.apply(Step(StepKind.FORWARD, 3, spending=spendings[3]))
    for page in (0, 1, 2, 4, 5):
        books.apply(Step(StepKind.VISIT, page, spending=spendings[page]))
    for _ in range(30_000):
        richest = int(np.argmax(np.frombuffer(ledger.key, dtype=np.int64)))
        books.apply(Step(StepKind.REPLAY, spending=Spending([richest])))
    birth = estimate.minus_birth(window.history, ledger.cash_of_all(), ledger.recorded / (1 << 32))
    rows = {page: books.without_detours(page, spendings[page]) for page in (0, 1, 2, 4)}
    assert estimate.shares(birth) == pytest.approx(refined(flow_of(6, rows, {3: 0})), abs=1e-4)


# ---------------------------------------------------------------- rounds


def a_large_web() -> CashFlow:
    rng = np.random.default_rng(1)
    return flow_of(
        500,
        {page: Spending(np.unique(rng.integers(0, 500, 4)).tolist()) for page in range(0, 500, 2)},
    )


def test_the_error_falls_from_round_to_round() -> None:
    errors = list(Refinement(a_large_web()).until(1e-9))
    assert len(errors) > 10
    assert errors == sorted(errors, reverse=True)


MANY = [Spending(range(1100))] * 1000 + [Spending(())] * 200
"""A web of more than a million links: of 1,200 pages, 1,000 link to 1,100."""


def test_many_links_are_refined_like_few() -> None:
    """A linked page gets 7/8 of 1,000 / 1,100 of what such a page has."""
    importance = refined(flow_of(1200, dict(enumerate(MANY))))
    linked = 1 / (1 - (1 - EDGE) * 1000 / 1100)
    assert importance == pytest.approx(shares(np.array([linked] * 1100 + [1.0] * 100)), abs=1e-9)


# ---------------------------------------------------------------- from ranks that are there


def test_a_start_at_the_result_takes_no_round() -> None:
    flow = a_large_web()
    refinement = Refinement(flow, refined(flow))
    assert list(refinement.until(1e-10)) == []
    assert refinement.rounds == 0
    assert refinement.importance == pytest.approx(refined(flow))


@pytest.mark.slow
@pytest.mark.parametrize("is_cold", [True, False])
@given(web=webs(), data=st.data(), edge=st.floats(0.02, 1), rounds=st.integers(0, 6))
def test_the_error_bound_holds_from_any_start(
    is_cold: bool, web: tuple[int, Spendings], data: st.DataObject, edge: float, rounds: int
) -> None:
    """Weights and focus are drawn; all shares may lie on page 0, which stands for page 1."""
    pages, links = web
    number = st.integers(0, 3)
    rows = {}
    for page, (targets, *_) in links.items():
        kept = [target for target in targets if target]
        weights, focus = (data.draw(st.tuples(*[number] * len(kept))) for _ in range(2))
        rows[page] = Spending(kept, weights, [one * PARTS for one in focus], data.draw(number))
    rows.pop(0, None)
    flow = flow_of(pages, rows, {0: 1}, edge)
    share = st.floats(0, 1)
    drawn = np.array(data.draw(st.lists(share, min_size=pages, max_size=pages)))
    refinement = Refinement(flow) if is_cold else Refinement(flow, estimate.shares(drawn))
    for _ in islice(refinement.until(0), rounds):
        pass
    off = float(np.abs(refinement.importance - limit(flow)).sum())
    assert off <= refinement.error + 1e-12
    assert refinement.error <= 2
    assert (refinement.importance >= -1e-15).all()
    assert refinement.importance.sum() == pytest.approx(1)


@given(before=webs(), after=webs(), data=st.data())
def test_after_any_change_the_last_ranks_lead_to_pagerank(
    before: tuple[int, Spendings], after: tuple[int, Spendings], data: st.DataObject
) -> None:
    """Links of some pages change, pages are new, and the ranks of pages that are gone are 0."""
    pages, links = before
    more, others = after
    size = max(pages, more)
    changes = data.draw(st.sets(st.integers(0, size - 1)))
    links = links | {page: row for page, row in others.items() if page in changes}
    last = np.append(refined(flow_of(*before), 1e-6), np.zeros(size - pages))
    refinement = Refinement(flow_of(size, links), last)
    assert refinement.error <= Refinement(flow_of(size, links)).error
    list(refinement.until(1e-9))
    off = np.abs(refinement.importance - pagerank(size, links)).sum()
    assert off <= refinement.error + 1e-12 <= 1e-9 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("has_weights", [False, True])
def test_after_a_change_only_pages_near_it_spend(has_weights: bool) -> None:
    """Of 1,000 rings half are read; a page of the first then leads to another."""
    rings = {
        page: Spending([page // 10 * 10 + (page + 1) % 10], [2] if has_weights else ())
        for page in range(10_000)
        if page % 20 < 10
    }
    last, rings[5] = refined(flow_of(10_000, rings), 1e-13), Spending([20])
    flow = flow_of(10_000, rings)
    refinement = Refinement(flow, last)
    list(refinement.until(1e-9))
    assert refinement.links_followed < 1.3 * flow.links
    off = np.abs(refinement.importance - refined(flow, 1e-13)).sum()
    assert off <= refinement.error + 1e-12


def test_a_start_without_links_takes_no_round() -> None:
    refinement = Refinement(flow_of(3, {}), np.array([1.0, 0.0, 0.0]))
    assert list(refinement.until(1e-9)) == []
    assert refinement.importance.tolist() == [1 / 3] * 3


# ---------------------------------------------------------------- between groups of pages


def test_the_gift_of_a_page_that_stands_for_another_counts_in_full() -> None:
    flow = flow_of(3, {1: Spending([2])}, {0: 2})
    groups = np.array([0, 1, 2], dtype=np.int32)
    found = flow.between(np.array([0.5, 0.5, 0.0]), groups, 4)
    assert found.tolist() == [0, 0, 1, 0]
    groups = np.array([0, 1, 0], dtype=np.int32)
    assert flow.between(np.array([0.5, 0.5, 0.0]), groups, 2).tolist() == [1, 0]


@given(webs(), st.lists(st.integers(0, 3), min_size=12, max_size=12), st.data())
def test_flow_between_groups_agrees_with_a_sum_over_links(
    web: tuple[int, Spendings], drawn: list[int], data: st.DataObject
) -> None:
    pages, spendings = web[0], weighted(data, web[1])
    groups = np.array(drawn[:pages], dtype=np.int32)
    flow = flow_of(pages, spendings)
    importance = refined(flow)
    given_to = np.zeros(4)
    for page, (links, weights, *_) in spendings.items():
        parts = np.array(weights or [1] * len(links)) / max(sum(weights) or len(links), 1)
        for link, part in zip(links, parts, strict=True):
            if groups[page] != groups[link]:
                given_to[groups[link]] += importance[page] * part
    expected = given_to / given_to.sum() if given_to.any() else given_to
    assert flow.between(importance, groups, 4) == pytest.approx(expected, abs=1e-9)


Rows = Sequence[Spending]


def mass_of(web: Rows, read: set[int], seeds: dict[int, int], edge: float = MASS_EDGE) -> RankMass:
    spendings = {page: web[page] for page in sorted(read)}
    return RankMass(flow_of(len(web), spendings, edge=edge), seeds, edge)


def among(pages: int, some: set[int]) -> NDArray[np.bool_]:
    return np.isin(np.arange(pages), list(some))


def proven(
    web: Rows, read: set[int], seeds: dict[int, int], refused: frozenset[int] = frozenset()
) -> float:
    mass, pages = mass_of(web, read, seeds), len(web)
    is_open = ~among(pages, read | refused)
    mass.move(is_open, lambda: True)
    return mass.share(among(pages, read), is_open)


def truth(web: Rows, read: set[int], seeds: dict[int, int], refused: frozenset[int]) -> float:
    """PageRank of the whole web with jumps to the seeds, by elimination."""
    shares = np.zeros((len(web), len(web)))
    for page, spending in enumerate(web):
        weights = spending.weights or [1] * len(spending.links)
        total = sum(weights) + spending.idle
        for link, weight in zip(spending.links, weights, strict=True):
            if total and page not in refused:
                shares[page, link] += (1 - MASS_EDGE) * weight / total
    jumps = np.zeros(len(web))
    jumps[list(seeds)] = list(seeds.values())
    flow = np.linalg.solve(np.eye(len(web)) - shares.T, jumps / jumps.sum())
    counted = flow[~among(len(web), set(refused))].sum()
    return float(flow[list(read)].sum() / counted) if read else 0.0


@st.composite
def crawls(draw: st.DrawFn) -> tuple[Rows, set[int], dict[int, int], frozenset[int]]:
    """Draw a web of which some pages are read and others refused."""
    pages = draw(st.integers(2, 10))
    some = st.lists(st.integers(0, pages - 1), max_size=5, unique=True)
    web = []
    for page in range(pages):
        links = sorted(set(draw(some)) - {page})
        weights = st.lists(st.integers(0, 3), min_size=len(links), max_size=len(links))
        given_weights = draw(st.one_of(st.just([]), weights)) if links else []
        idle = draw(st.integers(0, 2)) if given_weights else 0
        web.append(Spending(links, given_weights, idle=idle))
    seeds = draw(st.dictionaries(st.integers(0, pages - 1), st.integers(1, 9), min_size=1))
    read = set(draw(some))
    return web, read, seeds, frozenset(set(draw(some)) - read - seeds.keys())


LINKED_ALIKE = [Spending((1, 2)), Spending((0,)), Spending((1,))]


def test_the_share_is_exact_if_unread_pages_link_only_to_each_other() -> None:
    """No web behind the unread pages is worse, so no larger share could be proven."""
    web = [Spending((1, 2)), Spending((0,)), Spending((3,)), Spending((2,))]
    exact = truth(web, {0, 1}, {0: 1}, frozenset())
    assert proven(web, {0, 1}, {0: 1}) == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize(
    ("read", "seeds", "share"),
    [
        pytest.param(set(), {0: 1}, 0.0, id="nothing was read"),
        pytest.param({0, 1, 2}, {0: 1}, 1.0, id="everything was read"),
        pytest.param({1}, {0: 1}, 0.0, id="the seed was not read"),
        pytest.param({0}, {0: 1}, MASS_EDGE, id="all links of read pages lead to unread ones"),
    ],
)
def test_the_share_in_extreme_crawls(read: set[int], seeds: dict[int, int], share: float) -> None:
    assert proven(LINKED_ALIKE, read, seeds) == pytest.approx(share, abs=1e-3)


def test_refused_pages_do_not_count() -> None:
    web = [Spending((1, 2)), Spending(()), Spending((0,))]
    refused = frozenset({2})
    assert proven(web, {0}, {0: 1}, refused) == pytest.approx(1 / (1 + 0.375 / MASS_EDGE), abs=1e-3)


@given(crawls(), st.frozensets(st.integers(0, 9)))
@example((LINKED_ALIKE, {0, 1}, {0: 1}, frozenset()), frozenset())
def test_more_rounds_prove_more_and_never_too_much(
    crawl: tuple[Rows, set[int], dict[int, int], frozenset[int]], some: frozenset[int]
) -> None:
    """Some pages wait for another turn, and count as unread."""
    web, read, seeds, refused = crawl
    again = some & set(range(len(web))) - read - refused
    is_read, is_open = among(len(web), read), ~among(len(web), read | refused)
    shares = []
    for rounds in (0, 1, 2, 3, 1 << 20):
        mass, left = mass_of(web, read | again, seeds), count(rounds, -1)
        mass.move(is_open, lambda left=left: next(left) > 0)  # type: ignore[misc]
        shares.append(mass.share(is_read, is_open))
    assert shares == sorted(shares)
    assert shares[-1] <= truth(*crawl) + 1e-9


@given(crawls(), st.sampled_from([0.01, 0.15, 0.5]))
def test_no_atom_is_created(
    crawl: tuple[Rows, set[int], dict[int, int], frozenset[int]], edge: float
) -> None:
    """Returned and waiting atoms are never more than the seeds had."""
    web, read, seeds, refused = crawl
    mass = mass_of(web, read, seeds, edge)
    mass.move(~among(len(web), read | refused), lambda: True)
    atoms = [Fraction(amount) for amount in mass.waiting.tolist()]
    assert all(amount.denominator == 1 for amount in atoms)
    assert 0 <= sum(atoms) + mass.returned <= mass.atoms < 2**52


def test_many_links_prove_the_same_share_as_few() -> None:
    """Of the flow of read pages, which begins at page 0, 1,000 / 1,100 return to them."""
    share = MASS_EDGE / (1 - (1 - MASS_EDGE) * 1000 / 1100)
    assert proven(MANY, set(range(1000)), {0: 1}) == pytest.approx(share, abs=1e-3)
