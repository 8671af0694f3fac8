"""Requests for robots.txt and sitemaps: files that tell how a host wants to be crawled.

Laws: each is a request like any other, as is each hop of a redirect: it waits until the host that
it goes to may be asked, and keeps its delay. A robots.txt that broke off was not had, as nobody
knows what the rest forbids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager

from minicrawl.config import Settings
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import (
    Failed,
    FailureKind,
    Moved,
    Refused,
    Request,
    Response,
    Unchanged,
    Want,
)
from minicrawl.ports import Visit, WebAccess
from minicrawl.web.robots.rules import Rules
from minicrawl.web.urls import canonical, origin

MOST_REDIRECTS = 5


class HostFiles:
    """Asks for these files; `recall` loads what earlier runs knew of a host's delay."""

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

    async def _ask(self, url: str, request: Callable[[], Awaitable[Visit]]) -> Visit:
        """The answer of any host, asked as soon as it may be."""
        host = self._recorder.host_at(origin(url))
        self._recall(host)
        state = self._hosts[host]
        if state.address is None:
            found = await self._web_access.locate(url)
            if not isinstance(found, str):
                return Visit(found)
            state.move_to(found)
        visit = await self._side_requests.ask(host, request)
        answer = visit.fetched
        self._recorder.counters.add("requests")
        state.hear(answer)
        if isinstance(answer, Response):
            self._recorder.counters.add("wire_bytes", answer.wire_bytes)
        return visit
