"""When a host may be asked: a pause between two requests, and longer ones after trouble.

Laws: a host has at most `per_host` requests at once and an address `per_address`; between the end
of one request and the start of the next lies the larger of our delay and the host's Crawl-delay
(capped); trouble doubles the pause, success halves what is left of it. Origins that differ by their
scheme alone share requests and pauses, but no trouble.

guest    whoever asks a host in the turn of another one: it goes before the host's own pages
strike   a failure that counts against the host: it did not answer, or asked us to slow down
down     a host with `max_strikes`: for `max_pause_s` its pages are settled without asking
"""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import islice
from math import inf

from minicrawl.config import Politeness
from minicrawl.model import FailureKind, State
from minicrawl.web.robots import Rules

FIRST_PAUSE_S = 1.0


def remaining_s(until: float, today: float, longest_s: float) -> float:
    """How long until a moment that was noted by the time of day.

    Nobody notes one that is further away: then the clock was turned, and the moment tells nothing.
    """
    left_s = until - today
    return left_s if 0 < left_s <= longest_s else 0.0


@dataclass(slots=True)
class Pace:
    """What all origins of one name share: for whoever runs it, http and https are one host."""

    free_at: float = 0.0
    in_use: int = 0
    hosts: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Host:
    """What is known of an origin, and its clock."""

    pace: Pace

    rules: Rules | None = None
    rules_until: float = 0.0  # by the time of day
    recalled: bool = False  # what earlier runs knew of it was looked up
    forgotten: bool = False  # its rules are in the store alone
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
    in_use: int = 0
    waiting: dict[int, None] = field(default_factory=dict)  # each host once, in its order


class Hosts:
    """The clocks of all hosts; `resume` is told when a host may be asked again."""

    def __init__(
        self,
        politeness: Politeness,
        resume: Callable[[int], None],
        name_of: Callable[[int], str] = str,
    ) -> None:
        self._politeness = politeness
        self._resume = resume
        self._name_of = name_of
        self._hosts: dict[int, Host] = {}
        self._paces: dict[str, Pace] = {}
        self._addresses: defaultdict[str, _Address] = defaultdict(_Address)
        self._wakes: list[tuple[float, int]] = []
        self._guests: defaultdict[int, deque[Callable[[], None]]] = defaultdict(deque)
        self._vacant: set[str] = set()  # addresses that have room, and hosts that wait for it

    def __getitem__(self, host: int) -> Host:
        clock = self._hosts.get(host)
        if clock is None:
            pace = self._paces.setdefault(self._name_of(host), Pace())
            pace.hosts.append(host)
            clock = self._hosts[host] = Host(pace)
        return clock

    def delay_s(self, host: int) -> float:
        """The pause between two requests to it."""
        rules = self[host].rules
        asked = rules.crawl_delay_s if rules is not None else None
        return max(self._politeness.delay_s, min(asked or 0.0, self._politeness.max_delay_s))

    def may_be_asked(self, host: int, now: float) -> bool:
        """Whether its own clock allows it."""
        clock = self[host]
        return _ready_at(clock) <= now and clock.pace.in_use < self._politeness.per_host

    def has_room(self, host: int) -> bool:
        """Whether its address takes one more request; if not, the host is told when it does."""
        name = self[host].address
        if name is None:
            return True
        address = self._addresses[name]
        if address.in_use < self._politeness.per_address:
            return True
        address.waiting[host] = None
        return False

    def begin(self, host: int, now: float) -> None:
        """A request to it starts."""
        clock = self[host]
        clock.in_use += 1
        clock.pace.in_use += 1
        self._pause(host, now)
        if clock.address is not None:
            self._addresses[clock.address].in_use += 1
        if clock.pace.in_use < self._politeness.per_host:
            self.resume_when_ready(host, now)

    def end(self, host: int, now: float) -> None:
        """A request to it is over."""
        clock = self[host]
        clock.in_use -= 1
        clock.pace.in_use -= 1
        self._pause(host, now)
        for one in clock.pace.hosts:
            self.resume_when_ready(one, now)
        if clock.address is not None:
            self._leave(clock.address)

    def _pause(self, host: int, now: float) -> None:
        pace = self[host].pace
        pace.free_at = max(pace.free_at, now + self.delay_s(host))

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
        if clock.pace.in_use >= self._politeness.per_host:
            return
        ready_at = _ready_at(clock)
        if ready_at <= now:
            self._let_ask(host)
        else:
            heappush(self._wakes, (ready_at, host))

    def invite(self, host: int, call: Callable[[], None]) -> None:
        """A guest is called, once, when the host may be asked."""
        self._guests[host].append(call)

    def _let_ask(self, host: int) -> None:
        if host not in self._guests:
            self._resume(host)
            return
        call = self._guests[host].popleft()
        if not self._guests[host]:
            del self._guests[host]
        call()

    def wake(self, now: float) -> None:
        """Resume the hosts whose time has come."""
        while self._wakes and self._wakes[0][0] <= now:
            self.resume_when_ready(heappop(self._wakes)[1], now)
        for name in sorted(self._vacant):
            self._let_in(name, now)

    def next_wake(self) -> float | None:
        """When the next host's time comes; a moment of the past if it has come already."""
        if self._vacant:
            return -inf
        return self._wakes[0][0] if self._wakes else None

    def _leave(self, name: str) -> None:
        address = self._addresses[name]
        address.in_use -= 1
        if address.waiting:
            self._vacant.add(name)
        elif not address.in_use:
            del self._addresses[name]

    def _let_in(self, name: str, now: float) -> None:
        """As many as there is room for. Who is let in may not go: then the next ones are."""
        address = self._addresses[name]
        room = self._politeness.per_address - address.in_use
        for host in list(islice(address.waiting, room)):
            del address.waiting[host]
            self.resume_when_ready(host, now)
        if not room or not address.waiting:
            self._vacant.discard(name)


def _ready_at(clock: Host) -> float:
    return max(clock.ready_at, clock.pace.free_at)
