"""Politeness: decides when a host may be contacted, neither too early nor too often.

Four limits hold at the same time. A waiting host is resumed when all of them allow it:

    delay     between two requests to one host name: ours, or its Crawl-delay (capped) if longer
    pause     of one host, after a failure or because it asked for one (`HostState`)
    cost      of a host name whose responses cost much more processor time than others (`costs`)
    address   delay and number of requests of the address, whatever hosts it has (`pacing`)

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

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

from minicrawl.config import Politeness, Settings
from minicrawl.crawl.hosts.pacing import (
    FIRST,
    AddressDelay,
    AddressPacing,
    CrawlPace,
    Rank,
    address_delay,
    is_loopback,
)
from minicrawl.fetch.resolver.rules import parse_rule
from minicrawl.model import Failed, FailureKind, FetchResult, Response, State
from minicrawl.ports import Clock
from minicrawl.web import urls
from minicrawl.web.robots import ANSWER_VALID_S, Rules

# ================================================================ host state
#
# State of a host while a crawl runs: rules, address, pauses and strikes.
#
# Laws: each strike doubles the pause, up to the longest one, and a success halves the strikes; a
# pause is never shortened by another one. A host with `max_strikes` is down: for `max_pause_s` its
# pages are settled without a request. Origins of one host name, whatever their schemes and ports,
# share connections and delays, but no strikes.
#
# host    an origin: scheme, host name and port
# strike  failure that counts against the host: it did not answer, or asked us to slow down
# silent  host whose last request got no response, or that has not been contacted yet

FIRST_PAUSE_S = 1.0
_MOST_DOUBLINGS = 16
_SILENCE = frozenset((FailureKind.DNS, FailureKind.CONNECT, FailureKind.TIMEOUT))
"""Failures of a host that may hold a connection for long."""
_NO_ANSWER = frozenset(
    (
        FailureKind.PROXY,
        FailureKind.TLS,
        FailureKind.RESET,
        FailureKind.PROTOCOL,
        FailureKind.LOST,
        FailureKind.INTERRUPTED,
    )
)
"""Failures without a response that hold no connection either: the host stays silent or not."""


def remaining_s(until: float, today: float, longest_s: float) -> float:
    """Return the time left until a moment that was noted by the time of day.

    A moment further away than `longest_s` is never noted: the clock was turned, and 0 is returned.
    """
    left_s = until - today
    return left_s if 0 < left_s <= longest_s else 0.0


@dataclass(slots=True)
class NameState:
    """State that all origins of one host name share: to its operator they are one host."""

    name: str
    free_at: float = 0.0  # end of the delay after the last request
    fair_at: float = 0.0  # end of the delay for the processor time that the host has cost
    in_use: int = 0  # requests under way
    being_read: int = 0  # large bodies; each counts as a request, so that few are in memory
    to_render: int = 0  # pages that wait for a browser; no page is requested meanwhile
    answers: bool = False  # the last request was answered
    answer_s: float | None = None  # mean time of its responses
    hosts: list[int] = field(default_factory=list)

    @property
    def was_asked(self) -> bool:
        """True after the first request to the host."""
        return self.free_at > 0.0

    def takes_more(self, per_host: int) -> bool:
        """Return whether one more request may be under way."""
        return self.in_use + self.being_read < per_host

    def note_answer(self, elapsed_s: float, *, was_answered: bool) -> None:
        """Note the time of a response: slower ones count at once, quicker ones by half.

        A failure never makes the mean quicker.
        """
        before_s = self.answer_s
        if before_s is None:
            self.answer_s = elapsed_s if was_answered else None
        elif was_answered or elapsed_s > before_s:
            self.answer_s = max(elapsed_s, (before_s + elapsed_s) / 2)


@dataclass(slots=True)
class HostState:
    """State of one host. Times are of the monotonic clock, except `rules_until`."""

    shared: NameState

    rules: Rules | None = None
    rules_until: float = 0.0  # by the time of day
    recalled: bool = False  # the state of earlier runs is loaded
    rules_evicted: bool = False  # only the store has its rules
    has_long_stored_rules: bool = False  # only the store has them, and parsing takes a while
    paused_until: float = 0.0
    down_until: float = 0.0
    trouble: State | None = None
    in_use: int = 0  # requests under way
    strikes: int = 0
    pages: int = 0  # read or being read
    address: str | None = None

    # ------------------------------------------------------------ robots.txt

    def keep_rules(self, rules: Rules, until: float) -> None:
        """Keep the rules of its robots.txt, which are valid until then."""
        self.rules, self.rules_until, self.rules_evicted = rules, until, False

    def has_current_rules(self, today: float) -> bool:
        """Return whether its rules are in memory and valid."""
        until = self.rules_until
        return self.rules is not None and (until == inf or 0 < until - today <= ANSWER_VALID_S)

    def evict_rules(self) -> None:
        """Drop the rules from memory; the store has them."""
        self.rules, self.rules_until, self.rules_evicted = None, 0.0, True

    def delay_s(self, politeness: Politeness) -> float:
        """Return the delay between two requests: the larger of ours and its Crawl-delay, capped."""
        wanted_s = self.rules.crawl_delay_s if self.rules is not None else None
        is_local = self.address is not None and is_loopback(self.address)
        return max(
            politeness.delay_after(self.shared.answer_s, is_local=is_local),
            min(wanted_s or 0.0, politeness.max_delay_s),
        )

    def delay_next(self, since: float, politeness: Politeness) -> None:
        """Start the delay of the next request at this moment."""
        shared = self.shared
        shared.free_at = max(shared.free_at, since + self.delay_s(politeness))

    # ------------------------------------------------------------ pauses and address

    @property
    def ready_at(self) -> float:
        """Time when its pauses and delays are over."""
        shared = self.shared
        return max(self.paused_until, shared.free_at, shared.fair_at)

    def pause_until(self, moment: float) -> None:
        """Let no request start before this time."""
        self.paused_until = max(self.paused_until, moment)

    def pause_while_down(self) -> None:
        """Let no request start before the host may be up again."""
        self.pause_until(self.down_until)

    def move_to(self, address: str) -> None:
        """Set its address. A request under way stays counted at the former one."""
        if not self.in_use:
            self.address = address

    # ------------------------------------------------------------ after a response

    def hear(self, fetched: FetchResult) -> None:
        """Note whether the host answers: silent hosts may hold few connections."""
        kind = fetched.kind if isinstance(fetched, Failed) else None
        if isinstance(fetched, Response):
            kind = fetched.cut
        self.shared.note_answer(fetched.elapsed_s, was_answered=kind is None)
        if kind not in _NO_ANSWER:
            self.shared.answers = kind not in _SILENCE

    def strike(
        self, now: float, kind: FailureKind, wait_s: float | None, politeness: Politeness
    ) -> None:
        """Count a failure: pause as long as asked, or else longer than after the last strike."""
        self.strikes += 1
        pause_s = wait_s or FIRST_PAUSE_S * 2 ** min(self.strikes - 1, _MOST_DOUBLINGS)
        self.pause_until(now + min(pause_s, politeness.max_pause_s))
        if self.strikes >= politeness.max_strikes:
            self.put_down(State.of(kind), now + politeness.max_pause_s)

    def put_down(self, trouble: State, until: float) -> None:
        """Put the host down: until then, its pages are settled without a request."""
        self.trouble, self.down_until = trouble, until

    def recover(self) -> None:
        """Note a request without a strike."""
        self.strikes //= 2
        self.trouble = None

    def trouble_at(self, now: float) -> State | None:
        """Return why the host is down, or None."""
        return self.trouble if now < self.down_until else None


# ================================================================ costs
#
# Fairness: a host that costs more processor time than others waits longer.
#
# Laws: a request that costs no more than a few usual ones is free, and so is an occasional large
# page. If the average cost of a host is higher, the excess of each request delays the next one, so
# that all expensive hosts together take about half of one processor. No host waits if it is the
# only one, if all cost the same, or while no other host is due.
#
# cost       processor time spent on a host's bytes: decoding, parsing, robots.txt checks, settling
# usual      cost of a request to a cheap host: a low quantile over the hosts contacted lately, so
#            that the many hosts of an attacker do not make an attack look usual
# free       a few times the usual cost
# excess     cost of a request beyond the free cost


SHARE = 0.5
"""Share of one processor for all expensive hosts together."""
WINDOW_S = 10.0
"""Time for which a host counts as expensive after its last expensive request."""
FREE_S = 0.002
"""Least free cost: four times that of a 20 kB page."""
MANY_TIMES = 4
"""Free cost as a multiple of the usual one: the costs of a site's pages differ by as much."""
QUANTILE = 0.2
UNASKED = 1 / 10
"""Free cost of a page that is settled without a request, relative to that of a request."""
FREE_UNASKED_S = FREE_S * UNASKED
"""Least free cost of a page that is settled without a request."""
IDLE_S = 0.2
"""An expensive host is released if no other host is due within this time."""
_MOST_HOSTS = 4096
_UPDATE_EVERY_S = 1.0
_WEIGHT = 0.3  # of the last request in the mean of a host


