"""Asks for URLs to know whether they are there, and reads no body.

Laws: each URL is asked for once, by HEAD, and by GET if HEAD is refused, as politely as `polite`
says. Redirects pass the same gates. A host that fails again and again is asked for nothing more.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from itertools import groupby

from minicrawl.checking.polite import MOST_REDIRECTS, PoliteHosts, Sleep
from minicrawl.config import Settings
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Refused,
    Request,
    Response,
    State,
    Unchanged,
    Want,
)
from minicrawl.ports import Clock, WebAccess
from minicrawl.store.beside.checks import CheckRow
from minicrawl.web.urls import canonical, origin

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

Keep = Callable[[CheckRow], None]


class LinkAsker:
    """Asks for URLs; `keep` gets what came of each. `halt` ends it after the requests under way."""

    def __init__(
        self, settings: Settings, web: WebAccess, clock: Clock, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._settings, self._clock = settings, clock
        self._hosts = PoliteHosts(settings, web, clock, sleep)
        self._strikes: dict[str, int] = {}
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
                detail = f"more than {MOST_REDIRECTS} redirects, or one to nowhere"
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
        for _ in range(MOST_REDIRECTS):
            target = canonical(found.target, url) if isinstance(found, Moved) else None
            if target is None:
                break
            url = target
            found = await self._polite(url)
        return found

    async def _polite(self, url: str) -> FetchResult:
        """The answer to a request that the host allows, when it is its turn."""
        async with self._hosts.turn(url) as refused:
            found = refused or await self._hosts.send(Request(url=url, want=Want.HEAD))
            if isinstance(found, Failed) and found.status in _HEAD_IS_REFUSED:
                found = await self._hosts.send(Request(url=url, want=Want.STATUS))
        self._strike(origin(url), found)
        return found

    def _strike(self, host: str, found: FetchResult) -> None:
        if isinstance(found, Refused):  # nobody was asked
            return
        is_of_the_host = isinstance(found, Failed) and found.kind in _OF_THE_HOST
        self._strikes[host] = self._strikes.get(host, 0) + 1 if is_of_the_host else 0
