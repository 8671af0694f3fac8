import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.crawl.refinement.converged_ranks import refine
from minicrawl.opic.ledger.money import UNIT
from minicrawl.report.graph.flows import flows
from minicrawl.report.graph.top_sites import top_sites
from minicrawl.report.saved_ranks import saved_ranks
from minicrawl.report.snapshot import snapshot
from minicrawl.store.derived.file import beside
from minicrawl.store.derived.ranks import OPIC_SITES
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.stores import MOVED, A, B, C, HandCrawl

NEWS, BLOG, SHOP = "http://www.news.org/", "http://blog.news.org/", "http://shop.com/"


def shares(path: Path) -> dict[tuple[int, int], float]:
    with snapshot(path) as seen:
        return {
            (int(giver), int(end)): float(share)
            for columns in flows(seen)
            for giver, end, share in zip(*columns, strict=True)
        }


Event = Callable[[HandCrawl], object]
FLOWS: dict[str, tuple[float, Event, dict[tuple[int, int], float]]] = {
    "links share alike": (0.2, lambda crawl: crawl.read(A, [B, C]), {(0, 1): 0.4, (0, 2): 0.4}),
    "by weight": (
        0.2,
        lambda crawl: crawl.read(A, [B, C], weights=(3, 1)),
        {(0, 1): 0.6, (0, 2): 0.2},
    ),
    "no weight": (
        0.2,
        lambda crawl: crawl.read(A, [B, C], weights=(0, 0)),
        {(0, 1): 0, (0, 2): 0},
    ),
    "a redirect counts for its target": (
        0.15,
        lambda crawl: (crawl.read(A, [MOVED]), crawl.moved(MOVED, C)),
        {(0, 2): 0.85, (1, 2): 1.0},
    ),
    "a redirect to its own page is ignored": (
        0.15,
        lambda crawl: (crawl.read(A, [MOVED]), crawl.moved(MOVED, A)),
        {(1, 0): 1.0},
    ),
    "only the last spending of a page counts": (
        0.15,
        lambda crawl: (crawl.read(A, [B]), crawl.read(A, [C])),
        {(0, 2): 0.85},
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_links_have_the_shares_of_cash(path: Path, name: str) -> None:
    small_edge, event, expected = FLOWS[name]
    with closing(HandCrawl(path, StoreTerms(small_edge=small_edge))) as crawl:
        crawl.seeds([A])
        event(crawl)
    assert shares(crawl.path) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("focus", "expected"),
    [
        ((0, 1 << 16), (0.2, 0.4)),
        ((0, 1 << 15), (0.2, 0.3)),
        ((3 << 16, 3 << 16), (0.5, 0.5)),
        ((0, 0), (0.2, 0.2)),
    ],
)
def test_focus_gives_more_as_far_as_the_small_edge_can_pay(
    path: Path, focus: tuple[int, int], expected: tuple[float, float]
) -> None:
    with closing(HandCrawl(path, StoreTerms(small_edge=0.6))) as crawl:
        crawl.seeds([A])
        crawl.read(A, [B, C], focus=focus)
        given = [key / UNIT - 1 for key in crawl.frontier.ledger.key[1:]]
    assert given == pytest.approx(expected, abs=1e-4)
    assert shares(crawl.path) == pytest.approx({(0, 1): expected[0], (0, 2): expected[1]})


class TestSites:
    def test_converged_importance_is_the_stationary_flow(self, path: Path) -> None:
        with closing(HandCrawl(path, StoreTerms(small_edge=0.2))) as crawl:
            crawl.seeds([NEWS, SHOP])
            crawl.read(NEWS, [SHOP, BLOG])
            crawl.read(SHOP, [NEWS])
            crawl.commit()
        refine(crawl.path)
        with snapshot(crawl.path) as seen:
            news, shop, _ = seen.importance.tolist()
            found = {one.site: one.importance for one in top_sites(seen)}
        given = {"news.org": 0.8 * shop, "shop.com": 0.4 * news}
        total = sum(given.values())
        assert found == pytest.approx({name: cash / total for name, cash in given.items()})

    def test_links_within_a_site_do_not_count(self, path: Path) -> None:
        with closing(HandCrawl(path, StoreTerms(window="static"))) as crawl:
            crawl.seeds([NEWS], endowment=10)
            crawl.read(NEWS, [BLOG, SHOP])
            crawl.read(SHOP, [BLOG])
        with snapshot(crawl.path) as seen:
            first, second = top_sites(seen)
            shop = 11 * 0.85 / 2
            blog = float(seen.frontier.window.histories(np.array([2]))[0]) * 0.85
            shares = seen.importance.tolist()
        assert (first.rank, first.site, first.pages, first.fetched) == (1, "news.org", 2, 1)
        assert (second.rank, second.site, second.pages, second.fetched) == (2, "shop.com", 1, 1)
        assert second.importance == pytest.approx(shop / (shop + blog), rel=1e-4)
        assert first.importance + second.importance == pytest.approx(1)
        assert first.pages_importance == pytest.approx(shares[0] + shares[1])
        assert second.pages_importance == pytest.approx(shares[2])

    def test_without_flow_between_sites_their_pages_decide_the_order(self, path: Path) -> None:
        with closing(HandCrawl(path)) as crawl:
            crawl.seeds([SHOP, NEWS, BLOG])
        with snapshot(crawl.path) as seen:
            found = [(site.site, site.importance) for site in top_sites(seen)]
            assert found == [("news.org", 0), ("shop.com", 0)]
            assert top_sites(seen, 1) == top_sites(seen)[:1]


NEWER = "http://www.newer.net/"


def importance_of(path: Path) -> dict[str, float]:
    with snapshot(path) as seen:
        return {one.site: one.importance for one in top_sites(seen)}


class TestSavedImportance:
    """A refinement saves the importance of sites together with that of pages."""

    @pytest.fixture
    def crawl(self, path: Path) -> Iterator[HandCrawl]:
        with closing(HandCrawl(path, StoreTerms(small_edge=0.2))) as crawl:
            crawl.seeds([NEWS, SHOP, MOVED])
            crawl.read(NEWS, [SHOP, BLOG, A])
            crawl.moved(MOVED, SHOP)
            crawl.read(SHOP, [NEWS, B], weights=[3, 1])
            crawl.read(A, [MOVED, BLOG])
            crawl.commit()
            yield crawl

    def test_saved_importance_equals_a_pass_over_all_links(self, crawl: HandCrawl) -> None:
        refine(crawl.path)
        saved = importance_of(crawl.path)
        with closing(sqlite3.connect(beside(crawl.path))) as derived, derived:
            found = derived.execute("DELETE FROM ranks WHERE name = ?", (OPIC_SITES,))
            assert found.rowcount == 1
        assert importance_of(crawl.path) == pytest.approx(saved)
        assert len({round(share, 6) for share in saved.values()}) > 2

    def test_new_links_count_at_once_or_with_a_long_log_when_ranks_are_refined(
        self, crawl: HandCrawl, long_log: Callable[[], None]
    ) -> None:
        refine(crawl.path)
        before = importance_of(crawl.path)
        crawl.read(B, [NEWER])
        crawl.commit()
        assert importance_of(crawl.path)["newer.net"] > 0
        long_log()
        assert importance_of(crawl.path) == pytest.approx(before | {"newer.net": 0})
        refine(crawl.path)
        assert importance_of(crawl.path)["newer.net"] > 0

    def test_saved_importance_is_not_listed_as_a_rank(self, crawl: HandCrawl) -> None:
        refine(crawl.path)
        with reading(crawl.path) as connection:
            assert saved_ranks(crawl.path, connection) == []
