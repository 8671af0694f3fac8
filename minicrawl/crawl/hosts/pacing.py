"""Addresses: number of requests, time between requests, and order of the hosts that wait.

Laws: an address has at most `per_address` requests at once, and its own delay lies between the
starts of two requests, whatever hosts they name. Where several crawls share an address, each has a
part of both, and sends no request before it has one. Of the hosts that wait for an address, the one
with the least rank is next; of equals, the one that has waited longest.

Where there is a delay, the next host finds room alone for half of it: otherwise a host that is
ready just now would overtake one that must be located first. No host is forgotten, even if the
admitted one sends no request. Ranks go stale, as pages are given cash while their host waits: so
after half of the waiting hosts were admitted one by one, all of them are, and those without room
wait again with new ranks.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import heappop, heappush
from ipaddress import ip_address
from itertools import count
from math import inf
from typing import Protocol

from minicrawl.config import Politeness
from minicrawl.config.values import hours_of, rates_of
from minicrawl.model import FetchResult, Response
from minicrawl.ports import Clock

Rank = tuple[float, float, bool]
FIRST: Rank = (-inf, -inf, False)
_ALONE = 0.5
"""Part of an address's delay in which the admitted host finds room alone."""
_FEWEST_ONE_BY_ONE = 4
_FEWEST_ADDRESSES = 1000
"""Number of addresses below which none is forgotten."""

AddressDelay = Callable[[str], float]


def address_delay(
    politeness: Politeness, targets: Collection[str] = (), shards: int = 1
) -> AddressDelay:
    """Return the delay between two requests to an address; `targets` are the addresses of
    --resolve.

    Each of the `shards` has its part of the pace. Without a delay, this machine and the addresses
    that the user wrote are contacted at any pace.
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


class AddressShares(Protocol):
    """Our part of the pace of each address, where other crawls send requests as well."""

    def share_of(self, name: str) -> float:
        """Return our share of the address, at most 1; 0 until the others have agreed."""

    def want(self, name: str) -> None:
        """Ask for a share of the address, which hosts wait for."""


@dataclass(slots=True)
class _Address:
    delay_s: float
    most: int  # requests at once
    free_at: float = 0.0
    in_use: int = 0
    waiting: set[int] = field(default_factory=set)
    queue: list[tuple[Rank, int, int]] = field(default_factory=list)  # heap of waiting hosts
    has_alarm: bool = False
    let_in: int | None = None  # admitted host, which finds room alone
    one_by_one: int = 0  # number admitted one by one since all were
    alone_until: float = 0.0

    def is_open_to(self, host: int, now: float) -> bool:
        """Return whether no other host precedes this one."""
        if now < self.alone_until:
            return host == self.let_in
        return not (self.delay_s and self.waiting)

    def wait(self, host: int, rank: Rank, number: int) -> None:
        """Enqueue a host, unless it waits already: then it keeps its rank."""
        if host not in self.waiting:
            self.waiting.add(host)
            heappush(self.queue, (rank, number, host))

    def release(self, most: int) -> list[int]:
        """Remove and return the next hosts."""
        hosts = [heappop(self.queue)[2] for _ in range(min(most, len(self.queue)))]
        self.waiting.difference_update(hosts)
        return hosts

    def release_one(self, now: float) -> list[int]:
        """Remove and return the next host, which finds room alone, or after a while all hosts."""
        if self.one_by_one >= max(_FEWEST_ONE_BY_ONE, len(self.queue) // 2):
            self.one_by_one = 0
            return self.release(len(self.queue))
        hosts = self.release(1)
        for self.let_in in hosts:
            self.one_by_one += 1
            self.alone_until = now + self.delay_s * _ALONE
        return hosts


class AddressPacing:
    """Addresses that requests are sent to."""

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
            former = address.delay_s
            address.delay_s, address.most = self._limits(name)
            address.free_at += address.delay_s - former

    def change_share(self, name: str, now: float) -> None:
        """Update our share of the address. If we had none, its delay starts now: another crawl may
        have contacted it just before.
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
        has_room = address.in_use < address.most and address.free_at <= now
        return has_room and address.is_open_to(host, now)

    def wait(self, name: str, host: int, rank: Rank, now: float) -> None:
        """Let the host wait until the address, which has no room now, takes one more request."""
        address = self._address(name, now)
        address.wait(host, rank, next(self._numbers))
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
        """Note the end of a request."""
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
        return [host for name in sorted(self._vacant) for host in self._admit_to(name, now)]

    def next_wake(self) -> float | None:
        """Return when hosts can be admitted; a past time if some can be now."""
        if self._vacant:
            return -inf
        return self._alarms[0][0] if self._alarms else None

    def _admit_to(self, name: str, now: float) -> list[int]:
        """Admit hosts while there is room. If one sends no request, the next is admitted later."""
        address = self._addresses[name]
        is_free = max(address.free_at, address.alone_until) <= now
        room = max(0, address.most - address.in_use) if is_free else 0
        hosts = address.release_one(now) if room and address.delay_s else address.release(room)
        if address.delay_s or not room or not address.waiting:
            self._vacant.discard(name)
        if address.waiting:
            self._set_alarm(name, address, now)
        return hosts

    def _set_alarm(self, name: str, address: _Address, now: float) -> None:
        """Wake up at the end of the delay, or of the time that another host has alone."""
        due = max(address.free_at, address.alone_until)
        if due > now and not address.has_alarm:
            address.has_alarm = True
            heappush(self._alarms, (due, name))

    def _address(self, name: str, now: float) -> _Address:
        address = self._addresses.get(name)
        if address is None:
            if len(self._addresses) >= self._most_addresses:
                self._forget_idle(now)
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
        return (delay_s / share, max(1, int(most * share))) if share else (delay_s, 0)

    def _forget_idle(self, now: float) -> None:
        """Forget the idle addresses."""
        self._addresses = {
            name: address
            for name, address in self._addresses.items()
            if address.in_use or address.waiting or address.has_alarm or address.free_at > now
        }
        self._most_addresses = max(2 * len(self._addresses), _FEWEST_ADDRESSES)


