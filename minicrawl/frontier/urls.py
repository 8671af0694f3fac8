"""What the store's table of URLs says, in memory: the URL, host and depth of each page.

Law: page ids and host ids are dense, in the order in which pages and hosts became known.

meet    turn URLs into page ids; pages that are new are born by the step that follows
depth   the number of links from the seeds to the page, as far as one is known
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import add

import numpy as np

from minicrawl.frontier.sites import SiteTable
from minicrawl.frontier.url_index import NO_PAGES, PagesByUrl, UrlIndex, UrlsOf
from minicrawl.model import PageId
from minicrawl.store import columns, tables
from minicrawl.store.records import HostRow, UrlRow
from minicrawl.web.urls import split

_DEEPEST = 255


def no_urls(pages: Sequence[int]) -> Mapping[int, str]:
    """For a table that loads no URLs."""
    raise LookupError(f"the URLs of pages {pages} were not loaded")


@dataclass(slots=True)
class Meeting:
    """The pages of some URLs, and the rows of those pages and hosts that are new."""

    pages: list[int] = field(default_factory=list)
    urls: list[UrlRow] = field(default_factory=list)
    hosts: list[HostRow] = field(default_factory=list)


class UrlTable:
    """Pages by URL, and their hosts."""

    def __init__(self, urls_of: UrlsOf = no_urls) -> None:
        """`urls_of` asks the store for the URLs of pages."""
        self.host_of = array("I")
        self.depth = bytearray()
        self.origins: list[str] = []
        self.sites = SiteTable(self.origins)
        self._host_ids: dict[str, int] = {}
        self._index = UrlIndex(urls_of, self._origin_of)

    def load(self, connection: tables.Connection) -> None:
        """All pages and hosts that the store knows; the table must be empty."""
        self.origins += [host.origin for host in tables.hosts(connection)]
        self._host_ids.update((origin, host) for host, origin in enumerate(self.origins))
        origins = self.origins
        for hosts, paths in tables.hosts_and_paths(connection):
            self.host_of.extend(hosts)
            self._index.add_all(map(add, map(origins.__getitem__, hosts), paths))
        self._index.finish_loading()
        for (depths,) in columns.urls(connection, "depth"):
            self.depth += np.minimum(depths, _DEEPEST).astype(np.uint8).tobytes()

    def load_hosts(self, connection: tables.Connection) -> None:
        """The hosts of all pages, without the pages' URLs."""
        self.origins += [host.origin for host in tables.hosts(connection)]
        for (hosts,) in columns.urls(connection, "host"):
            self.host_of.frombytes(hosts.tobytes())

    # ------------------------------------------------------------ pages

    def find(self, url: str) -> int | None:
        """The page of a canonical URL, if it is known."""
        return self._index.find((url,)).get(url)

    def url_of(self, page: PageId) -> str | None:
        """The URL of a page, if it is one of the recent ones."""
        return self._index.url_of(page)

    def find_recent(self, urls: Iterable[str]) -> tuple[dict[str, int], list[int]]:
        """The pages of recent URLs, and the pages that the others may be: the store must tell."""
        found, candidates = self._index.find_recent(urls)
        return found, list(chain.from_iterable(candidates.values()))

    def remember(self, rows: Iterable[tuple[int, int, str]]) -> dict[str, int]:
        """The store has these pages, of this host and with this path; answers with their URLs."""
        origins = self.origins
        found = {origins[host] + path: page for page, host, path in rows}
        self._index.remember(found)
        return found

    def meet(self, urls: Sequence[str], depth: int, looked_up: PagesByUrl = NO_PAGES) -> Meeting:
        """Find the pages of these canonical URLs; each unknown one gets the next id."""
        meeting = Meeting()
        others = [url for url in urls if url not in looked_up] if looked_up else urls
        known = {**looked_up, **self._index.find(others)}
        new: dict[str, int] = {}
        for url in urls:
            page = known.get(url)
            if page is None:
                page = known[url] = new[url] = len(self.host_of)
                origin, path = split(url)
                host = self._host(origin, meeting)
                self.host_of.append(host)
                self.depth.append(min(depth, _DEEPEST))
                meeting.urls.append(UrlRow(page, host, path, depth))
            meeting.pages.append(page)
        self._index.add(new)
        return meeting

    # ------------------------------------------------------------ hosts

    def meet_host(self, origin: str) -> tuple[int, list[HostRow]]:
        """The host of an origin, and its row if it is new; it may have no pages."""
        meeting = Meeting()
        return self._host(origin, meeting), meeting.hosts

    def find_host(self, origin: str) -> int | None:
        """The host of an origin, if it is known."""
        return self._host_ids.get(origin)

    def shallowest(self, host: int) -> int | None:
        """The least depth of the host's pages; None if it has none."""
        is_of_host = np.frombuffer(self.host_of, dtype=np.uint32) == host
        depths = np.frombuffer(self.depth, dtype=np.uint8)[is_of_host]
        return int(depths.min()) if len(depths) else None

    def _host(self, origin: str, meeting: Meeting) -> int:
        host = self._host_ids.get(origin)
        if host is None:
            host = self._host_ids[origin] = len(self.origins)
            self.origins.append(origin)
            meeting.hosts.append(HostRow(host, origin))
        return host

    def _origin_of(self, page: PageId) -> str:
        return self.origins[self.host_of[page]]
