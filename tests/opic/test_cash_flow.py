"""Refinement converges to PageRank, and its error bound holds."""

from itertools import islice

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from minicrawl.opic import estimate
from minicrawl.opic.estimate import CashFlow, FlowBuilder, Refinement
from minicrawl.opic.ledger import Books, Ledger, Spending, Step, StepKind
from minicrawl.opic.money import PARTS, fixed_edge
from minicrawl.opic.windows import Static
from tests.graph.graphs import networkx_of

EDGE = 0.125
"""Small edge that is exact in whole parts, so that ledger, matrix and oracle agree."""
TIGHT = 1e-12

Floats = NDArray[np.float64]
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


def refined(flow: CashFlow, error: float = TIGHT) -> Floats:
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


def pagerank(pages: int, links: Spendings, weight: str | None = None) -> list[float]:
    graph = networkx_of(pages, [])
    for page, (targets, weights, *_) in links.items():
        for target, strength in zip(targets, weights or [1] * len(targets), strict=True):
            graph.add_edge(page, target, strength=strength)
    found = nx.pagerank(graph, alpha=1 - EDGE, tol=1e-14, max_iter=10_000, weight=weight)
    return [found[page] for page in range(pages)]


@st.composite
def webs(draw: st.DrawFn) -> tuple[int, Spendings]:
    """Draw pages without self-links; some are unread or have no links."""
    pages = draw(st.integers(2, 12))
    some = st.lists(st.integers(0, pages - 1), max_size=5, unique=True)
    links = {page: [to for to in draw(some) if to != page] for page in range(pages)}
    return pages, {page: Spending(sorted(links[page])) for page in draw(some)}


# ---------------------------------------------------------------- by hand


def test_pages_without_links_have_equal_importance() -> None:
    assert refined(flow_of(4, {})).tolist() == [0.25] * 4


def test_a_page_is_worth_its_dividend_and_what_flows_to_it() -> None:
    """Page 0 links to 1 and gives it 7/8 of its dividend u, so x = (1, 1 + 7/8) u."""
    assert refined(flow_of(2, {0: Spending([1])})) == pytest.approx([8 / 23, 15 / 23])


def test_cash_on_a_cycle_loses_the_edge_at_every_link() -> None:
    """0 and 1 link to each other: x = u + 7/8 x = 8 u. Page 2 has its dividend alone."""
    flow = flow_of(3, {0: Spending([1]), 1: Spending([0])})
    assert refined(flow) == pytest.approx([8 / 17, 8 / 17, 1 / 17])


def test_a_page_that_stands_for_another_gives_it_all() -> None:
    assert refined(flow_of(2, {}, {0: 1})) == pytest.approx([1 / 3, 2 / 3])


def test_an_idle_weight_stays_with_the_virtual_page() -> None:
    flow = flow_of(3, {0: Spending([1, 2], [1, 2], idle=1)})
    given = 7 / 8 / 4
    assert refined(flow) == pytest.approx(np.array([1, 1 + given, 1 + 2 * given]) / (3 + 3 * given))


