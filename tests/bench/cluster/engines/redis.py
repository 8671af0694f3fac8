"""Redis: a stream, synced to its file at each command. An entry's number is its id."""

import signal
from pathlib import Path
from typing import Any, Self

from tests.bench.cluster.engines.servers import (
    Absent,
    AppendClient,
    OwnServer,
    folder_of,
    found_program,
    until_it_answers,
)
from tests.real.daemons import free_port

_USER = "redis"
_CHANGE = """
if (redis.call('HGET', KEYS[1], 'revision') or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], 'value', ARGV[1], 'revision', ARGV[2] + 1)
return 1
"""


def _connect(port: int) -> Any:
    try:
        import redis
    except ModuleNotFoundError:
        raise Absent("no redis (the client)") from None
    return redis.Redis("127.0.0.1", port)


class Redis:
    """One server, as several have no consensus."""

    name = "Redis, appendfsync always"
    has_keys = True

    def __init__(self, folder: Path) -> None:
        self._root, self._port = folder / "redis", free_port()

    def __enter__(self) -> Self:
        folder = folder_of(_USER, self._root)
        command = [
            *(found_program("redis-server"), "--port", str(self._port), "--bind", "127.0.0.1"),
            *("--dir", str(folder), "--appendonly", "yes", "--appendfsync", "always", "--save", ""),
        ]
        self._server = OwnServer(command, folder, _USER)
        until_it_answers(self._server, lambda: _connect(self._port).ping())
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.end()

    @property
    def pids(self) -> list[int]:
        return [self._server.pid]

    def client(self, log: int) -> AppendClient:
        return _RedisClient(_connect(self._port), log)

    def kill(self) -> None:
        self._server.end(signal.SIGKILL)
        self._server.start()
        until_it_answers(self._server, lambda: _connect(self._port).ping())


class _RedisClient:
    def __init__(self, connection: Any, log: int) -> None:
        self._connection, self._log = connection, log
        self._change = connection.register_script(_CHANGE)

    def append(self, number: int, content: bytes) -> None:
        self._connection.xadd(f"log.{self._log}", {"content": content}, id=f"{number}-0")

    def compare_and_set(self, round_: int) -> None:
        assert self._change(keys=[f"lease.{self._log}"], args=[round_, round_ - 1])

    def count(self) -> int:
        return int(self._connection.xlen(f"log.{self._log}"))

    def close(self) -> None:
        self._connection.close()
