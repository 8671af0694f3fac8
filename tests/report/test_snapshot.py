"""Snapshots of a store: in-links, saved ranks, and the pages that wait."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.errors import UsageError
from minicrawl.opic.ledger.money import UNIT
from minicrawl.report.saved_ranks import kept_scores, saved_ranks, scores
from minicrawl.report.snapshot import page_of, snapshot
from minicrawl.report.waiting_pages import queue_position, waiting
from minicrawl.store import tables
from minicrawl.store.derived.ranks import RankRow, keep_ranks
from minicrawl.store.reader import reading
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, read_later


@pytest.mark.parametrize("times", [1, 300])
def test_in_links_of_checkpoint_and_log_add_up_for_few_pages_and_many(
    path: Path, times: int
) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B])
        crawl.read(A, [B, C])
        crawl.checkpoint()
        crawl.read(B, [A, C, DEEP])
        crawl.commit()
        pages = np.array([crawl.frontier.urls.find(url) for url in (DEEP, C, B, A)])
    with snapshot(path) as found:
        assert found.inlinks_of(np.tile(pages, times)).tolist() == [1, 2, 1, 1] * times
        assert found.inlinks_of(pages[:0]).tolist() == []


@pytest.fixture
def store(path: Path) -> Path:
    """Return a store of three pages with a saved rank."""
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A, B])
        crawl.read(A, [C])
    row = RankRow("pagerank", "{}", 1.8e9, crawl.frontier.last_seq, 3, 1, 52, 1e-9, True)
    with reading(crawl.path) as connection:
        keep_ranks(crawl.path, connection, [(row, np.array([0.25, 0.25, 0.5]))])
    return crawl.path


def state(store: Path) -> list[tuple[str, int, bool]]:
    with snapshot(store) as seen:
        last, rows = seen.frontier.last_seq, saved_ranks(store, seen.connection)
        return [(row.name, len(seen) - row.nodes, row.step == last) for row in rows]


def test_a_rank_is_current_until_the_next_step_and_new_pages_have_no_score(store: Path) -> None:
    assert state(store) == [("pagerank", 0, True)]
    read_later(store, B, [A])
    assert state(store) == [("pagerank", 0, False)]
    read_later(store, B, ["http://new.example/"])
    assert state(store) == [("pagerank", 1, False)]
    with snapshot(store) as seen:
        found = scores(seen, "pagerank")
    assert found[:3].tolist() == [0.25, 0.25, 0.5]
    assert np.isnan(found[3])


def test_an_unknown_rank_is_refused_with_the_known_ones(store: Path) -> None:
    with snapshot(store) as seen:
        assert kept_scores(seen, "trust") is None
        with pytest.raises(UsageError, match="trust, only opic, pagerank"):
            scores(seen, "trust")


def test_a_store_without_saved_ranks_only_has_opic(path: Path) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.seeds([A])
    assert state(crawl.path) == []
    refusal = pytest.raises(UsageError, match=r"pagerank, only opic: .*`minicrawl rank`")
    with snapshot(crawl.path) as seen, refusal:
        scores(seen, "pagerank")


def test_the_page_that_received_most_cash_is_next(filled: Path) -> None:
    with snapshot(filled) as seen:
        found = list(waiting(seen))
        keys = seen.frontier.ledger.key
    # 6 units were shared with 85 % among three links: 1.7 units each.
    by_url = {page.url: page for page in found}
    assert by_url[DEEP].given == pytest.approx(1.7, rel=1e-4)
    assert by_url[DEEP].given == keys[3] / UNIT - 1
    assert [page.given for page in found] == sorted((page.given for page in found), reverse=True)
    assert (by_url[DEEP].host, by_url[DEEP].depth, by_url[DEEP].inlinks) == ("a.example", 1, 1)
    assert by_url[DEEP].cash > 2.7
    assert [page.rank for page in found] == [1, 2]


@pytest.mark.parametrize("strategy", ["greedy", "breadth-first", "random"])
def test_pages_are_predicted_in_the_order_in_which_they_are_read(path: Path, strategy: str) -> None:
    with closing(HandCrawl(path)) as crawl:
        crawl.batch.counters[tables.LAST_RUN_SETTINGS] = {"strategy": strategy}
        crawl.seeds([A, B])
        crawl.read(A, [C, DEEP, GONE, MOVED])
        crawl.read(B, [DEEP, MOVED])
        queue, taken = ORDERS[strategy](crawl.frontier), list[int]()
        queue.load()
        while (page := queue.take()) is not None:
            taken.append(page)
            queue.resume(crawl.frontier.urls.host_of[page])
    with snapshot(crawl.path) as seen:
        read = [seen.url(page) for page in taken]
        predicted = list(waiting(seen))
        place = queue_position(seen, page_of(seen, C)).of_all
    assert [page.url for page in predicted] == read
    assert len(read) == 4
    assert all((page.key is None) == (strategy != "greedy") for page in predicted)
    assert place == read.index(C) + 1
