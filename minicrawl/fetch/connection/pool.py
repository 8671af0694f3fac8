"""The connections of a client: those at work, and those that wait for the next request.

Laws: no more than `connections` requests are under way. A request is sent once; it is sent once
more only if a kept connection ended before the first byte of a response, and after a pause, as the
server may have received it. The end of a client is the end of all its connections.

place   what a request holds while it is under way, until its response is closed
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, NamedTuple, TypeVar

from minicrawl.fetch.connection.idle import C, IdleConnections, K
from minicrawl.fetch.transport import EXPECTED

T = TypeVar("T")


class Pace(NamedTuple):
    """How many requests are under way at once; how many connections wait for the next request, and
    for how long; and the pause before a request is sent once more.
    """

    connections: int
    kept: int
    keep_s: float
    pause_s: float = 0.0


class ConnectionPool(Generic[K, C]):
    """All connections of one client."""

    def __init__(self, pace: Pace) -> None:
        self._places = asyncio.Semaphore(pace.connections)
        self._idle = IdleConnections[K, C](pace.kept, pace.keep_s)
        self._open: set[C] = set()
        self._pause_s = pace.pause_s

    async def in_place(self, send: Callable[[], Awaitable[T]]) -> T:
        """Send a request when there is a place for it; its response holds the place."""
        await self._places.acquire()
        try:
            return await send()
        except BaseException:
            self._places.release()
            raise

    def leave_place(self) -> None:
        """The response of a request has been closed."""
        self._places.release()

    async def try_kept(self, answer: Awaitable[T], is_unanswered: Callable[[], bool]) -> T | None:
        """What comes over a kept connection; None if the request may be sent once more, by now."""
        try:
            return await answer
        except EXPECTED:
            if not is_unanswered():
                raise
        await asyncio.sleep(self._pause_s)
        return None

    def take(self, key: K) -> C | None:
        """Use a connection of this key that waits, if there is one."""
        return self._idle.take(key)

    def keep(self, key: K, connection: C) -> None:
        """It waits for a request from now on."""
        self._idle.put(key, connection)

    def add(self, connection: C) -> None:
        """It has begun."""
        self._open.add(connection)

    def discard(self, connection: C) -> None:
        """It has ended."""
        self._open.discard(connection)
        self._idle.forget(connection)

    async def aclose(self) -> None:
        """End them all."""
        self._idle.close()
        for connection in self._open:
            connection.abort()
        while self._open:  # the loop tells each that it has ended
            await asyncio.sleep(0)
