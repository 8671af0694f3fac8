from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.opic.money import UNIT
from minicrawl.report.snapshot import QueuePosition, page_of, queue_position, snapshot, waiting
from minicrawl.store import tables
from tests.stores import DEEP, GONE, MOVED, A, B, C, HandCrawl, filled_store


def test_the_page_that_received_most_cash_is_next(tmp_path: Path) -> None:
    with snapshot(filled_store(tmp_path / "crawl.db")) as seen:
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


def test_among_equals_the_oldest_comes_first_up_to_the_limit(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B, C, DEEP])
    with snapshot(crawl.path) as seen:
        assert [page.url for page in waiting(seen, 2)] == [A, B]


def test_a_position_counts_all_waiting_pages_and_those_of_the_host(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([A, B, C, DEEP])
        crawl.read(A, [B])
    with snapshot(crawl.path) as seen:
        for page, place in ((1, 1), (3, 3)):
            assert queue_position(seen, page) == QueuePosition(
                of_all=place, all_waiting=3, of_host=1, host_waiting=1
            )


@pytest.mark.parametrize("strategy", ["greedy", "breadth-first", "random"])
def test_pages_are_predicted_in_the_order_in_which_they_are_read(
    tmp_path: Path, strategy: str
) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
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
