"""Sitemaps: those that robots.txt names are read before the pages of the host.

Laws: a sitemap passes the checks that a page passes: the robots.txt of its own host, scope, allow,
deny and depth. It may list pages of its own host and of hosts whose robots.txt names it
(sitemaps.org, cross submission); what a sitemap of a named index lists counts as named. A page that
it lists is one link deeper than the shallowest page of its host, or than that of the host whose
robots.txt led to it. Each is read once, and no more than `--max-sitemaps` of a host.

by   the host whose robots.txt led to a sitemap
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from minicrawl.config import Settings
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.side_requests import HostFiles
from minicrawl.crawl.schedule.scope_gate import ScopeGate
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import Failed, FetchResult, Moved, Originals, Response, State
from minicrawl.web.robots.rules import Rules
from minicrawl.web.sitemaps import MAX_BYTES
from minicrawl.web.sitemaps.sitemap import Sitemap
from minicrawl.web.urls import canonical, origin
from minicrawl.web.urls import host as name_of
from minicrawl.wording import counted

Introduce = Callable[[tuple[str, ...], int, Originals], Awaitable[float]]
"""Pages become known at this depth; the answer is what that cost."""


class HostRules(Protocol):
    """Knows what hosts forbid."""

    def recall(self, host: int) -> None:
        """Load what earlier runs knew of the host."""

    async def rules_for(self, url: str, tell: Listener) -> Rules | None:
        """The rules of the host of a URL; None if it cannot say now."""

    def known_rules(self, host: int) -> Rules | None:
        """The rules of the host, if they are in memory and hold."""

    def judge(self, url: str, answer: FetchResult) -> None:
        """Count a failure against the host of a URL."""


class _HostSitemaps:
    """The sitemaps that one host led to."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.has_more = False
        self.waiting: deque[str] = deque()
        self.depths: dict[str, int] = {}  # of listed pages, by their origin
        self._seen: set[str] = set()

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
    """The sitemaps that wait, by the hosts that led to them."""

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
        self._named: dict[int, _HostSitemaps] = {}

    def __contains__(self, host: int) -> bool:
        return host in self._named

    def add(self, by: int, urls: Iterable[str]) -> None:
        """The robots.txt of a host names these."""
        named = _HostSitemaps(self._most)
        named.add(canonical(url, f"{self._frontier.urls.origins[by]}/") for url in urls)
        if named.waiting:
            self._named[by] = named

    async def read_next(self, by: int, tell: Listener, introduce: Introduce) -> None:
        """Read the next one that the host led to."""
        named = self._named[by]
        url = named.waiting.popleft()
        refusal = await self._refusal(by, url, tell)
        if refusal is None:
            await self._read(by, named, url, tell, introduce)
        else:
            tell(Noted(text=f"{url} is not read: refused by {refusal.label}"))
        if not named.waiting:
            del self._named[by]
            if named.has_more:
                most = f"{counted(named.most, 'sitemap')} (--max-sitemaps)"
                tell(Noted(text=f"{self._frontier.urls.origins[by]} has more than {most}"))

    async def _refusal(self, by: int, url: str, tell: Listener) -> State | None:
        """Why this one is not asked for, if so."""
        shard = self._recorder.shard
        if shard is not None and not shard.pages.is_own(url):
            return State.FOREIGN
        state = self._gate.refusal_of_file(url, self._depth_of(by, origin(url)))
        if state is not None:
            return state
        rules = await self._robots.rules_for(url, tell)
        return None if rules is not None and rules.allows(url) else State.ROBOTS

    async def _read(
        self, by: int, named: _HostSitemaps, url: str, tell: Listener, introduce: Introduce
    ) -> None:
        visit = await self._files.sitemap(url, self._max_bytes)
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
        named.add(listed.sitemaps)
        for of_origin, pages in _by_origin(listed.pages).items():
            if self._is_own(by, url, of_origin) or self.names(of_origin, url):
                depth = self._depth(by, named, of_origin)
                cost_s = await introduce(tuple(pages), depth, listed.originals)
                self._files.charge(url, cost_s)

    def _is_own(self, by: int, sitemap: str, of_origin: str) -> bool:
        """Whether the pages are of the sitemap's own host, or of the one that led to it."""
        names = {name_of(sitemap), name_of(f"{self._frontier.urls.origins[by]}/")}
        return name_of(f"{of_origin}/") in names

    def names(self, of_origin: str, sitemap: str) -> bool:
        """Look up whether the robots.txt of this origin names the sitemap."""
        host = self._frontier.urls.find_host(of_origin)
        if host is None:
            return False
        self._robots.recall(host)
        rules = self._robots.known_rules(host)
        return rules is not None and sitemap in (
            canonical(url, f"{of_origin}/") for url in rules.sitemaps
        )

    def _depth(self, by: int, named: _HostSitemaps, of_origin: str) -> int:
        """The same in all sitemaps, even if the first one has led to shallower pages."""
        if of_origin not in named.depths:
            named.depths[of_origin] = self._depth_of(by, of_origin)
        return named.depths[of_origin]

    def _depth_of(self, by: int, of_origin: str) -> int:
        host = self._frontier.urls.find_host(of_origin)
        shallowest = None if host is None else self._frontier.urls.shallowest(host)
        if shallowest is None:
            shallowest = self._frontier.urls.shallowest(by) or 0
        return shallowest + 1


def _by_origin(pages: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for page in pages:
        found.setdefault(origin(page), []).append(page)
    return found


def _limit(answer: Response, listed: Sitemap) -> str:
    if answer.cut is not None:
        return f"{answer.wire_bytes:,} bytes of a sitemap came, no more ({answer.cut})"
    return listed.limit
