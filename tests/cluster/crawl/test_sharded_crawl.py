"""Crawls in shards: they find what one machine finds, and money is exact whatever happens."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

import pytest

from minicrawl.app import Crawl
from minicrawl.cluster.channels import faults, under_way
from minicrawl.cluster.traffic import ShardSetup, agree_in_shards
from minicrawl.config import load
from minicrawl.crawl.events import Event, Reason, Warned
from minicrawl.demo.web import DemoServer, DemoWeb
from minicrawl.errors import UsageError
from minicrawl.model import State
from minicrawl.opic.ledger import StepKind
from minicrawl.opic.shard_channels import ShardPlace
from minicrawl.report.audit import audit
from minicrawl.store.writer import StoreWriter
from tests.cluster.crawl.crawling import (
    ShardedCrawl,
    kinds_of,
    links_of,
    ranks,
    sent_until,
    statements_of,
    states_of,
)
from tests.cluster.crawl.web import CircleWeb, LittleWeb

SHARDS = 3


@pytest.fixture
def web() -> LittleWeb:
    return LittleWeb(SHARDS, 2, 25)


@pytest.fixture
def server(web: LittleWeb) -> Iterator[DemoServer]:
    with DemoServer(web) as server:
        yield server


@pytest.fixture
def crawl(tmp_path: Path, web: LittleWeb, server: DemoServer) -> ShardedCrawl:
    return ShardedCrawl(tmp_path, server, web.seeds, SHARDS)


def check(crawl: ShardedCrawl) -> None:
    """Every store is intact, and the law of all shards holds."""
    for store in crawl.stores:
        assert audit(store).wrong == []
    statements = statements_of(crawl.stores)
    assert list(faults(statements, partial(sent_until, crawl.stores))) == []


def check_that_all_has_come(crawl: ShardedCrawl) -> None:
    check(crawl)
    assert under_way(statements_of(crawl.stores)) == 0


def test_shards_of_the_demo_web_find_what_one_machine_finds(tmp_path: Path) -> None:
    web = DemoWeb(100)
    with DemoServer(web) as server, DemoServer(web) as another:
        crawl = ShardedCrawl(tmp_path, server, web.seeds, SHARDS)
        assert asyncio.run(crawl.run()) == [Reason.EMPTY] * SHARDS
        check_that_all_has_come(crawl)
        single = ShardedCrawl(tmp_path, another, web.seeds, 1, strategy="greedy")
        alone = [asyncio.run(single.run_alone())]
    assert server.requests == another.requests, "each page is asked for once, by one shard"
    assert states_of(crawl.stores) == states_of(alone)
    assert links_of(crawl.stores) == links_of(alone)
    together, by_one = (ranks(links_of(one), states_of(one)) for one in (crawl.stores, alone))
    assert max(abs(together[url] - by_one[url]) for url in by_one) < 1e-6


def test_redirects_and_canonical_forms_lead_to_other_shards(
    crawl: ShardedCrawl, web: LittleWeb
) -> None:
    assert asyncio.run(crawl.run()) == [Reason.EMPTY] * SHARDS
    check_that_all_has_come(crawl)
    with DemoServer(web) as another:
        alone = [asyncio.run(ShardedCrawl(crawl.folder, another, web.seeds, 1).run_alone())]
    states = states_of(crawl.stores)
    assert states == states_of(alone)
    assert {State.FETCHED, State.MOVED, State.CANONICAL} <= set(states.values())
    assert links_of(crawl.stores) == links_of(alone)
    trade = {StepKind.FOREIGN, StepKind.SEND, StepKind.RECEIVE}
    assert all(trade <= kinds_of(store) for store in crawl.stores)
    assert not trade & kinds_of(alone[0])


def test_what_an_engine_forgets_is_sent_again(crawl: ShardedCrawl) -> None:
    crawl.exchanges.forgets = 0.2
    assert asyncio.run(crawl.run()) == [Reason.EMPTY] * SHARDS
    assert crawl.exchanges.forgotten
    check_that_all_has_come(crawl)


def test_the_law_holds_at_every_moment(crawl: ShardedCrawl) -> None:
    async def watched() -> int:
        crawls = [crawl.crawl(shard) for shard in range(SHARDS)]
        running = asyncio.gather(*(one.run_async() for one in crawls))
        looks = 0
        while not running.done():
            cores = [one._crawler.context.exchange._shard.core for one in crawls if one._crawler]  # type: ignore[attr-defined]
            if len(cores) == SHARDS:
                statements = [core.statement() for core in cores]
                assert list(faults(statements, crawl.exchanges.sent_until)) == []
                looks += 1
            await asyncio.sleep(0.005)
        await running
        return looks

    assert asyncio.run(watched()) > 5


def test_kills_lose_and_double_nothing(crawl: ShardedCrawl, server: DemoServer) -> None:
    """A shard is abandoned, with all that it had not committed, and somebody else goes on."""
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
    check_that_all_has_come(crawl)
    with DemoServer(LittleWeb(SHARDS, 2, 25)) as another:
        alone = [asyncio.run(ShardedCrawl(crawl.folder, another, crawl.seeds, 1).run_alone())]
    assert kills == 8
    assert states_of(crawl.stores) == states_of(alone)
    assert links_of(crawl.stores) == links_of(alone)
    assert server.requests.keys() == another.requests.keys()


def test_by_siblings_all_is_read_and_money_is_exact_after_a_kill(
    tmp_path: Path, web: LittleWeb, server: DemoServer
) -> None:
    crawl = ShardedCrawl(tmp_path, server, web.seeds, SHARDS, strategy="siblings")

    async def killed() -> None:
        tasks = [asyncio.create_task(crawl.crawl(shard).run_async()) for shard in range(SHARDS)]
        while server.requests.total() < 60:
            await asyncio.sleep(0.001)
        tasks[1].cancel()
        await asyncio.wait([tasks[1]])
        tasks[1] = asyncio.create_task(crawl.crawl(1).run_async())
        await asyncio.gather(*tasks)

    asyncio.run(killed())
    check_that_all_has_come(crawl)
    with DemoServer(web) as another:
        alone = [asyncio.run(ShardedCrawl(tmp_path, another, web.seeds, 1).run_alone())]
    assert states_of(crawl.stores) == states_of(alone)
    assert links_of(crawl.stores) == links_of(alone)


def test_a_circle_of_redirects_over_all_shards_comes_to_an_end(tmp_path: Path) -> None:
    web = CircleWeb(SHARDS)
    with DemoServer(web) as server:
        crawl = ShardedCrawl(tmp_path, server, web.seeds, SHARDS)
        assert asyncio.run(crawl.run()) == [Reason.EMPTY] * SHARDS
    check_that_all_has_come(crawl)
    states = states_of(crawl.stores)
    assert State.BAD_REDIRECT in states.values()
    assert sum(state is State.FETCHED for state in states.values()) == SHARDS


def test_a_shorter_way_through_another_shard_counts(
    tmp_path: Path, web: LittleWeb, server: DemoServer
) -> None:
    crawl = ShardedCrawl(tmp_path, server, web.seeds, SHARDS, max_depth=2)
    assert asyncio.run(crawl.run()) == [Reason.EMPTY] * SHARDS
    with DemoServer(web) as another:
        alone = ShardedCrawl(tmp_path, another, web.seeds, 1, max_depth=2)
        states = states_of([asyncio.run(alone.run_alone())])
    assert State.DEPTH in states.values()
    assert states_of(crawl.stores) == states


def test_a_shard_that_has_spent_its_budget_waits_for_the_others(
    tmp_path: Path, web: LittleWeb, server: DemoServer
) -> None:
    crawl = ShardedCrawl(tmp_path, server, web.seeds, SHARDS, pages=10)
    told = crawl.exchanges.told

    async def spent() -> list[Reason]:
        running = asyncio.create_task(crawl.run())
        while sum(facts.wants_pages for facts in told.values()) < SHARDS:
            assert not running.done()
            await asyncio.sleep(0.001)
        assert [facts.fetched for facts in told.values()] == [10] * SHARDS
        assert not any(facts.is_idle for facts in told.values())
        crawl.exchanges.budget = 10 * SHARDS
        return await running

    assert asyncio.run(spent()) == [Reason.BUDGET] * SHARDS
    check(crawl)


def test_nothing_is_asked_for_by_who_has_lost_the_shard(
    crawl: ShardedCrawl, server: DemoServer
) -> None:
    async def lost() -> None:
        crawls = [crawl.crawl(shard) for shard in range(SHARDS)]
        for exchange in crawl.held.values():
            exchange.is_ours = False
        running = asyncio.gather(*(one.run_async() for one in crawls))
        while len(crawl.exchanges.told) < SHARDS:
            await asyncio.sleep(0.001)
        assert not server.requests
        for exchange in crawl.held.values():
            exchange.is_ours = True
        await running

    asyncio.run(lost())
    assert server.requests


def test_what_is_no_batch_is_dropped(crawl: ShardedCrawl) -> None:
    """If it was money, whoever sent it sends it again."""
    crawl.exchanges.waiting[1] += [b"no batch", b'[2,1,1,[["http://%s/",1,0,0]],0]' % b"a.example"]
    warnings: list[Event] = []

    async def disturbed() -> None:
        crawls = [crawl.crawl(shard) for shard in range(SHARDS)]
        crawls[1].subscribe(warnings.append, [Warned])
        await asyncio.gather(*(one.run_async() for one in crawls))

    asyncio.run(disturbed())
    assert crawl.exchanges.waiting[1] == []
    assert any("invalid batch" in str(event) for event in warnings)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"links": False}, "--no-links"),
        ({"until": 0.5}, "--until"),
        ({"new_pages": 5}, "--new-pages"),
        ({"score": ["url:a"]}, "--score"),
    ],
)
def test_settings_of_one_machine_are_refused(
    tmp_path: Path, web: LittleWeb, server: DemoServer, settings: dict[str, object], name: str
) -> None:
    crawl = ShardedCrawl(tmp_path, server, web.seeds, SHARDS, **settings)
    with pytest.raises(UsageError, match=f"^{name} works on one machine only"):
        asyncio.run(crawl.run())


def test_the_order_by_siblings_is_that_of_shards_only_if_it_is_given(tmp_path: Path) -> None:
    for number, given in enumerate(({}, {"strategy": "siblings"})):
        with closing(StoreWriter.open(tmp_path / f"{number}.db")) as store:
            found = agree_in_shards(store, load(given, {}, None), ShardPlace(0, SHARDS))
        assert found.order.strategy == given.get("strategy", "greedy")


def test_a_shard_stays_the_shard_that_it_is(crawl: ShardedCrawl) -> None:
    asyncio.run(crawl.run())
    setup = ShardSetup(ShardPlace(1, SHARDS + 1), crawl.exchanges.of(1))
    other = Crawl((), crawl.settings(crawl.store(1)), shard=setup)
    with pytest.raises(UsageError, match="was started with shards 3, not shards 4"):
        other.run()
    with pytest.raises(UsageError, match="was started with shard 1, not shard 0"):
        Crawl((), crawl.settings(crawl.store(1))).run()
