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

If robots.txt had answered 404, nothing would be forbidden. If it had failed with 503 each of the
three times that `states` allows, everything would be forbidden for an hour, and the store would say
why. If the host had refused three connections, it would be *down*: for an hour its pages fail
without a request, as they would fail with one.

A robots.txt may redirect to another host, and a sitemap may lie there. Each of these requests waits
for the host that it is sent to. So a turn of b.example may wait for c.example, with no request
under way.

Laws (RFC 9309): no page is requested before robots.txt was answered. A robots.txt that does not
exist forbids nothing; one that cannot be fetched forbids everything. Sitemaps come before pages;
large ones take turns with them (see `sitemap_queue`).

Back-off: effect of a response, or of its absence, on the next requests to the host. A failure that
is the host's own fault is a strike (see `host_state`). Pauses longer than
`shards.LONG_PAUSE_S`, and the trouble of a host, are stored for later runs; a shard, which may move
at any moment, stores all pauses.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from functools import partial
from weakref import WeakValueDictionary

from minicrawl.config import Settings
from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.admission.traps import SkipReason
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.hosts.robots_cache import RobotsCache
from minicrawl.crawl.hosts.side_requests import HostFiles, SideRequests
from minicrawl.crawl.hosts.sitemap_queue import Introduce, SitemapQueue
from minicrawl.crawl.hosts.usage_files import UsageFiles
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.settle.outcome import describe_failure, fault_of, tries_of
from minicrawl.model import Failed, FetchResult, Refused, Request, Response
from minicrawl.ports import Clock, PageFetcher, WebAccess
from minicrawl.states import Contact, FailureKind, State, policy_of
from minicrawl.store.records import HostRow
from minicrawl.web.robots.rules import ALLOW_ALL, FORBID_ALL, MOST_ROBOTS_BYTES, Rules, decision_for
from minicrawl.web.urls import origin

_UNREACHABLE = (Contact.SILENT, Contact.BROKEN)
"""Failures that put a host down, whatever robots.txt might say: its pages would fail, too."""


class BackOff:
    """Counts failures against hosts, and stores them for later runs."""

    def __init__(
        self, settings: Settings, recorder: Recorder, hosts: HostTable, clock: Clock
    ) -> None:
        self._politeness, self._max_tries = settings.politeness, settings.limits.max_tries
        self._recorder, self._hosts, self._clock = recorder, hosts, clock
        self._long_pause_s = recorder.shard.long_pause_s
        self._proxy_faults = Counter[int]()  # by host, before its robots.txt was fetched

    def strike(self, host: int, answer: FetchResult) -> bool:
        """Pause the host after a failure. Return whether that counts against the host."""
        fault = fault_of(answer, self._clock.today())
        if fault is None:
            return False
        now, state = self._clock.now(), self._hosts[host]
        policy = policy_of(fault[0])
        if not policy.is_strike:
            state.pause_until(now + min(policy.pause_s(1), self._politeness.max_pause_s))
            return False
        state.strike(now, *fault, self._politeness)
        # Short pauses are over before anybody could resume the crawl, so only long ones are worth a
        # row.
        if state.trouble_at(now) or state.paused_until - now > self._long_pause_s:
            wait_until = self._clock.today() + state.paused_until - now
            self.store(host, wait_until, trouble=self._trouble(state.strikes, answer))
        return True

    def defer(self, host: int, answer: Failed) -> bool:
        """Count a failure; put the host down if it cannot be reached.

        Return whether to contact it again later, after a pause or when it is up.
        """
        tries = tries_of(answer.kind, self._max_tries)
        if self.strike(host, answer) and self._hosts[host].strikes < tries:
            return True
        if answer.kind is FailureKind.PROXY and self._proxy_faults[host] < tries - 1:
            self._proxy_faults[host] += 1
            return True
        self._proxy_faults.pop(host, None)
        # The host can be reached, but gives no rules: the caller decides what that means. Only a
        # host that cannot be reached is put down.
        if State.of(answer.kind).row.contact not in _UNREACHABLE:
            return False
        self.put_down(host, answer)
        return True

    def put_down(self, host: int, answer: Refused | Failed) -> None:
        """Put the host down: for a while its pages are settled without a request."""
        reason = answer.reason if isinstance(answer, Refused) else answer.kind
        until = self._clock.now() + self._politeness.max_pause_s
        self._hosts[host].put_down(State.of(reason), until)
        self.store(host, trouble=describe_failure(answer))

    def store(
        self, host: int, wait_until: float | None = None, *, trouble: str | None = None
    ) -> None:
        """Store the state of the host. The row replaces the last one, so it includes the rules."""
        origin, state = self._recorder.frontier.urls.origins[host], self._hosts[host]
        rules: str | None = None
        until: float | None = None
        if state.rules is not None:
            rules = state.rules.text()
            until = None if math.isinf(state.rules_until) else state.rules_until
        elif stored := self._recorder.hosts.robots(host):
            rules, until = stored
        self._recorder.describe_host(HostRow(host, origin, rules, until, wait_until, trouble))

    def _trouble(self, strikes: int, answer: FetchResult) -> str:
        if strikes < self._politeness.max_strikes:
            return describe_failure(answer)
        pause_s = self._politeness.max_pause_s
        rest = f"{strikes} strikes: no request for {pause_s:g} s"
        return f"{describe_failure(answer)}; {rest}"


