"""Turns of hosts: a host is located, and its robots.txt requested, before its first page.

Laws: one file of a host is requested per turn, such as robots.txt or a sitemap; meanwhile none of
its pages begins a turn, unless it is a sitemap that takes long. The slot of a turn is given back,
whatever happens.
"""

import asyncio
from collections.abc import Callable, Coroutine, Set
from dataclasses import dataclass, field
from functools import partial

from minicrawl.crawl.admission.quotas import Quotas
from minicrawl.crawl.hosts.addresses import Rank
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.hosts.sitemap_queue import MANY, PATIENCE_S
from minicrawl.crawl.hosts.slots import RequestSlot, RequestSlots, Standing
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.leases import LeaseScheduler
from minicrawl.crawl.settle.posting import StepPoster
from minicrawl.ports import Clock
from minicrawl.web.sitemaps.sitemap import Sitemap


@dataclass(slots=True, eq=False)
class HostTurns:
    """Turns of hosts that are being onboarded, with their ids."""

    recorder: Recorder
    clock: Clock
    wake: Callable[[], None]
    hosts: HostTable
    onboarding: HostOnboarding
    slots: RequestSlots
    quotas: Quotas
    leases: LeaseScheduler
    poster: StepPoster
    targets: Set[str]
    """Addresses that --resolve names."""
    under_way: set[int] = field(default_factory=set)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    def begin(self, host: Host, rank: Rank, now: float) -> Coroutine[None, None, None]:
        """Begin the turn of a host; `rank` is that of the page that needs it."""
        slot = self.slots.take(now, host.id, Standing.of(host, is_known=False))
        self.quotas.spend_on_host(host.id)
        self.under_way.add(host.id)
        return self._learn(host, slot, rank)

    def cancel(self) -> None:
        """Cancel all turns of hosts: no more pages will be requested."""
        for task in tuple(self.tasks):
            task.cancel()

    async def _learn(self, host: Host, slot: RequestSlot, rank: Rank) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            with self.slots.held(slot, partial(self._go_behind, host)):
                if await self.onboarding.locate(host):
                    # Hosts at one address share a quota of pages, unless --resolve names it.
                    if host.address is not None and host.address not in self.targets:
                        self.quotas.locate(host.id, host.address)
                    await self._ask(host, rank)
        finally:
            self.tasks.discard(task)
            self.under_way.discard(host.id)
            # Last, and however the turn ended: leasing the page has paused the host, and nothing
            # else resumes it.
            self.hosts.resume_when_ready(host, self.clock.now())

    def _go_behind(self, host: Host) -> None:
        """Let the host, which is silent, wait for hosts that were never asked before."""
        due = self.slots.when_all_were_asked(host.id, self.clock.now())
        host.shared.free_at = max(host.shared.free_at, due)

    async def _ask(self, host: Host, rank: Rank) -> None:
        """Request the next file of the host, or make the host wait for its address."""
        now = self.clock.now()
        self.onboarding.robots.recall(host)
        if self.onboarding.is_known(host):
            return
        if not self.hosts.has_room(host, now):
            self.hosts.wait_for_room(host, now, rank)
            return
        loop, sitemaps = asyncio.get_running_loop(), self.onboarding.sitemaps
        introduce = partial(self._introduce, host)
        while True:
            self.under_way.add(host.id)
            patience = loop.call_later(PATIENCE_S, self._let_pages_on, host)
            try:
                await self.onboarding.learn(host, introduce)
            finally:
                patience.cancel()
            # If its last page went on meanwhile, no lease leads to the other sitemaps.
            if not sitemaps.is_behind(host):
                return

    def _let_pages_on(self, host: Host) -> None:
        """Let pages of the host have turns, as its sitemap takes long."""
        if self.onboarding.sitemaps.let_pages_on(host, is_slow=True):
            self.under_way.discard(host.id)
            self.hosts.resume_when_ready(host, self.clock.now())
            self.wake()

    async def _introduce(
        self, host: Host, urls: tuple[str, ...], depth: int, listed: Sitemap
    ) -> float:
        """Make pages of a sitemap known, and note when they changed. Return the processor time."""
        pages, new, cost_s = await self.poster.introduce(
            list(dict.fromkeys(urls)), depth, listed.originals
        )
        host_of = self.recorder.frontier.urls.host_of
        if sum(host_of[page] == host.id for page in new) >= MANY:
            self.onboarding.sitemaps.let_pages_on(host, is_slow=False)
        if self.leases.reads_again:
            self.leases.refresh.hear(pages, listed.changed)
        return cost_s
