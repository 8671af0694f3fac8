"""The cookies of all sites.

Laws: a site has at most `PER_SITE` cookies of `SITE_BYTES` together, the jar `IN_ALL` and
`ALL_BYTES`; of a site the cookies go that were set first, of the jar the sites that were asked
least lately. What a request costs does not depend on how many sites there are. Time is an argument.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from minicrawl.web.cookies.cookie import Cookie, bucket, parse_cookie
from minicrawl.web.urls import host as host_of
from minicrawl.web.urls import split

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
