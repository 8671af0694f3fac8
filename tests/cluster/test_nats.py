"""Laws of the NATS engine alone: users, foreign objects, full streams, servers that are killed."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from itertools import repeat
from pathlib import Path
from time import monotonic

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from minicrawl.cluster.access import ClusterAccess, cancelled, opened
from minicrawl.cluster.engine import (
    ClusterEngine,
    EngineError,
    EngineFull,
    EngineUnavailable,
    Fenced,
    LogEntry,
)
from minicrawl.cluster.nats.connecting import NatsEngine, connect
from minicrawl.cluster.servers import LocalServers, local_servers
from minicrawl.errors import UsageError
from tests.cluster.engines import connected, leader_of, needs_server
from tests.cluster.relay import Weather, relays

pytestmark = [needs_server, pytest.mark.anyio]
Heard = Callable[[Msg], Awaitable[None]]

SHARD = 3
LONG_S = 240
ROUNDS = 3
CHANGES = 12


@asynccontextmanager
async def served(folder: Path, count: int) -> AsyncIterator[tuple[LocalServers, NatsEngine]]:
    """Run so many servers, with an engine that outwaits an election."""
    async with (
        local_servers(folder, count) as servers,
        connected(ClusterAccess(url=servers.url, patience_s=60)) as engine,
    ):
        assert isinstance(engine, NatsEngine)
        yield servers, engine


def with_user(url: str, user: str) -> str:
    return url.replace("nats://", f"nats://{user}@")


async def test_reading_a_crawl_of_a_wrong_name_fails_and_creates_nothing(tmp_path: Path) -> None:
    async with local_servers(tmp_path, 1) as servers:
        typo = ClusterAccess(servers.url, "typo")
        for _ in range(2):  # the first one has left nothing
            with pytest.raises(UsageError, match="typo"):
                async with opened(typo, makes=False):
                    pass
        async with opened(typo):
            pass
        async with opened(typo, makes=False) as engine:
            assert await engine.keys() == []


@pytest.mark.slow
async def test_a_watcher_that_misses_a_change_catches_up_with_the_next_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(settings: ClusterAccess) -> None:
        put = list[str]()
        async with connected(settings) as engine, connected(settings) as other:
            monkeypatch.setattr(Client, "subscribe", deaf_at_first(Client.subscribe))
            async with aclosing(engine.watch("node.")) as changes:
                changing = asyncio.create_task(change_on(other, put))
                try:
                    async for entry in changes:
                        if len(put) > 1 and entry.key == put[-1]:
                            break
                finally:
                    await cancelled([changing])

    async with local_servers(tmp_path, 1) as servers:
        await work(ClusterAccess(url=servers.url))


def deaf_at_first(subscribe: Callable[..., Awaitable[object]]) -> Callable[..., Awaitable[object]]:
    """Wrap `Client.subscribe` so that a subscription to keys misses its first message."""

    async def subscribed(client: Client, subject: str, cb: Heard) -> object:
        missed = list[Msg]()

        async def hear(message: Msg) -> None:
            if missed or not subject.startswith("$KV."):
                await cb(message)
            missed.append(message)

        return await subscribe(client, subject, cb=hear)

    return subscribed


@pytest.mark.slow
async def test_keys_that_change_faster_than_they_are_read_are_all_found(tmp_path: Path) -> None:
    names = [f"told.{number}" for number in range(8)]

    async def change(near: ClusterEngine) -> None:
        while True:
            for name in names:
                await near.put(name, b"")

    async with (
        served(tmp_path, 1) as (servers, near),
        relays([servers.servers[0].address], Weather(delay_s=0.1)) as (relay,),
        connected(ClusterAccess(url="nats://{}:{}".format(*relay.place), patience_s=60)) as far,
    ):
        for name in names:
            await near.put(name, b"")
        changing = asyncio.create_task(change(near))
        try:
            async with asyncio.timeout(LONG_S):
                assert [entry.key for entry in await far.keys("told.")] == names
                seen = set[str]()
                async with aclosing(far.watch("told.")) as changes:
                    while seen != set(names):
                        seen.add((await anext(changes)).key)
        finally:
            await cancelled([changing])


async def change_on(engine: ClusterEngine, put: list[str]) -> None:
    while True:
        put.append(f"node.{len(put)}")
        await engine.put(put[-1], b"")
        await asyncio.sleep(0.3)


@pytest.mark.slow
async def test_the_permissions_that_the_error_advises_are_enough(tmp_path: Path) -> None:
    secret = "secret"

    def settings_for(url: str) -> ClusterAccess:
        return ClusterAccess(url=with_user(url, f"crawler:{secret}"), name="mine", patience_s=1)

    async def use(folder: Path, allowed: str) -> None:
        more = (
            f'authorization {{ users: [{{user: "crawler", password: "{secret}", '
            f"permissions: {allowed}}}] }}"
        )
        async with (
            local_servers(folder, 1, more=more, access_for=settings_for) as servers,
            connected(settings_for(servers.url)) as engine,
        ):
            assert await engine.append(SHARD, 0, b"one") == 1
            await engine.put("node.a", b"here")
            async with aclosing(engine.broadcasts("told.")) as coming:
                hearing = asyncio.ensure_future(anext(coming))
                while not hearing.done():
                    await engine.broadcast("told.1.0", b"all is well")
                    await asyncio.sleep(0.01)

    little = '{publish: ["$JS.API.STREAM.NAMES"], subscribe: "_INBOX.>"}'
    with pytest.raises(EngineError, match="let this user publish and subscribe") as refused:
        await use(tmp_path / "refused", little)
    advice = str(refused.value).partition("subscribe to ")[2]
    subjects = ", ".join(f'"{one}"' for one in advice.replace(" and ", ", ").split(", "))
    await use(tmp_path / "let-in", f"{{publish: [{subjects}], subscribe: [{subjects}]}}")


async def test_without_a_server_the_error_says_how_to_start_one() -> None:
    with pytest.raises(EngineUnavailable, match="nats-server -js"):
        await connect(ClusterAccess(url="nats://127.0.0.2:9", patience_s=0.5))


async def test_a_server_without_jetstream_is_refused(tmp_path: Path) -> None:
    more = "accounts { one: { users: [{user: a, password: b}] } }"

    def settings_for(found: str) -> ClusterAccess:
        return ClusterAccess(url=with_user(found, "a:b"), patience_s=1)

    with pytest.raises(EngineError, match="JetStream is off"):
        async with local_servers(tmp_path, 1, more=more, access_for=settings_for):
            raise AssertionError("the servers are used")


@pytest.mark.parametrize("url", ["http://host:4222", "nats://", "host:4222", "nats://a:b@:1"])
def test_an_invalid_url_is_refused_without_showing_its_password(url: str) -> None:
    with pytest.raises(UsageError, match="nats://HOST:4222") as refused:
        ClusterAccess(url=url)
    assert "a:b" not in str(refused.value)


def test_a_name_with_special_characters_is_refused() -> None:
    with pytest.raises(UsageError, match="letters, digits"):
        ClusterAccess(url="nats://host:4222", name="my crawl.>")


def test_servers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.starts_servers", tmp_path],
        stdout=subprocess.PIPE,
        text=True,
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        watch = os.pidfd_open(pid)
        starter.kill()
        starter.wait()
    try:
        ended, _, _ = select.select([watch], [], [], LONG_S)
    finally:
        os.close(watch)
    assert ended


async def test_an_invalid_configuration_of_the_servers_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="nats-server ended at once"):
        async with local_servers(tmp_path, 1, more="nonsense {"):
            raise AssertionError("the servers are used")


async def test_a_killed_server_comes_back_with_all_that_it_confirmed(tmp_path: Path) -> None:
    async with served(tmp_path, 1) as (servers, engine):
        await engine.append(SHARD, 0, b"one")
        revision = await engine.update("lease.3", b"me", 0)
        await servers.servers[0].end(signal.SIGKILL)
        appending = asyncio.ensure_future(engine.append(SHARD, 1, b"two"))
        await servers.servers[0].start()
        assert await appending == 2
        assert await engine.update("lease.3", b"me again", revision) > revision


@pytest.mark.proof
async def test_every_call_works_while_one_of_three_servers_is_killed(tmp_path: Path) -> None:
    async with served(tmp_path, 3) as (servers, engine):
        await outlive(servers, engine)


@pytest.mark.slow
async def test_a_change_of_leader_takes_the_lead_from_its_server_and_loses_no_entry(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, 3) as (_, engine):
        first = await engine.append(SHARD, 0, b"one")
        # The leader of a log, which no crawl asks for.
        stream = await engine._streams.log(SHARD, "log")
        before = await leader_of(engine, stream)
        await engine.change_leader(SHARD)
        while await leader_of(engine, stream) in (None, before):
            await asyncio.sleep(0.1)
        assert await engine.append(SHARD, first, b"two") == first + 1
        contents = [entry.content async for entry in engine.entries(SHARD)]
        assert contents == [b"one", b"two"]


@pytest.mark.slow
async def test_a_cluster_of_two_servers_is_refused_at_once(tmp_path: Path) -> None:
    async with local_servers(tmp_path, 2) as servers:
        began = monotonic()
        with pytest.raises(EngineUnavailable, match="fewer than 3 servers of this cluster"):
            await connect(ClusterAccess(url=servers.url, patience_s=LONG_S))
        assert monotonic() - began < LONG_S / 2


@pytest.mark.slow
async def test_of_entries_appended_after_the_same_one_only_one_is_accepted(tmp_path: Path) -> None:
    async def appending(engine: ClusterEngine, last: int, content: bytes) -> int | None:
        try:
            return await engine.append(SHARD, last, content)
        except (Fenced, EngineUnavailable):  # the leader may not know yet what it has accepted
            return None

    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(local_servers(tmp_path, 3))
        engines = [
            await stack.enter_async_context(connected(ClusterAccess(url=url)))
            for url in servers.url.split(",") * 2
        ]
        last, appended = 0, []
        for turn in range(CHANGES):
            entries = [b"%d %d" % (turn, at) for at in range(len(engines))]
            numbers = await asyncio.gather(*map(appending, engines, repeat(last), entries))
            ((last, entry),) = (
                (number, entry) for number, entry in zip(numbers, entries, strict=True) if number
            )
            appended.append(LogEntry(last, entry))
            if turn % 10 == 0:
                await engines[0].append(SHARD, last, b"mark")
                last = (await engines[1].log_span(SHARD)).last
                appended.append(LogEntry(last, b"mark"))
        assert [one async for one in engines[2].entries(SHARD)] == appended
        begin = appended[CHANGES // 2].number
        await engines[3].remove_entries(SHARD, begin)
        behind = [one for one in appended if one.number > begin]
        assert [one async for one in engines[4].entries(SHARD)] == behind


async def outlive(servers: LocalServers, engine: ClusterEngine) -> None:
    sent = 0
    revision = await engine.update("lease.3", b"0", 0)
    async with aclosing(engine.watch("node.")) as nodes:
        while sent < 2 * ROUNDS:
            if sent == ROUNDS:
                await servers.servers[0].end(signal.SIGKILL)
            sent += 1
            assert await engine.append(SHARD, sent - 1, b"%d" % sent) == sent
            revision = await engine.update("lease.3", b"%d" % sent, revision)
            await engine.put("node.a", b"%d" % sent)
            changed = await anext(nodes)
            while changed.value != b"%d" % sent:
                changed = await anext(nodes)
    assert [entry.content async for entry in engine.entries(SHARD)] == [
        b"%d" % number for number in range(1, sent + 1)
    ]


async def test_a_full_log_refuses_entries_until_old_ones_are_removed(
    tmp_path: Path,
) -> None:
    async with served(tmp_path, 1) as (_, engine):
        await engine.append(SHARD, 0, bytes(10_000))
        # An operator's limit, which minicrawl never sets.
        name = await engine._streams.log(SHARD, "log")
        config = (await engine._jetstream.api(f"STREAM.INFO.{name}"))["config"]
        await engine._jetstream.api(f"STREAM.UPDATE.{name}", config | {"max_bytes": 100_000})
        for last in range(1, 9):
            await engine.append(SHARD, last, bytes(10_000))
        last = 9
        with pytest.raises(EngineFull):
            await engine.append(SHARD, last, bytes(10_000))
        await engine.remove_entries(SHARD, last - 1)
        assert await engine.append(SHARD, last, b"more") == last + 1


async def test_crawls_of_two_names_at_the_same_servers_share_nothing(tmp_path: Path) -> None:
    async with (
        local_servers(tmp_path, 1) as servers,
        connected(ClusterAccess(url=servers.url, name="one")) as one,
        connected(ClusterAccess(url=servers.url, name="two")) as two,
    ):
        await one.append(SHARD, 0, b"one")
        assert await two.append(SHARD, 0, b"two") == 1
        await one.put("terms", b"1")
        assert await two.get("terms") is None
