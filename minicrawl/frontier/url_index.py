"""The URL index maps URLs to pages. A hash finds candidates; only the URL itself is proof.

Laws: two URLs are the same page only if they are identical, whatever their hashes are. Memory is
bounded per page and otherwise fixed, whatever the URLs are.

A URL is searched for in four places, fastest first:

dictionaries   two generations of the most recently met URLs, at 200 bytes each. Of the known URLs
               that manuals link to, 94 % are there
hash map       32 bits of a hash per page; it yields the candidates, and if there are none the URL
               is new
recent URLs    more than a million, at 18 bytes plus the path, in a ring of lines where new lines
               overwrite the oldest. An overwritten line lost its beginning, which every lookup
               checks. Origins are omitted, because many pages share them, and very long URLs are
               left to the store
store          all URLs; for links to pages that were not met recently

line        path and page id of a URL, each after a byte that occurs in no text
place       offset of a page's line; pages far apart share one, and the last writer wins
unknown     URLs that a lookup did not find, and that were not added since
candidate   a page whose URL has the same hash
"""

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType

import numpy as np

from minicrawl.compact_map import CompactHashMap
from minicrawl.model import PageId

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


class UrlIndex:
    """Seen-set: a map from URL to page."""

    def __init__(
        self,
        urls_of: UrlsOf,
        recent: "RecentUrls",
        generation: int,
        code_of: Callable[[str], int] = hash,
    ) -> None:
        """`urls_of` queries the store; `generation` is the size of each of two dictionaries.

        `code_of` is salted per process, so that nobody can craft colliding URLs.
        """
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
        self._slots.put(map(self._code_of, urls), next(iter(urls.values())))
        self._unknown.difference_update(urls)
        self.remember(urls)

    def add_all(self, urls: Iterable[str]) -> None:
        """Add the pages that follow the last one, in the order of their ids."""
        codes = np.fromiter(map(self._code_of, urls), dtype=np.int64).view(np.uint64)
        first = len(self)
        self._slots.put_all(codes, np.arange(first, first + len(codes), dtype=np.uint32))
        self._unknown.clear()

    def finish_loading(self) -> None:
        """Build the hash map now, so that the first lookup is fast."""
        self._slots.insert_pending()

    def find(self, urls: Collection[str]) -> dict[str, int]:
        """Return the pages of the known URLs; queries the store if necessary."""
        known, candidates = self.find_recent(urls)
        if candidates:
            stored = self._urls_of(sorted({*chain.from_iterable(candidates.values())}))
            # A common hash proves nothing: the stored URL decides.
            pairs = ((url, page) for url, pages in candidates.items() for page in pages)
            confirmed = {url: page for url, page in pairs if stored[page] == url}
            self.remember(confirmed)
            known |= confirmed
        return known

    def remember(self, urls: PagesByUrl) -> None:
        """Add the URLs to the dictionaries and to the ring of recent URLs."""
        # Both: the dictionaries are faster, and the ring remembers hundreds of times as many.
        self.recent.put(urls.items())
        self._use(urls)

    def find_recent(self, urls: Collection[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Return the pages of recent URLs, and for other URLs the pages with the same hash."""
        if self._unknown.issuperset(urls):  # as of a page whose links were looked up just before
            return {}, {}
        known: dict[str, int] = {}
        older: dict[str, int] = {}
        unsure: list[str] = []
        young, old, unknown = self._young, self._old, self._unknown
        for url in urls:
            if url in young:
                known[url] = young[url]
            elif url in old:
                older[url] = old[url]
            elif url not in unknown:
                unsure.append(url)
        candidates: dict[str, list[int]] = {}
        codes = map(self._code_of, unsure)
        for url, pages in zip(unsure, self._slots.matches(codes), strict=True):
            if not pages:
                unknown.add(url)
            elif (page := self.recent.find(pages, url)) is not None:
                older[url] = page
            else:
                candidates[url] = pages
        if len(unknown) >= self._generation:
            unknown.clear()
        if older:
            self._use(older)
            known |= older
        return known, candidates

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
        ring, begin = self._ring, self._place(page)
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
                # They double: most crawls need few.
                room = min(max(slot + 1, 2 * len(places)), most_places)
                places.frombytes(bytes(4 * (room - len(places))))
            places[slot] = begin
            begin = end
        self._next = begin

    def _place(self, page: PageId) -> int:
        """Return the offset of the page's line, if it has one."""
        slot = page % self._most_places
        return self._places[slot] if slot < len(self._places) else 0


def _line(path: str, page: PageId) -> bytes:
    """Return a line of the ring. Its separators are not UTF-8, so they occur in no text."""
    return b"\xff%b\xfe%d\xfe" % (path.encode(), page)
