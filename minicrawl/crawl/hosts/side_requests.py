"""Side requests: requests for files that are not pages, each at a time that suits its host.

Laws: a host is contacted no sooner, and by no more requests at once, than its delays and limits
allow, whatever the request is for. A robots.txt that redirects to another host, or a sitemap there,
does not bypass that host's delay. With --keep pages, the responses are kept like those of pages,
failures included.

idle     turn that holds no request now: it waits for another host, or until a file is parsed
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from minicrawl.archive.packing import pack_any, record_of
from minicrawl.config import Settings
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.model import (
    Failed,
    FetchResult,
    KeptAnswer,
    Moved,
    Refused,
    Request,
    Response,
    Unchanged,
)
from minicrawl.ports import Clock, PageFetcher, Visit, WebAccess
from minicrawl.web.urls import canonical

Result = TypeVar("Result")
_MOST_REDIRECTS = 5


class SideRequests:
    """Requests that wait for a host; `notify` wakes the loop of the crawl."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        hosts: HostTable,
        clock: Clock,
        notify: Callable[[], None] = lambda: None,
    ) -> None:
        self.recorder, self._web_access = recorder, web_access
        self.hosts, self.clock, self.notify = hosts, clock, notify
        self._keeps = bool(recorder.keeping) and settings.storing.keeps_failures
        self._waiting: set[asyncio.Future[None]] = set()
        self._of_pages: set[asyncio.Future[None]] = set()
        self.waiting = self.waiting_to_be_read = self.idle = 0
        """Numbers of turns that wait for a host or for a parser, and of turns without a slot."""

    def count_idle(self) -> None:
        """Count the turns without a slot anew; a few that wait for a parser keep theirs."""
        # When the number may have changed, as it is looked at ten times a page.
        self.waiting, with_slots = len(self._waiting), self.hosts.politeness.concurrency // 4
        self.idle = self.waiting + max(self.waiting_to_be_read - with_slots, 0)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count the turn as idle: it waits for a parser and holds no request."""
        self.waiting_to_be_read += 1
        self.count_idle()
        self.notify()
        try:
            yield
        finally:
            self.waiting_to_be_read -= 1
            self.count_idle()

    async def locate(self, host: Host) -> Refused | Failed | None:
        """Find the address of the host. Return why it has none, if so."""
        address = await self._web_access.locate(f"{host.origin}/")
        if not isinstance(address, str):
            return address
        host.move_to(address)
        return None

    async def file(self, host: Host, request: Request) -> Response | Moved | Failed | Refused:
        """Fetch a file that says something about the host."""
        request = request._replace(keeps_failures=self._keeps)
        fetched = await self.resource(host, request, is_turn=True)
        if self._keeps:
            self._keep(request.url, pack_any(request.url, fetched))
        if isinstance(fetched, Unchanged):
            raise TypeError(f"{request.url}: 304 Not Modified for an unconditional request")
        return fetched

    async def sitemap(self, host: Host, request: Request) -> Visit:
        """Fetch a sitemap. The visit knows how to parse it."""
        request = request._replace(keeps_failures=self._keeps)
        visit = await self._send(host, lambda: self._web_access.visit(request))
        # A 304 is not kept: only pages can refer to what an earlier response said.
        if self._keeps and not isinstance(visit.fetched, Unchanged):
            self._keep(request.url, record_of(request.url, visit.fetched))
        return visit

    async def resource(
        self,
        host: Host,
        request: Request,
        through: PageFetcher | None = None,
        *,
        is_turn: bool = False,
    ) -> FetchResult:
        """Fetch a part or a link target of a page; `through` replaces the fetcher of the crawl."""
        fetcher = through or self._web_access

        async def fetch() -> Visit:
            return Visit(await fetcher.fetch(request))

        return (await self._send(host, fetch, is_turn=is_turn)).fetched

    def _keep(self, url: str, record: bytes | None) -> None:
        if record:
            self.recorder.keep(None, KeptAnswer(record, self.clock.today(), url))

    async def _send(
        self, host: Host, request: Callable[[], Awaitable[Visit]], *, is_turn: bool = True
    ) -> Visit:
        """Send a request when the host may be contacted; with `is_turn`, its turn idles so long."""
        if host.address is None and (failure := await self.locate(host)) is not None:
            return Visit(failure)
        await self._wait_for_turn(host, self._waiting if is_turn else self._of_pages)
        self.hosts.begin(host, self.clock.now())
        try:
            visit = await request()
        finally:
            self.hosts.end(host, self.clock.now())
            self.notify()
        fetched = visit.fetched
        self.recorder.counters.add("requests")
        self.hosts.hear(host, fetched, self.clock.now())
        if isinstance(fetched, Response):
            self.recorder.counters.add("wire_bytes", fetched.wire_bytes)
        return visit

    async def wait_until_ready(self, host: Host) -> None:
        """Wait until the host may be contacted, but let the next waiting request go."""
        await self._wait_for_turn(host, self._of_pages)
        self.hosts.resume_when_ready(host, self.clock.now())

    async def _wait_for_turn(self, host: Host, waiting: set[asyncio.Future[None]]) -> None:
        """Wait until the host may be contacted, and the pace of the crawl allows it."""
        while True:
            while (pace := self.hosts.pace) is not None and pace.wait_s(self.clock.now()) > 0:
                await pace.wait()
            now = self.clock.now()
            is_ready = self.hosts.may_be_asked(host, now)
            if is_ready and self.hosts.has_room(host, now):
                return
            called = asyncio.get_running_loop().create_future()
            waiting.add(called)
            self.count_idle()
            self.hosts.queue_side_request(host, partial(self._call, host, called))
            if is_ready:
                self.hosts.wait_for_room(host, now)
            else:
                self.hosts.resume_when_ready(host, now)
            self.notify()
            try:
                await called
            except asyncio.CancelledError:
                if called.done() and not called.cancelled():  # called already: pass the call on
                    self.hosts.resume_when_ready(host, self.clock.now())
                raise
            finally:
                waiting.discard(called)
                self.count_idle()

    def leave(self) -> None:
        """Cancel all waiting requests."""
        for called in (*self._waiting, *self._of_pages):
            called.cancel()

    def _call(self, host: Host, called: asyncio.Future[None]) -> None:
        """Call the next request; if it was cancelled, the one after it."""
        if called.done():
            self.hosts.resume_when_ready(host, self.clock.now())
        else:
            called.set_result(None)


async def follow(
    url: str, send: Callable[[str], Awaitable[Result]], most: int = _MOST_REDIRECTS
) -> list[tuple[str, Result]]:
    """Send a request for the URL, and for where each response redirects to. Return all hops.

    The last one is a redirect if there is no end of them, or if it leads to no URL.
    """
    hops = [(url, await send(url))]
    for _ in range(most):
        url, result = hops[-1]
        target = canonical(result.target, url) if isinstance(result, Moved) else None
        if target is None:
            break
        hops.append((target, await send(target)))
    return hops
