"""Files that state what the pages of a host may be used for: its tdmrep.json, and the files of RSL
that its robots.txt names. With --obey-usage they are read before the pages of the host.

Laws: such a file passes the checks of a sitemap, but for the scope. One that fails or is missing
states nothing. A redirect counts as one file more, and no host has more than `_MOST_FILES`.
"""

from collections import deque

from minicrawl.crawl.admission.scope import ScopeGate
from minicrawl.crawl.events import Listener, Noted
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.hosts.robots import Robots
from minicrawl.crawl.hosts.side_requests import SideRequests
from minicrawl.model import Moved, Request, Response, Want
from minicrawl.web.robots.rules import Rules
from minicrawl.web.robots.usage import MOST_BYTES, TDMREP_PATH, UsageRule, rsl_rules, tdmrep_rules
from minicrawl.web.urls import canonical

_MOST_FILES = 10


class UsageFiles:
    """Waiting files of preferences, by the hosts whose pages they are about."""

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
        self._requested[host.id] = self._requested.get(host.id, 0) + 1
        request = Request(url=url, want=Want.TEXT, max_bytes=MOST_BYTES)
        answer = await self._requests.file(of_file, request)
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
