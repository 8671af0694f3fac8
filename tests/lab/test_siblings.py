"""The order by siblings in the laboratory."""

from random import Random

import numpy as np
import pytest

from minicrawl.graph.csr import Csr
from minicrawl.lab.order import PoliteCrawl
from minicrawl.lab.webs import BySiblings, Exploration, Web, without_hosts
from minicrawl.opic import families

HONEST, FARM = 600, 400


def farmed() -> Web:
    """Pages that link to any others, and a host of pages that link to each other only."""
    rng = Random(1)
    links = [(page, rng.randrange(HONEST)) for page in range(HONEST) for _ in range(4)]
    farm = range(HONEST, HONEST + FARM)
    links += [(page, rng.choice(farm)) for page in farm for _ in range(30)]
    links.append((3, HONEST))
    sources, targets = np.array(links).T
    host = np.repeat([0, 1], [HONEST, FARM]).astype(np.int32)
    return Web(Csr.from_edges(HONEST + FARM, sources, targets), host, host)


def fetched(web: Web, budget: int) -> list[int]:
    crawl = Exploration(web, web.graph.adjacency(), np.ones(web.graph.nodes))
    crawl.start([0, 1, 3], 1000)
    return PoliteCrawl(crawl, BySiblings(crawl)).fetch(budget)


def test_a_farm_that_links_to_itself_gets_little_more_than_its_free_pages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(families, "FREE_AT_FIRST", 5)
    monkeypatch.setattr(families, "READS_A_UNIT", 1)
    pages = fetched(farmed(), 400)
    assert sum(page >= HONEST for page in pages) <= 30


def test_where_no_hosts_are_known_all_pages_are_of_one() -> None:
    web = without_hosts(farmed().graph)
    pages = fetched(web, 1000)
    assert len(pages) == len(set(pages)) > HONEST / 2


def test_a_page_that_is_put_back_is_taken_again() -> None:
    web = farmed()
    crawl = Exploration(web, web.graph.adjacency(), np.ones(web.graph.nodes))
    crawl.start([0], 1000)
    order = BySiblings(crawl)
    order.born(range(1))
    assert (order.take(), order.take()) == (0, None)
    order.put_back(0)
    assert order.take() == 0
