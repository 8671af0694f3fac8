"""A graph that grows with the log equals the graph of the whole store."""

import random
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minicrawl.graph.csr import Csr
from minicrawl.graph.outline import Outline, outline, strong
from minicrawl.model import CRAWLED, GRAPHS
from minicrawl.report.graph.source import as_linked, opened
from minicrawl.report.progress.followed_graph import MOST_EXACT, MOST_WORK, FollowedGraph
from minicrawl.report.progress.link_log import LinkLog
from minicrawl.states import State
from minicrawl.store.reader import reading
from tests.stores import A, B, HandCrawl

URLS = [f"http://{host}.example/{path}" for host in "ab" for path in range(6)]


def whole(store: Path, graph_of: str) -> Outline:
    with opened(store, None) as source:
        graph = as_linked(source, graph_of)
    return comparable(outline(graph, np.random.default_rng(1)), graph)


def comparable(found: Outline, graph: Csr) -> Outline:
    """Leave out what depends on the order of nodes if several components are the largest."""
    sizes = strong(graph).sizes
    if np.count_nonzero(sizes == sizes.max(initial=0)) == 1:
        return found
    return replace(found, bow_tie=None, largest_strong_edges=0)


def followed(live: FollowedGraph, store: Path) -> Outline:
    with reading(store) as connection:
        live.follow(connection)
    live.measure(0.0, MOST_WORK)
    return comparable(live.outline(), live.graph)


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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_growing_graph_is_right_after_every_step(tmp_path: Path, seed: int) -> None:
    """Link by link and in batches, with pages that are read in any order, and again."""
    rng = random.Random(seed)
    growing = [FollowedGraph(graph_of, most) for graph_of in GRAPHS for most in (0, MOST_EXACT)]
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds(URLS[:2])
        for _ in range(25):
            random_event(crawl, rng)
            crawl.commit()
            wanted = {graph_of: whole(crawl.path, graph_of) for graph_of in GRAPHS}
            for live in growing:
                assert followed(live, crawl.path) == wanted[live.log.graph_of]


def test_a_link_counts_once_both_ends_were_crawled(tmp_path: Path) -> None:
    log = LinkLog(CRAWLED)
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A])
        for page, links, nodes, ends in ((A, [B], 1, []), (B, [A], 2, [(0, 1), (1, 0)])):
            crawl.read(page, links)
            crawl.commit()
            with reading(crawl.path) as connection:
                is_node, sources, targets, is_rewritten = log.follow(connection)
            pairs = sorted(zip(sources.tolist(), targets.tolist(), strict=True))
            assert (len(log), is_node.tolist(), pairs) == (2, [True] * nodes, ends)
            assert not is_rewritten
