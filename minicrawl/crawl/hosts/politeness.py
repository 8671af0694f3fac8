"""Politeness: decides when a host may be contacted, neither too early nor too often.

Four limits hold at the same time. A waiting host is resumed when all of them allow it:

    delay     between two requests to one host name: ours, or its Crawl-delay (capped) if longer
    pause     of one host, after a failure or because it asked for one (`host`)
    cost      of a host name whose responses cost much more processor time than others (`costs`)
    address   delay and number of requests of the address, whatever hosts it has (`addresses`)

Example: --delay 1, --address-delay 0.5. The hosts a and b are at one address, and the robots.txt of
a has `Crawl-delay: 3`.

    at 0.0 s   request to a. The address is free again at 0.5
    at 0.2 s   response of a: its next request begins at 3.2 or later
    at 0.5 s   request to b, which waited for the address
    at 0.7 s   response of b: 503. First strike: b pauses for 1 s. Its delay ends at 1.7, too
    at 1.7 s   request to b: 503 at 1.8. Second strike: b pauses for 2 s, until 3.8
    at 3.2 s   request to a. The address is free again at 3.7
    at 3.8 s   request to b

Delays run from the end of a request; while requests overlap (`per_host` above 1), also from the
start of the last one. Nothing polls: a host that must wait is in the heap of wake times, in the
queue of its address, or resumed by the end of one of its requests.

Law: a host has at most `per_host` requests at once.

side request  request for robots.txt or a sitemap; it precedes the host's own pages
"""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from math import inf

from minicrawl.config import Politeness, Settings
from minicrawl.crawl.hosts.addresses import FIRST, AddressDelay, AddressPacing, Rank, address_delay
from minicrawl.crawl.hosts.costs import FairShare
from minicrawl.crawl.hosts.crawl_pace import CrawlPace
from minicrawl.crawl.hosts.host import Host, NameState
from minicrawl.fetch.resolver.rules import parse_rule
from minicrawl.model import FetchResult
from minicrawl.ports import Clock
from minicrawl.web import urls


