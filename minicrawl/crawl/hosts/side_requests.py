"""Requests beside those for pages: each takes a turn of the host that it goes to.

Law: whoever asks, a host is asked no sooner and no more often at once than its clock allows. A
robots.txt that leads to another host, or a sitemap there, is no way around that host's delay.

idle     a turn that holds no request now: it waits for another host, or for what came to be read
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.ports import Clock

T = TypeVar("T")


class SideRequests:
    """Those who wait for a host to be free; `stir` wakes whoever turns the clocks of the hosts."""

    def __init__(
        self, hosts: HostTable, clock: Clock, stir: Callable[[], None] = lambda: None
    ) -> None:
        self.hosts, self.clock, self._stir = hosts, clock, stir
        self._waiting: set[asyncio.Future[None]] = set()
        self._reading = 0

    @property
    def idle(self) -> int:
        """Turns that hold no request; a few may wait for a reader as if they held one."""
        most = self.hosts.concurrency
        reading = min(max(self._reading - most // 4, 0), most)
        return len(self._waiting) + reading

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A turn waits until what came has been read."""
        self._reading += 1
        self._stir()
        try:
            yield
        finally:
            self._reading -= 1

    async def ask(self, host: int, question: Callable[[], Awaitable[T]]) -> T:
        """What the host answers, in its own time."""
        while not self._may_ask(host):
            await self._call(host)
        self.hosts.begin(host, self.clock.now())
        try:
            return await question()
        finally:
            self.hosts.end(host, self.clock.now())
            self._stir()

    def leave(self) -> None:
        """Nobody waits any longer: those who did are cancelled."""
        for called in tuple(self._waiting):
            called.cancel()

    def _may_ask(self, host: int) -> bool:
        now = self.clock.now()
        return self.hosts.may_be_asked(host, now) and self.hosts.has_room(host, now)

    async def _call(self, host: int) -> None:
        """Until the host, or its address, has room for one more."""
        called = asyncio.get_running_loop().create_future()
        self._waiting.add(called)
        self.hosts.invite(host, lambda: None if called.done() else called.set_result(None))
        now = self.clock.now()
        if not self.hosts.may_be_asked(host, now):
            self.hosts.resume_when_ready(host, now)
        elif not self.hosts.has_room(host, now):
            self.hosts.wait_for_room(host, now)
        self._stir()
        try:
            await called
        finally:
            self._waiting.discard(called)
