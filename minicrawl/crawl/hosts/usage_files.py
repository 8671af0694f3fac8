"""Files that state what the pages of a host may be used for: its tdmrep.json, and the files of RSL
that its robots.txt names. With --obey-usage they are read before the pages of the host.

Laws: such a file passes the checks of a sitemap, but for the scope. One that fails or is missing
states nothing. A redirect counts as one file more, and no host has more than `_MOST_FILES`.
"""

from __future__ import annotations

from collections import deque

from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.side_requests import HostFiles
from minicrawl.crawl.hosts.sitemap_queue import HostRules
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.model import Moved, Response
from minicrawl.web.robots.rules import Rules
from minicrawl.web.robots.usage import TDMREP_PATH, UsageRule, rsl_rules, tdmrep_rules
from minicrawl.web.urls import canonical

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
