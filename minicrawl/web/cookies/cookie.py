"""A cookie, and the Set-Cookie header that makes one.

Laws: a server sets cookies for its own host and for domains above it, but for none above its
registrable domain. A cookie that is not secure never replaces one that is. Whatever a header says,
it is read in linear time, and it is read as a cookie or not at all.
"""

import re
from typing import NamedTuple

from minicrawl.web.headers import http_date
from minicrawl.web.sites import is_address, site

MOST_BYTES = 4096
"""Of a name and a value together."""
LONGEST_LIFE_S = 400 * 86_400.0
_LONGEST_LINE = 8192
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SECONDS = re.compile(r"-?[0-9]{1,12}")
_DEAD = 0.0


class Cookie(NamedTuple):
    """`expires` is None for a cookie of a session, which lasts as long as the crawl."""

    name: str
    value: str
    domain: str
    path: str = "/"
    expires: float | None = None
    is_secure: bool = False
    is_host_only: bool = True
    is_http_only: bool = False

    @property
    def size(self) -> int:
        """Characters of the name and the value."""
        return len(self.name) + len(self.value)

    def is_over(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires is not None and self.expires <= now

    def is_for(self, scheme: str, host: str, path: str, now: float) -> bool:
        """Whether a request has it."""
        if (self.is_secure and scheme != "https") or self.is_over(now):
            return False
        if not matches_domain(host, self.domain, is_host_only=self.is_host_only):
            return False
        own = self.path
        return path == own or path.startswith(own if own.endswith("/") else f"{own}/")


def bucket(host: str) -> str:
    """The site whose cookies may go to a host; an address is its own."""
    return host if is_address(host) else site(host)


def matches_domain(host: str, domain: str, *, is_host_only: bool) -> bool:
    """Whether a host is this one, or below it."""
    return host == domain or (not is_host_only and host.endswith(f".{domain}"))


def parse_cookie(line: str, scheme: str, host: str, path: str, now: float) -> Cookie | None:
    """The cookie that a Set-Cookie header of this URL makes; one that is over removes another."""
    if len(line) > _LONGEST_LINE or _CONTROL.search(line):
        return None
    pair, *parts = line.split(";")
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals or not name or len(name) + len(value) > MOST_BYTES:
        return None
    given: dict[str, str] = {}
    for part in parts:
        key, _, text = part.partition("=")
        given[key.strip().lower()] = text.strip()
    domain = given.get("domain", "").lower().removeprefix(".")
    cookie = Cookie(
        name=name,
        value=value,
        domain=domain or host,
        path=given["path"] if given.get("path", "").startswith("/") else _folder(path),
        expires=_expires(given, now),
        is_secure="secure" in given,
        is_host_only=not domain or is_address(host),
        is_http_only="httponly" in given,
    )
    return cookie if _may_set(cookie, scheme, host, has_domain=bool(domain)) else None


def _may_set(cookie: Cookie, scheme: str, host: str, *, has_domain: bool) -> bool:
    if cookie.is_secure and scheme != "https":
        return False
    if not matches_domain(host, cookie.domain, is_host_only=is_address(host)):
        return False
    if not matches_domain(cookie.domain, bucket(host), is_host_only=False):
        return False  # it is above the registrable domain
    name = cookie.name.lower()
    if name.startswith("__host-"):
        return cookie.is_secure and cookie.path == "/" and not has_domain
    return cookie.is_secure or not name.startswith("__secure-")


def _folder(path: str) -> str:
    return path.partition("?")[0].rpartition("/")[0] or "/"


def _expires(given: dict[str, str], now: float) -> float | None:
    longest = now + LONGEST_LIFE_S
    if _SECONDS.fullmatch(given.get("max-age", "")):
        seconds = int(given["max-age"])
        return min(now + seconds, longest) if seconds > 0 else _DEAD
    date = http_date(given.get("expires", ""))
    return None if date is None else min(date.timestamp(), longest)
