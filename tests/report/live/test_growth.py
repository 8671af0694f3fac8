"""A graph that grows with the log equals the graph of the whole store."""

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from minicrawl.graph.csr import Edge
from minicrawl.graph.outline import GrowingGraph, GrowingInBatches, Outline, extent, outline
from minicrawl.model import CRAWLED, GRAPHS, State
from minicrawl.report.sampling import LinkLog
from minicrawl.report.store_graph import as_linked, opened
from minicrawl.store import tables
from minicrawl.store.reader import reading
from tests.graph.test_growing import MOST, agrees_with_networkx
from tests.processes import PATIENCE_S
from tests.stores import A, B, HandCrawl

URLS = [f"http://{host}.example/{path}" for host in "ab" for path in range(6)]


def whole(store: Path, graph_of: str) -> Outline:
    with opened(store, None) as source:
        graph = as_linked(source, graph_of)
        return outline(graph, np.random.default_rng(1))


class Growing:
    """Graph that follows the log of a store."""

    def __init__(self, graph_of: str) -> None:
        self.graph_of, self.log, self.rewritten = graph_of, LinkLog(graph_of), 0
        self._graph = GrowingInBatches()

    def follow(self, store: Path) -> Outline:
        with reading(store) as connection:
            news = self.log.follow(connection)
        if news.is_rewritten:
            self._graph, self.rewritten = GrowingInBatches(), self.rewritten + 1
        self._graph.grow(news.nodes, news.sources, news.targets)
        return self._graph.outline(extent(self._graph.graph, np.random.default_rng(1)))


def random_event(crawl: HandCrawl, rng: random.Random) -> None:
    """Let a random event happen to a random page, if the page is known."""
    url = rng.choice(URLS)
    page = crawl.frontier.urls.find(url)
    if page is None:
        return
    other = rng.choice([found for found in URLS if found != url])
    known = crawl.frontier.urls.find(other)
    is_circle = known is not None and crawl.frontier.books.leads_to(known, page)
    match rng.randrange(8):
        case 0 if not is_circle:
            crawl.moved(url, other)
        case 1 if not is_circle:
            crawl.read(url, [other])
            crawl.moved(url, other, rng.choice([State.ALIAS, State.CANONICAL]))
        case 2:
            crawl.ended(url, rng.choice([State.TIMEOUT, State.ROBOTS]))
        case 3 if crawl.frontier.state[page] != State.UNREAD:
            crawl.reopen([page])
        case _:
            links = rng.sample(URLS, rng.randrange(5))
            weighted = rng.random() < 0.2
            ids = {link for link in links if link != url}
            crawl.read(url, links, weights=[2] * len(ids) if weighted else ())


@pytest.mark.parametrize("seed", range(4))
def test_the_growing_graph_is_right_after_every_step(tmp_path: Path, seed: int) -> None:
    rng, store = random.Random(seed), tmp_path / "crawl.db"
    crawl = HandCrawl(store)
    crawl.seeds(URLS[:2])
    growing = [Growing(graph_of) for graph_of in GRAPHS]
    for _ in range(25):
        random_event(crawl, rng)
        crawl.commit()
        for found in growing:
            assert found.follow(store) == whole(store, found.graph_of), seed
    crawl.close()


def test_a_link_counts_once_both_ends_were_crawled(tmp_path: Path) -> None:
    crawl = HandCrawl(tmp_path / "crawl.db")
    crawl.seeds([A])
    growing = Growing(CRAWLED)
    crawl.read(A, [B])
    crawl.commit()
    assert growing.follow(crawl.path).edges == 0
    crawl.read(B, [A])
    crawl.commit()
    found = growing.follow(crawl.path)
    assert (found.nodes, found.edges, found.reciprocity) == (2, 2, 1.0)
    assert growing.rewritten == 0
    assert len(growing.log) == 2
    crawl.close()


class EdgeByEdge:
    """Exact graph that grows edge by edge, and is compared with networkx."""

    def __init__(self) -> None:
        self.graph, self.log, self.edges = GrowingGraph(MOST), LinkLog(), list[Edge]()

    def follow(self, connection: tables.Connection, step: int | None = None) -> None:
        news = self.log.follow(connection, step)
        assert not news.is_rewritten
        self.graph.nodes = news.nodes
        for edge in zip(news.sources.tolist(), news.targets.tolist(), strict=True):
            self.graph.add(*edge)
            self.edges.append(edge)
        agrees_with_networkx(self.graph.outline(), news.nodes, self.edges)


def test_a_graph_of_single_edges_is_right_after_every_step_of_a_demo_crawl(tmp_path: Path) -> None:
    store = tmp_path / "demo.db"
    options = ("--demo", "--demo-pages=200", f"--pages={MOST}", "--delay=0", "--quiet")
    command = (sys.executable, "-m", "minicrawl", "crawl", *options, "--store", str(store))
    subprocess.run(command, check=True, timeout=PATIENCE_S, capture_output=True)
    growing = EdgeByEdge()
    with reading(store) as connection:
        for step in range(1, tables.last_step(connection) + 1):
            growing.follow(connection, step)
    assert len(growing.edges) > MOST
    assert growing.graph.outline() == whole(store, CRAWLED)


def test_a_graph_of_single_edges_is_right_for_pages_read_in_any_order(tmp_path: Path) -> None:
    crawl, rng = HandCrawl(tmp_path / "crawl.db"), random.Random(4)
    crawl.seeds(URLS[:1])
    growing = EdgeByEdge()
    for _ in range(40):
        waiting = [url for url in URLS if crawl.frontier.urls.find(url) is not None]
        unread = [url for url in waiting if crawl.frontier.state[crawl.page(url)] == State.UNREAD]
        if not unread:
            break
        crawl.read(rng.choice(unread), rng.sample(URLS, 3))
        crawl.commit()
        with reading(crawl.path) as connection:
            growing.follow(connection)
    assert growing.graph.outline() == whole(crawl.path, CRAWLED)
    crawl.close()
