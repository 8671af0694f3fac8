from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.crawl.refinement import refine
from minicrawl.errors import StoreError, UsageError
from minicrawl.frontier import importance
from minicrawl.opic.money import UNIT
from minicrawl.ranks.commands.named_ranks import checked_name
from minicrawl.report import store_graph as sites
from minicrawl.report.snapshot import saved_ranks, snapshot
from minicrawl.report.store_graph import flows, top_sites
from minicrawl.store.derived import OPIC_SITES
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from tests.stores import MOVED, A, B, C, HandCrawl, filled_store

NEWS, BLOG, SHOP = "http://www.news.org/", "http://blog.news.org/", "http://shop.com/"


def parts(path: Path) -> dict[tuple[int, int], float]:
    with snapshot(path) as seen:
        return {
            (giver, end): part
            for givers, ends, shares in flows(seen)
            for giver, end, part in zip(
                givers.tolist(), ends.tolist(), shares.tolist(), strict=True
            )
        }


class TestFlows:
    def test_links_that_are_alike_share_all_but_the_small_edge(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(small_edge=0.2))) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C])
        assert parts(crawl.path) == pytest.approx({(0, 1): 0.4, (0, 2): 0.4})

    def test_weights_divide_what_the_small_edge_leaves(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(small_edge=0.2))) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C], weights=[3, 1])
        assert parts(crawl.path) == pytest.approx({(0, 1): 0.6, (0, 2): 0.2})

    def test_links_that_weigh_nothing_get_nothing(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C], weights=[0, 0])
        assert parts(crawl.path) == {(0, 1): 0, (0, 2): 0}

    def test_a_link_to_a_page_that_moved_leads_to_where_it_stands(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [MOVED])
            crawl.moved(MOVED, C)
        assert parts(crawl.path) == pytest.approx({(0, 2): 0.85, (1, 2): 1.0})

    def test_a_link_that_leads_back_to_its_own_page_is_none(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [MOVED])
            crawl.moved(MOVED, A)
        assert parts(crawl.path) == {(1, 0): 1.0}

    def test_only_the_last_spending_of_a_page_counts(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B])
            crawl.read(A, [C])
        assert parts(crawl.path) == pytest.approx({(0, 2): 0.85})

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
        self, tmp_path: Path, focus: tuple[int, int], expected: tuple[float, float]
    ) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(small_edge=0.6))) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B, C], focus=focus)
            given = [key / UNIT - 1 for key in crawl.frontier.ledger.key[1:]]
        assert given == pytest.approx(expected, abs=1e-4)
        assert parts(crawl.path) == pytest.approx({(0, 1): expected[0], (0, 2): expected[1]})

    def test_links_of_all_kinds_come_together(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(small_edge=0.2))) as crawl:
            crawl.seeds([A, B, C])
            crawl.read(A, [B, C])
            crawl.read(B, [A, C], weights=[1, 3])
        assert parts(crawl.path) == pytest.approx(
            {(0, 1): 0.4, (0, 2): 0.4, (1, 0): 0.2, (1, 2): 0.6}
        )

    def test_links_that_cannot_be_read_are_one_line(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([A])
            crawl.read(A, [B])
            crawl.checkpoint()
            crawl.store.connection.execute("UPDATE steps SET spending = x'80'")
        with pytest.raises(StoreError, match=r"is damaged .a link blob is truncated"):
            parts(crawl.path)


class TestSites:
    def test_converged_cash_is_what_flows_if_it_goes_round_for_ever(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(small_edge=0.2))) as crawl:
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

    def test_what_a_site_says_of_itself_does_not_count(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(window="static"))) as crawl:
            crawl.seeds([NEWS], endowment=10)
            crawl.read(NEWS, [BLOG, SHOP])
            crawl.read(SHOP, [BLOG])
        with snapshot(crawl.path) as seen:
            first, second = top_sites(seen)
            shop = 11 * 0.85 / 2
            blog = float(seen.histories(np.array([2]))[0]) * 0.85
            shares = seen.importance.tolist()
        assert (first.rank, first.site, first.pages, first.fetched) == (1, "news.org", 2, 1)
        assert (second.rank, second.site, second.pages, second.fetched) == (2, "shop.com", 1, 1)
        assert second.importance == pytest.approx(shop / (shop + blog), rel=1e-4)
        assert first.importance + second.importance == pytest.approx(1)
        assert first.pages_importance == pytest.approx(shares[0] + shares[1])
        assert second.pages_importance == pytest.approx(shares[2])

    def test_where_nothing_flows_between_sites_their_pages_decide(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            crawl.seeds([SHOP, NEWS, BLOG])
        with snapshot(crawl.path) as seen:
            assert [(site.site, site.importance) for site in top_sites(seen)] == [
                ("news.org", 0),
                ("shop.com", 0),
            ]

    def test_as_many_sites_as_are_asked_for(self, tmp_path: Path) -> None:
        with snapshot(filled_store(tmp_path / "crawl.db")) as seen:
            assert top_sites(seen, 2) == top_sites(seen)[:2]
            assert len(top_sites(seen)) == 3

    def test_a_store_without_pages_has_no_sites(self, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
            pass
        with snapshot(crawl.path) as seen:
            assert top_sites(seen) == []


NEWER = "http://www.newer.net/"


def found_at(path: Path) -> dict[str, float]:
    with snapshot(path) as seen:
        return {one.site: one.importance for one in top_sites(seen)}


class TestSitesThatAreKept:
    """A refinement keeps the importance of sites with that of pages."""

    @pytest.fixture
    def crawl(self, tmp_path: Path) -> Iterator[HandCrawl]:
        with closing(HandCrawl(tmp_path / "crawl.db", StoreTerms(small_edge=0.2))) as crawl:
            crawl.seeds([NEWS, SHOP, MOVED])
            crawl.read(NEWS, [SHOP, BLOG, A])
            crawl.moved(MOVED, SHOP)
            crawl.read(SHOP, [NEWS, B], weights=[3, 1])
            crawl.read(A, [MOVED, BLOG])
            crawl.commit()
            yield crawl

    def test_they_are_those_of_a_pass_over_all_links(
        self, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refine(crawl.path)
        with monkeypatch.context() as patched:
            patched.setattr(sites, "_stored_cash", lambda _snapshot: None)
            summed = found_at(crawl.path)
        monkeypatch.delattr(sites, "flows")
        assert found_at(crawl.path) == pytest.approx(summed)
        assert len({round(share, 6) for share in summed.values()}) > 2

    def test_in_a_short_log_they_are_those_of_all_links(self, crawl: HandCrawl) -> None:
        refine(crawl.path)
        before = found_at(crawl.path)
        crawl.read(B, [NEWER])
        crawl.commit()
        later = found_at(crawl.path)
        assert later["newer.net"] > before.get("newer.net", 0)

    def test_in_a_long_log_they_are_as_old_as_the_ranks(
        self, crawl: HandCrawl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refine(crawl.path)
        before = found_at(crawl.path)
        crawl.read(B, [NEWER])
        crawl.commit()
        monkeypatch.setattr(importance, "MOST_STEPS", 0)
        monkeypatch.delattr(sites, "flows")
        assert found_at(crawl.path) == pytest.approx(before | {"newer.net": 0})
        refine(crawl.path)
        assert found_at(crawl.path)["newer.net"] > 0

    def test_they_are_no_rank_that_somebody_made(self, crawl: HandCrawl) -> None:
        refine(crawl.path)
        with reading(crawl.path) as connection:
            assert saved_ranks(crawl.path, connection) == []
        with pytest.raises(UsageError, match="opic-sites is a rank of the crawl itself"):
            checked_name(OPIC_SITES)
