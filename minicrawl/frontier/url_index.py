"""Which page is this URL? The hash says where to look, the URL that is kept says whether it is it.

Law: two URLs are one page only if they are equal, whatever their hashes are. Memory holds 32 bits
of a hash a page; the URLs are in the store, and are looked up there for links to pages that were
not met lately. More than a million that were are in `lately`, which takes its path and 18 bytes for
each; and what was met last of all is in dictionaries, which are quicker and take 200. These are
small, for a larger one gains nothing: what it spares it costs by driving all else out of the
processor's caches.

stranger    a URL that nobody had when it was asked for, and that was not added since
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType

import numpy as np

from minicrawl.frontier.recent_urls import OriginOf, RecentUrls
from minicrawl.slots import Slots

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
