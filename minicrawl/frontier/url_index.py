"""Which page is this URL? The hash says where to look, the URL that is kept says whether it is it.

Law: two URLs are one page only if they are equal, whatever their hashes are. Memory holds 32 bits
of a hash a page; the URLs are in the store, and are looked up there for links to pages that were
not met lately. More than a million that were are in `lately`, which takes its path and 18 bytes for
each; and what was met last of all is in dictionaries, which are quicker and take 200. These are
small, for a larger one gains nothing: what it spares it costs by driving all else out of the
processor's caches.

stranger    a URL that nobody had when it was asked for, and that was not added since

The URLs that were met last, with their pages, in few bytes each; the store knows the others.

Laws: a page has a URL only if that equals the one that was put, to the last byte; the room is
bounded, whatever is met, and a URL that is very long is left to the store. The bytes lie in a ring,
where new ones take the place of the oldest: of what is left of an older line the beginning is gone,
and that is what every look asks for. Origins, which many pages share, are not in it: whoever has
the pages knows them.

line    the path of a URL and its page, each behind a byte that no text has
place   where the line of a page begins; pages that are far apart share one, and the last has it
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType

import numpy as np

from minicrawl.slots import Slots

ROOM = 1 << 26
"""Bytes: lines of one and a half million URLs whose paths have 35 letters, one million if 55."""
LONGEST = 512
"""Characters: few would fill the ring, and few people link to them."""
PLACES = 1 << 21
"""More than there are lines: most pages have one to themselves."""

OriginOf = Callable[[int], str]
"""The origin of a page's URL."""


class RecentUrls:
    """page -> URL."""

    def __init__(self, origin_of: OriginOf) -> None:
        self._origin_of = origin_of
        self._places = array("I")
        self._ring = bytearray()
        self._next = 0

    def which(self, pages: Iterable[int], url: str) -> int | None:
        """Which of these pages is known to have this URL."""
        for page in pages:
            origin = self._origin_of(page)
            line = _line(url[len(origin) :], page)
            if self._ring.startswith(line, self._place(page)) and url.startswith(origin):
                return page
        return None

    def url_of(self, page: int) -> str | None:
        """The URL of this page, if it was met lately."""
        ring, begin = self._ring, self._place(page)
        if not ring.startswith(b"\xff", begin):
            return None
        end = ring.index(b"\xfe", begin)
        if not ring.startswith(b"\xfe%d\xfe" % page, end):
            return None
        return self._origin_of(page) + ring[begin + 1 : end].decode()

    def put(self, urls: Iterable[tuple[str, int]]) -> None:
        """These URLs were met, of these pages."""
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

    def _place(self, page: int) -> int:
        """Where its line begins, if it has one."""
        slot = page % PLACES
        return self._places[slot] if slot < len(self._places) else 0

    def _make_room(self, slot: int) -> None:
        """For this slot, and twice as many as there are: most crawls need few."""
        room = min(max(slot + 1, 2 * len(self._places)), PLACES)
        self._places.frombytes(bytes(4 * (room - len(self._places))))


def _line(path: str, page: int) -> bytes:
    """What parts it is in no text: these bytes are not UTF-8."""
    return b"\xff%b\xfe%d\xfe" % (path.encode(), page)


_CODE = (1 << 64) - 1

RECENT = 1 << 11
"""URLs of a generation; two generations of those that were met last are in dictionaries."""

UrlsOf = Callable[[Sequence[int]], Mapping[int, str]]
"""The URLs of some pages."""

PagesByUrl = Mapping[str, int]
"""The pages of some URLs."""
NO_PAGES: PagesByUrl = MappingProxyType({})


def code_of(url: str) -> int:
    """64 bits, other ones in each process: nobody can think up URLs that are slow to look up."""
    return hash(url) & _CODE


class UrlIndex:
    """URL -> page."""

    def __init__(self, urls_of: UrlsOf, origin_of: OriginOf) -> None:
        self._urls_of = urls_of
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._lately = RecentUrls(origin_of)
        self._strangers: set[str] = set()

    @cached_property
    def _slots(self) -> Slots:
        """Whoever only reads a store meets no URLs, and needs none of them."""
        return Slots()

    def __len__(self) -> int:
        return len(self._slots)

    def find(self, urls: Iterable[str]) -> dict[str, int]:
        """The pages of those that are known."""
        found, doubtful = self.at_hand(urls)
        if doubtful:
            kept = self._urls_of(sorted({*chain.from_iterable(doubtful.values())}))
            pages = ((url, page) for url, alike in doubtful.items() for page in alike)
            asked = {url: page for url, page in pages if kept[page] == url}
            self.remember(asked)
            found |= asked
        return found

    def remember(self, urls: PagesByUrl) -> None:
        """The pages of these were looked up."""
        self._lately.put(urls.items())
        self._recall(urls)

    def url_of(self, page: int) -> str | None:
        """The URL of a page that was looked up or added lately."""
        return self._lately.url_of(page)

    def at_hand(self, urls: Iterable[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
        """The pages of those that were met lately, and which the others may be that are known."""
        found: dict[str, int] = {}
        once_more: dict[str, int] = {}
        others: list[str] = []
        young, old, strangers = self._young, self._old, self._strangers
        for url in urls:
            if (page := young.get(url)) is not None:
                found[url] = page
            elif (page := old.get(url)) is not None:
                once_more[url] = page
            elif url not in strangers:
                others.append(url)
        met, doubtful = self._look_further(others)
        once_more |= met
        self._recall(once_more)
        return found | once_more, doubtful

    def _look_further(self, urls: Sequence[str]) -> tuple[dict[str, int], dict[str, list[int]]]:
        """The same for those that are in no dictionary."""
        met: dict[str, int] = {}
        doubtful: dict[str, list[int]] = {}
        strangers, which = self._strangers, self._lately.which
        for url, alike in zip(urls, self._slots.matches_of(map(code_of, urls)), strict=True):
            if not alike:
                strangers.add(url)
            elif (page := which(alike, url)) is not None:
                met[url] = page
            else:
                doubtful[url] = alike
        if len(strangers) >= RECENT:
            strangers.clear()
        return met, doubtful

    def add(self, urls: PagesByUrl) -> None:
        """The URLs must be new."""
        for url, page in urls.items():
            self._slots.put(code_of(url), page)
        self._strangers.difference_update(urls)
        self.remember(urls)

    def add_all(self, urls: Iterable[str]) -> None:
        """The URLs of pages that follow on those that are known already, in the order of ids."""
        codes = np.fromiter(map(code_of, urls), dtype=np.uint64)
        first = len(self)
        self._slots.put_all(codes, np.arange(first, first + len(codes), dtype=np.uint32))
        self._strangers.clear()

    def finish_loading(self) -> None:
        """All have been added: what must be done once is done now, not while a crawl waits."""
        self._slots.insert_pending()

    def _recall(self, urls: PagesByUrl) -> None:
        """They were met last of all; who was not for two generations leaves the dictionaries."""
        self._young |= urls
        if len(self._young) >= RECENT:
            self._young, self._old = {}, self._young
