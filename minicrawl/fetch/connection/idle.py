"""Connections that wait to be asked again.

line   origin and place: what a connection must share with a question to carry it

Laws: a connection waits `keep_s` and no longer, and of more than the limit the one that has
waited longest goes. The one that has waited least is asked first: it is the likeliest to live.
"""

import asyncio
from collections import defaultdict

from minicrawl.fetch.connection.connection import Connection
from minicrawl.fetch.where.resolve_rules import ConnectTarget
from minicrawl.fetch.where.targets import Origin

Line = tuple[Origin, ConnectTarget]


class IdleConnections:
    """All that wait, by their line and in the order in which they began to."""

    def __init__(self, limit: int, keep_s: float) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self._waiting: dict[Connection, tuple[Line, float]] = {}
        self._by_line: defaultdict[Line, list[Connection]] = defaultdict(list)
        self._alarm: asyncio.TimerHandle | None = None

    def put(self, line: Line, connection: Connection) -> None:
        """It waits from now on."""
        until = asyncio.get_running_loop().time() + self._keep_s
        self._waiting[connection] = line, until
        self._by_line[line].append(connection)
        if len(self._waiting) > self._limit:
            self._hang_up_first()
        self._set_alarm()

    def take(self, line: Line) -> Connection | None:
        """One that waits on this line, if any does."""
        if line not in self._by_line:
            return None
        connection = self._by_line[line][-1]
        self.forget(connection)
        return connection

    def forget(self, connection: Connection) -> None:
        """It waits no longer, if it did."""
        line, _ = self._waiting.pop(connection, (None, 0.0))
        if line is None:
            return
        self._by_line[line].remove(connection)
        if not self._by_line[line]:
            del self._by_line[line]

    def close(self) -> None:
        """Hang up on all."""
        while self._waiting:
            self._hang_up_first()
        if self._alarm:
            self._alarm.cancel()

    def _hang_up_first(self) -> None:
        connection = next(iter(self._waiting))
        self.forget(connection)
        connection.hang_up()

    def _set_alarm(self) -> None:
        """One for all: the first that began to wait is the first that has waited enough."""
        if self._alarm is None and self._waiting:
            _, until = next(iter(self._waiting.values()))
            self._alarm = asyncio.get_running_loop().call_at(until, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = asyncio.get_running_loop().time()
        while self._waiting and next(iter(self._waiting.values()))[1] <= now:
            self._hang_up_first()
        self._set_alarm()
