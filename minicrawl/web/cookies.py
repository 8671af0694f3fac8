"""Cookies, by RFC 6265 and the current practice of browsers: headers, a jar, and files.

A server may set cookies for its own host and for the domains above it, up to its registrable
domain. A response over http never replaces a secure cookie. Any header is parsed in linear time,
and yields a cookie or nothing. Time is an argument.
"""

import math
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import NamedTuple

from minicrawl.web.sites import is_address, site_or_address
from minicrawl.web.urls import host as host_of, split

MOST_BYTES = 4096
"""Limit of name and value together."""
LONGEST_LIFE_S = 400 * 86_400.0
_LONGEST_LINE = 8192
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SECONDS = re.compile(r"-?[0-9]+")
_DEAD = 0.0


class Cookie(NamedTuple):
    """A cookie. `expires` is None for a session cookie, which lasts as long as the crawl."""

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
        """Number of characters of the name and the value."""
        return len(self.name) + len(self.value)

    def is_over(self, now: float) -> bool:
        return self.expires is not None and self.expires <= now

    def is_for(self, scheme: str, host: str, path: str, now: float) -> bool:
        """Return True if a request for this path of the host includes the cookie."""
        if (self.is_secure and scheme != "https") or self.is_over(now):
            return False
        if not matches_domain(host, self.domain, is_host_only=self.is_host_only):
            return False
        own = self.path
        return path == own or path.startswith(own if own.endswith("/") else f"{own}/")


def matches_domain(host: str, domain: str, *, is_host_only: bool) -> bool:
    """Return True if a host is this domain, or below it."""
    return host == domain or (not is_host_only and host.endswith(f".{domain}"))


def parse_cookie(line: str, scheme: str, host: str, path: str, now: float) -> Cookie | None:
    """Parse a Set-Cookie header of this host and path; None if invalid or not allowed."""
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
    folder = path.partition("?")[0].rpartition("/")[0] or "/"
    cookie = Cookie(
        name=name,
        value=value,
        domain=domain or host,
        path=given["path"] if given.get("path", "").startswith("/") else folder,
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
    if not matches_domain(cookie.domain, site_or_address(host), is_host_only=False):
        return False  # it is above the registrable domain
    name = cookie.name.lower()
    if name.startswith("__host-"):
        return cookie.is_secure and cookie.path == "/" and not has_domain
    return cookie.is_secure or not name.startswith("__secure-")


def _expires(given: dict[str, str], now: float) -> float | None:
    longest = now + LONGEST_LIFE_S
    if _SECONDS.fullmatch(given.get("max-age", "")):
        seconds = float(given["max-age"])
        return min(now + seconds, longest) if seconds > 0 else _DEAD
    date = cookie_date(given.get("expires", ""))
    return None if date is None else min(date.timestamp(), longest)


_DATE_TOKEN = re.compile(r"[^\t -/;-@\[-`{-~]+")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_OF_DATE = tuple(
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (
        r"([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?![0-9])",
        r"([0-9]{1,2})(?![0-9])",
        rf"({'|'.join(_MONTHS)})",
        r"([0-9]{2,4})(?![0-9])",
    )
)
"""Time, day, month and year: a token of a date is the first of these that is still missing."""
_FIRST_YEAR, _CENTURY, _LAST_OF_2000S = 1601, 100, 69


def cookie_date(text: str) -> datetime | None:
    """Parse the date of a cookie by RFC 6265, 5.1.1, which takes more than dates of headers."""
    parts: dict[int, tuple[str, ...]] = {}
    for token in _DATE_TOKEN.findall(text):
        for number, pattern in enumerate(_OF_DATE):
            if number not in parts and (part := pattern.match(token)):
                parts[number] = part.groups()
                break
    if len(parts) < len(_OF_DATE):
        return None
    year = int(parts[3][0])
    if year < _CENTURY:
        year += 2000 if year <= _LAST_OF_2000S else 1900
    month, day = 1 + _MONTHS.index(parts[2][0].lower()), int(parts[1][0])
    hour, minute, second = map(int, parts[0])
    try:
        date = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return date if year >= _FIRST_YEAR else None


PER_SITE, SITE_BYTES = 50, 8192
IN_ALL, ALL_BYTES = 20_000, 8_000_000
MOST_LINES = 50
"""Most Set-Cookie headers read from a response; browsers keep no more for a site."""

_Key = tuple[str, str, str]


class CookieJar:
    """The cookies of all sites. `changes` counts cookies set or removed.

    A full site drops its oldest cookies, a full jar those of the least recently requested site. The
    cost of a request does not depend on the number of sites.
    """

    def __init__(self) -> None:
        self._sites: dict[str, dict[_Key, Cookie]] = {}
        self._sizes: dict[str, int] = {}
        self._count = self._size = 0
        self.changes = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Cookie]:
        """Yield the cookies, starting with the least recently requested sites."""
        for cookies in self._sites.values():
            yield from cookies.values()

    def header(self, url: str, now: float) -> str:
        """Return the value of the Cookie header for a request to a canonical URL; "" for none."""
        scheme, host, path = _parts(url)
        name = site_or_address(host)
        cookies = self._sites.pop(name, None)
        if cookies is None:
            return ""
        self._sites[name] = cookies  # the site is now the most recently requested one
        sent = [cookie for cookie in cookies.values() if cookie.is_for(scheme, host, path, now)]
        # Longer paths first, and of equal ones the older cookie (RFC 6265, 5.4): the sort is
        # stable, and an updated cookie keeps its place.
        sent.sort(key=lambda cookie: -len(cookie.path))
        return "; ".join([f"{cookie.name}={cookie.value}" for cookie in sent])

    def take(self, url: str, lines: Iterable[str], now: float) -> None:
        """Store the cookies from the Set-Cookie headers of a response."""
        scheme, host, path = _parts(url)
        for line in islice(lines, MOST_LINES):
            cookie = parse_cookie(line, scheme, host, path, now)
            if cookie is None:
                continue
            present = self._sites.get(site_or_address(cookie.domain), {}).get(_key(cookie))
            # Only https may replace a secure cookie.
            if present is None or not present.is_secure or scheme == "https":
                self.add(cookie, now)

    def add(self, cookie: Cookie, now: float) -> None:
        """Store a cookie, or replace the one with its domain, path and name. Expired: delete it."""
        name, key = site_or_address(cookie.domain), _key(cookie)
        before = self._sites.get(name, {}).get(key)
        if before == cookie:
            return
        if cookie.is_over(now):
            self._drop(name, key)
            return
        cookies = self._sites.setdefault(name, {})
        grown = cookie.size - (before.size if before else 0)
        cookies[key] = cookie
        self._sizes[name] = self._sizes.get(name, 0) + grown
        self._size += grown
        self._count += before is None
        self.changes += 1
        # The new cookie stays, whatever its size: one cookie is smaller than the limit of a site.
        while len(cookies) > PER_SITE or self._sizes[name] > SITE_BYTES:
            self._drop(name, next(old for old in cookies if old != key))
        while self._count > IN_ALL or self._size > ALL_BYTES:
            oldest = next(iter(self._sites))
            self._drop(oldest, next(iter(self._sites[oldest])))

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


