"""Requests at once and one a host, by hand and as a law for every order."""

import numpy as np
import pytest

from minicrawl.graph.csr import Csr
from minicrawl.lab.convergence import true_importance
from minicrawl.lab.discovery import OF_AN_UNKNOWN_WEB
from minicrawl.lab.order import PoliteCrawl, draw_seeds
from minicrawl.lab.webs import Exploration, Model, Web, synthetic_web
from minicrawl.opic.money import SMALL_EDGE


def a_crawl(web: Web, seeds: list[int]) -> Exploration:
    crawl = Exploration(web, web.graph.adjacency(), true_importance(web.graph, SMALL_EDGE))
    crawl.start(seeds, endowment=10)
    return crawl


def fetched(web: Web, order: str, seeds: list[int], at_once: int, budget: int) -> list[int]:
    crawl = a_crawl(web, seeds)
    return PoliteCrawl(crawl, OF_AN_UNKNOWN_WEB[order](crawl, 1), at_once).fetch(budget)


def hosts(host: list[int], sources: list[int], targets: list[int]) -> Web:
    numbers = np.array(host, dtype=np.int32)
    graph = Csr.from_edges(len(host), np.array(sources), np.array(targets))
    return Web(graph, numbers, numbers)


def test_a_busy_host_is_passed_over() -> None:
    """Seeds 0, 1 and 2, breadth-first, two at once: 1 is on the host of 0, so 2 goes first."""
    web = hosts([0, 0, 1], [0, 1], [1, 2])
    assert fetched(web, "breadth-first", [0, 1, 2], 1, 3) == [0, 1, 2]
    assert fetched(web, "breadth-first", [0, 1, 2], 2, 3) == [0, 2, 1]


def test_what_a_page_says_is_known_when_its_request_ends() -> None:
    """0 lifts 2 above 1 when it has been read; with both seeds under way that is too late."""
    web = hosts([0, 1, 2], [0], [2])
    assert fetched(web, "opic", [0, 1], 1, 3) == [0, 2, 1]
    assert fetched(web, "opic", [0, 1], 2, 3) == [0, 1, 2]


def test_on_one_host_pages_go_one_by_one() -> None:
    web = hosts([0] * 4, [0, 0, 0], [1, 2, 3])
    assert fetched(web, "breadth-first", [0], 8, 9) == [0, 1, 2, 3]


@pytest.mark.parametrize("order", OF_AN_UNKNOWN_WEB)
def test_no_two_requests_to_a_host_overlap_and_every_page_is_fetched_once(order: str) -> None:
    at_once = 8
    web = synthetic_web(Model.COPYING, 400, seed=1)
    crawl = a_crawl(web, draw_seeds(web, 1, 0))
    watched = Watched(crawl, OF_AN_UNKNOWN_WEB[order](crawl, 1), at_once)
    found = watched.fetch(200)
    assert len(found) == len(set(found)) == 200
    assert watched.most == at_once


class Watched(PoliteCrawl):
    """Looks at what is under way whenever a request ends."""

    most = 0

    def _end(self) -> int:
        busy = [self._crawl.host_of(page) for page in self._under_way]
        assert len(set(busy)) == len(busy)
        self.most = max(self.most, len(busy))
        return super()._end()


@pytest.mark.parametrize("order", OF_AN_UNKNOWN_WEB)
def test_a_budget_is_never_exceeded(order: str) -> None:
    web = synthetic_web(Model.COPYING, 100, seed=1)
    assert len(fetched(web, order, draw_seeds(web, 1, 0), 8, 11)) == 11
