"""The rules of robots.txt of all hosts: in memory, in the store, or requested now.

Example. The robots.txt of b.example answers 503, and each failure is a strike.

    at 0 s   503: the host pauses for 1 s, and a page that needs the rules waits
    at 1 s   503: it pauses for 2 s
    at 3 s   503: the last of the tries that `states` allows. Everything is forbidden for an
             hour, and the store says why

If it had answered 404, nothing would be forbidden.

Laws (RFC 9309): a robots.txt that does not exist forbids nothing; one that cannot be fetched, or
that broke off, forbids everything. It may redirect to another host, whose own delay holds. Rules
are valid for a day at most, and no longer if the system clock jumps. However many hosts have long
rules, memory holds some `MOST_PATTERNS` of their patterns; others are loaded again when they are
needed. Rules longer than `MOST_RECALLED_AT_ONCE` are parsed outside the loop. An earlier run may
have contacted a known host a moment ago: its delay runs from the start.
"""

import asyncio
import math
from collections.abc import Callable
from weakref import WeakValueDictionary

from minicrawl.config import Settings
from minicrawl.crawl.admission.traps import SkipReason
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.back_off import BackOff
from minicrawl.crawl.hosts.host import Host, remaining_s
from minicrawl.crawl.hosts.side_requests import SideRequests, follow
from minicrawl.crawl.settle.descriptions import describe_failure
from minicrawl.model import Failed, Moved, Refused, Request, Response, Want
from minicrawl.ports import WebAccess
from minicrawl.states import State
from minicrawl.web.responses.headers import LONGEST_WAIT_S
from minicrawl.web.robots.rules import ALLOW_ALL, FORBID_ALL, MOST_ROBOTS_BYTES, Rules, decision_for
from minicrawl.web.urls import origin

MOST_PATTERNS = 40_000
"""Limit of patterns in memory, about 12 MB. A sitemap counts like a pattern."""
_MANY_PATTERNS = 100
"""Number of patterns below which rules are not counted and never evicted."""
MOST_RECALLED_AT_ONCE = 32 * 1024
"""Length of rules, in characters, that the loop parses itself."""
_MOST_LEARNED = 2
"""Number of attempts to find rules: long ones in the store, then robots.txt."""


