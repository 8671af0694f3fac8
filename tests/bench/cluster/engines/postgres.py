"""PostgreSQL: a table of entries, whose primary key refuses writers behind the end of a log."""

import os
import signal
import subprocess
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

_USER = "postgres"
_PROGRAMS = "/usr/lib/postgresql/15/bin"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "synchronous_commit": "on",
    "fsync": "on",
    "wal_level": "replica",
    "max_wal_size": "4GB",
}
_TABLES = """
CREATE TABLE entries (log int, number bigint, content bytea, PRIMARY KEY (log, number));
ALTER TABLE entries ALTER content SET STORAGE EXTERNAL;
CREATE TABLE keys (name text PRIMARY KEY, value bytea, revision bigint);
"""


def _connect(port: int) -> Any:
    try:
        import psycopg
    except ModuleNotFoundError:
        raise Absent("no psycopg") from None
    where = f"host=127.0.0.1 port={port} user={_USER} dbname=postgres"
    return psycopg.connect(where, autocommit=True)


class Postgres:
    """A primary, optionally with a standby that syncs each commit before it counts."""

    has_keys = True

    def __init__(self, folder: Path, *, has_standby: bool) -> None:
        self._has_standby = has_standby
        self.name = f"PostgreSQL{' with a synchronous standby' if has_standby else ''}"
        self._folder = folder / f"postgres-{has_standby}"
        self._servers: list[OwnServer] = []
        self._port = free_port()

    def __enter__(self) -> Self:
        primary = folder_of(_USER, self._folder / "primary")
        self._run("initdb", "-D", str(primary / "files"), "-A", "trust", "-U", _USER, at=primary)
        self._servers.append(self._server(primary, self._port))
        self._await(0)
        with _connect(self._port) as connection:
            connection.execute(_TABLES)
            if self._has_standby:
                self._begin_standby()
                connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                connection.execute("SELECT pg_reload_conf()")
        return self

    def __exit__(self, *_error: object) -> None:
        for server in self._servers:
            server.end(signal.SIGINT)

    @property
    def pids(self) -> list[int]:
        return [server.pid for server in self._servers]

    def client(self, log: int) -> AppendClient:
        return _PostgresClient(self._port, log)

    def kill(self) -> None:
        for server in self._servers:
            server.end(signal.SIGKILL)
        for number, server in enumerate(self._servers):
            server.start()
            self._await(number)

    def _begin_standby(self) -> None:
        standby, where = folder_of(_USER, self._folder / "standby"), f"-p{self._port}"
        files = str(standby / "files")
        self._run(
            "pg_basebackup", "-R", "-D", files, "-h127.0.0.1", where, f"-U{_USER}", at=standby
        )
        self._standby_port = free_port()
        self._servers.append(self._server(standby, self._standby_port))
        self._await(1)

    def _await(self, number: int) -> None:
        port = self._port if number == 0 else self._standby_port
        until_it_answers(self._servers[number], lambda: _connect(port).close())

    def _server(self, folder: Path, port: int) -> OwnServer:
        settings = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        program, files = found_program("postgres", _PROGRAMS), str(folder / "files")
        return OwnServer(
            [program, "-D", files, "-p", str(port), "-k", str(folder), *settings], folder, _USER
        )

    def _run(self, name: str, *arguments: str, at: Path) -> None:
        command = [found_program(name, _PROGRAMS), *arguments]
        user = _USER if os.getuid() == 0 else None
        subprocess.run(command, check=True, user=user, cwd=at, stdout=subprocess.DEVNULL)


class _PostgresClient:
    def __init__(self, port: int, log: int) -> None:
        self._connection, self._log = _connect(port), log

    def append(self, number: int, content: bytes) -> None:
        row = (self._log, number, content)
        self._connection.execute("INSERT INTO entries VALUES (%s, %s, %b)", row)

    def compare_and_set(self, round_: int) -> None:
        key, value = f"lease.{self._log}", b"%d" % round_
        if round_ == 1:
            self._connection.execute("INSERT INTO keys VALUES (%s, %b, 1)", (key, value))
            return
        changed = self._connection.execute(
            "UPDATE keys SET value = %b, revision = revision + 1 WHERE name = %s AND revision = %s",
            (value, key, round_ - 1),
        )
        assert changed.rowcount == 1

    def count(self) -> int:
        found = self._connection.execute(
            "SELECT count(*) FROM entries WHERE log = %s", (self._log,)
        )
        return int(found.fetchone()[0])

    def close(self) -> None:
        self._connection.close()
