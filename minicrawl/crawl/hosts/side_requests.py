"""Side requests: for what is no page of the crawl, each at a time that suits its host.

Laws: a host is asked no sooner, and by no more requests at once, than its delays and limits allow,
whatever the request is for. A robots.txt that redirects to another host, or a sitemap there, is no
way around that host's delay. A robots.txt that broke off was not had, as nobody knows what the rest
forbids.

idle     a turn that holds no request now: it waits for another host, or until a file is parsed
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TypeVar

from minicrawl.config import Settings
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Refused,
    Request,
    Response,
    Unchanged,
    Want,
)
from minicrawl.ports import Clock, PageFetcher, Visit, WebAccess
from minicrawl.web.robots.rules import Rules
from minicrawl.web.urls import canonical, origin

T = TypeVar("T")


class SideRequests:
    """Requests that wait for a host; `notify` wakes the loop that looks after the hosts."""

    def __init__(
        self, hosts: HostTable, clock: Clock, notify: Callable[[], None] = lambda: None
    ) -> None:
        self.hosts, self.clock, self._notify = hosts, clock, notify
        self._waiting: set[asyncio.Future[None]] = set()
        self._of_pages: set[asyncio.Future[None]] = set()
        self._reading = 0

    @property
    def idle(self) -> int:
        """Turns that hold no request; a few that wait for a parser count as if they held one."""
        few = self.hosts.politeness.concurrency // 4
        return len(self._waiting) + max(self._reading - few, 0)

    @property
    def waiting_to_be_read(self) -> int:
        """Turns that wait until what came has been parsed."""
        return self._reading

    @contextmanager
    def reading(self) -> Iterator[None]:
        """The turn holds no request meanwhile: it waits until what came has been parsed."""
        self._reading += 1
        self._notify()
        try:
            yield
        finally:
            self._reading -= 1

    async def ask(
        self, host: int, request: Callable[[], Awaitable[T]], *, is_turn: bool = True
    ) -> T:
        """What the host answers, asked as soon as it may be; by a turn, or by a page of one."""
        await self._wait_for_turn(host, self._waiting if is_turn else self._of_pages)
        self.hosts.begin(host, self.clock.now())
        try:
            return await request()
        finally:
            self.hosts.end(host, self.clock.now())
            self._notify()

    async def wait_until_ready(self, host: int) -> None:
        """Wait until the host might be asked; who waits longer is next, as nothing is asked."""
        await self._wait_for_turn(host, self._of_pages)
        self.hosts.resume_when_ready(host, self.clock.now())

    async def _wait_for_turn(self, host: int, waiting: set[asyncio.Future[None]]) -> None:
        """Until the host may be asked, and the whole crawl may ask."""
        while True:
            while (pace := self.hosts.pace) is not None and pace.wait_s(self.clock.now()) > 0:
                await pace.wait()
            if self._may_ask(host, now := self.clock.now()):
                return
            await self._wait_for(host, now, waiting)

    def leave(self) -> None:
        """Cancel all that wait."""
        for called in (*self._waiting, *self._of_pages):
            called.cancel()

    def _may_ask(self, host: int, now: float) -> bool:
        return self.hosts.may_be_asked(host, now) and self.hosts.has_room(host, now)

    async def _wait_for(self, host: int, now: float, waiting: set[asyncio.Future[None]]) -> None:
        """Until the host, or its address, takes one more request."""
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
            if called.done() and not called.cancelled():  # it was called, and does not come
                self.hosts.resume_when_ready(host, self.clock.now())
            raise
        finally:
            waiting.discard(called)

    def _call(self, host: int, called: asyncio.Future[None]) -> None:
        """It is its turn; if nobody waits any more, that of the next one."""
        if called.done():
            self.hosts.resume_when_ready(host, self.clock.now())
        else:
            called.set_result(None)


# ---------------------------------------------------------------- robots.txt and sitemaps


MOST_REDIRECTS = 5


class HostFiles:
    """Asks for robots.txt and sitemaps; `recall` loads what earlier runs knew of a host's delay."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        side_requests: SideRequests,
        recall: Callable[[int], None],
    ) -> None:
        self._max_robots_bytes = settings.limits.max_robots_bytes
        self._recorder, self._web_access, self._recall = recorder, web_access, recall
        self._side_requests = side_requests
        self._hosts, self._clock = side_requests.hosts, side_requests.clock

    async def locate(self, host: int) -> str | Refused | Failed:
        """The address of the host."""
        return await self._web_access.locate(f"{self._recorder.frontier.urls.origins[host]}/")

    async def robots_txt(self, host: int) -> Response | Failed | Refused:
        """The answer at the end of a few redirects."""
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
        return Failed(kind=FailureKind.BAD_REDIRECT, detail=f"{first} leads nowhere")

    async def parse_robots_txt(self, host: int, response: Response) -> Rules | Failed:
        """What it says to us; a failure if it was too much."""
        with self._side_requests.reading():
            rules, cost_s = await self._web_access.parse_rules(response, self._robots_url(host))
        self._hosts.charge(host, response.cost_s + cost_s, self._clock.now())
        return rules

    async def sitemap(self, url: str, max_bytes: int) -> Visit:
        """The answer, and how to parse it."""
        request = Request(url=url, want=Want.SITEMAP, max_bytes=max_bytes)
        return await self._ask(url, lambda: self._web_access.visit(request))

    async def resource(self, request: Request, through: PageFetcher | None = None) -> FetchResult:
        """What belongs to a page, or is linked by one; asked for here or by another fetcher."""
        fetcher = through or self._web_access

        async def fetch() -> Visit:
            return Visit(await fetcher.fetch(request))

        return (await self._ask(request.url, fetch, is_turn=False)).fetched

    def reading(self) -> AbstractContextManager[None]:
        """The turn holds no request meanwhile: it waits until what came has been parsed."""
        return self._side_requests.reading()

    def charge(self, url: str, cost_s: float) -> None:
        """The file has cost so much processor time."""
        self._hosts.charge(self._recorder.host_at(origin(url)), cost_s, self._clock.now())

    def _robots_url(self, host: int) -> str:
        return f"{self._recorder.frontier.urls.origins[host]}/robots.txt"

    async def _robots_file(self, url: str) -> Response | Moved | Failed | Refused:
        request = Request(url=url, want=Want.TEXT, max_bytes=self._max_robots_bytes)

        async def fetch() -> Visit:
            return Visit(await self._web_access.fetch(request))

        fetched = (await self._ask(url, fetch)).fetched
        if isinstance(fetched, Unchanged):
            raise TypeError(f"{url} is unchanged, but the request named no version of it")
        return fetched

    async def _ask(
        self, url: str, request: Callable[[], Awaitable[Visit]], *, is_turn: bool = True
    ) -> Visit:
        """The answer of any host, asked as soon as it may be."""
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
