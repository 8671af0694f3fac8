"""Finds the addresses of names: by the system, or by asking name servers.

Law: no lookup holds up the loop, and no end waits for one.

The system tells for how long an answer holds to nobody; name servers do (`name_servers`).
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any, NamedTuple


class LookupAnswer(NamedTuple):
    """The addresses of a name, and for how long they hold, if that was said."""

    addresses: Sequence[str]
    ttl_s: float | None = None


class NoSuchName(OSError):
    """The name has no address, as those say who must know; other errors may go away soon."""


Lookup = Callable[[str], Awaitable[LookupAnswer]]
"""From a name to its addresses; raises OSError where there are none."""


class SystemLookup:
    """The system's resolver in threads of its own, as a lookup may block for minutes.

    With as many threads as requests, a lookup that hangs delays no other. The process can end
    without waiting for these threads.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._threads = 0
        self._idle = Semaphore(0)  # threads that have nothing to do
        self._wanted = SimpleQueue[_Wanted | None]()

    async def __call__(self, host: str) -> LookupAnswer:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[LookupAnswer] = loop.create_future()
        self._wanted.put(_Wanted(host, loop, found))
        if not self._idle.acquire(blocking=False) and self._threads < self._most:
            self._threads += 1
            Thread(target=self._work, name=f"lookup-{self._threads}", daemon=True).start()
        return await found

    def close(self) -> None:
        """End the threads that are idle, and the others after their lookups."""
        for _ in range(self._threads):
            self._wanted.put(None)

    def _work(self) -> None:
        """Look up what is wanted, one name after the other."""
        while (wanted := self._wanted.get()) is not None:
            wanted.look_up()
            self._idle.release()


class _Wanted(NamedTuple):
    """A name to look up, and the future that waits for its addresses."""

    host: str
    loop: asyncio.AbstractEventLoop
    found: asyncio.Future[LookupAnswer]

    def look_up(self) -> None:
        if self.found.cancelled():
            return
        try:
            deliver = partial(self._deliver, self.found.set_result, _look_up(self.host))
        except Exception as error:
            deliver = partial(self._deliver, self.found.set_exception, error)
        with suppress(RuntimeError):  # the loop has been closed: nobody waits
            self.loop.call_soon_threadsafe(deliver)

    def _deliver(self, set_outcome: Callable[[Any], None], outcome: object) -> None:
        if not self.found.done():
            set_outcome(outcome)


_NO_SUCH_NAME = frozenset((socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)))


def _look_up(host: str) -> LookupAnswer:
    # As bytes: a str would be encoded by a codec that refuses some names of today.
    try:
        found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            raise NoSuchName(str(error)) from error
        raise
    return LookupAnswer([str(sockaddr[0]) for *_, sockaddr in found])
