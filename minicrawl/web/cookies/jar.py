"""The jar of cookies: what responses set, and what requests send.

Law: a response over http never replaces a secure cookie.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from minicrawl.web.cookies.cookie import Cookie, parse_cookie
from minicrawl.web.sites import site_or_address
from minicrawl.web.urls import host as host_of, split

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
