"""URL, host and depth of each page, in memory.

Law: page ids and host ids are dense, in the order of discovery.

meet    map URLs to page ids, with the next ids for new URLs; the step that follows adds the pages
depth   length of the shortest known path from the seeds to the page
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, count, repeat
from operator import add
from types import MappingProxyType
from urllib.parse import unquote
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from minicrawl.compact_map import CompactHashMap
from minicrawl.model import PageId
from minicrawl.store import page_columns, tables
from minicrawl.store.records import HostRow, UrlRow
from minicrawl.web.sites import site
from minicrawl.web.takedowns import NO_TAKEDOWNS
from minicrawl.web.urls import host as host_of_url

# ================================================================ url index
#
# URL index: maps URLs to pages. A hash finds candidates; only the URL itself is proof.
#
# Laws: two URLs are the same page only if they are identical, whatever their hashes are. Memory is
# bounded per page and otherwise fixed, whatever the URLs are.
#
# A URL is searched for in four places, fastest first:
#
# dictionaries   two generations of the most recently met URLs, at 200 bytes each. Of the known URLs
#                that manuals link to, 94 % are there
# hash map       32 bits of a hash per page; it yields the candidates, and if there are none the URL
#                is new
# recent URLs    more than a million, at 18 bytes plus the path, in a ring of lines where new lines
#                overwrite the oldest. An overwritten line lost its beginning, which every lookup
#                checks. Origins are omitted, because many pages share them, and very long URLs are
#                left to the store
# store          all URLs; for links to pages that were not met recently
#
# line        path and page id of a URL, each after a byte that occurs in no text
# place       offset of a page's line; pages far apart share one, and the last writer wins
# unknown     URLs that a lookup did not find, and that were not added since
# candidate   a page whose URL has the same hash

GENERATION = 1 << 13
"""URLs per generation in the dictionaries."""
ROOM = 1 << 26
"""Bytes of the ring: 1.5 million URLs with paths of 35 characters, or a million with 55."""
LONGEST = 512
"""Maximum characters of a URL in the ring: longer ones would fill it and are rarely linked."""
PLACES = 1 << 21
"""Number of places, more than there are lines: most pages have one to themselves."""

UrlsOf = Callable[[Sequence[int]], Mapping[int, str]]
"""Function that returns the URLs of pages."""
PagesByUrl = Mapping[str, int]
"""Pages by URL."""
NO_PAGES: PagesByUrl = MappingProxyType({})

_CODE = (1 << 64) - 1


def code_of(url: str) -> int:
    """Return a 64-bit hash, salted per process, so that nobody can craft colliding URLs."""
    return hash(url) & _CODE


class UrlIndex:
    """Seen-set: a map from URL to page."""

    def __init__(
        self,
        urls_of: UrlsOf,
        recent: RecentUrls,
        generation: int,
        code_of: Callable[[str], int] = code_of,
    ) -> None:
        """`urls_of` queries the store; `generation` is the size of each of two dictionaries."""
        self._urls_of, self.recent, self._generation = urls_of, recent, generation
        self._code_of = code_of
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._unknown: set[str] = set()

    @cached_property
    def _slots(self) -> CompactHashMap:
        """Hash map, created on first use: readers of a store look up no URLs."""
        return CompactHashMap()

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, urls: PagesByUrl) -> None:
        """Add pages with new URLs, whose ids follow each other."""
        self._slots.put_each(map(self._code_of, urls), next(iter(urls.values())))
        self._unknown.difference_update(urls)
        self.remember(urls)

    def add_all(self, urls: Iterable[str]) -> None:
        """Add the pages that follow the last one, in the order of their ids."""
        codes = np.fromiter(map(self._code_of, urls), dtype=np.uint64)
        first = len(self)
        self._slots.put_all(codes, np.arange(first, first + len(codes), dtype=np.uint32))
        self._unknown.clear()

    def finish_loading(self) -> None:
        """Build the hash map now, so that the first lookup is fast."""
        self._slots.insert_pending()

    def find(self, urls: Iterable[str]) -> dict[str, int]:
        """Return the pages of the known URLs; queries the store if necessary."""
        found, candidates = self.find_recent(urls)
        if candidates:
            stored = self._urls_of(sorted({*chain.from_iterable(candidates.values())}))
            # A common hash proves nothing: the stored URL decides.
            pairs = ((url, page) for url, pages in candidates.items() for page in pages)
            asked = {url: page for url, page in pairs if stored[page] == url}
            self.remember(asked)
            found |= asked
        return found

    def remember(self, urls: PagesByUrl) -> None:
        """Add the URLs to the dictionaries and to the ring of recent URLs."""
        # Both: the dictionaries are faster, and the ring remembers hundreds of times as many.
        self.recent.put(urls.items())
        self._use(urls)

    def find_recent(self, urls: Iterable[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Return the pages of recent URLs, and for other URLs the pages with the same hash."""
        found: dict[str, int] = {}
        from_old: dict[str, int] = {}
        others: list[str] = []
        young, old, unknown = self._young, self._old, self._unknown
        for url in urls:
            if (page := young.get(url)) is not None:
                found[url] = page
            elif (page := old.get(url)) is not None:
                from_old[url] = page
            elif url not in unknown:
                others.append(url)
        candidates: dict[str, list[int]] = {}
        if others:
            from_ring, candidates = self._find_by_hash(others)
            from_old |= from_ring
        if from_old:
            self._use(from_old)
            found |= from_old
        return found, candidates

    def _find_by_hash(self, urls: Sequence[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Like `find_recent`, for URLs that are in neither dictionary."""
        found: dict[str, int] = {}
        candidates: dict[str, list[int]] = {}
        unknown, find = self._unknown, self.recent.find
        for url, pages in zip(urls, self._slots.matches_of(map(self._code_of, urls)), strict=True):
            if not pages:
                unknown.add(url)
            elif (page := find(pages, url)) is not None:
                found[url] = page
            else:
                candidates[url] = pages
        if len(unknown) >= self._generation:
            unknown.clear()
        return found, candidates

    def _use(self, urls: PagesByUrl) -> None:
        """Add URLs to the young generation; when it is full, it replaces the old one."""
        self._young |= urls
        if len(self._young) >= self._generation:
            self._young, self._old = {}, self._young


class RecentUrls:
    """Map from page to URL for about the last million URLs."""

    def __init__(
        self,
        host_of: Sequence[int],
        origins: Sequence[str],
        ring_bytes: int,
        places: int = PLACES,
    ) -> None:
        self._host_of, self._origins = host_of, origins
        self._ring_bytes, self._most_places = ring_bytes, places
        self._places = array("I")
        self._ring = bytearray()
        self._next = 0

    def find(self, pages: Iterable[int], url: str) -> int | None:
        """Return the page among these whose line in the ring has this URL, or None."""
        for page in pages:
            origin = self._origins[self._host_of[page]]
            line = _line(url[len(origin) :], page)
            if self._ring.startswith(line, self._place(page)) and url.startswith(origin):
                return page
        return None

    def url_of(self, page: PageId) -> str | None:
        """Return the URL of the page if it is still in the ring, or None."""
        ring, slot = self._ring, page % self._most_places
        begin = self._places[slot] if slot < len(self._places) else 0
        if not ring.startswith(b"\xff", begin):
            return None
        end = ring.index(b"\xfe", begin)
        if not ring.startswith(b"\xfe%d\xfe" % page, end):
            return None
        return self._origins[self._host_of[page]] + ring[begin + 1 : end].decode()

    def put(self, urls: Iterable[tuple[str, int]]) -> None:
        """Write these URLs and their pages over the oldest."""
        ring, places, begin = self._ring, self._places, self._next
        host_of, origins = self._host_of, self._origins
        ring_bytes, most_places = self._ring_bytes, self._most_places
        for url, page in urls:
            if len(url) > LONGEST:
                continue
            path = url[len(origins[host_of[page]]) :].encode()
            line = b"\xff%b\xfe%d\xfe" % (path, page)  # as `_line`, without the call
            end = begin + len(line)
            if end > ring_bytes:
                begin, end = 0, len(line)
            ring[begin:end] = line
            slot = page % most_places
            if slot >= len(places):
                self._make_room(slot)
            places[slot] = begin
            begin = end
        self._next = begin

    def _place(self, page: PageId) -> int:
        """Return the offset of the page's line, if it has one."""
        slot = page % self._most_places
        return self._places[slot] if slot < len(self._places) else 0

    def _make_room(self, slot: int) -> None:
        """Extend the places to at least this slot, doubling them: most crawls need few."""
        room = min(max(slot + 1, 2 * len(self._places)), self._most_places)
        self._places.frombytes(bytes(4 * (room - len(self._places))))


def _line(path: str, page: PageId) -> bytes:
    """Return a line of the ring. Its separators are not UTF-8, so they occur in no text."""
    return b"\xff%b\xfe%d\xfe" % (path.encode(), page)


# ================================================================ sites
#
# Sites of hosts, as numbers.
#
# Laws: a site costs nothing until it is asked for. Two sites whose names have the same hash count
# as one, except in `sites_of`.
#
# site    a registrable domain; for a host without a name, the network of its address

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
            self._grow()
        number = self._sites[host]
        if number == UNKNOWN:
            number = self._sites[host] = self._number_of(hash(self.name(host)) & _CODE)
        return number

    def name(self, host: int) -> str:
        """Return the name of the host's site."""
        return site(self.name_of_host(host))

    def name_of_host(self, host: int) -> str:
        """Return the name of the host, or its address."""
        return host_of_url(f"{self._origins[host]}/")

    def _grow(self) -> None:
        self._sites.extend(repeat(UNKNOWN, len(self._origins) - len(self._sites)))

    def _number_of(self, code: int) -> int:
        for number in self._ids.matches(code):
            return number
        number, self._count = self._count, self._count + 1
        self._ids.put(code, number)
        return number


# ================================================================ urls

_DEEPEST = 255
_IN_ORIGIN = len("http://h")


def no_urls(pages: Sequence[int]) -> Mapping[int, str]:
    """Raise LookupError: the placeholder for a table without URLs."""
    raise LookupError(f"the URLs of pages {pages} were not loaded")


@dataclass(slots=True)
class Meeting:
    """Pages of some URLs, and the rows of new pages and hosts."""

    pages: list[int] = field(default_factory=list)
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
        self._host_ids: dict[str, int] = {}
        recent = RecentUrls(self.host_of, self.origins, ROOM)
        self._index = UrlIndex(urls_of, recent, GENERATION)
        self.url_of = self._index.recent.url_of
        """Returns the URL of a page if it is recent, or None."""
        self._takedowns = NO_TAKEDOWNS

    def load(self, connection: tables.Connection) -> None:
        """Load all pages and hosts of the store; the table must be empty."""
        self.origins += [host.origin for host in tables.hosts(connection)]
        self._host_ids.update((origin, host) for host, origin in enumerate(self.origins))
        origins = self.origins
        for hosts, paths in tables.hosts_and_paths(connection):
            self.host_of.extend(hosts)
            self._index.add_all(map(add, map(origins.__getitem__, hosts), paths))
        self._index.finish_loading()
        self._takedowns = tables.taken_down(tables.counters(connection))
        self.load_depths(connection)

    def load_depths(self, connection: tables.Connection) -> None:
        """Load the depths of all pages."""
        for (depths,) in page_columns.urls(connection, "depth"):
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
        for (hosts,) in page_columns.urls(connection, "host"):
            self.host_of.frombytes(hosts.tobytes())

    # ------------------------------------------------------------ pages

    def find(self, url: str) -> int | None:
        """Return the page of a canonical URL, or None."""
        url = self._takedowns.conceal(url)
        return self._index.find((url,)).get(url)

    def find_recent(self, urls: Iterable[str]) -> tuple[dict[str, int], list[int]]:
        """Return the pages of recent URLs, and candidates for the others, for a store lookup."""
        if self._takedowns:
            urls = map(self._takedowns.conceal, urls)
        found, candidates = self._index.find_recent(urls)
        return found, list(chain.from_iterable(candidates.values())) if candidates else []

    def remember(self, rows: Iterable[tuple[int, int, str]]) -> dict[str, int]:
        """Mark these pages, given as page, host and path, as recent. Return them by URL."""
        origins = self.origins
        found = {origins[host] + path: page for page, host, path in rows}
        self._index.remember(found)
        return found

    def meet(self, urls: Sequence[str], depth: int, looked_up: PagesByUrl = NO_PAGES) -> Meeting:
        """Return the pages of these canonical URLs; each unknown one gets the next id."""
        if self._takedowns:
            urls = list(map(self._takedowns.conceal, urls))
        others = [url for url in urls if url not in looked_up]
        known = {**looked_up, **self._index.find(others)}
        meeting = Meeting()
        unknown = [url for url in others if url not in known]
        if unknown:
            new = dict(zip(dict.fromkeys(unknown), count(len(self.host_of))))
            self._add(new, depth, meeting)
            known |= new
        meeting.pages.extend(map(known.__getitem__, urls))
        return meeting

    def _add(self, new: PagesByUrl, depth: int, meeting: Meeting) -> None:
        """Add the pages of unknown URLs, whose ids follow the last one."""
        hosts, paths, host_ids = list[int](), list[str](), self._host_ids
        for url in new:
            path = url.index("/", _IN_ORIGIN)  # as `urls.split`, which takes longer
            origin = url[:path]
            host = host_ids.get(origin)
            hosts.append(self._host(origin, meeting) if host is None else host)
            paths.append(url[path:])
        self.host_of.extend(hosts)
        self.depth += bytes((min(depth, _DEEPEST),)) * len(new)
        if self.traits is not None:
            self.traits.extend(map(traits_of, new))
        rows = zip(new.values(), hosts, paths, repeat(depth))
        meeting.urls += map(UrlRow._make, rows)
        self._index.add(new)

    # ------------------------------------------------------------ hosts

    def meet_host(self, origin: str) -> tuple[int, list[HostRow]]:
        """Return the host of an origin, with its row if it is new. A host may have no pages."""
        meeting = Meeting()
        return self._host(origin, meeting), meeting.hosts

    def find_host(self, origin: str) -> int | None:
        """Return the host of an origin, or None."""
        return self._host_ids.get(origin)

    def shallowest(self, host: int) -> int | None:
        """Return the smallest depth of the host's pages, or None if it has none."""
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
