"""Crawls of manuals of Debian packages behind nginx, compared with an oracle from their files."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import nlargest
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from scipy.stats import spearmanr

from minicrawl import Crawl, Reason, Settings, State
from minicrawl.crawl.refinement.converged_ranks import refine
from minicrawl.report.integrity.audit import audit
from minicrawl.report.snapshot import Snapshot, snapshot
from tests.proofs import IS_LONG
from tests.real.doc_graph import DocGraph, doc_graph
from tests.real.nginx import SITES, Nginx, needs_real_parts, serving

READ = [state for state in State if state.was_read]
TOP = 10
CRAWLED = SITES.keys() if IS_LONG else SITES.keys() - {"python"}
"""Manuals that are crawled; that of Python has the most pages."""

pytestmark = [needs_real_parts, pytest.mark.proof]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawled:
    """A manual: its link graph, the log of the server and the store of a crawl."""

    graph: DocGraph
    asked: Counter[str]
    store: Path
    found: Snapshot

    def pages(self, *states: State) -> Iterator[tuple[int, str]]:
        """Yield the pages in these states, with their URLs."""
        for page in np.flatnonzero(np.isin(self.found.states, states)).tolist():
            yield page, self.found.url(page)

    def links(self, page: int) -> list[str]:
        """Return the URLs that get cash from the page."""
        return [self.found.url(link) for link in self.found.frontier.spendings.of(page).links]


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    with serving(SITES, tmp_path_factory.mktemp("nginx")) as nginx:
        yield nginx


@pytest.fixture(scope="module", params=sorted(CRAWLED))
def crawled(
    nginx: Nginx, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Crawled]:
    origin = nginx.origins[request.param]
    store = tmp_path_factory.mktemp(request.param) / "crawl.db"
    settings = Settings.of(delay=0, scope="host", store=store)
    assert Crawl([origin], settings).run() is Reason.EMPTY
    with snapshot(store) as found:
        yield Crawled(
            graph=doc_graph(SITES[request.param], origin),
            asked=Counter(asked.url for asked in nginx.asked() if asked.url.startswith(origin)),
            store=store,
            found=found,
        )


def test_every_page_that_links_reach_is_read_and_no_other(crawled: Crawled) -> None:
    read = {url for _, url in crawled.pages(*READ)}
    assert read == crawled.graph.links.keys()
    assert audit(crawled.store).wrong == []


def test_each_url_is_requested_once_and_only_if_a_link_leads_to_it(crawled: Crawled) -> None:
    assert set(crawled.asked.values()) == {1}
    led_to = set(chain.from_iterable(crawled.graph.links.values()))
    unlinked = {urlsplit(url).path for url in crawled.asked.keys() - led_to}
    assert unlinked <= {"/", "/robots.txt"}


def test_the_cash_of_a_page_goes_to_the_links_in_its_file(crawled: Crawled) -> None:
    for page, url in crawled.pages(State.FETCHED):
        assert sorted(crawled.links(page)) == sorted(crawled.graph.links[url])


def test_pages_with_equal_content_are_aliases_of_one(crawled: Crawled) -> None:
    end = crawled.graph.end  # the order of the crawl decides which of them is kept
    kept = [end(url) for _, url in crawled.pages(State.FETCHED)]
    assert sorted(kept) == sorted({end(url) for url in crawled.graph.links})
    for page, url in crawled.pages(State.ALIAS):
        assert [end(link) for link in crawled.links(page)] == [end(url)]


def test_the_refined_ranking_is_that_of_pagerank(crawled: Crawled, tmp_path: Path) -> None:
    refined = tmp_path / "refined.db"
    refine(crawled.store, to=refined)
    with snapshot(refined) as found:
        importance = found.importance
    pages = dict(crawled.pages(State.FETCHED))
    ours = {crawled.graph.end(url): importance[page] for page, url in pages.items()}
    ranks = crawled.graph.pagerank()
    theirs = {url: ranks[url] for url in ours}
    assert spearmanr(list(ours.values()), list(theirs.values())).statistic >= 0.95
    assert len(top(ours) & top(theirs)) >= TOP - 1
    assert audit(refined).wrong == []


def top(ranks: dict[str, float]) -> set[str]:
    return set(nlargest(TOP, ranks, key=ranks.__getitem__))
