"""Back-off: what an answer, or none, means for the next requests to its host.

Laws: a failure that is the host's own fault is a strike (see `host_state`); a pause that is longer
than `LONG_PAUSE_S`, and what is wrong with a host, is stored, so that a later run keeps to it.
"""

from __future__ import annotations

import math

from minicrawl.config import Settings
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.crawl.settle.outcome import describe_failure, strike_of, tries_of
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import Failed, FailureKind, FetchResult, Refused, State
from minicrawl.ports import Clock
from minicrawl.store.records import HostRow

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
"""After these no page of the host can be had either: it is down, whatever robots.txt might say."""


class BackOff:
    """Counts failures against hosts, and stores what later runs must know of them."""

    def __init__(
        self, settings: Settings, recorder: Recorder, hosts: HostTable, clock: Clock
    ) -> None:
        self._politeness, self._max_tries = settings.politeness, settings.limits.max_tries
        self._recorder, self._hosts, self._clock = recorder, hosts, clock

    def strike(self, host: int, answer: FetchResult) -> bool:
        """Count the answer against the host if it is a failure of its own; whether it is."""
        struck = strike_of(answer, self._clock.today())
        if struck is None:
            return False
        now, state = self._clock.now(), self._hosts[host]
        state.strike(now, *struck, self._politeness)
        if state.trouble_at(now) or state.paused_until - now > LONG_PAUSE_S:
            wait_until = self._clock.today() + state.paused_until - now
            self.store(host, wait_until, trouble=self._trouble(state.strikes, answer))
        return True

    def defer(self, host: int, answer: Failed) -> bool:
        """Strike the host; whether to ask it again, later or after it was down, before anything
        else follows from the failure.
        """
        tries = tries_of(answer.kind, self._max_tries)
        if self.strike(host, answer) and self._hosts[host].strikes < tries:
            return True
        if answer.kind not in UNREACHABLE:
            return False
        self.put_down(host, answer)
        return True

    def put_down(self, host: int, answer: Refused | Failed) -> None:
        """For a while its pages are settled without a request."""
        reason = answer.reason if isinstance(answer, Refused) else answer.kind
        until = self._clock.now() + self._politeness.max_pause_s
        self._hosts[host].put_down(State.of(reason), until)
        self.store(host, trouble=describe_failure(answer))

    def store(
        self, host: int, wait_until: float | None = None, *, trouble: str | None = None
    ) -> None:
        """Store what is known of the host; the row replaces the last one, so it has its rules."""
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
        rest = f"{strikes} strikes (--max-strikes): no request for {pause_s:g} s"
        return f"{describe_failure(answer)}; {rest}"
