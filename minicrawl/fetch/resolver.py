"""Resolves hosts to addresses that may be connected to, and refuses all others.

place     an address and a port to connect to
trusted   a host and port that the user gave as an address or localhost; it may be private

Laws: a connection goes to the address that was checked, because a name is resolved once and the
result is kept. An address is allowed if it is public, or if the user allows all. Addresses from
rules, and those of trusted hosts and ports, are also allowed, unless the user forbids private
addresses. Ports that browsers block are never used. Hosts are spelled as in URLs, but IPv6 without
brackets.
"""

from __future__ import annotations

import asyncio
import re
import socket
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from hashlib import blake2b
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from itertools import zip_longest
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import ada_url

from minicrawl.config import Network
from minicrawl.config.values import SYSTEM
from minicrawl.errors import UsageError
from minicrawl.fetch.http import ConnectTarget, Origin, target
from minicrawl.model import Failed, FailureKind, Refusal, Refused
from minicrawl.web.urls import site

if TYPE_CHECKING:
    import pycares


# ================================================================ lookups
#
# Lookups of names, by the system or by name servers.
#
# Laws: a lookup never blocks the event loop, and closing never waits for one.
#
# The system's resolver does not report a TTL; name servers do.


class LookupAnswer(NamedTuple):
    """Addresses of a name, and their TTL if known."""

    addresses: Sequence[str]
    ttl_s: float | None = None


class NoSuchName(OSError):
    """The name has no address, authoritatively. Other errors may be temporary."""


Lookup = Callable[[str], Awaitable[LookupAnswer]]
"""Function from a name to its addresses. It raises OSError if there are none."""


class SystemLookup:
    """System resolver, in threads of its own, as a lookup may block for minutes.

    With as many threads as parallel requests, a stuck lookup delays no other. The process can exit
    without waiting for these threads.
    """

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._threads = 0
        self._idle = Semaphore(0)  # counts the idle threads
        self._wanted = SimpleQueue[_PendingLookup | None]()

    async def __call__(self, host: str) -> LookupAnswer:
        loop = asyncio.get_running_loop()
        found: asyncio.Future[LookupAnswer] = loop.create_future()
        self._wanted.put(_PendingLookup(host, loop, found))
        # An idle thread takes the lookup from the queue. Threads are started on demand only: most
        # crawls need a few.
        if not self._idle.acquire(blocking=False) and self._threads < self._most:
            self._threads += 1
            # Daemon threads: getaddrinfo cannot be cancelled, and a name server that is silent must
            # not keep the program from ending. The threads of an executor are joined at exit.
            Thread(target=self._work, name=f"lookup-{self._threads}", daemon=True).start()
        return await found

    def close(self) -> None:
        """Stop the idle threads, and the others after their lookups."""
        for _ in range(self._threads):
            self._wanted.put(None)

    def _work(self) -> None:
        """Process lookups until told to stop."""
        while (wanted := self._wanted.get()) is not None:
            wanted.look_up()
            self._idle.release()


class _PendingLookup(NamedTuple):
    """Name to look up, and the future that waits for its addresses."""

    host: str
    loop: asyncio.AbstractEventLoop
    found: asyncio.Future[LookupAnswer]

    def look_up(self) -> None:
        if self.found.cancelled():
            return
        try:
            deliver = partial(self._deliver, self.found.set_result, _look_up(self.host))
        except Exception as error:
            deliver = partial(self._deliver, self.found.set_exception, error)
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            self.loop.call_soon_threadsafe(deliver)

    def _deliver(self, set_outcome: Callable[[Any], None], outcome: object) -> None:
        if not self.found.done():
            set_outcome(outcome)


_NO_SUCH_NAME = frozenset((socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)))


