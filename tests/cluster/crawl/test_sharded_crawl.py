"""A crawl in shards finds the pages that one machine finds, and cash is exact at any fault."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
import zstandard

from minicrawl import Crawl, Event, Reason, State, Warned
from minicrawl.cluster.conclusions import gathered_together
from minicrawl.cluster.traffic.exchange import BATCH_PREFIX
from minicrawl.cluster.traffic.local_shard import ClusterShard
from minicrawl.demo.server import DemoServer
from minicrawl.errors import UsageError
from minicrawl.opic.ledger.books import StepKind
from minicrawl.opic.ledger.channels import ShardPlace
from minicrawl.report.integrity.audit import audit
from minicrawl.store import tables
from minicrawl.store.reader import reading
from tests.cluster.crawl.crawling import (
    ShardedCrawl,
    frontier_of,
    kinds_of,
    links_of,
    sent_until,
    statements_of,
    states_of,
)
from tests.cluster.crawl.web import CircleWeb, LittleWeb
from tests.cluster.fake_engine import FakeEngine
from tests.cluster.shards.audit import faults, under_way

SHARDS = 3


@pytest.fixture
def web() -> LittleWeb:
    return LittleWeb(SHARDS, 2, 25)


@pytest.fixture
def server(web: LittleWeb) -> Iterator[DemoServer]:
    with DemoServer(web) as server:
        yield server


Begin = Callable[..., ShardedCrawl]


@pytest.fixture
def begin(tmp_path: Path, web: LittleWeb, server: DemoServer) -> Begin:
    """Return a function that makes a crawl of the web with these settings."""
    return partial(ShardedCrawl, tmp_path, server, web.seeds, SHARDS)


@pytest.fixture
def crawl(begin: Begin) -> ShardedCrawl:
    return begin()


def check(crawl: ShardedCrawl) -> None:
    """Check that every store is intact, and that the shards together have lost no atom."""
    for store in crawl.stores:
        assert audit(store).wrong == []
    statements = statements_of(crawl.stores)
    assert list(faults(statements, partial(sent_until, crawl.stores))) == []
    assert under_way(statements) == 0


def check_as_alone(
    crawl: ShardedCrawl, web: LittleWeb, server: DemoServer, **settings: Any
) -> list[Path]:
    """Check that the shards found what one machine finds, and return its store."""
    check(crawl)
    with DemoServer(web) as another:
        single = ShardedCrawl(crawl.folder, another, crawl.seeds, 1, **settings)
        stores = [asyncio.run(single.run_alone())]
    assert server.requests.keys() == another.requests.keys()
    assert states_of(crawl.stores) == states_of(stores)
    assert links_of(crawl.stores) == links_of(stores)
    return stores


@pytest.mark.slow
def test_redirects_and_canonical_forms_lead_to_other_shards(
    crawl: ShardedCrawl, web: LittleWeb, server: DemoServer
) -> None:
    assert asyncio.run(crawl.run()) == [Reason.STOPPED] * SHARDS
    single = check_as_alone(crawl, web, server)
    states = set(states_of(single).values())
    assert {State.FETCHED, State.MOVED, State.CANONICAL} <= states
    trade = {StepKind.FOREIGN, StepKind.SEND, StepKind.RECEIVE}
    assert all(trade <= kinds_of(store) for store in crawl.stores)
    assert not trade & kinds_of(single[0])


@pytest.mark.slow
def test_batches_that_are_lost_are_sent_again(crawl: ShardedCrawl) -> None:
    crawl.servers.lose_batches = True
    assert asyncio.run(crawl.run()) == [Reason.STOPPED] * SHARDS
    assert crawl.servers.lost_batches
    check(crawl)


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("strategy", ["greedy", "siblings"])
def test_kills_lose_and_double_nothing(
    strategy: str, begin: Begin, web: LittleWeb, server: DemoServer
) -> None:
    # A killed shard loses everything that it has not committed, and a new holder goes on.
    crawl = begin(strategy=strategy)
    chance, kills = Random(3), 0

    async def killed() -> None:
        nonlocal kills
        tasks = [asyncio.create_task(crawl.crawl(shard).run_async()) for shard in range(SHARDS)]
        while kills < 8 and not all(task.done() for task in tasks):
            asked = server.requests.total()
            while server.requests.total() < asked + 10 and not all(map(asyncio.Task.done, tasks)):
                await asyncio.sleep(0.001)
            victim = chance.randrange(SHARDS)
            tasks[victim].cancel()
            await asyncio.wait([tasks[victim]])
            assert audit(crawl.store(victim)).wrong == []
            tasks[victim] = asyncio.create_task(crawl.crawl(victim).run_async())
            kills += 1
        await asyncio.gather(*tasks)

    asyncio.run(killed())
    assert kills == 8
    check_as_alone(crawl, web, server)


@pytest.mark.slow
def test_shards_add_up_the_importance_of_their_pages(begin: Begin) -> None:
    crawl = begin(until=0.5)

    async def gathered_with(budget: int | None) -> float:
        crawl.budget = budget
        await crawl.run()
        return gathered_together(crawl.told, SHARDS)

    async def twice() -> list[float]:
        return [await gathered_with(budget) for budget in (40, None)]

    some, all_ = asyncio.run(twice())
    check(crawl)
    # A shard adds up rarely, so that a short crawl may end before each has told its part.
    assert 0 <= some < all_ <= 1


@pytest.mark.slow
def test_values_of_a_scorer_order_the_pages_of_shards(begin: Begin) -> None:
    crawl = begin(strategy="siblings", score=["url:[02468]$"])
    asyncio.run(crawl.run())
    check(crawl)
    for store in crawl.stores:
        with frontier_of(store) as (frontier, urls), reading(store) as connection:
            read = [page for page, state in enumerate(frontier.state) if state == State.FETCHED]
            values = tables.values_of(connection, read)
            assert {page: bool(value) for page, value in values.items()} == {
                page: urls[page][-1] in "02468" for page in read
            }


def test_a_circle_of_redirects_over_all_shards_comes_to_an_end(tmp_path: Path) -> None:
    web = CircleWeb(SHARDS)
    with DemoServer(web) as server:
        crawl = ShardedCrawl(tmp_path, server, web.seeds, SHARDS)
        assert asyncio.run(crawl.run()) == [Reason.STOPPED] * SHARDS
    check(crawl)
    states = states_of(crawl.stores)
    assert State.BAD_REDIRECT in states.values()
    assert sum(state is State.FETCHED for state in states.values()) == SHARDS


@pytest.mark.slow
def test_the_depth_of_a_page_is_that_of_the_shortest_path_through_any_shards(
    begin: Begin, web: LittleWeb, server: DemoServer
) -> None:
    crawl = begin(max_depth=2)
    assert asyncio.run(crawl.run()) == [Reason.STOPPED] * SHARDS
    assert State.DEPTH in states_of(crawl.stores).values()
    check_as_alone(crawl, web, server, max_depth=2)


def test_a_shard_that_has_spent_its_budget_waits_for_the_others(begin: Begin) -> None:
    crawl = begin(pages=10)
    told = crawl.told

    async def spent() -> list[Reason]:
        running = asyncio.create_task(crawl.run())
        while sum(facts.wants_pages for facts in told.values()) < SHARDS:
            assert not running.done()
            await asyncio.sleep(0.001)
        assert [facts.fetched for facts in told.values()] == [10] * SHARDS
        assert not any(facts.is_idle for facts in told.values())
        crawl.budget = 10 * SHARDS
        return await running

    assert asyncio.run(spent()) == [Reason.STOPPED] * SHARDS


def test_a_holder_that_has_lost_its_shard_sends_no_request(
    crawl: ShardedCrawl, server: DemoServer
) -> None:
    async def lost() -> None:
        crawls = [crawl.crawl(shard) for shard in range(SHARDS)]
        for exchange in crawl.held.values():
            exchange.until = 0.0
        running = asyncio.gather(*(one.run_async() for one in crawls))
        while len(crawl.told) < SHARDS:
            await asyncio.sleep(0.001)
        assert not server.requests
        for exchange in crawl.held.values():
            exchange.until = inf
        await running

    asyncio.run(lost())
    assert server.requests


@pytest.mark.slow
def test_an_invalid_batch_is_dropped_with_a_warning(crawl: ShardedCrawl) -> None:
    # Its sender sends the cash again.
    engine, warnings = FakeEngine(crawl.servers), list[Event]()
    compress = zstandard.ZstdCompressor().compress
    invalid = (b"no batch", compress(b'[2,1,1,[["http://a.example/",1,0,0]],0]'))

    async def disturbed() -> None:
        crawls = [crawl.crawl(shard) for shard in range(SHARDS)]
        crawls[1].subscribe(warnings.append, [Warned])
        running = asyncio.gather(*(one.run_async() for one in crawls))
        while len(set(map(str, warnings))) < len(invalid):  # a shard may not listen yet
            for packed in invalid:
                await engine.broadcast(f"{BATCH_PREFIX}1.2", packed)
            await asyncio.sleep(0.001)
        await running

    asyncio.run(disturbed())
    assert all("was dropped" in str(event) for event in warnings)


@pytest.mark.slow
def test_a_store_keeps_its_shard_and_the_number_of_shards(crawl: ShardedCrawl) -> None:
    asyncio.run(crawl.run())
    place = ShardPlace(1, SHARDS + 1)
    setup = ClusterShard(place, crawl.held[1], FakeEngine(), 1)
    other = Crawl((), crawl.settings(crawl.store(1)), shard=setup)
    with pytest.raises(UsageError, match="shards 3, not shards 4"):
        other.run()
    with pytest.raises(UsageError, match="shard 1, not shard 0"):
        Crawl((), crawl.settings(crawl.store(1))).run()
