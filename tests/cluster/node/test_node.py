"""A node over the fake engine, with crawls that only note what they are told, and a clock that the
test turns."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from minicrawl.cluster import overview as steering
from minicrawl.cluster.assignment import ShardFacts, as_bytes
from minicrawl.cluster.engine import EngineError, KeyEntry, KeyTaken
from minicrawl.cluster.node import node as running
from minicrawl.cluster.node.leases import HOLD_S, LEASE_S, YOUNG_S, ClusterView, NodePresence
from minicrawl.cluster.node.node import CrawlState, Node, NodeParts
from minicrawl.cluster.node.supervisor import ShardEnd, ShardOrders, ShardSupervisor
from minicrawl.cluster.terms import (
    STATE_KEY,
    CrawlActivity,
    LeaseRecord,
    NodeRecord,
    RecordError,
    StateRecord,
    TermsRecord,
)
from minicrawl.errors import UsageError
from tests.cluster.fake_engine import FakeEngine, FakeServers, Fault

SHARDS, WORKERS = 4, 1


class NotedCrawl:
    """The crawl of a shard: it says that it fetched all that it was granted."""

    def __init__(self) -> None:
        self.end: ShardEnd | None = None
        self.deadline = 0.0
        self.orders: ShardOrders | None = None
        self.was_killed = False
        self.warned: list[str] = []

    def warnings(self) -> list[str]:
        new, self.warned = self.warned, []
        return new

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


class TriedNode:
    """A node, its crawls, what it said, and the time."""

    def __init__(self, servers: FakeServers, name: str, clock: list[float], **terms: Any) -> None:
        self.engine = FakeEngine(servers)
        self.said: list[str] = []
        self.crawls: dict[int, NotedCrawl] = {}
        record = NodeRecord(
            session=f"session of {name} {len(servers.values)}",
            beat=0,
            version="1",
            machine="m",
            pid=1,
            room=SHARDS,
            workers=WORKERS,
            disk_free=1,
        )
        now = lambda: clock[0]  # noqa: E731
        self.presence = NodePresence(self.engine, self.engine.beats, name, record, now)
        self.state = CrawlState(self.engine, TERMS, WORKERS)
        self.state.hear(KeyEntry(STATE_KEY, RUNNING.pack(), 1))
        view = ClusterView(SHARDS)
        held = ShardSupervisor(self.engine, view, self.presence.me, self._start, self.said.append)
        parts = NodeParts(self.presence, self.state, view, held)
        self.node = Node(self.engine, parts, self.said.append, now)
        self.held = held

    def _start(self, shard: int, _generation: int) -> NotedCrawl:
        self.crawls[shard] = crawl = NotedCrawl()
        return crawl

    async def hear(self) -> None:
        """All keys as they are now."""
        for keys, hear in (
            (self.engine, self.node.hearing.hear),
            (self.engine.beats, self.node.hearing.hear_beat),
        ):
            for entry in sorted(keys.servers.values.values(), key=lambda one: one.revision):
                hear(entry)

    async def round(self) -> None:
        await self.hear()
        await self.node.beat()
        await self.node.decide()
        await self.held.settled()


TERMS = TermsRecord(
    id="1", format=1, schema=1, version="1", shards=SHARDS, settings={}, seeds="seeds"
)
RUNNING = StateRecord(doing=CrawlActivity.RUNNING, run=1, reason="")


class Cluster:
    """Nodes that share servers and a clock."""

    def __init__(self) -> None:
        self.servers, self.clock = FakeServers(), [100.0]

    @property
    def beats(self) -> FakeServers:
        assert self.servers.beats is not None
        return self.servers.beats

    def node(self, name: str) -> TriedNode:
        return TriedNode(self.servers, name, self.clock)

    def nobody_answers(self, fault: Fault = Fault.BEFORE) -> None:
        for servers in (self.servers, self.beats):
            servers.faults = [fault] * 10_000

    def all_answer(self) -> None:
        for servers in (self.servers, self.beats):
            servers.faults = []

    async def pass_time(self, seconds: float, *nodes: TriedNode) -> None:
        """These nodes have a round each second."""
        ends_at = self.clock[0] + seconds
        while self.clock[0] < ends_at:
            self.clock[0] += 1
            for node in nodes:
                await node.round()


def tried(work: Callable[[Cluster], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(Cluster()), 60))


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
        state.hear_facts(f"told.1.{shard}", as_bytes(ShardFacts(shard, waiting=1)))
    for shard in range(2):
        state.hear_facts(f"told.1.{shard}", as_bytes(ShardFacts(shard, waiting=1, **told)))
    assert state.end == "budget spent"


def test_a_limit_that_no_crawl_writes_is_not_taken_in() -> None:
    with pytest.raises(RecordError, match=r"crawl\.terms"):
        CrawlState(FakeEngine(), replace(TERMS, settings={"bytes": {}}))


def test_a_node_that_is_alone_crawls_all_shards() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        assert sorted(a.held.running) == [0, 1, 2, 3]
        assert {crawl.deadline for crawl in a.crawls.values()} == {cluster.clock[0] + HOLD_S}

    tried(work)


def test_a_node_ends_with_what_ended_one_of_its_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def denied(_prefix: str = "") -> AsyncIterator[KeyEntry | None]:
        raise EngineError("watching is denied")
        yield

    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        monkeypatch.setattr(a.engine, "watch", denied)
        monkeypatch.setattr(running, "BEAT_S", 0)
        with pytest.raises(EngineError, match="watching is denied"):
            await a.node.run()
        assert not a.held.numbers

    tried(work)


def test_a_second_node_gets_its_part_when_it_has_been_there_for_a_while() -> None:
    async def work(cluster: Cluster) -> None:
        a, b = cluster.node("a"), cluster.node("b")
        await cluster.pass_time(2, a)
        await cluster.pass_time(YOUNG_S - 1, a, b)
        assert not b.held.running
        await cluster.pass_time(3, a, b)
        assert sorted([*a.held.running, *b.held.running]) == [0, 1, 2, 3]
        assert len(b.held.running) == 2
        assert not any(crawl.was_killed for crawl in a.crawls.values())

    tried(work)


async def _with_two(cluster: Cluster) -> tuple[TriedNode, TriedNode]:
    a, b = cluster.node("a"), cluster.node("b")
    await cluster.pass_time(YOUNG_S + 3, a, b)
    assert len(a.held.running) == len(b.held.running) == 2
    return a, b


def test_shards_of_a_node_that_is_gone_are_crawled_elsewhere_within_fifteen_seconds() -> None:
    async def work(cluster: Cluster) -> None:
        _gone, b = await _with_two(cluster)
        await cluster.pass_time(LEASE_S + 2, b)
        assert sorted(b.held.running) == [0, 1, 2, 3]
        assert LEASE_S + 2 < 15

    tried(work)


def test_a_node_that_was_paused_finds_itself_fenced_says_so_and_goes_on() -> None:
    async def work(cluster: Cluster) -> None:
        a, b = await _with_two(cluster)
        lost = sorted(a.held.running)
        before = dict(a.crawls)
        await cluster.pass_time(60, b)
        assert all(before[shard].deadline < cluster.clock[0] for shard in lost)
        a.said.clear()
        await a.round()
        assert all(before[shard].was_killed for shard in lost)
        numbers = ", ".join(map(str, lost))
        assert a.said == [f"paused for 60 s; lost the lease on shards {numbers} to other nodes"]
        await cluster.pass_time(YOUNG_S + 3, a, b)
        assert len(a.held.running) == len(b.held.running) == 2

    tried(work)


def test_a_node_that_was_paused_alone_goes_on_with_its_shards() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        before = dict(a.crawls)
        cluster.clock[0] += 60
        await a.round()
        assert a.said == ["paused for 60 s"]
        assert a.crawls == before
        assert not any(crawl.was_killed for crawl in before.values())
        assert before[0].deadline == cluster.clock[0] + HOLD_S

    tried(work)


def test_a_node_that_the_servers_do_not_answer_lets_its_shards_stand_still() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        deadline = a.crawls[0].deadline
        cluster.nobody_answers()
        await cluster.pass_time(HOLD_S + 3, a)
        assert a.crawls[0].deadline == deadline < cluster.clock[0]
        assert a.said == [
            "the cluster has not answered for 6 s: 4 shards of this node paused until it does"
        ]
        cluster.all_answer()
        await cluster.pass_time(1, a)
        assert a.said[1:] == ["the cluster answers again"]
        assert a.crawls[0].deadline == cluster.clock[0] + HOLD_S

    tried(work)


def test_shards_stand_still_and_say_why_while_servers_have_no_room() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        cluster.nobody_answers(Fault.FULL)
        await cluster.pass_time(HOLD_S + 3, a)
        assert a.said == [
            "the servers have no room: 4 shards of this node paused until there is room"
        ]
        cluster.all_answer()
        await cluster.pass_time(1, a)
        assert a.said[1:] == ["the cluster answers again"]
        cluster.nobody_answers()
        await cluster.pass_time(HOLD_S + 3, a)
        assert a.said[2:] == [
            "the cluster has not answered for 6 s: 4 shards of this node paused until it does"
        ]

    tried(work)


def test_a_node_leaves_a_server_at_which_neither_place_answers() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        cluster.servers.faults = [Fault.BEFORE] * 10_000
        await cluster.pass_time(5, a)
        assert a.engine.beats.left == 0
        cluster.nobody_answers()
        await cluster.pass_time(1, a)
        assert a.engine.beats.left == 1
        cluster.nobody_answers(Fault.FULL)
        await cluster.pass_time(1, a)
        assert a.engine.beats.left == 1

    tried(work)


def places(cluster: Cluster) -> list[FakeServers]:
    """Those of the keys, and those of the beats."""
    return [cluster.servers, cluster.beats]


@pytest.mark.parametrize("silent", [0, 1])
def test_one_place_is_enough_to_say_that_a_node_is_there(silent: int) -> None:
    """As long as nobody leads the other one."""

    async def work(cluster: Cluster) -> None:
        a, b = await _with_two(cluster)
        before = dict(a.crawls)
        places(cluster)[silent].faults = [Fault.BEFORE] * 10_000
        await cluster.pass_time(3 * LEASE_S, a, b)
        assert a.crawls == before
        assert {before[one].deadline for one in a.held.running} == {cluster.clock[0] + HOLD_S}
        assert len(b.held.running) == 2
        assert a.said == b.said == []

    tried(work)


def test_a_node_that_is_silent_in_one_place_keeps_its_shards() -> None:
    """It cannot be heard among the keys, or those who look there are late."""

    async def work(cluster: Cluster) -> None:
        _gone, b = await _with_two(cluster)
        cluster.beats.faults = [Fault.BEFORE] * 10_000  # what b says is not heard there
        await cluster.pass_time(2 * LEASE_S, b)
        assert len(b.held.running) == 2
        cluster.beats.faults = []
        await cluster.pass_time(3, b)
        assert sorted(b.held.running) == [0, 1, 2, 3]

    tried(work)


def test_a_node_says_that_it_is_there_while_the_budget_waits_for_an_answer() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
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

    tried(work)


@pytest.mark.parametrize("fault", Fault)
def test_a_beat_whose_answer_is_lost_costs_nothing(fault: Fault) -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        for _ in range(3):
            cluster.servers.faults, cluster.beats.faults = [fault], [fault]
            await cluster.pass_time(2, a)
        assert sorted(a.held.running) == [0, 1, 2, 3]
        assert a.said == []

    tried(work)


def test_a_drained_node_ends_its_crawls_cleanly_and_others_take_them() -> None:
    async def work(cluster: Cluster) -> None:
        a, b = await _with_two(cluster)
        await steering.drain(a.engine, "a")
        await cluster.pass_time(3, a, b)
        assert not a.held.running
        assert sorted(b.held.running) == [0, 1, 2, 3]
        assert {crawl.end for crawl in a.crawls.values()} == {ShardEnd(reason="stopped")}
        await steering.undrain(a.engine, "a")
        await cluster.pass_time(3, a, b)
        assert len(a.held.running) == 2

    tried(work)


def test_the_workers_of_a_node_are_its_own_until_somebody_wishes_for_others() -> None:
    async def work(cluster: Cluster) -> None:
        a, b = await _with_two(cluster)

        def workers() -> list[set[int | None]]:
            told = ([one.crawls[shard].orders for shard in one.held.running] for one in (a, b))
            return [{orders.workers for orders in each if orders} for each in told]

        assert workers() == [{WORKERS}, {WORKERS}]
        for wanted in (3, 0):
            await steering.set_workers(b.engine, "a", wanted)
            await cluster.pass_time(2, a, b)
            assert workers() == [{wanted}, {WORKERS}]

    tried(work)


def test_two_nodes_of_one_name_are_refused() -> None:
    async def work(cluster: Cluster) -> None:
        a, again = cluster.node("a"), cluster.node("a")
        await a.presence.begin()

        async def meanwhile(_seconds: float) -> None:
            cluster.clock[0] += 1
            await a.round()

        with pytest.raises(UsageError, match="a node named a is in this cluster already"):
            await again.presence.begin(meanwhile)

    tried(work)


def test_a_node_that_was_killed_begins_again_under_its_name() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await a.presence.begin()
        again = cluster.node("a")

        async def meanwhile(_seconds: float) -> None:
            cluster.clock[0] += 1

        await again.presence.begin(meanwhile)
        await again.round()
        await again.round()
        assert sorted(again.held.running) == [0, 1, 2, 3]

    tried(work)


async def _named_again(cluster: Cluster) -> tuple[TriedNode, KeyEntry]:
    """A node after one that was killed had its name; and what that one had said of itself."""
    dead = cluster.node("a")
    await dead.presence.begin()
    said = await dead.engine.get("node.a")
    assert said is not None
    node = cluster.node("a")

    async def meanwhile(_seconds: float) -> None:
        cluster.clock[0] += 1

    await node.presence.begin(meanwhile)
    return node, said


def test_a_leader_that_shows_the_record_of_an_earlier_process_ends_no_node() -> None:
    async def work(cluster: Cluster) -> None:
        a, said = await _named_again(cluster)
        await cluster.pass_time(2, a)
        a.said.clear()  # it began late

        async def behind(_key: str) -> KeyEntry:
            return said

        async def refused(*_change: object) -> int:
            raise KeyTaken("the key was changed")

        with pytest.MonkeyPatch.context() as leader:
            leader.setattr(a.engine, "get", behind)
            leader.setattr(a.engine, "update", refused)
            await cluster.pass_time(3, a)
        await cluster.pass_time(2, a)
        assert sorted(a.held.running) == [0, 1, 2, 3]
        assert a.said == []

    tried(work)


def test_a_process_that_took_the_name_of_a_node_ends_it() -> None:
    async def work(cluster: Cluster) -> None:
        paused = cluster.node("a")
        await paused.presence.begin()
        again = cluster.node("a")

        async def meanwhile(_seconds: float) -> None:
            cluster.clock[0] += 1

        await again.presence.begin(meanwhile)
        with pytest.raises(UsageError, match="another node named a came"):
            await paused.node.beat()

    tried(work)


def test_a_record_that_was_read_from_the_past_keeps_no_node_from_its_name() -> None:
    async def work(cluster: Cluster) -> None:
        dead = cluster.node("a")
        await dead.presence.begin()
        a, sleeps = cluster.node("a"), 0

        async def meanwhile(_seconds: float) -> None:
            nonlocal sleeps
            sleeps += 1
            cluster.clock[0] += 1
            if sleeps == 1:
                await dead.node.beat()  # which a new leader had not known yet

        await a.presence.begin(meanwhile)
        assert sleeps > LEASE_S

    tried(work)


def test_a_shard_whose_crawl_failed_begins_again_after_a_pause() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        first = a.crawls[1]
        first.end = ShardEnd(reason="error", error="the disk is broken")
        await cluster.pass_time(1, a)
        assert a.said == ["shard 1 ended: the disk is broken"]
        assert a.crawls[1] is first
        await cluster.pass_time(4, a)
        assert a.crawls[1] is not first
        assert sorted(a.held.running) == [0, 1, 2, 3]

    tried(work)


def test_who_is_fenced_by_the_log_gives_the_shard_up_and_says_so() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        a.crawls[1].end = ShardEnd(reason="fenced", is_fenced=True)
        await cluster.pass_time(1, a)
        assert a.said == ["lost the lease on shard 1: another node writes its log"]

    tried(work)


def test_the_crawl_ends_when_nothing_is_left_in_any_shard() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        revision = await a.engine.create(STATE_KEY, RUNNING.pack())
        assert revision
        await cluster.pass_time(2, a)
        for shard in range(SHARDS):
            await a.engine.put(f"told.1.{shard}", as_bytes(ShardFacts(shard, is_idle=True)))
        await cluster.pass_time(3, a)
        assert a.state.state.doing == CrawlActivity.ENDED
        assert a.state.state.reason == "nothing left to fetch"
        assert not a.held.running

    tried(work)


def test_what_no_node_writes_is_told_and_changes_nothing() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        await a.engine.put("lease.2", b"{}")
        await a.engine.put("node.x", b"[")
        await cluster.pass_time(1, a)
        assert len(a.said) == 2
        assert all("has no value of ours" in line for line in a.said)
        assert sorted(a.held.running) == [0, 1, 2, 3]

    tried(work)


def test_what_several_shards_warn_of_is_said_once() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        for shard, warnings in {0: ["full"], 2: ["full", "slow"]}.items():
            a.crawls[shard].warned = warnings
        await cluster.pass_time(2, a)
        assert a.said == ["shards 0, 2: full", "shard 2: slow"]

    tried(work)


def test_leases_are_values_that_come_back_as_they_were() -> None:
    one = LeaseRecord(node="a", session="s", generation=3)
    assert LeaseRecord.unpack("lease.1", one.pack()) == one


def test_a_disk_without_room_for_one_more_shard_leaves_it_to_others() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        a.crawls[1].end = ShardEnd(reason="error", error="the disk is full", has_no_room=True)
        await cluster.pass_time(2, a)
        assert a.said == [
            "no room for shard 1 on this node's disk: it holds 3 shards at most, until it is "
            "started again"
        ]
        assert sorted(a.held.running) == [0, 2, 3]
        b = cluster.node("b")
        await cluster.pass_time(YOUNG_S + 3, a, b)
        assert 1 in b.held.running

    tried(work)


def test_a_node_whose_disk_has_no_room_for_any_shard_ends() -> None:
    async def work(cluster: Cluster) -> None:
        a = cluster.node("a")
        await cluster.pass_time(2, a)
        for crawl in a.crawls.values():
            crawl.end = ShardEnd(reason="error", error="the disk is full", has_no_room=True)
        with pytest.raises(UsageError, match="no room for shard 0 on this node's disk"):
            await cluster.pass_time(1, a)

    tried(work)