def _look_up(host: str) -> LookupAnswer:
    # As bytes: a str would be encoded by the idna codec, which refuses some valid names.
    try:
        found = socket.getaddrinfo(host.encode("ascii"), None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in _NO_SUCH_NAME:
            raise NoSuchName(str(error)) from error
        raise
    return LookupAnswer([str(sockaddr[0]) for *_, sockaddr in found])


# ================================================================ name servers
#
# Lookups by name servers, with c-ares.
#
# Laws: an answer carries its TTL. The hosts file takes precedence over name servers. Names are
# looked up as they are, without search domains. Names without a dot and names under .local are left
# to the system, as name servers do not know them. A name that does not exist is distinguished from
# failing servers. Nothing is imported before the first lookup.
#
# A malformed answer, or a closed connection, fails only the lookup of its own name. c-ares cannot
# tell which question such an answer belongs to: it drops the socket and every question waiting on
# it. So each name whose lookup ended that way, or found no address meanwhile, is looked up again on
# a channel of its own, and only that answer counts. Three names at once, of which the name server
# of bad.example sends garbage:
#
#     shared channel      a.example  b.example  x.bad.example     the garbage fails all three
#     channels of their own
#                         a.example -> 192.0.2.1                  innocent
#                         b.example -> no such name               the true answer, not garbage
#                         x.bad.example -> malformed              DNS failure of this name alone
#     from then on        y.bad.example has a channel of its own at once; c.example is shared
#
# There are at most `MOST_APART` separate channels, `MOST_OF_A_SITE` for one site, and a lookup
# there takes at most `APART_S`, so no site blocks the names of another: bad.example can occupy 4 of
# 32 channels for 30 s. Refused: a channel for each name, which takes a thread and four files.
#
# `servers` are addresses, with or without ports; if empty, the system's servers are used.

MOST_APART, MOST_OF_A_SITE = 32, 4
"""Maximum separate channels, in all and per site: each takes a thread and four files."""
APART_S = 30.0
_LOCAL = ".local"
_MOST_SITES = 10_000


def lookup_of(network: Network, threads: int) -> SystemLookup | NameServerLookup:
    """Return the lookup that the settings ask for."""
    system = SystemLookup(threads)
    if network.name_server == (SYSTEM,):
        return system
    return NameServerLookup(system, network.name_server)


class NameServerLookup:
    """Lookup by name servers. `system` looks up the names that name servers do not know."""

    def __init__(self, system: SystemLookup, servers: Sequence[str] = ()) -> None:
        self._system, self._servers = system, tuple(servers)
        self._given_up = 0  # lookups that a dropped socket ended
        self._sites = OrderedDict[str, None]()  # of names with malformed answers
        self._apart: set[pycares.Channel] = set()
        self._free = asyncio.Semaphore(MOST_APART)
        self._free_of_site = WeakValueDictionary[str, asyncio.Semaphore]()

    async def __call__(self, host: str) -> LookupAnswer:
        name = host.rstrip(".")
        if "." not in name or name.endswith(_LOCAL):
            return await self._system(host)
        if self._sites and site(name) in self._sites:
            return _answer(await self._ask_apart(host, site(name)))
        before = self._given_up
        reply = await _ask(self._channel, host)
        self._given_up += reply.is_given_up
        # Another name's bad answer may have used up the attempts of this lookup.
        if reply.error is not None and self._given_up > before:
            reply = await self._ask_apart(host, site(name))
        return _answer(reply)

    async def _ask_apart(self, host: str, of: str) -> _Reply:
        """Look up a name on a channel that no other name uses."""
        free_of_site = self._free_of_site.setdefault(of, asyncio.Semaphore(MOST_OF_A_SITE))
        try:
            async with asyncio.timeout(APART_S), free_of_site, self._free:
                with self._new_channel() as channel:
                    reply = await _ask(channel, host)
        except TimeoutError as error:
            raise OSError("the name servers do not answer") from error
        if reply.is_malformed:
            # The site is remembered, not the name: its name server can send garbage for any number
            # of names below it.
            self._sites[of] = None
            self._sites.move_to_end(of)
            if len(self._sites) > _MOST_SITES:
                self._sites.popitem(last=False)
        return reply

    def close(self) -> None:
        """Cancel the pending lookups."""
        self._system.close()
        for channel in self._apart:
            channel.close()
        if "_channel" in self.__dict__:
            self._channel.close()

    @contextmanager
    def _new_channel(self) -> Iterator[pycares.Channel]:
        channel = self._opened()
        self._apart.add(channel)
        try:
            yield channel
        finally:
            self._apart.discard(channel)
            channel.close()

    @cached_property
    def _channel(self) -> pycares.Channel:
        """Channel shared by all names of unsuspicious sites."""
        return self._opened()

    def _opened(self) -> pycares.Channel:
        import pycares

        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
        return pycares.Channel(flags=flags, servers=self._servers or None)


class _Reply(NamedTuple):
    """Addresses of a name, or the error code of c-ares."""

    result: pycares.AddrInfoResult | None
    error: int | None

    @property
    def is_malformed(self) -> bool:
        """True if an answer could not be parsed."""
        from pycares import errno

        return bool(self.error == errno.ARES_EBADRESP)

    @property
    def is_given_up(self) -> bool:
        """True if the socket was dropped, because of this name or another.

        Either an answer there could not be parsed, or the server closed the connection.
        """
        from pycares import errno

        return self.is_malformed or self.error == errno.ARES_ECONNREFUSED


async def _ask(channel: pycares.Channel, host: str) -> _Reply:
    loop = asyncio.get_running_loop()
    found: asyncio.Future[_Reply] = loop.create_future()

    def deliver(result: pycares.AddrInfoResult | None, error: int | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(_settle, found, _Reply(result, error))

    channel.getaddrinfo(host, None, type=socket.SOCK_STREAM, callback=deliver)
    return await found


def _settle(found: asyncio.Future[_Reply], reply: _Reply) -> None:
    if not found.done():  # otherwise the caller gave up
        found.set_result(reply)


def _answer(reply: _Reply) -> LookupAnswer:
    """Return the addresses, with the smallest TTL in the answer. Raises OSError."""
    result = reply.result
    if result is None or reply.error is not None:
        raise _failure(reply.error)
    ttls = [*(one.ttl for one in result.cnames), *(one.ttl for one in result.nodes)]
    return LookupAnswer([_text(node.addr[0]) for node in result.nodes], min(ttls, default=None))


def _text(said: bytes | str) -> str:
    return said.decode("ascii") if isinstance(said, bytes) else said


def _failure(error: int | None) -> OSError:
    """Return the exception for an error code of c-ares."""
    from pycares import errno

    match error:
        case errno.ARES_ENOTFOUND:
            return NoSuchName("no such name")
        case errno.ARES_ENODATA:
            return NoSuchName("the name has no address")
        case errno.ARES_ETIMEOUT:
            return OSError("the name servers do not answer")
        case errno.ARES_ECONNREFUSED:
            return OSError("no name server can be reached")
    why = "no answer" if error is None else _text(errno.strerror(error))
    return OSError(f"the name servers fail: {why}")


# ================================================================ rules
#
# Rules that redirect a host: `HOST[:PORT]=ADDRESS[:PORT]`, as in `--resolve`.
#
# HOST is a name, an address, `*.name` for all names below it, or `*` for all hosts; IPv6 addresses
# are in brackets. Only the connection is redirected: Host header, SNI and the name in the
# certificate remain the URL's.
#
# Law: the most specific matching rule wins: a full name before a wildcard, a longer wildcard before
# a shorter one, a rule with a port before one without; among equals, the last.

_SIDE = re.compile(r"(\[[^\[\]]+\]|[^\[\]:]+)(?::([0-9]{1,5}))?")
_LAST_PORT = 65535


class ResolveRule(NamedTuple):
    """One `--resolve` rule. `host` is spelled as in URLs without brackets, or `*`, or `.name`."""

    host: str
    port: int | None
    address: str
    to_port: int | None

    def matches(self, host: str, port: int) -> bool:
        if self.port not in (None, port):
            return False
        if self.host.startswith("."):
            return host.endswith(self.host)
        return self.host in ("*", host)

    def place(self, port: int) -> ConnectTarget:
        return ConnectTarget(self.address, port if self.to_port is None else self.to_port)


class ResolveRules:
    """`--resolve` rules, most specific first."""

    def __init__(self, rules: Iterable[ResolveRule]) -> None:
        self._rules = sorted(rules, key=_specificity)[::-1]

    def place(self, host: str, port: int) -> ConnectTarget | None:
        """Return where the rules redirect this host, or None if no rule matches."""
        for rule in self._rules:
            if rule.matches(host, port):
                return rule.place(port)
        return None


def _specificity(rule: ResolveRule) -> tuple[bool, int, bool]:
    is_whole = rule.host != "*" and not rule.host.startswith(".")
    return is_whole, len(rule.host), rule.port is not None


def parse_rule(text: str) -> ResolveRule:
    left, equals, right = text.partition("=")
    asked, given = _SIDE.fullmatch(left), _SIDE.fullmatch(right)
    if not equals or asked is None or given is None:
        raise _unusable(text, "expected HOST[:PORT]=ADDRESS[:PORT], IPv6 in brackets")
    return ResolveRule(
        _host(asked[1], text),
        _port(asked[2], text),
        _address(given[1], text),
        _port(given[2], text),
    )


def _host(written: str, text: str) -> str:
    if written == "*":
        return written
    wildcard, name = ("." if written.startswith("*.") else ""), written.removeprefix("*.")
    try:
        host = ada_url.URL(f"http://{name}/").hostname
    except ValueError:
        host = ""
    if not host or "*" in host:
        raise _unusable(text, f"{written!r} is not a host")
    return wildcard + host.strip("[]")


def _address(written: str, text: str) -> str:
    try:
        return str(ip_address(written.strip("[]")))
    except ValueError:
        raise _unusable(text, f"{written!r} is not an IP address") from None


def _port(written: str | None, text: str) -> int | None:
    if written is None:
        return None
    if not 0 < int(written) <= _LAST_PORT:
        raise _unusable(text, f"{written} is not a port")
    return int(written)


def _unusable(text: str, why: str) -> UsageError:
    return UsageError(f"--resolve {text!r}: {why}")


# ================================================================ addresses
#
# Which addresses are public. The list is our own, because the standard library's has gaps.
#
# An address is public if a web server there can be reached from anywhere. If an IPv6 address embeds
# the IPv4 address that receives the packets, the IPv4 address is checked. The ranges are those of
# IANA's special-purpose address registries.

Address = IPv4Address | IPv6Address

_NOT_PUBLIC_4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # behind a carrier's NAT
            "127.0.0.0/8",  # loopback
            "168.63.129.16/32",  # a cloud's internal services, at a public address
            "169.254.0.0/16",  # link-local, and the metadata of clouds
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # 6to4 relays, deprecated
            "192.168.0.0/16",  # private
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and broadcast
        ),
    )
)

