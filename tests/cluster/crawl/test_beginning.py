"""A shard begins when the others are there or have begun, or after a timeout."""

import asyncio
from pathlib import Path

import pytest

from minicrawl.cluster.records import ShardFacts
from minicrawl.cluster.shard_crawl import START_TIMEOUT_S, RequestRate, StartBarrier
from minicrawl.demo.server import DemoServer
from minicrawl.opic.ledger.channels import ShardPlace
from tests.cluster.crawl.crawling import ShardedCrawl
from tests.cluster.crawl.web import LittleWeb

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


def test_the_request_rate_is_that_of_the_last_seconds() -> None:
    pace = RequestRate(2.0)
    assert pace.now(0, 10.0) == 0
    assert pace.now(5, 10.5) == 10
    assert pace.now(20, 12.0) == 10
    assert pace.now(20, 13.0) == 6
    assert pace.now(20, 16.0) == 0


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
