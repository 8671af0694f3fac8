"""Rules that redirect a host: `HOST[:PORT]=ADDRESS[:PORT]`, as in `--resolve`.

HOST is a name, an address, `*.name` for all names below it, or `*` for all hosts; IPv6 addresses
are in brackets. Only the connection is redirected: Host header, SNI and the name in the
certificate remain the URL's.

Law: the most specific matching rule wins: a full name before a wildcard, a longer wildcard before
a shorter one, a rule with a port before one without; among equals, the last.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple

import ada_url

from minicrawl.errors import UsageError
from minicrawl.fetch.http.targets import ConnectTarget

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


class ResolveRules:
    """`--resolve` rules, most specific first."""

    def __init__(self, rules: Iterable[ResolveRule]) -> None:
        def specificity(rule: ResolveRule) -> tuple[bool, int, bool]:
            return not rule.host.startswith(("*", ".")), len(rule.host), rule.port is not None

        self._rules = sorted(rules, key=specificity)[::-1]

    def place(self, host: str, port: int) -> ConnectTarget | None:
        """Return where the rules redirect this host, or None if no rule matches."""
        for rule in self._rules:
            if rule.matches(host, port):
                return ConnectTarget(rule.address, rule.to_port or port)
        return None


def parse_rule(text: str) -> ResolveRule:
    def unusable(why: str) -> UsageError:
        return UsageError(f"--resolve {text!r}: {why}")

    left, _, right = text.partition("=")
    source, destination = _SIDE.fullmatch(left), _SIDE.fullmatch(right)
    if source is None or destination is None:
        raise unusable("expected HOST[:PORT]=ADDRESS[:PORT], IPv6 in brackets")
    host = source[1]
    if host != "*":
        try:
            name = ada_url.URL(f"http://{host.removeprefix('*.')}/").hostname
        except ValueError:
            name = ""
        if not name or "*" in name:
            raise unusable(f"{host!r} is not a host")
        host = ("." if host.startswith("*.") else "") + name.strip("[]")
    ports = [None if port is None else int(port) for port in (source[2], destination[2])]
    for port in ports:
        if port is not None and not 0 < port <= _LAST_PORT:
            raise unusable(f"{port} is not a port")
    try:
        address = str(ip_address(destination[1].strip("[]")))
    except ValueError:
        raise unusable(f"{destination[1]!r} is not an IP address") from None
    return ResolveRule(host, ports[0], address, ports[1])
