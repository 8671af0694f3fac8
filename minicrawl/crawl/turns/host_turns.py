"""The turns of hosts: a host is located and asked for its robots.txt before its first page.

Laws: of a host one thing is asked in a turn, robots.txt or a sitemap; meanwhile none of its pages
has a turn. The slot of a turn is given back, whatever happens.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine

from minicrawl.crawl.hosts.address_pacing import Rank
from minicrawl.crawl.hosts.politeness import resolve_targets
from minicrawl.crawl.hosts.request_slots import RequestSlot
from minicrawl.crawl.parts import CrawlContext, CrawlParts
from minicrawl.crawl.settle.posting import PageIntroducer


class HostTurns:
    """The hosts that are being onboarded."""

    def __init__(
        self, context: CrawlContext, parts: CrawlParts, introducer: PageIntroducer
    ) -> None:
        self._clock, self._tell = context.clock, context.tell
        self._hosts, self._onboarding = parts.hosts, parts.onboarding
        self._slots, self._traps = parts.slots, parts.traps
        self._introducer = introducer
        self._targets = resolve_targets(context.settings)
        self._under_way: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def __contains__(self, host: int) -> bool:
        return host in self._under_way

    def begin(self, host: int, rank: Rank, now: float) -> Coroutine[None, None, None]:
        """The turn of a host. It has the rank of the page that it is learned for."""
        state = self._hosts[host]
        is_silent, is_strange = not state.shared.answers, not state.pages
        slot = self._slots.take(now, is_silent=is_silent, is_strange=is_strange)
        self._under_way.add(host)
        return self._learn(host, slot, rank)

    def cancel(self) -> None:
        """What is asked for is for pages that nobody wants any more."""
        for task in tuple(self._tasks):
            task.cancel()

    async def _learn(self, host: int, slot: RequestSlot, rank: Rank) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            if await self._locate(host):
                await self._ask(host, rank)
        finally:
            self._tasks.discard(task)
            self._slots.leave(slot)
            self._under_way.discard(host)
            self._hosts.resume_when_ready(host, self._clock.now())

    async def _locate(self, host: int) -> bool:
        """Hosts at one address share a quota of pages, but for an address that the user wrote."""
        if not await self._onboarding.locate(host):
            return False
        address = self._hosts[host].address
        if address is not None and address not in self._targets:
            self._traps.located(host, address)
        return True

    async def _ask(self, host: int, rank: Rank) -> None:
        now = self._clock.now()
        self._onboarding.recall(host)
        if self._onboarding.is_known(host):
            return
        if self._hosts.has_room(host, now):
            await self._onboarding.learn(host, self._tell, self._introducer.introduce_listed)
        else:
            self._hosts.wait_for_room(host, now, rank)