class FairShare:
    """Costs of the hosts contacted lately, by name."""

    def __init__(self) -> None:
        self._means: OrderedDict[str, float] = OrderedDict()
        self._expensive: OrderedDict[str, float] = OrderedDict()
        self._free_s = FREE_S
        self._updated_at = 0.0

    def pause_s(self, host: str, cost_s: float, now: float) -> float:
        """Return the time that the host waits for the cost of a request."""
        before_s = self._means.pop(host, cost_s)
        self._means[host] = _WEIGHT * cost_s + (1 - _WEIGHT) * before_s
        if len(self._means) > _MOST_HOSTS:
            self._means.popitem(last=False)
        if now - self._updated_at >= _UPDATE_EVERY_S:
            self._updated_at = now
            means = sorted(self._means.values())
            self._free_s = max(FREE_S, MANY_TIMES * means[int(QUANTILE * len(means))])
        # The mean before this request decides, so that a single large page is free.
        if before_s <= self._free_s:
            return 0.0
        return self._pause_s(host, cost_s - self._free_s, now)

    def pause_unasked_s(self, host: str, cost_s: float, now: float) -> float:
        """Return the time that the host waits for a page that was settled without a request."""
        return self._pause_s(host, cost_s - self._free_s * UNASKED, now)

    def _pause_s(self, host: str, excess_s: float, now: float) -> float:
        # With one host there is nobody to be fair to.
        if excess_s <= 0 or len(self._means) == (host in self._means):
            return 0.0
        self._expensive[host] = now
        self._expensive.move_to_end(host)
        while next(iter(self._expensive.values())) < now - WINDOW_S:
            self._expensive.popitem(last=False)
        return excess_s * len(self._expensive) / SHARE


