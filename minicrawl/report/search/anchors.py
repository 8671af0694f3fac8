"""The words of links, and the pages that they belong to.

Law: the words of a link belong to the page that its URL stands for, once for each site that has
them, and never to the page that the link is on.
"""

from collections.abc import Iterator
from functools import lru_cache

from minicrawl.frontier.urls import UrlTable
from minicrawl.report.search.page_reader import ReadPage
from minicrawl.report.snapshot import Snapshot, host_name
from minicrawl.search.notes import AnchorRow
from minicrawl.search.words import indexed
from minicrawl.web.sites import site

_LINKS_REMEMBERED = 500_000
_TARGETS_REMEMBERED = 1 << 16


class AnchorFinder:
    """Finds what the links of pages say of other pages."""

    def __init__(self, seen: Snapshot, urls: UrlTable) -> None:
        self._seen, self._urls = seen, urls
        self._site_ids: dict[str, int] = {}
        self._met: set[int] = set()
        self._target = lru_cache(_TARGETS_REMEMBERED)(self._found_target)

    def of(self, page: int, found: ReadPage) -> Iterator[AnchorRow]:
        """The links that no page before had. Two of them rarely share a hash: one is left out."""
        own = self._site_of(page)
        codes = [hash((own, anchor)) for anchor in found.text.anchors]
        for code, (url, text) in zip(codes, found.text.anchors, strict=True):
            if code not in self._met:
                self._met.add(code)
                target = self._target(url)
                if target is not None and target != page and (words := indexed(text)):
                    yield AnchorRow(target, own, words)
        if len(self._met) > _LINKS_REMEMBERED:
            self._met.clear()

    def _found_target(self, url: str) -> int | None:
        """The page that the words of links to this URL belong to."""
        known = self._urls.find(url)
        return None if known is None else self._seen.frontier.books.stands_for(known)

    def _site_of(self, page: int) -> int:
        host = self._urls.host_of[page]
        return self._site_ids.setdefault(site(host_name(self._urls.origins[host])), host)
