"""Politeness: when a host may be asked, so that requests are neither too early nor too many.

Laws: a host has at most `per_host` requests at once. Between the end of one request and the start
of the next, our delay or the host's Crawl-delay (capped) passes, whichever is longer. Pauses after
trouble are those of `host_state`, limits of addresses those of `address_pacing`, and delays for
what a host costs those of `fairness`. A host that waits is resumed when all of them allow it.

side request  a request for robots.txt or a sitemap: it goes before the host's own pages
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from minicrawl.config import Politeness, Settings
from minicrawl.crawl.hosts.address_pacing import (
    FIRST,
    AddressDelay,
    AddressPacing,
    Rank,
    address_delay,
)
from minicrawl.crawl.hosts.crawl_pace import CrawlPace
from minicrawl.crawl.hosts.fairness import FREE_UNASKED_S, CostDelays
from minicrawl.crawl.hosts.host_state import HostState, NameState
from minicrawl.fetch.where.targets import parse_rule
from minicrawl.model import FetchResult
from minicrawl.ports import Clock
from minicrawl.web import urls


class HostTable(dict[int, HostState]):
    """The state of all hosts, each made when it is first asked for; `resume` is called with a host
    that may be asked again.
    """

    def __init__(
        self,
        politeness: Politeness,
        resume: Callable[[int], None],
        name_of: Callable[[int], str] = str,
        address_delay_s: AddressDelay | None = None,
    ) -> None:
        super().__init__()
        self.politeness = politeness
        self._resume = resume
        self._name_of = name_of
        self._names: dict[str, NameState] = {}
        delay_s = address_delay_s or address_delay(politeness)
        self.addresses = AddressPacing(politeness.per_address, delay_s)
        self._cost_delays = CostDelays(politeness.max_pause_s)
        self._wakes: list[tuple[float, int]] = []  # a heap: when the delay of a host is over
        self._side_requests: defaultdict[int, deque[Callable[[], None]]] = defaultdict(deque)
        self.pace: CrawlPace | None = None  # of the whole crawl, if it is limited
        self.shards = 1
        """So many crawls may ask the same addresses."""

    def __missing__(self, host: int) -> HostState:
        name = self._name_of(host)
        shared = self._names.setdefault(name, NameState(name))
        shared.hosts.append(host)
        state = self[host] = HostState(shared)
        return state

    # ------------------------------------------------------------ may it be asked?

    def may_be_asked(self, host: int, now: float) -> bool:
        """Whether its delays and pauses are over, and it takes one more request."""
        state = self[host]
        return state.ready_at <= now and state.shared.takes_more(self.politeness.per_host)

    def has_room(self, host: int, now: float) -> bool:
        """Whether its address takes one more request."""
        address = self[host].address
        return address is None or self.addresses.has_room(address, host, now)

    # ------------------------------------------------------------ requests

    def begin(self, host: int, now: float) -> None:
        """A request to it starts."""
        state = self[host]
        shared = state.shared
        state.in_use += 1
        shared.in_use += 1
        shared.delay_until(now + state.delay_s(self.politeness))
        if self.pace is not None:
            self.pace.begin(now)
        if state.address is not None:
            self.addresses.begin(state.address, now)
        if shared.takes_more(self.politeness.per_host):
            self.resume_when_ready(host, now)

    def spare(self, host: int, now: float) -> None:
        """Somebody else may have asked it just before."""
        state = self[host]
        state.shared.delay_until(now + state.delay_s(self.politeness))

    def end(self, host: int, now: float) -> None:
        """A request to it is over."""
        state = self[host]
        shared = state.shared
        state.in_use -= 1
        shared.in_use -= 1
        shared.delay_until(now + state.delay_s(self.politeness))
        self._resume_all(shared, now)
        if state.address is not None:
            self.addresses.end(state.address)

    def hear(self, host: int, fetched: FetchResult, now: float) -> None:
        """What came of a request to it."""
        self[host].hear(fetched)
        if self.pace is not None:
            self.pace.receive(fetched, now)

    def begin_reading(self, host: int) -> None:
        """A large body of it is read: until then it counts as a request that is under way."""
        self[host].shared.being_read += 1

    def end_reading(self, host: int, now: float) -> None:
        """It has been read."""
        shared = self[host].shared
        shared.being_read -= 1
        self._resume_all(shared, now)

    def charge(self, host: int, cost_s: float, now: float, *, was_asked: bool = True) -> None:
        """A request to it, or a page of it that was settled without one, has cost so much
        processor time.
        """
        if was_asked:
            self._cost_delays.charge(self[host].shared, cost_s, now)
        elif cost_s > FREE_UNASKED_S:
            self._cost_delays.charge_unasked(self[host].shared, cost_s, now)

    # ------------------------------------------------------------ waiting, and waking up

    def wait_for_room(self, host: int, now: float, rank: Rank = FIRST) -> None:
        """Queue it at its address, which has no room; it is resumed when it is the next one."""
        address = self[host].address
        if address is not None:
            self.addresses.wait(address, host, rank, now)

    def resume_when_ready(self, host: int, now: float) -> None:
        """Resume it as soon as its delays and pauses are over."""
        state = self[host]
        if not state.shared.takes_more(self.politeness.per_host):
            return
        ready_at = state.ready_at
        if ready_at > now:
            heappush(self._wakes, (ready_at, host))
        elif host in self._side_requests:
            _take_first(self._side_requests, host)()
        elif not state.shared.to_render:
            self._resume(host)

    def queue_side_request(self, host: int, call: Callable[[], None]) -> None:
        """Call this once, before a page of the host is resumed, when the host may be asked."""
        self._side_requests[host].append(call)

    def wake(self, now: float) -> None:
        """Resume the hosts whose time has come."""
        while self._wakes and self._wakes[0][0] <= now:
            self.resume_when_ready(heappop(self._wakes)[1], now)
        for host in self.addresses.admit(now):
            self.resume_when_ready(host, now)

    def next_wake(self) -> float | None:
        """When the next host's time comes; a moment of the past if it has come already."""
        at_addresses = self.addresses.next_wake()
        if not self._wakes:
            return at_addresses
        first = self._wakes[0][0]
        return first if at_addresses is None else min(first, at_addresses)

    def release_expensive(self, now: float) -> bool:
        """Resume one host that waits for what it cost, if no other is due soon; whether it did."""
        released = self._cost_delays.release_first(now, self.next_wake())
        if released is None:
            return False
        self._resume_all(released, now)
        return True

    def _resume_all(self, shared: NameState, now: float) -> None:
        for host in shared.hosts:
            self.resume_when_ready(host, now)