def _key(cookie: Cookie) -> _Key:
    return cookie.domain, cookie.path, cookie.name


def _parts(url: str) -> tuple[str, str, str]:
    origin, path = split(url)
    return origin.partition(":")[0], host_of(url), path.partition("?")[0]


HEADER = "# Netscape HTTP Cookie File\n"
_HTTP_ONLY = "#HttpOnly_"
_FIELDS = 7
_SWITCHES = {"TRUE": True, "FALSE": False}


class BadLine(Exception):
    """A line is not a cookie. The message does not quote it, as it may hold a secret."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(number, why)
        self.number, self.why = number, why


def read_cookies(lines: Iterable[str]) -> Iterator[Cookie]:
    """Yield the cookies of a file as curl, wget and browser extensions write it; raise `BadLine`.

    A line has seven fields, separated by tabs: domain, whether subdomains count, path, whether TLS
    is required, expiry time or 0, name and value. `#` begins a comment, `#HttpOnly_` does not.
    """
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\r\n")
        is_http_only = text.startswith(_HTTP_ONLY)
        text = text.removeprefix(_HTTP_ONLY)
        if not text.strip() or (text.startswith("#") and not is_http_only):
            continue
        cookie = _cookie_of(text.split("\t"), is_http_only=is_http_only)
        if isinstance(cookie, str):
            raise BadLine(number, cookie)
        yield cookie


def _cookie_of(fields: list[str], *, is_http_only: bool) -> Cookie | str:
    """Return the cookie, or a text that says what is wrong."""
    if len(fields) == _FIELDS - 1:
        fields = [*fields, ""]  # some writers omit an empty value
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
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def write_cookies(cookies: Iterable[Cookie]) -> str:
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
