"""Where a URL leads: its origin and path, and the address that a rule of the user names for it.

origin   scheme, host and port; a connection belongs to one origin
path     what a URL has after its origin and before its fragment
rule     sends a host elsewhere: `HOST[:PORT]=ADDRESS[:PORT]`, as `--resolve` takes it

HOST is a name, an address, `*.name` for all names below it, or `*` for all hosts; IPv6 stands
in brackets. Only the connection goes elsewhere: the Host header, SNI and the name that a
certificate must carry stay the URL's.

Laws: a path is requested as it was given if it can stand in a request; otherwise it is requested as
the URL standard writes it. Of the rules that match, the most specific wins: a whole name before a
wildcard, a longer wildcard before a shorter one, one with a port before one without; of equals, the
later one.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from typing import NamedTuple

import ada_url

from minicrawl.errors import UsageError

_PORTS = {"http:": 80, "https:": 443}
_MOST_ORIGINS = 20_000
_PARTS = re.compile(r"(https?://[^\s/?#@\\]+)(/[!\"$-~]*)(?:#.*)?", re.DOTALL)


class Origin(NamedTuple):
    """`host` has no brackets, `name` is the value of the Host header."""

    is_tls: bool
    host: str
    port: int
    name: str


class Target(NamedTuple):
    """An origin and a path on it; `url` has no credentials and no fragment."""

    origin: Origin
    path: str
    url: str


def target(url: str) -> Target | None:
    """The target of a URL; None if it is neither http nor https."""
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
    """The address and port to connect to."""

    address: str
    port: int


class ResolveRule(NamedTuple):
    """`host` is as a URL spells it, without brackets, or `*`, or `.name` for all below name."""

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
    """All rules, the most specific first."""

    def __init__(self, rules: Iterable[ResolveRule]) -> None:
        self._rules = sorted(rules, key=_specificity)[::-1]

    def place(self, host: str, port: int) -> ConnectTarget | None:
        """Where the rules send this host; None if no rule matches."""
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
