"""Addresses: how many requests each takes, how far apart, and which host is next there.

Laws: an address has at most `per_address` requests at once, and between the starts of two requests
lies its own delay, whatever the host names. Of the hosts that wait for an address the one with the
least rank is next, and of equals the one that has waited longest; none is forgotten, even if one
that was let in sends no request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from heapq import heappop, heappush
from ipaddress import ip_address
from itertools import count
from math import inf

from minicrawl.config import Politeness

Rank = tuple[float, bool]
FIRST: Rank = (-inf, False)
_FEWEST_ADDRESSES = 1000
"""With fewer than these none is forgotten."""

AddressDelay = Callable[[str], float]


def address_delay(
    politeness: Politeness, targets: Collection[str] = (), shards: int = 1
) -> AddressDelay:
    """The pause between two requests to an address; `targets` are those of --resolve. Each of so
    many `shards` has its part of the pace.

    Without a delay one's own machine and the addresses that the user wrote are asked at any pace.
    """

    def delay_s(address: str) -> float:
        if politeness.delay_s or not (address in targets or _is_loopback(address)):
            return politeness.address_delay_s * shards
        return 0.0

    return delay_s


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


@dataclass(slots=True)
class _Address:
    delay_s: float
    free_at: float = 0.0
    in_use: int = 0
    waiting: set[int] = field(default_factory=set)
    queue: list[tuple[Rank, int, int]] = field(default_factory=list)  # a heap of those that wait
    has_alarm: bool = False

    def wait(self, host: int, rank: Rank, number: int) -> None:
        """A host that waits already keeps its rank."""
        if host not in self.waiting:
            self.waiting.add(host)
            heappush(self.queue, (rank, number, host))

    def release(self, most: int) -> list[int]:
        """The next ones wait no longer."""
        hosts = [heappop(self.queue)[2] for _ in range(min(most, len(self.queue)))]
        self.waiting.difference_update(hosts)
        return hosts


class AddressPacing:
    """All addresses that requests are sent to."""

    def __init__(self, per_address: int, delay_s: AddressDelay) -> None:
        self._per_address, self._delay_s = per_address, delay_s
        self._addresses: dict[str, _Address] = {}
        self._most_addresses = _FEWEST_ADDRESSES
        self._numbers = count()
        self._alarms: list[tuple[float, str]] = []  # a heap: when the delay of an address is over
        self._vacant: set[str] = set()  # addresses that have room, and hosts that wait for it

    def __len__(self) -> int:
        return len(self._addresses)

    def change(self, delay_s: AddressDelay) -> None:
        """Other delays hold from now on, for what has been requested already as well."""
        self._delay_s = delay_s
        for name, address in self._addresses.items():
            former, address.delay_s = address.delay_s, delay_s(name)
            address.free_at += address.delay_s - former

    def has_room(self, name: str, now: float) -> bool:
        """Whether the address takes one more request."""
        address = self._addresses.get(name)
        return address is None or (address.in_use < self._per_address and address.free_at <= now)

    def wait(self, name: str, host: int, rank: Rank, now: float) -> None:
        """The host is let in when the address, which has no room now, takes one more request."""
        address = self._address(name, now)
        address.wait(host, rank, next(self._numbers))
        self._set_alarm(name, address, now)

    def begin(self, name: str, now: float) -> None:
        """A request starts."""
        address = self._address(name, now)
        address.in_use += 1
        address.free_at = now + address.delay_s

    def end(self, name: str) -> None:
        """A request is over."""
        address = self._addresses[name]
        address.in_use -= 1
        if address.waiting:
            self._vacant.add(name)

    def admit(self, now: float) -> list[int]:
        """The hosts that wait no longer, as there is room at their addresses now."""
        while self._alarms and self._alarms[0][0] <= now:
            name = heappop(self._alarms)[1]
            self._addresses[name].has_alarm = False
            self._vacant.add(name)
        return [host for name in sorted(self._vacant) for host in self._admit_to(name, now)]

    def next_wake(self) -> float | None:
        """When hosts can be admitted; a moment of the past if some can be now."""
        if self._vacant:
            return -inf
        return self._alarms[0][0] if self._alarms else None

    def _admit_to(self, name: str, now: float) -> list[int]:
        """As many as there is room for. If one sends no request, the next one is admitted later."""
        address = self._addresses[name]
        room = self._per_address - address.in_use if address.free_at <= now else 0
        hosts = address.release(min(room, 1) if address.delay_s else room)
        if not room or not address.waiting:
            self._vacant.discard(name)
        if address.waiting:
            self._set_alarm(name, address, now)
        return hosts

    def _set_alarm(self, name: str, address: _Address, now: float) -> None:
        """Hosts wait for its delay to be over."""
        if address.free_at > now and not address.has_alarm:
            address.has_alarm = True
            heappush(self._alarms, (address.free_at, name))

    def _address(self, name: str, now: float) -> _Address:
        address = self._addresses.get(name)
        if address is None:
            if len(self._addresses) >= self._most_addresses:
                self._forget_idle(now)
            address = self._addresses[name] = _Address(self._delay_s(name))
        return address

    def _forget_idle(self, now: float) -> None:
        """Forget the addresses that nothing is known of any more."""
        self._addresses = {
            name: address
            for name, address in self._addresses.items()
            if address.in_use or address.waiting or address.has_alarm or address.free_at > now
        }
        self._most_addresses = max(2 * len(self._addresses), _FEWEST_ADDRESSES)
