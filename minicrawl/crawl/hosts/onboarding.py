"""Onboarding: address, robots.txt and sitemaps of a host, before its first page.

A page is requested only if its host is *known*: its address is found, the rules of its robots.txt
are in memory and valid, and its sitemaps are read. A turn of a host that is not known does the next
of these steps instead, and its page waits for a later turn.

Example: b.example is new, and --delay is 1 s.

    at 0 s   look-up of the name: 203.0.113.9
    at 0 s   GET /robots.txt: 503. A strike: the host pauses for 1 s
    at 1 s   GET /robots.txt: 200, with `Crawl-delay: 3` and `Sitemap: /s.xml`. Valid for a day
    at 4 s   GET /s.xml: lists 20 pages, which become known
    at 7 s   GET of the first page

What a robots.txt that fails means is in `robots`, and what the failure means for the host in
`back_off`: had it refused three connections, it would be *down* for an hour.

A robots.txt may redirect to another host, and a sitemap may lie there. Each of these requests waits
for the host that it is sent to. So a turn of b.example may wait for c.example, with no request
under way.

Laws (RFC 9309): no page is requested before robots.txt was answered. Sitemaps come before pages;
large ones take turns with them (see `sitemap_queue`).
"""

from asyncio import CancelledError
from collections import deque

from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.back_off import BackOff
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.robots import Robots
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.hosts.sitemap_queue import Introduce, SitemapQueue
from minicrawl.model import FetchResult, Moved, Refused, Request, Response, Want
from minicrawl.ports import PageFetcher, WebAccess
from minicrawl.states import State
from minicrawl.web.robots.rules import Rules
from minicrawl.web.robots.usage import MOST_BYTES, TDMREP_PATH, UsageRule, rsl_rules, tdmrep_rules
from minicrawl.web.urls import canonical

_MOST_FILES = 10


class UsageFiles:
    """Files that state what the pages of a host may be used for: its tdmrep.json, and the files of
    RSL that its robots.txt names. With --obey-usage they are read before the pages of the host.

    Laws: such a file passes the checks of a sitemap, but for the scope. One that fails or is
    missing states nothing. A redirect counts as one file more, and no host has more than
    `_MOST_FILES`.
    """

    def __init__(
        self, gate: ScopeGate, requests: SideRequests, robots: Robots, emit: Listener
    ) -> None:
        self._gate, self._requests, self._robots, self._emit = gate, requests, robots, emit
        self._shard, self._clock = requests.recorder.shard, requests.clock
        self.waiting: dict[int, deque[str]] = {}
        self._requested: dict[int, int] = {}

    def add(self, host: Host, rules: Rules) -> None:
        """Add the files of a host with these rules."""
        urls = (canonical(url, f"{host.origin}/") for url in (TDMREP_PATH, *rules.licences))
        self.waiting[host.id] = deque(filter(None, urls))

    async def read_next(self, host: Host) -> None:
        """Read the next file of a host, and add to its rules what that states."""
        waiting = self.waiting[host.id]
        url = waiting.popleft()
        try:
            statements = await self._read(host, url, waiting)
        except CancelledError:  # the turn lost its slot: the file is requested again
            waiting.appendleft(url)
            raise
        finally:
            if not waiting or self._requested.get(host.id, 0) >= _MOST_FILES:
                del self.waiting[host.id]
                self._requested.pop(host.id, None)
        self._robots.recall(host)
        if statements and host.rules is not None:
            self._robots.keep(host, host.rules.with_usage(statements), host.rules_until)
            self._robots.back_off.store(host)

    async def _read(self, host: Host, url: str, waiting: deque[str]) -> list[UsageRule]:
        is_refused = self._gate.refusal_of_part(url, in_scope=False) is not None
        of_file = None if is_refused or not self._shard.is_own(url) else self._robots.host_of(url)
        rules = None
        if of_file is not None and not of_file.trouble_at(self._clock.now()):
            rules = await self._robots.rules_of(of_file)
        if of_file is None or rules is None or not rules.allows(url):
            why = "its host forbids it, or is another shard's"
            self._emit(Noted(text=f"{url} is not read: {why}"))
            return []
        request = Request(url=url, want=Want.TEXT, max_bytes=MOST_BYTES)
        answer = await self._requests.file(of_file, request)
        self._requested[host.id] = self._requested.get(host.id, 0) + 1
        self._robots.back_off.strike(of_file, answer)
        if isinstance(answer, Moved) and (target := canonical(answer.target, url)) is not None:
            waiting.appendleft(target)
        if not isinstance(answer, Response):
            return []
        if answer.cut is not None:
            self._emit(Noted(text=f"{url} was read in part only: {answer.cut.label}"))
        text = answer.body.decode("utf-8", "replace")
        if text.lstrip("\ufeff \t\r\n").startswith("<"):
            return rsl_rules(text, f"{host.origin}/")
        return tdmrep_rules(text.lstrip("\ufeff"))


