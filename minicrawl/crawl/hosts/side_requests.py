"""Side requests: requests for files that are not pages, each at a time that suits its host.

Laws: a host is contacted no sooner, and by no more requests at once, than its delays and limits
allow, whatever the request is for. A robots.txt that redirects to another host, or a sitemap there,
does not bypass that host's delay. A robots.txt that broke off counts as failed, as the rest of it
could forbid anything.

idle     turn that holds no request now: it waits for another host, or until a file is parsed
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from minicrawl.archive.packing import pack_any, record_of
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.hosts.sitemap_revisits import ReadSitemap
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
    Want,
)
from minicrawl.ports import Clock, PageFetcher, Visit, WebAccess
from minicrawl.states import FailureKind
from minicrawl.web.robots.rules import MOST_ROBOTS_BYTES, Rules
from minicrawl.web.robots.usage import MOST_BYTES
from minicrawl.web.urls import canonical, origin

T = TypeVar("T")


class SideRequests:
    """Requests that wait for a host; `notify` wakes the loop of the crawl."""

    def __init__(
        self, hosts: HostTable, clock: Clock, notify: Callable[[], None] = lambda: None
    ) -> None:
        self.hosts, self.clock, self._notify = hosts, clock, notify
        self._waiting: set[asyncio.Future[None]] = set()
        self._of_pages: set[asyncio.Future[None]] = set()
        self.waiting_to_be_read = 0
        """Number of turns that wait for a parser."""

    @property
    def idle(self) -> int:
        """Number of turns without a request.

        A few turns that wait for a parser do not count: they keep their slots.
        """
        few = self.hosts.politeness.concurrency // 4
        return len(self._waiting) + max(self.waiting_to_be_read - few, 0)

    @property
    def waiting(self) -> int:
        """Number of turns that wait for a host."""
        return len(self._waiting)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Count the turn as idle: it waits for a parser and holds no request."""
        self.waiting_to_be_read += 1
        self._notify()
        try:
            yield
        finally:
            self.waiting_to_be_read -= 1

    async def ask(
        self, host: int, request: Callable[[], Awaitable[T]], *, is_turn: bool = True
    ) -> T:
        """Send a request when the host may be contacted; with `is_turn`, its turn idles so long."""
        await self._wait_for_turn(host, self._waiting if is_turn else self._of_pages)
        self.hosts.begin(host, self.clock.now())
        try:
            return await request()
        finally:
            self.hosts.end(host, self.clock.now())
            self._notify()

    async def wait_until_ready(self, host: int) -> None:
        """Wait until the host may be contacted.

        No request follows, so the next waiting request is called at once.
        """
        await self._wait_for_turn(host, self._of_pages)
        self.hosts.resume_when_ready(host, self.clock.now())

    async def _wait_for_turn(self, host: int, waiting: set[asyncio.Future[None]]) -> None:
        """Wait until the host may be contacted, and the pace of the crawl allows it."""
        while True:
            while (pace := self.hosts.pace) is not None and pace.wait_s(self.clock.now()) > 0:
                await pace.wait()
            now = self.clock.now()
            if self.hosts.may_be_asked(host, now) and self.hosts.has_room(host, now):
                return
            await self._wait_for(host, now, waiting)

    def leave(self) -> None:
        """Cancel all waiting requests."""
        for called in (*self._waiting, *self._of_pages):
            called.cancel()

    async def _wait_for(self, host: int, now: float, waiting: set[asyncio.Future[None]]) -> None:
        """Wait until the host, or its address, takes one more request."""
        called = asyncio.get_running_loop().create_future()
        waiting.add(called)
        self.hosts.queue_side_request(host, lambda: self._call(host, called))
        if self.hosts.may_be_asked(host, now):
            self.hosts.wait_for_room(host, now)
        else:
            self.hosts.resume_when_ready(host, now)
        self._notify()
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():  # called already: pass the call on
                self.hosts.resume_when_ready(host, self.clock.now())
            raise
        finally:
            waiting.discard(called)

    def _call(self, host: int, called: asyncio.Future[None]) -> None:
        """Call the next request; if it was cancelled, the one after it."""
        if called.done():
            self.hosts.resume_when_ready(host, self.clock.now())
        else:
            called.set_result(None)


# ---------------------------------------------------------------- robots.txt and sitemaps


MOST_REDIRECTS = 5