def test_a_gift_of_focus_comes_out_of_the_edge() -> None:
    flow = flow_of(3, {0: Spending([1, 2], focus=[PARTS // 7, 0])})
    part = 7 / 16
    share = part * (1 + (PARTS // 7) / PARTS)
    assert refined(flow) == pytest.approx(
        np.array([1, 1 + share, 1 + part]) / (3 + share + part), abs=1e-9
    )


def test_links_that_all_have_weight_0_are_dropped() -> None:
    assert flow_of(3, {0: Spending([1, 2], [0, 0])}).links == 0


def test_focus_leaves_a_tenth_of_the_edge() -> None:
    """With a tenth of the edge e, x = u + (1 - e / 10) x."""
    focused = Spending([1], focus=[9 * PARTS]), Spending([0], focus=[9 * PARTS])
    flow = flow_of(3, dict(enumerate(focused)))
    assert flow.edge == pytest.approx(EDGE / 10)
    assert refined(flow) == pytest.approx(np.array([80, 80, 1]) / 161)


def test_a_small_edge_of_0_is_refused() -> None:
    with pytest.raises(ValueError, match="small edge must be above 0"):
        FlowBuilder(fixed_edge(0))


def test_weighted_links_may_follow_links_without_weights() -> None:
    rows = {0: Spending([1, 2]), 1: Spending([0, 2], [1, 3]), 2: Spending([0])}
    flow = flow_of(4, rows)
    assert flow.parts is not None
    assert len(flow.parts) == flow.links == 5
    assert refined(flow) == pytest.approx(pagerank(4, rows, weight="strength"), abs=1e-9)


# ---------------------------------------------------------------- oracles


@given(webs())
def test_refinement_agrees_with_pagerank(web: tuple[int, Spendings]) -> None:
    pages, links = web
    assert refined(flow_of(*web)) == pytest.approx(pagerank(pages, links), abs=1e-9)


@given(webs(), st.data())
def test_refinement_agrees_with_pagerank_by_weight(
    web: tuple[int, Spendings], data: st.DataObject
) -> None:
    pages, links = web
    weight = st.integers(1, 9)
    weighted = {
        page: Spending(targets, data.draw(st.tuples(*[weight] * len(targets))))
        for page, (targets, *_) in links.items()
    }
    expected = pagerank(pages, weighted, weight="strength")
    assert refined(flow_of(pages, weighted)) == pytest.approx(expected, abs=1e-9)


@given(webs(), st.data(), st.floats(0.02, 1), st.integers(0, 6))
def test_the_error_bound_holds(
    web: tuple[int, Spendings], data: st.DataObject, edge: float, rounds: int
) -> None:
    """Weights and focus are drawn, and page 0 stands for page 1."""
    pages, links = web
    number = st.integers(0, 3)
    rows = {}
    for page, (targets, *_) in links.items():
        kept = [target for target in targets if target]
        weights, focus = (data.draw(st.tuples(*[number] * len(kept))) for _ in range(2))
        rows[page] = Spending(kept, weights, [one * PARTS for one in focus], data.draw(number))
    rows.pop(0, None)
    flow = flow_of(pages, rows, {0: 1}, edge)
    refinement = Refinement(flow)
    for _ in islice(refinement.until(0), rounds):
        pass
    off = float(np.abs(refinement.importance - limit(flow)).sum())
    assert off <= refinement.error + 1e-12
    assert refinement.importance.sum() == pytest.approx(1)


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


def test_many_links_are_refined_like_few(monkeypatch: pytest.MonkeyPatch) -> None:
    few = refined(a_large_web())
    monkeypatch.setattr(estimate, "FEW_LINKS", 0)
    assert refined(a_large_web()) == pytest.approx(few, abs=1e-12)


# ---------------------------------------------------------------- from ranks that are there


def test_a_start_at_the_result_takes_no_round() -> None:
    flow = a_large_web()
    refinement = Refinement(flow, refined(flow))
    assert list(refinement.until(1e-10)) == []
    assert refinement.rounds == 0
    assert refinement.importance == pytest.approx(refined(flow))


def test_a_start_near_the_result_saves_rounds() -> None:
    flow = a_large_web()
    near = estimate.shares(refined(flow) * np.linspace(0.99, 1.01, flow.pages))
    cold, warm = Refinement(flow), Refinement(flow, near)
    assert len(list(warm.until(1e-6))) < len(list(cold.until(1e-6)))
    assert warm.importance == pytest.approx(cold.importance, abs=1e-6)


@given(webs(), st.data(), st.floats(0.02, 1), st.integers(0, 4))
def test_the_error_bound_holds_from_any_start(
    web: tuple[int, Spendings], data: st.DataObject, edge: float, rounds: int
) -> None:
    """All shares may lie on page 0, which stands for page 1."""
    pages, links = web
    rows = {
        page: Spending([target for target in targets if target])
        for page, (targets, *_) in links.items()
        if page
    }
    flow = flow_of(pages, rows, {0: 1}, edge)
    share = st.floats(0, 1)
    drawn = np.array(data.draw(st.lists(share, min_size=pages, max_size=pages)))
    refinement = Refinement(flow, estimate.shares(drawn))
    for _ in islice(refinement.until(0), rounds):
        pass
    off = float(np.abs(refinement.importance - limit(flow)).sum())
    assert off <= refinement.error + 1e-12
    assert refinement.error <= 2
    assert (refinement.importance >= -1e-15).all()
    assert refinement.importance.sum() == pytest.approx(1)


def test_a_larger_tolerance_takes_no_further_round() -> None:
    refinement = Refinement(a_large_web())
    list(refinement.until(1e-3))
    rounds = refinement.rounds
    assert list(refinement.until(0.1)) == []
    assert refinement.rounds == rounds


# ---------------------------------------------------------------- between groups of pages


def test_a_group_gets_what_flows_from_other_groups() -> None:
    """Page 0 has two links, one inside its group; page 1 has weights of 3 and 1."""
    rows = {0: Spending([1, 2]), 1: Spending([2, 3], weights=[3, 1]), 2: Spending([0])}
    flow = flow_of(4, rows)
    groups = np.array([0, 0, 1, 2], dtype=np.int32)
    found = flow.between(np.array([0.4, 0.2, 0.3, 0.1]), groups, 3)
    # The links carry .3 to group 0, .2 + .2 * 3/4 to group 1, and .2 / 4 to group 2, times 7/8.
    assert found.tolist() == pytest.approx([0.3 / 0.7, 0.35 / 0.7, 0.05 / 0.7])


def test_the_gift_of_a_page_that_stands_for_another_counts_in_full() -> None:
    flow = flow_of(3, {1: Spending([2])}, {0: 2})
    groups = np.array([0, 1, 2], dtype=np.int32)
    found = flow.between(np.array([0.5, 0.5, 0.0]), groups, 4)
    assert found.tolist() == [0, 0, 1, 0]
    groups = np.array([0, 1, 0], dtype=np.int32)
    assert flow.between(np.array([0.5, 0.5, 0.0]), groups, 2).tolist() == [1, 0]


def test_without_flow_between_groups_each_gets_0() -> None:
    flow = flow_of(3, {0: Spending([1, 2])})
    assert flow.between(np.ones(3) / 3, np.zeros(3, dtype=np.int32), 2).tolist() == [0, 0]


@given(webs(), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_flow_between_groups_agrees_with_a_sum_over_links(
    web: tuple[int, Spendings], drawn: list[int]
) -> None:
    pages, spendings = web
    groups = np.array(drawn[:pages], dtype=np.int32)
    flow = flow_of(pages, spendings)
    importance = refined(flow)
    given_to = np.zeros(4)
    for page, spending in spendings.items():
        for link in spending.links:
            if groups[page] != groups[link]:
                given_to[groups[link]] += importance[page] / len(spending.links)
    expected = given_to / given_to.sum() if given_to.any() else given_to
    assert flow.between(importance, groups, 4) == pytest.approx(expected, abs=1e-9)