class HostOnboarding:
    """Learns how hosts want to be contacted."""

    def __init__(
        self,
        settings: Settings,
        web_access: WebAccess,
        gate: ScopeGate,
        requests: SideRequests,
        emit: Listener,
    ) -> None:
        self._settings, self._gate, self.requests = settings, gate, requests
        self._clock = requests.clock
        back_off = BackOff(settings, requests.recorder, requests.clock)
        self.robots = Robots(settings, web_access, requests, back_off, emit)
        self.robots.when_new = self._queue_files
        self.sitemaps = SitemapQueue(settings, gate, requests, self.robots, emit)
        self._usage_files = UsageFiles(gate, requests, self.robots, emit)

    def is_known(self, host: Host) -> bool:
        """Return whether pages of the host may be requested, as no file comes before them."""
        return (
            host.address is not None
            and host.has_current_rules(self._clock.today())
            and not self.sitemaps.is_due(host)
            and host.id not in self._usage_files.waiting
        )

    async def locate(self, host: Host) -> bool:
        """Find the host's address. Return False if it has none that we may connect to."""
        failure = await self.requests.locate(host)
        if failure is None:
            return True
        if isinstance(failure, Refused) or not self.robots.back_off.defer(host, failure):
            self.robots.back_off.mark_down(host, failure)
        return False

    async def learn(self, host: Host, introduce: Introduce) -> None:
        """Request one file: robots.txt, then a file of usage preferences or a sitemap."""
        if host.id in self._usage_files.waiting:
            await self._usage_files.read_next(host)
        elif self.sitemaps.is_due(host):
            await self.sitemaps.read_next(host, introduce)
        else:
            await self.robots.learn(host)

    def _queue_files(self, host: Host, rules: Rules, is_first: bool) -> None:
        """Queue all named files: the store does not say which of them an earlier run has read."""
        if is_first and self._settings.scope.sitemaps:
            self.sitemaps.add(host, rules.sitemaps)
        if self._settings.politeness.obey_usage is not None:
            self._usage_files.add(host, rules)

    async def ask(
        self,
        request: Request,
        *,
        is_document: bool = True,
        in_scope: bool = False,
        through: PageFetcher | None = None,
    ) -> FetchResult | State | None:
        """Request a URL that is not a page of the crawl.

        It passes the checks of a page: `--deny`, the state of its host, robots.txt (for documents),
        the delays of the host and of its address, the pace of the crawl; with `in_scope`, also the
        scope. Return a state if a check refuses the URL, or None if the host failed and nothing is
        known yet.
        """
        url = request.url
        if refused := self._gate.refusal_of_part(url, in_scope=in_scope):
            return refused
        host = self.robots.host_of(url)
        if trouble := host.trouble_at(self._clock.now()):
            return trouble
        if host.address is None and not await self.locate(host):
            return host.trouble_at(self._clock.now())
        if is_document:
            if await self.robots.rules_of(host) is None:
                return host.trouble_at(self._clock.now())
            if self.robots.refusal(host, url) is not None:
                return State.ROBOTS
        fetched = await self.requests.resource(host, request, through)
        if not self.robots.back_off.strike(host, fetched):
            host.recover()
        return fetched

    async def ask_in_time(
        self, request: Request, through: PageFetcher | None = None, *, in_scope: bool = False
    ) -> FetchResult | State:
        """Request a URL as `ask` does, and again after each pause of its host, until it is down."""
        while (answer := await self.ask(request, in_scope=in_scope, through=through)) is None:
            await self.requests.wait_until_ready(self.robots.host_of(request.url))
        return answer