class Robots:
    """The rules of all hosts, as far as memory allows.

    `when_new` is called with a host, its rules, and whether they are the first ones of this run.
    """

    def __init__(
        self,
        settings: Settings,
        web_access: WebAccess,
        requests: SideRequests,
        back_off: BackOff,
        emit: Listener,
    ) -> None:
        self._politeness, self._web_access, self._emit = settings.politeness, web_access, emit
        self._requests, self._recorder, self._hosts = requests, requests.recorder, requests.hosts
        self._clock, self.back_off = requests.clock, back_off
        self._began = self._clock.now()
        self._patterns: dict[int, int] = {}  # of hosts that have many of them
        self._patterns_in_all = 0
        self._learning = WeakValueDictionary[int, asyncio.Lock]()
        self.when_new: Callable[[Host, Rules, bool], None] = lambda _host, _rules, _is_first: None

    def host_of(self, url: str) -> Host:
        """Return the host of a URL, known or new, with its stored state loaded."""
        host = self._hosts[self._recorder.host_at(origin(url))]
        self.recall(host)
        return host

    def known(self, host: Host) -> Rules | None:
        """Return the rules of the host, if they are in memory and valid."""
        return host.rules if host.has_current_rules(self._clock.today()) else None

    def refusal(self, host: Host, url: str) -> SkipReason | None:
        """Return why the known rules of the host do not allow this URL; None if they do."""
        rules, purpose = host.rules, self._politeness.obey_usage
        if rules is None or not rules.allows(url):
            return SkipReason(State.ROBOTS)
        if purpose is not None and (where := rules.denial(url, purpose)):
            return SkipReason(State.ROBOTS, f"{where} denies {purpose}")
        return None

    async def rules_of(self, host: Host) -> Rules | None:
        """Return the rules of the host; None if they cannot be had now."""
        for _ in range(_MOST_LEARNED):
            rules = self.known(host)
            if rules is not None or host.trouble_at(self._clock.now()):
                return rules
            await self.learn(host)
        return self.known(host)

    async def learn(self, host: Host) -> None:
        """Load or request the rules. Other callers wait for the same response."""
        async with self._learning.setdefault(host.id, asyncio.Lock()):
            if not host.shared.politeness.robots:
                host.keep_rules(ALLOW_ALL, math.inf)
            elif host.has_long_stored_rules:
                await self._recall_long(host)
            else:
                self.recall(host)
                if not host.has_current_rules(self._clock.today()):
                    await self._ask(host)

    def recall(self, host: Host) -> None:
        """Load the stored state of the host, and rules that this run evicted, if there are any."""
        if host.recalled:
            if host.rules_evicted and not host.has_long_stored_rules:
                self._load(host)
            return
        host.recalled = True
        if host.id >= self._recorder.hosts.known_before:
            return
        wait_until, today = self._recorder.hosts.wait_until(host.id), self._clock.today()
        host.pause_until(self._clock.now() + remaining_s(wait_until, today, LONGEST_WAIT_S))
        rules = self._load(host)
        host.pause_until(self._began + host.delay_s)
        if rules is not None:
            self.when_new(host, rules, True)
            host.delay_next(self._recorder.shard.others_asked_until)

    def _load(self, host: Host) -> Rules | None:
        """Load short rules at once; long ones are left for a turn of the host."""
        obeys = host.shared.politeness.robots
        stored = self._recorder.hosts.robots(host.id) if obeys else None
        if stored is None or len(stored[0]) > MOST_RECALLED_AT_ONCE:
            host.has_long_stored_rules = stored is not None
            return None
        text, until = stored
        rules = Rules.from_text(text)
        host.shared.answers = True
        self.keep(host, rules, until)
        return rules

    async def _recall_long(self, host: Host) -> None:
        """Load long rules, which are parsed outside the loop."""
        is_first, host.has_long_stored_rules = not host.rules_evicted, False
        stored = self._recorder.hosts.robots(host.id)
        if stored is None:
            return
        text, until = stored
        with self._requests.reading():
            url = f"{host.origin}/robots.txt"
            response = Response(status=200, headers={}, body=text.encode())
            rules, cost_s = await self._web_access.parse_rules(response, url)
        self._hosts.charge(host, cost_s, self._clock.now())
        if not isinstance(rules, Rules):
            host.rules_evicted = False  # count as unknown, so that robots.txt is requested
            return
        host.shared.answers = True
        self.keep(host, rules, until)
        host.pause_until(self._began + host.delay_s)
        if is_first:
            self.when_new(host, rules, True)

    async def _ask(self, host: Host) -> None:
        first = f"{host.origin}/robots.txt"
        hops = await follow(first, self._file)
        url, answer = hops[-1]
        if isinstance(answer, Response) and answer.cut and answer.broke_off:
            answer = Failed(kind=answer.cut, detail=f"{url} broke off")
        elif isinstance(answer, Moved):
            detail = f"{first}: no end of its redirects"
            answer = Failed(kind=State.BAD_REDIRECT, detail=detail)
        if isinstance(answer, Failed) and self.back_off.defer(host, answer):
            return
        result: Rules | Failed | Refused
        if isinstance(answer, Response):
            with self._requests.reading():
                result, cost_s = await self._web_access.parse_rules(answer, first)
            self._hosts.charge(host, answer.cost_s + cost_s, self._clock.now())
        else:
            result = answer
        decision = decision_for(result, host.rules or FORBID_ALL)
        rules = decision.rules
        self._note_limits(host, rules, answer)
        is_first = host.rules is None
        self.keep(host, rules, self._clock.today() + decision.valid_s)
        host.pause_until(self._clock.now() + host.delay_s)
        trouble = None if isinstance(result, Rules) else f"robots.txt: {describe_failure(result)}"
        self.back_off.store(host, trouble=trouble if decision.has_no_answer else None)
        if is_first or not decision.has_no_answer:
            self.when_new(host, rules, is_first)

    async def _file(self, url: str) -> Response | Moved | Failed | Refused:
        request = Request(url=url, want=Want.TEXT, max_bytes=MOST_ROBOTS_BYTES)
        return await self._requests.file(self.host_of(url), request)

    def _note_limits(self, host: Host, rules: Rules, answer: Response | Failed | Refused) -> None:
        """Tell the user where robots.txt is not obeyed to the letter."""
        asked_s, most_s = rules.crawl_delay_s, self._politeness.max_delay_s
        if asked_s is not None and asked_s > most_s:
            capped = f"Crawl-delay {asked_s:g} s is capped at {most_s:g} s"
            self._emit(Noted(text=f"{host.origin}: {capped}"))
        if isinstance(answer, Response) and answer.cut:
            most = f"{MOST_ROBOTS_BYTES:,} bytes"
            why = most if answer.cut is State.TOO_LARGE else answer.cut.label
            self._emit(Noted(text=f"{host.origin}/robots.txt was read in part only: {why}"))

    def keep(self, host: Host, rules: Rules, until: float) -> None:
        """Keep the rules in memory; evict the oldest ones if there is no room, as the store has
        them.
        """
        host.keep_rules(rules, until)
        self._patterns_in_all -= self._patterns.pop(host.id, 0)
        lists = (rules.allowed, rules.forbidden, rules.sitemaps, rules.usage, rules.licences)
        patterns = sum(map(len, lists))
        if patterns >= _MANY_PATTERNS:
            self._patterns[host.id] = patterns
            self._patterns_in_all += patterns
        for other in map(self._hosts.__getitem__, list(self._patterns)):  # oldest first
            if self._patterns_in_all <= MOST_PATTERNS:
                return
            # Not the rules of a host under request: they decide on its next delay.
            if other is not host and not other.in_use:
                self._patterns_in_all -= self._patterns.pop(other.id)
                other.rules, other.rules_until, other.rules_evicted = None, 0.0, True
