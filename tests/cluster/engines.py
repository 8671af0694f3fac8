"""The engines that keep the contract: each kind gives any number of engines of one crawl."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from minicrawl.cluster.engine import ClusterEngine
from minicrawl.cluster.nats.connecting import connect
from minicrawl.cluster.nats.jetstream import NatsSettings
from minicrawl.cluster.servers import PROGRAM, local_servers, server_program
from tests.cluster.fake_engine import FakeEngine, FakeServers

Connect = Callable[[], Awaitable[ClusterEngine]]
EngineKind = Callable[[Path], AbstractAsyncContextManager[Connect]]

needs_server = pytest.mark.skipif(
    server_program() is None, reason=f"no {PROGRAM}: tests/real/install.sh installs it"
)


def fake(seed: int | None) -> EngineKind:
    @asynccontextmanager
    async def prepared(_folder: Path) -> AsyncIterator[Connect]:
        servers = FakeServers(seed)

        async def one() -> ClusterEngine:
            return FakeEngine(servers)

        yield one

    return prepared


def nats(count: int = 1, **more: Any) -> EngineKind:
    @asynccontextmanager
    async def prepared(folder: Path) -> AsyncIterator[Connect]:
        async with local_servers(folder, count) as servers, AsyncExitStack() as opened:

            async def one() -> ClusterEngine:
                engine = await connect(NatsSettings(url=servers.url, **more))
                opened.push_async_callback(engine.close)
                return engine

            yield one

    return prepared


KINDS = [
    pytest.param(fake(None), id="fake"),
    pytest.param(fake(1), id="unruly"),
    pytest.param(nats(), id="nats", marks=needs_server),
]
