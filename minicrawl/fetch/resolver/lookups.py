"""Lookups of names, by the system or by name servers.

Laws: a lookup never blocks the event loop, and closing never waits for one.

The system's resolver does not report a TTL; name servers do.
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
    addresses: Sequence[str]
    ttl_s: float | None = None


class NoSuchName(OSError):
    """The name has no address, authoritatively. Other errors may be temporary."""


Lookup = Callable[[str], Awaitable[LookupAnswer]]
"""Function from a name to its addresses. It raises OSError if there are none."""


_Pending = tuple[str, asyncio.AbstractEventLoop, asyncio.Future[LookupAnswer]]
"""Name to look up, and the future that waits in this loop for its addresses."""


class SystemLookup:
    """System resolver in threads: a lookup that blocks for minutes delays no other."""

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._threads = 0
        self._idle = Semaphore(0)  # counts the idle threads
        self._pending = SimpleQueue[_Pending | None]()

    async def __call__(self, host: str) -> LookupAnswer:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[LookupAnswer] = loop.create_future()
        self._pending.put((host, loop, answer))
        # An idle thread takes the lookup from the queue. Threads are started on demand only: most
        # crawls need a few.
        if not self._idle.acquire(blocking=False) and self._threads < self._most:
            self._threads += 1
            # Daemon threads: getaddrinfo cannot be cancelled, and a name server that is silent must
            # not keep the program from ending. The threads of an executor are joined at exit.
            Thread(target=self._work, name=f"lookup-{self._threads}", daemon=True).start()
        return await answer

    def close(self) -> None:
        """Stop the idle threads, and the others after their lookups."""
        for _ in range(self._threads):
            self._pending.put(None)

    def _work(self) -> None:
        while (lookup := self._pending.get()) is not None:
            host, loop, future = lookup
            if not future.cancelled():
                try:
                    settle = partial(_settle, future, future.set_result, _look_up(host))
                except Exception as error:
                    settle = partial(_settle, future, future.set_exception, error)
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    loop.call_soon_threadsafe(settle)
            self._idle.release()


def _settle(
    future: asyncio.Future[LookupAnswer], set_outcome: Callable[[Any], None], outcome: object
) -> None:
    if not future.done():
        set_outcome(outcome)


_NO_SUCH_NAME = frozenset((socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)))


def _look_up(host: str) -> LookupAnswer:
    # As bytes: a str would be encoded by the idna codec, which refuses some valid names.
    try:
        rows = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            raise NoSuchName(str(error)) from error
        raise
    return LookupAnswer([str(sockaddr[0]) for *_, sockaddr in rows])
