"""A node over the fake engine: crawls only record orders, and the test sets the clock."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minicrawl import Reason
from minicrawl.cluster import steering
from minicrawl.cluster.engine import EngineError, KeyTaken
from minicrawl.cluster.node import running
from minicrawl.cluster.node.crawl_state import CrawlState
from minicrawl.cluster.node.leases import HOLD_S, LEASE_S, YOUNG_S
from minicrawl.cluster.node.node import Node
from minicrawl.cluster.node.presence import NodePresence
from minicrawl.cluster.node.shard_process import ShardEnd, ShardOrders, ShardProcess
from minicrawl.cluster.records import (
    STATE_KEY,
    TERMS_KEY,
    CrawlActivity,
    KeyEntry,
    RecordError,
    ShardFacts,
    StateRecord,
)
from minicrawl.cluster.shared_settings import TermsRecord
from minicrawl.errors import UsageError
from tests.cluster.fake_engine import FakeEngine, FakeServers, Fault
from tests.cluster.node.test_leases import record
from tests.crawl.jumping_clock import in_time

pytestmark = pytest.mark.anyio

SHARDS = 4


class NotedCrawl(ShardProcess):
    end: ShardEnd | None = None

    def __init__(self) -> None:
        self.deadline = 0.0
        self.orders: ShardOrders | None = None
        self.was_killed = False

    async def until(self, moment: float) -> None:
        self.deadline = moment

    async def steer(self, orders: ShardOrders) -> None:
        self.orders = orders

    async def yield_pages(self) -> int | None:
        return 0

    async def stop(self) -> ShardEnd:
        self.end = ShardEnd(reason="stopped")
        return self.end

    async def kill(self) -> None:
        self.was_killed, self.end = True, ShardEnd(reason="killed")


class LaggingEngine(FakeEngine):
    """Engine whose server is behind while `shown` is set: it shows this, and refuses changes."""

    shown: KeyEntry | None = None

    async def get(self, key: str) -> KeyEntry | None:
        return self.shown or await super().get(key)

    async def update(self, key: str, value: bytes, revision: int) -> int:
        if self.shown:
            raise KeyTaken("the key was changed")
        return await super().update(key, value, revision)


class DenyingEngine(FakeEngine):
    async def watch(self, prefix: str = "") -> AsyncGenerator[KeyEntry, None]:
        raise EngineError(f"watching {prefix} is denied")
        yield


class TriedNode:
    def __init__(self, engine: FakeEngine, name: str, clock: list[float], folder: Path) -> None:
        self.engine, servers = engine, engine.servers
        self.said: list[str] = []
        self.crawls: dict[int, NotedCrawl] = {}
        session = f"session of {name} {len(servers.values)}"
        own = replace(record(name, beat=0), session=session)
        now = lambda: clock[0]  # noqa: E731
        self.presence = NodePresence(self.engine, name, own, folder, now)
        self.state = CrawlState(self.engine, TERMS)
        self.state.hear(KeyEntry(STATE_KEY, RUNNING.pack(), 1))
        self.leaving, tell = asyncio.Event(), self.said.append
        self.node = Node(
            self.engine, self.presence, self.state, self._start, tell, self.leaving, now
        )
        self.held = self.node.held

    def _start(self, shard: int, _generation: int) -> NotedCrawl:
        self.crawls[shard] = crawl = NotedCrawl()
        return crawl

    async def hear(self) -> None:
        entries = self.engine.servers.values.values()
        for entry in sorted(entries, key=lambda entry: entry.revision):
            self.node.hear(entry)

    async def round(self) -> None:
        await self.hear()
        await self.node.beat()
        await self.node.decide()
        # A node tells nobody that it is busy with a shard.
        while busy := [held.busy for held in self.held._shards.values() if held.busy]:
            await asyncio.wait(busy)


TERMS = TermsRecord(
    id="1", format=1, schema=1, version="1", shards=SHARDS, settings={}, seeds="seeds"
)
RUNNING = StateRecord(doing=CrawlActivity.RUNNING, run=1, reason="")


class Cluster:
    """Nodes that share servers and a clock."""

    def __init__(self) -> None:
        self.servers, self.clock = FakeServers(), [100.0]

    def node(self, name: str, engine: FakeEngine | None = None, folder: Path = Path()) -> TriedNode:
        return TriedNode(engine or FakeEngine(self.servers), name, self.clock, folder)

    def nobody_answers(self, fault: Fault = Fault.BEFORE) -> None:
        self.servers.faults = [fault] * 10_000

    def all_answer(self) -> None:
        self.servers.faults = []

    async def tick(self, _seconds: float) -> None:
        """Let a second pass: the sleep of a node that waits for its name."""
        self.clock[0] += 1

    async def pass_time(self, seconds: float, *nodes: TriedNode) -> None:
        """Let time pass, with a round of these nodes each second."""
        ends_at = self.clock[0] + seconds
        while self.clock[0] < ends_at:
            self.clock[0] += 1
            for node in nodes:
                await node.round()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
async def a(cluster: Cluster) -> TriedNode:
    """Return the only node of the cluster, which crawls all shards."""
    a = cluster.node("a")
    await cluster.pass_time(2, a)
    return a


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        ({"pages": 20}, {"fetched": 10}),
        ({"pages": 90, "new-pages": 12}, {"fetched": 10}),  # earlier runs have fetched 8
        ({"for": "1m"}, {"age_s": 60}),
        ({"bytes": "2kB"}, {"wire_bytes": 1000}),
    ],
)
def test_the_crawl_ends_when_all_shards_together_have_spent_a_limit(
    limits: dict[str, object], told: dict[str, Any]
) -> None:
    state = CrawlState(FakeEngine(), replace(TERMS, settings=limits))
    state.hear(KeyEntry(STATE_KEY, replace(RUNNING, fetched=8).pack(), 1))
    for shard in range(2):
        assert state.end == ""
        state.hear(KeyEntry(f"told.{shard}", ShardFacts(shard, waiting=1, run=1).pack(), 0))
    for shard in range(2):
        state.hear(KeyEntry(f"told.{shard}", ShardFacts(shard, waiting=1, run=1, **told).pack(), 0))
    assert state.end == "budget spent"


async def test_the_crawl_ends_when_enough_importance_was_gathered_at_two_looks(
    cluster: Cluster,
) -> None:
    a = cluster.node("a")
    until = replace(TERMS, settings={"until": "60%"})
    await a.engine.put(STATE_KEY, RUNNING.pack())
    await a.engine.put(TERMS_KEY, until.pack())
    await a.round()
    for gathered, end in ((6, ""), (5, ""), (7, ""), (7, Reason.GATHERED)):
        for shard in range(SHARDS):
            facts = ShardFacts(shard, fetched=1, gathered=gathered, ungathered=10 - gathered, run=1)
            a.state.hear(KeyEntry(f"told.{shard}", facts.pack(), 0))
        assert a.state.end == ""
        await a.round()
        assert a.state.end == end
    assert (a.state.state.doing, a.state.state.reason) == ("ended", Reason.GATHERED)


def test_terms_with_an_invalid_limit_are_refused() -> None:
    with pytest.raises(RecordError, match=r"crawl\.terms"):
        CrawlState(FakeEngine(), replace(TERMS, settings={"bytes": {}}))


def test_a_node_ends_with_the_error_of_one_of_its_tasks(cluster: Cluster) -> None:
    a = cluster.node("a", DenyingEngine(cluster.servers))
    with pytest.raises(EngineError, match="is denied"):
        in_time(a.node.run())
    assert not a.held.numbers


async def test_a_second_node_gets_half_of_the_shards_after_a_while(
    cluster: Cluster,
) -> None:
    a, b = cluster.node("a"), cluster.node("b")
    await cluster.pass_time(2, a)
    await cluster.pass_time(YOUNG_S - 1, a, b)
    assert not b.held.running
    await cluster.pass_time(3, a, b)
    assert sorted([*a.held.running, *b.held.running]) == [0, 1, 2, 3]
    assert len(b.held.running) == 2
    assert not any(crawl.was_killed for crawl in a.crawls.values())


async def _with_two(cluster: Cluster) -> tuple[TriedNode, TriedNode]:
    a, b = cluster.node("a"), cluster.node("b")
    await cluster.pass_time(YOUNG_S + 3, a, b)
    assert len(a.held.running) == len(b.held.running) == 2
    return a, b


async def test_shards_of_a_dead_node_are_crawled_elsewhere_within_fifteen_seconds(
    cluster: Cluster,
) -> None:
    _gone, b = await _with_two(cluster)
    await cluster.pass_time(LEASE_S + 2, b)
    assert sorted(b.held.running) == [0, 1, 2, 3]
    assert LEASE_S + 2 < 15


async def test_a_paused_node_loses_its_shards_says_so_and_gets_shards_again(
    cluster: Cluster,
) -> None:
    a, b = await _with_two(cluster)
    lost = sorted(a.held.running)
    before = dict(a.crawls)
    await cluster.pass_time(60, b)
    assert all(before[shard].deadline < cluster.clock[0] for shard in lost)
    a.said.clear()
    await a.round()
    assert all(before[shard].was_killed for shard in lost)
    (said,) = a.said
    assert "60 s" in said
    assert ", ".join(map(str, lost)) in said
    await cluster.pass_time(YOUNG_S + 3, a, b)
    assert len(a.held.running) == len(b.held.running) == 2


async def test_a_paused_node_keeps_its_shards_if_no_other_took_them(
    a: TriedNode, cluster: Cluster
) -> None:
    before = dict(a.crawls)
    cluster.clock[0] += 60
    await a.round()
    (said,) = a.said
    assert "60 s" in said
    assert a.crawls == before
    assert not any(crawl.was_killed for crawl in before.values())
    assert before[0].deadline == cluster.clock[0] + HOLD_S


@pytest.mark.parametrize(
    ("fault", "why"), [(Fault.BEFORE, f"{HOLD_S:g} s"), (Fault.FULL, "no room")]
)
async def test_a_node_without_an_answer_of_the_servers_pauses_its_shards_and_says_so(
    a: TriedNode, cluster: Cluster, fault: Fault, why: str
) -> None:
    deadline = a.crawls[0].deadline
    cluster.nobody_answers(fault)
    await cluster.pass_time(HOLD_S + 3, a)
    assert a.crawls[0].deadline == deadline < cluster.clock[0]
    (said,) = a.said
    assert why in said
    assert "4 shards" in said
    cluster.all_answer()
    await cluster.pass_time(1, a)
    assert a.crawls[0].deadline == cluster.clock[0] + HOLD_S
    cluster.nobody_answers()
    await cluster.pass_time(HOLD_S + 3, a)
    _, _, later = a.said
    assert "no room" not in later


async def test_each_beat_says_how_much_room_the_disk_has(cluster: Cluster, tmp_path: Path) -> None:
    a = cluster.node("a", folder=(folder := tmp_path / "shards"))
    folder.mkdir()
    await a.node.beat()
    assert a.presence.record.disk_free > 0
    folder.rmdir()
    await a.node.beat()
    assert a.presence.record.disk_free == 0


async def test_a_silent_node_keeps_its_shards_while_nobody_could_be_heard(cluster: Cluster) -> None:
    _gone, b = await _with_two(cluster)
    cluster.nobody_answers()
    await cluster.pass_time(2 * LEASE_S, b)
    cluster.all_answer()
    await cluster.pass_time(3, b)
    assert len(b.held.running) == 2
    await cluster.pass_time(LEASE_S, b)
    assert sorted(b.held.running) == [0, 1, 2, 3]


async def test_a_node_sends_beats_while_its_budget_waits_for_an_answer(
    a: TriedNode, cluster: Cluster
) -> None:
    answers = asyncio.Event()

    async def waits(*_given: object) -> None:
        await answers.wait()

    a.state.share_out = waits  # type: ignore[method-assign, assignment]  # takes no notice
    deciding = asyncio.create_task(a.node.decide())
    for _ in range(2):
        cluster.clock[0] += HOLD_S - 1
        await a.node.beat()
    assert not deciding.done()
    assert {crawl.deadline for crawl in a.crawls.values()} == {cluster.clock[0] + HOLD_S}
    answers.set()
    await deciding


@pytest.mark.parametrize("fault", Fault)
async def test_a_node_keeps_its_shards_when_the_answer_to_a_beat_is_lost(
    a: TriedNode, cluster: Cluster, fault: Fault
) -> None:
    for _ in range(3):
        cluster.servers.faults = [fault]
        await cluster.pass_time(2, a)
    assert sorted(a.held.running) == [0, 1, 2, 3]
    assert a.said == []


async def test_a_drained_node_stops_its_crawls_and_another_takes_its_shards(
    cluster: Cluster,
) -> None:
    a, b = await _with_two(cluster)
    await steering.drain(a.engine, "a")
    await cluster.pass_time(3, a, b)
    assert not a.held.running
    assert sorted(b.held.running) == [0, 1, 2, 3]
    assert {crawl.end for crawl in a.crawls.values()} == {ShardEnd(reason="stopped")}
    await steering.drain(a.engine, "a", undo=True)
    await cluster.pass_time(3, a, b)
    assert len(a.held.running) == 2


async def test_two_nodes_of_one_name_are_refused(cluster: Cluster) -> None:
    a, again = cluster.node("a"), cluster.node("a")
    await a.presence.begin()

    async def meanwhile(seconds: float) -> None:
        await cluster.tick(seconds)
        await a.round()

    with pytest.raises(UsageError, match="named a "):
        await again.presence.begin(meanwhile)


async def test_a_killed_node_begins_again_under_its_name(cluster: Cluster) -> None:
    a = cluster.node("a")
    await a.presence.begin()
    again = cluster.node("a")
    await again.presence.begin(cluster.tick)
    await again.round()
    await again.round()
    assert sorted(again.held.running) == [0, 1, 2, 3]


async def test_a_node_goes_on_while_a_server_shows_the_record_of_an_earlier_process(
    cluster: Cluster,
) -> None:
    dead, engine = cluster.node("a"), LaggingEngine(cluster.servers)
    await dead.presence.begin()
    record = await dead.engine.get("node.a")
    a = cluster.node("a", engine)
    await a.presence.begin(cluster.tick)
    await cluster.pass_time(2, a)
    a.said.clear()
    for shown in (record, None):
        engine.shown = shown
        await cluster.pass_time(3, a)
    assert sorted(a.held.running) == [0, 1, 2, 3]
    assert a.said == []


async def test_a_paused_node_ends_when_another_process_has_taken_its_name(
    cluster: Cluster,
) -> None:
    paused = cluster.node("a")
    await paused.presence.begin()
    again = cluster.node("a")
    await again.presence.begin(cluster.tick)
    with pytest.raises(UsageError, match="named a "):
        await paused.node.beat()


async def test_an_old_record_that_appears_late_only_delays_a_node_of_the_same_name(
    cluster: Cluster,
) -> None:
    dead = cluster.node("a")
    await dead.presence.begin()
    a, sleeps = cluster.node("a"), 0

    async def meanwhile(_seconds: float) -> None:
        nonlocal sleeps
        sleeps += 1
        cluster.clock[0] += 1
        if sleeps == 1:
            await dead.node.beat()  # an earlier beat that a new leader had not known yet

    await a.presence.begin(meanwhile)
    assert sleeps > LEASE_S


async def test_a_failed_crawl_of_a_shard_begins_again_after_a_pause(
    a: TriedNode, cluster: Cluster
) -> None:
    first = a.crawls[1]
    first.end = ShardEnd(reason="the disk is broken")
    await cluster.pass_time(1, a)
    (said,) = a.said
    assert "shard 1" in said
    assert "the disk is broken" in said
    assert a.crawls[1] is first
    await cluster.pass_time(4, a)
    assert a.crawls[1] is not first
    assert sorted(a.held.running) == [0, 1, 2, 3]


async def test_a_node_whose_crawl_was_fenced_says_that_it_lost_the_shard(
    a: TriedNode, cluster: Cluster
) -> None:
    a.crawls[1].end = ShardEnd(reason="fenced", is_fenced=True)
    await cluster.pass_time(1, a)
    (said,) = a.said
    assert "lost the lease on shard 1" in said


async def test_the_crawl_ends_when_nothing_is_left_in_any_shard(cluster: Cluster) -> None:
    a = cluster.node("a")
    revision = await a.engine.update(STATE_KEY, RUNNING.pack(), 0)
    assert revision
    await cluster.pass_time(2, a)
    for shard in range(SHARDS):
        await a.engine.put(f"told.{shard}", ShardFacts(shard, is_idle=True, run=1).pack())
    await cluster.pass_time(3, a)
    assert a.state.state.doing == CrawlActivity.ENDED
    assert a.state.state.reason == "nothing left to fetch"
    assert not a.held.running


async def test_invalid_values_of_keys_are_named_and_change_nothing(
    a: TriedNode, cluster: Cluster
) -> None:
    await a.engine.put("lease.2", b"{}")
    await a.engine.put("node.x", b"[")
    await cluster.pass_time(1, a)
    assert len(a.said) == 2
    assert all(key in line for key, line in zip(("lease.2", "node.x"), a.said, strict=True))
    assert sorted(a.held.running) == [0, 1, 2, 3]


@pytest.mark.parametrize("machine", ["east", "east.example.org", "e" * 60, ""])
def test_a_crawl_beside_the_node_of_a_machine_has_a_name_of_its_own(
    machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.node", lambda: machine)
    names = running.default_node_name(), running.default_node_name("-crawl")
    assert names[0] != names[1]
    assert all(0 < len(name) <= 32 for name in names)


async def test_a_node_leaves_a_shard_that_it_cannot_crawl_to_others(
    a: TriedNode, cluster: Cluster
) -> None:
    a.crawls[1].end = ShardEnd(reason="the disk is full", is_for_others=True)
    await cluster.pass_time(2, a)
    (said,) = a.said
    assert "shard 1 ended: the disk is full" in said
    assert "3 shards" in said
    assert sorted(a.held.running) == [0, 2, 3]
    b = cluster.node("b")
    await cluster.pass_time(YOUNG_S + 3, a, b)
    assert 1 in b.held.running


async def test_a_node_that_can_crawl_no_shard_ends(a: TriedNode, cluster: Cluster) -> None:
    for crawl in a.crawls.values():
        crawl.end = ShardEnd(reason="the disk is full", is_for_others=True)
    with pytest.raises(UsageError, match="shard 0 ended: the disk is full"):
        await cluster.pass_time(1, a)
