"""Destination of a URL: its origin, path and address; and which addresses are public.

origin   scheme, host and port; a connection belongs to one origin
path     the part of a URL between its origin and its fragment
rule     redirects a host: `HOST[:PORT]=ADDRESS[:PORT]`, as in `--resolve`

HOST is a name, an address, `*.name` for all names below it, or `*` for all hosts; IPv6 addresses
are in brackets. Only the connection is redirected: Host header, SNI and the name in the certificate
remain the URL's.

Laws: a path is requested as given if it is valid in a request, else as the URL standard serializes
it. The most specific matching rule wins: a full name before a wildcard, a longer wildcard before a
shorter one, a rule with a port before one without; among equals, the last.

The public addresses are listed here, because the standard library's answer has holes. An address is
public if a web server there can be reached from anywhere. If an IPv6 address embeds the IPv4
address that receives the packets, the IPv4 address is checked. The ranges are those of IANA's
special-purpose address registries.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import NamedTuple

import ada_url

from minicrawl.errors import UsageError

_PORTS = {"http:": 80, "https:": 443}
_MOST_ORIGINS = 20_000
_PARTS = re.compile(r"(https?://[^\s/?#@\\]+)(/[!\"$-~]*)(?:#.*)?", re.DOTALL)


class Origin(NamedTuple):
    """Scheme, host and port. `host` has no brackets; `name` is the value of the Host header."""

    is_tls: bool
    host: str
    port: int
    name: str


class Target(NamedTuple):
    """Origin, and a path on it. `url` has no credentials and no fragment."""

    origin: Origin
    path: str
    url: str


def target(url: str) -> Target | None:
    """Return the target of a URL, or None if it is neither http nor https."""
    try:
        parts = _PARTS.fullmatch(url) or _PARTS.fullmatch(_without_credentials(url))
        return Target(_origin(parts[1]), parts[2], parts[1] + parts[2]) if parts else None
    except ValueError:
        return None


@lru_cache(_MOST_ORIGINS)
def _origin(url: str) -> Origin:
    parsed = ada_url.URL(url)
    return Origin(
        is_tls=parsed.protocol == "https:",
        host=parsed.hostname.strip("[]"),
        port=int(parsed.port or _PORTS[parsed.protocol]),
        name=parsed.host,
    )


def _without_credentials(url: str) -> str:
    parsed = ada_url.URL(url)
    parsed.username = parsed.password = ""
    return parsed.href


# ---------------------------------------------------------------- rules


_SIDE = re.compile(r"(\[[^\[\]]+\]|[^\[\]:]+)(?::([0-9]{1,5}))?")
_LAST_PORT = 65535


class ConnectTarget(NamedTuple):
    """Address and port to connect to."""

    address: str
    port: int


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
        raise _unusable(text, f"{written!r} is no host")
    return wildcard + host.strip("[]")


def _address(written: str, text: str) -> str:
    try:
        return str(ip_address(written.strip("[]")))
    except ValueError:
        raise _unusable(text, f"{written!r} is no address") from None


def _port(written: str | None, text: str) -> int | None:
    if written is None:
        return None
    if not 0 < int(written) <= _LAST_PORT:
        raise _unusable(text, f"{written} is no port")
    return int(written)


def _unusable(text: str, why: str) -> UsageError:
    return UsageError(f"--resolve {text!r}: {why}")


# ---------------------------------------------------------------- addresses


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
    """Return True if a link on any page may lead to this address."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _NOT_PUBLIC_4)
    carried = _carried(address)
    if carried is not None:
        return is_public(carried)
    return address in _GLOBAL_UNICAST_6 and not any(address in net for net in _NOT_PUBLIC_6)


def _carried(address: IPv6Address) -> IPv4Address | None:
    for network, bits_after in _CARRIES_4:
        if address in network:
            return IPv4Address(int(address) >> bits_after & 0xFFFF_FFFF)
    return None
