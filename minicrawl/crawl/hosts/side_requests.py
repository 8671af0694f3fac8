"""Side requests: requests for files that are not pages, each at a time that suits its host.

Laws: a host is contacted no sooner, and by no more requests at once, than its delays and limits
allow, whatever the request is for. A robots.txt that redirects to another host, or a sitemap there,
does not bypass that host's delay. A robots.txt that broke off counts as failed, as the rest of it
could forbid anything.

idle     turn that holds no request now: it waits for another host, or until a file is parsed
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol, TypeVar

from minicrawl.archive.record import pack_any, record_of
from minicrawl.config import Settings
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.hosts.sitemap_revisits import ReadSitemap, SitemapRevisits
from minicrawl.crawl.scope_and_traps import ScopeGate
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    KeptAnswer,
    Moved,
    Refused,
    Request,
    Response,
    State,
    Unchanged,
    Want,
)
from minicrawl.ports import Clock, PageFetcher, Visit, WebAccess
from minicrawl.web.robots import MOST_ROBOTS_BYTES, Rules
from minicrawl.web.sitemaps import MAX_BYTES, Sitemap
from minicrawl.web.urls import canonical, host as name_of, origin
from minicrawl.web.usage import MOST_BYTES, TDMREP_PATH, UsageRule, rsl_rules, tdmrep_rules
from minicrawl.wording import counted

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


# ================================================================ sitemap queue
#
# Sitemaps that robots.txt names are read before the pages of the host. Large ones take turns with
# pages: after one that brought `MANY` pages of its host, a page comes before the next sitemap, and
# pages go on while a sitemap takes longer than `PATIENCE_S`.
#
# Laws: a sitemap passes the checks of a page: the robots.txt of its own host, scope, allow, deny
# and depth. It may list pages of its own host and of hosts whose robots.txt names it (sitemaps.org,
# cross submission); sitemaps listed by a named index count as named. A page that it lists is one
# link deeper than the shallowest page of its host, or than that of the host whose robots.txt led to
# it. No more than `max_sitemaps` of a host are read. A run with --continuous reads them again, at
# times that `sitemap_revisits` chooses; other runs read each sitemap once.
#
# by   the host whose robots.txt led to a sitemap

MANY, PATIENCE_S = 1000, 0.5

Introduce = Callable[[tuple[str, ...], int, Sitemap], Awaitable[float]]
"""Makes pages of a sitemap known at this depth. Returns the processor time in seconds."""


class HostRules(Protocol):
    """Rules of hosts, as sitemaps and usage files need them."""

    def recall(self, host: int) -> None:
        """Load the stored state of the host."""

    async def rules_for(self, url: str, tell: Listener) -> Rules | None:
        """Return the rules of the URL's host; None if they cannot be had now."""

    def known_rules(self, host: int) -> Rules | None:
        """Return the rules of the host, if they are in memory and valid."""

    def is_down(self, url: str) -> bool:
        """Return whether the URL's host is down."""

    def judge(self, url: str, answer: FetchResult) -> None:
        """Count a failure against the host of a URL."""


class _HostSitemaps:
    """Sitemaps that one host led to."""

    def __init__(self, most: int, read: Iterable[str] = ()) -> None:
        self.most = most
        self.has_more = False
        self.is_under_way = self.is_slow = False
        self.yields = False  # to one page, before the next sitemap
        self.is_behind = False  # pages were let on before the waiting sitemaps
        self.waiting: deque[str] = deque()
        self.depths: dict[str, int] = {}  # of listed pages, by origin
        self._seen = set(read)

    def add(self, urls: Iterable[str | None]) -> None:
        for url in urls:
            if not url or url in self._seen:
                continue
            if len(self._seen) < self.most:
                self._seen.add(url)
                self.waiting.append(url)
            else:
                self.has_more = True


