"""Sitemap revisits: decide when a running crawl reads the sitemaps of a host again.

A sitemap is read again as often as it has been seen to change, because it tells which pages are new
and which have changed. Its rate of change is estimated from the readings alone, with no prior, so
the rule is the same for a site that changes each minute and for one that changes each month:

    rate = (changes + 1/2) / (time from the first reading to the last)
    due    when rate x (time since the last reading) reaches 1/2

While nothing changes, each interval is as long as all before it together, so intervals double.
While every reading finds a change, they shrink to half of the mean time between changes, or less.

Laws: at most one in `REQUESTS_A_READING` requests to a host is for its sitemaps. Validators of the
last response go with the next request, and an unchanged file is not parsed again if the server
answers 304. A run that ends reads each sitemap once.

Example: a sitemap is read at 0 s, and again after 20 pages, at 20 s, without a change: the rate is
1/2 in 20 s, so it is due at 40 s. Then it has changed: 3/2 in 40 s, so it is due at 54 s.
"""

from collections.abc import Mapping
from dataclasses import dataclass

REQUESTS_A_READING = 20
"""Page requests to a host for each request for one of its sitemaps."""
_DUE = 0.5
MOST_SITEMAPS = 100_000
"""Maximum number of sitemaps in memory; others are read once."""


@dataclass(slots=True)
class ReadSitemap:
    """A sitemap that was read: when, and how often it had changed by then."""

    first_at: float
    last_at: float
    content: int | None = None
    """Hash of what it listed, or None if it could not be read."""
    etag: str | None = None
    last_modified: str | None = None
    changes: int = 0

    def is_due(self, now: float) -> bool:
        """Return whether it has probably changed."""
        expected = (self.changes + 0.5) * (now - self.last_at)  # times the time watched
        return expected >= _DUE * (self.last_at - self.first_at)

    def read(self, now: float, content: int | None, headers: Mapping[str, str]) -> None:
        """Note a response with content."""
        self.changes += self.content is not None and content != self.content
        self.content, self.last_at = content, now
        self.etag, self.last_modified = headers.get("etag"), headers.get("last-modified")


class SitemapRevisits:
    """The sitemaps that hosts led to and that were read, by host and URL."""

    def __init__(self, most: int = MOST_SITEMAPS) -> None:
        self._most = most
        self._of_host: dict[int, dict[str, ReadSitemap]] = {}
        self._requests: dict[int, int] = {}
        self._sitemaps = 0

    def of(self, host: int) -> Mapping[str, ReadSitemap]:
        """Return the sitemaps that the host led to."""
        return self._of_host.get(host, {})

    def asked(self, host: int, url: str, now: float) -> ReadSitemap:
        """Note a request for a sitemap, and return the sitemap."""
        sitemap = self.of(host).get(url) or ReadSitemap(now, now)
        sitemap.last_at = now
        if url not in self.of(host) and self._sitemaps < self._most:
            self._sitemaps += 1
            self._of_host.setdefault(host, {})[url] = sitemap
        self._requests[host] = 0
        return sitemap

    def count_request(self, host: int) -> None:
        """Count a request for a page of the host."""
        if host in self._requests:
            self._requests[host] += 1

    def due(self, host: int, now: float) -> str | None:
        """Return the sitemap to read again now, or None."""
        if self._requests.get(host, 0) < REQUESTS_A_READING:
            return None
        due = [(file.last_at, url) for url, file in self.of(host).items() if file.is_due(now)]
        return min(due)[1] if due else None
