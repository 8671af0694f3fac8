"""Sitemaps that robots.txt names are read before the pages of the host. Large ones take turns with
pages: after one that brought `MANY` pages of its host, a page comes before the next sitemap, and
pages go on while a sitemap takes longer than `PATIENCE_S`.

Laws: a sitemap passes the checks of a page: the robots.txt of its own host, scope, allow, deny
and depth. It may list pages of its own host and of hosts whose robots.txt names it (sitemaps.org,
cross submission); sitemaps listed by a named index count as named. A page that it lists is one
link deeper than the shallowest page of its host, or than that of the host whose robots.txt led to
it. No more than `max_sitemaps` of a host are read. A run with --continuous reads them again, at
times that `SitemapRevisits` chooses; other runs read each sitemap once.

by   the host whose robots.txt led to a sitemap
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass

from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.robots import Robots
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.model import Failed, Moved, Request, Response, Want
from minicrawl.states import State
from minicrawl.web.sitemaps.sitemap import MAX_BYTES, Sitemap
from minicrawl.web.urls import canonical, host as name_of, origin
from minicrawl.wording import counted

MANY, PATIENCE_S = 1000, 0.5
REQUESTS_A_READING = 20
"""Page requests to a host for each request for one of its sitemaps."""
_DUE = 0.5
MOST_SITEMAPS = 100_000
"""Maximum number of sitemaps in memory; others are read once."""

Introduce = Callable[[tuple[str, ...], int, Sitemap], Awaitable[float]]
"""Makes pages of a sitemap known at this depth. Returns the processor time in seconds."""


@dataclass(slots=True)
class ReadSitemap:
    """A sitemap that was read: when, and how often it had changed by then."""

    first_at: float
    last_at: float
    content: int | None = None
    """Hash of what it listed, or None if it could not be read."""
    etag: str | None = None
    last_modified: str | None = None
    changes: int = 0

    def is_due(self, now: float) -> bool:
        """Return whether it has probably changed."""
        expected = (self.changes + 0.5) * (now - self.last_at)  # times the time watched
        return expected >= _DUE * (self.last_at - self.first_at)

    def read(self, now: float, content: int | None, headers: Mapping[str, str]) -> None:
        """Note a response with content."""
        self.changes += self.content is not None and content != self.content
        self.content, self.last_at = content, now
        self.etag, self.last_modified = headers.get("etag"), headers.get("last-modified")


class SitemapRevisits:
    """The sitemaps that hosts led to and that were read, by host and URL.

    A sitemap is read again as often as it has been seen to change, because it tells which pages are
    new and which have changed. Its rate of change is estimated from the readings alone, with no
    prior, so the rule is the same for a site that changes each minute and for one that changes each
    month:

        rate = (changes + 1/2) / (time from the first reading to the last)
        due    when rate x (time since the last reading) reaches 1/2

    While nothing changes, each interval is as long as all before it together, so intervals double.
    While every reading finds a change, they shrink to half of the mean time between changes, or
    less.

    Laws: at most one in `REQUESTS_A_READING` requests to a host is for its sitemaps. Validators of
    the last response go with the next request, and an unchanged file is not parsed again if the
    server answers 304.

    Example: a sitemap is read at 0 s, and again after 20 pages, at 20 s, without a change: the rate
    is 1/2 in 20 s, so it is due at 40 s. Then it has changed: 3/2 in 40 s, so it is due at 54 s.
    """

    def __init__(self, most: int = MOST_SITEMAPS) -> None:
        self._most = most
        self._of_host: dict[int, dict[str, ReadSitemap]] = {}
        self._requests: dict[int, int] = {}
        self._sitemaps = 0

    def of(self, host: int) -> Mapping[str, ReadSitemap]:
        return self._of_host.get(host, {})

    def asked(self, host: int, url: str, now: float) -> ReadSitemap:
        """Note a request for a sitemap, and return the sitemap."""
        sitemap = self.of(host).get(url) or ReadSitemap(now, now)
        sitemap.last_at = now
        if url not in self.of(host) and self._sitemaps < self._most:
            self._sitemaps += 1
            self._of_host.setdefault(host, {})[url] = sitemap
        self._requests[host] = 0
        return sitemap

    def count_request(self, host: int) -> None:
        if host in self._requests:
            self._requests[host] += 1

    def due(self, host: int, now: float) -> str | None:
        """Return the sitemap to read again now, or None."""
        if self._requests.get(host, 0) < REQUESTS_A_READING:
            return None
        due = [(file.last_at, url) for url, file in self.of(host).items() if file.is_due(now)]
        return min(due)[1] if due else None


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
        gate: ScopeGate,
        requests: SideRequests,
        robots: Robots,
        emit: Listener,
    ) -> None:
        self._most = settings.limits.max_sitemaps
        self._max_bytes = min(MAX_BYTES, settings.network.max_bodies_bytes)
        self._shard, self._urls = requests.recorder.shard, requests.recorder.frontier.urls
        self._hosts, self._clock = requests.hosts, requests.clock
        self._gate, self._requests, self._robots, self._emit = gate, requests, robots, emit
        self.named: dict[int, _HostSitemaps] = {}
        # A run that ends reads each sitemap once.
        self._revisits = SitemapRevisits(MOST_SITEMAPS if settings.budget.continuous else 0)

    def begin_page(self, host: Host) -> None:
        """Note the request of a page: the next sitemap comes first, and is due after some pages."""
        self.end_yielding(host)
        self._revisits.count_request(host.id)

    def add(self, by: Host, urls: Iterable[str]) -> None:
        """Add the sitemaps that the robots.txt of a host names."""
        named = _HostSitemaps(self._most)
        named.add(canonical(url, f"{by.origin}/") for url in urls)
        if named.waiting:
            self.named[by.id] = named

    def is_due(self, host: Host) -> bool:
        """Return whether a sitemap that the host led to comes before its next page."""
        if (named := self.named.get(host.id)) is None:
            return self._revisits.due(host.id, self._clock.now()) is not None
        return not (named.yields or named.is_slow)

    def is_behind(self, host: Host) -> bool:
        """Return whether a sitemap is due, and pages of the host were let on before it."""
        named = self.named.get(host.id)
        return named is not None and named.is_behind and self.is_due(host)

    def end_yielding(self, host: Host) -> None:
        """Let the next sitemap come first again: a page of the host is requested or closed."""
        if (named := self.named.get(host.id)) is not None:
            named.yields = False

    def let_pages_on(self, host: Host, *, is_slow: bool) -> bool:
        """Let pages come before the rest of a slow sitemap, or one page before the next sitemap.

        Return whether a sitemap of the host is under way.
        """
        named = self.named.get(host.id)
        if named is None or not named.is_under_way:
            return False
        named.is_behind = True
        named.yields |= not is_slow
        named.is_slow |= is_slow
        return True

    async def read_next(self, by: Host, introduce: Introduce) -> None:
        """Read the next sitemap that the host led to."""
        now = self._clock.now()
        if by.id not in self.named and (due := self._revisits.due(by.id, now)) is not None:
            self.named[by.id] = _HostSitemaps(self._most, self._revisits.of(by.id))
            self.named[by.id].waiting.append(due)
        named = self.named[by.id]
        url = named.waiting[0]
        named.is_under_way = True
        try:
            why = await self._read(by, named, url, introduce)
            if why is not None:
                self._emit(Noted(text=f"{url} is not read: {why}"))
        finally:
            named.is_under_way = named.is_slow = False
        named.waiting.popleft()  # not before, as the turn may lose its slot
        if not named.waiting:
            del self.named[by.id]
            if named.has_more:
                most = f"more than {counted(named.most, 'sitemap')}: others are not read"
                self._emit(Noted(text=f"{by.origin} has {most}"))

    async def _read(
        self, by: Host, named: _HostSitemaps, url: str, introduce: Introduce
    ) -> str | None:
        """Read a sitemap, or return why it is not requested."""
        earlier = self._revisits.asked(by.id, url, self._clock.now())
        state = self._gate.refusal_of_file(url, self._depth_of(by, origin(url)))
        if not self._shard.is_own(url):
            state = State.FOREIGN
        if state is not None:
            return f"refused by {state.label}"
        host, rules = self._robots.host_of(url), None
        # Asked for again after each pause, until the host is down: the turn holds no request
        # while it waits.
        while rules is None and not host.trouble_at(self._clock.now()):
            rules = await self._robots.rules_of(host)
        if rules is None:
            return "the robots.txt of its host could not be fetched"
        if not rules.allows(url):
            return f"refused by {State.ROBOTS.label}"
        request = Request(
            url=url,
            want=Want.SITEMAP,
            max_bytes=self._max_bytes,
            etag=earlier.etag,
            last_modified=earlier.last_modified,
        )
        visit = await self._requests.sitemap(host, request)
        answer = visit.fetched
        self._robots.back_off.strike(host, answer)
        if isinstance(answer, Moved):
            named.add((canonical(answer.target, url),))
        if visit.read is not None and isinstance(answer, Response):
            with self._requests.reading():
                listed, cost_s = await visit.read()
            self._hosts.charge(host, answer.cost_s + cost_s, self._clock.now())
            if not isinstance(listed, Sitemap):
                listed = Sitemap(limit=listed.detail if isinstance(listed, Failed) else "")
            self._note(url, answer, listed, earlier)
            named.add(listed.sitemaps)
            await self._introduce_pages(by, named, host, url, listed, introduce)
        return None

    def _note(self, url: str, answer: Response, listed: Sitemap, earlier: ReadSitemap) -> None:
        """Note what the next request of the sitemap needs to know, and what of it is missing."""
        limit = listed.limit
        if answer.cut is not None:
            limit = f"only {answer.wire_bytes:,} bytes of the sitemap arrived ({answer.cut.label})"
        if limit:
            self._emit(Noted(text=f"{url}: {limit}"))
        content = hash((listed.pages, listed.sitemaps, listed.changed))
        # Without validators if the rest is missing: a 304 would say nothing of it.
        earlier.read(self._clock.now(), content, {} if answer.cut else answer.headers)

    async def _introduce_pages(
        self,
        by: Host,
        named: _HostSitemaps,
        host: Host,
        url: str,
        listed: Sitemap,
        introduce: Introduce,
    ) -> None:
        """Introduce the pages of the sitemap's own host, and of hosts whose robots.txt names it."""
        by_origin: dict[str, list[str]] = {}
        for page in listed.pages:
            by_origin.setdefault(origin(page), []).append(page)
        for of_origin, pages in by_origin.items():
            is_own = name_of(f"{of_origin}/") in (host.shared.name, by.shared.name)
            if is_own or self.names(of_origin, url):
                # The same in all sitemaps of the host, even if one has led to shallower pages.
                if of_origin not in named.depths:
                    named.depths[of_origin] = self._depth_of(by, of_origin)
                cost_s = await introduce(tuple(pages), named.depths[of_origin], listed)
                self._hosts.charge(host, cost_s, self._clock.now())

    def names(self, of_origin: str, sitemap: str) -> bool:
        """Return whether the robots.txt of this origin names the sitemap."""
        host_id = self._urls.find_host(of_origin)
        if host_id is None:
            return False
        host = self._hosts[host_id]
        self._robots.recall(host)
        rules = self._robots.known(host)
        return rules is not None and sitemap in (
            canonical(url, f"{of_origin}/") for url in rules.sitemaps
        )

    def _depth_of(self, by: Host, of_origin: str) -> int:
        host_id = self._urls.find_host(of_origin)
        shallowest = None if host_id is None else self._urls.shallowest(host_id)
        if shallowest is None:
            shallowest = self._urls.shallowest(by.id) or 0
        return shallowest + 1
