"""Cookies, by RFC 6265 and what browsers do since.

cookie    a cookie, as a server sets it
jar       the cookies of all sites, bounded
netscape  files of cookies
"""

import math
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from minicrawl.web.headers import http_date
from minicrawl.web.urls import host as host_of
from minicrawl.web.urls import is_address, site, split

# ================================================================ cookie
#
# A cookie, and the Set-Cookie header that makes one.
#
# Laws: a server sets cookies for its own host and for domains above it, but for none above its
# registrable domain. A cookie that is not secure never replaces one that is. Whatever a header
# says, it is read in linear time, and it is read as a cookie or not at all.

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


# ================================================================ jar
#
# The cookies of all sites.
#
# Laws: a site has at most `PER_SITE` cookies of `SITE_BYTES` together, the jar `IN_ALL` and
# `ALL_BYTES`; of a site the cookies go that were set first, of the jar the sites that were asked
# least lately. What a request costs does not depend on how many sites there are. Time is an
# argument.

PER_SITE, SITE_BYTES = 50, 8192
IN_ALL, ALL_BYTES = 20_000, 8_000_000
MOST_LINES = 50
"""Set-Cookie headers of one answer that are read; browsers keep no more of a site."""

_Key = tuple[str, str, str]


class CookieJar:
    """All cookies. `changes` counts what was set or removed."""

    def __init__(self) -> None:
        self._sites: dict[str, dict[_Key, Cookie]] = {}
        self._sizes: dict[str, int] = {}
        self._count = self._size = 0
        self.changes = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Cookie]:
        """The cookies, those of sites that were asked least lately first."""
        for cookies in self._sites.values():
            yield from cookies.values()

    def header(self, url: str, now: float) -> str:
        """The value of the Cookie header for a request to a canonical URL; "" for none."""
        scheme, host, path = _parts(url)
        name = bucket(host)
        cookies = self._sites.pop(name, None)
        if cookies is None:
            return ""
        self._sites[name] = cookies  # now it is the last one that was asked
        sent = [one for one in cookies.values() if one.is_for(scheme, host, path, now)]
        sent.sort(key=lambda one: -len(one.path))
        return "; ".join([f"{one.name}={one.value}" for one in sent])

    def take(self, url: str, lines: Iterable[str], now: float) -> None:
        """An answer of this canonical URL had these Set-Cookie headers."""
        scheme, host, path = _parts(url)
        for line in islice(lines, MOST_LINES):
            cookie = parse_cookie(line, scheme, host, path, now)
            if cookie is not None and (scheme == "https" or not self._has_secure(cookie)):
                self.add(cookie, now)

    def add(self, cookie: Cookie, now: float) -> None:
        """Keep a cookie in place of the one with its name; if it is over, that one goes."""
        name, key = bucket(cookie.domain), _key(cookie)
        cookies = self._sites.get(name, {})
        if cookies.get(key) == cookie:
            return
        if cookie.is_over(now):
            self._drop(name, key)
            return
        self._put(name, key, cookie)
        cookies = self._sites[name]
        while len(cookies) > PER_SITE or self._sizes[name] > SITE_BYTES:
            self._drop(name, next(old for old in cookies if old != key))
        while self._count > IN_ALL or self._size > ALL_BYTES:
            oldest = next(iter(self._sites))
            self._drop(oldest, next(iter(self._sites[oldest])))

    def _put(self, name: str, key: _Key, cookie: Cookie) -> None:
        cookies = self._sites.setdefault(name, {})
        before = cookies.get(key)
        grown = cookie.size - (before.size if before else 0)
        cookies[key] = cookie
        self._sizes[name] = self._sizes.get(name, 0) + grown
        self._size += grown
        self._count += before is None
        self.changes += 1

    def _drop(self, name: str, key: _Key) -> None:
        cookie = self._sites.get(name, {}).pop(key, None)
        if cookie is None:
            return
        self._sizes[name] -= cookie.size
        self._size -= cookie.size
        self._count -= 1
        self.changes += 1
        if not self._sites[name]:
            del self._sites[name], self._sizes[name]

    def _has_secure(self, cookie: Cookie) -> bool:
        """Whether a secure cookie is there that only https may replace."""
        kept = self._sites.get(bucket(cookie.domain), {}).get(_key(cookie))
        return kept is not None and kept.is_secure


def _key(cookie: Cookie) -> _Key:
    return cookie.domain, cookie.path, cookie.name


def _parts(url: str) -> tuple[str, str, str]:
    origin, path = split(url)
    return origin.partition(":")[0], host_of(url), path.partition("?")[0]


# ================================================================ netscape
#
# Cookies in files of the Netscape format, which curl, wget and browsers' extensions write.
#
# A line has seven fields, separated by tabs: domain, whether its hosts below count, path, whether
# TLS is needed, the time when it ends or 0, name and value. `#` begins a comment, `#HttpOnly_` does
# not.

HEADER = "# Netscape HTTP Cookie File\n"
_HTTP_ONLY = "#HttpOnly_"
_FIELDS = 7
_SWITCHES = {"TRUE": True, "FALSE": False}


class BadLine(Exception):
    """A line is no cookie. The message does not quote it."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(number, why)
        self.number, self.why = number, why


def read_cookies(lines: Iterable[str]) -> Iterator[Cookie]:
    """The cookies of a file; raises `BadLine`."""
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        is_http_only = text.startswith(_HTTP_ONLY)
        text = text.removeprefix(_HTTP_ONLY)
        if not text.strip() or (text.startswith("#") and not is_http_only):
            continue
        found = _cookie(text.split("\t"), is_http_only=is_http_only)
        if isinstance(found, str):
            raise BadLine(number, found)
        yield found


def _cookie(fields: list[str], *, is_http_only: bool) -> Cookie | str:
    """The cookie, or what is wrong."""
    if len(fields) == _FIELDS - 1:
        fields = [*fields, ""]  # some writers leave out an empty value
    if len(fields) != _FIELDS:
        return f"must have {_FIELDS} fields, separated by tabs"
    domain, below, path, secure, expires, name, value = fields
    host, ends = domain.removeprefix(".").lower(), _number(expires)
    checks = {
        "the second and the fourth field must be TRUE or FALSE": {below, secure} <= {*_SWITCHES},
        "the fifth field must be a time in seconds, or 0": ends is not None,
        "must have a domain, and a path that begins with a slash": host and path[:1] == "/",
        "must have a name and a value of printable characters": name
        and (name + value + path + host).isprintable()
        and ";" not in name + value,
        f"must have at most {MOST_BYTES:,} characters": len(name) + len(value) <= MOST_BYTES,
    }
    wrong = [why for why, is_met in checks.items() if not is_met]
    if wrong:
        return wrong[0]
    return Cookie(
        name=name,
        value=value,
        domain=host,
        path=path,
        expires=ends or None,
        is_secure=_SWITCHES[secure],
        is_host_only=not _SWITCHES[below],
        is_http_only=is_http_only,
    )


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) and found >= 0 else None


def write_cookies(cookies: Iterable[Cookie]) -> str:
    """The text of a file."""
    return HEADER + "".join(map(_line, cookies))


def _line(cookie: Cookie) -> str:
    marks = {True: "TRUE", False: "FALSE"}
    fields = (
        ("" if cookie.is_host_only else ".") + cookie.domain,
        marks[not cookie.is_host_only],
        cookie.path,
        marks[cookie.is_secure],
        "0" if cookie.expires is None else f"{math.ceil(cookie.expires)}",
        cookie.name,
        cookie.value,
    )
    return (_HTTP_ONLY if cookie.is_http_only else "") + "\t".join(fields) + "\n"
