"""Refinement of a flow of cash to PageRank, with an error bound."""

from itertools import islice

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.opic.importance import estimate
from minicrawl.opic.importance.cash_flow import CashFlow, FlowBuilder, Refinement
from minicrawl.opic.importance.estimate import shares
from minicrawl.opic.ledger.books import Books, Spending, Step, StepKind
from minicrawl.opic.ledger.ledger import Ledger
from minicrawl.opic.ledger.money import PARTS, fixed_edge
from minicrawl.opic.windows.window import Static
from tests.graph.graphs import networkx_of
from tests.opic.cash_flows import EDGE, MANY, Floats, Spendings, flow_of


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


def test_many_links_are_refined_like_few() -> None:
    """A linked page gets 7/8 of 1,000 / 1,100 of what such a page has."""
    importance = refined(flow_of(1200, dict(enumerate(MANY))))
    linked = 1 / (1 - (1 - EDGE) * 1000 / 1100)
    assert importance == pytest.approx(shares(np.array([linked] * 1100 + [1.0] * 100)), abs=1e-9)


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
