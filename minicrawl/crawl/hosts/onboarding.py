"""The first words with a host: where it is, what its robots.txt asks of us, what its sitemaps list.

Laws (RFC 9309): no page is asked for before robots.txt has answered; what is not there forbids
nothing; what cannot be had forbids all. An answer holds for a day by the clock, and no longer if
the clock is turned. Sitemaps come before pages. Each is a request like any other, as is each hop
of a redirect: it takes a turn of the host that it goes to, and keeps its delay. A host that an
earlier run knew may have been asked by it a moment ago. Of a robots.txt that broke off nobody knows
what the rest forbids: it was not had. However many hosts have however long rules, memory holds so
much of them and no more, and long ones are never read in the crawl's own loop.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from weakref import WeakValueDictionary

from minicrawl.config import Settings
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.politeness import remaining_s
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.hosts.sitemap_queue import Introduce, SitemapQueue
from minicrawl.crawl.settle.outcome import in_words, strike_of, tries_of
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.crawl.start.scope_gate import ScopeGate
from minicrawl.model import (
    Failed,
    FailureKind,
    FetchResult,
    Moved,
    Refused,
    Request,
    Response,
    State,
    Unchanged,
    Want,
)
from minicrawl.ports import Visit, WebAccess
from minicrawl.store.records import HostRow
from minicrawl.web.headers import LONGEST_WAIT_S
from minicrawl.web.robots.rules import ALLOW_ALL, ANSWER_VALID_S, FORBID_ALL, Rules, decision_for
from minicrawl.web.urls import canonical, origin

MOST_PATTERNS = 40_000
"""Of rules that are in memory, in all some 12 MB; those of other hosts are in the store alone."""
_MANY_PATTERNS = 100  # of one host
MOST_RECALLED_AT_ONCE = 32 * 1024
"""Characters of rules that are read while others wait."""
MOST_REDIRECTS = 5
_MOST_LEARNED = 2
"""Times that rules are looked for at once: what was kept of them, then robots.txt."""
LONG_PAUSE_S = 10.0
"""A pause that a later run has to keep as well."""
UNREACHABLE = frozenset(
    (
        FailureKind.DNS,
        FailureKind.CONNECT,
        FailureKind.TLS,
        FailureKind.TIMEOUT,
        FailureKind.RESET,
        FailureKind.PROTOCOL,
    )
)
"""With these no page of the host can be had either: it is down, whatever robots.txt might say."""


Answer = Response | Moved | Failed | Refused


class HostOnboarding:
    """Learns how a host wants to be asked."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        gate: ScopeGate,
        side_requests: SideRequests,
    ) -> None:
        self._settings = settings
        self._recorder = recorder
        self._web_access = web_access
        self.side_requests = side_requests
        self._hosts, self._clock = side_requests.hosts, side_requests.clock
        self._began = self._clock.now()
        self._sitemaps = SitemapQueue(settings, recorder, gate, self)
        self._learning = WeakValueDictionary[int, asyncio.Lock]()
        self._patterns: dict[int, int] = {}  # of hosts that have many of them
        self._patterns_in_all = 0

    def are_known(self, host: int) -> bool:
        """Whether pages of the host may be asked for as it is: its address, its rules."""
        is_located = self._hosts[host].address is not None
        return self._has_rules(host) and is_located and host not in self._sitemaps

    def allow(self, host: int, url: str) -> bool:
        """Whether its rules, which are known, let us ask for this URL."""
        rules = self._hosts[host].rules
        return rules is not None and rules.allows(url)

    def _has_rules(self, host: int) -> bool:
        """Whether those of its last answer still hold, be it one to an earlier run."""
        clock, today = self._hosts[host], self._clock.today()
        if not clock.recalled:
            clock.recalled = True
            self._recall(host, today)
        elif clock.forgotten and not clock.has_long_rules:
            self._recall_rules(host)
        until = clock.rules_until
        holds = math.isinf(until) or remaining_s(until, today, ANSWER_VALID_S) > 0
        return clock.rules is not None and holds

    def _recall(self, host: int, today: float) -> None:
        """What earlier runs knew of it."""
        if host >= self._recorder.hosts_before:
            return
        wait_s = remaining_s(self._recorder.wait_until(host), today, LONGEST_WAIT_S)
        self._hosts.spare(host, self._clock.now(), wait_s)
        self._recall_rules(host)
        self._hosts.spare(host, self._began, self._hosts.delay_s(host))

    def _recall_rules(self, host: int) -> None:
        """Those that are short; long ones in the turn of the host."""
        known = self._recorder.robots(host) if self._settings.politeness.robots else None
        if known is not None and len(known[0]) <= MOST_RECALLED_AT_ONCE:
            text, until = known
            self._take_recalled(host, Rules.from_text(text), until)
        else:
            self._hosts[host].has_long_rules = known is not None

    async def _recall_long_rules(self, host: int) -> None:
        url, clock = self._robots_url(host), self._hosts[host]
        clock.has_long_rules = False
        if known := self._recorder.robots(host):
            text, until = known
            with self.side_requests.reading():
                rules, cost_s = await self._web_access.recalled(text, url)
            self.charge(url, cost_s)
            if isinstance(rules, Rules):
                self._take_recalled(host, rules, until)
                self._hosts.spare(host, self._began, self._hosts.delay_s(host))
            else:
                clock.forgotten = False  # as if they had never been had

    def _take_recalled(self, host: int, rules: Rules, until: float) -> None:
        is_first = not self._hosts[host].forgotten
        self._hosts[host].pace.answers = True
        self._keep(host, rules, until)
        if is_first and self._settings.scope.sitemaps:
            self._sitemaps.add(host, rules.sitemaps)  # who knows how far that run came

    async def locate(self, host: int) -> bool:
        """Find the host's address; False if it has none that we may connect to."""
        found = await self._web_access.locate(self._recorder.frontier.origins[host] + "/")
        if isinstance(found, str):
            self._hosts.found_at(host, found)
            return True
        if isinstance(found, Refused) or not self._failed(host, found):
            self._put_down(host, found)
        return False

    async def learn(self, host: int, tell: Listener, introduce: Introduce) -> None:
        """Ask one thing: robots.txt, or after it a sitemap that is wanted."""
        if host in self._sitemaps:
            await self._sitemaps.read_next(host, tell, introduce)
        else:
            await self._learn_rules(host, tell)

    async def _learn_rules(self, host: int, tell: Listener) -> None:
        """Whoever else wants to know waits for the same answer."""
        lock = self._learning.setdefault(host, asyncio.Lock())
        async with lock:
            if not self._settings.politeness.robots:
                self._hosts[host].know(ALLOW_ALL, math.inf)
            elif self._hosts[host].has_long_rules:
                await self._recall_long_rules(host)
            elif not self._has_rules(host):
                await self._ask_for_rules(host, tell)

    async def _ask_for_rules(self, host: int, tell: Listener) -> None:
        origin, clock = self._recorder.frontier.origins[host], self._hosts[host]
        answer = await self._robots_txt(origin)
        if isinstance(answer, Failed) and self._failed(host, answer):
            return
        said: Rules | Failed | Refused
        if isinstance(answer, Response):
            with self.side_requests.reading():
                said, cost_s = await self._web_access.rules(answer, self._robots_url(host))
            self.charge(self._robots_url(host), answer.cost_s + cost_s)
        else:
            said = answer
        decision = decision_for(said, clock.rules or FORBID_ALL)
        rules = decision.rules
        self._say_what_is_capped(origin, rules, tell)
        if isinstance(answer, Response) and answer.cut:
            most = f"{self._settings.limits.max_robots_bytes:,} bytes (--max-robots)"
            why = most if answer.cut is FailureKind.TOO_LARGE else answer.cut
            tell(Noted(text=f"{origin}/robots.txt is obeyed as far as it came: {why}"))
        if self._settings.scope.sitemaps and clock.rules is None:
            self._sitemaps.add(host, rules.sitemaps)
        self._keep(host, rules, self._clock.today() + decision.valid_s)
        self._hosts.spare(host, self._clock.now(), self._hosts.delay_s(host))
        trouble = None if isinstance(said, Rules) else f"robots.txt: {in_words(said)}"
        self._remember(host, trouble=trouble if decision.has_no_answer else None)

    def _robots_url(self, host: int) -> str:
        return f"{self._recorder.frontier.origins[host]}/robots.txt"

    # ------------------------------------------------------------ for sitemaps

    async def rules_for(self, url: str, tell: Listener) -> Rules | None:
        """What the host of a URL asks of us; None if it cannot say now."""
        host = self._recorder.host_at(origin(url))
        for _ in range(_MOST_LEARNED):
            if self._has_rules(host):
                return self._hosts[host].rules
            await self._learn_rules(host, tell)
        return None

    def known_rules(self, host: int) -> Rules | None:
        """The same, if it was asked before."""
        return self._hosts[host].rules if self._has_rules(host) else None

    def judge(self, url: str, answer: FetchResult) -> None:
        """What an answer says of the host of a URL."""
        self.strike(self._recorder.host_at(origin(url)), answer)

    def charge(self, url: str, cost_s: float) -> None:
        """The host of a URL has cost so much."""
        self._hosts.charge(self._recorder.host_at(origin(url)), cost_s, self._clock.now())

    # ------------------------------------------------------------ what is kept

    def _keep(self, host: int, rules: Rules, until: float) -> None:
        """In memory, as long as there is room."""
        self._hosts[host].know(rules, until)
        self._patterns_in_all -= self._patterns.pop(host, 0)
        patterns = len(rules.allowed) + len(rules.forbidden)
        if patterns >= _MANY_PATTERNS:
            self._patterns[host] = patterns
            self._patterns_in_all += patterns
        if self._patterns_in_all > MOST_PATTERNS:
            self._make_room(host)

    def _make_room(self, newest: int) -> None:
        """The oldest go, but none that is being asked: its rules say how long it rests then."""
        for host in list(self._patterns):
            if self._patterns_in_all <= MOST_PATTERNS:
                return
            if host != newest and not self._hosts[host].in_use:
                self._patterns_in_all -= self._patterns.pop(host)
                self._hosts[host].forget_rules()

    def _failed(self, host: int, answer: Failed) -> bool:
        """Whether to ask again later, or not at all for a while, instead of judging now."""
        tries = tries_of(answer.kind, self._settings.limits.max_tries)
        if self.strike(host, answer) and self._hosts[host].strikes < tries:
            return True
        if answer.kind not in UNREACHABLE:
            return False
        self._put_down(host, answer)
        return True

    def _put_down(self, host: int, answer: Refused | Failed) -> None:
        reason = answer.reason if isinstance(answer, Refused) else answer.kind
        self._hosts.put_down(host, self._clock.now(), State.of(reason))
        self._remember(host, trouble=in_words(answer))

    def strike(self, host: int, answer: FetchResult) -> bool:
        """Whether the answer counts against the host. A long pause is kept for later runs."""
        struck = strike_of(answer, self._clock.today())
        if struck is None:
            return False
        now, clock = self._clock.now(), self._hosts[host]
        self._hosts.strike(host, now, *struck)
        if self._hosts.trouble(host, now) or clock.ready_at - now > LONG_PAUSE_S:
            wait_until = self._clock.today() + clock.ready_at - now
            self._remember(host, wait_until, trouble=self._trouble(clock.strikes, answer))
        return True

    def _trouble(self, strikes: int, answer: FetchResult) -> str:
        polite = self._settings.politeness
        if strikes < polite.max_strikes:
            return in_words(answer)
        rest = f"{strikes} strikes (--max-strikes): no request for {polite.max_pause_s:g} s"
        return f"{in_words(answer)}; {rest}"

    def _remember(
        self, host: int, wait_until: float | None = None, *, trouble: str | None = None
    ) -> None:
        origin, clock = self._recorder.frontier.origins[host], self._hosts[host]
        rules: str | None = None
        until: float | None = None
        if clock.rules is not None:
            rules = clock.rules.text()
            until = None if math.isinf(clock.rules_until) else clock.rules_until
        elif known := self._recorder.robots(host):  # the row replaces one that has them
            rules, until = known
        self._recorder.host(HostRow(host, origin, rules, until, wait_until, trouble))

    async def _robots_txt(self, origin: str) -> Response | Failed | Refused:
        """The answer at the end of a few redirects."""
        url = f"{origin}/robots.txt"
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
        return Failed(kind=FailureKind.BAD_REDIRECT, detail=f"{origin}/robots.txt leads nowhere")

    async def _robots_file(self, url: str) -> Answer:
        """A robots.txt of any host, in the host's own time."""
        request = Request(url=url, want=Want.TEXT, max_bytes=self._settings.limits.max_robots_bytes)

        async def fetch() -> Visit:
            return Visit(await self._web_access.fetch(request))

        fetched = (await self._ask(url, fetch)).fetched
        if isinstance(fetched, Unchanged):
            raise TypeError(f"{url} is unchanged, but nobody said since when")
        return fetched

    async def visit(self, url: str, max_bytes: int) -> Visit:
        """The same for a sitemap."""
        request = Request(url=url, want=Want.SITEMAP, max_bytes=max_bytes)
        return await self._ask(url, lambda: self._web_access.visit(request))

    def reading(self) -> AbstractContextManager[None]:
        """A turn waits until what came has been read."""
        return self.side_requests.reading()

    async def _ask(self, url: str, question: Callable[[], Awaitable[Visit]]) -> Visit:
        host = self._recorder.host_at(origin(url))
        self._has_rules(host)  # what earlier runs knew of its delay counts here as well
        if self._hosts[host].address is None:
            where = await self._web_access.locate(url)
            if not isinstance(where, str):
                return Visit(where)
            self._hosts.found_at(host, where)
        visit = await self.side_requests.ask(host, question)
        answer = visit.fetched
        self._recorder.count("requests")
        self._hosts.heard(host, answer)
        if isinstance(answer, Response):
            self._recorder.count("wire_bytes", answer.wire_bytes)
        return visit

    def _say_what_is_capped(self, origin: str, rules: Rules, tell: Listener) -> None:
        cap = self._settings.politeness.max_delay_s
        if rules.crawl_delay_s is not None and rules.crawl_delay_s > cap:
            tell(
                Noted(text=f"{origin} asks for a Crawl-delay of {rules.crawl_delay_s:g} s: {cap:g}")
            )
