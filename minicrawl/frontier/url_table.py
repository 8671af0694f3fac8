"""URL, host and depth of each page, and site of each host, in memory.

Laws: page ids and host ids are dense, in the order of discovery. A site costs nothing until it is
asked for. Two sites whose names have the same hash count as one, except in `sites_of`.

meet    map URLs to page ids, with the next ids for new URLs; the step that follows adds the pages
depth   length of the shortest known path from the seeds to the page
site    a registrable domain; for a host without a name, the network of its address
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, count, repeat
from operator import add
from urllib.parse import unquote
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from minicrawl.compact_map import CompactHashMap
from minicrawl.frontier.url_index import (
    GENERATION,
    NO_PAGES,
    ROOM,
    PagesByUrl,
    RecentUrls,
    UrlIndex,
    UrlsOf,
)
from minicrawl.store import page_columns, tables
from minicrawl.store.records import HostRow, UrlRow
from minicrawl.web.sites import site
from minicrawl.web.takedowns import NO_TAKEDOWNS
from minicrawl.web.urls import host as host_of_url

UNKNOWN = (1 << 32) - 1
"""Marks a host whose site was not asked for yet."""

Hosts = NDArray[np.uint32]


def sites_of(names: Sequence[str], host_of: Hosts) -> tuple[list[str], NDArray[np.int32]]:
    """Return the names of all sites of these hosts, and for each page the index of its site."""
    numbers: dict[str, int] = {}
    of_host = [numbers.setdefault(site(name), len(numbers)) for name in names]
    return list(numbers), np.array(of_host, dtype=np.int32)[host_of]


class SiteTable:
    """Map from host to the number of its site, computed on demand."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._origins = origins
        self._sites, self._ids, self._count = array("I"), CompactHashMap(), 0

    def __len__(self) -> int:
        """Return the number of hosts."""
        return len(self._origins)

    def site(self, host: int) -> int:
        """Return the number of the host's site."""
        if host >= len(self._sites):
            self._sites.extend(repeat(UNKNOWN, len(self._origins) - len(self._sites)))
        number = self._sites[host]
        if number == UNKNOWN:
            codes = (hash(self.name(host)),)
            (known,) = self._ids.matches(codes)
            number = known[0] if known else self._count
            if number == self._count:
                self._count += 1
                self._ids.put(codes, number)
            self._sites[host] = number
        return number

    def name(self, host: int) -> str:
        """Return the name of the host's site."""
        return site(self.name_of_host(host))

    def name_of_host(self, host: int) -> str:
        """Return the name of the host, or its address."""
        return host_of_url(f"{self._origins[host]}/")


_URL_ROW = partial(tuple.__new__, UrlRow)
"""`UrlRow._make` without its check, which takes longer than all else: it makes a row a link."""
_DEEPEST = 255
_IN_ORIGIN = len("http://h")


def no_urls(pages: Sequence[int]) -> Mapping[int, str]:
    """Raise LookupError: the placeholder for a table without URLs."""
    raise LookupError(f"the URLs of pages {pages} were not loaded")


@dataclass(slots=True)
class Meeting:
    """Pages of some URLs, and the rows of new pages and hosts."""

    pages: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)
    """Pages that became known."""
    urls: list[UrlRow] = field(default_factory=list)
    hosts: list[HostRow] = field(default_factory=list)


def traits_of(url: str) -> int:
    """Return 16-bit hashes of the URL's folder (low half) and of the longest word after it (high).

    Numbers do not count as words: they say little about other pages.
    """
    from minicrawl.web.words import words_of  # deferred: few orders need traits

    path, _, query = url.partition("?")
    folder, _, name = path.rpartition("/")
    said = unquote(f"{name} {query}")
    words = [word for word in words_of(said) if not word.isdigit()]
    word = max(words, key=len, default="")
    return _hashed(folder) | _hashed(word) << 16


def _hashed(text: str) -> int:
    return crc32(text.encode(errors="replace")) & 0xFFFF


