"""The contract that every engine keeps, the fake one and NATS alike."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import TypeVar

import pytest
from anyio.from_thread import start_blocking_portal

from minicrawl.cluster.access import cancelled
from minicrawl.cluster.engine import (
    MOST_ENTRY_BYTES,
    MOST_VALUE_BYTES,
    ClusterEngine,
    EngineUnavailable,
    Fenced,
    KeyTaken,
    LogEntry,
    LogSpan,
)
from minicrawl.cluster.node.following import listen
from minicrawl.cluster.records import KeyEntry
from minicrawl.cluster.servers import local_servers
from tests.cluster.engines import Connect, EngineKind, fake, nats, needs_server

pytestmark = pytest.mark.anyio

T = TypeVar("T")
SHARD = 3


@pytest.fixture(scope="module")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a server for the tests of this module, and give its URL; each test has its own crawl."""
    folder = tmp_path_factory.mktemp("servers")
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(local_servers(folder, 1)) as servers,
    ):
        yield servers.url


@pytest.fixture(params=["fake", "unruly", pytest.param("nats", marks=needs_server)])
def kind(request: pytest.FixtureRequest) -> EngineKind:
    if request.param == "nats":
        return nats(request.getfixturevalue("nats_url"))
    return fake(1 if request.param == "unruly" else None)


@pytest.fixture
async def connect(kind: EngineKind, tmp_path: Path) -> AsyncIterator[Connect]:
    """Give a function that connects one more engine of the same crawl."""
    async with kind(tmp_path / "servers") as connect:
        yield connect


@pytest.fixture
async def engine(connect: Connect) -> ClusterEngine:
    return await connect()


async def entries(engine: ClusterEngine, after: int = 0) -> list[LogEntry]:
    return [entry async for entry in engine.entries(SHARD, after)]


def without_revision(entry: KeyEntry | None) -> tuple[str, bytes | None] | None:
    return entry and (entry.key, entry.value)


async def test_a_log_begins_with_entry_1_and_keeps_the_order(connect: Connect) -> None:
    engine = await connect()
    assert await engine.log_span(SHARD) == LogSpan(1, 0)
    assert await engine.append(SHARD, 0, b"one") == 1
    assert await engine.append(SHARD, 1, b"two") == 2
    assert await entries(engine) == [LogEntry(1, b"one"), LogEntry(2, b"two")]
    assert await entries(await connect(), 1) == [LogEntry(2, b"two")]
    assert await engine.log_span(SHARD + 1) == LogSpan(1, 0)


async def test_pages_have_logs_of_their_own(connect: Connect) -> None:
    engine, other = await connect(), await connect()
    assert await engine.append(SHARD, 0, b"a commit") == 1
    assert await engine.pages.log_span(SHARD) == LogSpan(1, 0)
    assert await engine.pages.append(SHARD, 0, b"pages") == 1
    assert await other.pages.append(SHARD, 1, b"more") == 2
    with pytest.raises(Fenced):
        await engine.pages.append(SHARD, 1, b"mine")
    kept = [entry async for entry in other.pages.entries(SHARD)]
    assert kept == [LogEntry(1, b"pages"), LogEntry(2, b"more")]
    assert await entries(engine) == [LogEntry(1, b"a commit")]


@pytest.mark.slow
async def test_an_entry_is_appended_only_after_the_last_one_and_only_once(
    connect: Connect,
) -> None:
    engine, other = await connect(), await connect()
    first = await engine.append(SHARD, 0, b"one")
    assert await engine.append(SHARD, 0, b"one") == first  # again, after a lost response
    second = await other.append(SHARD, first, b"two")
    for after in (0, first):
        with pytest.raises(Fenced):
            await engine.append(SHARD, after, b"mine")
    with pytest.raises(EngineUnavailable, match="lost entries"):  # or the server that answers has
        await engine.append(SHARD, second + 100, b"mine")
    await engine.change_leader(SHARD)
    assert await entries(engine) == [LogEntry(first, b"one"), LogEntry(second, b"two")]


async def test_of_several_writers_that_append_at_the_same_time_one_succeeds(
    connect: Connect,
) -> None:
    engines = [await connect() for _ in range(4)]
    last = 0
    for _ in range(5):
        results = await asyncio.gather(
            *(engine.append(SHARD, last, b"%d" % at) for at, engine in enumerate(engines)),
            return_exceptions=True,
        )
        assert sum(isinstance(result, Fenced) for result in results) == 3
        (last,) = (result for result in results if isinstance(result, int))
    assert len(await entries(engines[0])) == 5


async def test_entries_keep_their_numbers_when_the_first_ones_are_removed(
    engine: ClusterEngine,
) -> None:
    for last in range(40):
        await engine.append(SHARD, last, b"%d" % last)
    await engine.remove_entries(SHARD, 30)
    assert await engine.log_span(SHARD) == LogSpan(31, 40)
    assert [entry.number for entry in await entries(engine, 5)] == list(range(31, 41))
    await engine.remove_entries(SHARD, 40)
    assert await engine.log_span(SHARD) == LogSpan(41, 40)
    assert await entries(engine) == []
    await engine.remove_entries(SHARD, 30)
    assert await engine.append(SHARD, 40, b"last") == 41