class CostDelays:
    """Delays of hosts for their costs; a delay ends early when there is time."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._delayed: dict[str, NameState] = {}

    def release_first(self, now: float, due: float | None) -> NameState | None:
        """End one delay if no other host is due soon. Return its host."""
        delayed = [host for host in self._delayed.values() if host.fair_at > now]
        self._delayed = {host.name: host for host in delayed}
        if not delayed or (due is not None and due < now + IDLE_S):
            return None
        first = min(delayed, key=lambda host: host.fair_at)
        first.fair_at = now
        return first

    def delay(self, host: NameState, pause_s: float, now: float) -> None:
        """Delay the host, but no longer than the longest pause."""
        host.fair_at = max(host.fair_at, now + min(pause_s, self._longest_s))
        self._delayed[host.name] = host


# ================================================================ politeness


class HostTable(dict[int, HostState]):
    """States of all hosts, created on demand; `resume` is called with a host that may be contacted
    again.
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
        self._fair_share, self._cost_delays = FairShare(), CostDelays(politeness.max_pause_s)
        self._wakes: list[tuple[float, int]] = []  # heap: end of each host's delay
        self._side_requests: defaultdict[int, deque[Callable[[], None]]] = defaultdict(deque)
        self.pace: CrawlPace | None = None  # of the whole crawl, if limited
        self.charges_costs = True
        """False if processor time, which varies, must not affect the order."""

    def __missing__(self, host: int) -> HostState:
        name = self._name_of(host)
        # Origins of one name share connections and delays. If they did not, a site whose links
        # mix http and https would be asked at twice the pace that the user set.
        shared = self._names.setdefault(name, NameState(name))
        shared.hosts.append(host)
        state = self[host] = HostState(shared)
        return state

    # ------------------------------------------------------------ conditions of a request

    def may_be_asked(self, host: int, now: float) -> bool:
        """Return whether the host's delays and pauses are over and it takes one more request."""
        state = self[host]
        return state.ready_at <= now and state.shared.takes_more(self.politeness.per_host)

    def has_room(self, host: int, now: float) -> bool:
        """Return whether the host's address takes one more request."""
        address = self[host].address
        return address is None or self.addresses.has_room(address, host, now)

    # ------------------------------------------------------------ requests

    def begin(self, host: int, now: float) -> None:
        """Note the start of a request."""
        state = self[host]
        state.in_use += 1
        state.shared.in_use += 1
        state.delay_next(now, self.politeness)
        if self.pace is not None:
            self.pace.begin(now)
        if state.address is not None:
            self.addresses.begin(state.address, now)
        self.resume_when_ready(host, now)

    def spare(self, host: int, since: float) -> None:
        """Start the host's delay at a moment: another process may have contacted it until then."""
        self[host].delay_next(since, self.politeness)

    def end(self, host: int, now: float) -> None:
        """Note the end of a request."""
        state = self[host]
        shared = state.shared
        state.in_use -= 1
        shared.in_use -= 1
        state.delay_next(now, self.politeness)
        self._resume_all(shared, now)
        if state.address is not None:
            self.addresses.end(state.address)

    def hear(self, host: int, fetched: FetchResult, now: float) -> None:
        """Note the result of a request."""
        self[host].hear(fetched)
        if self.pace is not None:
            self.pace.receive(fetched, now)

    def begin_reading(self, host: int) -> None:
        """Count a large body that is being parsed like a request under way."""
        self[host].shared.being_read += 1

    def end_reading(self, host: int, now: float) -> None:
        """Note that a large body was parsed."""
        shared = self[host].shared
        shared.being_read -= 1
        self._resume_all(shared, now)

    def charge(self, host: int, cost_s: float, now: float, *, was_asked: bool = True) -> None:
        """Charge the processor time of a request, or of a page settled without one."""
        if not self.charges_costs:
            return
        shared, pause_s = self[host].shared, 0.0
        if was_asked:
            pause_s = self._fair_share.pause_s(shared.name, cost_s, now)
        elif cost_s > FREE_UNASKED_S:
            pause_s = self._fair_share.pause_unasked_s(shared.name, cost_s, now)
        if pause_s:
            self._cost_delays.delay(shared, pause_s, now)

    # ------------------------------------------------------------ waiting hosts

    def wait_for_room(self, host: int, now: float, rank: Rank = FIRST) -> None:
        """Enqueue the host at its address, which has no room; it is resumed when it is next."""
        address = self[host].address
        if address is not None:
            self.addresses.wait(address, host, rank, now)

    def resume_when_ready(self, host: int, now: float) -> None:
        """Resume the host as soon as its delays and pauses are over."""
        state = self[host]
        if not state.shared.takes_more(self.politeness.per_host):
            return
        ready_at = state.ready_at
        if ready_at > now:
            heappush(self._wakes, (ready_at, host))
        elif host in self._side_requests:
            call = self._side_requests[host].popleft()
            if not self._side_requests[host]:
                del self._side_requests[host]
            call()
        elif not state.shared.to_render:
            self._resume(host)

    def queue_side_request(self, host: int, call: Callable[[], None]) -> None:
        """Call a function once, when the host may be contacted, before its pages get a turn."""
        self._side_requests[host].append(call)

    def wake(self, now: float) -> None:
        """Resume the hosts whose delays are over."""
        while self._wakes and self._wakes[0][0] <= now:
            self.resume_when_ready(heappop(self._wakes)[1], now)
        for host in self.addresses.admit(now):
            self.resume_when_ready(host, now)

    def next_wake(self) -> float | None:
        """Return when the next host is due; a past time if one is due already."""
        at_addresses = self.addresses.next_wake()
        if not self._wakes:
            return at_addresses
        first = self._wakes[0][0]
        return first if at_addresses is None else min(first, at_addresses)

    def release_expensive(self, now: float) -> bool:
        """Resume one host that waits for its costs, if no other host is due soon.

        Return whether a host was resumed.
        """
        released = self._cost_delays.release_first(now, self.next_wake())
        if released is None:
            return False
        self._resume_all(released, now)
        return True

    def _resume_all(self, shared: NameState, now: float) -> None:
        for host in shared.hosts:
            self.resume_when_ready(host, now)


