"""Resolves hosts to the addresses that may be connected to, and refuses all others.

place     an address and a port to connect to
trusted   a host and a port that the user wrote as an address or as localhost; it may be private

Laws: a connection goes to the address that was checked, because a name is resolved once and the
result is kept. An address is allowed if it is public, or if the user allows all. An address that a
rule leads to, or whose host and port are trusted, is allowed too, but not if the user forbids
private addresses. A port that browsers block is never used. Hosts are spelled as in URLs, but IPv6
without brackets.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address
from itertools import zip_longest
from typing import NamedTuple

from minicrawl.fetch.where.lookups import Lookup, LookupAnswer, NoSuchName
from minicrawl.fetch.where.targets import (
    ConnectTarget,
    Origin,
    ResolveRules,
    is_public,
    target,
)
from minicrawl.model import Failed, FailureKind, Refusal, Refused

_KEPT_S = 300.0
"""An answer for which nobody said how long it holds, and that there is no such name."""
_KEPT_AT_LEAST_S, _KEPT_AT_MOST_S = 60.0, 3600.0
"""Whatever a name server says. Browsers keep answers for a minute, too."""
_FAILURE_KEPT_S = 30.0
_MOST_HOSTS = 20_000
_MOST_ADDRESSES = 32
"""Of one name; no client tries more."""
_LOCALHOST = "localhost"
_MAY_BE_TRUSTED = re.compile(r"https?://(?:\[|[0-9.]+[:/]|(?:[^/:]*\.)?localhost\.?[:/])")
"""A quick test that most seeds do not pass."""

BLOCKED_PORTS = frozenset(
    (
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179),
        *(389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601),
        *(636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000),
        *(6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    )
)
"""Ports of mail, files, names and the like: https://fetch.spec.whatwg.org/#port-blocking."""

HostAndPort = tuple[str, int]


class _Addresses(NamedTuple):
    """Of one host; `public` are those of them that anybody's link may lead to."""

    all: tuple[str, ...]
    public: tuple[str, ...]


_Resolved = _Addresses | Failed

Located = tuple[ConnectTarget, ...] | Refused | Failed
"""All places to try for a host, or why there are none."""


def trusted_among(urls: Iterable[str]) -> frozenset[HostAndPort]:
    """The addresses and localhosts, each with its port, that the user trusts by writing them.

    Other names are not trusted: their owners may point them at a private network.
    """
    likely = filter(_MAY_BE_TRUSTED.match, urls)
    origins = (asked.origin for url in likely if (asked := target(url)))
    return frozenset(
        (origin.host, origin.port)
        for origin in origins
        if _is_address(origin.host) or _is_localhost(origin.host)
    )


_SOMEWHERE_PUBLIC = 0x2A00 << 112
"""2a00::/16 is given out to networks of the whole world."""


def stand_in(host: str) -> str:
    """The address of a name that somebody else resolves: nobody here knows the real one.

    Each name has an address of its own, in a network of its own, so that no host waits for another
    one or shares its quota. localhost is what it always is.
    """
    if _is_localhost(host):
        return "127.0.0.1"
    network = int.from_bytes(blake2b(host.encode(), digest_size=6).digest(), "big")
    return str(IPv6Address(_SOMEWHERE_PUBLIC | network << 64))


async def unresolved(host: str) -> LookupAnswer:
    """A lookup for transports that resolve names by themselves."""
    return LookupAnswer([stand_in(host)])