async def test_an_entry_may_have_the_largest_size(engine: ClusterEngine) -> None:
    content = bytes(range(256)) * (MOST_ENTRY_BYTES // 256)
    await engine.append(SHARD, 0, content)
    assert await engine.append(SHARD, 0, content) == 1
    assert await entries(engine) == [LogEntry(1, content)]


async def test_a_change_of_a_key_needs_its_current_revision(engine: ClusterEngine) -> None:
    assert await engine.get("lease.1") is None
    born = await engine.update("lease.1", b"a", 0)
    with pytest.raises(KeyTaken):
        await engine.update("lease.1", b"b", 0)
    assert await engine.get("lease.1") == KeyEntry("lease.1", b"a", born)
    changed = await engine.update("lease.1", b"c", born)
    assert changed > born
    with pytest.raises(KeyTaken):
        await engine.update("lease.1", b"d", born)
    with pytest.raises(KeyTaken):
        await engine.update("lease.2", b"d", 1)
    assert await engine.put("lease.1", b"e") > changed


async def test_a_deleted_key_can_be_created_again(engine: ClusterEngine) -> None:
    born = await engine.update("lease.1", b"a", 0)
    await engine.delete("lease.1")
    await engine.delete("lease.1")
    assert await engine.get("lease.1") is None
    assert await engine.keys() == []
    with pytest.raises(KeyTaken):
        await engine.update("lease.1", b"b", born)
    assert await engine.update("lease.1", b"b", 0) > born


async def test_of_several_writers_that_create_a_key_one_succeeds(connect: Connect) -> None:
    engines = [await connect() for _ in range(4)]
    results = await asyncio.gather(
        *(engine.update("lease.1", b"%d" % at, 0) for at, engine in enumerate(engines)),
        return_exceptions=True,
    )
    assert sum(isinstance(result, int) for result in results) == 1
    assert sum(isinstance(result, KeyTaken) for result in results) == 3


async def test_keys_are_listed_by_prefix_and_name(engine: ClusterEngine) -> None:
    for key in ("node.b", "lease.1", "node.a", "node.b"):
        await engine.put(key, key.encode())
    assert [entry.key for entry in await engine.keys("node.")] == ["node.a", "node.b"]
    assert len(await engine.keys()) == 3


async def test_a_watcher_gets_the_keys_and_what_was_deleted_then_the_changes(
    connect: Connect,
) -> None:
    engine, other = await connect(), await connect()
    await engine.put("node.a", b"1")
    await engine.put("lease.1", b"1")
    await engine.put("node.b", b"1")
    await engine.delete("node.b")
    async with aclosing(other.watch("node.")) as changes:
        assert without_revision(await anext(changes)) == ("node.a", b"1")
        assert without_revision(await anext(changes)) == ("node.b", None)
        await engine.put("node.a", b"2")
        assert without_revision(await anext(changes)) == ("node.a", b"2")
        await engine.delete("node.a")
        assert without_revision(await anext(changes)) == ("node.a", None)


async def test_a_value_may_have_the_largest_size(engine: ClusterEngine) -> None:
    value = bytes(range(256)) * (MOST_VALUE_BYTES // 256)
    revision = await engine.put("large", value)
    assert await engine.get("large") == KeyEntry("large", value, revision)


async def test_a_broadcast_reaches_the_present_listeners_of_its_topic_only(
    connect: Connect,
) -> None:
    one, other, late = await connect(), await connect(), await connect()
    largest = bytes(range(256)) * (MOST_VALUE_BYTES // 256)
    heard: dict[int, list[KeyEntry]] = {0: [], 1: []}

    async def begin(number: int, engine: ClusterEngine, prefix: str) -> None:
        await listen(engine, prefix, heard[number].append)

    listening = [
        asyncio.create_task(begin(0, one, "told.1.")),
        asyncio.create_task(begin(1, other, "told.")),
    ]
    while not all(heard.values()):  # a listener that has just begun may miss a broadcast
        await one.broadcast("told.1.0", b"are you there?")
        await asyncio.sleep(0.01)
    await one.broadcast("told.2.0", b"another run")
    await one.broadcast("said.1.0", b"something else")
    await one.broadcast("told.1.3", largest)
    last = KeyEntry("told.1.3", largest, 0)
    while not all(said[-1] == last for said in heard.values()):
        await asyncio.sleep(0.01)
    topics = [[said.key for said in heard[number] if said.key != "told.1.0"] for number in heard]
    assert topics == [["told.1.3"], ["told.2.0", "told.1.3"]]
    assert await one.keys() == []
    async with aclosing(late.broadcasts("told.")) as coming:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await anext(coming)
    with pytest.raises(ValueError, match="more than a broadcast may have"):
        await one.broadcast("told.1.3", largest + b".")
    await cancelled(listening)
