"""Hosts asked politely, a request at a time, without a crawl.

Laws: hosts at one address are asked one after the other, and each host after its delay, robots.txt
first: what it forbids, or what cannot be asked because it cannot be had, is not asked for.

lane   the hosts at one address
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from minicrawl.config import Settings
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Refusal,
    Refused,
    Request,
    Response,
    Want,
)
from minicrawl.ports import Clock, PageFetcher, WebAccess
from minicrawl.web.robots.rules import ALLOW_ALL, FORBID_ALL, Rules
from minicrawl.web.urls import canonical, origin

MOST_REDIRECTS = 5

Sleep = Callable[[float], Awaitable[None]]


class PoliteHosts:
    """All hosts that are asked, and when each may be asked again."""

    def __init__(self, settings: Settings, web: WebAccess, clock: Clock, sleep: Sleep) -> None:
        self._settings, self._web = settings, web
        self._clock, self._sleep = clock, sleep
        self._rules: dict[str, Rules] = {}
        self._asked_at: dict[str, float] = {}
        self._next_at: dict[str, float] = {}
        self._address_of: dict[str, str] = {}
        self._lanes: dict[str, asyncio.Lock] = {}

    @asynccontextmanager
    async def turn(self, url: str) -> AsyncIterator[Refused | Failed | None]:
        """A turn of the host of this URL; what it gives says why there may be no request."""
        host = origin(url)
        address = await self._web.locate(f"{host}/")
        if not isinstance(address, str):
            yield address
            return
        self._address_of[host] = address
        async with self._lanes.setdefault(address, asyncio.Lock()):
            rules = await self._rules_of(host)
            forbidden = Refused(reason=Refusal.ROBOTS, detail="robots.txt forbids it")
            yield None if rules.allows(url) else forbidden

    async def send(self, request: Request, through: PageFetcher | None = None) -> FetchResult:
        """Send a request within a turn of its host, after the delay, here or through another
        fetcher. The first request waits as well: the crawl may have asked the host a moment ago.
        """
        host = origin(request.url)
        now, address = self._clock.now(), self._address_of[host]
        due = self._asked_at.get(host, now) + self._delay_s(host)
        await self._sleep(max(due - now, self._next_at.get(address, 0.0) - now, 0.0))
        try:
            return await (through or self._web).fetch(request)
        finally:
            self._asked_at[host] = ended = self._clock.now()
            self._next_at[address] = ended + self._settings.politeness.address_delay_s

    async def _rules_of(self, host: str) -> Rules:
        if not self._settings.politeness.robots:
            return ALLOW_ALL
        if host not in self._rules:
            self._rules[host] = await self._asked_rules(host)
        return self._rules[host]

    async def _asked_rules(self, host: str) -> Rules:
        """RFC 9309: a file that is not there allows all, one that cannot be had allows nothing."""
        url, most = f"{host}/robots.txt", self._settings.limits.max_robots_bytes
        for _ in range(MOST_REDIRECTS + 1):
            found = await self.send(Request(url=url, want=Want.TEXT, max_bytes=most))
            target = canonical(found.target, url) if isinstance(found, Moved) else None
            if target is None or origin(target) != host:
                break
            url = target
        if isinstance(found, Response):
            parsed, _ = await self._web.parse_rules(found, url)
            return parsed if isinstance(parsed, Rules) else FORBID_ALL
        is_absent = isinstance(found, Failed) and found.kind in (
            FailureKind.NOT_FOUND,
            FailureKind.CLIENT_ERROR,
        )
        return ALLOW_ALL if is_absent else FORBID_ALL

    def _delay_s(self, host: str) -> float:
        known, politeness = self._rules.get(host), self._settings.politeness
        wanted_s = 0.0 if known is None else known.crawl_delay_s or 0.0
        return max(politeness.delay_after(None), min(wanted_s, politeness.max_delay_s))
