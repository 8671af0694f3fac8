"""When a host may be asked: a pause between two requests, and longer ones after trouble.

Laws: a host has at most `per_host` requests at once and an address `per_address`; between the end
of one request and the start of the next lies the larger of our delay and the host's Crawl-delay
(capped), and between the starts of two requests to one address the address's own delay, whatever
the names; trouble doubles the pause, success halves what is left of it. Origins of one host name,
whatever their schemes and ports, share requests and pauses, but no trouble. What a host costs more
than others delays it (see `fairness`).

rank     of several hosts that wait for one address the one with the least rank is next
guest    whoever asks a host in the turn of another one: it goes before the host's own pages
strike   a failure that counts against the host: it did not answer, or asked us to slow down
down     a host with `max_strikes`: for `max_pause_s` its pages are settled without asking
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from ipaddress import ip_address
from itertools import count
from math import inf

from minicrawl.config import Politeness, Settings
from minicrawl.crawl.hosts.fairness import FREE_S, UNASKED, FairShare
from minicrawl.fetch.where.resolve_rules import parse_rule
from minicrawl.model import Failed, FailureKind, FetchResult, Response, State
from minicrawl.web import urls
from minicrawl.web.robots.rules import Rules

FIRST_PAUSE_S = 1.0
IDLE_S = 0.2
"""If nobody is due sooner, there is time for expensive hosts."""

Rank = tuple[float, bool]
FIRST: Rank = (-inf, False)
_SILENCE = frozenset((FailureKind.DNS, FailureKind.CONNECT, FailureKind.TIMEOUT))
"""Who fails so may hold a connection for long, and gives nothing for it."""
_NO_ANSWER = frozenset(
    (
        FailureKind.TLS,
        FailureKind.RESET,
        FailureKind.PROTOCOL,
        FailureKind.LOST,
        FailureKind.INTERRUPTED,
    )
)
"""Who fails so has not answered, but keeps nobody waiting."""
_FEWEST_ADDRESSES = 1000
"""Below that nobody looks for addresses that may be forgotten."""


def remaining_s(until: float, today: float, longest_s: float) -> float:
    """How long until a moment that was noted by the time of day.

    Nobody notes one that is further away: then the clock was turned, and the moment tells nothing.
    """
    left_s = until - today
    return left_s if 0 < left_s <= longest_s else 0.0


@dataclass(slots=True)
class NameState:
    """What all origins of one name share: for whoever runs it they are one host."""

    name: str
    free_at: float = 0.0
    fair_at: float = 0.0  # when it has waited for what it cost
    in_use: int = 0
    being_read: int = 0  # large bodies: a host that sends these faster than they are read waits
    answers: bool = False  # the last request was answered
    hosts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class HostState:
    """What is known of an origin, and its clock."""

    pace: NameState

    rules: Rules | None = None
    rules_until: float = 0.0  # by the time of day
    recalled: bool = False  # what earlier runs knew of it was looked up
    forgotten: bool = False  # its rules are in the store alone
    has_long_rules: bool = False  # the same, and to read them takes a while
    ready_at: float = 0.0  # by the clock that never jumps, as are the next ones
    down_until: float = 0.0
    trouble: State | None = None
    in_use: int = 0
    strikes: int = 0
    pages: int = 0  # read or being read
    address: str | None = None

    def know(self, rules: Rules, until: float) -> None:
        """What it asks of us, until then."""
        self.rules, self.rules_until, self.forgotten = rules, until, False

    def forget_rules(self) -> None:
        """They are looked up when they are needed again."""
        self.rules, self.rules_until, self.forgotten = None, 0.0, True


@dataclass(slots=True)
class _Address:
    delay_s: float
    free_at: float = 0.0
    in_use: int = 0
    waiting: set[int] = field(default_factory=set)
    line: list[tuple[Rank, int, int]] = field(default_factory=list)  # a heap of them
    has_alarm: bool = False

    def wait(self, host: int, rank: Rank, number: int) -> None:
        """Who waits already keeps its rank."""
        if host not in self.waiting:
            self.waiting.add(host)
            heappush(self.line, (rank, number, host))

    def release(self, most: int) -> list[int]:
        """The next ones wait no longer."""
        hosts = [heappop(self.line)[2] for _ in range(min(most, len(self.line)))]
        self.waiting.difference_update(hosts)
        return hosts


AddressDelay = Callable[[str], float]


def address_delay(politeness: Politeness, targets: Collection[str] = ()) -> AddressDelay:
    """The pause between two requests to an address; `targets` are those of --resolve.

    Without a delay one's own machine and the addresses that the user wrote are asked at any pace.
    """

    def delay_s(address: str) -> float:
        if politeness.delay_s or not (address in targets or _is_loopback(address)):
            return politeness.address_delay_s
        return 0.0

    return delay_s


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


class HostTable:
    """The clocks of all hosts; `resume` is told when a host may be asked again."""

    def __init__(
        self,
        politeness: Politeness,
        resume: Callable[[int], None],
        name_of: Callable[[int], str] = str,
        address_delay_s: AddressDelay | None = None,
    ) -> None:
        self._politeness = politeness
        self._resume = resume
        self._name_of = name_of
        self._address_delay_s = address_delay_s or address_delay(politeness)
        self._fair = FairShare()
        self._expensive: dict[str, NameState] = {}
        self._hosts: dict[int, HostState] = {}
        self._paces: dict[str, NameState] = {}
        self._addresses: dict[str, _Address] = {}
        self._most_addresses = _FEWEST_ADDRESSES
        self._wakes: list[tuple[float, int]] = []
        self._numbers = count()
        self._alarms: list[tuple[float, str]] = []  # when an address may be asked again
        self._side_requests: defaultdict[int, deque[Callable[[], None]]] = defaultdict(deque)
        self._vacant: set[str] = set()  # addresses that have room, and hosts that wait for it

    @property
    def concurrency(self) -> int:
        """Requests that may be under way at once."""
        return self._politeness.concurrency

    def __getitem__(self, host: int) -> HostState:
        clock = self._hosts.get(host)
        if clock is None:
            name = self._name_of(host)
            pace = self._paces.setdefault(name, NameState(name))
            pace.hosts.append(host)
            clock = self._hosts[host] = HostState(pace)
        return clock

    def delay_s(self, host: int) -> float:
        """The pause between two requests to it."""
        rules = self[host].rules
        asked = rules.crawl_delay_s if rules is not None else None
        return max(self._politeness.delay_s, min(asked or 0.0, self._politeness.max_delay_s))

    def may_be_asked(self, host: int, now: float) -> bool:
        """Whether its own clock allows it."""
        clock = self[host]
        return _ready_at(clock) <= now and self._takes_more(clock.pace)

    def _takes_more(self, pace: NameState) -> bool:
        return pace.in_use + pace.being_read < self._politeness.per_host

    def answers(self, host: int) -> bool:
        """Whether its last request was answered: whoever does not may hold few connections."""
        return self[host].pace.answers

    def heard(self, host: int, fetched: FetchResult) -> None:
        """What came of a request to it."""
        kind = fetched.kind if isinstance(fetched, Failed) else None
        if isinstance(fetched, Response):
            kind = fetched.cut
        if kind not in _NO_ANSWER:
            self[host].pace.answers = kind not in _SILENCE

    def has_room(self, host: int, now: float) -> bool:
        """Whether its address takes one more request."""
        name = self[host].address
        address = None if name is None else self._addresses.get(name)
        if address is None:
            return True
        return address.in_use < self._politeness.per_address and address.free_at <= now

    def wait_for_room(self, host: int, now: float, rank: Rank = FIRST) -> None:
        """The host is resumed when its address takes one more request."""
        name = self[host].address
        if name is not None:
            address = self._address(name, now)
            address.wait(host, rank, next(self._numbers))
            self._set_alarm(name, address, now)

    def _address(self, name: str, now: float) -> _Address:
        address = self._addresses.get(name)
        if address is None:
            if len(self._addresses) >= self._most_addresses:
                self._forget_addresses(now)
            address = self._addresses[name] = _Address(self._address_delay_s(name))
        return address

    def _forget_addresses(self, now: float) -> None:
        """Those that nothing is known of any more; it is looked for them when there are many."""
        self._addresses = {
            name: address
            for name, address in self._addresses.items()
            if address.in_use or address.waiting or address.has_alarm or address.free_at > now
        }
        self._most_addresses = max(2 * len(self._addresses), _FEWEST_ADDRESSES)

    def _set_alarm(self, name: str, address: _Address, now: float) -> None:
        """Hosts wait for its time to come."""
        if address.free_at > now and not address.has_alarm:
            address.has_alarm = True
            heappush(self._alarms, (address.free_at, name))

    def begin(self, host: int, now: float) -> None:
        """A request to it starts."""
        clock = self[host]
        clock.in_use += 1
        clock.pace.in_use += 1
        self._pause(host, now)
        if clock.address is not None:
            address = self._address(clock.address, now)
            address.in_use += 1
            address.free_at = now + address.delay_s
        if self._takes_more(clock.pace):
            self.resume_when_ready(host, now)

    def end(self, host: int, now: float) -> None:
        """A request to it is over."""
        clock = self[host]
        clock.in_use -= 1
        clock.pace.in_use -= 1
        self._pause(host, now)
        self._resume_all(clock.pace, now)
        if clock.address is not None:
            self._leave(clock.address)

    def begin_reading(self, host: int) -> None:
        """A large body of it is read: until then it counts as a request that is under way."""
        self[host].pace.being_read += 1

    def end_reading(self, host: int, now: float) -> None:
        """It has been read."""
        pace = self[host].pace
        pace.being_read -= 1
        self._resume_all(pace, now)

    def _resume_all(self, pace: NameState, now: float) -> None:
        for host in pace.hosts:
            self.resume_when_ready(host, now)

    def _pause(self, host: int, now: float) -> None:
        pace = self[host].pace
        pace.free_at = max(pace.free_at, now + self.delay_s(host))

    def charge(self, host: int, cost_s: float, now: float) -> None:
        """A request to it has cost so much processor time."""
        pace = self[host].pace
        self._delay(pace, self._fair.pause_s(pace.name, cost_s, now), now)

    def charge_unasked(self, host: int, cost_s: float, now: float) -> None:
        """A page of it that was settled without a request has cost so much."""
        if cost_s > FREE_S * UNASKED:
            pace = self[host].pace
            self._delay(pace, self._fair.pause_unasked_s(pace.name, cost_s, now), now)

    def _delay(self, pace: NameState, pause_s: float, now: float) -> None:
        if pause_s:
            pace.fair_at = max(pace.fair_at, now + min(pause_s, self._politeness.max_pause_s))
            self._expensive[pace.name] = pace

    def release_expensive(self, now: float) -> bool:
        """Whether a host that waits for what it cost need not, as nobody else is due soon."""
        due = self.next_wake()
        waiting = [pace for pace in self._expensive.values() if pace.fair_at > now]
        self._expensive = {pace.name: pace for pace in waiting}
        if not waiting or (due is not None and due < now + IDLE_S):
            return False
        first = min(waiting, key=lambda pace: pace.fair_at)
        first.fair_at = now
        self._resume_all(first, now)
        return True

    def found_at(self, host: int, address: str) -> None:
        """Its address became known, or changed, which counts once no request is under way."""
        clock = self[host]
        if not clock.in_use:
            clock.address = address

    def strike(self, host: int, now: float, kind: FailureKind, wait_s: float | None) -> None:
        """It failed us: a pause that grows, or the one it asked for if that is not over."""
        clock, longest_s = self[host], self._politeness.max_pause_s
        clock.strikes += 1
        pause_s = wait_s or FIRST_PAUSE_S * 2 ** min(clock.strikes - 1, 16)
        clock.ready_at = max(clock.ready_at, now + min(pause_s, longest_s))
        if clock.strikes >= self._politeness.max_strikes:
            self.put_down(host, now, State.of(kind))

    def put_down(self, host: int, now: float, trouble: State) -> None:
        """For a while its pages need not be asked for."""
        clock = self[host]
        clock.trouble, clock.down_until = trouble, now + self._politeness.max_pause_s

    def spare(self, host: int, now: float, wait_s: float) -> None:
        """It asked an earlier run for a pause that is not over."""
        clock = self[host]
        clock.ready_at = max(clock.ready_at, now + wait_s)

    def rest(self, host: int) -> None:
        """Nothing is wanted of it before it may be up again."""
        clock = self[host]
        clock.ready_at = max(clock.ready_at, clock.down_until)

    def heal(self, host: int) -> None:
        """It answered as it should."""
        clock = self[host]
        clock.strikes //= 2
        clock.trouble = None

    def trouble(self, host: int, now: float) -> State | None:
        """Why its pages need not be asked for at all."""
        clock = self[host]
        return clock.trouble if now < clock.down_until else None

    def resume_when_ready(self, host: int, now: float) -> None:
        """Let it be asked as soon as its clock allows."""
        clock = self[host]
        if not self._takes_more(clock.pace):
            return
        ready_at = _ready_at(clock)
        if ready_at <= now:
            self._let_ask(host)
        else:
            heappush(self._wakes, (ready_at, host))

    def invite(self, host: int, call: Callable[[], None]) -> None:
        """A guest is called, once, when the host may be asked."""
        self._side_requests[host].append(call)

    def _let_ask(self, host: int) -> None:
        if host not in self._side_requests:
            self._resume(host)
            return
        call = self._side_requests[host].popleft()
        if not self._side_requests[host]:
            del self._side_requests[host]
        call()

    def wake(self, now: float) -> None:
        """Resume the hosts whose time has come."""
        while self._wakes and self._wakes[0][0] <= now:
            self.resume_when_ready(heappop(self._wakes)[1], now)
        while self._alarms and self._alarms[0][0] <= now:
            name = heappop(self._alarms)[1]
            self._addresses[name].has_alarm = False
            self._vacant.add(name)
        for name in sorted(self._vacant):
            self._let_in(name, now)

    def next_wake(self) -> float | None:
        """When the next host's time comes; a moment of the past if it has come already."""
        if self._vacant:
            return -inf
        first = [wakes[0][0] for wakes in (self._wakes, self._alarms) if wakes]
        return min(first, default=None)

    def _leave(self, name: str) -> None:
        address = self._addresses[name]
        address.in_use -= 1
        if address.waiting:
            self._vacant.add(name)

    def _let_in(self, name: str, now: float) -> None:
        """As many as there is room for. Who is let in may not go: then the next ones are."""
        address = self._addresses[name]
        room = self._politeness.per_address - address.in_use if address.free_at <= now else 0
        for host in address.release(min(room, 1) if address.delay_s else room):
            self.resume_when_ready(host, now)
        if not room or not address.waiting:
            self._vacant.discard(name)
        if address.waiting:
            self._set_alarm(name, address, now)


def hosts_of(
    settings: Settings, origins: Sequence[str], resume: Callable[[int], None]
) -> HostTable:
    """Those of a crawl, by their origins."""

    def name_of(host: int) -> str:
        return urls.host(f"{origins[host]}/")

    politeness, targets = settings.politeness, resolve_targets(settings)
    return HostTable(politeness, resume, name_of, address_delay(politeness, targets))


def resolve_targets(settings: Settings) -> frozenset[str]:
    """The addresses that the user wrote."""
    return frozenset(parse_rule(rule).address for rule in settings.network.resolve)


def _ready_at(clock: HostState) -> float:
    return max(clock.ready_at, clock.pace.free_at, clock.pace.fair_at)
