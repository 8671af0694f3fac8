"""Rules of robots.txt in memory, and rules that only the store has.

Laws: rules are valid for a day at most, and no longer if the system clock jumps. However
many hosts have long rules, memory holds some `MOST_PATTERNS` of their patterns; others are loaded
again when they are needed. Rules longer than `MOST_RECALLED_AT_ONCE` are parsed outside the loop.
An earlier run may have contacted a known host a moment ago: its delay runs from the start.
"""

from __future__ import annotations

from minicrawl.config import Settings
from minicrawl.crawl.hosts.host_state import remaining_s
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.ports import WebAccess
from minicrawl.web.responses.headers import LONGEST_WAIT_S
from minicrawl.web.robots.rules import Rules

MOST_PATTERNS = 40_000
"""Limit of patterns in memory, about 12 MB. A sitemap counts like a pattern."""
_MANY_PATTERNS = 100
"""Number of patterns below which rules are not counted and never evicted."""
MOST_RECALLED_AT_ONCE = 32 * 1024
"""Length of rules, in characters, that the loop parses itself."""


class RobotsCache:
    """Rules of all hosts, as far as memory allows."""

    def __init__(
        self,
        settings: Settings,
        recorder: Recorder,
        web_access: WebAccess,
        side_requests: SideRequests,
    ) -> None:
        self._politeness, self._recorder, self._web_access = (
            settings.politeness,
            recorder,
            web_access,
        )
        self._side_requests = side_requests
        self._hosts, self._clock = side_requests.hosts, side_requests.clock
        self._began = self._clock.now()
        self._patterns: dict[int, int] = {}  # of hosts that have many of them
        self._patterns_in_all = 0

    def recall(self, host: int) -> Rules | None:
        """Load the stored state of the host, if it is not in memory.

        Return the rules of an earlier run, when they are loaded for the first time.
        """
        state = self._hosts[host]
        if state.recalled:
            if state.rules_evicted and not state.has_long_stored_rules:
                self._load(host)
            return None
        state.recalled = True
        if host >= self._recorder.hosts.known_before:
            return None
        wait_until, today = self._recorder.hosts.wait_until(host), self._clock.today()
        wait_s = remaining_s(wait_until, today, LONGEST_WAIT_S)
        state.pause_until(self._clock.now() + wait_s)
        rules = self._load(host)
        state.pause_until(self._began + state.delay_s(self._politeness))
        return rules

    def _load(self, host: int) -> Rules | None:
        """Load short rules at once; long ones are left for a turn of the host."""
        stored = self._recorder.hosts.robots(host) if self._politeness.robots else None
        if stored is not None and len(stored[0]) <= MOST_RECALLED_AT_ONCE:
            text, until = stored
            return self._keep_stored(host, Rules.from_text(text), until)
        self._hosts[host].has_long_stored_rules = stored is not None
        return None

    async def recall_long(self, host: int) -> Rules | None:
        """Load long rules, which are parsed outside the loop.

        Return the rules of an earlier run, when they are loaded for the first time.
        """
        state, is_first = self._hosts[host], not self._hosts[host].rules_evicted
        state.has_long_stored_rules = False
        stored = self._recorder.hosts.robots(host)
        if stored is None:
            return None
        text, until = stored
        with self._side_requests.reading():
            url = f"{self._recorder.frontier.urls.origins[host]}/robots.txt"
            rules, cost_s = await self._web_access.parse_stored_rules(text, url)
        self._hosts.charge(host, cost_s, self._clock.now())
        if not isinstance(rules, Rules):
            state.rules_evicted = False  # count as unknown, so that robots.txt is requested
            return None
        self._keep_stored(host, rules, until)
        state.pause_until(self._began + state.delay_s(self._politeness))
        return rules if is_first else None

    def _keep_stored(self, host: int, rules: Rules, until: float) -> Rules:
        self._hosts[host].shared.answers = True
        self.keep(host, rules, until)
        return rules

    def keep(self, host: int, rules: Rules, until: float) -> None:
        """Keep the rules in memory, as long as there is room."""
        self._hosts[host].keep_rules(rules, until)
        self._patterns_in_all -= self._patterns.pop(host, 0)
        patterns = sum(
            map(len, (rules.allowed, rules.forbidden, rules.sitemaps, rules.usage, rules.licences))
        )
        if patterns >= _MANY_PATTERNS:
            self._patterns[host] = patterns
            self._patterns_in_all += patterns
        if self._patterns_in_all > MOST_PATTERNS:
            self._evict_oldest(host)

    def _evict_oldest(self, newest: int) -> None:
        """Evict old rules, except those of a host under request: they decide on its next delay."""
        for host in list(self._patterns):
            if self._patterns_in_all <= MOST_PATTERNS:
                return
            if host != newest and not self._hosts[host].in_use:
                self._patterns_in_all -= self._patterns.pop(host)
                self._hosts[host].evict_rules()
