"""Crawls in the order by siblings know what follows from their logs."""

from pathlib import Path

import pytest

from minicrawl.opic.siblings.siblings import Siblings
from tests.crawl.fakes import FakeWeb, crawl, loaded_and_folded, web_of
from tests.crawl.loop.webs import reach, tangle


def known_siblings(path: Path) -> Siblings:
    """Return what a resumed crawl knows of siblings. The steps of its log must say the same."""
    loaded, folded = (frontier.siblings for frontier in loaded_and_folded(path))
    assert loaded is not None
    assert folded is not None
    assert loaded.state() == folded.state()
    return loaded


def test_a_resumed_crawl_knows_what_follows_from_its_log(path: Path) -> None:
    links = tangle(60, hosts=5, links=6)
    seed = next(iter(links))
    for pages in (10, 20, 100):
        crawl(FakeWeb(web_of(links)), path, seed, strategy="siblings", pages=pages)
        known = known_siblings(path)
    assert known.means.turns == len(reach(links))


def test_nothing_is_counted_for_budgets_where_all_sites_have_a_seed(path: Path) -> None:
    links = tangle(60, hosts=3, links=6)
    seeds = list(links)[:3]  # one of each host
    for pages in (10, 20, 100):
        crawl(FakeWeb(web_of(links)), path, *seeds, strategy="siblings", pages=pages)
        known = known_siblings(path)
        assert not known.budgets.has_families
        assert not known.state()["units"]


def test_a_store_begun_in_another_order_vouches_for_its_seeds(path: Path) -> None:
    links = tangle(60, hosts=2, links=6)
    web = FakeWeb(web_of(links))
    crawl(web, path, next(iter(links)), strategy="greedy", pages=10)
    crawl(web, path, strategy="siblings", pages=5)
    known, (seed, other) = known_siblings(path), range(2)
    assert known.seeds == {0}
    assert known.budgets.hosts([seed, other]) == [other]  # the seed has no siblings


def test_siblings_from_a_page_with_very_many_links_are_judged_like_others(path: Path) -> None:
    hub, leaves = "http://a.example/", [f"http://a.example/{n}" for n in range(1500)]
    web = FakeWeb(web_of({hub: leaves} | {leaf: [] for leaf in leaves}))
    crawl(web, path, hub, strategy="siblings", pages=3)
    assert known_siblings(path).means.revealed == pytest.approx(7.31, abs=0.01)