_GLOBAL_UNICAST_6 = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments: Teredo, benchmarks, overlays
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)

# Prefixes that embed an IPv4 address, and the number of bits after it.
_CARRIES_4 = (
    (IPv6Network("::ffff:0:0/96"), 0),  # IPv4-mapped
    (IPv6Network("64:ff9b::/96"), 0),  # NAT64
    (IPv6Network("2002::/16"), 80),  # 6to4
)


def is_public(address: Address) -> bool:
    """Return True if a link on any page may lead the crawl to this address."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    for network, bits_after in _CARRIES_4:
        if address in network:
            return is_public(IPv4Address(int(address) >> bits_after & 0xFFFF_FFFF))
    return address in _GLOBAL_UNICAST_6 and not any(address in net for net in _NOT_PUBLIC_6)


# ================================================================ resolver

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

BLOCKED_PORTS = frozenset(
    (
        *(0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95),
        *(101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179),
        *(389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601),
        *(636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000),
        *(6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080),
    )
)
"""Ports of mail, files, names and so on: https://fetch.spec.whatwg.org/#port-blocking."""

HostAndPort = tuple[str, int]


class _Addresses(NamedTuple):
    """Addresses of one host. `public` are those that any page's link may lead to."""

    all: tuple[str, ...]
    public: tuple[str, ...]


