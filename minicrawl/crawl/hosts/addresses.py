"""Limits of an address: number of requests, time between them, and the host that is next.

Laws: an address has at most `per_address` requests at once, and its own delay lies between the
starts of two requests, whatever hosts they name. Where several crawls share an address, each has a
share of both limits, and sends no request before it has one. Of the hosts that wait for an address,
the one with the least rank is next; of equals, the one that has waited longest.

Example: the delay is 0.5 s, and the hosts a, b and c are at one address. b has rank -5, c has -9,
as its next page has more cash.

    at 0.0 s    request to a. b and c find no room, and wait
    at 0.5 s    c is admitted: until 0.75 it alone finds room
    at 0.6 s    request to c, which had to wait for its own delay. The address is free at 1.1
    at 1.1 s    b is admitted

If c had sent no request by 0.75, for example because its page was settled without one, b would have
been admitted then. Without the quarter of a second for c alone, a host that becomes ready at that
moment would overtake it again and again.

No host is forgotten, even if the admitted one sends no request. Ranks go stale, as pages are given
cash while their host waits: so after half of the waiting hosts were admitted one by one, all of
them are, and those without room wait again with new ranks.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import heappop, heappush
from ipaddress import ip_address
from itertools import count
from math import inf
from typing import Protocol

from minicrawl.config import Politeness
from minicrawl.config.values.kinds import AUTO

Rank = tuple[float, float, bool]
"""Least first: precedence of a host, negated key of its page, and whether the host is unknown."""
FIRST: Rank = (-inf, -inf, False)
_ALONE = 0.5
"""Part of an address's delay in which only the admitted host finds room."""
_FEWEST_ONE_BY_ONE = 4
_MOST_ADDRESSES = 1000
_FEWEST_ADDRESSES = 1000
"""Number of addresses below which none is forgotten."""

AddressDelay = Callable[[str], float]


def address_delay(politeness: Politeness, targets: Collection[str] = ()) -> AddressDelay:
    """Return the function that gives the delay between two requests to an address.

    With --delay 0 or auto, loopback addresses and the `targets` of --resolve have no delay.
    """
    spares_own = politeness.delay_s in (0, AUTO)

    def delay_s(address: str) -> float:
        if spares_own and (address in targets or is_loopback(address)):
            return 0.0
        return politeness.address_delay_s

    return delay_s


