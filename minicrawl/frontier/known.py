"""Which page is this URL? The hash says where to look, the URL that is kept says whether it is it.

Law: two URLs are one page only if they are equal, whatever their hashes are. Memory holds 32 bits
of a hash a page; the URLs are in the store, and are looked up there for links to pages that were
not met lately. What was met last of all is in dictionaries, which are quick and take 200 bytes a
URL; about a million that were met before are in `lately`, which takes 80.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

from minicrawl.frontier.lately import Lately
from minicrawl.slots import Slots

_CODE = (1 << 64) - 1

LATELY = 1 << 16
"""URLs of a generation; two generations of those that were met last are in dictionaries."""

UrlsOf = Callable[[Sequence[int]], Mapping[int, str]]
"""The URLs of some pages."""


def code_of(url: str) -> int:
    """64 bits, other ones in each process: nobody can think up URLs that are slow to look up."""
    return hash(url) & _CODE


class Known:
    """URL -> page."""

    def __init__(self, urls_of: UrlsOf) -> None:
        self._urls_of = urls_of
        self._young: dict[str, int] = {}
        self._old: dict[str, int] = {}
        self._lately = Lately()
        self._fresh = 0  # pages from this one on are in the dictionaries only

    @cached_property
    def _slots(self) -> Slots:
        """Whoever only reads a store meets no URLs, and needs none of them."""
        return Slots()

    def __len__(self) -> int:
        return len(self._slots)

    def find(self, urls: Iterable[str]) -> dict[str, int]:
        """The pages of those that are known."""
        found, others = self._at_hand(urls)
        if others:
            asked = self._look_up(others)
            self.remember(asked)
            found |= asked
        return found

    def doubtful(self, urls: Iterable[str]) -> list[int]:
        """Pages whose URLs `find` would look up, unless they are told to `remember` before."""
        _, others = self._at_hand(urls)
        alike = self._slots.matches_of(map(code_of, others))
        return list(chain.from_iterable(alike))

    def remember(self, urls: Mapping[str, int]) -> None:
        """The pages of these were looked up."""
        for url, page in urls.items():
            self._lately.put(url, page)
        self._recall(urls)

    def _at_hand(self, urls: Iterable[str]) -> tuple[dict[str, int], list[str]]:
        """The pages of those that were met lately, and the others."""
        found: dict[str, int] = {}
        others: list[str] = []
        young, old = self._young, self._old
        for url in urls:
            page = young.get(url)
            if page is None:
                page = old.get(url)
                if page is None:
                    others.append(url)
                    continue
                self._remember(url, page)
            found[url] = page
        if others:
            once_more, others = self._lately.find(others)
            self._recall(once_more)
            found |= once_more
        return found, others

    def add(self, url: str, page: int) -> None:
        """The URL must be new."""
        self._slots.put(code_of(url), page)
        self._remember(url, page)

    def add_all(self, urls: Iterable[str]) -> None:
        """The URLs of pages that follow on those that are known already, in the order of ids."""
        codes = np.fromiter(map(code_of, urls), dtype=np.uint64)
        first = len(self)
        self._slots.put_all(codes, np.arange(first, first + len(codes), dtype=np.uint32))
        self._fresh = first + len(codes)

    def be_ready(self) -> None:
        """All have been added: what must be done once is done now, not while a crawl waits."""
        self._slots.let_in()

    def _look_up(self, urls: Sequence[str]) -> dict[str, int]:
        """Of pages whose hashes match, those whose URLs do."""
        alike = self._slots.matches_of(map(code_of, urls))
        pages = set(chain.from_iterable(alike))
        if not pages:
            return {}
        kept = self._urls_of(sorted(pages))
        found = {}
        for url, candidates in zip(urls, alike, strict=True):
            for page in candidates:
                if kept[page] == url:
                    found[url] = page
        return found

    def _recall(self, urls: Mapping[str, int]) -> None:
        self._young |= urls
        if len(self._young) >= LATELY:
            self._age()

    def _remember(self, url: str, page: int) -> None:
        self._young[url] = page
        if len(self._young) >= LATELY:
            self._age()

    def _age(self) -> None:
        """What is in `lately` is there still; the others of the older generation go there now."""
        fresh = {url: page for url, page in self._old.items() if page >= self._fresh}
        for url, page in fresh.items():
            self._lately.put(url, page)
        self._fresh = max(fresh.values(), default=self._fresh - 1) + 1
        self._young, self._old = {}, self._young