class UrlTable:
    """Pages by URL, with their hosts."""

    def __init__(self, urls_of: UrlsOf = no_urls) -> None:
        """`urls_of` queries the store for the URLs of pages."""
        self.host_of = array("I")
        self.depth = bytearray()
        self.traits: array[int] | None = None
        """`traits_of` the URL of each page, or None if the page order does not need them."""
        self.origins: list[str] = []
        self.sites = SiteTable(self.origins)
        self._hosts = CompactHashMap()
        recent = RecentUrls(self.host_of, self.origins, ROOM)
        self._index = UrlIndex(urls_of, recent, GENERATION)
        self.url_of = self._index.recent.url_of
        """Returns the URL of a page if it is recent, or None."""
        self._takedowns = NO_TAKEDOWNS

    def load(self, connection: tables.Connection) -> None:
        """Load all pages and hosts of the store; the table must be empty."""
        self.origins += [host.origin for host in tables.hosts(connection)]
        origins = self.origins
        codes = np.fromiter(map(hash, origins), dtype=np.int64).view(np.uint64)
        self._hosts.put_all(codes, np.arange(len(origins), dtype=np.uint32))
        for hosts, paths, depths in page_columns.urls(connection):
            self.host_of.frombytes(hosts.tobytes())
            self._index.add_all(map(add, map(origins.__getitem__, hosts.tolist()), paths))
            self.depth += np.minimum(depths, _DEEPEST).astype(np.uint8).tobytes()
        self._index.finish_loading()
        self._takedowns = tables.taken_down(tables.counters(connection))

    def load_depths(self, connection: tables.Connection) -> None:
        """Load the depths of all pages."""
        for (depths,) in page_columns.blocks(connection, "urls", "depth"):
            self.depth += np.minimum(depths, _DEEPEST).astype(np.uint8).tobytes()

    def load_traits(self, connection: tables.Connection) -> array[int]:
        """Compute the traits of all pages; `meet` adds those of new pages from now on."""
        self.traits, origins = array("I"), self.origins
        for hosts, paths in tables.hosts_and_paths(connection):
            self.traits.extend(
                traits_of(origins[host] + path) for host, path in zip(hosts, paths, strict=True)
            )
        return self.traits

    def load_hosts(self, connection: tables.Connection) -> None:
        """Load the hosts of all pages, but not their URLs."""
        self.origins += [host.origin for host in tables.hosts(connection)]
        for (hosts,) in page_columns.blocks(connection, "urls", "host"):
            self.host_of.frombytes(hosts.tobytes())

    def find(self, url: str) -> int | None:
        """Return the page of a canonical URL, or None."""
        url = self._takedowns.conceal(url)
        return self._index.find((url,)).get(url)

    def find_recent(self, urls: Collection[str]) -> tuple[dict[str, int], list[int]]:
        """Return the pages of recent URLs, and candidates for the others, for a store lookup."""
        if self._takedowns:
            urls = list(map(self._takedowns.conceal, urls))
        known, candidates = self._index.find_recent(urls)
        return known, list(chain.from_iterable(candidates.values())) if candidates else []

    def remember(self, rows: Iterable[tuple[int, int, str]]) -> dict[str, int]:
        """Mark these pages, given as page, host and path, as recent. Return them by URL."""
        origins = self.origins
        pages = {origins[host] + path: page for page, host, path in rows}
        self._index.remember(pages)
        return pages

    def meet(self, urls: Sequence[str], depth: int, looked_up: PagesByUrl = NO_PAGES) -> Meeting:
        """Return the pages of these canonical URLs; each unknown one gets the next id."""
        if self._takedowns:
            urls = list(map(self._takedowns.conceal, urls))
        urls_left = [url for url in urls if url not in looked_up]
        known = {**looked_up, **self._index.find(urls_left)}
        meeting = Meeting()
        unknown = [url for url in urls_left if url not in known]
        if unknown:
            new = dict(zip(dict.fromkeys(unknown), count(len(self.host_of))))
            self._add(new, depth, meeting)
            meeting.new.extend(new.values())
            known |= new
        meeting.pages.extend(map(known.__getitem__, urls))
        return meeting

    def _add(self, new: PagesByUrl, depth: int, meeting: Meeting) -> None:
        """Add the pages of unknown URLs, whose ids follow the last one."""
        hosts, paths, host_ids = list[int](), list[str](), dict[str, int]()
        for url in new:
            end = url.index("/", _IN_ORIGIN)  # as `urls.split`, which takes longer
            origin = url[:end]
            if (host := host_ids.get(origin)) is None:
                host = host_ids[origin] = self._host(origin, meeting)
            hosts.append(host)
            paths.append(url[end:])
        self.host_of.extend(hosts)
        self.depth += bytes((min(depth, _DEEPEST),)) * len(new)
        if self.traits is not None:
            self.traits.extend(map(traits_of, new))
        rows = zip(new.values(), hosts, paths, repeat(depth))
        meeting.urls += map(_URL_ROW, rows)
        self._index.add(new)

    def meet_host(self, origin: str) -> tuple[int, list[HostRow]]:
        """Return the host of an origin, with its row if it is new. A host may have no pages."""
        meeting = Meeting()
        return self._host(origin, meeting), meeting.hosts

    def find_host(self, origin: str) -> int | None:
        """Return the host of an origin, or None."""
        (hosts,) = self._hosts.matches((hash(origin),))
        return next((host for host in hosts if self.origins[host] == origin), None)

    def shallowest(self, host: int) -> int | None:
        """Return the smallest depth of the host's pages, or None if it has none."""
        is_of_host = np.frombuffer(self.host_of, dtype=np.uint32) == host
        depths = np.frombuffer(self.depth, dtype=np.uint8)[is_of_host]
        return int(depths.min()) if len(depths) else None

    def _host(self, origin: str, meeting: Meeting) -> int:
        host = self.find_host(origin)
        if host is None:
            host = len(self.origins)
            self._hosts.put((hash(origin),), host)
            self.origins.append(origin)
            meeting.hosts.append(HostRow(host, origin))
        return host
