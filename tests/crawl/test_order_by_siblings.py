"""Crawls in the order by siblings, as they are run."""

from functools import partial
from pathlib import Path

import pytest

from minicrawl.frontier.checkpoint import load_frontier
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.siblings import Siblings
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.crawl.fakes import FakeWeb, crawl, web_of
from tests.crawl.test_loop import reach, tangle


def shown(frontier: Frontier) -> Siblings:
    assert frontier.siblings is not None
    return frontier.siblings


def both(path: Path) -> tuple[Siblings, Siblings]:
    """From the last checkpoint, and from the first step."""
    with reading(path) as connection:
        terms = tables.terms(connection) or StoreTerms()
        spending_at = partial(tables.spending, connection)
        loaded = load_frontier(connection, terms, spending_at, siblings=True)
        folded = Frontier(terms, spending_at)
        folded.urls.load_hosts(connection)
        folded.siblings = Siblings(folded.ledger, folded.urls.host_of, folded.urls.sites)
        for row in tables.steps_after(connection, 0):
            folded.apply(row)
    return shown(loaded), shown(folded)


def test_what_a_crawl_that_went_on_knows_is_what_its_log_says(path: Path) -> None:
    links = tangle(60, hosts=5, links=6)
    seed = next(iter(links))
    for pages in (10, 20, 100):
        crawl(FakeWeb(web_of(links)), path, seed, strategy="siblings", pages=pages)
        loaded, folded = both(path)
        assert loaded.state() == folded.state()
    assert loaded.means.turns == len(reach(links))


def test_nothing_is_counted_for_budgets_where_all_sites_have_a_seed(path: Path) -> None:
    links = tangle(60, hosts=3, links=6)
    seeds = list(links)[:3]  # one of each host
    for pages in (10, 20, 100):
        crawl(FakeWeb(web_of(links)), path, *seeds, strategy="siblings", pages=pages)
        loaded, folded = both(path)
        assert loaded.state() == folded.state()
        assert not loaded.budgets.has_families
        assert not loaded.state()["units"]


def test_a_store_that_was_begun_by_cash_vouches_for_its_seeds(path: Path) -> None:
    links = tangle(60, hosts=2, links=6)
    web = FakeWeb(web_of(links))
    crawl(web, path, next(iter(links)), strategy="greedy", pages=10)
    crawl(web, path, strategy="siblings", pages=5)
    loaded, _ = both(path)
    seed, other = range(2)
    assert loaded.seeds == {0}
    assert loaded.budgets.hosts([seed, other]) == [other]  # it has a family, and the seed none


def test_pages_of_a_page_with_very_many_links_are_judged_like_others(path: Path) -> None:
    hub, leaves = "http://a.example/", [f"http://a.example/{n}" for n in range(1500)]
    web = FakeWeb(web_of({hub: leaves} | {leaf: [] for leaf in leaves}))
    crawl(web, path, hub, strategy="siblings", pages=3)
    loaded, folded = both(path)
    assert loaded.state() == folded.state()
    assert loaded.means.revealed == pytest.approx(7.31, abs=0.01)
