"""Targets of requests: an origin, and a path on it.

origin   scheme, host and port; a connection belongs to one origin
path     the part of a URL between its origin and its fragment

Law: a path is requested as given if it is valid in a request, else as the URL standard
serializes it.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import ada_url

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
        parts = _PARTS.fullmatch(url)
        if parts is None:
            parsed = ada_url.URL(url)
            parsed.username = parsed.password = ""
            parts = _PARTS.fullmatch(parsed.href)
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


class ConnectTarget(NamedTuple):
    address: str
    port: int