@lru_cache(_MOST_ADDRESSES)
def is_loopback(address: str) -> bool:
    """Return True for an address of this machine."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


class AddressShares(Protocol):
    """Our shares of the paces of addresses to which other crawls send requests as well."""

    def share_of(self, name: str) -> float:
        """Return our share of the address, at most 1; 0 until the others have agreed."""

    def want(self, name: str) -> None:
        """Ask for a share of the address, which hosts wait for."""


@dataclass(slots=True)
class _Address:
    """Limits of one address, and the hosts that wait for it."""

    delay_s: float
    most: int  # requests at once
    free_at: float = 0.0
    in_use: int = 0
    waiting: set[int] = field(default_factory=set)
    queue: list[tuple[Rank, int, int]] = field(default_factory=list)  # heap of waiting hosts
    has_alarm: bool = False
    admitted: int | None = None  # host that finds room alone until `alone_until`
    one_by_one: int = 0  # hosts admitted one by one since all were admitted at once
    alone_until: float = 0.0

    def release(self, most: int) -> list[int]:
        """Remove and return the next hosts."""
        hosts = [heappop(self.queue)[2] for _ in range(min(most, len(self.queue)))]
        self.waiting.difference_update(hosts)
        return hosts

    def release_one(self, now: float) -> list[int]:
        """Remove and return the next host, for which room is kept; now and then, all hosts."""
        if self.one_by_one >= max(_FEWEST_ONE_BY_ONE, len(self.queue) // 2):
            self.one_by_one = 0
            return self.release(len(self.queue))
        hosts = self.release(1)
        for self.admitted in hosts:
            self.one_by_one += 1
            self.alone_until = now + self.delay_s * _ALONE
        return hosts


class AddressPacing:
    """Limits of all addresses, and the hosts that wait for them."""

    def __init__(self, per_address: int, delay_s: AddressDelay) -> None:
        self._per_address, self._delay_s = per_address, delay_s
        self._addresses: dict[str, _Address] = {}
        self._most_addresses = _FEWEST_ADDRESSES
        self._numbers = count()
        self._alarms: list[tuple[float, str]] = []  # heap: end of each address's delay
        self._vacant: set[str] = set()  # addresses with room and waiting hosts
        self.shares: AddressShares | None = None

    def __len__(self) -> int:
        return len(self._addresses)

    def change(self, delay_s: AddressDelay) -> None:
        """Change the delays, also for addresses contacted already."""
        self._delay_s = delay_s
        for name, address in self._addresses.items():
            # The new delay counts from the last request, as the former one did.
            former = address.delay_s
            address.delay_s, address.most = self._limits(name)
            address.free_at += address.delay_s - former

    def change_share(self, name: str, now: float) -> None:
        """Update our share of the address. If we had none, the delay starts now, as another crawl
        may have contacted the address just before.
        """
        address = self._addresses.get(name)
        if address is None:
            return
        had_none, former = not address.most, address.delay_s
        address.delay_s, address.most = self._limits(name)
        if had_none:
            address.free_at = max(address.free_at, now + address.delay_s)
        else:
            address.free_at += address.delay_s - former
        if address.waiting:
            self._vacant.add(name)

    def is_within_share(self, name: str) -> bool:
        """Return whether no more requests are under way than our share allows."""
        address = self._addresses.get(name)
        return address is None or address.in_use <= address.most

    def is_in_use(self, name: str, since: float) -> bool:
        """Return whether hosts wait for the address, or it was contacted after `since`."""
        address = self._addresses.get(name)
        if address is None:
            return False
        return bool(address.in_use or address.waiting) or address.free_at > since

    def has_room(self, name: str, host: int, now: float) -> bool:
        """Return whether the address takes one more request, to that host."""
        address = self._addresses.get(name)
        if address is None:
            return self.shares is None or self._limits(name)[1] > 0
        if address.in_use >= address.most or address.free_at > now:
            return False
        # Room for one is the room of the host that precedes the others, if any does.
        if now < address.alone_until:
            return host == address.admitted
        return not (address.delay_s and address.waiting)

    def wait(self, name: str, host: int, rank: Rank, now: float) -> None:
        """Let the host wait until the address, which has no room now, takes one more request."""
        address = self._address(name, now)
        if host not in address.waiting:  # otherwise it keeps its rank
            address.waiting.add(host)
            heappush(address.queue, (rank, next(self._numbers), host))
        self._set_alarm(name, address, now)
        if not address.most and self.shares is not None:
            self.shares.want(name)

    def begin(self, name: str, now: float) -> None:
        """Note the start of a request."""
        address = self._address(name, now)
        address.in_use += 1
        address.free_at = now + address.delay_s
        address.alone_until = 0.0

    def end(self, name: str) -> None:
        address = self._addresses[name]
        address.in_use -= 1
        if address.waiting:
            self._vacant.add(name)

    def admit(self, now: float) -> list[int]:
        """Remove and return the hosts that need not wait any longer."""
        while self._alarms and self._alarms[0][0] <= now:
            name = heappop(self._alarms)[1]
            self._addresses[name].has_alarm = False
            self._vacant.add(name)
        admitted = list[int]()
        # Sorted, because a set of strings has another order in each process, and a deterministic
        # crawl has to admit its hosts in the same one.
        for name in sorted(self._vacant):
            address = self._addresses[name]
            is_free = max(address.free_at, address.alone_until) <= now
            room = max(0, address.most - address.in_use) if is_free else 0
            # At an address with a delay, one host.
            one_by_one = room and address.delay_s
            admitted += address.release_one(now) if one_by_one else address.release(room)
            if address.delay_s or not room or not address.waiting:
                self._vacant.discard(name)
            if address.waiting:
                self._set_alarm(name, address, now)
        return admitted

    def next_wake(self) -> float | None:
        """Return when hosts can be admitted; a past time if some can be now."""
        if self._vacant:
            return -inf
        return self._alarms[0][0] if self._alarms else None

    def _set_alarm(self, name: str, address: _Address, now: float) -> None:
        """Wake up at the end of the delay, or of the time in which only another host has room."""
        due = max(address.free_at, address.alone_until)
        if due > now and not address.has_alarm:
            address.has_alarm = True
            heappush(self._alarms, (due, name))

    def _address(self, name: str, now: float) -> _Address:
        address = self._addresses.get(name)
        if address is None:
            if len(self._addresses) >= self._most_addresses:
                self._addresses = {
                    name: known
                    for name, known in self._addresses.items()
                    if known.in_use or known.waiting or known.has_alarm or known.free_at > now
                }
                # Twice the number in use: with less, each further address would look at all of
                # them again.
                self._most_addresses = max(2 * len(self._addresses), _FEWEST_ADDRESSES)
            address = self._addresses[name] = _Address(*self._limits(name))
        return address

    def _limits(self, name: str) -> tuple[float, int]:
        """Return our delay and the most requests at once.

        Addresses without a delay are not shared: each crawl contacts them at any pace.
        """
        delay_s, most = self._delay_s(name), self._per_address
        if self.shares is None or not delay_s:
            return delay_s, most
        share = self.shares.share_of(name)
        # However small the share, one request at a time is allowed: the longer delay keeps the
        # pace.
        return (delay_s / share, max(1, int(most * share))) if share else (delay_s, 0)
