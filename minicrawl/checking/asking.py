"""Asks for URLs to know whether they are there, and reads no body.

Laws: each URL is asked for once, by HEAD, and by GET if HEAD is refused. Hosts at one address are
asked one after the other, and each host after its delay, robots.txt first: what it forbids, or what
cannot be asked because it cannot be had, is not asked for. Redirects pass the same gates. A host
that fails again and again is asked for nothing more.

lane   the hosts at one address
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from http import HTTPStatus
from itertools import groupby

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
    State,
    Unchanged,
    Want,
)
from minicrawl.ports import Clock, WebAccess
from minicrawl.store.beside.checks import CheckRow
from minicrawl.web.robots.rules import ALLOW_ALL, FORBID_ALL, Rules
from minicrawl.web.urls import canonical, origin

_MOST_REDIRECTS = 5
_MOST_STRIKES = 3
_HEAD_IS_REFUSED = (
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
"""Some servers answer HEAD with 403 or 404 where GET finds the page."""
_OF_THE_HOST = (
    FailureKind.DNS,
    FailureKind.CONNECT,
    FailureKind.TLS,
    FailureKind.TIMEOUT,
    FailureKind.RESET,
    FailureKind.THROTTLED,
)

Sleep = Callable[[float], Awaitable[None]]
Keep = Callable[[CheckRow], None]


class LinkAsker:
    """Asks for URLs; `keep` gets what came of each. `halt` ends it after the requests under way."""

    def __init__(
        self, settings: Settings, web: WebAccess, clock: Clock, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._settings, self._web = settings, web
        self._clock, self._sleep = clock, sleep
        self._rules: dict[str, Rules] = {}
        self._next_at: dict[str, float] = {}
        self._strikes: dict[str, int] = {}
        self._address_of: dict[str, str] = {}
        self._lanes: dict[str, asyncio.Lock] = {}
        self._is_halted = False

    def halt(self) -> None:
        """Begin no more requests."""
        self._is_halted = True

    async def ask(self, urls: Iterable[str], keep: Keep) -> None:
        """Ask for all of them, many hosts at a time."""
        free = asyncio.Semaphore(self._settings.politeness.concurrency)
        async with asyncio.TaskGroup() as group:
            for host, some in groupby(sorted(urls, key=origin), key=origin):
                group.create_task(self._ask_host(host, list(some), keep, free))

    async def _ask_host(
        self, host: str, urls: Sequence[str], keep: Keep, free: asyncio.Semaphore
    ) -> None:
        for url in urls:
            if self._is_halted or self._strikes.get(host, 0) >= _MOST_STRIKES:
                return
            async with free:
                found = await self._follow(url)
            keep(self._row(url, found))

    def _row(self, url: str, found: FetchResult) -> CheckRow:
        at = self._clock.today()
        match found:
            case Response(status=status):
                return CheckRow(url, State.FETCHED, status, "", at)
            case Moved(status=status):
                detail = f"more than {_MOST_REDIRECTS} redirects, or one to nowhere"
                return CheckRow(url, State.BAD_REDIRECT, status, detail, at)
            case Refused(reason=reason, detail=detail, status=status):
                return CheckRow(url, State.of(reason), status, detail, at)
            case Failed(kind=kind, detail=detail, status=status):
                return CheckRow(url, State.of(kind), status, detail, at)
            case Unchanged():
                return CheckRow(url, State.FETCHED, HTTPStatus.NOT_MODIFIED, "", at)

    async def _follow(self, url: str) -> FetchResult:
        """What is at the end of its redirects."""
        found = await self._polite(url)
        for _ in range(_MOST_REDIRECTS):
            target = canonical(found.target, url) if isinstance(found, Moved) else None
            if target is None:
                break
            url = target
            found = await self._polite(url)
        return found

    async def _polite(self, url: str) -> FetchResult:
        """The answer to a request that the host allows, when it is its turn."""
        host = origin(url)
        address = await self._web.locate(f"{host}/")
        if not isinstance(address, str):
            self._strike(host, address)
            return address
        self._address_of[host] = address
        async with self._lanes.setdefault(address, asyncio.Lock()):
            rules = await self._rules_of(host)
            if not rules.allows(url):
                return Refused(reason=Refusal.ROBOTS, detail="robots.txt forbids it")
            found = await self._send(host, Request(url=url, want=Want.HEAD))
            if isinstance(found, Failed) and found.status in _HEAD_IS_REFUSED:
                found = await self._send(host, Request(url=url, want=Want.STATUS))
        self._strike(host, found)
        return found

    async def _rules_of(self, host: str) -> Rules:
        if not self._settings.politeness.robots:
            return ALLOW_ALL
        if host not in self._rules:
            self._rules[host] = await self._asked_rules(host)
        return self._rules[host]

    async def _asked_rules(self, host: str) -> Rules:
        """RFC 9309: a file that is not there allows all, one that cannot be had allows nothing."""
        url, most = f"{host}/robots.txt", self._settings.limits.max_robots_bytes
        for _ in range(_MOST_REDIRECTS + 1):
            request = Request(url=url, want=Want.TEXT, max_bytes=most)
            found = await self._send(host, request)
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

    async def _send(self, host: str, request: Request) -> FetchResult:
        """The first request waits as well: the crawl may have asked the host a moment ago."""
        now, address = self._clock.now(), self._address_of[host]
        due = max(self._next_at.get(host, now + self._delay_s(host)), self._next_at.get(address, 0))
        await self._sleep(max(due - now, 0.0))
        try:
            return await self._web.fetch(request)
        finally:
            ended = self._clock.now()
            self._next_at[host] = ended + self._delay_s(host)
            self._next_at[address] = ended + self._settings.politeness.address_delay_s

    def _delay_s(self, host: str) -> float:
        known, politeness = self._rules.get(host), self._settings.politeness
        wanted_s = 0.0 if known is None else known.crawl_delay_s or 0.0
        return max(politeness.delay_after(None), min(wanted_s, politeness.max_delay_s))

    def _strike(self, host: str, found: FetchResult) -> None:
        is_of_the_host = isinstance(found, Failed) and found.kind in _OF_THE_HOST
        self._strikes[host] = self._strikes.get(host, 0) + 1 if is_of_the_host else 0
