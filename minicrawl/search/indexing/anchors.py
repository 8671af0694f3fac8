"""Anchor texts, and the pages they belong to.

Law: an anchor text belongs to the page that its URL stands for, once per linking site, and never
to the page that the link is on.
"""

from collections.abc import Collection, Iterator
from functools import lru_cache

from minicrawl.frontier.url_table import UrlTable
from minicrawl.report.snapshot import Snapshot, host_name
from minicrawl.search.indexing.page_reader import ReadPage
from minicrawl.search.notes import AnchorRow
from minicrawl.web.sites import site
from minicrawl.web.words import indexed

_LINKS_REMEMBERED = 500_000
_TARGETS_REMEMBERED = 1 << 16


class AnchorFinder:
    """Finder of the anchor texts that pages contribute to other pages."""

    def __init__(self, view: Snapshot, urls: UrlTable, gone: Collection[int]) -> None:
        """`gone` are the pages that were taken down."""
        self._seen, self._urls, self._gone = view, urls, gone
        self._site_ids: dict[str, int] = {}
        self._met: set[int] = set()
        self._target = lru_cache(_TARGETS_REMEMBERED)(self._target_of)

    def of(self, page: int, read: ReadPage) -> Iterator[AnchorRow]:
        """Yield the anchors not seen on earlier pages. A hash collision, though rare, loses one."""
        own = self._site_of(page)
        codes = [hash((own, anchor)) for anchor in read.text.anchors]
        for code, (url, text) in zip(codes, read.text.anchors, strict=True):
            if code not in self._met:
                self._met.add(code)
                target = self._target(url)
                if target is not None and target != page and (words := indexed(text)):
                    yield AnchorRow(target, own, words)
        # After forgetting them, some anchors are inserted again, which the notes ignore.
        if len(self._met) > _LINKS_REMEMBERED:
            self._met.clear()

    def _target_of(self, url: str) -> int | None:
        """Return the page that anchors of this URL belong to, or None."""
        known = self._urls.find(url)
        if known is None or known in self._gone:
            return None
        target = self._seen.frontier.books.stands_for(known)
        return None if target in self._gone else target

    def _site_of(self, page: int) -> int:
        host = self._urls.host_of[page]
        return self._site_ids.setdefault(site(host_name(self._urls.origins[host])), host)
