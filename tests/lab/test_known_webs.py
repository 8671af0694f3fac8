"""Windows on webs that change, and freshness against theory."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from minicrawl.graph.csr import Csr
from minicrawl.lab.changing_webs import (
    ChangingWeb,
    Watching,
    WindowPoint,
    WindowPolicy,
    drawn_windows,
    windows,
)
from minicrawl.lab.freshness import (
    Days,
    FreshPoint,
    SitemapTruth,
    best_possible,
    freshness,
)
from minicrawl.lab.known_webs import RichestRead, read, true_importance
from minicrawl.lab.webs import Model, synthetic_web
from minicrawl.opic.importance.estimate import rising, shares
from minicrawl.opic.ledger.ledger import READ, Ledger, restate
from minicrawl.opic.ledger.money import one_more_link
from minicrawl.opic.windows.interpolation import Interpolation
from tests.lab.rereading import HubWeb, nights
from tests.proofs import IS_LONG

VARIABLE_4, INTERPOLATION_8 = WindowPolicy("variable", 4), WindowPolicy("interpolation", 8)
STATIC, BUSY = WindowPolicy("static", 1), 0.1
SEED = 1
Found = dict[tuple[WindowPolicy, float], WindowPoint]


def watched(
    graph: Csr, policies: Iterable[WindowPolicy], rates: Iterable[float], watching: Watching
) -> Found:
    told: list[float] = []
    points = windows(
        graph, policies=list(policies), rates=list(rates), watching=watching, progress=told.append
    )
    assert told == sorted(told)
    assert told[-1] == pytest.approx(1)
    return {(point.policy, point.rate): point for point in points}


def of_all(found: Found, policy: WindowPolicy, rate: float) -> float:
    return found[policy, rate].errors.error_all


def test_windows_recover_from_a_cold_start() -> None:
    graph = synthetic_web(Model.POWER_LAW, 1000, SEED).graph
    early, late = (
        watched(graph, [INTERPOLATION_8, STATIC], [0], Watching(laps=laps, warm_up=0))
        for laps in (2, 12)
    )
    for policy in (INTERPOLATION_8, STATIC):
        assert of_all(late, policy, 0) < of_all(early, policy, 0) / 3


def test_points_of_draws_are_means_with_standard_errors() -> None:
    graphs = [synthetic_web(Model.POWER_LAW, 60, seed).graph for seed in (1, 2, 3)]
    start, told = Watching(laps=2, warm_up=1, seed=5), list[float]()
    (point,) = drawn_windows(
        graphs, policies=[VARIABLE_4], rates=[BUSY], starts=[start], progress=told.append
    )
    drawn = [
        watched(graph, [VARIABLE_4], [BUSY], replace(start, seed=5 + draw))[VARIABLE_4, BUSY]
        for draw, graph in enumerate(graphs)
    ]
    found = np.array([draw.errors.error_top10 for draw in drawn])
    assert point.errors.error_top10 == pytest.approx(found.mean())
    assert point.standard_error is not None
    assert point.standard_error.error_top10 == pytest.approx(found.std(ddof=1) / 3**0.5)
    assert point.measures_per_page == pytest.approx(np.mean([d.measures_per_page for d in drawn]))
    assert told == sorted(told)
    (alone,) = drawn_windows(
        graphs[:1], policies=[VARIABLE_4], rates=[BUSY], starts=[start], progress=told.append
    )
    assert alone == drawn[0]


def test_a_default_history_helps_important_pages_and_harms_the_mean_of_all() -> None:
    graph = synthetic_web(Model.POWER_LAW, 500, SEED).graph
    policies = [STATIC, INTERPOLATION_8]
    both = [*policies, *(replace(policy, default_history=True) for policy in policies)]
    calm, busy = (
        watched(graph, both, [0], Watching(laps=4, warm_up=20, births=share, seed=SEED))
        for share in (0, 0.05)
    )
    for policy in policies:
        with_history = replace(policy, default_history=True)
        assert calm[with_history, 0].errors == calm[policy, 0].errors
        assert busy[with_history, 0].errors.error_top10 < busy[policy, 0].errors.error_top10
    assert of_all(busy, both[3], 0) > of_all(busy, INTERPOLATION_8, 0)
    assert [str(policy) for policy in both[2:]] == ["static+history", "interpolation 8+history"]


def test_pages_that_gain_importance_rise_and_others_fall() -> None:
    """Rising, which knows only cash, is compared with the growth of true importance."""
    graph = synthetic_web(Model.POWER_LAW, 1500, SEED).graph
    window = Interpolation(16)
    ledger = Ledger(windows=[window], small_edge=one_more_link)
    ledger.mint(graph.nodes, pool=READ)
    before = shares(true_importance(graph))
    restate(ledger, before)
    greedy = RichestRead(ledger)
    web = ChangingWeb(graph, Random(SEED))
    read(ledger, greedy, web.links, 20 * graph.nodes)
    changed = np.argsort(-before)[::20]
    for page in changed.tolist():
        web.change(page)
    told = []
    for _ in range(10):
        read(ledger, greedy, web.links, graph.nodes // 10)
        told.append(rising(ledger.cash_of_all(), *window.flows(ledger.now, ledger.circulation)))
    growth = shares(true_importance(web.graph())) / before
    risen, fallen = growth > 1.3, growth < 0.75
    assert min(risen.sum(), fallen.sum()) > 10
    mean = np.nanmean(told, axis=0)
    assert np.median(mean[risen]) > 1.1 > np.median(mean) > 0.9 > np.median(mean[fallen])


def test_windows_store_as_many_measures_a_page_as_they_need() -> None:
    graph, policies = synthetic_web(Model.POWER_LAW, 60, SEED).graph, [STATIC, INTERPOLATION_8]
    policies += [WindowPolicy("adaptive", 8), VARIABLE_4, WindowPolicy("variable", 8, most=2)]
    found = watched(graph, policies, [0], Watching(laps=10, warm_up=20))
    assert [found[policy, 0].measures_per_page for policy in policies] == [1, 1, 2, 4, 2]


def in_degrees(web: ChangingWeb) -> Counter[int]:
    return Counter(page for links in web.links for page in links)


def test_a_change_halves_or_doubles_links_and_the_next_one_undoes_it() -> None:
    ring = np.arange(40)
    around = np.concatenate([(ring + step) % 40 for step in range(1, 7)])
    graph = Csr.from_edges(40, np.tile(ring, 6), around)
    web = ChangingWeb(graph, Random(1))
    seen = set()
    for page in range(40):
        web.change(page)
        seen.add(in_degrees(web)[page])
        web.change(page)
        assert in_degrees(web)[page] == 6
    assert seen == {3, 12}


def test_links_to_a_changed_page_come_from_different_other_pages() -> None:
    web = ChangingWeb(synthetic_web(Model.POWER_LAW, 300, seed=2).graph, Random(2))
    for page in list(range(300)) * 2:
        web.change(page)
        linking = [source for source, links in enumerate(web.links) if page in links]
        assert in_degrees(web)[page] == len(linking)
        assert page not in linking


def test_a_page_gets_no_more_links_than_there_are_other_pages() -> None:
    everybody = [(source, 0) for source in range(1, 4)]
    graph = Csr.from_edges(4, *np.array(everybody).T)
    web = ChangingWeb(graph, Random(1))
    for _ in range(20):
        web.change(0)
        assert in_degrees(web)[0] in {2, 3}


def test_a_changed_web_is_a_graph() -> None:
    graph = synthetic_web(Model.POISSON, 100, seed=3).graph
    web = ChangingWeb(graph, Random(1))
    assert web.graph().adjacency() == graph.adjacency()
    web.change(7)
    assert [sorted(links) for links in web.links] == web.graph().adjacency()


def replaced(graph: Csr, deaths: int) -> ChangingWeb:
    web = ChangingWeb(graph, Random(4))
    for _ in range(deaths):
        web.replace_any()
    return web


def test_a_new_page_replaces_a_dead_one_with_as_many_links_in_and_out() -> None:
    graph = synthetic_web(Model.POWER_LAW, 300, seed=2).graph
    web = ChangingWeb(graph, Random(4))
    degrees = in_degrees(web)
    links = [list(one) for one in web.links]
    web.replace_any()
    (dead,) = set(range(300)) - set(web.living)
    assert sorted(web.living) == sorted({*range(301)} - {dead})
    assert (web.links[dead], in_degrees(web)[dead]) == ([], 0)
    assert sorted(web.links[300]) == sorted(links[dead])
    assert in_degrees(web)[300] == degrees[dead]
    others = set(range(300)) - {dead}
    assert all(in_degrees(web)[page] == degrees[page] for page in others)


def test_no_page_links_to_a_dead_one() -> None:
    web = replaced(synthetic_web(Model.POWER_LAW, 200, seed=2).graph, 300)
    for _ in range(200):
        web.change_any()
    assert len(web.living) == 200
    living = set(web.living)
    for page, links in enumerate(web.links):
        assert living.issuperset(links)
        assert page in living or not links


DAYS = Days(warm_up=10, counted=20, seed=1)
WEB = synthetic_web(Model.COPYING, 200 if IS_LONG else 100, 1)


def test_the_best_rates_of_equal_pages_are_equal() -> None:
    equal = np.full(10, 0.1)
    assert best_possible(equal, np.full(10, 2.0), 30) == pytest.approx(3 / (3 + 2))


def test_no_other_rates_are_better_than_the_best() -> None:
    rng = np.random.default_rng(1)
    importance, rates = rng.dirichlet(np.ones(8)), rng.exponential(size=8)
    best = best_possible(importance, rates, 5)
    for share in rng.dirichlet(np.ones(8), size=1000):
        readings = 5 * share
        assert (importance * readings / (readings + rates)).sum() <= best + 1e-9


@pytest.fixture(scope="module")
def fresh_points() -> dict[tuple[str, SitemapTruth], FreshPoint]:
    found = freshness(WEB, [0.2], DAYS, lambda _: None)
    return {(point.order.strategy, point.order.sitemap): point for point in found}


@pytest.mark.slow
def test_siblings_beat_breadth_first_and_breadth_first_beats_random(
    fresh_points: dict[tuple[str, SitemapTruth], FreshPoint],
) -> None:
    random, breadth_first, ours = (
        fresh_points[strategy, SitemapTruth.NONE].freshness
        for strategy in ("random", "breadth-first", "siblings")
    )
    assert random < breadth_first < ours


def test_honest_sitemaps_help_and_wrong_ones_cost_little(
    fresh_points: dict[tuple[str, SitemapTruth], FreshPoint],
) -> None:
    ours = {sitemap: fresh_points["siblings", sitemap].freshness for sitemap in SitemapTruth}
    assert ours[SitemapTruth.HONEST] > ours[SitemapTruth.NONE]
    assert min(ours[SitemapTruth.NEVER], ours[SitemapTruth.ALWAYS]) > ours[SitemapTruth.NONE] - 0.03


@pytest.mark.slow
def test_nightly_updates_save_half_of_the_unchanged_reads_and_miss_little() -> None:
    found = list(nights(WEB, DAYS))
    for none, honest in zip(
        found[:: len(SitemapTruth)], found[1 :: len(SitemapTruth)], strict=True
    ):
        assert (none.sitemap, honest.sitemap) == (SitemapTruth.NONE, SitemapTruth.HONEST)
        assert none.requested == 1
        assert honest.unchanged < none.unchanged / 2
        assert honest.missed == 0
    assert max(one.missed for one in found) <= 0.02


@pytest.mark.slow
def test_a_reward_for_new_links_finds_them_earlier() -> None:
    web, days = synthetic_web(Model.COPYING, 300, 1), Days(warm_up=10, counted=20, seed=1)
    ignored, rewarded = (HubWeb(web, days, rewards=rewards) for rewards in (False, True))
    without, _ = ignored.read_all_day("siblings", 0.2, days, lambda _: None)
    with_them, _ = rewarded.read_all_day("siblings", 0.2, days, lambda _: None)
    (fewer, late), (more, early) = ignored.end(), rewarded.end()
    assert early < 0.8 * late
    assert more >= fewer
    assert with_them > 0.97 * without
