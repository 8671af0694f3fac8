"""Sitemaps that robots.txt names are read before the pages of the host. Large ones take turns with
pages: after one that brought `MANY` pages of its host, a page comes before the next sitemap, and
pages go on while a sitemap takes longer than `PATIENCE_S`.

Laws: a sitemap passes the checks of a page: the robots.txt of its own host, scope, allow, deny
and depth. It may list pages of its own host and of hosts whose robots.txt names it (sitemaps.org,
cross submission); sitemaps listed by a named index count as named. A page that it lists is one
link deeper than the shallowest page of its host, or than that of the host whose robots.txt led to
it. No more than `max_sitemaps` of a host are read. A run with --continuous reads them again, at
times that `sitemap_revisits` chooses; other runs read each sitemap once.

by   the host whose robots.txt led to a sitemap
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.side_requests import HostFiles
from minicrawl.crawl.hosts.sitemap_revisits import ReadSitemap, SitemapRevisits
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.model import Failed, FetchResult, Moved, Response
from minicrawl.states import State
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps.sitemap import MAX_BYTES, Sitemap
from minicrawl.web.urls import canonical, host as name_of, origin
from minicrawl.wording import counted

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
        self._most = settings.limits.max_sitemaps
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
        rules = None
        while rules is None and not self._robots.is_down(url):
            rules = await self._robots.rules_for(url, tell)
        return rules

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