_Resolved = _Addresses | Failed

Located = tuple[ConnectTarget, ...] | Refused | Failed
"""Places to try for a host, or why there are none."""


def trusted_among(urls: Iterable[str]) -> frozenset[HostAndPort]:
    """Return the addresses and localhosts, with ports, that the user trusts by writing them.

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

    def with_lookup(self, lookup: Lookup) -> Resolver:
        """Return a resolver with the same rules and another lookup."""
        return Resolver(
            lookup,
            rules=self._rules,
            trusted_hosts=self._trusted,
            allow_private=self._allow_private,
        )

    def places_of(self, origin: Origin) -> Awaitable[Located]:
        """Return the places to try for an origin, or why there are none."""
        return self.locate(origin.host, origin.port)

    async def locate(self, host: str, port: int) -> Located:
        """Return the places to try for a host, or the refusal or failure if there are none."""
        if port in BLOCKED_PORTS:
            return _refused(f"port {port} is not one of the web: browsers block it")
        # Before the lookup: the user may redirect names that do not exist.
        if place := self._rules.place(host, port):
            if self._allow_private is False and not is_public(ip_address(place.address)):
                return self._private(host, place.address)
            return (place,)
        result = self._kept(host) or await self._look_up(host)
        if isinstance(result, Failed):
            return result
        is_trusted = self._allow_private
        if is_trusted is None:
            is_trusted = (host, port) in self._trusted
        addresses = result.all if is_trusted else result.public
        if not addresses:
            return self._private(host, result.all[0])
        return tuple([ConnectTarget(address, port) for address in addresses])

    def close(self) -> None:
        for task in self._under_way.values():
            task.cancel()

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
        """Look up a host, sharing one lookup among all waiting requests.

        Cancelling a request does not cancel the lookup.
        """
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
            kept_s = _KEPT_S
            if answer.ttl_s is not None:
                kept_s = min(max(answer.ttl_s, _KEPT_AT_LEAST_S), _KEPT_AT_MOST_S)
            result = _addresses_of(host, _alternating(answer.addresses))
        self._keep(host, result, kept_s)
        return result

    def _keep(self, host: str, result: _Resolved, kept_s: float) -> None:
        self._kept_results[host] = (self._clock() + kept_s, result)
        self._kept_results.move_to_end(host)
        if len(self._kept_results) > self._most_hosts:
            self._kept_results.popitem(last=False)


def _alternating(addresses: Iterable[str]) -> list[str]:
    """Return the addresses, alternating between IPv6 and IPv4 (RFC 8305, 4).

    A family that does not work then costs one attempt.
    """
    found = list(addresses)
    if not found:
        return found
    is_first_6 = ":" in found[0]
    first = [one for one in found if (":" in one) is is_first_6]
    second = [one for one in found if (":" in one) is not is_first_6]
    return [one for pair in zip_longest(first, second) for one in pair if one is not None]


def _addresses_of(host: str, addresses: Iterable[str]) -> _Resolved:
    """Return the distinct addresses, and those that are public; a failure if there are none."""
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
