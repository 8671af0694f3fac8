"""Side requests: those for robots.txt and sitemaps, each at a time that suits its host.

Law: a host is asked no sooner, and by no more requests at once, than its delays and limits allow,
whatever the request is for. A robots.txt that redirects to another host, or a sitemap there, is no
way around that host's delay.

idle     a turn that holds no request now: it waits for another host, or until a file is parsed
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
    """Requests that wait for a host; `notify` wakes the loop that looks after the hosts."""

    def __init__(
        self, hosts: HostTable, clock: Clock, notify: Callable[[], None] = lambda: None
    ) -> None:
        self.hosts, self.clock, self._notify = hosts, clock, notify
        self._waiting: set[asyncio.Future[None]] = set()
        self._reading = 0

    @property
    def idle(self) -> int:
        """Turns that hold no request; a few that wait for a parser count as if they held one."""
        most = self.hosts.politeness.concurrency
        reading = min(max(self._reading - most // 4, 0), most)
        return len(self._waiting) + reading

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The turn holds no request meanwhile: it waits until what came has been parsed."""
        self._reading += 1
        self._notify()
        try:
            yield
        finally:
            self._reading -= 1

    async def ask(self, host: int, request: Callable[[], Awaitable[T]]) -> T:
        """What the host answers, asked as soon as it may be."""
        while not self._may_ask(host, now := self.clock.now()):
            await self._wait_for(host, now)
        self.hosts.begin(host, self.clock.now())
        try:
            return await request()
        finally:
            self.hosts.end(host, self.clock.now())
            self._notify()

    def leave(self) -> None:
        """Cancel all that wait."""
        for called in tuple(self._waiting):
            called.cancel()

    def _may_ask(self, host: int, now: float) -> bool:
        return self.hosts.may_be_asked(host, now) and self.hosts.has_room(host, now)

    async def _wait_for(self, host: int, now: float) -> None:
        """Until the host, or its address, takes one more request."""
        called = asyncio.get_running_loop().create_future()
        self._waiting.add(called)
        self.hosts.queue_side_request(
            host, lambda: None if called.done() else called.set_result(None)
        )
        if self.hosts.may_be_asked(host, now):
            self.hosts.wait_for_room(host, now)
        else:
            self.hosts.resume_when_ready(host, now)
        self._notify()
        try:
            await called
        finally:
            self._waiting.discard(called)
