"""Which page is this URL? A hash says where to look; only the URL itself proves it.

Laws: two URLs are one page only if they are equal to the last byte, whatever their hashes are.
Memory is bounded for each page, and otherwise fixed, whatever URLs come.

A URL is looked for in four places, the quickest first:

dictionaries   two generations of the URLs that were met last, at 200 bytes each. They are small,
               because larger ones would drive all else out of the processor's caches
hash map       32 bits of a hash for each page, which gives the candidates; none: the URL is new
recent URLs    more than a million, at 18 bytes and the path each, in a ring of lines where new
               lines overwrite the oldest. An overwritten line has lost its beginning, and every
               look-up checks that. Origins are not in it, because many pages share them; very long
               URLs are left to the store
store          all URLs; for links to pages that were not met of late

line        the path of a URL and its page, each behind a byte that no text has
place       where the line of a page begins; pages far apart share one, and the last writer has it
unknown     URLs that were looked for, were not there, and were not added since
candidate   a page whose URL has the same hash
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType

import numpy as np

from minicrawl.model import PageId
from minicrawl.slots import Slots

RECENT = 1 << 11
"""URLs of a generation in the dictionaries."""
ROOM = 1 << 26
"""Bytes of the ring: one and a half million URLs whose paths have 35 letters, a million if 55."""
LONGEST = 512
"""Characters of a URL in the ring: longer ones would fill it, and few pages link to them."""
PLACES = 1 << 21
"""More than there are lines: most pages have one to themselves."""

OriginOf = Callable[[int], str]
"""The origin of a page's URL."""
UrlsOf = Callable[[Sequence[int]], Mapping[int, str]]
"""The URLs of some pages."""
PagesByUrl = Mapping[str, int]
"""The pages of some URLs."""
NO_PAGES: PagesByUrl = MappingProxyType({})

_CODE = (1 << 64) - 1


def code_of(url: str) -> int:
    """64 bits, salted anew in each process, so that nobody can craft URLs that collide."""
    return hash(url) & _CODE


class UrlIndex:
    """The seen-set: URL -> page."""

    def __init__(self, urls_of: UrlsOf, origin_of: OriginOf) -> None:
        """`urls_of` asks the store."""
        self._urls_of = urls_of
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._recent = RecentUrls(origin_of)
        self._unknown: set[str] = set()

    @cached_property
    def _slots(self) -> Slots:
        """Made on first use: who only reads a store looks up no URLs."""
        return Slots()

    def __len__(self) -> int:
        return len(self._slots)

    def add(self, urls: PagesByUrl) -> None:
        """Add pages whose URLs are new."""
        for url, page in urls.items():
            self._slots.put(code_of(url), page)
        self._unknown.difference_update(urls)
        self.remember(urls)

    def add_all(self, urls: Iterable[str]) -> None:
        """Add the pages that follow the last one, in the order of their ids."""
        codes = np.fromiter(map(code_of, urls), dtype=np.uint64)
        first = len(self)
        self._slots.put_all(codes, np.arange(first, first + len(codes), dtype=np.uint32))
        self._unknown.clear()

    def finish_loading(self) -> None:
        """Build the hash map now, so that the first look-up is not slow."""
        self._slots.insert_pending()

    def find(self, urls: Iterable[str]) -> dict[str, int]:
        """The pages of those URLs that are known; asks the store where it must."""
        found, candidates = self.find_recent(urls)
        if candidates:
            stored = self._urls_of(sorted({*chain.from_iterable(candidates.values())}))
            pairs = ((url, page) for url, pages in candidates.items() for page in pages)
            asked = {url: page for url, page in pairs if stored[page] == url}
            self.remember(asked)
            found |= asked
        return found

    def remember(self, urls: PagesByUrl) -> None:
        """The pages of these URLs were looked up or added: they are recent now."""
        self._recent.put(urls.items())
        self._use(urls)

    def url_of(self, page: PageId) -> str | None:
        """The URL of a page, if it is recent."""
        return self._recent.url_of(page)

    def find_recent(self, urls: Iterable[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
        """The pages of recent URLs; of the others, the pages that have the same hash, if any."""
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
        from_ring, candidates = self._find_by_hash(others)
        from_old |= from_ring
        self._use(from_old)
        return found | from_old, candidates

    def _find_by_hash(self, urls: Sequence[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
        """The same for URLs that are in neither dictionary."""
        found: dict[str, int] = {}
        candidates: dict[str, list[int]] = {}
        unknown, find = self._unknown, self._recent.find
        for url, pages in zip(urls, self._slots.matches_of(map(code_of, urls)), strict=True):
            if not pages:
                unknown.add(url)
            elif (page := find(pages, url)) is not None:
                found[url] = page
            else:
                candidates[url] = pages
        if len(unknown) >= RECENT:
            unknown.clear()
        return found, candidates

    def _use(self, urls: PagesByUrl) -> None:
        """Put them into the young generation; the old one is dropped when the young one is full."""
        self._young |= urls
        if len(self._young) >= RECENT:
            self._young, self._old = {}, self._young


class RecentUrls:
    """page -> URL, for the last million URLs or so."""

    def __init__(self, origin_of: OriginOf) -> None:
        self._origin_of = origin_of
        self._places = array("I")
        self._ring = bytearray()
        self._next = 0

    def find(self, pages: Iterable[int], url: str) -> int | None:
        """The one of these pages that is known to have this URL."""
        for page in pages:
            origin = self._origin_of(page)
            line = _line(url[len(origin) :], page)
            if self._ring.startswith(line, self._place(page)) and url.startswith(origin):
                return page
        return None

    def url_of(self, page: PageId) -> str | None:
        """The URL of the page, if it is still in the ring."""
        ring, begin = self._ring, self._place(page)
        if not ring.startswith(b"\xff", begin):
            return None
        end = ring.index(b"\xfe", begin)
        if not ring.startswith(b"\xfe%d\xfe" % page, end):
            return None
        return self._origin_of(page) + ring[begin + 1 : end].decode()

    def put(self, urls: Iterable[tuple[str, int]]) -> None:
        """Write these URLs and their pages over the oldest."""
        ring, places, begin = self._ring, self._places, self._next
        for url, page in urls:
            if len(url) > LONGEST:
                continue
            line = _line(url[len(self._origin_of(page)) :], page)
            end = begin + len(line)
            if end > ROOM:
                begin, end = 0, len(line)
            ring[begin:end] = line
            slot = page % PLACES
            if slot >= len(places):
                self._make_room(slot)
            places[slot] = begin
            begin = end
        self._next = begin

    def _place(self, page: PageId) -> int:
        """Where the page's line begins, if it has one."""
        slot = page % PLACES
        return self._places[slot] if slot < len(self._places) else 0

    def _make_room(self, slot: int) -> None:
        """At least up to this slot, and double: most crawls need few."""
        room = min(max(slot + 1, 2 * len(self._places)), PLACES)
        self._places.frombytes(bytes(4 * (room - len(self._places))))


def _line(path: str, page: PageId) -> bytes:
    """The separators are in no text: these bytes are not UTF-8."""
    return b"\xff%b\xfe%d\xfe" % (path.encode(), page)
