"""The connections that wait for the next request to their host.

Laws: a connection is kept for `keep_s` and no longer. Beyond the limit, the one that has been idle
longest is closed. The one that has been idle for the shortest time is used first: it is the
likeliest to be still open.
"""

import asyncio
from collections import defaultdict
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar


class Abortable(Protocol):
    """A connection, as far as this module knows it."""

    def abort(self) -> None:
        """Close it at once."""


K = TypeVar("K", bound=Hashable)
C = TypeVar("C", bound=Abortable)


class IdleConnections(Generic[K, C]):
    """The connections that wait for a request, by pool key and by the time since when they wait."""

    def __init__(self, limit: int, keep_s: float) -> None:
        self._limit = limit
        self._keep_s = keep_s
        self._waiting: dict[C, tuple[K, float]] = {}
        self._by_key: defaultdict[K, list[C]] = defaultdict(list)
        self._timer: asyncio.TimerHandle | None = None

    def put(self, key: K, connection: C) -> None:
        """Keep a connection from now on."""
        until = asyncio.get_running_loop().time() + self._keep_s
        self._waiting[connection] = key, until
        self._by_key[key].append(connection)
        if len(self._waiting) > self._limit:
            self._abort_oldest()
        self._set_timer()

    def take(self, key: K) -> C | None:
        """Use a connection of this key, if there is one."""
        if key not in self._by_key:
            return None
        connection = self._by_key[key][-1]
        self.forget(connection)
        return connection

    def forget(self, connection: C) -> None:
        """Keep this connection no longer, if it was kept."""
        key, _ = self._waiting.pop(connection, (None, 0.0))
        if key is None:
            return
        self._by_key[key].remove(connection)
        if not self._by_key[key]:
            del self._by_key[key]

    def close(self) -> None:
        """Close all of them."""
        while self._waiting:
            self._abort_oldest()
        if self._timer:
            self._timer.cancel()

    def _abort_oldest(self) -> None:
        connection = next(iter(self._waiting))
        self.forget(connection)
        connection.abort()

    def _set_timer(self) -> None:
        """One timer for all: the oldest connection is the first to expire."""
        if self._timer is None and self._waiting:
            _, until = next(iter(self._waiting.values()))
            self._timer = asyncio.get_running_loop().call_at(until, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        while self._waiting and next(iter(self._waiting.values()))[1] <= now:
            self._abort_oldest()
        self._set_timer()