class Resolver:
    """Finds where requests to a host may connect.

    `allow_private` is None if only rules and trusted hosts may be private. Addresses of the two
    families take turns, beginning with the preferred one: `auto` is that of the first address.
    """

    def __init__(
        self,
        lookup: Lookup,
        *,
        rules: ResolveRules,
        trusted_hosts: Collection[HostAndPort] = (),
        allow_private: bool | None = None,
        prefer_family: str = "auto",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lookup = lookup
        self._rules = rules
        self._trusted = frozenset(trusted_hosts)
        self._allow_private = allow_private
        self._prefer_family = prefer_family
        self._clock = clock
        self._kept_results: OrderedDict[str, tuple[float, _Resolved]] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[_Resolved]] = {}

    def with_lookup(self, lookup: Lookup) -> "Resolver":
        """A resolver with the same rules that asks somebody else."""
        return Resolver(
            lookup,
            rules=self._rules,
            trusted_hosts=self._trusted,
            allow_private=self._allow_private,
            prefer_family=self._prefer_family,
        )

    def places_of(self, origin: Origin) -> Awaitable[Located]:
        """The same by the origin of a request."""
        return self.locate(origin.host, origin.port)

    async def locate(self, host: str, port: int) -> Located:
        """All places to try for a host, or why there are none."""
        if port in BLOCKED_PORTS:
            return _refused(f"port {port} is not one of the web: browsers block it")
        if place := self._rules.place(host, port):
            return self._ruled(host, place)
        result = self._kept(host) or await self._look_up(host)
        if isinstance(result, Failed):
            return result
        addresses = result.all if self._may_be_private(host, port) else result.public
        if not addresses:
            return self._private(host, result.all[0])
        return tuple(ConnectTarget(address, port) for address in addresses)

    def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()

    def _ruled(self, host: str, place: ConnectTarget) -> tuple[ConnectTarget, ...] | Refused:
        if self._allow_private is False and not is_public(ip_address(place.address)):
            return self._private(host, place.address)
        return (place,)

    def _may_be_private(self, host: str, port: int) -> bool:
        if self._allow_private is None:
            return (host, port) in self._trusted
        return self._allow_private

    def _private(self, host: str, address: str) -> Refused:
        where = f"{host} is" if host == address else f"{host} is at {address}, which is"
        if self._allow_private is False:
            return _refused(f"{where} not public (--no-allow-private)")
        name, written = (f"[{it}]" if ":" in it else it for it in (host, address))
        if host == address:
            return _refused(f"{where} not public: --allow-private")
        return _refused(f"{where} not public: --allow-private, or --resolve {name}={written}")

    def _kept(self, host: str) -> _Resolved | None:
        until, result = self._kept_results.get(host, (0.0, None))
        if result is None or until < self._clock():
            return None
        self._kept_results.move_to_end(host)
        return result

    async def _look_up(self, host: str) -> _Resolved:
        """One lookup serves all requests that wait for it; cancelling one does not cancel it."""
        task = self._under_way.get(host)
        if task is None:
            task = self._under_way[host] = asyncio.create_task(self._resolve(host))
            task.add_done_callback(lambda _: self._under_way.pop(host))
        return await asyncio.shield(task)

    async def _resolve(self, host: str) -> _Resolved:
        result: _Resolved
        try:
            answer = LookupAnswer([host]) if _is_address(host) else await self._lookup(host)
        except OSError as error:
            kept_s = _KEPT_S if isinstance(error, NoSuchName) else _FAILURE_KEPT_S
            result = Failed(kind=FailureKind.DNS, detail=f"{host}: {error}")
        else:
            kept_s = _kept_s(answer.ttl_s)
            result = _sorted_out(host, _in_turns(answer.addresses, self._prefer_family))
        self._keep(host, result, kept_s)
        return result

    def _keep(self, host: str, result: _Resolved, kept_s: float) -> None:
        self._kept_results[host] = (self._clock() + kept_s, result)
        self._kept_results.move_to_end(host)
        if len(self._kept_results) > _MOST_HOSTS:
            self._kept_results.popitem(last=False)


def _kept_s(ttl_s: float | None) -> float:
    return _KEPT_S if ttl_s is None else min(max(ttl_s, _KEPT_AT_LEAST_S), _KEPT_AT_MOST_S)


def _in_turns(addresses: Iterable[str], prefer_family: str) -> list[str]:
    """IPv6 and IPv4 in turns (RFC 8305, 4), so that one that does not work costs one attempt."""
    found = list(addresses)
    if not found:
        return found
    is_first_6 = ":" in found[0] if prefer_family == "auto" else prefer_family == "ipv6"
    first = [one for one in found if (":" in one) is is_first_6]
    second = [one for one in found if (":" in one) is not is_first_6]
    return [one for pair in zip_longest(first, second) for one in pair if one is not None]


def _sorted_out(host: str, addresses: Iterable[str]) -> _Resolved:
    found = tuple(dict.fromkeys(addresses))
    if not found:
        return Failed(kind=FailureKind.DNS, detail=f"{host}: no address")
    public = [address for address in found if is_public(ip_address(address))]
    return _Addresses(found[:_MOST_ADDRESSES], tuple(public[:_MOST_ADDRESSES]))


def _refused(detail: str) -> Refused:
    return Refused(reason=Refusal.ADDRESS, detail=detail)


def _is_localhost(host: str) -> bool:
    name = host.rstrip(".")
    return name == _LOCALHOST or name.endswith(f".{_LOCALHOST}")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
