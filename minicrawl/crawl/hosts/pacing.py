"""Addresses: how many requests each takes, how far apart, and which host is next there.

Laws: an address has at most `per_address` requests at once, and between the starts of two requests
lies its own delay, whatever the host names. Where several crawls share an address, each has a part
of both, and takes no request before it has one. Of the hosts that wait for an address the one with
the least rank is next, and of equals the one that has waited longest. Where there is a delay, it
finds room alone for half of it: a host that is ready just now would be quicker than one that must
be located first. None is forgotten, even if one that was let in sends no request. Ranks grow old,
as pages are given cash while their host waits: so after half as many as wait were let in one by
one, all of them are, and who finds no room waits with the rank of now.
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
"""For this part of the delay of an address the host that was let in finds room alone."""
_FEWEST_ONE_BY_ONE = 4
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


class AddressShares(Protocol):
    """Which part of the pace of each address is ours, if others ask there as well."""

    def share_of(self, name: str) -> float:
        """Of the whole, which is 1; 0 until the others have agreed."""

    def want(self, name: str) -> None:
        """Hosts wait for an address that we have no share of."""


@dataclass(slots=True)
class _Address:
    delay_s: float
    most: int  # requests at once
    free_at: float = 0.0
    in_use: int = 0
    waiting: set[int] = field(default_factory=set)
    queue: list[tuple[Rank, int, int]] = field(default_factory=list)  # a heap of those that wait
    has_alarm: bool = False
    let_in: int | None = None  # the host that finds room alone
    one_by_one: int = 0  # so many were let in since all were
    alone_until: float = 0.0

    def is_open_to(self, host: int, now: float) -> bool:
        """Whether nobody is before the host."""
        if now < self.alone_until:
            return host == self.let_in
        return not (self.delay_s and self.waiting)

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

    def release_one(self, now: float) -> list[int]:
        """The next one waits no longer and finds room alone, or all of them do."""
        if self.one_by_one >= max(_FEWEST_ONE_BY_ONE, len(self.queue) // 2):
            self.one_by_one = 0
            return self.release(len(self.queue))
        hosts = self.release(1)
        for self.let_in in hosts:
            self.one_by_one += 1
            self.alone_until = now + self.delay_s * _ALONE
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
        self.shares: AddressShares | None = None

    def __len__(self) -> int:
        return len(self._addresses)

    def change(self, delay_s: AddressDelay) -> None:
        """Other delays hold from now on, for what has been requested already as well."""
        self._delay_s = delay_s
        for name, address in self._addresses.items():
            former = address.delay_s
            address.delay_s, address.most = self._limits(name)
            address.free_at += address.delay_s - former

    def change_share(self, name: str, now: float) -> None:
        """Our share of the address is another one. Who had none waits its delay first, as others
        may have asked just now.
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
        """Whether no more requests are under way than our share allows."""
        address = self._addresses.get(name)
        return address is None or address.in_use <= address.most

    def is_in_use(self, name: str, since: float) -> bool:
        """Whether somebody waits for the address, or it was asked since then."""
        address = self._addresses.get(name)
        if address is None:
            return False
        return bool(address.in_use or address.waiting) or address.free_at > since

    def has_room(self, name: str, host: int, now: float) -> bool:
        """Whether the address takes one more request, which is to that host."""
        address = self._addresses.get(name)
        if address is None:
            return self.shares is None or self._limits(name)[1] > 0
        has_room = address.in_use < address.most and address.free_at <= now
        return has_room and address.is_open_to(host, now)

    def wait(self, name: str, host: int, rank: Rank, now: float) -> None:
        """The host is let in when the address, which has no room now, takes one more request."""
        address = self._address(name, now)
        address.wait(host, rank, next(self._numbers))
        self._set_alarm(name, address, now)
        if not address.most and self.shares is not None:
            self.shares.want(name)

    def begin(self, name: str, now: float) -> None:
        """A request starts."""
        address = self._address(name, now)
        address.in_use += 1
        address.free_at = now + address.delay_s
        address.alone_until = 0.0

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
        is_free = max(address.free_at, address.alone_until) <= now
        room = max(0, address.most - address.in_use) if is_free else 0
        hosts = address.release_one(now) if room and address.delay_s else address.release(room)
        if address.delay_s or not room or not address.waiting:
            self._vacant.discard(name)
        if address.waiting:
            self._set_alarm(name, address, now)
        return hosts

    def _set_alarm(self, name: str, address: _Address, now: float) -> None:
        """Hosts wait for its delay to be over, or for one that was let in before them."""
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
        """Our delay there, and the most requests at once. Addresses without a delay are not shared:
        each crawl asks them at any pace.
        """
        delay_s, most = self._delay_s(name), self._per_address
        if self.shares is None or not delay_s:
            return delay_s, most
        share = self.shares.share_of(name)
        return (delay_s / share, max(1, int(most * share))) if share else (delay_s, 0)

    def _forget_idle(self, now: float) -> None:
        """Forget the addresses that nothing is known of any more."""
        self._addresses = {
            name: address
            for name, address in self._addresses.items()
            if address.in_use or address.waiting or address.has_alarm or address.free_at > now
        }
        self._most_addresses = max(2 * len(self._addresses), _FEWEST_ADDRESSES)


