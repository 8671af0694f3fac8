"""NATS JetStream, as the replica of a shard appends to it."""

import asyncio
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from minicrawl.cluster.engine import ClusterAccess, connect_engine
from minicrawl.cluster.nats.connecting import await_answer
from minicrawl.cluster.servers import LocalServers, local_servers
from tests.bench.cluster.engines.servers import AppendClient


class JetStream:
    """Cluster of JetStream servers."""

    has_keys = True

    def __init__(self, folder: Path, servers: int) -> None:
        self._folder, self._count = folder / f"jetstream-{servers}", servers
        self.name = f"JetStream, {servers} server{'s' if servers > 1 else ''}"
        self._runner, self._stack = asyncio.Runner(), AsyncExitStack()

    def __enter__(self) -> Self:
        self._servers: LocalServers = self._runner.run(
            self._stack.enter_async_context(local_servers(self._folder, self._count))
        )
        return self

    def __exit__(self, *_error: object) -> None:
        self._runner.run(self._stack.aclose())
        self._runner.close()

    @property
    def pids(self) -> list[int]:
        return [server.pid for server in self._servers.servers if server.pid is not None]

    def client(self, log: int) -> AppendClient:
        return _JetStreamClient(self._servers.url, log)

    def kill(self) -> None:
        self._runner.run(self._killed())

    async def _killed(self) -> None:
        for server in self._servers.servers:
            await server.end(signal.SIGKILL)
        for server in self._servers.servers:
            await server.start()
        await await_answer(ClusterAccess(url=self._servers.url, patience_s=60))


class _JetStreamClient:
    def __init__(self, url: str, log: int) -> None:
        self._runner, self._log = asyncio.Runner(), log
        self._engine = self._runner.run(connect_engine(ClusterAccess(url)))
        self._revision = 0

    def append(self, number: int, content: bytes) -> None:
        self._runner.run(self._engine.append(self._log, number - 1, content))

    def compare_and_set(self, round_: int) -> None:
        key, value = f"lease.{self._log}", b"%d" % round_
        if self._revision:
            change = self._engine.update(key, value, self._revision)
        else:
            change = self._engine.create(key, value)
        self._revision = self._runner.run(change)

    def count(self) -> int:
        return self._runner.run(self._engine.log_span(self._log)).last

    def close(self) -> None:
        self._runner.run(self._engine.close())
        self._runner.close()