class SitemapQueue:
    """Waiting sitemaps, by the hosts that led to them."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        gate: ScopeGate,
        files: HostFiles,
        robots: HostRules,
    ) -> None:
        self._most, self._max_tries = settings.limits.max_sitemaps, settings.limits.max_tries
        self._max_bytes = min(MAX_BYTES, settings.network.max_bodies_bytes)
        self._recorder, self._frontier = recorder, recorder.frontier
        self._gate, self._files, self._robots = gate, files, robots
        self.named: dict[int, _HostSitemaps] = {}
        self._revisits = SitemapRevisits() if settings.budget.continuous else None

    def count_request(self, host: int) -> None:
        """Count the request of a page, as its host's sitemaps are read again after some."""
        if self._revisits is not None:
            self._revisits.count_request(host)

    def _due(self, by: int) -> str | None:
        """Return the sitemap to read again now, or None."""
        return None if self._revisits is None else self._revisits.due(by, self._files.now())

    def add(self, by: int, urls: Iterable[str]) -> None:
        """Add the sitemaps that the robots.txt of a host names."""
        named = _HostSitemaps(self._most)
        named.add(canonical(url, f"{self._frontier.urls.origins[by]}/") for url in urls)
        if named.waiting:
            self.named[by] = named

    def is_due(self, host: int) -> bool:
        """Return whether a sitemap that the host led to comes before its next page."""
        if (named := self.named.get(host)) is None:
            return self._due(host) is not None
        return not (named.yields or named.is_slow)

    def is_behind(self, host: int) -> bool:
        """Return whether a sitemap is due, and pages of the host were let on before it."""
        named = self.named.get(host)
        return named is not None and named.is_behind and self.is_due(host)

    def end_yielding(self, host: int) -> None:
        """Let the next sitemap come first again: a page of the host is requested or closed."""
        if (named := self.named.get(host)) is not None:
            named.yields = False

    def let_pages_on(self, host: int, *, is_slow: bool) -> bool:
        """Let pages come before the rest of a slow sitemap, or one page before the next sitemap.

        Return whether a sitemap of the host is under way.
        """
        named = self.named.get(host)
        if named is None or not named.is_under_way:
            return False
        named.is_behind = True
        named.yields |= not is_slow
        named.is_slow |= is_slow
        return True

    async def read_next(self, by: int, tell: Listener, introduce: Introduce) -> None:
        """Read the next sitemap that the host led to."""
        if by not in self.named and (due := self._due(by)) is not None:
            assert self._revisits is not None
            self.named[by] = _HostSitemaps(self._most, self._revisits.of(by))
            self.named[by].waiting.append(due)
        named = self.named[by]
        url = named.waiting[0]
        earlier = None
        if self._revisits is not None:
            earlier = self._revisits.asked(by, url, self._files.now())
        named.is_under_way = True
        try:
            refusal = await self._refusal(by, url, tell)
            if refusal is None:
                await self._read(by, named, url, tell, introduce, earlier)
            else:
                tell(Noted(text=f"{url} is not read: {refusal}"))
        finally:
            named.is_under_way = named.is_slow = False
        named.waiting.popleft()  # not before, as the turn may lose its slot
        if not named.waiting:
            del self.named[by]
            if named.has_more:
                most = f"more than {counted(named.most, 'sitemap')}: others are not read"
                tell(Noted(text=f"{self._frontier.urls.origins[by]} has {most}"))

    async def _refusal(self, by: int, url: str, tell: Listener) -> str | None:
        """Return why this sitemap is not requested, or None."""
        state = self._gate.refusal_of_file(url, self._depth_of(by, origin(url)))
        if not self._recorder.shard.is_own(url):
            state = State.FOREIGN
        if state is None:
            rules = await self._rules_for(url, tell)
            if rules is None:
                return "the robots.txt of its host could not be fetched"
            state = None if rules.allows(url) else State.ROBOTS
        return None if state is None else f"refused by {state.label}"

    async def _rules_for(self, url: str, tell: Listener) -> Rules | None:
        """Return the rules of the URL's host, asked for again after each pause, until it is down.

        The turn holds no request while it waits.
        """
        for _ in range(self._max_tries):
            if self._robots.is_down(url):
                break
            rules = await self._robots.rules_for(url, tell)
            if rules is not None:
                return rules
        return None

    async def _read(
        self,
        by: int,
        named: _HostSitemaps,
        url: str,
        tell: Listener,
        introduce: Introduce,
        earlier: ReadSitemap | None,
    ) -> None:
        visit = await self._files.sitemap(url, self._max_bytes, earlier)
        answer = visit.fetched
        self._robots.judge(url, answer)
        if isinstance(answer, Moved):
            named.add((canonical(answer.target, url),))
        if visit.read is None or not isinstance(answer, Response):
            return
        with self._files.reading():
            listed, cost_s = await visit.read()
        self._files.charge(url, answer.cost_s + cost_s)
        if not isinstance(listed, Sitemap):
            listed = Sitemap(limit=listed.detail if isinstance(listed, Failed) else "")
        if limit := _limit(answer, listed):
            tell(Noted(text=f"{url}: {limit}"))
        if earlier is not None:
            content = hash((listed.pages, listed.sitemaps, listed.changed))
            # Without validators if the rest is missing: a 304 would say nothing of it.
            earlier.read(self._files.now(), content, {} if answer.cut else answer.headers)
        named.add(listed.sitemaps)
        by_origin: dict[str, list[str]] = {}
        for page in listed.pages:
            by_origin.setdefault(origin(page), []).append(page)
        for of_origin, pages in by_origin.items():
            if self._is_own(by, url, of_origin) or self.names(of_origin, url):
                depth = self._depth(by, named, of_origin)
                cost_s = await introduce(tuple(pages), depth, listed)
                self._files.charge(url, cost_s)

    def _is_own(self, by: int, sitemap: str, of_origin: str) -> bool:
        """Return whether the origin is the sitemap's own host, or the host that led to it."""
        names = {name_of(sitemap), name_of(f"{self._frontier.urls.origins[by]}/")}
        return name_of(f"{of_origin}/") in names

    def names(self, of_origin: str, sitemap: str) -> bool:
        """Return whether the robots.txt of this origin names the sitemap."""
        host = self._frontier.urls.find_host(of_origin)
        if host is None:
            return False
        self._robots.recall(host)
        rules = self._robots.known_rules(host)
        return rules is not None and sitemap in (
            canonical(url, f"{of_origin}/") for url in rules.sitemaps
        )

    def _depth(self, by: int, named: _HostSitemaps, of_origin: str) -> int:
        """Return the depth of listed pages, the same in all sitemaps of the host.

        It stays the same even if the first sitemap has led to shallower pages.
        """
        if of_origin not in named.depths:
            named.depths[of_origin] = self._depth_of(by, of_origin)
        return named.depths[of_origin]

    def _depth_of(self, by: int, of_origin: str) -> int:
        host = self._frontier.urls.find_host(of_origin)
        shallowest = None if host is None else self._frontier.urls.shallowest(host)
        if shallowest is None:
            shallowest = self._frontier.urls.shallowest(by) or 0
        return shallowest + 1


