"""Preview of a crawl: its first pages, and the delays and rules of their hosts.

Law: only robots.txt files are requested, no page. Hosts and their rules become known in the store
of the recorder, so the caller gives a temporary one, or a copy.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.onboarding import HostOnboarding
from minicrawl.crawl.hosts.politeness import hosts_of
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.schedule.orders import queue_of
from minicrawl.crawl.start.reach import limits
from minicrawl.model import PageId
from minicrawl.opic.ledger.money import UNIT
from minicrawl.ports import Clock, WebAccess
from minicrawl.states import State
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps.sitemap import Sitemap

_WAKES_EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class FirstPage:
    """One of the first pages. With a `refusal` it is not requested."""

    url: str
    cash: float  # in units
    refusal: State | None


@dataclass(frozen=True, slots=True)
class FirstHost:
    origin: str
    delay_s: float
    rules: Rules | None  # None without a response
    trouble: State | None  # why its pages would fail without a request


@dataclass(frozen=True, slots=True)
class Preview:
    seeds: int
    known: int
    hosts: list[FirstHost]
    pages: list[FirstPage]
    limits: list[str]


class DryRun:
    """Goes through the first pages of a crawl without requesting them."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        gate: ScopeGate,
        clock: Clock,
    ) -> None:
        self._frontier, self._recorder, self._gate = recorder.frontier, recorder, gate
        self._queue = queue_of(recorder.frontier, settings.order.strategy)
        self._hosts = hosts_of(settings, recorder.frontier.urls.origins, lambda _host: None, clock)
        self._clock, self._settings = clock, settings
        for pages, _ in recorder.pages.contents():
            for host_id, count in recorder.hosts.of_pages(pages):
                self._hosts[host_id].pages += count
        # Of a host's files only robots.txt is requested: no sitemaps, and no rules of usage.
        only_robots = replace(
            settings,
            scope=replace(settings.scope, sitemaps=False),
            politeness=replace(settings.politeness, obey_usage=None),
        )
        requests = SideRequests(only_robots, recorder, web_access, self._hosts, clock)
        self._onboarding = HostOnboarding(only_robots, web_access, gate, requests, nobody_listens)
        self._room = asyncio.Semaphore(settings.politeness.per_address)

    async def preview(self, count: int) -> Preview:
        pages = list(islice(self._pages(), count))
        requested = [page for page in pages if self._gate_refuses(page) is None]
        hosts = list(dict.fromkeys(map(self._host_of, requested)))
        waking = asyncio.create_task(self._wake())
        await asyncio.gather(*map(self._learn, hosts))
        waking.cancel()
        now = self._clock.now()
        return Preview(
            len(self._recorder.seeds.ids()),
            len(self._frontier),
            [FirstHost(h.origin, h.delay_s, h.rules, h.trouble_at(now)) for h in hosts],
            list(map(self._first_page, pages)),
            list(limits(self._settings, self._gate, self._recorder.seeds.urls())),
        )

    def _pages(self) -> Iterator[int]:
        """Yield the first page of each host, then the second ones, as if all delays were equal."""
        frontier, queue = self._frontier, self._queue
        queue.load()
        paused: list[int] = []
        while (page := queue.take()) is not None or paused:
            if page is None:
                while paused:
                    queue.resume(paused.pop())
            else:
                paused.append(frontier.urls.host_of[page])
                yield page

    def _host_of(self, page: PageId) -> Host:
        return self._hosts[self._frontier.urls.host_of[page]]

    async def _learn(self, host: Host) -> None:
        async with self._room:
            if await self._onboarding.locate(host):
                await self._onboarding.learn(host, _no_sitemaps)

    async def _wake(self) -> None:
        while True:
            self._hosts.wake(self._clock.now())
            await asyncio.sleep(_WAKES_EVERY_S)

    def _gate_refuses(self, page: PageId) -> State | None:
        pages = self._host_of(page).pages
        url, depth = self._recorder.pages.url_of(page), self._frontier.urls.depth[page]
        return self._gate.refusal(url, depth, pages, is_seed=not depth)

    def _first_page(self, page: PageId) -> FirstPage:
        url, host = self._recorder.pages.url_of(page), self._host_of(page)
        refusal = self._gate_refuses(page) or host.trouble_at(self._clock.now())
        rules = host.rules
        if refusal is None and rules is not None:
            purpose = self._settings.politeness.obey_usage
            if not rules.allows(url) or (purpose and rules.denial(url, purpose)):
                refusal = State.ROBOTS
        return FirstPage(url, self._frontier.ledger.cash(page) / UNIT, refusal)


async def _no_sitemaps(_pages: tuple[str, ...], _depth: int, _listed: Sitemap) -> float:
    return 0.0
