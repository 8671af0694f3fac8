"""Asks for URLs to know whether they are there, or to keep what comes.

Laws: each URL is asked for once, by the gate of the crawl (`HostOnboarding.ask`), so as its pages
are: `--deny`, robots.txt, delays, addresses, pace, hours and budget hold. To know whether it is
there, that is by HEAD, and by GET if HEAD is refused. Redirects pass the same gate.

hops   a URL with what came of it, and each URL that a redirect led to with what came of that; a
       state says why nobody was asked
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from itertools import groupby

from minicrawl.crawl.hosts.side_requests import MOST_REDIRECTS
from minicrawl.crawl.loop import Crawler
from minicrawl.model import (
    Failed,
    FetchResult,
    Moved,
    Refused,
    Request,
    Response,
    State,
    Unchanged,
    Want,
)
from minicrawl.store.beside.checks import CheckRow
from minicrawl.web.urls import canonical, origin

IS_IT_THERE = (Want.HEAD, Want.STATUS)
_HEAD_IS_REFUSED = (
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
)
"""Some servers answer HEAD with 403 or 404 where GET finds the page."""

Found = FetchResult | State
Hops = list[tuple[str, Found]]
Keep = Callable[[Hops], None]


class LinkAsker:
    """Asks for URLs on behalf of a crawl; `keep` gets the hops of each that is not denied."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler, self._onboarding = crawler, crawler.parts.onboarding
        self._settings, self._clock = crawler.context.settings, crawler.context.clock

    async def ask(
        self, urls: Iterable[str], keep: Keep, wants: Sequence[Want] = IS_IT_THERE
    ) -> None:
        """Ask for all of them, many hosts at a time; for the first want, or else for the next."""
        free = asyncio.Semaphore(self._settings.politeness.concurrency)
        async with asyncio.TaskGroup() as group:
            for _, some in groupby(sorted(urls, key=origin), key=origin):
                group.create_task(self._ask_host(list(some), keep, wants, free))

    async def _ask_host(
        self, urls: Sequence[str], keep: Keep, wants: Sequence[Want], free: asyncio.Semaphore
    ) -> None:
        for url in urls:
            async with free:
                if not await self._crawler.may_ask():
                    return
                hops = await self._follow(url, wants)
            if hops[0][1] is not State.SCOPE:
                keep(hops)

    def row_of(self, hops: Hops) -> CheckRow:
        """What came of the first URL, in the end."""
        at = self._clock.today()
        (url, _), (_, found) = hops[0], hops[-1]
        match found:
            case State():
                return CheckRow(url, found, None, "", at)
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
        hops = [(url, await self._send(url, wants))]
        for _ in range(MOST_REDIRECTS):
            url, found = hops[-1]
            target = canonical(found.target, url) if isinstance(found, Moved) else None
            if target is None:
                break
            hops.append((target, await self._send(target, wants)))
        return hops

    async def _send(self, url: str, wants: Sequence[Want]) -> Found:
        for want in wants:
            most = self._settings.network.max_body_bytes
            request = Request(url=url, want=want, max_bytes=most)
            found = await self._onboarding.ask_in_time(request, self._crawler.context.tell)
            if not (isinstance(found, Failed) and found.status in _HEAD_IS_REFUSED):
                break
        return found
