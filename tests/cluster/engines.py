"""Kinds of engines that keep the contract. A kind connects any number of engines of one crawl."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from zlib import crc32

import pytest

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.nats.connecting import NatsEngine, connect
from minicrawl.cluster.servers import PROGRAM, server_program
from tests.cluster.fake_engine import FakeEngine, FakeServers

Connect = Callable[[], Awaitable[ClusterEngine]]
EngineKind = Callable[[Path], AbstractAsyncContextManager[Connect]]

needs_server = pytest.mark.skipif(
    server_program() is None, reason=f"no {PROGRAM} from 2.11 on: the extra test has one"
)


@asynccontextmanager
async def connected(access: ClusterAccess) -> AsyncIterator[ClusterEngine]:
    """Connect, create the shared streams unless they exist, and close on exit."""
    engine = await connect(access)
    try:
        yield engine
    finally:
        await engine.close()


async def leader_of(engine: ClusterEngine, stream: str) -> str | None:
    """Return the server that leads a stream; None during an election. Crawls need not know it."""
    assert isinstance(engine, NatsEngine)
    answer = await engine._jetstream.api(f"STREAM.INFO.{stream}")
    leader: str | None = (answer.get("cluster") or {}).get("leader")
    return leader


def fake(seed: int | None) -> EngineKind:
    @asynccontextmanager
    async def prepared(_folder: Path) -> AsyncIterator[Connect]:
        servers = FakeServers(seed)

        async def one() -> ClusterEngine:
            return FakeEngine(servers)

        yield one

    return prepared


def nats(url: str) -> EngineKind:
    """Return the kind of engines at these servers; each folder has a crawl of its own there."""

    @asynccontextmanager
    async def prepared(folder: Path) -> AsyncIterator[Connect]:
        async with AsyncExitStack() as opened:

            async def one() -> ClusterEngine:
                name = f"c{crc32(bytes(folder)):08x}"
                engine = await connect(ClusterAccess(url=url, name=name))
                opened.push_async_callback(engine.close)
                return engine

            yield one

    return prepared
