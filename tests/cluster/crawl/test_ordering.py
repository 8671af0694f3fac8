"""A shard begins with the others, and its poor pages wait for richer ones of all shards."""

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pytest

from minicrawl import State
from minicrawl.cluster.cash_threshold import FEWEST, HEADROOM, NO_THRESHOLD, sketch
from minicrawl.cluster.records import ShardFacts
from minicrawl.cluster.traffic.admission import AdmissionThreshold
from minicrawl.cluster.traffic.start_barrier import START_TIMEOUT_S, StartBarrier
from minicrawl.demo.server import DemoServer
from minicrawl.frontier.page_table import Frontier
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.opic.ledger.channels import ShardPlace
from minicrawl.opic.ledger.money import UNIT
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.siblings.values import urgency
from minicrawl.store.records import StepRow, StoreTerms
from tests.cluster.crawl.crawling import ShardedCrawl
from tests.cluster.crawl.web import LittleWeb


def a_frontier(units: Sequence[int], hosts: int = 1) -> Frontier:
    """Return a frontier of pages with these units of cash, by turns on so many hosts."""
    frontier = Frontier(StoreTerms(), lambda _seq: Spending(()))
    steps = [Step(StepKind.BORN, born=len(units))]
    for page, held in enumerate(units):
        frontier.urls.meet([f"http://host{page % hosts}.example/{page}"], 0)
        steps.append(Step(StepKind.GRANT, spending=Spending([page]), amount=(held - 1) * UNIT))
    for seq, step in enumerate(steps, 1):
        frontier.apply(StepRow(seq, State.UNREAD, step))
    return frontier


def level_of(
    units: Sequence[int], a_host: int = 10, hosts: int = 1, leased: Collection[int] = ()
) -> AdmissionThreshold:
    """Return the threshold of a shard with such pages, `a_host` of which each host allows soon."""
    return AdmissionThreshold(
        a_frontier(units, hosts), lambda: leased, lambda _host, _within_s: a_host
    )


def told(keys: dict[int, int], pace: int = 0) -> ShardFacts:
    return ShardFacts(0, pace=pace, sketch=keys)


def test_without_facts_every_page_may_be_read() -> None:
    level = level_of([1, 5], a_host=10)
    level.hear([], 1)
    assert level.key == NO_THRESHOLD
    assert level.admits(0)
    assert not level.holds_back


def test_a_page_waits_while_other_shards_have_enough_richer_ones() -> None:
    level = level_of([1, 64], a_host=10)
    rich = level_of([32] * HEADROOM * FEWEST, a_host=1000).sketch(1)
    level.hear([told(rich)], 1)
    assert level.key == 32 * UNIT
    assert level.admits(1)
    assert not level.admits(0)
    assert level.holds_back
    level.hear([told({})], 1)
    assert level.admits(0)
    assert not level.holds_back


def test_a_faster_crawl_has_more_pages_above_the_threshold() -> None:
    level = level_of([1], a_host=10)
    rich = level_of([32] * HEADROOM * FEWEST, a_host=1000).sketch(1)
    level.hear([told(rich, pace=FEWEST + 1)], 1)
    assert level.key == NO_THRESHOLD


@pytest.mark.parametrize(
    ("level", "pages"),
    [
        pytest.param(level_of([], a_host=1), 0, id="without pages"),
        pytest.param(level_of([8] * 30, a_host=2), 2, id="one host"),
        pytest.param(level_of([8] * 30, a_host=2, hosts=5), 10, id="several hosts"),
        pytest.param(level_of([8] * 30, leased=range(25)), 5, id="leased pages"),
        pytest.param(
            AdmissionThreshold(
                a_frontier([8] * 30, hosts=3), tuple, lambda host, _: (0, 3, 1)[host]
            ),
            4,
            id="hosts that must wait",
        ),
    ],
)
def test_a_host_counts_with_the_pages_that_its_delay_allows(
    level: AdmissionThreshold, pages: int
) -> None:
    assert sum(level.sketch(1).values()) == pages