class HostTable(dict[int, Host]):
    """Hosts by id, created on demand. `resume` is called with a host that may be asked again."""

    def __init__(
        self,
        politeness: Politeness,
        resume: Callable[[int], None],
        origins: Sequence[str],
        address_delay_s: AddressDelay | None = None,
    ) -> None:
        super().__init__()
        self.politeness = politeness
        self._resume, self._origins = resume, origins
        self._names: dict[str, NameState] = {}
        delay_s = address_delay_s or address_delay(politeness)
        self.addresses = AddressPacing(politeness.per_address, delay_s)
        self._fair_share = FairShare(politeness.max_pause_s)
        self._wakes: list[tuple[float, int]] = []  # heap: end of each host's delay
        self._side_requests: defaultdict[int, deque[Callable[[], None]]] = defaultdict(deque)
        self.pace: CrawlPace | None = None  # of the whole crawl, if limited
        self.clock: Clock | None = None  # of hosts with a pace of their own
        self.charges_costs = True
        """False if processor time, which varies, must not affect the order."""

    def __missing__(self, host_id: int) -> Host:
        origin = self._origins[host_id]
        name = urls.host(f"{origin}/")
        # Origins of one name share connections and delays. If they did not, a site whose links
        # mix http and https would be asked at twice the pace that the user set.
        if (shared := self._names.get(name)) is None:
            clock = self.clock
            pace = None if clock is None else CrawlPace.of_host(self.politeness, name, clock)
            politeness = self.politeness.of_host(name)
            shared = self._names[name] = NameState(name, politeness, pace=pace)
        host = self[host_id] = Host(host_id, origin, shared)
        shared.hosts.append(host)
        return host

    def may_be_asked(self, host: Host, now: float) -> bool:
        """Return whether the host's delays and pauses are over and it takes one more request."""
        return self._ready_at(host, now) <= now

    def _ready_at(self, host: Host, now: float) -> float:
        """Return when one more request to the host may begin: never before one to its name ends, if
        as many as may be are under way.
        """
        shared, pace = host.shared, host.shared.pace
        if shared.in_use + shared.being_read >= shared.politeness.per_host:
            return inf
        return host.ready_at if pace is None else max(host.ready_at, now + pace.wait_s(now))

    def has_room(self, host: Host, now: float) -> bool:
        """Return whether the host's address takes one more request."""
        return host.address is None or self.addresses.has_room(host.address, host.id, now)

    def begin(self, host: Host, now: float) -> None:
        """Note the start of a request."""
        host.in_use += 1
        host.shared.in_use += 1
        host.delay_next(now)
        for pace in filter(None, (self.pace, host.shared.pace)):
            pace.begin(now)
        if host.address is not None:
            self.addresses.begin(host.address, now)
        self.resume_when_ready(host, now)

    def end(self, host: Host, now: float) -> None:
        """Note the end of a request."""
        host.in_use -= 1
        host.shared.in_use -= 1
        host.delay_next(now)
        self.resume_name(host.shared, now)
        if host.address is not None:
            self.addresses.end(host.address)

    def hear(self, host: Host, fetched: FetchResult, now: float) -> None:
        host.hear(fetched)
        for pace in filter(None, (self.pace, host.shared.pace)):
            pace.receive(fetched, now)

    def charge(self, host: Host, cost_s: float, now: float, *, was_requested: bool = True) -> None:
        """Charge the processor time of a request, or of a page settled without one."""
        if self.charges_costs:
            self._fair_share.charge(host.shared, cost_s, now, was_requested=was_requested)

    def wait_for_room(self, host: Host, now: float, rank: Rank = FIRST) -> None:
        """Enqueue the host at its address, which has no room; it is resumed when it is next."""
        if host.address is not None:
            self.addresses.wait(host.address, host.id, rank, now)

    def resume_when_ready(self, host: Host, now: float) -> None:
        """Resume the host as soon as its delays and pauses are over."""
        ready_at = self._ready_at(host, now)
        if ready_at == inf:
            return  # resumed when a request ends
        if ready_at > now:
            heappush(self._wakes, (ready_at, host.id))
        elif host.id in self._side_requests:
            call = self._side_requests[host.id].popleft()
            if not self._side_requests[host.id]:
                del self._side_requests[host.id]
            call()
        elif not host.shared.to_render:
            self._resume(host.id)

    def resume_name(self, shared: NameState, now: float) -> None:
        """Resume all hosts of a name as soon as their delays and pauses are over."""
        for host in shared.hosts:
            self.resume_when_ready(host, now)

    def queue_side_request(self, host: Host, call: Callable[[], None]) -> None:
        """Call a function once, when the host may be contacted, before its pages get a turn."""
        self._side_requests[host.id].append(call)

    def wake(self, now: float) -> None:
        """Resume the hosts whose delays are over."""
        while self._wakes and self._wakes[0][0] <= now:
            self.resume_when_ready(self[heappop(self._wakes)[1]], now)
        for host_id in self.addresses.admit(now):
            self.resume_when_ready(self[host_id], now)

    def next_wake(self) -> float | None:
        """Return when the next host is due; a past time if one is due already."""
        at_addresses = self.addresses.next_wake()
        if not self._wakes:
            return at_addresses
        first = self._wakes[0][0]
        return first if at_addresses is None else min(first, at_addresses)

    def release_expensive(self, now: float) -> bool:
        """Resume a host that waits for its costs, if there is one and no other is due soon."""
        released = self._fair_share.release_first(now, self.next_wake())
        if released is None:
            return False
        self.resume_name(released, now)
        return True


def change_delays(hosts: HostTable, settings: Settings, now: float) -> None:
    """Change the delays, also for hosts contacted already."""
    hosts.politeness = settings.politeness
    delay_s = address_delay(settings.politeness, resolve_targets(settings))
    hosts.addresses.change(delay_s)
    waiting = [host for host in hosts.values() if host.ready_at > now]
    for name in {host.shared.name: host.shared for host in hosts.values()}.values():
        # Moved by the difference, not set anew: a delay that has begun keeps its beginning. Set to
        # now plus the new delay, each change by the user would make all hosts wait once more.
        former_s = {host.id: host.delay_s for host in name.hosts}
        name.politeness = settings.politeness.of_host(name.name)
        more_s = max(host.delay_s - former_s[host.id] for host in name.hosts)
        name.free_at += more_s if name.was_requested else 0.0  # otherwise no delay has begun
    for host in waiting:
        hosts.resume_when_ready(host, now)


def change_pace(hosts: HostTable, politeness: Politeness, clock: Clock) -> None:
    """Change the pace of the whole crawl, or lift its limits."""
    former, hosts.pace = hosts.pace, CrawlPace.of(politeness, clock)
    if hosts.pace is not None:
        hosts.pace.follow(former, clock.now())
    elif former is not None:
        former.end()


def hosts_of(
    settings: Settings, origins: Sequence[str], resume: Callable[[int], None], clock: Clock
) -> HostTable:
    politeness, targets = settings.politeness, resolve_targets(settings)
    hosts = HostTable(politeness, resume, origins, address_delay(politeness, targets))
    hosts.pace, hosts.clock = CrawlPace.of(politeness, clock), clock
    hosts.charges_costs = not settings.order.deterministic
    return hosts


def resolve_targets(settings: Settings) -> frozenset[str]:
    """Return the addresses that --resolve names."""
    return frozenset(parse_rule(rule).address for rule in settings.network.resolve)