def change_delays(hosts: HostTable, settings: Settings, now: float) -> None:
    """Change the delays, also for hosts contacted already."""
    former, hosts.politeness = hosts.politeness, settings.politeness
    delay_s = address_delay(settings.politeness, resolve_targets(settings))
    hosts.addresses.change(delay_s)
    waiting = [host for host, state in hosts.items() if state.ready_at > now]
    for name in {id(state.shared): state.shared for state in hosts.values()}.values():
        states = [hosts[host] for host in name.hosts]
        # Moved by the difference, not set anew: a delay that has begun keeps its beginning. Set to
        # now plus the new delay, each change by the user would make all hosts wait once more.
        more_s = max(state.delay_s(settings.politeness) - state.delay_s(former) for state in states)
        name.free_at += more_s if name.was_asked else 0.0  # otherwise no delay has begun
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
    """Return the hosts of a crawl."""

    def name_of(host: int) -> str:
        return urls.host(f"{origins[host]}/")

    politeness, targets = settings.politeness, resolve_targets(settings)
    hosts = HostTable(politeness, resume, name_of, address_delay(politeness, targets))
    hosts.pace = CrawlPace.of(politeness, clock)
    hosts.charges_costs = not settings.order.deterministic
    return hosts


def resolve_targets(settings: Settings) -> frozenset[str]:
    """Return the addresses that --resolve names."""
    return frozenset(parse_rule(rule).address for rule in settings.network.resolve)