def _take_first(waiting: dict[int, deque[Callable[[], None]]], host: int) -> Callable[[], None]:
    call = waiting[host].popleft()
    if not waiting[host]:
        del waiting[host]
    return call


def change_delays(hosts: HostTable, settings: Settings, now: float) -> None:
    """Other delays hold from now on, for what has been requested already as well."""
    former, hosts.politeness = hosts.politeness, settings.politeness
    delay_s = address_delay(settings.politeness, resolve_targets(settings), hosts.shards)
    hosts.addresses.change(delay_s)
    waiting = [host for host, state in hosts.items() if state.ready_at > now]
    for name in {id(state.shared): state.shared for state in hosts.values()}.values():
        states = [hosts[host] for host in name.hosts]
        name.free_at += max(
            state.delay_s(settings.politeness) - state.delay_s(former) for state in states
        )
    for host in waiting:
        hosts.resume_when_ready(host, now)


def change_pace(hosts: HostTable, politeness: Politeness, clock: Clock) -> None:
    """Another pace of the whole crawl holds from now on, or none."""
    former, hosts.pace = hosts.pace, CrawlPace.of(politeness, clock)
    if hosts.pace is not None:
        hosts.pace.follow(former, clock.now())
    elif former is not None:
        former.end()


def hosts_of(
    settings: Settings,
    origins: Sequence[str],
    resume: Callable[[int], None],
    clock: Clock,
    shards: int = 1,
) -> HostTable:
    """The hosts of a crawl, by their origins; it may be one of several shards."""

    def name_of(host: int) -> str:
        return urls.host(f"{origins[host]}/")

    politeness, targets = settings.politeness, resolve_targets(settings)
    hosts = HostTable(politeness, resume, name_of, address_delay(politeness, targets, shards))
    hosts.shards = shards
    hosts.pace = CrawlPace.of(politeness, clock)
    return hosts


def resolve_targets(settings: Settings) -> frozenset[str]:
    """The addresses that the user wrote."""
    return frozenset(parse_rule(rule).address for rule in settings.network.resolve)
