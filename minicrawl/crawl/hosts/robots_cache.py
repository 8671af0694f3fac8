"""The robots.txt rules in memory, and those that are in the store alone.

Laws: an answer holds for a day by the clock, and no longer if the clock is turned. However many
hosts have however long rules, memory holds `MOST_PATTERNS` patterns and no more; the others are
loaded again when they are needed. Long rules are never parsed in the crawl's own loop. A host that
an earlier run knew may have been asked by it a moment ago: its delay runs from the start.
"""

from __future__ import annotations

from minicrawl.config import Settings
from minicrawl.crawl.hosts.host_state import remaining_s
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.ports import WebAccess
from minicrawl.web.headers import LONGEST_WAIT_S
from minicrawl.web.robots.rules import Rules

MOST_PATTERNS = 40_000
"""Of all rules that are in memory: about 12 MB. A sitemap counts like a pattern."""
_MANY_PATTERNS = 100
"""A host with fewer is not counted, and its rules are never evicted."""
MOST_RECALLED_AT_ONCE = 32 * 1024
"""Characters of rules that the loop parses itself."""


class RobotsCache:
    """The rules of all hosts, as far as there is memory for them."""

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
        """Load what is stored of the host, if it is not in memory.

        The answer is the rules that an earlier run left, when they are loaded for the first time.
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
        """Short rules at once; long ones are left for a turn of the host."""
        stored = self._recorder.hosts.robots(host) if self._politeness.robots else None
        if stored is not None and len(stored[0]) <= MOST_RECALLED_AT_ONCE:
            text, until = stored
            return self._keep_stored(host, Rules.from_text(text), until)
        self._hosts[host].has_long_stored_rules = stored is not None
        return None

    async def recall_long(self, host: int) -> Rules | None:
        """The same for long rules, which are parsed apart from the loop."""
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
            state.rules_evicted = False  # as if they had never been had: robots.txt is asked for
            return None
        self._keep_stored(host, rules, until)
        state.pause_until(self._began + state.delay_s(self._politeness))
        return rules if is_first else None

    def _keep_stored(self, host: int, rules: Rules, until: float) -> Rules:
        self._hosts[host].shared.answers = True
        self.keep(host, rules, until)
        return rules

    def keep(self, host: int, rules: Rules, until: float) -> None:
        """Hold the rules in memory, as long as there is room."""
        self._hosts[host].keep_rules(rules, until)
        self._patterns_in_all -= self._patterns.pop(host, 0)
        patterns = len(rules.allowed) + len(rules.forbidden) + len(rules.sitemaps)
        if patterns >= _MANY_PATTERNS:
            self._patterns[host] = patterns
            self._patterns_in_all += patterns
        if self._patterns_in_all > MOST_PATTERNS:
            self._evict_oldest(host)

    def _evict_oldest(self, newest: int) -> None:
        """But none of a host that is being asked: they decide how long it is not asked after."""
        for host in list(self._patterns):
            if self._patterns_in_all <= MOST_PATTERNS:
                return
            if host != newest and not self._hosts[host].in_use:
                self._patterns_in_all -= self._patterns.pop(host)
                self._hosts[host].evict_rules()
