"""Requests URLs to check whether they exist, or to keep the responses.

Laws: each URL is requested once, through the gate of the crawl (`HostOnboarding.ask`), as its
pages are: `--deny`, robots.txt, delays, addresses, pace, hours and budget apply. A check uses
HEAD, and GET if HEAD is refused. Redirects pass the same gate.

hops   a URL and its result, then each URL that a redirect led to and its result; a result that is
       a state tells why no request was sent
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import partial
from http import HTTPStatus
from io import BytesIO
from itertools import groupby
from typing import TypeVar

from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.side_requests import follow
from minicrawl.crawl.loop import Crawler
from minicrawl.crawl.settle.settler import MOST_REDIRECTS
from minicrawl.crawl.workers.parser_process import ParserLost, ParserProcess
from minicrawl.crawl.workers.visitor import MOST_READING_S
from minicrawl.model import Failed, FetchResult, Moved, Refused, Request, Response, Unchanged, Want
from minicrawl.states import State
from minicrawl.store.derived.checks import CheckRow
from minicrawl.web.responses.challenges import COOKIE_WALL
from minicrawl.web.responses.headers import parse_content_type
from minicrawl.web.urls import host, origin

IS_IT_THERE = (Want.HEAD, Want.STATUS)
_LONGEST_LENGTH = 18  # digits of a Content-Length that SQLite can store

Found = FetchResult | State
Hops = list[tuple[str, Found]]
Keep = Callable[[Hops], Awaitable[None]]


class LinkAsker:
    """Requests URLs on behalf of a crawl. `keep` gets the hops of each URL that is not denied."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler, self._onboarding = crawler, crawler.parts.onboarding
        self._settings, self._clock = crawler.context.settings, crawler.context.clock

    async def ask(
        self,
        urls: Iterable[str],
        keep: Keep,
        wants: Sequence[Want] = IS_IT_THERE,
        *,
        in_scope: bool = False,
    ) -> bool:
        """Request all URLs, many hosts at a time, by the first of `wants` that is not refused.

        With `in_scope`, URLs out of the scope are left out. Return False if the crawl was stopped
        before all were requested.
        """
        per_host = self._settings.politeness.per_host
        free = asyncio.Semaphore(self._settings.politeness.concurrency)
        send = partial(self._send, wants=wants, in_scope=in_scope)
        tasks = list[asyncio.Task[bool]]()

        async def ask_each(waiting: Iterator[str]) -> bool:
            for url in waiting:
                async with free:
                    if not await self._crawler.may_ask():
                        return False
                    hops = await follow(url, send, MOST_REDIRECTS)
                    if hops[0][1] is not State.SCOPE:
                        await keep(hops)
            return True

        async with asyncio.TaskGroup() as group:
            # One task for each connection that a host may have: in it, URLs wait for the host's
            # delay one after another. In one queue for all hosts, URLs would wait for the slowest.
            for _, of_host in groupby(sorted(urls, key=origin), key=origin):
                queued = list(of_host)
                waiting = iter(queued)
                for _ in range(min(per_host, len(queued))):
                    tasks.append(group.create_task(ask_each(waiting)))
        return came_to_their_end(tasks)

    def row_of(self, hops: Hops) -> CheckRow:
        """Return the row of the first URL, with the result of the last hop."""
        at = self._clock.today()
        (url, _), (_, result) = hops[0], hops[-1]
        match result:
            case State():
                return CheckRow(url, result, None, "", at)
            case Response(status=status):
                media_type, _ = parse_content_type(result.headers.get("content-type"))
                size = _wire_bytes(result)
                return CheckRow(url, State.FETCHED, status, "", at, size, type=media_type)
            case Moved(status=status):
                detail = f"more than {MOST_REDIRECTS} redirects, or one to no URL"
                if result.cookies and len(dict(hops)) < len(hops):
                    detail = COOKIE_WALL
                return CheckRow(url, State.BAD_REDIRECT, status, detail, at)
            case Refused(state, detail, status) | Failed(state, detail, status):
                return CheckRow(url, state, status, detail, at)
            case Unchanged():
                return CheckRow(url, State.FETCHED, HTTPStatus.NOT_MODIFIED, "", at)

    async def _send(self, url: str, wants: Sequence[Want], *, in_scope: bool) -> Found:
        settings = self._settings
        for want in wants:
            is_file = want is Want.FILE
            most = settings.longest_file_bytes if is_file else settings.network.max_body_bytes
            # The body of a failure may show that it is a challenge, or is archived.
            reads_failures = is_file or want is Want.STATUS
            request = Request(url=url, want=want, max_bytes=most, keeps_failures=reads_failures)
            result = await self._onboarding.ask_in_time(request, in_scope=in_scope)
            if not _may_be_of_method(result):
                break
        return result


def _may_be_of_method(result: Found) -> bool:
    """Return True if GET may get another answer.

    Servers refuse HEAD by any error, or hang up, or state the length of the body that HEAD lacks.
    """
    if isinstance(result, Response):
        return result.headers.get("content-length") == "0"
    if not isinstance(result, Failed) or result.kind is State.THROTTLED:
        return False
    return result.kind is State.RESET or (result.status or 0) >= HTTPStatus.BAD_REQUEST


def came_to_their_end(tasks: Iterable[asyncio.Task[bool]]) -> bool:
    """Return whether all was requested. A stop cancels the tasks that wait."""
    return all(not task.cancelled() and task.result() for task in tasks)


def _wire_bytes(response: Response) -> int | None:
    length = response.headers.get("content-length", "")
    is_number = length.isascii() and length.isdigit() and len(length) <= _LONGEST_LENGTH
    return int(length) if is_number else response.wire_bytes or None


VALID_S = 86_400.0

T = TypeVar("T")

_SHORT_BYTES = 32_768
"""Size of a body up to which reading it, in linear time, takes milliseconds."""


class BodyReader:
    """Reads long bodies in a child process, so that requests to other hosts go on meanwhile."""

    def __init__(self, emit: Listener) -> None:
        self._process, self._tell = ParserProcess(MOST_READING_S), emit
        self.close = self._process.close

    async def read(self, read: Callable[[bytes], T], response: Response, url: str) -> T | None:
        """Return what `read` finds in the body; None if it was killed for taking too long."""
        if len(response.body) <= _SHORT_BYTES:  # most: starting a process takes longer
            return read(response.body)
        try:
            return (await self._process.run(read, BytesIO(response.body), host(url))).value
        except ParserLost as lost:
            self._tell(Noted(text=f"{url} is not read: {lost}"))
            return None
