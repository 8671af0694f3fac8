"""What a URL asks for, and of whom.

origin   scheme, host and port: a connection is one origin's
path     all that a URL has after its origin and before its fragment

Law: a path is asked for as it was given, where it can stand in a request; only what cannot is
written as the URL standard would.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import ada_url

_PORTS = {"http:": 80, "https:": 443}
_MOST_ORIGINS = 20_000
_PARTS = re.compile(r"(https?://[^\s/?#@\\]+)(/[!\"$-~]*)(?:#.*)?", re.DOTALL)


class Origin(NamedTuple):
    """`host` stands without brackets, `name` is what the Host header says."""

    is_tls: bool
    host: str
    port: int
    name: str


class Target(NamedTuple):
    """What to ask, of whom; `url` carries no credentials and no fragment."""

    origin: Origin
    path: str
    url: str


def target(url: str) -> Target | None:
    """None for what is no URL of the web."""
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
