"""Asks for URLs to know whether they are there, or to keep what comes.

Laws: each URL is asked for once, as politely as `polite` says. To know whether it is there, that is
by HEAD, and by GET if HEAD is refused. Redirects pass the same gates. A host that fails again and
again is asked for nothing more.

hops   a URL with what came of it, and each URL that a redirect led to with what came of that
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

IS_IT_THERE = (Want.HEAD, Want.STATUS)
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

Hops = list[tuple[str, FetchResult]]
Keep = Callable[[Hops], None]


class LinkAsker:
    """Asks for URLs; `keep` gets the hops of each. `halt` ends it after the requests under way."""

    def __init__(
        self, settings: Settings, web: WebAccess, clock: Clock, sleep: Sleep = asyncio.sleep
    ) -> None:
        self._settings, self._clock = settings, clock
        self._max_bytes = settings.network.max_body_bytes
        self._hosts = PoliteHosts(settings, web, clock, sleep)
        self._strikes: dict[str, int] = {}
        self._is_halted = False

    def halt(self) -> None:
        """Begin no more requests."""
        self._is_halted = True

    @property
    def is_halted(self) -> bool:
        """Whether no more requests begin."""
        return self._is_halted

    async def ask(
        self, urls: Iterable[str], keep: Keep, wants: Sequence[Want] = IS_IT_THERE
    ) -> None:
        """Ask for all of them, many hosts at a time; for the first want, or else for the next."""
        free = asyncio.Semaphore(self._settings.politeness.concurrency)
        async with asyncio.TaskGroup() as group:
            for host, some in groupby(sorted(urls, key=origin), key=origin):
                asking = self._ask_host(host, list(some), keep, wants, free)
                group.create_task(asking)

    async def _ask_host(
        self,
        host: str,
        urls: Sequence[str],
        keep: Keep,
        wants: Sequence[Want],
        free: asyncio.Semaphore,
    ) -> None:
        for url in urls:
            if self._is_halted or self._strikes.get(host, 0) >= _MOST_STRIKES:
                return
            async with free:
                hops = await self._follow(url, wants)
            keep(hops)

    def row_of(self, hops: Hops) -> CheckRow:
        """What came of the first URL, in the end."""
        at = self._clock.today()
        (url, _), (_, found) = hops[0], hops[-1]
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

    async def _follow(self, url: str, wants: Sequence[Want]) -> Hops:
        """All hops to the end of its redirects."""
        hops = [(url, await self._polite(url, wants))]
        for _ in range(MOST_REDIRECTS):
            url, found = hops[-1]
            target = canonical(found.target, url) if isinstance(found, Moved) else None
            if target is None:
                break
            hops.append((target, await self._polite(target, wants)))
        return hops

    async def _polite(self, url: str, wants: Sequence[Want]) -> FetchResult:
        """The answer to a request that the host allows, when it is its turn."""
        async with self._hosts.turn(url) as refused:
            found = refused or await self._send(url, wants)
        self._strike(origin(url), found)
        return found

    async def _send(self, url: str, wants: Sequence[Want]) -> FetchResult:
        for want in wants:
            request = Request(url=url, want=want, max_bytes=self._max_bytes)
            found = await self._hosts.send(request)
            if not (isinstance(found, Failed) and found.status in _HEAD_IS_REFUSED):
                break
        return found

    def _strike(self, host: str, found: FetchResult) -> None:
        if isinstance(found, Refused):  # nobody was asked
            return
        is_of_the_host = isinstance(found, Failed) and found.kind in _OF_THE_HOST
        self._strikes[host] = self._strikes.get(host, 0) + 1 if is_of_the_host else 0
