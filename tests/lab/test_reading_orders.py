"""Orders of reading: each by hand, laws for all of them, and their curves on synthetic webs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from minicrawl.crawl.schedule.orders import PageQueue
from minicrawl.graph.csr import Csr
from minicrawl.graphfiles import read as read_graph
from minicrawl.lab.exploration import Exploration, fetched
from minicrawl.lab.importance_curves import FRACTIONS, SEEDS, Crawls, draw_seeds, order, spread
from minicrawl.lab.known_webs import true_importance
from minicrawl.lab.reading_orders import CRAWL_ORDERS
from minicrawl.lab.webs import Model, Web, synthetic_web, web_of, without_hosts
from minicrawl.opic.ledger.money import SMALL_EDGE
from minicrawl.ports import unreported
from tests.graph.graphs import Link, graph_of
from tests.proofs import IS_LONG

Masses = dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]

orders = pytest.mark.parametrize("name", CRAWL_ORDERS)


def a_crawl(web: Web, seeds: list[int]) -> Exploration:
    crawl = Exploration(web, web.graph.adjacency(), true_importance(web.graph, SMALL_EDGE))
    crawl.start(seeds, endowment=10)
    return crawl


def read(web: Web, name: str, seeds: list[int], at_once: int = 1, budget: int = 99) -> list[int]:
    crawl = a_crawl(web, seeds)
    return fetched(crawl, CRAWL_ORDERS[name](crawl, 1), budget, at_once)


def on_hosts(host: list[int], links: list[Link], site: list[int] | None = None) -> Web:
    numbers = np.array(host, dtype=np.int32)
    sites = numbers if site is None else np.array(site, dtype=np.int32)
    return Web(graph_of(len(host), links), numbers, sites)


def on_one_host(nodes: int, links: list[Link]) -> Web:
    return without_hosts(graph_of(nodes, links))


def test_the_worked_example_is_read_in_its_orders() -> None:
    web = on_one_host(4, [(0, 1), (0, 2), (1, 2), (2, 3)])
    wanted = {"oracle": [0, 2, 3, 1], "breadth-first": [0, 1, 2, 3], "opic": [0, 1, 2, 3]}
    for name, pages in wanted.items():
        crawl = Exploration(web, web.graph.adjacency(), np.array([0.1, 0.2, 0.4, 0.3]))
        crawl.start([0], 0)
        assert fetched(crawl, CRAWL_ORDERS[name](crawl, 1), 4) == pages


ONE_HOST = [0] * 6


@pytest.mark.parametrize(
    ("name", "hosts", "links", "seeds", "at_once", "wanted"),
    [
        # Page 0 gives its pot to 3 alone, page 1 a half of its pot to 2.
        ("opic", ONE_HOST[:5], [(0, 3), (1, 2), (1, 4)], [0, 1], 1, [0, 3, 1, 2, 4]),
        (
            "breadth-first",
            ONE_HOST,
            [(0, 4), (0, 2), (1, 5), (4, 3)],
            [0, 1],
            1,
            [0, 1, 2, 4, 5, 3],
        ),
        (
            *("backlink-count", ONE_HOST),
            [(0, 3), (0, 4), (1, 2), (1, 4), (2, 5), (3, 5)],
            *([0, 1], 1, [0, 3, 4, 5, 1, 2]),
        ),
        # With two requests at once page 1 waits for page 0 on its host, so page 2 goes first.
        ("breadth-first", [0, 0, 1], [(0, 1), (1, 2)], [0, 1, 2], 1, [0, 1, 2]),
        ("breadth-first", [0, 0, 1], [(0, 1), (1, 2)], [0, 1, 2], 2, [0, 2, 1]),
        # Page 0 lifts 2 above 1 once it is read; with both seeds in flight that is too late.
        ("opic", [0, 1, 2], [(0, 2)], [0, 1], 1, [0, 2, 1]),
        ("opic", [0, 1, 2], [(0, 2)], [0, 1], 2, [0, 1, 2]),
    ],
)
def test_orders_by_hand(
    name: str,
    hosts: list[int],
    links: list[Link],
    seeds: list[int],
    at_once: int,
    wanted: list[int],
) -> None:
    assert read(on_hosts(hosts, links), name, seeds, at_once) == wanted


def test_the_site_with_most_waiting_pages_comes_first() -> None:
    """Seeds 1 and 2 are on two hosts of a site, 3 and 4 on one host of another."""
    host, site = [0, 1, 2, 3, 3], [0, 0, 0, 1, 1]
    web = on_hosts(host, [(page, 0) for page in range(1, 5)], site)
    assert read(web, "larger-sites-first", list(range(5)))[:2] == [0, 1]


@orders
def test_every_reachable_page_is_fetched_once(name: str) -> None:
    web = synthetic_web(Model.COPYING, 100, seed=1)
    seeds = draw_seeds(web, seed=1, draw=0)
    reached = set(read(web, "breadth-first", seeds, budget=1000))
    found = read(web, name, seeds, budget=1000)
    assert sorted(found) == sorted(reached)


@orders
def test_no_two_requests_to_a_host_overlap(name: str) -> None:
    web = synthetic_web(Model.COPYING, 400, seed=1)
    crawl = a_crawl(web, draw_seeds(web, 1, 0))
    watched = Watched(CRAWL_ORDERS[name](crawl, 1), crawl)
    assert len(fetched(crawl, cast(PageQueue, watched), 203, at_once=8)) == 203
    assert watched.most == 8


class Watched:
    """Queue that passes all calls on, and checks that no host in use is taken again."""

    def __init__(self, queue: PageQueue, crawl: Exploration) -> None:
        self._queue, self._crawl = queue, crawl
        self._busy = set[int]()
        self.most = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queue, name)

    def take(self) -> int | None:
        page = self._queue.take()
        if page is not None:
            host = self._crawl.urls.host_of[page]
            assert host not in self._busy
            self._busy.add(host)
            self.most = max(self.most, len(self._busy))
        return page

    def resume(self, host: int) -> None:
        self._busy.discard(host)
        self._queue.resume(host)


def masses(web: Web, names: list[str], draws: int, endowment: int = 0) -> Masses:
    told: list[float] = []
    crawls = Crawls(draws=draws, seed=1, endowment=endowment)
    curves = order(web, orders=names, crawls=crawls, progress=told.append)
    assert told[-1] == 1
    return {curve.order: np.array(curve.mass) for curve in curves}


def up_to(fraction: float) -> int:
    return FRACTIONS.index(fraction) + 1


@pytest.mark.proof
def test_curves_compare_as_claimed() -> None:
    """Opic gathers nine tenths of what the oracle does; its first 200 pages do not count."""
    web = synthetic_web(Model.COPYING, 20_000, seed=1)
    found = masses(web, list(CRAWL_ORDERS), draws=2 if IS_LONG else 1)
    opic, oracle, start = found["opic"], found["oracle"], up_to(0.01)
    for name, mass in found.items():
        assert (np.diff(mass) > 0).all(), name
        assert 0 < mass[0] <= mass[-1] < 1
        assert (mass <= oracle).all(), name
    for name in ("opic", "opic-replay"):
        assert (found[name] >= found["pagerank"])[: up_to(0.2)].all(), name
    assert (opic[start:] >= 0.9 * oracle[start:]).all()
    for name in ("breadth-first", "random"):
        assert (opic > found[name]).all(), name
    assert (found["opic-replay"] > opic).all()


@pytest.mark.proof
@pytest.mark.timeout(1500)
def test_opic_gathers_the_expected_importance_of_a_real_web(
    shared_graph: Callable[[str], Path],
) -> None:
    path = shared_graph("cnr-2000.edges.txt.gz")
    web = web_of(read_graph(path), path)
    expected = np.array([0.180, 0.273, 0.345, 0.463, 0.569, 0.741])
    # Baselines get one draw only, since they take most of the time.
    baselines = ["breadth-first", "backlink-count", *(["pagerank"] if IS_LONG else [])]
    compared = masses(web, ["opic", *baselines], draws=1, endowment=1000)
    unendowed = masses(web, ["opic"], draws=1)["opic"]
    if IS_LONG:
        endowed = masses(web, ["opic"], draws=3, endowment=1000)["opic"]
        assert endowed == pytest.approx(expected, abs=0.02)
    assert compared["opic"] == pytest.approx(expected, abs=0.06)
    for name in baselines:
        assert (compared["opic"] >= compared[name]).all(), name
    assert (compared["opic"] > unendowed + 0.04).all()


def test_the_spread_is_the_standard_error_of_the_mean_of_draws() -> None:
    """Draws 1 and 3 have the standard deviation sqrt(2), and their mean has the error 1."""
    assert spread(np.array([[1.0, 5.0], [3.0, 5.0]])) == ([2.0, 5.0], [pytest.approx(1.0), 0.0])
    assert spread(np.array([[1.0]])) == ([1.0], None)


def test_gains_are_measured_draw_by_draw_and_seeds_fix_the_numbers() -> None:
    web = synthetic_web(Model.COPYING, 500, seed=1)
    names = ["opic", "random"]

    def curves(draws: int, seed: int) -> list[np.ndarray]:
        crawls = Crawls(draws=draws, seed=seed, endowment=0)
        return [
            np.array(one.mass)
            for one in order(web, orders=names, crawls=crawls, progress=unreported)
        ]

    crawls = Crawls(draws=3, seed=1, endowment=0)
    opic, random = order(web, orders=names, crawls=crawls, progress=unreported)
    gains = np.array([other - one for one, other in (curves(1, seed) for seed in (1, 2, 3))])
    assert opic.gain is None
    assert random.gain is not None
    assert random.gain.mean == pytest.approx(gains.mean(axis=0).tolist())
    assert random.gain.error == pytest.approx((gains.std(axis=0, ddof=1) / 3**0.5).tolist())
    assert random.mass == curves(3, 1)[1].tolist()


def test_a_crawl_that_runs_out_of_pages_keeps_its_mass() -> None:
    """0 -> 1 -> 2, and 97 pages without links."""
    graph = Csr.from_edges(100, np.array([0, 1]), np.array([1, 2]))
    mass = masses(without_hosts(graph), ["opic"], draws=1)["opic"]
    assert mass[-1] == mass[-2] < 0.2


def test_seeds_have_five_links_where_enough_pages_do() -> None:
    web = synthetic_web(Model.POWER_LAW, 1000, seed=1)
    seeds = draw_seeds(web, seed=1, draw=0)
    assert len(set(seeds)) == SEEDS
    assert all(web.graph.out_degrees()[seed] >= 5 for seed in seeds)
    assert seeds != draw_seeds(web, seed=1, draw=1)
    few = without_hosts(graph_of(5, [(2, 0), (2, 1), (4, 2)]))
    assert sorted(draw_seeds(few, seed=1, draw=0)) == [0, 1, 2, 3, 4]