class HostFiles:
    """Requests robots.txt and sitemaps; `recall` loads the stored delay of a host.

    With `keeps`, their responses are kept like those of pages, failures included.
    """

    def __init__(
        self,
        recorder: Recorder,
        web_access: WebAccess,
        side_requests: SideRequests,
        recall: Callable[[int], None],
        *,
        keeps: bool = False,
    ) -> None:
        self._keeps = keeps
        self._recorder, self._web_access, self._recall = recorder, web_access, recall
        self._side_requests = side_requests
        self._hosts, self._clock = side_requests.hosts, side_requests.clock

    async def locate(self, host: int) -> str | Refused | Failed:
        """Return the address of the host."""
        return await self._web_access.locate(f"{self._recorder.frontier.urls.origins[host]}/")

    async def robots_txt(self, host: int) -> Response | Failed | Refused:
        """Fetch the robots.txt of the host, through a few redirects."""
        first = url = self._robots_url(host)
        for _ in range(MOST_REDIRECTS + 1):
            answer = await self._robots_file(url)
            if isinstance(answer, Response) and answer.cut and answer.broke_off:
                return Failed(kind=answer.cut, detail=f"{url} broke off")
            if not isinstance(answer, Moved):
                return answer
            target = canonical(answer.target, url)
            if target is None:
                break
            url = target
        return Failed(kind=FailureKind.BAD_REDIRECT, detail=f"{first}: no end of its redirects")

    async def parse_robots_txt(self, host: int, response: Response) -> Rules | Failed:
        """Parse a robots.txt for our agent; a failure if it takes too long."""
        with self._side_requests.reading():
            rules, cost_s = await self._web_access.parse_rules(response, self._robots_url(host))
        self._hosts.charge(host, response.cost_s + cost_s, self._clock.now())
        return rules

    async def usage_file(self, url: str) -> FetchResult:
        """Fetch a file that states usage preferences."""
        return await self._robots_file(url, MOST_BYTES)

    def now(self) -> float:
        """Return the present moment."""
        return self._clock.now()

    async def sitemap(self, url: str, max_bytes: int, earlier: ReadSitemap | None) -> Visit:
        """Fetch a sitemap, unless it is as it was earlier. The visit knows how to parse it."""
        request = Request(
            url=url,
            want=Want.SITEMAP,
            max_bytes=max_bytes,
            etag=None if earlier is None else earlier.etag,
            last_modified=None if earlier is None else earlier.last_modified,
            keeps_failures=self._keeps,
        )
        visit = await self._ask(url, lambda: self._web_access.visit(request))
        # A 304 is not kept: only pages can refer to what an earlier response said.
        if not isinstance(visit.fetched, Unchanged):
            self._keep(url, record_of(url, visit.fetched))
        return visit

    def _keep(self, url: str, record: bytes | None) -> None:
        if record and self._keeps:
            self._recorder.keep(None, KeptAnswer(record, self._clock.today(), url))

    async def resource(self, request: Request, through: PageFetcher | None = None) -> FetchResult:
        """Fetch a part or a link target of a page; `through` replaces the fetcher of the crawl."""
        fetcher = through or self._web_access

        async def fetch() -> Visit:
            return Visit(await fetcher.fetch(request))

        return (await self._ask(request.url, fetch, is_turn=False)).fetched

    def reading(self) -> AbstractContextManager[None]:
        """Count the turn as idle: it waits for a parser and holds no request."""
        return self._side_requests.reading()

    def charge(self, url: str, cost_s: float) -> None:
        """Charge the processor time of the file to its host."""
        self._hosts.charge(self._recorder.host_at(origin(url)), cost_s, self._clock.now())

    def _robots_url(self, host: int) -> str:
        return f"{self._recorder.frontier.urls.origins[host]}/robots.txt"

    async def _robots_file(
        self, url: str, max_bytes: int = MOST_ROBOTS_BYTES
    ) -> Response | Moved | Failed | Refused:
        request = Request(url=url, want=Want.TEXT, max_bytes=max_bytes, keeps_failures=self._keeps)

        async def fetch() -> Visit:
            return Visit(await self._web_access.fetch(request))

        fetched = (await self._ask(url, fetch)).fetched
        if self._keeps:
            self._keep(url, pack_any(url, fetched))
        if isinstance(fetched, Unchanged):
            raise TypeError(f"{url}: 304 Not Modified for an unconditional request")
        return fetched

    async def _ask(
        self, url: str, request: Callable[[], Awaitable[Visit]], *, is_turn: bool = True
    ) -> Visit:
        """Send a request to any host, as soon as it may be contacted."""
        host = self._recorder.host_at(origin(url))
        self._recall(host)
        state = self._hosts[host]
        if state.address is None:
            found = await self._web_access.locate(url)
            if not isinstance(found, str):
                return Visit(found)
            state.move_to(found)
        visit = await self._side_requests.ask(host, request, is_turn=is_turn)
        answer = visit.fetched
        self._recorder.counters.add("requests")
        self._hosts.hear(host, answer, self._clock.now())
        if isinstance(answer, Response):
            self._recorder.counters.add("wire_bytes", answer.wire_bytes)
        return visit