# ================================================================ crawl pace
#
# The pace of the whole crawl: so many requests and bytes a second, and only at some hours.
#
# Laws: requests of all kinds count, side requests too. Between the starts of two requests lies the
# time that the rate gives each; after an answer lies the time that its bytes take at the rate, so
# the average holds, and what is under way is not slowed. A pause is not made up for later. Outside
# the hours of the local day no request begins. Another pace, which the user may set while the crawl
# runs, holds from then on: the next request waits for the time that the new rate gives. Nothing of
# this is stored: a run that is resumed has the pace from its first request on.

LOOK_AGAIN_S = 60.0
"""The local time may jump; while the crawl waits for its hours it looks this often."""
_DAY_MIN, _HOUR_MIN, _MIN_S = 24 * 60, 60, 60


class CrawlPace:
    """When the next request of the crawl may begin."""

    def __init__(self, politeness: Politeness, clock: Clock) -> None:
        self._clock = clock
        self._rates = rates_of(politeness.max_rate)
        self._hours = hours_of(politeness.hours)
        self._free_at = 0.0
        self._replaced = asyncio.Event()

    @classmethod
    def of(cls, politeness: Politeness, clock: Clock) -> CrawlPace | None:
        """None if the settings limit nothing."""
        is_limited = politeness.max_rate is not None or politeness.hours is not None
        return cls(politeness, clock) if is_limited else None

    def wait_s(self, now: float) -> float:
        """How long no request begins; 0 if one may."""
        return max(self._free_at - now, min(self.closed_s(), LOOK_AGAIN_S), 0.0)

    def closed_s(self) -> float:
        """How long until its hours begin; 0 within them."""
        if self._hours is None:
            return 0.0
        local = time.localtime(self._clock.today())
        return closed_s(self._hours, local.tm_hour, local.tm_min, local.tm_sec)

    @property
    def opens(self) -> str:
        """When its hours begin, for people."""
        begin, _ = self._hours or (0, 0)
        return f"{begin // _HOUR_MIN}:{begin % _HOUR_MIN:02}"

    def begin(self, now: float) -> None:
        """A request begins."""
        if self._rates.requests:
            self._free_at = max(self._free_at, now) + 1 / self._rates.requests

    def receive(self, fetched: FetchResult, now: float) -> None:
        """An answer has come."""
        if self._rates.bytes and isinstance(fetched, Response):
            self._free_at = max(self._free_at, now) + fetched.wire_bytes / self._rates.bytes

    async def wait(self) -> None:
        """Until a request may begin, or another pace holds."""
        while not self._replaced.is_set() and (wait_s := self.wait_s(self._clock.now())) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._replaced.wait()

    def follow(self, former: CrawlPace | None, now: float) -> None:
        """It holds from now on in place of the former one."""
        if self._rates.requests:
            self._free_at = now + 1 / self._rates.requests
        if former is not None:
            former.end()

    def end(self) -> None:
        """Another pace holds, or none: who waits for this one looks again."""
        self._replaced.set()


def closed_s(hours: tuple[int, int], hour: int, minute: int, second: int) -> float:
    """How long until these hours begin, in minutes of the day; they may lie over midnight."""
    begin, end = hours
    at = hour * _HOUR_MIN + minute
    if (at - begin) % _DAY_MIN < (end - begin) % _DAY_MIN:
        return 0.0
    return float((begin - at) % _DAY_MIN * _MIN_S - second)