# ================================================================ crawl pace
#
# Pace of the whole crawl: requests and bytes per second, and hours of the day.
#
# Laws: requests of all kinds count, side requests too. The time that the request rate allows lies
# between the starts of two requests; the time that the bytes of a response take at the byte rate
# follows it, so the average holds, and transfers under way are not slowed. A pause is not made up
# for later. No request begins outside the hours of the local day. The user may change the pace
# while the crawl runs: the next request waits for the time that the new rate allows. Nothing of
# this is stored: a resumed run has the pace from its first request on.

LOOK_AGAIN_S = 60.0
"""Time between looks at the local time, which may jump, while the crawl waits for its hours."""
_DAY_MIN, _HOUR_MIN, _MIN_S = 24 * 60, 60, 60


class CrawlPace:
    """Decides when the next request of the crawl may begin."""

    def __init__(self, politeness: Politeness, clock: Clock) -> None:
        self._clock = clock
        self._rates = rates_of(politeness.max_rate)
        self._hours = hours_of(politeness.hours)
        self._free_at = 0.0
        self._replaced = asyncio.Event()

    @classmethod
    def of(cls, politeness: Politeness, clock: Clock) -> CrawlPace | None:
        """Return the pace that the settings ask for, or None."""
        is_limited = politeness.max_rate is not None or politeness.hours is not None
        return cls(politeness, clock) if is_limited else None

    def wait_s(self, now: float) -> float:
        """Return the time until a request may begin, or 0."""
        return max(self._free_at - now, min(self.closed_s(), LOOK_AGAIN_S), 0.0)

    def closed_s(self) -> float:
        """Return the time until the next hours begin, or 0 within them."""
        if self._hours is None:
            return 0.0
        local = time.localtime(self._clock.today())
        return closed_s(self._hours, local.tm_hour, local.tm_min, local.tm_sec)

    @property
    def opens(self) -> str:
        """Start of the hours, for people."""
        begin, _ = self._hours or (0, 0)
        return f"{begin // _HOUR_MIN}:{begin % _HOUR_MIN:02}"

    def begin(self, now: float) -> None:
        """Note the start of a request."""
        if self._rates.requests:
            self._free_at = max(self._free_at, now) + 1 / self._rates.requests

    def receive(self, fetched: FetchResult, now: float) -> None:
        """Note a response."""
        if self._rates.bytes and isinstance(fetched, Response):
            self._free_at = max(self._free_at, now) + fetched.wire_bytes / self._rates.bytes

    async def wait(self) -> None:
        """Wait until a request may begin, or another pace applies."""
        while not self._replaced.is_set() and (wait_s := self.wait_s(self._clock.now())) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._replaced.wait()

    def follow(self, former: CrawlPace | None, now: float) -> None:
        """Take the place of the former pace from now on."""
        if self._rates.requests:
            self._free_at = now + 1 / self._rates.requests
        if former is not None:
            former.end()

    def end(self) -> None:
        """Wake the waiting requests: another pace applies from now on, or none."""
        self._replaced.set()


def closed_s(hours: tuple[int, int], hour: int, minute: int, second: int) -> float:
    """Return the time until these hours begin, in minutes of the day; they may span midnight."""
    begin, end = hours
    at = hour * _HOUR_MIN + minute
    if (at - begin) % _DAY_MIN < (end - begin) % _DAY_MIN:
        return 0.0
    return float((begin - at) % _DAY_MIN * _MIN_S - second)
