"""Resolves hosts to addresses that may be connected to, and refuses all others.

place     an address and a port to connect to
trusted   a host and port that the user gave as an address or localhost; it may be private

Laws: a connection goes to the address that was checked, because a name is resolved once and the
result is kept. An address is allowed if it is public, or if the user allows all. Addresses from
rules, and those of trusted hosts and ports, are also allowed, unless the user forbids private
addresses. Ports that browsers block are never used. Hosts are spelled as in URLs, but IPv6 without
brackets.
"""

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from hashlib import blake2b
from ipaddress import IPv6Address, ip_address
from itertools import chain, zip_longest

from minicrawl.fetch.http.targets import ConnectTarget, target
from minicrawl.fetch.resolver.addresses import is_public
from minicrawl.fetch.resolver.lookups import Lookup, LookupAnswer, NoSuchName
from minicrawl.fetch.resolver.rules import ResolveRules
from minicrawl.model import Failed, Refused
from minicrawl.states import State

_KEPT_S = 300.0
"""TTL of answers that come without one, and of nonexistent names."""
_KEPT_AT_LEAST_S, _KEPT_AT_MOST_S = 60.0, 3600.0
"""Bounds of a TTL. Browsers, too, keep answers for a minute."""
_FAILURE_KEPT_S = 30.0
_MOST_HOSTS = 20_000
"""Hosts whose answers are kept."""
_MOST_ADDRESSES = 32
"""Addresses kept per name; no client tries more."""
_LOCALHOST = "localhost"
_MAY_BE_TRUSTED = re.compile(r"https?://(?:\[|[0-9.]+[:/]|(?:[^/:]*\.)?localhost\.?[:/])")
"""Quick test that rejects most seeds; parsing each would be slow."""

BLOCKED_PORTS = {
    *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
    *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179),
    *(389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601),
    *(636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000),
    *(6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
}
"""Ports of mail, files, names and so on: https://fetch.spec.whatwg.org/#port-blocking."""

HostAndPort = tuple[str, int]


_Resolved = tuple[list[str], list[str]] | Failed
"""All addresses of a host, and the public ones, to which any page's link may lead."""

Located = tuple[ConnectTarget, ...] | Refused | Failed
"""Places to try for a host, or why there are none."""


def trusted_among(urls: Iterable[str]) -> frozenset[HostAndPort]:
    """Return the addresses and localhosts, with ports, that the user trusts by writing them.

    Other names are not trusted: their owners may point them at a private network.
    """
    likely = filter(_MAY_BE_TRUSTED.match, urls)
    origins = (place.origin for url in likely if (place := target(url)))
    return frozenset(
        (origin.host, origin.port)
        for origin in origins
        if _is_address(origin.host) or _is_localhost(origin.host)
    )


_SOMEWHERE_PUBLIC = 0x2A00 << 112
"""2a00::/16 is allocated to networks all over the world."""


def stand_in(host: str) -> str:
    """Return a made-up address for a name that a proxy or another transport resolves.

    Each name gets an address in a network of its own, so that no host shares a quota or a queue
    with another. localhost keeps its address.
    """
    if _is_localhost(host):
        return "127.0.0.1"
    network = int.from_bytes(blake2b(host.encode(), digest_size=6).digest(), "big")
    return str(IPv6Address(_SOMEWHERE_PUBLIC | network << 64))


async def unresolved(host: str) -> LookupAnswer:
    """Return the stand-in address: a lookup for transports that resolve names themselves."""
    return LookupAnswer([stand_in(host)])


class Resolver:
    """Finds the addresses that requests to a host may connect to.

    If `allow_private` is None, only rules and trusted hosts may be private. Addresses alternate
    between the two families, beginning with that of the first address.
    """

    def __init__(
        self,
        lookup: Lookup,
        *,
        rules: ResolveRules,
        trusted_hosts: Collection[HostAndPort] = (),
        allow_private: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
        most_hosts: int = _MOST_HOSTS,
    ) -> None:
        self._lookup = lookup
        self._most_hosts = most_hosts
        self._rules = rules
        self._trusted = frozenset(trusted_hosts)
        self._allow_private = allow_private
        self._clock = clock
        self._kept_results: OrderedDict[str, tuple[float, _Resolved]] = OrderedDict()
        self._under_way: dict[str, asyncio.Task[_Resolved]] = {}

    def with_lookup(self, lookup: Lookup) -> "Resolver":
        return Resolver(
            lookup,
            rules=self._rules,
            trusted_hosts=self._trusted,
            allow_private=self._allow_private,
        )

    async def locate(self, host: str, port: int) -> Located:
        """Return the places to try for a host, or the refusal or failure if there are none."""
        if port in BLOCKED_PORTS:
            return _refused(f"port {port} is not one of the web: browsers block it")
        # Before the lookup: the user may redirect names that do not exist.
        if place := self._rules.place(host, port):
            if self._allow_private is False and not is_public(ip_address(place.address)):
                return self._private(host, place.address)
            return (place,)
        until, result = self._kept_results.get(host, (0.0, None))
        if result is None or until < self._clock():
            result = await self._look_up(host)
        else:
            self._kept_results.move_to_end(host)
        if isinstance(result, Failed):
            return result
        is_trusted = self._allow_private
        if is_trusted is None:
            is_trusted = (host, port) in self._trusted
        known, public = result
        addresses = known if is_trusted else public
        if not addresses:
            return self._private(host, known[0])
        return tuple([ConnectTarget(address, port) for address in addresses])

    def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()

    def _private(self, host: str, address: str) -> Refused:
        where = f"{host} is" if host == address else f"{host} is at {address}, which is"
        if self._allow_private is False:
            return _refused(f"{where} not public (--no-allow-private)")
        name, written = (
            f"[{spelling}]" if ":" in spelling else spelling for spelling in (host, address)
        )
        if host == address:
            return _refused(f"{where} not public: --allow-private")
        return _refused(f"{where} not public: --allow-private, or --resolve {name}={written}")

    async def _look_up(self, host: str) -> _Resolved:
        """Look up a host, once for all requests that wait; cancelling one does not cancel it."""
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
            result = Failed(kind=State.DNS, detail=f"{host}: {error}")
        else:
            kept_s = _KEPT_S
            if answer.ttl_s is not None:
                kept_s = min(max(answer.ttl_s, _KEPT_AT_LEAST_S), _KEPT_AT_MOST_S)
            # Alternating between IPv6 and IPv4 (RFC 8305, 4): a family that does not work costs one
            # attempt.
            is_first_6 = ":" in "".join(answer.addresses[:1])
            families = [
                [address for address in answer.addresses if (":" in address) is is_6]
                for is_6 in (is_first_6, not is_first_6)
            ]
            known = list(dict.fromkeys(filter(None, chain(*zip_longest(*families)))))
            public = [address for address in known if is_public(ip_address(address))]
            result = known[:_MOST_ADDRESSES], public[:_MOST_ADDRESSES]
            if not known:
                result = Failed(kind=State.DNS, detail=f"{host}: no address")
        self._kept_results[host] = (self._clock() + kept_s, result)
        self._kept_results.move_to_end(host)
        if len(self._kept_results) > self._most_hosts:
            self._kept_results.popitem(last=False)
        return result


def _refused(detail: str) -> Refused:
    return Refused(reason=State.ADDRESS, detail=detail)


def _is_localhost(host: str) -> bool:
    name = host.rstrip(".")
    return name == _LOCALHOST or name.endswith(f".{_LOCALHOST}")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
