"""A crawl whose store is replicated waits for room, and ends when its shard is lost."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl import Event, Reason, Settled, Warned
from minicrawl.cluster.engine import Fenced
from minicrawl.cluster.replica.restoring import restore, take_over
from minicrawl.cluster.replica.shipping import ReplicaLimits, ShardReplica
from minicrawl.crawl.record.commits import TRY_AGAIN_S
from minicrawl.report.integrity.audit import audit
from tests.cluster.documents import SHARD
from tests.cluster.fake_engine import FakeEngine, FakeServers
from tests.crawl.fakes import FakeWeb, Scene, crawl, frontier_of, web_of
from tests.crawl.large_web import AT_ONCE, LINKS, SEED


@pytest.fixture
def servers() -> FakeServers:
    return FakeServers()


@pytest.fixture
def replica(servers: FakeServers, path: Path) -> Iterator[ShardReplica]:

    async def engine() -> FakeEngine:
        return FakeEngine(servers)

    taken = asyncio.run(take_over(FakeEngine(servers), SHARD, path))
    replica = ShardReplica(SHARD, path, taken, engine, ReplicaLimits(log_bytes=1 << 40))
    yield replica
    replica.close()


def restored(servers: FakeServers, path: Path) -> Path:
    again = path.with_name("restored.db")
    asyncio.run(restore(FakeEngine(servers), SHARD, again))
    return again


def warnings(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Warned)]


def test_a_crawl_is_restored_from_the_engine_unchanged(
    path: Path, servers: FakeServers, replica: ShardReplica
) -> None:
    crawl(FakeWeb(web_of(LINKS)), path, SEED, replica=replica)
    again = restored(servers, path)
    assert audit(again).wrong == []
    assert frontier_of(again).ledger.totals == frontier_of(path).ledger.totals
    assert frontier_of(again).last_seq == frontier_of(path).last_seq


def test_a_crawl_waits_while_the_log_is_full_and_says_so_once(
    path: Path, servers: FakeServers, replica: ShardReplica
) -> None:
    asked: list[int] = []

    def fill(_scene: Scene, event: Event) -> None:
        if isinstance(event, Settled):
            servers.log_bytes = 0 if not asked else None

    async def make_room(scene: Scene) -> None:
        while scene.recorder.committer.has_room:
            await asyncio.sleep(0.01)
        await asyncio.sleep(TRY_AGAIN_S / 2)  # requests under way end
        asked.append(len(scene.web.asked))
        await asyncio.sleep(3 * TRY_AGAIN_S)
        asked.append(len(scene.web.asked))
        servers.log_bytes = None

    web = FakeWeb(web_of(LINKS), takes_s=0.3)
    run = crawl(web, path, SEED, during=make_room, hear=fill, replica=replica, concurrency=AT_ONCE)
    before, after = asked
    assert before == after < len(web.asked)
    full, _ = warnings(run.events)
    assert f"the log of shard {SHARD} is full" in full
    assert run.reason is Reason.EMPTY
    assert audit(path).wrong == []
    assert audit(restored(servers, path)).wrong == []


def test_a_crawl_ends_when_another_node_has_its_shard(
    path: Path, servers: FakeServers, replica: ShardReplica
) -> None:
    asked: list[int] = []

    async def lose(scene: Scene) -> None:
        while len(scene.web.asked) < 20:
            await asyncio.sleep(0.01)
        await take_over(FakeEngine(servers), SHARD, path.with_name("taken.db"))
        asked.append(servers.logs[SHARD].last)

    web = FakeWeb(web_of(LINKS), takes_s=0.3)
    with pytest.raises(Fenced):
        crawl(web, path, SEED, during=lose, replica=replica)
    assert servers.logs[SHARD].last == asked[0]
    assert audit(path.with_name("taken.db")).wrong == []
    assert len(web.asked) < len(LINKS)