_MOST_LEARNED = 2
"""Number of attempts to find rules: long ones in the store, then robots.txt."""


class HostOnboarding:
    """Learns how hosts want to be contacted."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        gate: ScopeGate,
        side_requests: SideRequests,
    ) -> None:
        self._settings, self._recorder, self.side_requests = settings, recorder, side_requests
        self._gate = gate
        self._hosts, self._clock = side_requests.hosts, side_requests.clock
        self._robots = RobotsCache(settings, recorder, web_access, side_requests)
        self.back_off = BackOff(settings, recorder, self._hosts, self._clock)
        keeps = bool(recorder.keeping) and settings.storing.keeps_failures
        self._files = HostFiles(recorder, web_access, side_requests, self.recall, keeps=keeps)
        self.sitemaps = SitemapQueue(settings, recorder, gate, self._files, self)
        self._usage_files = UsageFiles(recorder, gate, self._files, self)
        self._learning = WeakValueDictionary[int, asyncio.Lock]()

    def is_known(self, host: int) -> bool:
        """Return whether pages of the host may be requested: its address and rules are known.

        No sitemap comes before them, and its files of usage preferences were read.
        """
        state = self._hosts[host]
        return (
            state.address is not None
            and state.has_current_rules(self._clock.today())
            and not self.sitemaps.is_due(host)
            and host not in self._usage_files.waiting
        )

    def recall(self, host: int) -> None:
        """Load the stored state of the host, and rules that this run evicted from memory.

        This is cheap if there is nothing to load.
        """
        state = self._hosts[host]
        if state.recalled and not state.rules_evicted:
            return
        rules = self._robots.recall(host)
        if rules is not None:
            self._queue_files(host, rules)
            self._hosts.spare(host, self._recorder.shard.others_asked_until)

    def refusal(self, host: int, url: str) -> SkipReason | None:
        """Return why the known rules of the host do not allow this URL; None if they do."""
        rules, purpose = self._hosts[host].rules, self._settings.politeness.obey_usage
        if rules is None or not rules.allows(url):
            return SkipReason(State.ROBOTS)
        if purpose is not None and (where := rules.denial(url, purpose)):
            return SkipReason(State.ROBOTS, f"{where} denies {purpose}")
        return None

    async def locate(self, host: int) -> bool:
        """Find the host's address. Return False if it has none that we may connect to."""
        found = await self._files.locate(host)
        if isinstance(found, str):
            self._hosts[host].move_to(found)
            return True
        if isinstance(found, Refused) or not self.back_off.defer(host, found):
            self.back_off.put_down(host, found)
        return False

    async def learn(self, host: int, tell: Listener, introduce: Introduce) -> None:
        """Request one file: robots.txt, then a file of usage preferences or a sitemap."""
        if host in self._usage_files.waiting:
            await self._read_usage(host, tell)
        elif self.sitemaps.is_due(host):
            await self.sitemaps.read_next(host, tell, introduce)
        else:
            await self._learn_rules(host, tell)

    # ------------------------------------------------------------ requests for other URLs

    async def ask(
        self,
        request: Request,
        tell: Listener,
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
        host = self._recorder.host_at(origin(url))
        self.recall(host)
        if trouble := self._hosts[host].trouble_at(self._clock.now()):
            return trouble
        if self._hosts[host].address is None and not await self.locate(host):
            return self._hosts[host].trouble_at(self._clock.now())
        if is_document:
            rules = await self.rules_for(url, tell)
            if rules is None:
                return self._hosts[host].trouble_at(self._clock.now())
            if self.refusal(host, url) is not None:
                return State.ROBOTS
        fetched = await self._files.resource(request, through)
        if not self.back_off.strike(host, fetched):
            self._hosts[host].recover()
        return fetched

    async def ask_in_time(
        self,
        request: Request,
        tell: Listener,
        through: PageFetcher | None = None,
        *,
        in_scope: bool = False,
    ) -> FetchResult | State:
        """Request a URL as `ask` does, and again after each pause of its host, until it is down."""
        ask = partial(self.ask, request, tell, in_scope=in_scope, through=through)
        while (found := await ask()) is None:
            await self.side_requests.wait_until_ready(self._recorder.host_at(origin(request.url)))
        return found

    # ------------------------------------------------------------ rules for `SitemapQueue`

    def names_sitemap(self, of_origin: str, sitemap: str) -> bool:
        """Return whether the robots.txt of this origin names a sitemap."""
        return self.sitemaps.names(of_origin, sitemap)

    async def rules_for(self, url: str, tell: Listener) -> Rules | None:
        """Return the rules of the URL's host; None if they cannot be had now."""
        host = self._recorder.host_at(origin(url))
        self.recall(host)
        for _ in range(_MOST_LEARNED):
            rules = self.known_rules(host)
            if rules is not None or self._hosts[host].trouble_at(self._clock.now()):
                return rules
            await self._learn_rules(host, tell)
        return self.known_rules(host)

    def known_rules(self, host: int) -> Rules | None:
        """Return the rules of the host, if they are in memory and valid."""
        state = self._hosts[host]
        return state.rules if state.has_current_rules(self._clock.today()) else None

    def is_down(self, url: str) -> bool:
        """Return whether the URL's host is down."""
        host = self._recorder.host_at(origin(url))
        return self._hosts[host].trouble_at(self._clock.now()) is not None

    def judge(self, url: str, answer: FetchResult) -> None:
        """Count a failure against the host of a URL."""
        self.back_off.strike(self._recorder.host_at(origin(url)), answer)

    # ------------------------------------------------------------ robots.txt

    async def _learn_rules(self, host: int, tell: Listener) -> None:
        """Load or request the rules. Other callers wait for the same response."""
        lock = self._learning.setdefault(host, asyncio.Lock())
        async with lock:
            state = self._hosts[host]
            if not self._settings.politeness.robots:
                state.keep_rules(ALLOW_ALL, math.inf)
            elif state.has_long_stored_rules:
                rules = await self._robots.recall_long(host)
                if rules is not None:
                    self._queue_files(host, rules)
            else:
                self.recall(host)
                if not state.has_current_rules(self._clock.today()):
                    await self._ask_for_rules(host, tell)

    async def _ask_for_rules(self, host: int, tell: Listener) -> None:
        state = self._hosts[host]
        answer = await self._files.robots_txt(host)
        if isinstance(answer, Failed) and self.back_off.defer(host, answer):
            return
        result: Rules | Failed | Refused
        if isinstance(answer, Response):
            result = await self._files.parse_robots_txt(host, answer)
        else:
            result = answer
        decision = decision_for(result, state.rules or FORBID_ALL)
        rules = decision.rules
        self._note_limits(host, rules, answer, tell)
        is_first = state.rules is None
        self._robots.keep(host, rules, self._clock.today() + decision.valid_s)
        state.pause_until(self._clock.now() + state.delay_s(self._hosts.politeness))
        trouble = None if isinstance(result, Rules) else f"robots.txt: {describe_failure(result)}"
        self.back_off.store(host, trouble=trouble if decision.has_no_answer else None)
        if is_first:
            self._queue_files(host, rules)
        elif not decision.has_no_answer:
            self._queue_usage(host, rules)

    def _queue_files(self, host: int, rules: Rules) -> None:
        """Queue all named files: the store does not say which of them an earlier run has read."""
        if self._settings.scope.sitemaps:
            self.sitemaps.add(host, rules.sitemaps)
        self._queue_usage(host, rules)

    def _queue_usage(self, host: int, rules: Rules) -> None:
        if self._settings.politeness.obey_usage is not None:
            self._usage_files.add(host, rules)

    async def _read_usage(self, host: int, tell: Listener) -> None:
        """Read a file of preferences, and add to the rules of the host what it states."""
        found = await self._usage_files.read_next(host, tell)
        self.recall(host)
        state = self._hosts[host]
        if found and state.rules is not None:
            self._robots.keep(host, state.rules.with_usage(found), state.rules_until)
            self.back_off.store(host)

    def _note_limits(
        self, host: int, rules: Rules, answer: Response | Failed | Refused, tell: Listener
    ) -> None:
        """Tell the user where robots.txt is not obeyed to the letter."""
        host_origin, cap = (
            self._recorder.frontier.urls.origins[host],
            self._settings.politeness.max_delay_s,
        )
        wanted_s = rules.crawl_delay_s
        if wanted_s is not None and wanted_s > cap:
            tell(Noted(text=f"{host_origin}: Crawl-delay {wanted_s:g} s is capped at {cap:g} s"))
        if isinstance(answer, Response) and answer.cut:
            most = f"{MOST_ROBOTS_BYTES:,} bytes"
            why = most if answer.cut is FailureKind.TOO_LARGE else answer.cut
            tell(Noted(text=f"{host_origin}/robots.txt was read in part only: {why}"))
