"""RabbitMQ: a quorum queue on one node, with publisher confirms.

It has no keys, and refuses no writer.
"""

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

_USER = "rabbitmq"
_PROGRAMS = "/usr/lib/rabbitmq/bin"


def _connect(port: int) -> Any:
    try:
        import pika
    except ModuleNotFoundError:
        raise Absent("no pika") from None
    return pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port, heartbeat=0))


class Rabbit:
    """One node, with the name server of Erlang."""

    name = "RabbitMQ, quorum queue"
    has_keys = False

    def __init__(self, folder: Path) -> None:
        self._root, self._port = folder / "rabbit", free_port()

    def __enter__(self) -> Self:
        folder, names = folder_of(_USER, self._root), free_port()
        env = {
            "HOME": str(folder),
            "ERL_EPMD_PORT": str(names),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"bench{self._port}@localhost",
            "RABBITMQ_NODE_PORT": str(self._port),
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(folder),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
        }
        program = found_program("rabbitmq-server", _PROGRAMS)
        self._names = OwnServer([found_program("epmd"), "-port", str(names)], folder, _USER, env)
        self._server = OwnServer([program], folder, _USER, env)
        until_it_answers(self._server, lambda: _connect(self._port).close())
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.end()
        self._names.end()

    @property
    def pids(self) -> list[int]:
        return [self._server.pid]

    def client(self, log: int) -> AppendClient:
        return _RabbitClient(_connect(self._port), log)

    def kill(self) -> None:
        self._server.end(signal.SIGKILL)
        self._server.start()
        until_it_answers(self._server, lambda: _connect(self._port).close())


class _RabbitClient:
    def __init__(self, connection: Any, log: int) -> None:
        import pika

        self._connection, self._queue = connection, f"log.{log}"
        self._channel = connection.channel()
        self._channel.confirm_delivery()
        self._properties = pika.BasicProperties(delivery_mode=2)
        kind = {"x-queue-type": "quorum"}
        self._channel.queue_declare(self._queue, durable=True, arguments=kind)

    def append(self, number: int, content: bytes) -> None:  # the queue numbers its entries
        self._channel.basic_publish("", self._queue, content, self._properties, mandatory=True)

    def compare_and_set(self, round_: int) -> None:
        raise NotImplementedError

    def count(self) -> int:
        """Count by reading all entries, as RabbitMQ's own number is some seconds old."""
        found = 0
        while self._channel.basic_get(self._queue)[0] is not None:
            found += 1
        return found

    def close(self) -> None:
        self._connection.close()
