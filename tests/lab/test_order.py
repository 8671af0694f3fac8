"""Which order finds the important pages first, on synthetic webs and on a real one."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from minicrawl.graph.csr import Csr
from minicrawl.lab.convergence import true_importance
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.order import (
    FRACTIONS,
    SEEDS,
    Crawls,
    draw_seeds,
    order,
    spread,
)
from minicrawl.lab.webs import Exploration, Model, Web, synthetic_web, web_from_file, without_hosts
from minicrawl.opic.money import SMALL_EDGE
from minicrawl.progress import unreported
from tests.unmeasured import unmeasured

Masses = dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]


def masses(web: Web, orders: list[str], draws: int, endowment: int = 0) -> Masses:
    told: list[float] = []
    crawls = Crawls(draws=draws, seed=1, endowment=endowment)
    curves = order(web, orders=orders, crawls=crawls, progress=told.append)
    assert told[-1] == 1
    return {curve.order: np.array(curve.mass) for curve in curves}


@pytest.fixture(scope="module")
def on_synthetic_web() -> Masses:
    with unmeasured():
        web = synthetic_web(Model.COPYING, 20_000, seed=1)
        return masses(web, list(OF_AN_UNKNOWN_WEB), draws=2)


def up_to(fraction: float) -> int:
    return FRACTIONS.index(fraction) + 1


@pytest.mark.proof
def test_every_order_gathers_more_with_more_pages(on_synthetic_web: Masses) -> None:
    for name, mass in on_synthetic_web.items():
        assert (np.diff(mass) > 0).all(), name
        assert mass[0] > 0
        assert mass[-1] < 1


@pytest.mark.proof
def test_opic_is_at_or_above_recomputed_pagerank_for_the_first_fifth(
    on_synthetic_web: Masses,
) -> None:
    pagerank = on_synthetic_web["pagerank"][: up_to(0.2)]
    for name in ("opic", "opic-replay"):
        assert (on_synthetic_web[name][: up_to(0.2)] >= pagerank).all(), name


@pytest.mark.proof
def test_opic_gathers_nine_tenths_of_what_the_oracle_does(on_synthetic_web: Masses) -> None:
    """But for the first hundredth, which here is 200 pages."""
    opic, oracle = (on_synthetic_web[name][up_to(0.01) :] for name in ("opic", "oracle"))
    assert (opic >= 0.9 * oracle).all()


@pytest.mark.proof
def test_opic_beats_orders_that_do_not_look_at_importance(on_synthetic_web: Masses) -> None:
    for name in ("breadth-first", "random"):
        assert (on_synthetic_web["opic"] > on_synthetic_web[name]).all()


@pytest.mark.proof
def test_no_order_beats_the_oracle(on_synthetic_web: Masses) -> None:
    for mass in on_synthetic_web.values():
        assert (mass <= on_synthetic_web["oracle"]).all()


@pytest.mark.proof
def test_replays_help_the_order_on_the_synthetic_web(on_synthetic_web: Masses) -> None:
    assert (on_synthetic_web["opic-replay"] > on_synthetic_web["opic"]).all()


@pytest.mark.proof
def test_on_a_real_web_opic_is_what_it_is_expected_to_be(
    shared_graph: Callable[[str], Path],
) -> None:
    web = web_from_file(shared_graph("cnr-2000.edges.txt.gz"))
    expected = np.array([0.180, 0.273, 0.345, 0.463, 0.569, 0.741])
    # The others from the first of these seeds alone: they take most of the time of all tests.
    baselines = ["breadth-first", "backlink-count", "pagerank"]
    with unmeasured():
        endowed = masses(web, ["opic"], draws=3, endowment=1000)["opic"]
        compared = masses(web, ["opic", *baselines], draws=1, endowment=1000)
        unendowed = masses(web, ["opic"], draws=1)["opic"]
    assert endowed == pytest.approx(expected, abs=0.02)
    for name in baselines:
        assert (compared["opic"] >= compared[name]).all(), name
    assert (compared["opic"] > unendowed + 0.04).all()


def test_an_error_is_that_of_the_mean_over_the_draws() -> None:
    """1 and 3: a standard deviation of sqrt(2), and that of a mean of two is 1."""
    assert spread(np.array([[1.0, 5.0], [3.0, 5.0]])) == ([2.0, 5.0], [pytest.approx(1.0), 0.0])
    assert spread(np.array([[1.0]])) == ([1.0], None)


def test_a_gain_is_measured_draw_by_draw() -> None:
    web = synthetic_web(Model.COPYING, 500, seed=1)
    crawls = Crawls(draws=3, seed=1, endowment=0)
    opic, random = order(web, orders=["opic", "random"], crawls=crawls, progress=unreported)
    each = [
        order(
            web,
            orders=["opic", "random"],
            crawls=Crawls(draws=1, seed=seed, endowment=0),
            progress=unreported,
        )
        for seed in (1, 2, 3)
    ]
    gains = np.array([np.array(random.mass) - opic.mass for opic, random in each])
    assert opic.gain is None
    assert random.gain is not None
    assert random.gain.mean == pytest.approx(gains.mean(axis=0).tolist())
    assert random.gain.error == pytest.approx((gains.std(axis=0, ddof=1) / 3**0.5).tolist())


def test_the_same_seed_gives_the_same_numbers() -> None:
    web = synthetic_web(Model.COPYING, 500, seed=1)
    one, same = (masses(web, ["opic", "random"], draws=2) for _ in range(2))
    assert one["random"].tolist() == same["random"].tolist()


def test_a_crawl_that_runs_out_of_pages_keeps_what_it_has() -> None:
    """0 -> 1 -> 2, and 97 pages that nobody links to."""
    graph = Csr.from_edges(100, np.array([0, 1] * 1), np.array([1, 2]))
    mass = masses(without_hosts(graph), ["opic"], draws=1)["opic"]
    assert mass[-1] == mass[-2] < 0.2


def test_seeds_link_to_at_least_five_pages_where_there_are_such() -> None:
    web = synthetic_web(Model.POWER_LAW, 1000, seed=1)
    seeds = draw_seeds(web, seed=1, draw=0)
    assert len(set(seeds)) == SEEDS
    assert all(web.graph.out_degrees()[seed] >= 5 for seed in seeds)
    assert seeds != draw_seeds(web, seed=1, draw=1)


def test_in_a_web_with_few_links_the_pages_with_most_are_the_seeds() -> None:
    graph = Csr.from_edges(5, np.array([2, 2, 4]), np.array([0, 1, 2]))
    assert sorted(draw_seeds(without_hosts(graph), seed=1, draw=0)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", OF_AN_UNKNOWN_WEB)
def test_a_page_that_is_put_back_is_fetched_later(name: str) -> None:
    web = synthetic_web(Model.COPYING, 50, seed=1)
    crawl = Exploration(web, web.graph.adjacency(), true_importance(web.graph, SMALL_EDGE))
    crawl.start(draw_seeds(web, seed=1, draw=0), endowment=10)
    strategy = OF_AN_UNKNOWN_WEB[name](crawl, 1)
    strategy.born(range(SEEDS))
    first = strategy.take()
    assert first is not None
    strategy.put_back(first)
    assert {strategy.take() for _ in range(SEEDS)} == set(range(SEEDS))
    assert strategy.take() is None