def _limit(answer: Response, listed: Sitemap) -> str:
    if answer.cut is not None:
        return f"only {answer.wire_bytes:,} bytes of the sitemap arrived ({answer.cut})"
    return listed.limit


# ================================================================ usage files
#
# Files that state what the pages of a host may be used for: its tdmrep.json, and the files of RSL
# that its robots.txt names. With --obey-usage they are read before the pages of the host.
#
# Laws: such a file passes the checks of a sitemap, but for the scope. One that fails or is missing
# states nothing. A redirect counts as one file more, and no host has more than `_MOST_FILES`.

_MOST_FILES = 10


class UsageFiles:
    """Waiting files of preferences, by the hosts whose pages they are about."""

    def __init__(
        self, recorder: Recorder, gate: ScopeGate, files: HostFiles, robots: HostRules
    ) -> None:
        self._recorder, self._gate, self._files, self._robots = recorder, gate, files, robots
        self.waiting: dict[int, deque[str]] = {}
        self._asked: dict[int, int] = {}

    def add(self, host: int, rules: Rules) -> None:
        """Add the files of a host with these rules."""
        base = self._recorder.frontier.urls.origins[host]
        found = (canonical(one, f"{base}/") for one in (TDMREP_PATH, *rules.licences))
        self.waiting[host] = deque(filter(None, found))

    async def read_next(self, host: int, tell: Listener) -> list[UsageRule]:
        """Read the next file of a host, and return what it states."""
        waiting = self.waiting[host]
        url = waiting.popleft()
        try:
            return await self._read(host, url, waiting, tell)
        finally:
            if not waiting or self._asked.get(host, 0) >= _MOST_FILES:
                del self.waiting[host]
                self._asked.pop(host, None)

    async def _read(
        self, host: int, url: str, waiting: deque[str], tell: Listener
    ) -> list[UsageRule]:
        if not await self._may_be_asked(url, tell):
            tell(Noted(text=f"{url} is not read: its host forbids it, or is another shard's"))
            return []
        self._asked[host] = self._asked.get(host, 0) + 1
        answer = await self._files.usage_file(url)
        self._robots.judge(url, answer)
        if isinstance(answer, Moved) and (target := canonical(answer.target, url)) is not None:
            waiting.appendleft(target)
        if not isinstance(answer, Response):
            return []
        if answer.cut is not None:
            tell(Noted(text=f"{url} was read in part only: {answer.cut}"))
        text = answer.body.decode("utf-8", "replace")
        if text.lstrip("\ufeff \t\r\n").startswith("<"):
            return rsl_rules(text, f"{self._recorder.frontier.urls.origins[host]}/")
        return tdmrep_rules(text.lstrip("\ufeff"))

    async def _may_be_asked(self, url: str, tell: Listener) -> bool:
        is_refused = self._gate.refusal_of_part(url, in_scope=False) is not None
        if is_refused or not self._recorder.shard.is_own(url) or self._robots.is_down(url):
            return False
        rules = await self._robots.rules_for(url, tell)
        return rules is not None and rules.allows(url)
