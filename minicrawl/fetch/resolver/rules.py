"""Rules that redirect a host: `HOST[:PORT]=ADDRESS[:PORT]`, as in `--resolve`.

HOST is a name, an address, `*.name` for all names below it, or `*` for all hosts; IPv6 addresses
are in brackets. Only the connection is redirected: Host header, SNI and the name in the
certificate remain the URL's.

Law: the most specific matching rule wins: a full name before a wildcard, a longer wildcard before
a shorter one, a rule with a port before one without; among equals, the last.
"""

from __future__ import annotations

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
        self._rules = sorted(rules, key=_specificity)[::-1]

    def place(self, host: str, port: int) -> ConnectTarget | None:
        """Return where the rules redirect this host, or None if no rule matches."""
        for rule in self._rules:
            if rule.matches(host, port):
                return ConnectTarget(rule.address, rule.to_port or port)
        return None


def _specificity(rule: ResolveRule) -> tuple[bool, int, bool]:
    is_whole = rule.host != "*" and not rule.host.startswith(".")
    return is_whole, len(rule.host), rule.port is not None


def parse_rule(text: str) -> ResolveRule:
    left, equals, right = text.partition("=")
    source, destination = _SIDE.fullmatch(left), _SIDE.fullmatch(right)
    if not equals or source is None or destination is None:
        raise _unusable(text, "expected HOST[:PORT]=ADDRESS[:PORT], IPv6 in brackets")
    return ResolveRule(
        _host(source[1], text),
        _port(source[2], text),
        _address(destination[1], text),
        _port(destination[2], text),
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
