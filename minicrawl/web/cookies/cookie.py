"""Cookies, by RFC 6265 and the current practice of browsers.

A server may set cookies for its own host and for the domains above it, up to its registrable
domain. Any header is parsed in linear time, and yields a cookie or nothing.
"""

import re
from datetime import UTC, datetime
from typing import NamedTuple

from minicrawl.web.sites import is_address, site_or_address

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
