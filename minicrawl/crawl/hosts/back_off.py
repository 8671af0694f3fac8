"""Back-off: effect of a response, or of its absence, on the next requests to the host.

A failure that is the host's own fault is a strike (see `host`). A host that cannot be reached is
*down*: for an hour its pages fail without a request, as they would fail with one.

Law: pauses longer than `shards.LONG_PAUSE_S`, and the trouble of a host, are stored for later runs;
a shard, which may move at any moment, stores all pauses.
"""

import math
from collections import Counter

from minicrawl.config import Settings
from minicrawl.crawl.hosts.host import Host
from minicrawl.crawl.record.recorder import Recorder
from minicrawl.crawl.settle.descriptions import describe_failure
from minicrawl.crawl.settle.outcome import fault_of, tries_of
from minicrawl.model import Failed, FetchResult, Refused
from minicrawl.ports import Clock
from minicrawl.states import Contact, State, policy_of
from minicrawl.store.records import HostRow

_UNREACHABLE = (Contact.SILENT, Contact.BROKEN)
"""Failures that put a host down, whatever robots.txt might say: its pages would fail, too."""


class BackOff:
    """Counts failures against hosts, and stores them for later runs."""

    def __init__(self, settings: Settings, recorder: Recorder, clock: Clock) -> None:
        self._politeness, self._max_tries = settings.politeness, settings.limits.max_tries
        self._recorder, self._clock = recorder, clock
        self._long_pause_s = recorder.shard.long_pause_s
        self._proxy_faults = Counter[int]()  # by host, before its robots.txt was fetched

    def strike(self, host: Host, answer: FetchResult) -> bool:
        """Pause the host after a failure. Return whether that counts against the host."""
        fault = fault_of(answer, self._clock.today())
        if fault is None:
            return False
        now, policy = self._clock.now(), policy_of(fault[0])
        if not policy.is_strike:
            host.pause_until(now + min(policy.pause_s(1), self._politeness.max_pause_s))
            return False
        host.strike(now, *fault)
        # Short pauses are over before anybody could resume the crawl, so only long ones are worth a
        # row.
        if host.trouble_at(now) or host.paused_until - now > self._long_pause_s:
            wait_until = self._clock.today() + host.paused_until - now
            trouble = describe_failure(answer)
            if host.strikes >= self._politeness.max_strikes:
                pause_s = self._politeness.max_pause_s
                trouble += f"; {host.strikes} strikes: no request for {pause_s:g} s"
            self.store(host, wait_until, trouble=trouble)
        return True

    def defer(self, host: Host, answer: Failed) -> bool:
        """Count a failure. Return whether to contact the host again later, in this run."""
        tries = tries_of(answer.kind, self._max_tries)
        if self.strike(host, answer) and host.strikes < tries:
            return True
        if answer.kind is State.PROXY and self._proxy_faults[host.id] < tries - 1:
            self._proxy_faults[host.id] += 1
            return True
        self._proxy_faults.pop(host.id, None)
        # The host can be reached, but gives no rules: the caller decides what that means. Only a
        # host that cannot be reached is down.
        if answer.kind.row.contact not in _UNREACHABLE:
            return False
        self.mark_down(host, answer)
        return True

    def mark_down(self, host: Host, answer: Refused | Failed) -> None:
        """Mark the host as down: for a while its pages are settled without a request."""
        reason = answer.reason if isinstance(answer, Refused) else answer.kind
        host.mark_down(reason, self._clock.now() + self._politeness.max_pause_s)
        self.store(host, trouble=describe_failure(answer))

    def store(
        self, host: Host, wait_until: float | None = None, *, trouble: str | None = None
    ) -> None:
        """Store the state of the host. The row replaces the last one, so it includes the rules."""
        rules: str | None = None
        until: float | None = None
        if host.rules is not None:
            rules = host.rules.text()
            until = None if math.isinf(host.rules_until) else host.rules_until
        elif stored := self._recorder.hosts.robots(host.id):
            rules, until = stored
        self._recorder.describe_host(
            HostRow(host.id, host.origin, rules, until, wait_until, trouble)
        )