def test_a_host_counts_with_its_richest_pages() -> None:
    richest = level_of([1, 2, 4, 8], a_host=1, hosts=2).sketch(1)
    assert richest == level_of([4, 8], a_host=1, hosts=2).sketch(1)


def test_a_sketch_of_many_pages_has_the_richest_ones() -> None:
    pages = [64] * HEADROOM * FEWEST + [2] * 1000
    sketch = level_of(pages, a_host=1, hosts=len(pages)).sketch(1)
    assert sum(sketch.values()) <= len(pages)
    level = level_of([1], a_host=1)
    level.hear([told(sketch)], 1)
    assert level.key == 64 * UNIT


def test_for_a_shorter_time_fewer_pages_are_above_the_threshold() -> None:
    keys = level_of([64, 32, 16, 8], hosts=4, a_host=1).sketch(1)
    level = level_of([1])
    level.hear([told(keys)], 1)
    assert level.key == NO_THRESHOLD
    level.hear([told(keys)], 0.05)
    assert level.key == 32 * UNIT


def test_in_the_order_by_siblings_keys_are_compared_and_not_cash() -> None:
    frontier, pages = a_frontier([8] * 31), np.arange(31, dtype=np.uint32)
    frontier.siblings = Siblings(frontier.ledger, frontier.urls.host_of, frontier.urls.sites)
    frontier.siblings.introduce(range(31))
    level = AdmissionThreshold(frontier, tuple, lambda _host, _within_s: 31)
    keys = urgency(frontier.siblings, pages).astype(np.int64)
    assert level.sketch(1) == sketch(keys, FEWEST)
    level.key = int(np.median(keys))
    assert [level.admits(page) for page in pages.tolist()] == (keys >= level.key).tolist()
    assert sum(keys >= level.key) == 16


ALL = {shard: ShardFacts(shard) for shard in range(3)}


def a_beginning() -> StartBarrier:
    return StartBarrier(ShardPlace(0, len(ALL)), 100.0)


@pytest.mark.parametrize(
    ("told", "now", "has_begun"),
    [
        pytest.param({0: ALL[0], 2: ALL[2]}, 101, False, id="one is missing"),
        pytest.param(ALL, 102, True, id="all are there"),
        pytest.param({0: ALL[0]}, 99.9 + START_TIMEOUT_S, False, id="before the timeout"),
        pytest.param({0: ALL[0]}, 100 + START_TIMEOUT_S, True, id="after the timeout"),
        pytest.param({0: ALL[0], 1: ShardFacts(1, pace=2)}, 101, True, id="another has begun"),
    ],
)
def test_shards_begin_when_all_are_there_or_have_begun_or_after_a_timeout(
    told: dict[int, ShardFacts], now: float, *, has_begun: bool
) -> None:
    beginning = a_beginning()
    beginning.hear(told, now)
    assert beginning.has_begun is has_begun


def test_the_age_of_a_crawl_is_that_of_its_oldest_shard_and_is_kept_over_a_restart() -> None:
    beginning = a_beginning()
    assert beginning.age_s(101) == 0
    beginning.hear(ALL, 102)
    assert beginning.age_s(105) == 3
    beginning.hear({**ALL, 1: ShardFacts(1, age_s=50)}, 105)
    beginning.hear({**ALL, 1: ShardFacts(1, age_s=1)}, 106)
    assert beginning.age_s(110) == 55
    later = StartBarrier(ShardPlace(0, len(ALL)), 7, age_s=60)
    assert later.has_begun
    assert later.age_s(10) == 63


def test_no_request_is_sent_before_all_shards_are_there(tmp_path: Path) -> None:
    web = LittleWeb(3, 2, 25)

    async def late(server: DemoServer) -> None:
        crawl = ShardedCrawl(tmp_path, server, web.seeds, 3)
        tasks = [asyncio.create_task(crawl.crawl(shard).run_async()) for shard in (0, 1)]
        while len(crawl.told) < 2:
            await asyncio.sleep(0.01)
        assert not server.requests
        await asyncio.gather(*tasks, crawl.crawl(2).run_async())
        assert server.requests

    with DemoServer(web) as server:
        asyncio.run(late(server))
